"""Measure precision and recall without gold over languages, sizes and shares of parallel lines.

    python -m benchmarks sweep --data DIR [--model default] [--only PAIR ...] [--full]

A corpus is a sample of lines a side of which a share translate each other; the other lines are of
further pairs, one side of each. The text is of files that no shipped model may be trained on. The
precision reached and recall are by this gold, in which a target that translates a second source
counts as wrong. A precision of 0.9, 0.95 and 0.99 is asked for, and the intervals are the printed
ones. ``--full`` has more sizes and shares, and three seeds of the smallest; a pool of too few
pairs lacks the largest.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table as markdown_table
from miner import Encoder, Keep, MinerError, mine
from miner.evaluation.labelled_text import find_file
from miner.mining.result import Mined
from miner.precision.estimate import rounded
from miner.text.bitext import read_bitext

GAMES = "wesnoth", "andors-trail", "pixel-dungeon"
TEXT = {
    "cs-en": GAMES,
    "sk-en": ("wesnoth",),
    "sl-en": ("wesnoth", "scratch", "small-other"),
    "uk-en": GAMES,
    "ko-en": GAMES,
    "de-en": GAMES,
    "ru-en": ("newstest",),
    "fr-en": ("javascript-info",),
}
ASKED = (0.9, 0.95, 0.99)
# Grids: lines of the source, lines of the target for each of them, shares parallel, and seeds.
# Few sources among many targets are in both.
SHARES, FEWER = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0), (0.0, 0.1, 0.5, 0.9, 1.0)
FEW = (100, 80, (0.5,), (0,))
QUICK = ((200, 1, FEWER, (0,)), (1500, 1, FEWER, (0,)), FEW)
FULL = (
    (200, 1, FEWER, (0, 1, 2)),
    (1500, 1, SHARES, (0,)),
    (5000, 1, (0.1, 0.5, 0.9), (0,)),
    (20_000, 1, (0.1, 0.5), (0,)),
    FEW,
)
# Tolerated difference between target and reached precision.
TOLERANCE = 0.02
# Share of the right pairs below which a corpus counts as collapsed; corpora with fewer right pairs
# are not counted.
COLLAPSE, SEVERAL = 0.1, 50

Pool = list[tuple[str, str]]


def pool(data: Path, pair: str) -> Pool:
    """Return the pairs of the files of a pair of languages; no side occurs twice."""
    seen: tuple[set[str], set[str]] = (set(), set())
    found = []
    for name in TEXT[pair]:
        path = find_file(data / "train" / pair, f"{name}.tsv")
        if path is None:
            raise MinerError(f"{data}: no {name}.tsv of {pair}")
        bitext = read_bitext(path)
        for both in zip(bitext.source, bitext.target, strict=True):
            forms = ["".join(filter(str.isalnum, text.casefold())) for text in both]
            new = all(form and form not in own for form, own in zip(forms, seen, strict=True))
            if new and forms[0] != forms[1]:
                found.append(both)
                for form, own in zip(forms, seen, strict=True):
                    own.add(form)
    return found


def corpus(
    pairs: Pool, lines: int, times: int, share: float, seed: int
) -> tuple[list[str], list[str], dict[int, int]] | None:
    """Return a sample of sources, of ``times`` as many targets, and the target of each source.

    None where there are too few pairs.
    """
    true = round(lines * share)
    own, theirs = lines - true, lines * times - true
    if true + own + theirs > len(pairs):
        return None
    generator = random.Random(seed)
    chosen = generator.sample(pairs, true + own + theirs)
    orders = [generator.sample(range(count), count) for count in (lines, lines * times)]
    sources = [source for source, _ in chosen[: true + own]]
    targets = [target for _, target in chosen[:true] + chosen[true + own :]]
    places = [{row: place for place, row in enumerate(order)} for order in orders]
    gold = {places[0][row]: places[1][row] for row in range(true)}
    return [sources[row] for row in orders[0]], [targets[row] for row in orders[1]], gold


def corpora(pairs: Pool, *, full: bool) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the description and the content of each corpus of a pool."""
    for lines, times, shares, seeds in FULL if full else QUICK:
        for share, seed in product(shares, seeds):
            found = corpus(pairs, lines, times, share, seed)
            if found is not None:
                yield {"lines": [lines, lines * times], "share": share, "seed": seed}, found


def compared(mined: Mined, gold: dict[int, int]) -> Iterator[dict[str, Any]]:
    """Compare with the truth what each target precision keeps."""
    pairs, guess = mined.all_pairs, mined.estimate
    right = [gold.get(source) == target for source, target in rows(mined)]
    correct = np.concatenate([[0], np.cumsum(right, dtype=np.int64)])
    said = {
        "found": int(correct[-1]),
        "true pairs": len(gold),
        "warnings": list(mined.warnings),
        "notes": list(mined.notes),
    }
    if guess is None:
        yield {**said, "asked": None, "kept": len(mined.pairs)}
        return
    said |= {"decoys": guess.decoys, "matched": guess.matched, "right": guess.right}
    for asked in ASKED:
        threshold = guess.threshold(asked)
        kept = 0 if threshold is None else pairs.count_at_least(rounded(threshold) or threshold)
        true = int(correct[kept]) / max(kept, 1), int(correct[kept]) / max(len(gold), 1)
        (bounds,) = guess.intervals([kept])
        yield {
            **said,
            "asked": asked,
            "kept": kept,
            "reached": true,
            "estimated": (guess.precision(kept), guess.recall(kept)),
            "intervals": bounds,
        }


def rows(mined: Mined) -> Iterator[tuple[int, int]]:
    """Yield source and target rows of all mined pairs, best first."""
    pairs = mined.all_pairs
    lines = pairs.source.store.line[pairs.source_row], pairs.target.store.line[pairs.target_row]
    yield from zip((lines[0] - 1).tolist(), (lines[1] - 1).tolist(), strict=True)


def measure(encoder: Encoder, data: Path, pair: str, *, full: bool) -> Iterator[dict[str, Any]]:
    """Yield the results of each corpus of a pair of languages."""
    for about, (sources, targets, gold) in corpora(pool(data, pair), full=full):
        mined = mine(sources, targets, encoder=encoder, keep=Keep(default_precision=None))
        for row in compared(mined, gold):
            yield {**about, **row}


def tables(record: dict[str, Any], conditions: Callable[..., str]) -> list[str]:
    """Lay out, by share parallel and precision asked for, what was reached and what intervals held.

    ``conditions`` formats the command and the machine of a section.
    """
    rows = [row for section in record["sections"].values() for row in section["results"]]
    estimated = [row for row in rows if row["asked"] is not None]
    groups: dict[tuple[float, float], list[dict[str, Any]]] = defaultdict(list)
    for row in estimated:
        if row["kept"] and row["true pairs"]:
            groups[row["share"], row["asked"]].append(row)
    lines = []
    for (share, asked), some in sorted(groups.items()):
        recalls = [row for row in some if row["estimated"][1] is not None]
        lines.append(
            (
                f"{share:.0%}",
                f"{asked:.2f}",
                f"{len(some)}",
                f"{np.median([row['reached'][0] for row in some]):.3f}",
                f"{sum(enough(row) for row in some)}",
                f"{sum(holds(row, 0) for row in some)}",
                f"{np.median([row['reached'][1] for row in some]):.3f}",
                f"{sum(holds(row, 1) for row in recalls)} of {len(recalls)}",
            )
        )
    every = [row for some in groups.values() for row in some]
    sure = [row for row in every if not row["warnings"]]
    recalls = [row for row in every if row["estimated"][1] is not None]
    collapsed = sum(row["kept"] < COLLAPSE * row["right"] for row in groups_at(estimated, 0.9))
    nothing = [row for row in estimated if not row["true pairs"]]
    columns = (
        "parallel",
        "asked",
        "corpora",
        "precision reached",
        "enough",
        "its intervals hold",
        "recall",
        "its intervals hold",
    )
    return [
        *markdown_table(columns, lines),
        "",
        f"*Enough*: at least the precision asked for less {TOLERANCE}; medians of precision and",
        "recall. Recall is not estimated in languages that the model knows badly. In all:",
        f"{sum(map(enough, every))} of {len(every)} are precise enough, and",
        f"{sum(map(enough, sure))} of {len(sure)} without a warning;",
        f"{sum(holds(row, 0) for row in every)} of {len(every)} intervals of precision and",
        f"{sum(holds(row, 1) for row in recalls)} of {len(recalls)} of recall hold;",
        f"{collapsed} corpora of {SEVERAL} right pairs or more kept less than a tenth at .90.",
        f"Where nothing is parallel, {sum(row['kept'] for row in nothing)} pairs were kept in",
        f"{len(nothing)} results.",
        "",
        *dict.fromkeys(conditions(section) for section in record["sections"].values()),
    ]


def groups_at(rows: Sequence[dict[str, Any]], asked: float) -> list[dict[str, Any]]:
    """Return the results of one target precision, of corpora with several right pairs."""
    return [row for row in rows if row["asked"] == asked and row["true pairs"] >= SEVERAL]


def enough(row: dict[str, Any]) -> bool:
    """Return True if the precision reached is near the target, or above it."""
    return row["reached"][0] >= row["asked"] - TOLERANCE


def holds(row: dict[str, Any], which: int) -> bool:
    """Return True if the interval of precision (0) or recall (1) holds the true value."""
    low, high = row["intervals"][which]
    return low <= row["reached"][which] <= high


def main() -> None:
    parser = report.parser(__doc__, "sweep.json", sections=TEXT, model=True)
    parser.add_argument("--full", action="store_true", help="more sizes, shares and seeds")
    arguments = parser.parse_args()
    encoder = Encoder.load(arguments.model)
    for pair in arguments.only:
        results = []
        for row in measure(encoder, arguments.data, pair, full=arguments.full):
            results.append(row)
            print(pair, row, flush=True)
        report.merge(arguments.json, "sweep", pair, results)
