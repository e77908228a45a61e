"""The plan of a run: filters with their settings and bounds, from a TOML file or by default."""

from __future__ import annotations

import dataclasses
import difflib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from miner.cleaning.choice import Choice
from miner.config_fields import read_toml
from miner.encoder.loading import split_name
from miner.encoder.model_files import model_digest, resolve
from miner.encoder.pretrained import directory_digest
from miner.errors import ArtifactError
from miner.filters.filter_types import GLOBAL, MODEL, Context, Filter
from miner.filters.registry import FILTERS
from miner.scoring.languages import Identified
from miner.scoring.without import NOTHING, Without
from miner.text.input_files import content_digest
from miner.text.language_codes import alike, is_language

# Keys of a filter's table beside its settings.
OWN = ("name", "label", "minimum", "maximum")

# The filter whose score ranks the pairs, unless another is named.
RANK = "quality"
# Reasons to reject a row that are no filter, and so no labels.
RESERVED = (
    *("unreadable", "top-n", "target-words", "target-precision"),
    *("keep-percentile", "per-source", "balance", "temperature"),
)


@dataclass(frozen=True)
class Step:
    """One filter of a plan: its label, its settings and its bounds, None for none."""

    name: str
    label: str
    settings: Mapping[str, Any]
    minimum: float | None
    maximum: float | None

    @property
    def filter(self) -> Filter:
        return FILTERS[self.name]

    @property
    def ranked_by(self) -> str | None:
        """The label of the step that a setting names to rank the pairs, None if none does."""
        kinds = self.filter.settings.items()
        return next((self.settings[name] for name, kind in kinds if kind.score), None)

    @property
    def unbounded(self) -> Step:
        """The same step without bounds, which decide about no score."""
        return dataclasses.replace(self, minimum=None, maximum=None)

    def reason(self, value: float) -> str:
        """The reason in words for removing a pair with this score."""
        return self.filter.reason.format(value=value, bound=self.bound(value))

    def bound(self, value: float) -> float | None:
        """The bound that a score breaks; None if it breaks none."""
        if self.minimum is not None and value < self.minimum:
            return self.minimum
        return self.maximum if self.maximum is not None and value > self.maximum else None

    def bounds(self) -> str:
        """Format the bounds in a few characters."""
        low, high = (None if edge is None else f"{edge:g}" for edge in (self.minimum, self.maximum))
        if low and high:
            return f"{low} to {high}"
        return f">= {low}" if low else f"<= {high}" if high else "none"


@dataclass(frozen=True)
class Plan:
    """Filters in the order in which they run, and the facts they share.

    rank: the label of the step whose score ranks the pairs, None without one. repair: repair
    broken encoding before the filters see a text.
    """

    steps: tuple[Step, ...]
    context: Context = field(default_factory=Context)
    rank: str | None = None
    repair: bool = False

    def stage(self, stage: int) -> list[Step]:
        """The steps of one stage, in order."""
        return [step for step in self.steps if step.filter.stage == stage]

    @property
    def columns(self) -> list[int | str]:
        """Further columns of the file that filters read, each once."""
        keys = [step.settings[name] for step in self.steps for name in step.filter.columns]
        return list(dict.fromkeys(keys))

    @property
    def ranking(self) -> Step | None:
        """The step whose score ranks the pairs, None without one."""
        return next((step for step in self.steps if step.label == self.rank), None)

    def with_bound(self, threshold: float | None) -> Plan:
        """The plan with another bound on the score that ranks, None for no bound."""
        step = self.ranking
        assert step is not None
        if step.filter.better == "higher":
            changed = dataclasses.replace(step, minimum=threshold)
        else:
            changed = dataclasses.replace(step, maximum=threshold)
        steps = tuple(changed if other is step else other for other in self.steps)
        return dataclasses.replace(self, steps=steps)

    def leaving_out(self, without: Without) -> Plan:
        """The plan with filters of text that must not occur, before others of their stage."""
        steps = (*_leaving_out(without, self.steps), *self.steps)
        ordered = sorted(steps, key=lambda step: step.filter.stage)
        return dataclasses.replace(self, steps=tuple(ordered))

    def with_identifier(self, path: str) -> Plan:
        """The plan with the filter lid by a fastText model, for the usual filters of languages."""
        own = Step("lid", "lid", {"file": str(Path(path).absolute())}, FILTERS["lid"].minimum, None)
        kept = [one for one in self.steps if one.name not in ("language", "same_language", "lid")]
        _refuse_unknown_languages("--lid", [own], self.context)
        return _plan([*kept, own], self.context, self.rank, self.repair)

    def choosing(self, choice: Choice) -> tuple[Plan, Choice]:
        """The plan with the filters of a choice as its last ones, and the limits that are left."""
        steps = []
        if choice.percentile is not None:
            steps.append(Step("percentile", "keep-percentile", {}, *choice.range))
        if choice.per_source is not None:
            steps.append(Step("per_source", "per-source", {}, None, float(choice.per_source)))
        if choice.mixes:
            settings = {
                "of": choice.balance or "corpus",
                "temperature": choice.temperature or 1.0,
            }
            label = "balance" if choice.balance else "temperature"
            steps.append(Step("mixed", label, settings, None, float(choice.top or 0)))
        rest = Choice(None if choice.mixes else choice.top, choice.words, choice.precision)
        return dataclasses.replace(self, steps=(*self.steps, *steps)), rest

    def with_labels(self, path: str) -> Plan:
        """The plan with a quality that is fitted to the answers in a file.

        Raises ArtifactError where the quality does not rank the pairs.
        """
        step = self.ranking
        if step is None or step.name != RANK:
            raise ArtifactError("labels improve the quality, which does not rank the pairs here")
        settings = {**step.settings, "labels": str(Path(path).absolute())}
        changed = dataclasses.replace(step, settings=settings)
        steps = tuple(changed if other is step else other for other in self.steps)
        return dataclasses.replace(self, steps=steps)

    def files(self) -> list[Path]:
        """The model, and the files and directories that settings name."""
        foreign = split_name(self.context.encoder)
        model = Path(foreign[1]) if foreign else resolve(self.context.encoder)
        return [model] + [
            self.context.directory / step.settings[name]
            for step in self.steps
            for name, setting in step.filter.settings.items()
            if setting.file and step.settings[name]
        ]

    def located(self) -> Plan:
        """The same plan for workers of other working directories: its paths are absolute."""
        model = self.context.model
        if model is not None and model != "default":
            kind, place = split_name(model) or ("", model)
            if not kind or Path(place).is_dir():
                model = f"{kind}:{Path(place).absolute()}".removeprefix(":")
        named = any(
            setting.file and step.settings[name]
            for step in self.steps
            for name, setting in step.filter.settings.items()
        )
        directory = self.context.directory.absolute() if named else Path()
        context = dataclasses.replace(self.context, model=model, directory=directory)
        return dataclasses.replace(self, context=context)


def file_names(steps: Iterable[Step], context: Context) -> list[str]:
    """Return the files, and the directories or names of models, that scores depend on."""
    found = []
    for step in steps:
        named = [name for name, setting in step.filter.settings.items() if setting.file]
        for value in (step.settings[name] for name in named):
            if value == "default" or split_name(value) is not None:
                found.append(value)
            elif value:
                found.append(str(context.directory / value))
        if step.filter.stage == MODEL:
            found.append(context.encoder)
    return list(dict.fromkeys(found))


def content(name: str) -> str | None:
    """Return the digest of a file, or of a model by its name; None if it cannot be read.

    That is reported when the filter is built.
    """
    foreign = split_name(name)
    if foreign is not None:
        place = Path(foreign[1])
        return directory_digest(place) if place.is_dir() else None
    path = resolve(name)
    return model_digest(path) if path.is_dir() else content_digest(path)


def libraries(steps: Iterable[Step], repair: bool) -> dict[str, str]:
    """Return the versions of libraries, and of Python's tables of Unicode, by which scores vary."""
    names = {name for step in steps for name in step.filter.libraries}
    names |= {"ftfy"} if repair else set()
    found = {"unicode": unicodedata.unidata_version}
    for name in sorted(names):
        with suppress(PackageNotFoundError):  # reported when the filter is built
            found[name] = version(name)
    return found


def default_plan(context: Context) -> Plan:
    """The plan of the default filters; those that need the languages only if both are known."""
    known = all(context.languages)
    chosen = [
        Step(entry.name, entry.name, _defaults(entry), entry.minimum, entry.maximum)
        for entry in FILTERS.values()
        if entry.default and (known or not entry.languages)
    ]
    return _plan(chosen, context, None, False)


def with_languages(plan: Plan, source: Identified, target: Identified) -> Plan:
    """Add the default filters that need the languages to a plan of default filters.

    Languages that were given count; others only where the text leaves no doubt. Two sides in one
    language leave the plan as it is.
    """
    codes = [
        given or (one.code if one.sure else None)
        for given, one in zip(plan.context.languages, (source, target), strict=True)
    ]
    if None in codes or not alike(codes[0] or "").isdisjoint(alike(codes[1] or "")):
        return plan
    context = dataclasses.replace(plan.context, source_lang=codes[0], target_lang=codes[1])
    own = {step.name: step for step in plan.steps}
    steps = tuple(own.get(step.name, step) for step in default_plan(context).steps)
    return dataclasses.replace(plan, steps=steps, context=context)


def _leaving_out(without: Without, others: Sequence[Step]) -> list[Step]:
    """Make the filters of text that must not occur; labels differ from the others."""
    steps: list[Step] = []
    for file in without.files:
        own: dict[str, Any] = {"file": str(Path(file).absolute())}
        more = [("without", "", own | {"near": without.near or 0.0})]
        if without.near_vectors is not None:
            settings = own | {"cosine": without.near_vectors, "model": ""}
            more.append(("without_vectors", "vectors of ", settings))
        for name, how, settings in more:
            label = f"without {how}{Path(file).name}"
            if any(step.label == label for step in (*steps, *others)):
                label = f"without {how}{file}"
            steps.append(Step(name, label, settings, None, 0.0))
    return steps


def scores_of(plan: Plan, without: Without = NOTHING) -> Plan:
    """Reduce a plan to the filters that score one pair at a time, without bounds.

    Lines of the files of ``without`` are the last scores.
    """
    steps = [step for step in plan.steps if step.filter.stage != GLOBAL]
    steps += _leaving_out(without, steps)
    return dataclasses.replace(plan, steps=tuple(step.unbounded for step in steps), rank=None)


def scores_plan(names: Iterable[str], context: Context) -> Plan:
    """Make a plan of filters that only score, each once, in the order given.

    Raises :class:`~miner.errors.ArtifactError` for a filter that needs a setting or the languages.
    """
    steps = []
    for name in dict.fromkeys(names):
        steps.append(_step(f"score {name}", {"name": name}).unbounded)
    _refuse_unknown_languages("score", steps, context)
    return Plan(tuple(steps), context)


def read_plan(path: str | Path, context: Context, options: Collection[str] = ()) -> Plan:
    """Read the plan of a TOML file; facts in ``context`` override the file.

    ``options`` are further keys, which the command line has read.

    The file: ``source_lang``, ``target_lang``, ``model``, ``rank``, ``repair``, and a table
    ``[[filter]]`` for each filter, with its ``name``, a ``label`` where a filter runs twice,
    ``minimum``, ``maximum`` and its settings. Raises :class:`~miner.errors.ArtifactError`.
    """
    path = Path(path)
    read = read_toml(path).items()
    record = {key: value for key, value in read if key.replace("-", "_") not in options}
    return plan_of(record, context, str(path), path.parent)


def plan_of(
    record: Mapping[str, Any], context: Context, name: str, directory: Path = Path()
) -> Plan:
    """Make a plan of the content of a TOML file; messages call it ``name``.

    Paths begin at ``directory``. Raises :class:`~miner.errors.ArtifactError`.
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
        model=context.model or _beside(directory, model),
    )
    steps = [_step(f"{name}, filter {number}", table) for number, table in enumerate(tables, 1)]
    labels = [step.label for step in steps]
    for label in labels:
        if labels.count(label) > 1:
            raise ArtifactError(f"{name}: {label!r} is there twice; give one of them a label")
    _refuse_unknown_languages(name, steps, context)
    scoring = [step.label for step in steps if step.filter.stage != GLOBAL]
    for code in context.languages:
        if code is not None and not is_language(code):
            raise ArtifactError(f"{name}: {code!r} is no language code, such as de, en or zh-Hant")
    rank = record.get("rank")
    if rank is not None:
        _refuse_score(f"{name}: rank", rank, scoring)
    for number, step in enumerate(steps, 1):
        for key in (key for key, kind in step.filter.settings.items() if kind.score):
            where = f"{name}, filter {number} ({step.name}): {key}"
            _refuse_score(where, step.settings[key], scoring)
    return _plan(steps, context, rank, record.get("repair", False))


def _beside(directory: Path, model: str) -> str:
    """Find the model that a configuration names, from the directory of its file."""
    if model == "default" or split_name(model) is not None:
        return model
    return str(directory / model)


def _plan(steps: Iterable[Step], context: Context, rank: str | None, repair: bool) -> Plan:
    """Order steps by stage, cheap ones first, within a stage as given.

    Unless ``rank`` is given, quality ranks the pairs, or else the first score by a model.
    """
    ordered = sorted(steps, key=lambda step: step.filter.stage)
    models = [one for one in ordered if one.filter.stage == MODEL and not one.filter.whole]
    if rank is None and models:
        rank = next((step for step in models if step.name == RANK), models[0]).label
    return Plan(tuple(ordered), context, rank, repair)


def _defaults(entry: Filter) -> dict[str, Any]:
    return {name: setting.default for name, setting in entry.settings.items()}


def _step(where: str, table: Mapping[str, Any]) -> Step:
    name = table.get("name")
    if not isinstance(name, str):
        raise ArtifactError(f"{where}: has no name; see 'miner filter --list'")
    _refuse_unknown(where, name, FILTERS, "filter")
    entry = FILTERS[name]
    where = f"{where} ({name})"
    settings = _defaults(entry)
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
        elif key in entry.columns and type(value) is int:
            settings[key] = str(value)
        elif key != "name":
            settings[key] = _setting(f"{where}: {key}", entry.settings[key], value)
    for key, value in settings.items():
        if value is None:
            raise ArtifactError(f"{where}: needs {key}: {entry.settings[key].help}")
    low, high = bounds["minimum"], bounds["maximum"]
    if low is not None and high is not None and low > high:
        raise ArtifactError(f"{where}: minimum {low:g} is above maximum {high:g}")
    return Step(name, table.get("label", name), settings, low, high)


def _refuse_unknown_languages(where: str, steps: Iterable[Step], context: Context) -> None:
    for step in steps:
        if step.filter.languages and not all(context.languages):
            raise ArtifactError(
                f"{where}: {step.label} needs to know the languages; add source_lang and "
                "target_lang (or --source-lang, --target-lang)"
            )


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
