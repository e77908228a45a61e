"""The tables of ``results/experiments.json``; a section that was not measured has none."""

from collections.abc import Callable, Iterable
from typing import Any

HEADS = {
    "sources": "Sources of French and English at a fixed number of pairs",
    "filters": "What filters choose of a pool, at a fixed number of pairs",
    "deciles": "Tenths of a pool by the cosine of a pair, 1 the lowest",
    "scale": "Figures against the number of pairs, each draw holding the smaller ones",
    "languages": "Foreign languages beside the same English sentences",
}
# Figures by their names in the JSON: the head of the column, and what they are multiplied by.
FIGURES = {
    "bucc": ("BUCC F1", 1),
    "tatoeba": ("Tatoeba", 1),
    "sts 12-16": ("STS 12–16", 100),
    "sts-b": ("STS-B", 100),
}
FIRST = {
    "sources": "source",
    "filters": "filter",
    "deciles": "tenth",
    "scale": "pairs",
    "languages": "language",
}
KEY = [
    "All by the P19 recipe in 5 passes, but for what says `fast`; at most 30 words a side. BUCC F1",
    "is that of the bucc-style fr-en test split by ratio margin, the threshold from the training",
    "split; Tatoeba the accuracy both ways by margin; STS 12–16 the mean of Pearson × 100 over the",
    "data sets of those years, STS-B that of its English test set. In brackets 95% of a bootstrap",
    "over the test items. One seed each.",
]


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """All sections as Markdown; ``conditions`` says of one what it was measured with."""
    lines = [*KEY, ""]
    for name in HEADS:
        if name in record["sections"]:
            part = record["sections"][name]
            lines += [*section(name, part["results"]), "", conditions(part), ""]
    return lines[:-1]


def section(name: str, results: dict[str, Any]) -> list[str]:
    """One section: a heading, and a table for each group."""
    lines = [f"{HEADS[name]}:", ""]
    for group in dict.fromkeys(row["group"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["group"] == group]
        lines += [*_table(FIRST[name], group, rows), ""]
        absent = results.get("left out", {}).get(group)
        if absent:
            names = ", ".join(f"{one} ({count:,})" for one, count in absent.items())
            lines += [f"Too small: {names}.", ""]
        if group in results.get("spearman", {}):
            lines += [_spearman(results["spearman"][group]), ""]
    return lines[:-1]


def _table(first: str, group: str, rows: list[dict[str, Any]]) -> list[str]:
    shown = [name for name in FIGURES if any(name in row.get("figures", {}) for row in rows)]
    more = {head: cell for head, (key, cell) in _MORE.items() if any(key in row for row in rows)}
    # Of the scale the first column says how many pairs there are.
    counted = any(row["name"] != f"{row['pairs']:,}" for row in rows)
    heads = [
        f"{first}: {group}",
        *(["pairs"] if counted else []),
        *more,
        *(FIGURES[name][0] for name in shown),
    ]
    lines = [_line(heads), _line(["---"] * len(heads))]
    for row in rows:
        cells = [row["name"], *([f"{row['pairs']:,}"] if counted else [])]
        if "failed" in row:
            cells += [row["failed"], *[""] * (len(heads) - len(cells) - 1)]
        else:
            cells += [cell(row) for cell in more.values()]
            cells += [_cell(row["figures"].get(name), FIGURES[name][1]) for name in shown]
        lines.append(_line(cells))
    return lines


def _cosines(row: dict[str, Any]) -> str:
    low, high = row["cosines"]
    return f"{low:.2f} to {high:.2f}"


# Columns that rows of some sections have: the key that tells, and the cell.
_MORE: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "cosines": ("cosines", _cosines),
    "overlap": ("overlap", lambda row: f"{row['overlap']['share']:.3f}"),
}


def _cell(figure: dict[str, Any] | None, times: int) -> str:
    """A figure with its interval."""
    if figure is None:
        return "–"
    places = 3 if times == 1 else 1
    value, low, high = (
        f"{number * times:.{places}f}" for number in (figure["value"], *figure["interval"])
    )
    return f"{value} ({low}–{high})"


def _spearman(columns: dict[str, dict[str, Any]]) -> str:
    """Correlations with STS 12–16 over the languages of the group."""
    parts = []
    for name, one in columns.items():
        value = "undefined" if one["value"] is None else f"{one['value']:+.2f}"
        parts.append(f"{name} {value} ({one['languages']} languages)")
    return f"Spearman with STS 12–16: {', '.join(parts)}."


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
