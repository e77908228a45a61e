"""Tables of ``results/foreign.json``."""

from typing import Any

from benchmarks.markdown import table

NAMES = {
    "transformer": "transformer, by margin",
    "fit": "transformer, fitted",
    "student, margin": "student, by margin",
    "student, probability": "student, verified",
}


def section(one: dict[str, Any]) -> list[str]:
    """Return the table of mining of one language pair, and a line on throughput."""
    recipe = one["transformer"]
    asked = sorted({name for row in one["rows"].values() for name in row["reached"]})
    rows = []
    for name, row in one["rows"].items():
        reached = [
            f"{row['reached'][value]['precision']:.3f}" if value in row["reached"] else "–"
            for value in asked
        ]
        rows.append((NAMES[name], f"{row['test']['f1']:.3f}", *reached))
    columns = ["encoder", "**F1 on test**", *(f"asked {value}" for value in asked)]
    return [
        f"{one['pair']}: a transformer of 4 layers and 256 dimensions, trained for "
        f"{recipe['minutes']:g} minutes of CPU time",
        f"({recipe['pairs seen']:,} pairs). Fit and student learned from "
        f"{one['learned from']:,} pairs.",
        f"The set is {one['cut']:.0%} of the BUCC-style one, so that figures are rough.",
        "Precision is that reached where as much was asked for without gold.",
        "",
        *table(columns, rows),
        "",
        speed(one),
    ]


def speed(one: dict[str, Any]) -> str:
    """Return a sentence on the throughput of one language pair, by CPU time."""
    rates = one["sentences/s of CPU time"]
    more = rates["bare"] / rates["adapter"] - 1
    return (
        f"{one['pair']}: {rates['bare']:,.0f} sentences/s in a loop of "
        f"`SentenceTransformer.encode`, {rates['adapter']:,.0f} through the adapter ({more:+.1%} "
        f"time), {rates['student']:,.0f} by the student "
        f"({rates['student'] / rates['adapter']:,.0f} times the transformer)."
    )
