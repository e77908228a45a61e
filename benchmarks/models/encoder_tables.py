"""The tables of ``results/encoders.json``; a group that was not measured has none."""

from collections.abc import Callable, Iterable
from typing import Any

MINING = ("BUCC F1", "Tatoeba")
OTHERS = ("STS 12–16", "STS-B", "sentences/s", "parameters", "training")

HEADS = {
    "bilingual": "Encoders by the P19 objective, on {pairs:,} pairs of French and English",
    "softmax": "Encoders by the in-batch softmax, on the same {pairs:,} pairs",
    "questions": "The P19 recipe with pieces, on the same {pairs:,} pairs, one change at a time",
    "english": "Encoders by the P19 objective, on {pairs:,} pairs of English paraphrases",
}
KEY = [
    "BUCC F1 is that of the bucc-style fr-en test split, by ratio margin, the threshold from the",
    "training split; Tatoeba the mean accuracy of both directions, fr-en; STS 12–16 the unweighted",
    "mean of Pearson × 100 over the data sets of those years, STS-B that of its English test set.",
    "Speed is from text to vectors; training the time from text to the last step. One seed each.",
]


def main_table(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Lines of Markdown for the README: the first group alone."""
    section = record["sections"].get("bilingual")
    if section is None:
        return []
    return [*group("bilingual", section["results"]), "", *KEY, "", conditions(section)]


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """All groups; ``conditions`` says of a section what it was measured with."""
    lines = [*KEY, ""]
    for name in HEADS:
        if name in record["sections"]:
            section = record["sections"][name]
            lines += [*group(name, section["results"]), "", conditions(section), ""]
    return lines[:-1]


def group(name: str, results: dict[str, Any]) -> list[str]:
    """One group: a heading and a table, or one for every question."""
    text, rows = results["text"], results["rows"]
    words = " and ".join(map(str, text["mean words"]))
    lines = [f"{HEADS[name].format(pairs=text['pairs'])} ({words} words in the mean):", ""]
    for question in dict.fromkeys(row["question"] for row in rows):
        lines += [*_table(question, [row for row in rows if row["question"] == question]), ""]
    return lines[:-1]


def _table(question: str, rows: list[dict[str, Any]]) -> list[str]:
    mined = any("bucc" in row.get("figures", {}) for row in rows)
    names = [question or "encoder", "epochs", *(MINING if mined else ()), *OTHERS]
    lines = [_line(names), _line(["---"] * len(names))]
    for row in rows:
        cells = [row["name"], str(row["epochs"])]
        if "failed" in row:
            cells += [row["failed"], *[""] * (len(names) - 3)]
        else:
            cells += _cells(row, mined)
        lines.append(_line(cells))
    return lines


def _cells(row: dict[str, Any], mined: bool) -> list[str]:
    figures, seconds = row["figures"], row["training seconds"]
    cells = []
    if mined:
        cells = [f"{figures['bucc']['test']['f1']:.3f}", f"{figures['tatoeba']['mean']:.3f}"]
    return [
        *cells,
        f"{figures['sts 12-16']:.1f}",
        f"{figures['sts-b']:.1f}",
        f"{figures['sentences/s']['median']:,}",
        f"{figures['parameters'] / 1e6:.1f} M",
        f"{seconds:,.0f} s" if seconds else "–",
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
