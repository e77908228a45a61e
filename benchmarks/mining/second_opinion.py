"""Measure the second opinion in mining, filtering and alignment: with it, without it, its cost.

    python -m benchmarks second --data DIR --second hf:models/e5-small [--only SECTION ...]

``de-en`` and ``fr-en`` are the BUCC-style sets, ``es-ru`` and ``cs-hu`` the news of
:mod:`benchmarks.mining.between_languages`: precision, recall and F1 at the threshold that the tool
chooses without gold for each precision asked; F1 at a probability of one half, without answers and
with 100 answers of a review, in the mean of ten samples; and the best F1 of any threshold, which is
no result. ``--work DIR`` keeps the tasks of all minings, so that a stopped run goes on. ``filter``:
see :mod:`benchmarks.filtering.second_filter`. ``align`` is Text+Berg. The settings were chosen on
training splits, and of alignment on synthetic documents.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import report
from benchmarks.alignment import alignment_quality
from benchmarks.filtering import second_filter
from benchmarks.markdown import table
from benchmarks.mining import review_labels
from benchmarks.mining.bucc_protocol import located
from benchmarks.mining.precision_reached import ASKED
from benchmarks.models import peers
from miner import Encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.evaluation import metrics
from miner.evaluation.labelled_text import language_pair
from miner.evaluation.mining_sets import SPLITS
from miner.knn.settings import SearchSettings
from miner.mining import result
from miner.mining.mine import mine
from miner.scoring.pairs import each_duplicate
from miner.text.durable import scratch_directory

BUCC, NEWS = ("de-en", "fr-en"), ("es-ru", "cs-hu")
PAIRS = BUCC + NEWS
# Answers of a review, drawn from strata of the scores; none is wrong.
REVIEW = ((review_labels.USUAL, "stratified", 0.0),)
# Decimal places of the results.
DIGITS = 4

Gold = set[tuple[str, str]]


def corpus(data: Path, pair: str, split: str, place: Path) -> tuple[list[str], Gold]:
    """Return the files of both sides, and the gold; sides without files are written below place."""
    if pair in BUCC:
        mining_set = located(data / "bucc-style", pair)
        files = [mining_set.need(f"{split}.{language}") for language in mining_set.languages]
        return [*map(str, files)], mining_set.gold(split)
    sides, gold = review_labels.between(data, pair)
    files = [place / f"{pair}.{language}" for language in pair.split("-")]
    place.mkdir(parents=True, exist_ok=True)
    for path, side in zip(files, sides, strict=True):
        if not path.exists():
            lines = "".join(f"{name}\t{text}\n" for name, text in side.items())
            path.write_text(lines, encoding="utf-8")
    return [*map(str, files)], gold


def measured(
    data: Path,
    pair: str,
    split: str,
    model: Encoder,
    second: SentenceEncoder | None,
    work: Path,
) -> dict[str, Any]:
    """Mine a corpus, with or without a second opinion; return its metrics and the cost."""
    texts, gold = corpus(data, pair, split, work)
    searches, estimate = [], result.calibrate

    def calibrate(search: Any, *given: Any, **more: Any) -> Any:
        searches.append(search)
        return estimate(search, *given, **more)

    with patch.object(result, "calibrate", calibrate):
        found = mine(
            *texts,
            encoder=model,
            second=second,
            settings=SearchSettings(languages=language_pair(pair, data)),
            work=work / f"{pair}-{split}",
            format="bucc",
        )
    pairs = list(each_duplicate(found.all_pairs).ids())
    assert found.threshold is not None and found.estimate is not None
    own = metrics.evaluate(pairs, gold, found.threshold)
    row: dict[str, Any] = {
        "pair": pair,
        "split": split,
        "second": second and Path(second.name).name,
        "threshold": found.threshold,
        "precision asked": found.keep.default_precision,
        "precision": own.precision,
        "recall": own.recall,
        "f1": own.f1,
        "best f1": metrics.best_threshold(pairs, gold).f1,
    }
    reached = {}
    for precision in ASKED:
        threshold = found.estimate.threshold(precision)
        one = metrics.evaluate(pairs, gold, 2.0 if threshold is None else threshold)
        reached[str(precision)] = [round(one.precision, DIGITS), round(one.recall, DIGITS)]
    start, *samples = review_labels.reviewed(searches[0], gold, REVIEW)
    row["reached"] = reached
    row["f1 at one half"] = start["F1"]
    row["f1 by review"] = float(np.mean([sample["F1"] for sample in samples]))
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
    """Return the table of sets with and without a second opinion."""
    cells = (
        (
            f"{row['pair']}, news" if row["pair"] in NEWS else row["pair"],
            row["second"] or "–",
            *(f"{row[name]:.3f}" for name in ("precision", "recall")),
            f"**{row['f1']:.3f}**" if row["second"] else f"{row['f1']:.3f}",
            f"{row['best f1']:.3f}",
            ", ".join(f"{precision:.3f}" for precision, _ in row["reached"].values()),
            f"{row['f1 at one half']:.3f} → {row['f1 by review']:.3f}",
            f"{row['share read']:.1%}" if row["second"] else "",
            f"{row['core seconds']:.0f} s" if row["second"] else "",
        )
        for row in sorted(rows, key=lambda row: (PAIRS.index(row["pair"]), row["second"] or ""))
    )
    reached = f"reached, for {', '.join(f'{asked:g}' for asked in ASKED)}"
    columns = "precision", "recall", "F1", "best F1", reached, "F1 at 0.5 → by 100 answers"
    cost = "sentences read", "time of one core"
    return table(("set", "second opinion", *columns, *cost), cells)


def aligned(encoder: Encoder, data: Path, second: SentenceEncoder | None) -> list[dict[str, Any]]:
    """Align Text+Berg; return the F1 of each document and of all, and what was read."""
    return [
        {
            "task": "align",
            "document": name,
            "second": second and Path(second.name).name,
            **{f"{way} f1": round(own[way]["f1"], DIGITS) for way in ("strict", "lax")},
            "sentences": own["lines"],
            "texts read": own.get("texts read", 0),
            "core seconds": round(own["cpu seconds"], 1),
        }
        for name, stages in alignment_quality.books(encoder, data, second).items()
        for own in [stages["both stages"]]
    ]


def align_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of the documents with and without a second opinion."""
    cells = (
        (
            row["document"],
            row["second"] or "–",
            f"**{row['strict f1']:.3f}**",
            f"{row['lax f1']:.3f}",
            f"{row['sentences']:,}",
            f"{row['texts read']:,}" if row["second"] else "",
            f"{row['core seconds']:.0f} s",
        )
        for row in sorted(rows, key=lambda row: (row["document"], row["second"] or ""))
    )
    columns = "strict F1", "lax F1", "sentences", "texts read", "time of one core"
    return table(("Text+Berg", "second opinion", *columns), cells)


def section(
    record: dict[str, Any], conditions: Callable[[dict[str, Any]], str], task: str
) -> list[str]:
    """Return the table of a task, of mining on the test splits, and where it comes from."""
    rows = [row for row in record["results"] if row.get("task", "mining") == task]
    rows = [row for row in rows if row.get("split", SPLITS[1]) == SPLITS[1]]
    tables = {"mining": mining_table, "filter": second_filter.lines, "align": align_table}
    made = tables[task](rows)
    return [*made, "", conditions({**record, "results": rows})]


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what names a result."""
    names = "pair", "split", "language", "document", "second"
    return (row.get("task", "mining"), *map(row.get, names))


def main() -> None:
    parser = report.parser(__doc__, "second.json", sections=(*PAIRS, "filter", "align"), model=True)
    parser.add_argument("--second", required=True, help="encoder, or use: see peers")
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[1])
    parser.add_argument("--work", type=Path, help="directory of the tasks [temporary]")
    arguments = parser.parse_args()

    def done(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            print(*(f"{name} {value}" for name, value in row.items()), sep=", ", flush=True)
        report.replace(arguments.json, "second", rows, key)

    encoder, second = Encoder.load(arguments.model), peers.opened(arguments.second)
    for pair in (pair for pair in PAIRS if pair in arguments.only):
        with scratch_directory() as temporary:
            given = arguments.data, pair, arguments.split, encoder
            work = arguments.work or temporary
            done([measured(*given, opinion, work) for opinion in (None, second)])
    if "align" in arguments.only:
        for opinion in (None, second):
            done(aligned(encoder, arguments.data, opinion))
    if "filter" in arguments.only:
        for language in second_filter.LANGUAGES:
            own = encoder, arguments.data, language
            done([second_filter.measured(*own, opinion) for opinion in (None, second)])
