"""Measure mining between two languages other than English, which no training pair joins.

    python -m benchmarks between --data DIR [--model default]

The pairs are WMT news: two translations of the same English sentence. No news is in the training of
the shipped model. A third of the pairs keeps both sides; of the others one side is kept as a
sentence without a counterpart. F1 is at the best threshold; precision is measured by gold at
thresholds chosen without it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table as markdown_table
from benchmarks.mining.precision_reached import mined
from miner import Encoder, MinerError
from miner.evaluation.labelled_text import find_file
from miner.text.bitext import read_bitext

PAIRS = ("cs-es", "cs-ru", "es-ru", "es-it", "cs-hu", "ru-fi", "ru-cs", "hu-es")
# Maximum pairs with a counterpart, and maximum sentences of a side.
MOST, LARGEST, SEED = 1000, 10_000, 7
NEWS = "newstest.tsv"


def news(data: Path, language: str) -> dict[str, str]:
    """Return the sentences of a language by their English translation, each sentence once."""
    path = find_file(data / "train" / f"{language}-en", NEWS)
    if path is None:
        raise MinerError(f"{data}: no {NEWS} of {language}-en")
    bitext = read_bitext(path)
    by_sentence = dict(zip(bitext.source, bitext.target, strict=True))
    return {english: sentence for sentence, english in by_sentence.items()}


def corpus(
    source: dict[str, str], target: dict[str, str]
) -> tuple[list[dict[str, str]], set[tuple[str, str]]]:
    """Return the sentences of both sides by id, and the gold pairs of ids."""
    generator = np.random.default_rng(SEED)
    shared = sorted(source.keys() & target.keys())
    order = [shared[i] for i in generator.permutation(len(shared))]
    whole = order[: min(MOST, len(order) // 3)]
    rest = order[len(whole) :]
    alone = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    sides = []
    for own, other, single in ((source, target, alone[0]), (target, source, alone[1])):
        others = [*single, *sorted(own.keys() - other.keys())]
        room = LARGEST - len(whole)
        chosen = [others[i] for i in generator.permutation(len(others))[:room]]
        sides.append([(english, own[english]) for english in sorted([*whole, *chosen])])
    ids = [
        {english: f"{n}-{i}" for i, (english, _) in enumerate(side)} for n, side in enumerate(sides)
    ]
    gold = {(ids[0][english], ids[1][english]) for english in whole}
    return [{ids[n][english]: text for english, text in side} for n, side in enumerate(sides)], gold


def measure(encoder: Encoder, data: Path, pair: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a language pair for each target precision."""
    source, target = (news(data, language) for language in pair.split("-"))
    for row in mined(encoder, *corpus(source, target)):
        yield {"pair": pair, "share": "news", **row}


def table(record: dict[str, Any]) -> list[str]:
    """Lay out target and reached precision of each language pair."""
    rows = []
    for row in record["results"]:
        reached, f1 = row["reached"], row["best F1"]
        first = row["asked"] == record["results"][0]["asked"]
        rows.append(
            (
                row["pair"] if first else "",
                f"{f1['fitted']:.3f}" if first else "",
                f"{row['asked']:.2f}",
                f"{reached['precision']:.3f}",
                f"{reached['recall']:.3f}",
                f"{reached['proposed']:,}",
            )
        )
    columns = "languages", "best F1", "asked", "reached", "recall", "pairs kept"
    return markdown_table(columns, rows)


def main() -> None:
    arguments = report.parser(__doc__, "between.json", model=True).parse_args()
    encoder = Encoder.load(arguments.model)
    results: list[dict[str, Any]] = []
    for pair in PAIRS:
        results += measure(encoder, arguments.data, pair)
    report.write(arguments.json, "between", results)
    print("\n".join(table({"results": results})))
