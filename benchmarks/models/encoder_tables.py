"""Tables of ``results/encoders.json``."""

from functools import partial
from itertools import combinations
from statistics import mean
from typing import Any

from benchmarks.markdown import conjoined, head, line
from benchmarks.models.encoder_metrics import STSB

MINING = ("BUCC F1", "Tatoeba")
OTHERS = ("STS 12–16", "STS-B", "sentences/s", "parameters", "training")

# Encoders whose correlations on each data set are compared (P18).
APART = ("word", "trigram", "lstm")
HEADS = {
    "bilingual": "Encoders by the P19 objective, on {pairs:,} pairs of French and English",
    "softmax": "Encoders by the in-batch softmax, on the same {pairs:,} pairs",
    "questions": "The `p19-tuned` recipe with pieces, "
    "on the same {pairs:,} pairs, one change at a time",
    "english": "Encoders by the P19 objective, on {pairs:,} pairs of English paraphrases",
}
KEY = [
    "BUCC F1: bucc-style fr-en test split, by ratio margin, the threshold from the training split.",
    "Tatoeba: fr-en, mean accuracy of both directions. STS 12–16: mean of Pearson × 100 over the",
    "data sets of those years. STS-B: its English test set. Speed: text to vectors. Training: time",
    "from text to the last step. One seed each.",
]


def group(name: str, results: dict[str, Any]) -> list[str]:
    """Return the heading and the tables of a group, one for each question."""
    text, rows = results["text"], results["rows"]
    words = " and ".join(map(str, text["mean words"]))
    parts = [[f"{HEADS[name].format(pairs=text['pairs'])} ({words} words in the mean):"]]
    for question in dict.fromkeys(row["question"] for row in rows):
        parts.append(_table(question, [row for row in rows if row["question"] == question]))
    apart = _apart({row["name"]: row for row in rows if "figures" in row})
    return conjoined([*parts, *([apart] if apart else [])])[:-1]


def _apart(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line with mean differences between encoders over data sets (P18, Table 10)."""
    shown = []
    for pair in combinations([name for name in APART if name in rows], 2):
        one, other = (rows[name]["figures"]["sts"] for name in pair)
        sets = [name for name in one if name in other and name != STSB]
        apart = mean(abs(one[name]["pearson"] - other[name]["pearson"]) for name in sets)
        shown.append(f"{pair[0]} and {pair[1]} {100 * apart:.1f}")
    if not shown:
        return []
    return [f"Mean difference of Pearson × 100 over {len(sets)} sets: {'; '.join(shown)}."]


def _table(question: str, rows: list[dict[str, Any]]) -> list[str]:
    mined = any("bucc" in row.get("figures", {}) for row in rows)
    names = [question or "encoder", "epochs", *(MINING if mined else ()), *OTHERS]
    lines = head(names)
    for row in rows:
        cells = [row["name"], str(row["epochs"])]
        if "failed" in row:
            cells += [row["failed"], *[""] * (len(names) - 3)]
        else:
            cells += _cells(row, mined)
        lines.append(line(cells))
    return lines


def _cells(row: dict[str, Any], mined: bool) -> list[str]:
    metrics, seconds = row["figures"], row["training seconds"]
    cells = []
    if mined:
        cells = [f"{metrics['bucc']['test']['f1']:.3f}", f"{metrics['tatoeba']['mean']:.3f}"]
    return [
        *cells,
        f"{metrics['sts 12-16']:.1f}",
        f"{metrics['sts-b']:.1f}",
        f"{metrics['sentences/s']['median']:,}",
        f"{metrics['parameters'] / 1e6:.1f} M",
        f"{seconds:,.0f} s" if seconds else "–",
    ]


SECTIONS = {name: partial(group, name) for name in HEADS}
