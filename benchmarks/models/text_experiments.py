"""Compare training texts: sources, numbers of pairs, tenths by score, and what filters keep.

- Sources (P17, section 5.3; P18): a row for each source with enough pairs, and one for equal parts
  of all of them.
- Numbers of pairs, by two recipes; each sample contains the smaller ones.
- Tenths (P18, section 3): a pool is sorted by the cosine of a model, the paraphrase score of P18,
  which keeps the two best tenths. One model is trained on each.
- Filters (P17, 5.5 to 5.7) with bounds keep random pairs within them; filters with scores keep the
  best. The model of the pool itself is trained on other pairs of the same text. The model that
  ships was trained on the clean sources of the pools, but not on the misaligned laws.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.models import choose, training_text
from benchmarks.models.bench import Results
from benchmarks.models.choose import Pool, pool, scores
from benchmarks.models.experiment_metrics import EPOCHS, ExperimentBench
from benchmarks.models.training_text import BILINGUAL, ENGLISH, POOLS, Pair, bilingual, draw
from miner_train.recipes import RECIPES

# A smaller number of pairs, available in nearly all sources.
FEW = 4000
MIX = "all of these, equally"
SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
SORTED_POOLS = ("half noisy", ENGLISH)
SAMPLES = 3
# Bounds in tokens, and as shares.
LENGTHS = ((0, 10), (10, 20), (20, 40))
OVERLAPS = ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0))


def measure_sources(bench: ExperimentBench) -> Iterator[Results]:
    parts = training_text.sources(bench.data, BILINGUAL)
    rows = []
    left_out = {}
    for most in sorted({bench.pairs, min(FEW, bench.pairs)}, reverse=True):
        group = f"{most:,} pairs"
        enough = {name: pairs for name, pairs in parts.items() if len(pairs) >= most}
        left_out[group] = {name: len(pairs) for name, pairs in parts.items() if name not in enough}
        samples = {name: draw(pairs, most) for name, pairs in enough.items()}
        if len(enough) > 1:
            samples[MIX] = training_text.mixed(enough, most)
        for name, pairs in samples.items():
            rows.append(bench.row(group, name, pairs))
            yield {"left out": left_out, "rows": rows}


def measure_sizes(bench: ExperimentBench) -> Iterator[Results]:
    pairs = bilingual(bench.data)
    pairs = draw(pairs, len(pairs))
    rows = []
    for size in [*(size for size in SIZES if size < len(pairs)), len(pairs)]:
        for recipe in ("p19-tuned", "fast"):
            config = replace(RECIPES[recipe], epochs=EPOCHS)
            rows.append(bench.row(recipe, f"{size:,}", pairs[:size], config))
            yield {"rows": rows}


def measure_deciles(bench: ExperimentBench) -> Iterator[Results]:
    rows = []
    for name in SORTED_POOLS:
        found = pool(name, bench)
        for whose, model in (("pool's own", found.own(bench)), ("default", "default")):
            score = scores("cosine", found.pairs, model=model)
            score_of = dict(zip(found.pairs, score.tolist(), strict=True))
            for number, part in enumerate(choose.parts(found.pairs, score), 1):
                bounds = [round(score_of[pair], 4) for pair in (part[0], part[-1])]
                rows.append(
                    bench.row(
                        f"{name}, by the {whose} model",
                        str(number),
                        draw(part, len(part)),  # shuffled: the order must not depend on the score
                        found.config,
                        found.languages,
                        cosines=bounds,
                    )
                )
                yield {"default": bench.default, "rows": rows}


def measure_filters(bench: ExperimentBench) -> Iterator[Results]:
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
