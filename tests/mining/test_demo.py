"""The demo text and the default model give the results that the demo promises."""

from pathlib import Path

import pytest

import miner
from miner import mine
from miner.encoder.model_files import VERIFYING_FILES
from miner.evaluation.gold import read_gold

DEMO = Path(miner.__file__).parent / "demo"


def test_gold_is_sound() -> None:
    german = (DEMO / "demo.de").read_text(encoding="utf-8").splitlines()
    english = (DEMO / "demo.en").read_text(encoding="utf-8").splitlines()
    gold = read_gold(DEMO / "demo.gold")
    assert len(german) == len(english) == 2000 and "" not in {*german, *english}
    assert len(gold) == len({s for s, _ in gold}) == len({t for _, t in gold}) == 400
    paired = [german[int(s) - 1] for s, _ in gold], [english[int(t) - 1] for _, t in gold]
    for side, lines in zip(paired, (german, english), strict=True):
        assert all(lines.count(line) == 1 for line in side)


def test_the_estimate_on_the_demo_is_true() -> None:
    found = mine(DEMO / "demo.de", DEMO / "demo.en")
    gold = set(read_gold(DEMO / "demo.gold"))
    kept = {(source, target) for _, source, target in found.pairs.ids()}
    estimate = found.estimate
    assert estimate is not None and not estimate.doubts
    assert found.precision == pytest.approx(0.95, abs=0.005)
    assert len(kept & gold) / len(kept) == pytest.approx(found.precision, abs=0.03)
    assert len(kept & gold) / len(gold) > 0.93


def test_default_model_fits_the_package() -> None:
    """The model directory takes at most 95 MB, of which lexicon, verifier and decoys take 27."""
    directory = Path(miner.__file__).parent / "models" / "default"
    sizes = {file.name: file.stat().st_size for file in directory.iterdir()}
    assert sum(sizes[name] for name in VERIFYING_FILES) <= 27_000_000
    assert sum(sizes.values()) <= 95_000_000
    assert (directory / "README.md").exists()
