"""Measure precision and recall where few pairs or none are parallel.

    python -m benchmarks sparse --data DIR [--model default] [--only PAIR ...]

Samples of 600 to 50,000 lines a side have 0, 10, 100 or 1,000 true pairs; 28 have none. The lines
are bucc-style training text (de-en, fr-en) or news. In news the other sources are of the first half
of the files and the other targets of the second, which is of other years: one side of each pair.
A precision of 0.9 and 0.95 is asked for, with the refit and without.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.mining.between_languages import news
from benchmarks.mining.precision_reached import bucc_style, searched
from miner import Encoder
from miner.precision.estimate import Estimate, calibrate

ASKED = (0.9, 0.95)
# Lines per side and true pairs of each sample; three samples without a pair per size.
SAMPLES = {
    "de-en": ((600, 0), (2000, 0), (6000, 0), (600, 10), (2000, 100), (6000, 1000), (50_000, 0)),
    "fr-en": ((600, 0), (2000, 0), (6000, 0), (600, 10), (2000, 100), (6000, 900)),
    "cs-en": ((2000, 0), (2000, 10), (2000, 100), (6000, 1000)),
    "ru-en": ((2000, 0), (2000, 10), (2000, 100), (6000, 1000)),
    "cs-ru": ((2000, 0), (2000, 10), (2000, 100), (6000, 1000)),
}
REPEATS, LARGE = 3, 10_000

Sides = list[dict[str, str]]
Gold = set[tuple[str, str]]


def text(data: Path, pair: str) -> tuple[Sides, list[list[str]], list[tuple[str, str]]]:
    """Return the sentences of both sides by id, the unpaired ids, and the true pairs."""
    if pair in ("de-en", "fr-en"):
        sides, gold = bucc_style(data / "bucc-style", pair, "training")
        own = [{names[number] for names in gold} for number in (0, 1)]
        alone = [[name for name in sides[n] if name not in own[n]] for n in (0, 1)]
        return sides, alone, sorted(gold)
    source = news(data, pair[:2])
    target = dict(zip(source, source, strict=True)) if pair[3:] == "en" else news(data, pair[3:])
    shared = [english for english in source if english in target]
    true = [(f"0-{number}", f"1-{number}") for number in range(len(shared))]
    sides = [
        {names[n]: side[english] for names, english in zip(true, shared, strict=True)}
        for n, side in enumerate((source, target))
    ]
    half = len(true) // 2
    return sides, [[names[0] for names in true[:half]], [names[1] for names in true[half:]]], true


def sample(
    whole: tuple[Sides, list[list[str]], list[tuple[str, str]]], lines: int, true: int, seed: int
) -> tuple[Sides, Gold]:
    """Return a sample of ``lines`` a side with ``true`` pairs, in random order."""
    generator = random.Random(seed)
    sides, alone, pairs = whole
    gold = generator.sample(pairs, true)
    taken = {name for names in gold for name in names}
    taken |= {mate for names in pairs if set(names) & taken for mate in names}
    chosen = []
    for number, side in enumerate(sides):
        others = [name for name in alone[number] if name not in taken]
        names = [names[number] for names in gold]
        names += generator.sample(others, min(lines - true, len(others)))
        chosen.append({name: side[name] for name in generator.sample(names, len(names))})
    return chosen, set(gold)


def measure(encoder: Encoder, data: Path, pair: str) -> Iterator[dict[str, Any]]:
    """Yield the results of each sample, with and without refit, for each target precision."""
    whole = text(data, pair)
    for lines, true in SAMPLES[pair]:
        for seed in range(1 if true or lines > LARGE else REPEATS):
            sides, gold = sample(whole, lines, true, seed)
            with searched(encoder, sides) as found:
                for refit in (True, False):
                    scored, guess = calibrate(found, refitting=refit)
                    right = [(one, other) in gold for _, one, other in scored.pairs.ids()]
                    about = {"lines": lines, "true pairs": true, "seed": seed, "refit": refit}
                    for asked in ASKED:
                        yield about | {"asked": asked} | compared(guess, right, asked, true)


def compared(guess: Estimate, right: list[bool], asked: float, pairs: int) -> dict[str, Any]:
    """Compare an estimate with the truth: ``right`` are found, best first, of ``pairs`` true."""
    threshold = guess.threshold(asked)
    kept = 0 if threshold is None else guess.count(threshold)
    correct = sum(right[:kept])
    true = correct / max(kept, 1), correct / max(pairs, 1)
    (bounds,) = guess.intervals([kept])
    inside = [
        held is not None and held[0] <= value <= held[1]
        for value, held in zip(true, bounds or (), strict=False)
    ]
    return {
        "kept": kept,
        "right": correct,
        "found": sum(right),
        "intervals": bounds,
        "inside": inside,
    }


def main() -> None:
    arguments = report.parser(__doc__, "sparse.json", sections=SAMPLES, model=True).parse_args()
    encoder = Encoder.load(arguments.model)
    for pair in arguments.only:
        results = []
        for row in measure(encoder, arguments.data, pair):
            results.append(row)
            print(pair, row, flush=True)
        report.merge(arguments.json, "sparse", pair, results)
