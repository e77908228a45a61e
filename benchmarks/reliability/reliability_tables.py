"""Tables of the reliability campaign for docs/results.md."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import table
from benchmarks.reliability.campaign import FINE

HARMLESS = "longest, s", "most memory, MB", "seconds"


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return a table of the disturbances, one of the damaged inputs, and the conditions."""
    results = record["results"]
    lines = ["Faults are wrong outputs, tracebacks, leftovers and errors of more than one line."]
    rows = [
        *(
            (name, counts.get("stopped", 0), "repeated: output equal", _faults(counts))
            for name, counts in _parts(results, "kills")
        ),
        *(
            (
                f"{name}, power cut",
                counts["cuts"],
                f"equal {counts['equal']}, refused {counts['refused']}",
                _faults(counts),
            )
            for name, counts in _parts(results, "crashes")
        ),
        *(
            (name, _runs(counts), _fine(counts), _faults(counts))
            for name, counts in _parts(results, "places")
        ),
    ]
    if rows:
        lines += ["", *table(("disturbance", "runs", "outcome", "faults"), rows)]
    damaged = [
        (name, _runs(counts), counts["longest, s"], counts["most memory, MB"], _faults(counts))
        for name, counts in _parts(results, "fuzz")
    ]
    if damaged:
        columns = "damaged inputs", "runs", "longest, s", "most memory, MB", "faults"
        lines += ["", *table(columns, ([str(cell) for cell in row] for row in damaged))]
    seconds = sum(part["seconds"] for part in results.values())
    return [*lines, "", f"{seconds / 60:.0f} minutes in all. {conditions(record)}", ""]


def _parts(results: dict[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    found = results.get(section, {})
    return [(name, counts) for name, counts in found.items() if isinstance(counts, dict)]


def _runs(counts: dict[str, Any]) -> int:
    """Count the runs: all that is counted but faults, maxima and examples."""
    return sum(counts[name] for name in counts if name in FINE and name not in SUMMED_APART)


def _fine(counts: dict[str, Any]) -> str:
    fine = [name for name in counts if name in FINE and name not in ("failures", *HARMLESS)]
    return ", ".join(f"{name} {counts[name]}" for name in fine)


def _faults(counts: dict[str, Any]) -> str:
    """Name the faults with their numbers; 0 without any."""
    wrong = {name: number for name, number in counts.items() if name not in FINE and number}
    return ", ".join(f"{name} {number}" for name, number in wrong.items()) or "0"


SUMMED_APART = ("failures", "calls", "skipped", *HARMLESS)
