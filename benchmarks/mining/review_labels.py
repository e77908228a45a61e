"""Measure what answers about a sample of pairs bring: precision, intervals, and better pairs.

    python -m benchmarks review --data DIR [--model default] [--only NAME ...]

The gold answers in place of a person. Mining: training splits of the BUCC-style sets, news between
languages other than English, captions, and news in which half of the true pairs has a near-copy
with one fact changed in place of the target. Pairs with a score of 0.003 or more are reviewed.
Filtering: ParaCrawl and subtitles that people labelled; all rows are reviewed. Ten samples each
of 25 to 400 answers, also drawn at random, and by judges of whom 5 and 15% of the answers are
wrong. F1 is that of pairs with a probability of one half, those with an answer included; the
precision asked for is 0.9 and 0.95 for mining, 0.8 for filtering. Intervals are those of
``miner review`` at its thresholds, and those of ``miner mine --labels``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import report
from benchmarks.filtering.noisy_text import SETS, labelled
from benchmarks.markdown import table
from benchmarks.mining.between_languages import corpus, news
from benchmarks.mining.precision_reached import bucc_style, searched
from miner import Encoder
from miner.evaluation.labelled_text import find_file
from miner.precision import faults
from miner.precision.estimate import Estimate, calibrate, expected_wrong
from miner.precision.labels import LEAST
from miner.precision.search_result import SearchResult
from miner.review.estimate import Judged
from miner.review.sample import asking_order, strata
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.corruptions import KINDS, Material, corrupt

ANSWERS, SAMPLES = (25, 50, 100, 200, 400), 10
# Number of answers while the method of drawing and the share of wrong answers vary.
USUAL = 100
# Each run: number of answers, method of drawing, share of wrong answers.
RUNS = (
    *((count, "stratified", 0.0) for count in ANSWERS),
    (USUAL, "random", 0.0),
    (USUAL, "stratified", 0.05),
    (USUAL, "stratified", 0.15),
)
ASKED, ASKED_OF_ROWS = (0.9, 0.95), (0.8,)
# Unpaired sentences of each side in the set of near-copies.
OTHERS, SEED = 15_000, 2

Sides = list[dict[str, str]]
Gold = set[tuple[str, str]]


def captions(data: Path) -> tuple[Sides, Gold]:
    """Return captions: half of them pairs, a quarter on either side alone."""
    path = find_file(data / "heldout", "de-en.multi30k-val.tsv")
    assert path is not None, data
    bitext = read_bitext(path)
    order = np.random.default_rng(SEED).permutation(len(bitext)).tolist()
    half, rest = order[: len(order) // 2], order[len(order) // 2 :]
    alone = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    sides = [
        {f"{n}-{row}": text[row] for row in (*half, *alone[n])}
        for n, text in enumerate((bitext.source, bitext.target))
    ]
    return sides, {(f"0-{row}", f"1-{row}") for row in half}


def near_copies(data: Path) -> tuple[Sides, Gold]:
    """Return fr-en news in which every second true target has one fact changed."""
    whole, pairs = bucc_style(data / "bucc-style", "fr-en", "training")
    gold, generator = sorted(pairs), np.random.default_rng(SEED)
    sides = []
    for n, side in enumerate(whole):
        own = {pair[n] for pair in gold}
        others = [name for name in side if name not in own]
        chosen = generator.permutation(len(others))[:OTHERS].tolist()
        sides.append({name: side[name] for name in [*own, *(others[i] for i in chosen)]})
    material, kinds, left = Material.of([sides[1][name] for _, name in gold]), [*KINDS], {*gold}
    for number, pair in enumerate(gold[::2]):
        turn = kinds[number % len(kinds) :] + kinds[: number % len(kinds)]
        tries = (corrupt(sides[1][pair[1]], kind, material) for kind in turn)
        changed = next((text for text in tries if text is not None), None)
        if changed is not None:
            sides[1][pair[1]] = changed
            left.discard(pair)
    return sides, left


def bucc(data: Path, pair: str) -> tuple[Sides, Gold]:
    return bucc_style(data / "bucc-style", pair, "training")


def between(data: Path, pair: str) -> tuple[Sides, Gold]:
    source, target = (news(data, language) for language in pair.split("-"))
    return corpus(source, target)


CORPORA: dict[str, Callable[[Path], tuple[Sides, Gold]]] = {
    **{pair: partial(bucc, pair=pair) for pair in ("de-en", "fr-en")},
    **{pair: partial(between, pair=pair) for pair in ("es-ru", "cs-hu")},
    "captions": captions,
    "near-copies": near_copies,
}
NOISY = {f"{one.name} {one.languages}": one for one in SETS if one.development}
SECTIONS = (*CORPORA, *NOISY)


@dataclass(frozen=True, eq=False)
class Scored:
    """Pairs by score: which are right, how many the gold has, and intervals of both."""

    score: np.ndarray
    right: np.ndarray
    gold: int
    estimate: Estimate | None = None

    def f1(self) -> float:
        kept = self.score >= 0.5
        return float(2 * self.right[kept].sum() / max(kept.sum() + self.gold, 1))

    def reached(self, asked: float) -> dict[str, Any]:
        """Return the precision reached, and whether the intervals hold."""
        order = np.argsort(-self.score, kind="stable")
        right = self.right[order]
        q_value = expected_wrong(self.score[order])[1]
        kept = int(np.searchsorted(q_value, 1 - asked + 1e-9, side="right"))
        if not kept:
            return {"precision": None, "held": []}
        values = right[:kept].mean(), right[:kept].sum() / max(self.gold, 1)
        held = []
        if self.estimate is not None:
            (bounds,) = self.estimate.intervals([kept])
            held = [
                each is not None and bool(each[0] <= value <= each[1])
                for value, each in zip(values, bounds or (), strict=False)
            ]
        return {"precision": float(values[0]), "held": held}


def compared(
    start: Scored,
    again: Callable[[np.ndarray, np.ndarray], Scored],
    asked: tuple[float, ...],
    runs: Sequence[tuple[int, str, float]] = RUNS,
) -> Iterator[dict[str, Any]]:
    """Yield the results of ``runs``; ``again`` scores pairs by answers about rows of ``start``."""
    reviewed = np.flatnonzero(start.score >= LEAST)
    score, right = start.score[reviewed], start.right[reviewed]
    yield {
        "answers": 0,
        "pairs": len(reviewed),
        "F1": start.f1(),
        "reached": {str(one): start.reached(one) for one in asked},
    }
    for count, drawn, errors in runs:
        if count >= len(reviewed):
            continue
        for sample in range(SAMPLES):
            generator = np.random.default_rng([sample, count])
            stratum = strata(score) if drawn == "stratified" else np.zeros(len(score), np.int64)
            order = asking_order(generator.permutation(len(score)), stratum, np.unique(stratum))
            rows = np.array([*islice(order, count)])
            answers = right[rows] ^ (generator.random(count) < errors)
            found = again(reviewed[rows], answers.astype(float))
            yield {
                "answers": count,
                "drawn": drawn,
                "errors": errors,
                "F1": found.f1(),
                "reached": {str(one): found.reached(one) for one in asked},
                **reviewed_by(Judged(score, stratum, rows, answers.astype(float)), right),
            }


def reviewed_by(judged: Judged, right: np.ndarray) -> dict[str, Any]:
    """Compare the estimates of a review with the truth, at four thresholds."""
    held, gaps, widths = [], [], []
    for threshold in np.quantile(judged.score, (0, 0.25, 0.5, 0.75)):
        kept = judged.score >= threshold
        figures = judged.precision(threshold), judged.recall(threshold)
        values = right[kept].mean(), right[kept].sum() / max(right.sum(), 1)
        held += [
            bool(one.low - 1e-9 <= value <= one.high + 1e-9)
            for one, value in zip(figures, values, strict=True)
        ]
        gaps.append(float(figures[0].value - values[0]))
        widths.append(figures[0].high - figures[0].low)
    return {"review held": held, "review gaps": gaps, "review widths": widths}


def mining(encoder: Encoder, data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a corpus that is mined."""
    sides, gold = CORPORA[name](data)
    with searched(encoder, sides) as found:
        yield from reviewed(found, gold)


def reviewed(
    found: SearchResult, gold: Gold, runs: Sequence[tuple[int, str, float]] = RUNS
) -> Iterator[dict[str, Any]]:
    """Fit the scores of a search to answers simulated from the gold; yield the metrics."""
    # Fault features take nine tenths of a fit, and do not depend on labels.
    read = faults.read
    known: dict[tuple[int, int], faults.FaultFeatures] = {}

    def once(*arguments: Any) -> faults.FaultFeatures:
        key = hash(arguments[2][1].tobytes()), hash(arguments[4].tobytes())
        if key not in known:
            known[key] = read(*arguments)
        return known[key]

    with patch.object(faults, "read", once):

        def scored(search: SearchResult, guess: Estimate) -> Scored:
            ids = [(one, other) in gold for _, one, other in search.pairs.ids()]
            return Scored(search.pairs.score, np.array(ids), len(gold), guess)

        first, guess = calibrate(found)
        texts = [(one, other) for _, one, other in first.pairs.texts()]

        def again(rows: np.ndarray, answers: np.ndarray) -> Scored:
            labels = {
                texts[row]: answer
                for row, answer in zip(rows.tolist(), answers.tolist(), strict=True)
            }
            return scored(*calibrate(found, labels=labels))

        yield from compared(scored(first, guess), again, ASKED, runs)


def filtering(encoder: Encoder, data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a labelled bitext, scored by quality."""
    which = NOISY[name]
    pairs, good = labelled(data, which)
    source, target = ([*side] for side in zip(*pairs, strict=True))
    languages = which.languages.split("-")
    quality = Quality(Verifier(encoder, (languages[0], languages[1])))

    def again(rows: np.ndarray, answers: np.ndarray) -> Scored:
        labels = {
            pairs[row]: answer for row, answer in zip(rows.tolist(), answers.tolist(), strict=True)
        }
        return Scored(quality.with_labels(labels).score(source, target), good, int(good.sum()))

    start = Scored(quality.score(source, target), good, int(good.sum()))
    yield from compared(start, again, ASKED_OF_ROWS)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average the samples of each run, beside the row without answers."""
    base = rows[0]
    found = [base]
    for run in RUNS:
        own = [
            row
            for row in rows[1:]
            if (row["answers"], row["drawn"], row["errors"]) == run and "F1" in row
        ]
        if not own:
            continue
        gains = [row["F1"] - base["F1"] for row in own]
        gaps = {
            asked: [
                row["reached"][asked]["precision"] - float(asked)
                for row in own
                if row["reached"][asked]["precision"] is not None
            ]
            for asked in own[0]["reached"]
        }
        held = [one for row in own for at in row["reached"].values() for one in at["held"]]
        found.append(
            {
                **dict(zip(("answers", "drawn", "errors"), run, strict=True)),
                "F1": float(np.mean([row["F1"] for row in own])),
                "gain": float(np.mean(gains)),
                "worst gain": float(min(gains)),
                "gap": {asked: float(np.mean(all_)) for asked, all_ in gaps.items() if all_},
                "spread": {asked: float(np.std(all_)) for asked, all_ in gaps.items() if all_},
                "held": float(np.mean(held)) if held else None,
                "review held": float(np.mean([one for row in own for one in row["review held"]])),
                "review gap": float(np.mean([one for row in own for one in row["review gaps"]])),
                "review width": float(
                    np.mean([one for row in own for one in row["review widths"]])
                ),
            }
        )
    return found


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Lay out the results as a Markdown table."""
    heads = ("text", "answers", "F1", "worst", "gap", "intervals", "review: intervals", "width")
    sections = record["sections"]
    names = [name for name in SECTIONS if name in sections]
    rows = [(name, *cells) for name in names for cells in _cells(sections[name]["results"])]
    return [*table(heads, rows), "", conditions(sections[names[0]])]


def _cells(results: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for row in results:
        if not row["answers"]:
            gaps = [
                at["precision"] - float(asked)
                for asked, at in row["reached"].items()
                if at["precision"] is not None
            ]
            yield "none", f"{row['F1']:.3f}", "", _signed(gaps), "", "", ""
            continue
        name = f"{row['answers']}"
        name += ", at random" if row["drawn"] == "random" else ""
        name += f", {row['errors']:.0%} wrong" if row["errors"] else ""
        held = "" if row["held"] is None else f"{row['held']:.0%}"
        yield (
            name,
            f"{row['F1']:.3f} ({row['gain']:+.3f})",
            f"{row['worst gain']:+.3f}",
            _signed([*row["gap"].values()]),
            held,
            f"{row['review held']:.0%}",
            f"{row['review width']:.3f}",
        )


def _signed(gaps: list[float]) -> str:
    return ", ".join(f"{gap:+.3f}" for gap in gaps)


def main() -> None:
    arguments = report.parser(__doc__, "review.json", sections=SECTIONS, model=True).parse_args()
    encoder = Encoder.load(arguments.model)
    for name in arguments.only:
        measure = mining if name in CORPORA else filtering
        results = summary([*measure(encoder, arguments.data, name)])
        print(name, *_cells(results), sep="\n", flush=True)
        report.merge(arguments.json, "review", name, results)
