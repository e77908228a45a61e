"""Measure the second opinion in mining: F1 with and without it, what was read, and what it cost.

    python -m benchmarks second --data DIR --second hf:models/e5-small [--split training]

For each BUCC-style set: precision, recall and F1 at the threshold that the tool chooses without
gold, and the best F1 of any threshold, which is no result. ``--work DIR`` keeps the tasks of both
minings, so that a stopped run goes on. The settings of the second opinion were chosen on training
splits.
"""

from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.mining.bucc_protocol import located
from miner.evaluation import metrics
from miner.evaluation.mining_sets import SPLITS, MiningSet
from miner.knn.settings import SearchSettings
from miner.mining.mine import mine
from miner.scoring.pairs import each_duplicate
from miner.text.durable import scratch_directory

PAIRS = ("de-en", "fr-en")
# Digits of the figures.
DIGITS = 4


def measured(mining_set: MiningSet, split: str, second: str | None, work: Path) -> dict[str, Any]:
    """Mine a split, with or without a second opinion; return its metrics and the cost."""
    texts = [str(mining_set.need(f"{split}.{language}")) for language in mining_set.languages]
    found = mine(
        *texts,
        second=second,
        settings=SearchSettings(languages=mining_set.languages),
        work=work,
        format="bucc",
    )
    gold = mining_set.gold(split)
    pairs = list(each_duplicate(found.all_pairs).ids())
    assert found.threshold is not None and found.estimate is not None
    own = metrics.evaluate(pairs, gold, found.threshold)
    best = metrics.best_threshold(pairs, gold)
    row = {
        "pair": mining_set.pair,
        "split": split,
        "second": second and Path(second).name,
        "threshold": found.threshold,
        "precision asked": found.keep.default_precision,
        "precision": own.precision,
        "recall": own.recall,
        "f1": own.f1,
        "best f1": best.f1,
    }
    asked = found.search.second
    if asked is not None:
        row |= {
            "pairs in doubt": asked.pairs,
            "sentences read": asked.sentences,
            "share read": asked.sentences / asked.total,
            "core seconds": asked.seconds,
        }
    return {key: round(x, DIGITS) if isinstance(x, float) else x for key, x in row.items()}


def mining_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of the test splits, with and without a second opinion."""
    own = sorted(
        (row for row in rows if row["split"] == SPLITS[1]),
        key=lambda row: (row["pair"], row["second"] or ""),
    )
    cells = (
        (
            row["pair"],
            row["second"] or "–",
            *(f"{row[name]:.3f}" for name in ("precision", "recall")),
            f"**{row['f1']:.3f}**" if row["second"] else f"{row['f1']:.3f}",
            f"{row['best f1']:.3f}",
            f"{row['share read']:.1%}" if row["second"] else "",
            f"{row['core seconds']:.0f} s" if row["second"] else "",
        )
        for row in own
    )
    columns = "precision", "recall", "F1", "best F1", "sentences read", "time of one core"
    return table(("set", "second opinion", *columns), cells)


def main() -> None:
    parser = report.parser(__doc__, "second.json", sections=PAIRS)
    parser.add_argument("--second", required=True, help="encoder of the second opinion")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[1])
    parser.add_argument("--work", type=Path, help="directory of the tasks [temporary]")
    arguments = parser.parse_args()
    for pair in arguments.only:
        mining_set = located(arguments.data / "bucc-style", pair)
        with scratch_directory() as temporary:
            work = (arguments.work or temporary) / f"{pair}-{arguments.split}"
            rows = [
                measured(mining_set, arguments.split, second, work)
                for second in (None, arguments.second)
            ]
        for row in rows:
            print(*(f"{key} {value}" for key, value in row.items()), sep=", ", flush=True)
        report.replace(
            arguments.json, "second", rows, lambda row: (row["pair"], row["split"], row["second"])
        )
