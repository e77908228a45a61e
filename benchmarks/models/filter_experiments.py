"""Which filter chooses the best pairs to learn from, at a fixed number (P17, 5.4 to 5.7)?

Bounds keep pairs at random within them, scores the best. The model of the pool itself has learned
from other pairs of the same text. The one that ships has seen clean sources of the pools in its
training, but not the misaligned laws.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.models import choose, experiment_text
from benchmarks.models.choose import Pool, pool, scores
from benchmarks.models.encoder_text import Pair
from benchmarks.models.experiment_metrics import Bench, Results

DRAWS = 3
# Bounds, in tokens and in shares.
LENGTHS = ((0, 10), (10, 20), (20, 40))
OVERLAPS = ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0))


def measure(bench: Bench) -> Iterator[Results]:
    rows = []
    pools = {}
    for name in experiment_text.POOLS:
        found = pool(name, bench)
        pools[name] = {
            "pairs": len(found.pairs),
            "the model of the pool's own": len(found.sample),
        }
        for label, kept in chosen(found, bench):
            row = bench.row(name, label, kept[: found.keep], found.config, found.languages)
            rows.append(row)
            yield {"pools": pools, "rows": rows}


def chosen(found: Pool, bench: Bench) -> Iterator[tuple[str, list[Pair]]]:
    """Positions that each filter keeps, by its label; only filters that keep enough pairs."""
    pairs, keep = found.pairs, found.keep
    # Several draws tell what of a difference is chance.
    for number in range(min(DRAWS, len(pairs) // keep)):
        yield f"none: random, draw {number + 1}", pairs[number * keep :]
    length = -scores("length", pairs)
    yield from bounded("tokens", length, LENGTHS, found)
    if found.languages == experiment_text.ENGLISH:
        for n in (1, 2, 3):
            value = -scores("ngram_overlap", pairs, n=n)
            yield from bounded(f"overlap of {n}-grams", value, OVERLAPS, found)
        yield from bounded("BLEU", -scores("bleu", pairs), OVERLAPS, found)
    else:
        # In two languages a word in both is untranslated: a name, or a fault.
        yield from bounded("overlap of words", -scores("ngram_overlap", pairs), OVERLAPS, found)
        yield "quality", choose.top(pairs, scores("quality", pairs), keep)
    for whose, model in (("the default model", "default"), ("the pool's own", found.own(bench))):
        for name in ("cosine", "margin"):
            best = choose.top(pairs, scores(name, pairs, model=model), keep)
            yield f"{name} by {whose}", best


def bounded(
    label: str, value: np.ndarray, bounds: Iterable[tuple[float, float]], found: Pool
) -> Iterator[tuple[str, list[Pair]]]:
    """Positions within each pair of bounds that keeps enough pairs."""
    for low, high in bounds:
        kept = choose.within(found.pairs, value, low, high)
        if len(kept) >= found.keep:
            yield f"{label}, {low:g} to {high:g}", kept
