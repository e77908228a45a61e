"""Tables of the reliability campaign for docs/results.md."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.markdown import table
from benchmarks.reliability.campaign import FINE

# What is counted of each section, and the text for it.
DISTURBED = {
    "kills": {"stopped": "killed"},
    "crashes": {"cuts": "power cuts", "refused": "of them refused by name"},
    "places": {
        "both": "both done",
        "one": "one refused",
        "equal": "done",
        "succeeded": "done",
        "refused": "refused",
    },
}
INPUTS = {"exit code 0": "read", "exit code 1": "refused", "exit code 2": "refused as usage"}


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return a table of the disturbances and one of the damaged inputs, with the conditions."""
    results = record["results"]
    lines = [
        "Runs of six commands that were disturbed and repeated. A fault is an output that differs",
        "from that of an undisturbed run, a traceback, an error of several lines, or a leftover.",
    ]
    rows = [
        (
            name if section != "crashes" else f"{name}, power cut",
            said(counts, words),
            faults(counts),
        )
        for section, words in DISTURBED.items()
        for name, counts in parts(results, section)
    ]
    if rows:
        lines += ["", *table(("command and disturbance", "runs", "faults"), rows)]
    inputs = [
        (
            name.replace("half", "mutated inputs, half"),
            said(counts, INPUTS),
            f"{counts['longest, s']} s",
            f"{counts['most memory, MB']} MB",
            faults(counts),
        )
        for name, counts in parts(results, "fuzz")
    ]
    if inputs:
        columns = "inputs", "runs", "longest", "most memory", "faults"
        lines += ["", *table(columns, inputs)]
    minutes = sum(part["seconds"] for part in results.values()) / 60
    return [*lines, "", f"{minutes:.0f} minutes. {conditions(record)}", ""]


def parts(results: dict[str, Any], section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parts of a section, by name, with their counts."""
    for name, counts in results.get(section, {}).items():
        if isinstance(counts, dict):
            yield name, counts


def said(counts: dict[str, Any], words: dict[str, str]) -> str:
    """Say the counts that are no faults."""
    found = [f"{counts[name]:,} {word}" for name, word in words.items() if counts.get(name)]
    return ", ".join(found) or str(counts.get("skipped", 0))


def faults(counts: dict[str, Any]) -> str:
    """Name the faults with their numbers; 0 without any."""
    wrong = {name: number for name, number in counts.items() if name not in FINE and number}
    return ", ".join(f"{name} {number}" for name, number in wrong.items()) or "0"
