"""Measure the precision reached, by gold, against the target precision, chosen without gold.

    python -m benchmarks precision --data DIR [--models models/bench | --model DIR]
        [--split training]

Mines the test splits of the BUCC-style sets with the models of ``benchmarks mining``, or with
``--model``. Each split is mined unchanged, with a tenth of its parallel share (both sentences of
nine gold pairs in ten are removed), and with a share of 30% (sentences outside of gold pairs are
removed). The tool chooses thresholds for 0.90, 0.95 and 0.98 by decoys alone.

The gold lacks some translations, so the true precision is higher. Intervals are those that the tool
prints; recall is relative to the gold pairs found. Best F1 is that of the model's scores and of the
refit scores, with the threshold tuned on the gold.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table as markdown_table
from benchmarks.mining import bucc_protocol
from miner import Encoder, Index
from miner.evaluation import metrics
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.precision.estimate import calibrate
from miner.precision.search_result import SearchResult
from miner.scoring.pairs import each_duplicate
from miner.text.corpus import read

ASKED = (0.90, 0.95, 0.98)
SHARES = ("as it is", "thinned to a tenth", "raised to 30%")
SEED = 5
# Tolerated shortfall from the target precision, larger for fewer than FEW pairs.
TOLERANCE, FEW, TOLERANCE_FEW = 0.02, 200, 0.04


def subset(
    sides: list[dict[str, str]], gold: set[tuple[str, str]], share: str
) -> tuple[list[dict[str, str]], set[tuple[str, str]]]:
    """Return the sentences of both sides by id, and the remaining gold pairs."""
    generator = np.random.default_rng(SEED)
    ordered = sorted(gold)
    if share == SHARES[1]:
        kept = {ordered[i] for i in generator.permutation(len(ordered))[: len(ordered) // 10]}
        gone = [{pair[side] for pair in gold} - {pair[side] for pair in kept} for side in (0, 1)]
        return [
            {name: text for name, text in ids.items() if name not in out}
            for ids, out in zip(sides, gone, strict=True)
        ], kept
    if share == SHARES[2]:
        reduced = []
        for side, ids in enumerate(sides):
            own = {pair[side] for pair in gold}
            others = [name for name in ids if name not in own]
            room = round(len(own) / 0.3) - len(own)
            chosen = own | {others[i] for i in generator.permutation(len(others))[:room]}
            reduced.append({name: text for name, text in ids.items() if name in chosen})
        return reduced, gold
    return sides, gold


def bucc_style(
    data: Path, pair: str, split: str
) -> tuple[list[dict[str, str]], set[tuple[str, str]]]:
    """Return the sentences of both sides by id, and the gold pairs."""
    task = bucc_protocol.located(data, pair)
    sides = []
    for language in pair.split("-"):
        corpus = read(task.need(f"{split}.{language}"), format="bucc")
        sides.append(dict(zip(corpus.ids, corpus.sentences, strict=True)))
    return sides, task.gold(split)


def measure(
    model: str, data: Path, pair: str, split: str = "test", *, refitting: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield the results of one language pair for each parallel share."""
    encoder = Encoder.load(model)
    whole, gold = bucc_style(data, pair, split)
    for share in SHARES:
        sides, left = subset(whole, gold, share)
        for row in mined(encoder, sides, left, refitting=refitting):
            yield {"pair": pair, "share": share, **row}


@contextmanager
def searched(encoder: Encoder, sides: list[dict[str, str]]) -> Iterator[SearchResult]:
    """Search two sides, sentences by id, with decoys."""
    with tempfile.TemporaryDirectory(prefix="precision-") as work:
        indexes = []
        for number, ids in enumerate(sides):
            path = Path(work) / str(number)
            lines = "".join(f"{name}\t{text}\n" for name, text in ids.items())
            path.write_text(lines, encoding="utf-8")
            index = Path(work) / f"{number}.index"
            indexes.append(Index.build(encoder, path, index, format="bucc"))
        verifier = verifier_for(indexes[0], "probability", encoder)
        yield search_indexes(indexes[0], indexes[1], verifier, estimating=True)


def mined(
    encoder: Encoder,
    sides: list[dict[str, str]],
    gold: set[tuple[str, str]],
    *,
    refitting: bool = True,
) -> Iterator[dict[str, Any]]:
    """Mine two sides, sentences by id; yield the results for each target precision."""
    with searched(encoder, sides) as found:
        raw = list(each_duplicate(found.pairs).ids())
        found, guess = calibrate(found, refitting=refitting)
        scored = list(each_duplicate(found.pairs).ids())
    reachable = sum((source, target) in gold for _, source, target in scored)
    best = [metrics.best_threshold(pairs, gold).f1 for pairs in (raw, scored)]
    for asked in ASKED:
        threshold = guess.threshold(asked)
        result = metrics.evaluate(scored, gold, 2.0 if threshold is None else threshold)
        few = result.proposed < FEW
        off = abs(result.precision - asked)
        count = 0 if threshold is None else guess.count(threshold)
        (bounds,) = guess.intervals([count])
        recall = result.correct / max(reachable, 1)
        yield {
            "sentences": [len(ids) for ids in sides],
            "gold pairs": len(gold),
            "decoys": guess.decoys,
            "doubts": list(guess.doubts),
            "asked": asked,
            "reached": result.as_dict(),
            "estimated": {
                "precision": guess.precision(count),
                "recall": guess.recall(count),
                "intervals": bounds,
            },
            "recall of pairs found": recall,
            "inside": None
            if bounds is None
            else [
                held is not None and held[0] <= value <= held[1]
                for value, held in zip((result.precision, recall), bounds, strict=True)
            ],
            "best F1": {"model": best[0], "fitted": best[1]},
            "within tolerance": off <= (TOLERANCE_FEW if few else TOLERANCE),
        }


def table(record: dict[str, Any]) -> list[str]:
    """Lay out target and reached precision."""
    rows = []
    for row in record["results"]:
        reached = row["reached"]
        rows.append(
            (
                f"bucc-style {row['pair']}",
                row["share"],
                f"{row['asked']:.2f}",
                f"{reached['precision']:.3f}{'' if row['within tolerance'] else ' (outside)'}",
                f"{reached['recall']:.3f}",
                f"{reached['proposed']:,}",
            )
        )
    columns = "set", "parallel share", "asked", "reached", "recall", "pairs kept"
    return [
        "Precision asked for, and precision by the gold on the test split. No gold was used to",
        "choose the threshold.",
        "",
        *markdown_table(columns, rows),
        "",
        "*Outside*: more than 0.02 from the precision asked for, or 0.04 if fewer than 200 pairs",
        "are kept. The gold lacks some translations, so the true precision is a little higher.",
    ]


def main() -> None:
    parser = report.parser(__doc__, "precision.json", "models/bench")
    parser.add_argument("--model", help="one model for both pairs")
    parser.add_argument("--split", default="test", choices=("training", "test"))
    parser.add_argument("--no-refit", dest="refit", action="store_false")
    arguments = parser.parse_args()
    results: list[dict] = []
    for pair in ("de-en", "fr-en"):
        model = arguments.model or str(arguments.models / f"{pair}-fast")
        data = arguments.data / "bucc-style"
        for row in measure(model, data, pair, arguments.split, refitting=arguments.refit):
            results.append(row)
    report.write(arguments.json, "precision", results)
    print("\n".join(table({"results": results})))
