"""Options of every command: configuration files, and the volume of messages."""

import re
from pathlib import Path

import pytest
from support.near_copies import NEAR

from miner.config_fields import read_toml

TEXTS = NEAR / "near.de", NEAR / "near.en"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("Ein Haus.\tA house.\n1\t1\n" * 20, encoding="utf-8")
    return path


def test_a_run_is_repeated_by_its_file(miner, pairs, tmp_path):
    kept, saved = tmp_path / "kept.tsv", tmp_path / "run.toml"
    given = ["--threshold", "0.35", "--source-lang", "de", "--target-lang", "en", "--repair"]
    assert miner("filter", pairs, *given, "-o", kept, "--save-config", saved)[0] == 0
    assert read_toml(saved) == {
        "threshold": 0.35,
        "source_lang": "de",
        "target_lang": "en",
        "repair": True,
        "output": str(kept),
    }
    first = kept.read_bytes()
    kept.unlink()
    code, _, err = miner("filter", pairs, "--config", saved)
    assert code == 0 and kept.read_bytes() == first and "0.35" in err
    code, _, err = miner("filter", pairs, "--config", saved, "--threshold", "0.75")
    assert code == 0 and "0.75" in err and "0.35" not in err


def test_filters_stand_beside_options(miner, pairs, tmp_path):
    path = tmp_path / "filters.toml"
    text = '{}source_lang = "de"\n[[filter]]\nname = "length"\nminimum = 2\n'
    path.write_text(text.format(f'output = "{tmp_path}/kept.tsv"\non-error = "skip"\n'))
    code, _, err = miner("filter", pairs, "--config", path)
    assert code == 0 and "length" in err
    assert (tmp_path / "kept.tsv").read_text() == "Ein Haus.\tA house.\n" * 20
    path.write_text(text.format("colour = 1\n"))
    code, _, err = miner("filter", pairs, "--config", path, "-o", tmp_path / "other.tsv")
    assert code == 1 and "'miner filter' has no option colour" in err
    saved = ["--save-config", tmp_path / "run.toml", "-o", tmp_path / "other.tsv"]
    path.write_text(text.format(""))
    code, _, err = miner("filter", pairs, "--config", path, *saved)
    assert code == 2 and "leaves out filters" in " ".join(err.split())


@pytest.mark.parametrize(
    "text, said",
    [
        ("neighbours = 4\n", "has no option neighbours"),
        ("[neighbors]\nk = 4\n", "neighbors must be text, a number, true, false or a list"),
        ('neighbors = "many"\n', "Invalid value"),
        ("neighbors = \n", "not TOML"),
        ('config = "other.toml"\n', "has no option config"),
    ],
)
def test_faulty_files(miner, tmp_path, text, said):
    path = tmp_path / "run.toml"
    path.write_text(text)
    code, _, err = miner("mine", *TEXTS, "--config", path)
    assert code in (1, 2) and said in " ".join(err.split())
    code, _, err = miner("mine", *TEXTS, "--save-config", tmp_path / "run.txt")
    assert code == 2 and "must end with .toml" in err and not (tmp_path / "run.txt").exists()


def test_the_volume_of_messages(miner):
    mine = "mine", *TEXTS, "--no-estimate"
    usual, quiet, verbose = (miner(*mine, *flag) for flag in ([], ["-q"], ["-v"]))
    assert usual[1] == quiet[1] == verbose[1] != ""
    assert quiet[2] == "" != usual[2]
    timed = re.compile(r"\d\d:\d\d:\d\d .*: \d+\.\d s")
    assert any(map(timed.fullmatch, verbose[2].splitlines()))
    assert not any(map(timed.fullmatch, usual[2].splitlines()))
