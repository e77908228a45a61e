"""``miner fit``: adds verification to an encoder of another library."""

from pathlib import Path

import pytest
from support.commands import right
from support.files import write
from support.foreign import fake_directory, fake_library
from support.trainings import aligned_files, synthetic

import miner_train.fit_encoder
import miner_train.learn_verifier
from miner.cli import main
from miner.encoder.model import load

FAST = [
    *("--dimension", "16", "--batch", "64", "--epochs", "3", "--rate", "0.02", "--heldout", "70"),
    *("--initial", "0.1", "--pieces", "120", "--no-verifier"),
]


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = zip(*synthetic(900), strict=True)
    return write(tmp_path_factory.mktemp("text") / "de-en.tsv", rows)


@pytest.fixture(scope="module")
def plain_model(bitext: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model behind the fake of sentence-transformers."""
    path = tmp_path_factory.mktemp("model") / "plain"
    assert main(["train", "--bitext", str(bitext), *FAST, "-o", str(path)]) == 0
    return path


@pytest.fixture
def corpora(tmp_path: Path) -> list[Path]:
    """Write parallel text that the fit has not seen."""
    return [Path(path) for path in aligned_files(tmp_path, synthetic(80, seed=9))]


@pytest.fixture
def name(plain_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(miner_train.learn_verifier, "ENOUGH", 50)
    fake_library(monkeypatch)
    return fake_directory(tmp_path / "st", plain_model)


def test_fitted_mined_scored(miner, name, bitext, corpora, plain_model, tmp_path):
    for corpus in corpora:
        assert miner("index", corpus, "--model", name, "-o", tmp_path / f"i{corpus.name}")[0] == 0
    place = tmp_path / "fitted"
    code, _, err = miner("fit", "--model", name, "--bitext", bitext, "--pieces", 120, "-o", place)
    assert code == 0, err
    assert "held-out mining by margin: F1" in err and f"vectors of {name}" in err
    model = load(place)
    assert model.vectors is not None and model.vectors.dimension == 16
    assert model.fingerprint == model.vectors.fingerprint and model.read_decoys("en")
    assert set(model.languages) == {"de", "en"} and model.threshold is not None
    mining = ["mine", *corpora, "--model", place, "--ids", "--no-estimate", "--threshold", 0]
    code, out, err = miner(*mining)
    assert code == 0 and right(out) > 70 and "ranked by margin" not in err
    assert f"{name}: licence apache-2.0" in err
    # The fitted model verifies pairs of the encoder's index.
    sides = tmp_path / "ia", tmp_path / "ib"
    code, again, _ = miner("search", *sides, "--model", place, "--ids", "--no-estimate")
    assert code == 0 and again == out
    code, scores, _ = miner("score", bitext, "--model", place, "--score-only")
    assert code == 0 and len(scores.splitlines()) == 900
    assert miner("explain", *synthetic(1)[0], *synthetic(1)[1], "--model", place)[0] == 0
    assert f"vectors of {name}" in miner("model", "info", place)[1]
    # Labels change only the quality function.
    rows = bitext.read_text(encoding="utf-8").splitlines()[:30]
    sheet = [(row, "yes" if n % 3 else "no") for n, row in enumerate(rows)]
    write(tmp_path / "sheet.tsv", ["source\ttarget\tanswer", *sheet])
    fitting = ["fit", "--model", name, "--bitext", bitext, "--pieces", 120, "-o", tmp_path / "l"]
    assert miner(*fitting, "--labels", tmp_path / "sheet.tsv")[0] == 0
    functions = [dict(one.verifier or {}) for one in (model, load(tmp_path / "l"))]
    qualities = [one.pop("quality") for one in functions]
    assert functions[0] == functions[1] and qualities[0] != qualities[1]
    # A changed encoder is refused.
    (tmp_path / "st" / "vocab.txt").write_text(f"{plain_model}\nquery: ", encoding="utf-8")
    code, _, err = miner(*mining)
    assert code == 1 and "has changed since" in err and "miner fit" in err


def test_fitted_to_what_it_finds_itself(miner, name, bitext, corpora, tmp_path, monkeypatch):
    rows = [line.split("\t") for line in bitext.read_text(encoding="utf-8").splitlines()]
    for side, column in (("s", 0), ("t", 1)):
        write(tmp_path / side, [row[column] for row in rows])
    monkeypatch.setattr("miner.precision.decoys.FEWEST", 80)
    monkeypatch.setattr("miner.precision.margins.FEWEST_MATCHED", 1)
    decoys = {"en": synthetic(300, seed=5)[1]}

    class Shipped:
        def read_decoys(self, language: str | None) -> list[str]:
            return decoys["en"]

    monkeypatch.setattr("miner.precision.margins.load", lambda name: Shipped())
    fitting = ["fit", "--model", name, "--mined", tmp_path / "s", tmp_path / "t", "--pieces", 120]
    languages = ["--source-lang", "de", "--target-lang", "en"]
    code, _, err = miner(*fitting, *languages, "-o", tmp_path / "fitted")
    assert code == 0, err
    assert "no bitext was given" in err and set(load(tmp_path / "fitted").languages) == {"de", "en"}
    mining = ["mine", *corpora, "--model", tmp_path / "fitted", "--ids", "--no-estimate"]
    assert right(miner(*mining)[1]) > 60


def test_wrong_usage(miner, name, bitext, tmp_path, monkeypatch):
    out = ["-o", tmp_path / "m"]
    code, _, err = miner("fit", "--model", "default", "--bitext", bitext, *out)
    assert code == 2 and "is trained already" in err
    code, _, err = miner("fit", "--model", name, *out)
    assert code == 2 and "either --bitext or --mined" in err
    code, _, err = miner("score", bitext, "--model", name)
    assert code == 1 and "'miner fit'" in err
    monkeypatch.undo()
    fake_library(monkeypatch)
    code, _, err = miner("fit", "--model", name, "--bitext", bitext, "--pieces", 120, *out)
    assert code == 1 and "too few to learn" in err
