"""Reading and validation of filter configurations: a TOML file, or names and tables."""

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from miner.cleaning.config import (
    FilterConfig,
    Step,
    decontaminating,
    defaults,
    ordered,
    require_languages,
)
from miner.cleaning.peer_configs import is_peer_config, peer_config
from miner.config_fields import SettingsError, read_toml
from miner.errors import ArtifactError
from miner.filters.filter_types import GLOBAL, Context, Filter, place
from miner.filters.registry import FILTERS
from miner.progress import silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.text.language_codes import language_pair
from miner.text.text_format import Note

# Configuration: a TOML file, another format of `read_config`, or names and tables of filters.
Filters = str | Path | Sequence[str | Mapping[str, Any]]

# Keys of a filter's table besides its settings.
OWN = ("name", "label", "only", "minimum", "maximum")
# Reasons for rejection that are no filters, and so cannot be labels.
RESERVED = (
    *("unreadable", "top-n", "target-words", "target-precision"),
    *("keep-percentile", "per-source", "balance", "temperature"),
)


def scores_config(
    scores: Filters,
    context: Context,
    without: Without = NOTHING,
    options: Collection[str] = (),
    note: Note = silent,
) -> FilterConfig:
    """Build a configuration of filters that score single pairs, in the order of ``scores``.

    Lines of the files of ``without`` are the last scores. Filters of a file that compare rows are
    dropped, and those of some files only. Raises SettingsError for an unknown score, or a filter
    that needs a setting, and :class:`~miner.errors.ArtifactError`.
    """
    if isinstance(scores, str | Path):
        config = read_config(scores, context, options, note)
        single = (step for step in config.steps if step.filter.stage != GLOBAL)
        steps = [step for step in single if step.only is None]
        context = config.context
    else:
        named_steps = [_score(table) for table in map(_table, scores)]
        steps = [*{step.label: step for step in named_steps}.values()]
        require_languages("score", steps, context)
    steps += decontaminating(without, steps)
    return FilterConfig(tuple(step.unbounded for step in steps), context)


def _score(table: Mapping[str, Any]) -> Step:
    name = table.get("name")
    entry = FILTERS.get(str(name))
    if entry is None or entry.stage == GLOBAL:
        known = (
            candidate.name
            for candidate in FILTERS.values()
            if candidate.stage != GLOBAL and not _lacking(candidate, {})
        )
        raise SettingsError(f"there is no score {name!r}; there are: {', '.join(known)}")
    if _lacking(entry, table):
        raise SettingsError(f"{name} needs settings; give them in a configuration")
    return _step(f"score {name}", table)


def _lacking(entry: Filter, given: Mapping[str, Any]) -> set[str]:
    """Return the required settings that are missing."""
    return {
        key for key, setting in entry.settings.items() if setting.default is None
    } - given.keys()


def _table(one: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": one} if isinstance(one, str) else dict(one)


def any_config(
    filters: Filters, context: Context, options: Collection[str] = (), note: Note = silent
) -> FilterConfig:
    """Build a configuration from a file, like :func:`read_config`, or from names and tables."""
    if isinstance(filters, str | Path):
        return read_config(filters, context, options, note)
    if isinstance(filters, Mapping):  # otherwise their settings would be lost
        raise ArtifactError("filters: give a list of names and tables, such as {'name': 'length'}")
    return config_of({"filter": [*map(_table, filters)]}, context, "filters")


def read_config(
    path: str | Path,
    context: Context,
    options: Collection[str] = (),
    note: Note = silent,
) -> FilterConfig:
    """Read the configuration of a TOML file; facts in ``context`` override the file.

    ``options`` are further keys, for the command line. A configuration of OpusFilter or OpusCleaner
    is translated; ``note`` receives lines about filters without a counterpart.

    The file: ``source_lang``, ``target_lang``, ``model``, ``rank``, ``repair``, and a table
    ``[[filter]]`` for each filter, with its ``name``, a ``label`` if a filter runs twice, ``only``
    with a pattern if it is for some files, ``minimum``, ``maximum`` and its settings. Raises
    :class:`~miner.errors.ArtifactError`.
    """
    if str(path) in FILTERS and not Path(path).exists():
        raise ArtifactError(f"{path}: a filter, not a file of filters; give it in a list")
    path = Path(path)
    read = peer_config(path, note) if is_peer_config(path) else read_toml(path)
    record = {key: value for key, value in read.items() if key.replace("-", "_") not in options}
    return config_of(record, context, str(path), path.parent)


def config_of(
    record: Mapping[str, Any], context: Context, name: str, directory: Path = Path()
) -> FilterConfig:
    """Build a configuration from the content of a TOML file; messages call it ``name``.

    Paths are relative to ``directory``. Raises :class:`~miner.errors.ArtifactError`.
    """
    types = {"source_lang": str, "target_lang": str, "model": str, "rank": str, "repair": bool}
    for key, value in record.items():
        _refuse_unknown(name, key, (*types, "filter"))
        if key in types and not isinstance(value, types[key]):
            raise ArtifactError(f"{name}: {key} must be {_kind(types[key])}, not {value!r}")
    tables = record.get("filter", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ArtifactError(f"{name}: write each filter as a table of its own, [[filter]]")
    if not tables:
        raise ArtifactError(f"{name}: names no filter; add [[filter]] tables, see --list")
    model = record.get("model", "default")
    context = dataclasses.replace(
        context,
        source_lang=context.source_lang or record.get("source_lang"),
        target_lang=context.target_lang or record.get("target_lang"),
        directory=directory,
        model=context.model or place(directory, model),
    )
    steps = [_step(f"{name}, filter {number}", table) for number, table in enumerate(tables, 1)]
    labels = [step.label for step in steps]
    for label in labels:
        if labels.count(label) > 1:
            raise ArtifactError(f"{name}: {label!r} is there twice; give one of them a label")
    require_languages(name, steps, context)
    single = (step for step in steps if step.filter.stage != GLOBAL)
    scoring = [step.label for step in single if step.only is None]
    try:
        language_pair(context.languages)
    except ValueError as error:
        raise ArtifactError(f"{name}: {error}") from None
    rank = record.get("rank")
    if rank is not None:
        _refuse_score(f"{name}: rank", rank, scoring)
    for number, step in enumerate(steps, 1):
        for key in (key for key, kind in step.filter.settings.items() if kind.score):
            where = f"{name}, filter {number} ({step.name}): {key}"
            _refuse_score(where, step.settings[key], scoring)
    return ordered(steps, context, rank, record.get("repair", False))


def _step(where: str, table: Mapping[str, Any]) -> Step:
    name = table.get("name")
    if not isinstance(name, str):
        raise ArtifactError(f"{where}: has no name; see 'miner filter --list'")
    _refuse_unknown(where, name, FILTERS, "filter")
    entry = FILTERS[name]
    where = f"{where} ({name})"
    settings = defaults(entry)
    bounds: dict[str, float | None] = {"minimum": entry.minimum, "maximum": entry.maximum}
    for key, value in table.items():
        _refuse_unknown(where, key, (*OWN, *entry.settings))
        if key in bounds:
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                raise ArtifactError(f"{where}: {key} must be a number, not {value!r}")
            try:
                bounds[key] = None if value in (float("-inf"), float("inf")) else float(value)
            except OverflowError:
                raise ArtifactError(f"{where}: {key} is beyond all numbers; leave it out") from None
        elif key == "label":
            if not isinstance(value, str) or not value:
                raise ArtifactError(f"{where}: label must be text, not {value!r}")
            if value in RESERVED:
                raise ArtifactError(f"{where}: label {value!r} has a meaning; choose another")
        elif key == "only":
            if not isinstance(value, str) or not value:
                raise ArtifactError(f"{where}: only must be a pattern of files, not {value!r}")
            if entry.stage == GLOBAL:
                raise ArtifactError(f"{where}: it compares rows of all files; leave out only")
        elif key in entry.columns and type(value) is int:
            settings[key] = str(value)
        elif key != "name":
            settings[key] = _setting(f"{where}: {key}", entry.settings[key], value)
    for key, value in settings.items():
        if value is None:
            raise ArtifactError(f"{where}: needs {key}: {entry.settings[key].help}")
    low, high = bounds["minimum"], bounds["maximum"]
    for key, bound in bounds.items():
        if bound is not None and (why := entry.outside(bound)):
            raise ArtifactError(f"{where}: {key} {why}")
    if low is not None and high is not None and low > high:
        raise ArtifactError(f"{where}: minimum {low:g} is above maximum {high:g}")
    usual = not table.keys() & bounds.keys()
    label, only = table.get("label", name), table.get("only")
    return Step(name, label, settings, low, high, usual, only=only)


def _refuse_score(where: str, label: str, labels: list[str]) -> None:
    if label not in labels:
        there = f"there are: {', '.join(labels)}" if labels else "there is none; add quality"
        raise ArtifactError(f"{where} is {label!r}, which is no filter that scores pairs; {there}")


def _setting(where: str, setting: Any, value: Any) -> Any:
    kind = str if setting.default is None else type(setting.default)
    if kind is float and type(value) is int and abs(value) < 1e18:
        value = float(value)
    if type(value) is not kind:
        raise ArtifactError(f"{where} must be {_kind(kind)}, not {value!r}")
    if setting.least is not None and not value >= setting.least:
        raise ArtifactError(f"{where} is {value!r}; it must be at least {setting.least:g}")
    if setting.choices and value not in setting.choices:
        raise ArtifactError(f"{where} is {value!r}; it must be one of {', '.join(setting.choices)}")
    return value


def _kind(kind: type) -> str:
    return {str: "text", bool: "true or false", int: "a whole number", float: "a number"}[kind]


def _refuse_unknown(where: str, key: str, known: Iterable[str], what: str = "key") -> None:
    known = list(known)
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        raise ArtifactError(f"{where}: there is no {what} {key!r}; {hint}")
