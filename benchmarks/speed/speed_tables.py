"""The README's tables of ``results/speed.json``; a section that was not measured has none."""

from collections.abc import Callable
from typing import Any


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Lines of Markdown; ``conditions`` says of a section what it was measured with."""
    lines: list[str] = []
    there = [name for name in SECTIONS if name in record["sections"]]
    for name, following in zip(there, [*there[1:], None], strict=True):
        section = record["sections"][name]
        lines += [*SECTIONS[name](section["results"]), ""]
        # Said once of all sections of one run.
        said = conditions(section)
        if following is None or conditions(record["sections"][following]) != said:
            lines += [said, ""]
    return lines


def limits(results: dict[str, Any]) -> list[str]:
    if "failed" in results or "missing" in results:
        return [f"The machine at its best: {why(results)}."]
    found = [f"{name} {value:,}" for name, value in results.items() if "/s" in name]
    return [f"The machine at its best, {results['threads']} threads: {'; '.join(found)}."]


def encode(results: dict[str, Any]) -> list[str]:
    text = results["text"]
    lines = [
        f"Text to vectors, {results['threads']} threads, {text['sentences']:,} sentences of "
        f"{text['mean words']} words in the mean (the",
        "slow ones fewer of them), alternating in one run:",
        "",
        "| | sentences | sentences/s (median; least to most) | ours is faster by | memory |",
        "|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if not measured(row):
            lines.append(f"| {row['name']} | {why(row)} | | | |")
            continue
        memory = row.get("memory, bytes a vector")
        lines.append(
            f"| {row['name']} | {row['sentences']:,} | {rate(row)} | {ratio(row, '')} "
            f"| {'' if memory is None else f'{memory:,} B a vector'} |"
        )
    return lines


def search(results: dict[str, Any]) -> list[str]:
    source, target = results["rows"][0]["in"]
    lines = [
        f"The 4 nearest in both directions, {source:,} × {target:,} sentences, "
        f"d = {results['rows'][0]['dimension']}, {results['threads']} threads,",
        "alternating in one run. GFLOP/s are those of one product of both sides, whatever was",
        "done; memory counts the vectors:",
        "",
        "| | queries | seconds | CPU seconds | ours is faster by | in CPU time | GFLOP/s "
        "| recall@4 | memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if not measured(row):
            lines.append(f"| {row['name']} | {why(row)} | | | | | | | |")
            continue
        lines.append(
            f"| {row['name']} | {row['sentences']:,} | {row['seconds']:,} "
            f"| {row['cpu seconds']:,} | {ratio(row, '')} | {ratio(row, ' in CPU time')} "
            f"| {row['of one product, GFLOP/s']:,} | {row['recall@4']:.5f} "
            f"| {row['memory, bytes a vector']:,} B a vector |"
        )
    return lines


def mine(results: dict[str, Any]) -> list[str]:
    lines = [
        f"From two text files, {results['text']['sentences']:,} lines together, to a file of "
        f"pairs, {results['threads']} threads:",
        "",
        "| | seconds (median) | the first is faster by | in CPU time | memory | pairs |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if not measured(row):
            lines.append(f"| {row['name']} | {why(row)} | | | | |")
            continue
        lines.append(
            f"| {row['name']} | {row['seconds']:,} | {ratio(row, '')} "
            f"| {ratio(row, ' in CPU time')} | {row['memory MiB']:,} MiB | {row['pairs']:,} |"
        )
    return lines


def growth(results: dict[str, Any]) -> list[str]:
    lines = ["Seconds at more lines (one run each); peak memory is that of the whole process:", ""]
    for row in results["rows"]:
        stages = next((list(p["stages"]) for p in row["points"] if "seconds" in p), [])
        lines += [
            f"| {' | '.join(['lines a side', *stages, 'all', 'peak'])} |",
            "|" + "---|" * (len(stages) + 3),
        ]
        for point in row["points"]:
            if "seconds" in point:
                cells = [f"{value:,.1f}" for value in (*point["stages"].values(), point["seconds"])]
                cells.append(f"{point['peak MiB']:,} MiB")
            else:
                cells = [why(point), *[""] * (len(stages) + 1)]
            lines.append(f"| {point['a side']:,} | {' | '.join(cells)} |")
        grown = "; ".join(f"{name} n^{value}" for name, value in row["exponents"].items())
        lines += ["", f"{row['name'].capitalize()}. Seconds grow by {grown}."]
    return lines


def cuda(results: dict[str, Any]) -> list[str]:
    if "rows" not in results:
        return [f"On a GPU: {results.get('device') or why(results)}."]
    lines = [
        f"On {results['device']}, bf16 products at {results['bf16 peak, TFLOP/s']} TFLOP/s; the 4 "
        "nearest in both directions:",
        "",
        "| | sentences a side | d | seconds | share of the bf16 peak |",
        "|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        if "seconds" in row:
            end = f"{row['seconds']:,} | {row['share of the bf16 peak']:.0%}"
        else:
            end = f"{why(row)} |"
        lines.append(f"| {row['name']} | {row.get('a side', 0):,} | {row['dimension']} | {end} |")
    return lines


def measured(row: dict[str, Any]) -> bool:
    return "seconds" in row


def why(row: dict[str, Any]) -> str:
    """Why there is no figure."""
    return f"missing: {row['missing']}" if "missing" in row else f"failed: {row['failed']}"


def rate(row: dict[str, Any]) -> str:
    return f"{row['sentences/s']:,}; {row['min']:,} to {row['max']:,}"


def ratio(row: dict[str, Any], kind: str) -> str:
    value = row.get(f"ours is faster by{kind}")
    return "" if value is None else f"{value:,} ×"


SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "limits": limits,
    "encode": encode,
    "search": search,
    "mine": mine,
    "growth": growth,
    "cuda": cuda,
}
