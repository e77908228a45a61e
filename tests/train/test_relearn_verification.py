"""``miner train-verifier``: new verification, the same vectors and lexicons."""

import json
from pathlib import Path

import pytest
from support.files import whole
from support.trainings import aligned_files, synthetic

from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner_train import learn_comparer, learn_facts, learn_verification, learn_verifier
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair
from miner_train.relearn_verification import relearn_verification

CONFIG = TrainConfig(pieces=120, dimension=16, batch=64, epochs=2, rate=0.02, heldout=70)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that dozens of pairs suffice."""
    monkeypatch.setattr(learn_verifier, "ENOUGH", 20)
    monkeypatch.setattr(learn_verification, "FEWEST", 100)
    monkeypatch.setattr(learn_comparer, "LEAST", 500)


@pytest.fixture
def trained(tmp_path: Path, small: None) -> Path:
    """Train a model of artificial text without a comparer; its text is ``a`` and ``b``."""
    text = TextPair(*aligned_files(tmp_path, synthetic(700)))
    train_model([text], CONFIG, tmp_path / "model", comparer=False)
    return tmp_path / "model"


def test_verification_is_learned_again(trained: Path, miner) -> None:
    place = trained.parent
    sides = "--source", place / "a", "--target", place / "b"
    code, _, err = miner("train-verifier", trained, *sides, "-o", place / "same", "--no-comparer")
    assert code == 0 and "warning" not in err, err
    assert whole(place / "same") == whole(trained)

    code, _, err = miner("train-verifier", trained, *sides, "-o", place / "more")
    assert code == 0 and "learning to compare tokens" in err, err
    old, new = whole(trained), whole(place / "more")
    changed = {name for name in new if new[name] != old.get(name)}
    assert changed == {"config.json", "verifier.json", "comparer.npz"}
    functions = [json.loads(files["verifier.json"]) for files in (old, new)]
    assert functions[0]["alone"] == functions[1]["alone"]
    more = set(functions[1]["quality"]["weight"]) - set(functions[0]["quality"]["weight"])
    assert more == {"surprise", "compared"}
    quality = Quality(Verifier(Encoder.load(place / "more", 1)))
    source, target = ((place / name).read_text("utf-8").splitlines()[:50] for name in "ab")
    assert quality.score(source, target).mean() > quality.score(source, target[::-1]).mean()


def test_facts_are_learned_alone(trained: Path, miner, monkeypatch) -> None:
    monkeypatch.setattr(learn_facts, "FEWEST", 100)
    place = trained.parent
    lines = [(place / name).read_text("utf-8").splitlines() for name in "ab"]
    rows = [
        f"{one}\t{other}{' not' * (one[0] in 'bd')}\n" for one, other in zip(*lines, strict=True)
    ]
    (place / "de-en.tsv").write_text("".join(rows), "utf-8")
    arguments = "--bitext", place / "de-en.tsv", "--only-facts", "-o", place / "facts"
    code, _, err = miner("train-verifier", trained, *arguments)
    assert code == 0 and "learning facts" in err and "to verify" not in err, err
    old, new = whole(trained), whole(place / "facts")
    assert {name for name in new if new[name] != old.get(name)} == {"config.json", "facts.npz"}
    facts = Verifier(Encoder.load(place / "facts", 1), ("de", "en")).facts
    assert facts is not None and facts.reader.kinds[0] == "negation"


def test_other_text_is_recorded(trained: Path) -> None:
    place = trained.parent
    for name in "ab":
        lines = (place / name).read_text("utf-8").splitlines(keepends=True)
        (place / f"{name}2").write_text("".join(lines[:600]), encoding="utf-8")
    lines: list[str] = []
    text = TextPair(str(place / "a2"), str(place / "b2"))
    model = relearn_verification(
        trained, [text], place / "new", comparer=False, report=lines.append
    )
    assert any(line.startswith("warning: not the text of the encoder") for line in lines)
    assert isinstance(model, Model) and model.training["verification text"][0]["pairs"] == 600


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to learn from: give --source and --target, or --bitext"),
        (("--source", "a"), "1 --source but 0 --target"),
        (("--bitext", "*.none"), "no file has such a name"),
    ],
)
def test_faults(miner, tiny_model: Path, tmp_path: Path, arguments, words: str) -> None:
    code, _, err = miner("train-verifier", tiny_model, *arguments, "-o", tmp_path / "new")
    assert code == 2 and words in err


def test_a_model_that_cannot_verify(miner, separate_model, german_file, english_file, tmp_path):
    sides = "--source", german_file, "--target", english_file
    code, _, err = miner("train-verifier", separate_model, *sides, "-o", tmp_path / "new")
    assert code == 1 and "cannot verify" in err and not (tmp_path / "new").exists()


def test_too_little_text(miner, tiny_model, german_file, english_file, tmp_path):
    sides = "--source", german_file, "--target", english_file
    code, _, err = miner("train-verifier", tiny_model, *sides, "-o", tmp_path / "new")
    assert code == 1 and "verification cannot be learned from this text" in err
