"""`score` and `filter`: the commands of these names as one call each, with results in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miner.cleaning import pipeline
from miner.cleaning.bitexts import Bitext, languages_of
from miner.cleaning.config import FilterConfig, default_config, for_one_language, scores_of
from miner.cleaning.config_file import config_of, read_config, scores_config
from miner.cleaning.funnel import Summary, table
from miner.cleaning.settings import EVERYTHING, Selection
from miner.filters.filter_types import Context
from miner.names import Languages
from miner.progress import Reporter, silent
from miner.results import Results
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.tasks.run import Run
from miner.tasks.workers import Workers
from miner.text.durable import scratch_directory
from miner.text.formats import TABLES, USUAL_FORMAT, BitextFormat, check_suffix
from miner.text.in_memory import Given, given_bitexts
from miner.text.language_codes import language_pair
from miner.text.write_bitext import write_bitext

if TYPE_CHECKING:
    from typing_extensions import Self

# A TOML file, or another configuration of `read_plan`; or names and tables of filters.
Filters = str | Path | Sequence[str | Mapping[str, Any]]
# Layout of texts in one language that a program gives.
_MONO = BitextFormat(source_column="source")


@dataclass(frozen=True, eq=False, repr=False)
class BitextRows(Results):
    """Rows of a bitext: dictionaries with ``source``, ``target`` and all other cells.

    ``warnings`` are lines about the languages of the text.
    """

    rows: list[dict[str, Any]]
    warnings: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: Any) -> Self:
        rows = self.rows[keep] if isinstance(keep, slice) else [self.rows[int(i)] for i in keep]
        return replace(self, rows=rows)

    def columns(self) -> dict[str, Any]:
        names = dict.fromkeys(key for row in self.rows for key in row)
        return {name: [row.get(name) for row in self.rows] for name in names}

    def write(self, *paths: str | Path, languages: Languages = (None, None)) -> None:
        """Write the rows in the format of one path, or both sides to two paths.

        ``languages`` are the codes in TMX. Raises ValueError for the suffix of an unknown format,
        and ResourceError.
        """
        for path in paths:
            check_suffix(str(path), TABLES)
        write_bitext(self.rows, [*map(str, paths)], languages)


@dataclass(frozen=True, eq=False, repr=False)
class FilteredRows(BitextRows):
    """Rows that filters keep; ``rejected`` ones have cells ``filter`` and ``value``, too.

    ``summary`` has the counts of each filter; printing the result shows them.
    """

    rejected: BitextRows
    summary: Summary

    def __repr__(self) -> str:
        return f"<{len(self)} of {self.summary.rows} rows kept>"

    def __str__(self) -> str:
        return table(self.summary)


def score(
    source: Given,
    target: Given | None = None,
    *,
    scores: Sequence[str] = ("quality",),
    languages: Languages | None = None,
    model: str | Path = "default",
    without: Without = NOTHING,
    layout: BitextFormat = USUAL_FORMAT,
    work: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
) -> BitextRows:
    """Score the pairs of a bitext: all rows in order, with the ``scores`` as further cells.

    >>> score([("Der Hund schläft.", "The dog is sleeping.")])[0]["quality"]

    A bitext is a file or a pattern of files, an iterable of pairs, or of rows (dictionaries), or
    with ``target`` two aligned files or iterables of texts. ``scores`` are filters that need no
    setting, ``languages`` BCP-47 codes, else identified; ``layout`` says how files are read. Each
    file of ``without`` is a score, the line of its sentence that the pair has, or 0.
    ``work``, ``workers``, ``report`` and ``note`` are as in :func:`miner.mining.mine.mine`.

    Raises ArtifactError for a score that does not exist, CorpusError, ResourceError.
    """
    config = scores_of(scores_config(scores, _context(languages, model)), without)
    means = {"work": work, "workers": workers, "report": report, "note": note}
    opened = _opened("scoring", source, target, layout, ["scored"], means)
    with opened as (run, bitexts, outputs):
        warnings = _warned(config, bitexts, note)
        pipeline.score_text(run, bitexts, config, outputs)
        return BitextRows(_rows(outputs, "scored"), warnings=warnings)


def filter(
    source: Given,
    target: Given | None = None,
    *,
    filters: Filters | None = None,
    threshold: float | None = None,
    selection: Selection = EVERYTHING,
    languages: Languages | None = None,
    model: str | Path = "default",
    without: Without = NOTHING,
    mono: bool = False,
    layout: BitextFormat = USUAL_FORMAT,
    work: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
) -> FilteredRows:
    """Filter a bitext: the rows that are kept, in order, and those rejected with the reason.

    >>> filter(pairs, filters=["length", {"name": "quality", "minimum": 0.3}]).write("clean.tmx")

    Bitext and other arguments are as in :func:`score`. ``filters`` are a TOML file, or names and
    tables as in one; None stands for the default filters. ``threshold`` replaces the bound of the
    score that ranks the pairs, ``selection`` keeps the best of them, and ``without`` leaves out the
    sentences of other files. ``mono``: ``source`` is a file or texts in one language, the source's,
    and rows have no ``target``.

    Raises ArtifactError for filters that do not exist, CorpusError, ResourceError.
    """
    if mono:
        languages = (languages[0], languages[0]) if languages else None
        if not isinstance(source, str | Path):
            source, layout = ({"source": text} for text in source), _MONO
        layout = layout.of_one_text()
    config = _config(filters, _context(languages, model), mono, note)
    if config.ranking is None and (selection.any or threshold is not None):
        raise ValueError("nothing ranks the pairs, so there are no best ones; add quality")
    if threshold is not None:
        config = config.with_bound(threshold)
    means = {"work": work, "workers": workers, "report": report, "note": note}
    opened = _opened("filtering", source, target, layout, ["kept", "rejected"], means)
    with opened as (run, bitexts, outputs):
        warnings = _warned(config, bitexts, note)
        if filters is None:
            config = pipeline.completed(config, bitexts)
        config, rest = config.decontaminated(without).selecting(selection)
        found = pipeline.filter_text(run, bitexts, config, outputs=outputs, selection=rest)
        kept, bad = (_rows(outputs, role) for role in ("kept", "rejected"))
        for row in (*kept, *bad) if mono else ():
            row.pop("target", None)
        return FilteredRows(kept, BitextRows(bad), found.summary, warnings=warnings)


def _warned(
    config: FilterConfig, bitexts: list[Bitext], note: Callable[[str], None]
) -> tuple[str, ...]:
    """Return warnings about the languages of a text, and tell them."""
    found = tuple(pipeline.language_doubts(config, languages_of(bitexts, config.context.languages)))
    for warning in found:
        note(f"warning: {warning}")
    return found


@contextmanager
def _opened(
    name: str,
    source: Given,
    target: Given | None,
    layout: BitextFormat,
    roles: list[str],
    means: dict[str, Any],
) -> Iterator[tuple[Run, list[Bitext], list[dict[str, str]]]]:
    """Open a run over a bitext; yield it, the bitexts, and outputs of rows for each."""
    given = given_bitexts(source, target)
    with (
        scratch_directory() as place,
        pipeline.text_run(name, given, layout, **means) as (run, bitexts),
    ):
        numbers = range(len(bitexts))
        yield run, bitexts, [{r: f"{place}/{r}-{number}.rows" for r in roles} for number in numbers]


def _rows(outputs: list[dict[str, str]], role: str) -> list[dict[str, Any]]:
    texts = (Path(paths[role]).read_text("utf-8") for paths in outputs)
    return [json.loads(line) for text in texts for line in text.split("\n") if line]


def _config(
    filters: Filters | None, context: Context, mono: bool, note: Callable[[str], None]
) -> FilterConfig:
    if filters is None:
        return default_config(context, mono)
    if isinstance(filters, str | Path):
        config = read_config(filters, context, note=note)
    else:
        tables = [{"name": one} if isinstance(one, str) else dict(one) for one in filters]
        config = config_of({"filter": tables}, context, "filters")
    return for_one_language(config) if mono else config


def _context(languages: Languages | None, model: str | Path) -> Context:
    return Context(*language_pair(languages), model=None if model == "default" else str(model))
