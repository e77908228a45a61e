"""Tables of ``results/speed.json``."""

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.markdown import head, line
from miner.text_table import count_of

Row = dict[str, Any]


def _threads(results: dict[str, Any]) -> str:
    return count_of(results["threads"], "thread")


def limits(results: dict[str, Any]) -> list[str]:
    if "failed" in results or "missing" in results:
        return [f"Peak rates of the machine: {why(results)}."]
    found = [f"{name} {value:,}" for name, value in results.items() if "/s" in name]
    return [f"Peak rates of the machine, {_threads(results)}: {'; '.join(found)}."]


def encode(results: dict[str, Any]) -> list[str]:
    text = results["text"]
    columns: dict[str, Callable[[Row], str]] = {
        "sentences": lambda row: f"{row['sentences']:,}",
        "sentences/s (median; min to max)": lambda row: (
            f"{row['sentences/s']:,}; {row['min']:,} to {row['max']:,}"
        ),
        "ours is faster by": lambda row: ratio(row, ""),
        "memory": memory,
    }
    return [
        f"Text to vectors, {_threads(results)}, {text['sentences']:,} sentences of "
        f"{text['mean words']} words in the mean (fewer for",
        "slow systems). Systems alternate in one run.",
        "",
        *compared(results["rows"], columns),
    ]


def search(results: dict[str, Any]) -> list[str]:
    rows = results["rows"]
    source, target = rows[0]["in"]
    columns: dict[str, Callable[[Row], str]] = {
        "queries": lambda row: f"{row['sentences']:,}",
        "seconds": lambda row: f"{row['seconds']:,}",
        "CPU seconds": lambda row: f"{row['cpu seconds']:,}",
        "ours is faster by": lambda row: ratio(row, ""),
        "in CPU time": lambda row: ratio(row, " in CPU time"),
        "GFLOP/s": lambda row: f"{row['of one product, GFLOP/s']:,}",
        "recall@4": lambda row: f"{row['recall@4']:.5f}",
        "memory": memory,
    }
    return [
        f"The 4 nearest neighbours in both directions, {source:,} × {target:,} sentences, "
        f"d = {rows[0]['dimension']}, {_threads(results)}.",
        "Systems alternate in one run. GFLOP/s count one product of both sides for every system;",
        "memory includes the vectors.",
        "",
        *compared(rows, columns),
    ]


def mine(results: dict[str, Any]) -> list[str]:
    columns: dict[str, Callable[[Row], str]] = {
        "seconds (median)": lambda row: f"{row['seconds']:,}",
        "the first is faster by": lambda row: ratio(row, ""),
        "in CPU time": lambda row: ratio(row, " in CPU time"),
        "memory": lambda row: f"{row['memory MiB']:,} MiB",
        "pairs": lambda row: f"{row['pairs']:,}",
    }
    return [
        f"From two text files, {results['text']['sentences']:,} lines together, to a file of "
        f"pairs, {_threads(results)}:",
        "",
        *compared(results["rows"], columns),
    ]


def compared(rows: list[Row], columns: dict[str, Callable[[Row], str]]) -> list[str]:
    """Return a table of systems; a system without a measurement has the reason."""
    lines = head(["", *columns])
    for row in rows:
        if "seconds" in row:
            cells = [cell(row) for cell in columns.values()]
        else:
            cells = [why(row), *[""] * (len(columns) - 1)]
        lines.append(line([row["name"], *cells]))
    return lines


def filters(results: dict[str, Any]) -> list[str]:
    columns: dict[str, Callable[[Row], str]] = {
        "rows": lambda row: f"{row['sentences']:,}",
        "rows/s (median; min to max)": lambda row: (
            f"{row['sentences/s']:,}; {row['min']:,} to {row['max']:,}"
        ),
        "CPU seconds for 100,000 rows": lambda row: (
            f"{row['cpu seconds'] * 100_000 / row['sentences']:,.1f}"
        ),
        "the first is faster by": lambda row: ratio(row, ""),
        "in CPU time": lambda row: ratio(row, " in CPU time"),
        "peak of its largest process": lambda row: f"{row['peak MiB']:,} MiB",
    }
    times = sorted(results["rows"][0].get("shares", {}).items(), key=lambda item: -item[1])
    return [
        f"From a file of pairs to a file of pairs, {_threads(results)}, start included:",
        "",
        *compared(results["rows"], columns),
        "",
        f"Time of ours by filter: {', '.join(f'{name} {share:.0%}' for name, share in times)}.",
    ]


def growth(results: dict[str, Any]) -> list[str]:
    lines = ["Seconds by number of lines (one run each). The peak memory is of the process:", ""]
    for row in results["rows"]:
        stages = next((list(p["stages"]) for p in row["points"] if "seconds" in p), [])
        lines += head(["lines a side", *stages, "all", "peak"])
        for point in row["points"]:
            if "seconds" in point:
                cells = [f"{value:,.1f}" for value in (*point["stages"].values(), point["seconds"])]
                cells.append(f"{point['peak MiB']:,} MiB")
            else:
                cells = [why(point), *[""] * (len(stages) + 1)]
            lines.append(line([f"{point['a side']:,}", *cells]))
        grown = "; ".join(f"{name} n^{value}" for name, value in row["exponents"].items())
        lines += ["", f"{row['name'].capitalize()}. Seconds grow by {grown}."]
    return lines


def first(results: dict[str, Any]) -> list[str]:
    """Return the table of first runs beside second ones."""
    columns = list(results["rows"][0])[1:]
    lines = head(["", *columns])
    for row in results["rows"]:
        lines.append(line([row["name"], *(f"{row[column]:.1f}" for column in columns)]))
    return [
        "CPU seconds of a command's first run, without and with `miner doctor` before it, and of "
        f"its second, {_threads(results)}.",
        "",
        *lines,
    ]


def jobs(results: dict[str, Any]) -> list[str]:
    versions = list(results["commit"])
    columns = [
        f"{what}, {version}"
        for what in ("CPU seconds (median; min to max)", "peak")
        for version in versions
    ]
    lines = [
        f"Whole commands on little text, {_threads(results)}, compiled before. They "
        f"alternate in one run; before is {results['commit'].get('before', 'not measured')}.",
        "",
        *head(["", *columns]),
    ]
    for row in results["rows"]:
        measured = [row[version] for version in versions]
        cpu = [one["cpu seconds"] for one in measured]
        cells = [f"{statistics.median(some):.2f}; {some[0]} to {some[-1]}" for some in cpu]
        cells += [f"{one['peak MiB']} MiB" for one in measured]
        lines.append(line([row["name"], *cells]))
    return lines


def gpus(
    record: dict[str, Any], conditions: Callable[[dict[str, Any]], str] = lambda record: ""
) -> list[str]:
    """Return the table of ``results/gpu.json``."""
    results = record["results"]
    columns: dict[str, Callable[[Row], str]] = {
        "sentences a side": lambda row: f"{row['a side']:,}",
        "d": lambda row: str(row["dimension"]),
        "seconds": lambda row: f"{row['seconds']:,.3g}",
        "pairs/s": lambda row: f"{row['pairs/s']:.3g}",
        "share of the bf16 peak": lambda row: f"{row.get('share of the bf16 peak', 0):.0%}",
        "recall@4": lambda row: f"{row['recall']:.5f}",
        "device memory": lambda row: f"{row['device MiB']:,} MiB",
    }
    return [
        f"On {results['device']}, bf16 products at {results['bf16 peak, TFLOP/s']:.0f} TFLOP/s; "
        "the 4 nearest neighbours in both directions:",
        "",
        *compared(results["rows"], columns),
        "",
        conditions(record),
    ]


def why(row: Row) -> str:
    """Return the reason of a missing measurement."""
    return f"missing: {row['missing']}" if "missing" in row else f"failed: {row['failed']}"


def ratio(row: Row, kind: str) -> str:
    value = row.get(f"ours is faster by{kind}")
    return "" if value is None else f"{value:,} ×"


def memory(row: Row) -> str:
    value = row.get("memory, bytes a vector")
    return "" if value is None else f"{value:,} B a vector"


SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "limits": limits,
    "encode": encode,
    "search": search,
    "mine": mine,
    "filter": filters,
    "growth": growth,
    "first": first,
    "jobs": jobs,
}
