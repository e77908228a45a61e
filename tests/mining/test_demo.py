"""The demo text and the default model do what the demo promises."""

from pathlib import Path

import miner
from miner import Encoder, Index, best_threshold, search
from miner.encoder.model import VERIFYING_FILES
from miner.evaluation.gold import read_gold

DEMO = Path(miner.__file__).parent / "demo"


def test_gold_is_sound() -> None:
    german = (DEMO / "demo.de").read_text(encoding="utf-8").splitlines()
    english = (DEMO / "demo.en").read_text(encoding="utf-8").splitlines()
    gold = read_gold(DEMO / "demo.gold")
    assert len(set(german)) == len(german) == len(set(english)) == len(english) == 400
    assert len(gold) == len({s for s, _ in gold}) == len({t for _, t in gold}) == 150
    assert all(1 <= int(s) <= 400 and 1 <= int(t) <= 400 for s, t in gold)


def test_default_model_mines_the_demo(tmp_path: Path) -> None:
    encoder = Encoder.load("default")
    german = Index.build(encoder, DEMO / "demo.de", tmp_path / "de")
    english = Index.build(encoder, DEMO / "demo.en", tmp_path / "en")
    found = best_threshold(list(search(german, english).ids()), read_gold(DEMO / "demo.gold"))
    assert found.f1 > 0.75


def test_default_model_fits_the_package() -> None:
    """The whole directory is within 48 MB; lexicon, verifier and decoys take 10 of them at most."""
    directory = Path(miner.__file__).parent / "models" / "default"
    sizes = {file.name: file.stat().st_size for file in directory.iterdir()}
    assert sum(sizes[name] for name in VERIFYING_FILES) <= 10_000_000
    assert sum(sizes.values()) <= 48_000_000
    assert (directory / "README.md").exists()
