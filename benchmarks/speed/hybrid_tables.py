"""Tables of ``results/hybrid.json``."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import table

NAMES = {"fused": "exhaustive", "hybrid": "hybrid"}


def quality(results: dict[str, Any]) -> list[str]:
    rows = []
    for row in results["rows"]:
        for split in (split for split in ("training", "test", "training, grown") if split in row):
            kept = row[split]
            rows.append(
                (
                    f"{row['pair']} {split}",
                    f"{kept['found']:,} of {kept['kept']:,}: {kept['found'] / kept['kept']:.4f}",
                    *(f"{row[engine][split]['f1']:.4f}" for engine in NAMES),
                    *(f"{row[engine][split]['cpu seconds']:.0f}" for engine in NAMES),
                )
            )
    return [
        "Pairs that the exhaustive search keeps and that are candidates of the hybrid one; F1 by",
        "the BUCC protocol, by the model's own probabilities; the threshold is tuned on training.",
        "",
        *table(
            ("set", "pairs found", "F1", "F1, hybrid", "CPU seconds", "CPU seconds, hybrid"),
            rows,
        ),
    ]


def search(results: dict[str, Any]) -> list[str]:
    rows = [
        (
            f"{point['a side']:,}",
            NAMES[row["name"]],
            *(
                (
                    f"{point['cpu seconds']:,.0f}",
                    f"{point['seconds']:,.0f}",
                    f"{point['peak MiB']:,} MiB",
                )
                if "seconds" in point
                else (f"failed: {point.get('failed')}", "", "")
            ),
        )
        for row in results["rows"]
        for point in row["points"]
    ]
    return [
        f"The neighbour search alone, k = 8, {results['threads']} threads, one run each.",
        "",
        *table(("lines a side", "engine", "CPU seconds", "seconds", "peak"), rows),
        *grown(results),
    ]


def growth(results: dict[str, Any]) -> list[str]:
    rows = []
    for row in results["rows"]:
        for point in row["points"]:
            cells = [f"{point['a side']:,}", NAMES[row["name"]]]
            if "seconds" not in point:
                rows.append((*cells, f"failed: {point.get('failed')}", *[""] * 6))
                continue
            recall = point["recall"]
            found = "" if recall is None else f"{recall['found']:,} of {recall['likely']:,}"
            stages = point["stages"]
            cells += [f"{stages[name]:,.0f}" for name in ("neighbours", "scores", "estimate")]
            cells += [f"{point['seconds']:,.0f}", f"{point['peak MiB']:,} MiB"]
            rows.append((*cells, f"{point['pairs']:,}", found))
    columns = (
        *("lines a side", "engine", "neighbours", "scores", "estimate", "all, seconds", "peak"),
        *("pairs", "likely neighbours found, of a sample"),
    )
    return [
        f"From two text files to a file of pairs, {results['threads']} threads, one run each.",
        "{:,} sources and {:,} targets are real sentences, the others lack a word of one.".format(
            *results["real"]
        ),
        "",
        *table(columns, rows),
        *grown(results),
    ]


def grown(results: dict[str, Any]) -> list[str]:
    """Return a line for each engine measured at several sizes."""
    lines = []
    for row in results["rows"]:
        slopes = [f"{name} n^{value}" for name, value in row["exponents"].items() if value]
        if slopes:
            lines += ["", f"{NAMES[row['name']].capitalize()}: growth of {', '.join(slopes)}."]
    return lines


SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "quality": quality,
    "search": search,
    "growth": growth,
}
