"""Our figures beside the published ones: ``our_figures.tsv``, filled in from the results.

A line has the paper, a description of the figures, a template, and the command. The template names
figures as ``{FILE/SECTION > step > ... | format}``. A step is a key, an index, or ``key=value``,
which selects dictionaries; ``a;b`` gives a figure for each. Several values, as of seeds, are
averaged. ``{FILE/SECTION | command}`` is the command that measured them.
"""

import csv
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.models.published import PAPERS
from miner.config_fields import option_name
from miner.encoder.model import load
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES

FILE = Path(__file__).with_suffix(".tsv")
REFERENCE = re.compile(r"\{([^{}]+) \| ([^|{}]+)\}")


def our_table(paper: str) -> list[str]:
    """Return the table of our figures beside a paper's."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [
            (row["figure"], *(REFERENCE.sub(filled, row[name]) for name in ("ours", "command")))
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["paper"] == paper
        ]
    return table(
        ("Figure", "Ours", "Command (`--data ../shared/data`) and [results](results.md)"), rows
    )


def filled(reference: re.Match[str]) -> str:
    """Format the figures of one reference. Raises LookupError for a missing one."""
    (place, *steps), form = reference[1].split(" > "), reference[2]
    name, _, section = place.partition("/")
    record = report.read(f"{name}.json")
    record = record["sections"][section] if section else record
    if form == "command":
        return re.sub(r"^python -m | --(data|models) \S+", "", record["command"])
    results = record["results"]
    cells = []
    for path in product(*map(_alternatives, steps)):
        if not (found := list(_found(results, path))):
            raise LookupError(f"no such figure: {place}: {' > '.join(path)}")
        cells.append(_formatted(found, form))
    return " / ".join(cells)


def _alternatives(step: str) -> list[str]:
    key, equals, values = step.rpartition("=")
    return [key + equals + value for value in values.split(";")]


def _found(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """Yield the values at the end of a path; lists are searched item by item."""
    key, equals, wanted = path[0].partition("=") if path else ("", "", "")
    if not path:
        yield value
    elif isinstance(value, list) and key.isdecimal():
        yield from _found(value[int(key)], path[1:])
    elif isinstance(value, list):
        for item in value:
            yield from _found(item, path)
    elif not equals:
        if key in value:
            yield from _found(value[key], path[1:])
    else:
        outer, _, inner = key.partition(".")
        found = value.get(outer, {}) if inner else value
        if str(found.get(inner or outer)) == wanted:
            yield from _found(value, path[1:])


def _formatted(found: list[Any], form: str) -> str:
    """Format the mean of numbers, or of metrics with a ``value``; "%" multiplies by 100.

    "model" names the model of a fingerprint.
    """
    if form == "model":
        return report.model_name(found[0])
    average = mean(one["value"] if isinstance(one, dict) else one for one in found)
    if form == "interval":
        low, high = found[0]["interval"]
        return f"{100 * average:.1f} ({100 * low:.1f}–{100 * high:.1f})"
    if form.startswith("%"):
        return f"{100 * average:.{form[1:] or 1}f}"
    return f"{average:{form}}"


def default_table() -> list[str]:
    """Return the settings in which the last training of the default model differs from `p19`."""
    trained = TrainConfig.from_dict(load("default").training["config"])
    rows = [
        (f"`{option_name(name)}`", str(setting), str(published))
        for name, setting in trained.as_dict().items()
        if setting != (published := RECIPES["p19"].as_dict()[name])
    ]
    return table(("Setting", "The model that ships", "`p19`"), rows)


# Tables of docs/papers.md, by the names of their marks.
SECTIONS: dict[str, Callable[[], list[str]]] = {
    **{f"ours-{paper.lower()}": partial(our_table, paper) for paper in PAPERS},
    "default-p19": default_table,
}
