"""The default model on real text; skipped, with the reason, where that is absent."""

import lzma
import os
import random
from pathlib import Path

import numpy as np
import pytest

from miner import Encoder
from miner.evaluation import tatoeba
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import read_labelled
from miner_train.papers import sts
from miner_train.papers.shared_translations import pivot_pairs, probabilities

DATA = Path(os.environ.get("MINER_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
TATOEBA, STS = DATA / "tatoeba", DATA / "sts"
TRAINING = DATA / "train" / "de-en" / "tatoeba.tsv.xz"


@pytest.mark.skipif(not TATOEBA.is_dir(), reason=f"no Tatoeba sets in {TATOEBA} (set MINER_DATA)")
def test_tatoeba_as_it_is_evaluated() -> None:
    model, path = MinerModel("default"), tatoeba.sets(DATA)["de-en"]
    found, missing = tatoeba.accuracies(model, "de-en", path)
    assert not missing
    value = {one.name: one.value for one in found}
    assert value["both ways by margin"] > 0.95
    assert value["both ways by margin"] > value["both ways by cosine"] > 0.9


@pytest.mark.skipif(not STS.is_dir(), reason=f"no STS sets in {STS} (set MINER_DATA)")
def test_the_sts_benchmark_as_it_is_evaluated() -> None:
    name = sts.BENCHMARK.format("en")
    pairs = read_labelled(sts.sets(DATA)[name])
    assert len(pairs) == 1379
    (pearson, spearman), missing = sts.correlations(MinerModel("default"), name, pairs)
    assert not missing
    assert 0.70 < spearman.value < 0.82 and 0.70 < pearson.value < 0.82
    low, high = pearson.interval or (0, 1)
    assert 0.02 < high - low < 0.08


@pytest.mark.skipif(not TRAINING.is_file(), reason=f"no {TRAINING} (set MINER_DATA)")
@pytest.mark.parametrize("share", [0.1, 0.2, 0.4, 0.7])
def test_cleanliness_of_pivots_is_estimated(share: float) -> None:
    """With pairs by pivot of 4,000 German sentences, of which a share is shuffled."""
    by_source: dict[str, list[tuple[str, str]]] = {}
    with lzma.open(TRAINING, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            source, target = line.rstrip("\n").split("\t")
            by_source.setdefault(source, []).append((source, target))
    generator = random.Random(1)
    several = [own for own in by_source.values() if len(own) > 1]
    rows = [row for own in generator.sample(several, 4000) for row in own]
    right = {frozenset((pair.first, pair.second)) for pair in pivot_pairs(rows)}
    places = generator.sample(range(len(rows)), int(share * len(rows)))
    targets = [rows[place][1] for place in places]
    generator.shuffle(targets)
    for place, target in zip(places, targets, strict=True):
        rows[place] = rows[place][0], target
    pairs = [(pair.first, pair.second) for pair in pivot_pairs(rows)]
    clean = np.mean([frozenset(pair) in right for pair in pairs])
    estimated = probabilities(pairs, Encoder.load("default", threads=1)).mean()
    print(f"{share:.0%} of the rows shuffled: {clean:.1%} right, {estimated:.1%} estimated")
    assert estimated == pytest.approx(clean, abs=0.03)
