"""Tables of the reliability campaign for docs/results/reliability.md."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.markdown import table
from benchmarks.reliability.campaign import FINE

# Counted faults of each section, and their text.
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
    "clusters": {"equal": "done", "too late": "too late to be disturbed"},
}
INPUTS = {"exit code 0": "read", "exit code 1": "refused", "exit code 2": "refused as usage"}


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the tables of disturbed runs and of damaged inputs, with their conditions."""
    sections = record["sections"]
    lines = [
        "Runs of commands that were disturbed and repeated. A fault is an output that differs",
        "from an undisturbed run's, a traceback, an error of several lines, or a leftover. Rows",
        'with "again" are newer.',
    ]
    rows = [
        (
            f"{name}{', power cut' * (kind == 'crashes')}{', again' * (section != kind)}",
            said(counts, DISTURBED[kind]),
            faults(counts),
        )
        for section, kind, name, counts in parts(sections)
        if kind in DISTURBED
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
        for _, kind, name, counts in parts(sections)
        if kind == "fuzz"
    ]
    if inputs:
        columns = "inputs", "runs", "longest", "most memory", "faults"
        lines += ["", *table(columns, inputs)]
    for command in dict.fromkeys(part["command"] for part in sections.values()):
        made = [part for part in sections.values() if part["command"] == command]
        minutes = sum(part["results"]["seconds"] for part in made) / 60
        lines += ["", f"{minutes:.0f} minutes. {conditions(made[0])}"]
    return [*lines, ""]


def parts(sections: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield section, kind of disturbance, name and counts of each part, by kind."""
    for kind in (*DISTURBED, "fuzz"):
        for section, part in sections.items():
            for name, counts in part["results"].items():
                if section.split(":")[0] == kind and isinstance(counts, dict):
                    yield section, kind, name, counts


def said(counts: dict[str, Any], words: dict[str, str]) -> str:
    """Format the counts that are not faults."""
    found = [f"{counts[name]:,} {word}" for name, word in words.items() if counts.get(name)]
    return ", ".join(found) or str(counts.get("skipped", 0))


def faults(counts: dict[str, Any]) -> str:
    """Format the faults with their numbers; 0 without any."""
    wrong = {name: number for name, number in counts.items() if name not in FINE and number}
    return ", ".join(f"{name} {number}" for name, number in wrong.items()) or "0"
