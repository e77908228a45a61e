"""Compare filters by the training text they choose, at a fixed number of pairs (P17, 5.5 to 5.7).

Filters with bounds keep random pairs within them; filters with scores keep the best. The model of
the pool itself is trained on other pairs of the same text. The model that ships was trained on the
clean sources of the pools, but not on the misaligned laws.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.models import choose
from benchmarks.models.bench import Results
from benchmarks.models.choose import Pool, pool, scores
from benchmarks.models.experiment_metrics import ExperimentBench
from benchmarks.models.training_text import ENGLISH, POOLS, Pair

SAMPLES = 3
# Bounds in tokens, and as shares.
LENGTHS = ((0, 10), (10, 20), (20, 40))
OVERLAPS = ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0))


def measure(bench: ExperimentBench) -> Iterator[Results]:
    rows = []
    pools = {}
    for name in POOLS:
        found = pool(name, bench)
        pools[name] = {
            "pairs": len(found.pairs),
            "the model of the pool's own": len(found.sample),
        }
        for label, kept in chosen(found, bench):
            row = bench.row(name, label, kept[: found.keep], found.config, found.languages)
            rows.append(row)
            yield {"default": bench.default, "pools": pools, "rows": rows}


def chosen(found: Pool, bench: ExperimentBench) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the label and the kept pairs of each filter that keeps enough of them."""
    pairs, keep = found.pairs, found.keep
    # Several random samples show the differences that are due to chance.
    for number in range(min(SAMPLES, len(pairs) // keep)):
        yield f"none: random, draw {number + 1}", pairs[number * keep :]
    length = -scores("length", pairs)
    yield from bounded("tokens", length, LENGTHS, found)
    if found.languages == ENGLISH:
        for n in (1, 2, 3):
            value = -scores("ngram_overlap", pairs, n=n)
            yield from bounded(f"overlap of {n}-grams", value, OVERLAPS, found)
        yield from bounded("BLEU", -scores("bleu", pairs), OVERLAPS, found)
    else:
        # A word on both sides of a translation is a name, or an error.
        yield from bounded("overlap of words", -scores("ngram_overlap", pairs), OVERLAPS, found)
        yield "quality", choose.top(pairs, scores("quality", pairs), keep)
    for whose, model in (("the default model", "default"), ("the pool's own", found.own(bench))):
        for name in ("cosine", "margin"):
            best = choose.top(pairs, scores(name, pairs, model=model), keep)
            yield f"{name} by {whose}", best


def bounded(
    label: str, value: np.ndarray, bounds: Iterable[tuple[float, float]], found: Pool
) -> Iterator[tuple[str, list[Pair]]]:
    """Yield the pairs within each of the bounds that keep enough of them."""
    for low, high in bounds:
        kept = choose.within(found.pairs, value, low, high)
        if len(kept) >= found.keep:
            yield f"{label}, {low:g} to {high:g}", kept
