"""`FilterConfig`: the filters of a run with their settings and bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from miner.cleaning.settings import Selection
from miner.config_fields import SettingsError
from miner.encoder.known_languages import quality_bound
from miner.encoder.loading import split_name
from miner.encoder.model_files import known_by, resolve
from miner.errors import ArtifactError
from miner.filters.filter_types import MODEL, Context, Filter, place
from miner.filters.registry import FILTERS, MONO
from miner.scoring.decontaminate_settings import Without
from miner.scoring.languages import Identified
from miner.text.language_codes import alike

# Filter whose score ranks the pairs by default.
RANK = "quality"


@dataclass(frozen=True)
class Step:
    """Filter of a configuration: label, settings and bounds, None for no bound.

    ``usual``: the bounds are defaults, so that the model's bound of a language may replace them;
    ``bound_of``: language codes of that bound. ``by_row``: each row has the bound of its languages;
    this bound applies if they are unknown. ``only``: pattern of the files whose rows it scores,
    None for all.
    """

    name: str
    label: str
    settings: Mapping[str, Any]
    minimum: float | None
    maximum: float | None
    usual: bool = False
    bound_of: tuple[str, ...] = ()
    by_row: bool = False
    only: str | None = None

    @property
    def filter(self) -> Filter:
        return FILTERS[self.name]

    @property
    def files(self) -> list[str]:
        """Files, directories and model names in the settings."""
        kinds = self.filter.settings.items()
        return [self.settings[name] for name, kind in kinds if kind.file and self.settings[name]]

    @property
    def unbounded(self) -> Step:
        """This step without bounds, so that it rejects nothing."""
        return Step(self.name, self.label, self.settings, None, None, only=self.only)

    def scores_file(self, name: str) -> bool:
        """Return True if it scores the rows of a file of this name."""
        return self.only is None or PurePath(name).match(self.only)

    def reason(self, value: float) -> str:
        """Return the reason for removing a pair with this score, in words."""
        return self.filter.reason.format(value=value, bound=self.bound(value))

    def bound(self, value: float) -> float | None:
        """Return the bound that a score breaks, or None."""
        if self.minimum is not None and value < self.minimum:
            return self.minimum
        return self.maximum if self.maximum is not None and value > self.maximum else None

    def bounds(self) -> str:
        """Format the bounds in a few characters."""
        low, high = (None if edge is None else f"{edge:g}" for edge in (self.minimum, self.maximum))
        if self.only:
            return f"{dataclasses.replace(self, only=None).bounds()}, {self.only}"
        if low and high:
            return f"{low} to {high}"
        text = f">= {low}" if low else f"<= {high}" if high else "none"
        text += f" ({', '.join(self.bound_of)})" if self.bound_of else ""
        return f"{text}, by row" if self.by_row else text


@dataclass(frozen=True)
class FilterConfig:
    """Filters in order of execution, and their common facts.

    rank: label of the step whose score ranks the pairs, or None. repair: repair broken encoding
    before the filters see a text. mono: the text is in one language, and both sides of a row are
    the same text. default: default filters, to which those that need the languages are added once
    these are known.
    """

    steps: tuple[Step, ...]
    context: Context = field(default_factory=Context)
    rank: str | None = None
    repair: bool = False
    mono: bool = False
    default: bool = False

    def stage(self, stage: int) -> list[Step]:
        """Return the steps of one stage, in order."""
        return [step for step in self.steps if step.filter.stage == stage]

    @property
    def columns(self) -> list[int | str]:
        """Further columns of the file that filters read, without repeats."""
        keys = [step.settings[name] for step in self.steps for name in step.filter.columns]
        return list(dict.fromkeys(keys))

    @property
    def ranking(self) -> Step | None:
        """Step whose score ranks the pairs, or None."""
        return next((step for step in self.steps if step.label == self.rank), None)

    def with_bound(self, threshold: float | None) -> FilterConfig:
        """Change the bound on the ranking score, None for no bound.

        Raises SettingsError for a bound outside of the range of scores.
        """
        assert self.ranking is not None
        if threshold is not None and (why := self.ranking.filter.outside(threshold)):
            raise SettingsError(f"a threshold of {why}")
        edge = "minimum" if self.ranking.filter.better == "higher" else "maximum"
        return self._ranking_by(**{edge: threshold}, usual=False, bound_of=(), by_row=False)

    def _ranking_by(self, **changed: Any) -> FilterConfig:
        """Change fields of the ranking step."""
        steps = (
            dataclasses.replace(step, **changed) if step is self.ranking else step
            for step in self.steps
        )
        return dataclasses.replace(self, steps=tuple(steps))

    def decontaminated(self, without: Without) -> FilterConfig:
        """Add filters of excluded text, before others of their stage."""
        steps = (*decontaminating(without, self.steps), *self.steps)
        ordered = sorted(steps, key=lambda step: step.filter.stage)
        return dataclasses.replace(self, steps=tuple(ordered))

    def with_identifier(self, path: str) -> FilterConfig:
        """Replace the default language filters by the filter lid with a fastText model."""
        lid = Step("lid", "lid", {"file": str(Path(path).absolute())}, FILTERS["lid"].minimum, None)
        kept = [
            step for step in self.steps if step.name not in ("language", "same_language", "lid")
        ]
        require_languages("--lid", [lid], self.context)
        config = ordered([*kept, lid], self.context, self.rank, self.repair)
        return dataclasses.replace(self, steps=config.steps)

    def selecting(self, selection: Selection) -> tuple[FilterConfig, Selection]:
        """Append the filters of a selection; return also the remaining limits."""
        steps = []
        if selection.percentile is not None:
            steps.append(Step("percentile", "keep-percentile", {}, *selection.range))
        if selection.per_source is not None:
            steps.append(Step("per_source", "per-source", {}, None, float(selection.per_source)))
        if selection.mixes:
            settings = {
                "of": selection.balance or "corpus",
                "temperature": selection.temperature or 1.0,
            }
            label = "balance" if selection.balance else "temperature"
            steps.append(Step("mixed", label, settings, None, float(selection.top or 0)))
        rest = Selection(
            None if selection.mixes else selection.top, selection.words, selection.precision
        )
        return dataclasses.replace(self, steps=(*self.steps, *steps)), rest

    def with_labels(self, path: str) -> FilterConfig:
        """Fit the quality to the answers in a file.

        Raises ArtifactError if the quality does not rank the pairs.
        """
        step = self.ranking
        if step is None or step.name != RANK:
            raise ArtifactError("labels improve the quality, which does not rank the pairs here")
        labels = str(Path(path).absolute())
        return self._ranking_by(settings={**step.settings, "labels": labels})

    def with_paragraphs(self) -> FilterConfig:
        """Let the quality read rows by sentences. Raises ArtifactError without a quality."""
        if not any(step.name == RANK for step in self.steps):
            raise ArtifactError("--paragraphs is for the quality, which is not among the filters")
        steps = (
            dataclasses.replace(step, settings={**step.settings, "paragraphs": True})
            if step.name == RANK
            else step
            for step in self.steps
        )
        return dataclasses.replace(self, steps=tuple(steps))

    def files(self) -> list[Path]:
        """Model, and files and directories that settings name."""
        foreign = split_name(self.context.encoder)
        model = Path(foreign[1]) if foreign else resolve(self.context.encoder)
        named = (name for step in self.steps for name in step.files)
        return [model, *(self.context.directory / name for name in named)]

    def located(self) -> FilterConfig:
        """Make paths absolute, for workers with other working directories."""
        model = self.context.model
        if model is not None and model != "default":
            kind, place = split_name(model) or ("", model)
            if not kind or Path(place).is_dir():
                model = f"{kind}:{Path(place).absolute()}".removeprefix(":")
        named = any(step.files for step in self.steps)
        directory = self.context.directory.absolute() if named else Path()
        context = dataclasses.replace(self.context, model=model, directory=directory)
        return dataclasses.replace(self, context=context)


def default_config(context: Context, mono: bool = False) -> FilterConfig:
    """Return the default filters, without filters that need the languages if these are unknown.

    ``mono``: filters for text in one language.
    """
    known = all(context.languages)
    chosen = [
        Step(entry.name, entry.name, defaults(entry), entry.minimum, entry.maximum, usual=True)
        for entry in FILTERS.values()
        if entry.default and (known or not entry.languages) and (entry.mono or not mono)
    ]
    return dataclasses.replace(ordered(chosen, context, None, False), mono=mono, default=True)


def for_one_language(config: FilterConfig) -> FilterConfig:
    """Return a configuration for monolingual text, from a configuration read for pairs.

    Raises ArtifactError for a filter that compares two sides.
    """
    for step in config.steps:
        if not step.filter.mono:
            raise ArtifactError(
                f"{step.label} compares two sides, and --mono has one; there are: {', '.join(MONO)}"
            )
    return dataclasses.replace(config, mono=True)


def with_quality_bounds(
    config: FilterConfig, languages: Iterable[str | None], by_row: bool = False
) -> FilterConfig:
    """Set the model's quality bound for the languages of a text, unless the user set a bound.

    A quality of 0.1 drops many right pairs in a language that the model knows badly. The lowest
    bound of all languages applies; the default applies if none is known, for an encoder of another
    library, and for a quality fitted to labels. ``by_row``: the text is in several languages, so
    each row has its own bound.
    """
    codes = [code for code in languages if code]
    steps = (
        dataclasses.replace(bounded, by_row=by_row and bounded is not step)
        for step in config.steps
        for bounded in [_bounded(step, config.context, codes) if step.usual else step]
    )
    return dataclasses.replace(config, steps=tuple(steps))


def _bounded(step: Step, context: Context, codes: Sequence[str]) -> Step:
    model_name = step.settings.get("model")
    model = place(context.directory, model_name) if model_name else context.encoder
    if step.name != RANK or step.settings["labels"] or split_name(model) is not None:
        return step
    known = known_by(model)
    bound = quality_bound(known, codes)
    if bound is None:
        return step
    named = dict.fromkeys(code for code in codes if quality_bound(known, [code]) is not None)
    return dataclasses.replace(step, minimum=bound, bound_of=tuple(named))


def with_languages(config: FilterConfig, source: Identified, target: Identified) -> FilterConfig:
    """Add the default filters that need the languages to a configuration of default filters.

    Languages set by the user apply; others only if the text is clearly in one language. Two sides
    in one language leave the configuration unchanged.
    """
    codes = [
        code or (side.code if side.sure and not side.mixed else None)
        for code, side in zip(config.context.languages, (source, target), strict=True)
    ]
    same_language = not alike(codes[0] or "").isdisjoint(alike(codes[1] or ""))
    if None in codes or same_language != config.mono:
        return config
    context = dataclasses.replace(config.context, source_lang=codes[0], target_lang=codes[1])
    existing = {step.name: step for step in config.steps}
    steps = tuple(
        existing.get(step.name, step) for step in default_config(context, config.mono).steps
    )
    return dataclasses.replace(config, steps=steps, context=context)


def decontaminating(without: Without, others: Sequence[Step]) -> list[Step]:
    """Return the filters of excluded text, with labels different from the others'."""
    steps: list[Step] = []
    for file in without.files:
        file_settings: dict[str, Any] = {"file": str(Path(file).absolute())}
        more = [("without", "", file_settings | {"near": without.near or 0.0})]
        if without.near_vectors is not None:
            settings = file_settings | {"cosine": without.near_vectors, "model": ""}
            more.append(("without_vectors", "vectors of ", settings))
        for name, how, settings in more:
            label = f"without {how}{Path(file).name}"
            if any(step.label == label for step in (*steps, *others)):
                label = f"without {how}{file}"
            steps.append(Step(name, label, settings, None, 0.0))
    return steps


def ordered(
    steps: Iterable[Step], context: Context, rank: str | None, repair: bool
) -> FilterConfig:
    """Order steps by stage, cheap ones first, within a stage in the original order.

    By default quality ranks the pairs, or else the first score by a model.
    """
    ordered = sorted(steps, key=lambda step: step.filter.stage)
    scored = [
        model_step
        for model_step in ordered
        if model_step.filter.stage == MODEL and model_step.only is None
    ]
    models = [model_step for model_step in scored if not model_step.filter.whole]
    if rank is None and models:
        rank = next((step for step in models if step.name == RANK), models[0]).label
    return FilterConfig(tuple(ordered), context, rank, repair)


def defaults(entry: Filter) -> dict[str, Any]:
    return {name: setting.default for name, setting in entry.settings.items()}


def require_languages(where: str, steps: Iterable[Step], context: Context) -> None:
    for step in steps:
        if step.filter.languages and not all(context.languages):
            raise ArtifactError(
                f"{where}: {step.label} needs to know the languages; add source_lang and "
                "target_lang (or --source-lang, --target-lang)"
            )
