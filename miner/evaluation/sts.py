"""Semantic textual similarity: do cosines agree with what people say of two sentences?

Pearson's and Spearman's correlation of cosines with judgements, by data set. Means over the sets of
a year, and over all sets of 2012 to 2016, are unweighted (P18, P19). Beside the English sets: the
tracks of 2017, the STS Benchmark in every language that is there, and SICK-R. Where the Benchmark
is there in translation, its English sentences are also compared with the translated partners: not
a set of its own right, but one that needs both languages.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import bootstrap
from miner.evaluation.labelled_text import Judged, judged, tables
from miner.evaluation.results import (
    Figure,
    Outcome,
    mean_of,
    measure,
    without_vector,
)
from miner.evaluation.subject import ENGLISH, Subject
from miner.progress import Reporter, silent
from miner.scoring.quality import cosines

PLACE = "sts"
# The data sets of each year's English task. Of 2013 SMT is left out everywhere: its licence costs.
YEARS = {str(year): names for year, names in STS_NAMES.items()}
ALL_YEARS = "2012-2016"
BENCHMARK, SICK = "stsb.{}.test", "sick-r.test"
PEARSON, SPEARMAN = "pearson", "spearman"
NAMED = re.compile(r"(?:stsb|opusparcus|2017\.track\w+)\.([a-z]{2,3})(?:-([a-z]{2,3}))?(?:\.|$)")


def sets(data: Path) -> dict[str, Path]:
    """The files of the evaluation, by name. Raises CorpusError where there are none."""
    found = {
        name: path
        for name, path in tables(data / PLACE).items()
        if not name.endswith((".train", ".dev"))
    }
    if not found:
        raise NoTestSetError(data / PLACE, "2012.MSRpar.tsv or stsb.en.test.tsv")
    return found


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All sentences of the evaluation, with the language of each lot."""
    for name, path in sets(data).items():
        pairs = judged(path)
        yield from zip(languages(name), (pairs.first, pairs.second), strict=True)


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Correlations on every set of ``data``. Raises CorpusError."""
    found = {name: judged(path, least=2) for name, path in sets(data).items()}
    found |= crossed(found)
    figures: dict[str, tuple[Figure, ...]] = {}
    missing: list[str] = []
    for name, pairs in found.items():
        figures[name], unknown = correlations(subject, name, pairs)
        missing += unknown
        report(PLACE, len(figures), len(found))
    means: list[Figure] = []
    every = [f"{year}.{name}" for year, names in YEARS.items() for name in names]
    for span in (*YEARS, ALL_YEARS):
        wanted = [name for name in every if span in (ALL_YEARS, name.split(".")[0])]
        there = [figures[name] for name in wanted if name in figures]
        name = mean_name(span, len(there), len(wanted))
        means += [mean_of(name, metric) for metric in zip(*there, strict=True)]
    single = [one for name, one in figures.items() if not name.startswith(tuple(YEARS))]
    headline = [one for one in (*means, *chain(*single)) if one.metric == PEARSON]
    shown = (*means, *chain(*figures.values()))
    return Outcome(PLACE, shown, tuple(headline), (*_missing(figures), *missing))


def mean_name(span: str, there: int, every: int) -> str:
    """What a mean over the sets of a year, or of all years, is called: not so if some lack."""
    return span if there == every else f"{span}, {there} of {every} sets"


def mean_in(figures: Iterable[Figure], span: str, metric: str = PEARSON) -> Figure | None:
    """The mean of a year or of `ALL_YEARS` among figures, be it of all sets or of some."""
    names = (span, f"{span}, ")
    for one in figures:
        if one.metric == metric and (one.name == names[0] or one.name.startswith(names[1])):
            return one
    return None


def correlations(
    subject: Subject, name: str, pairs: Judged
) -> tuple[tuple[Figure, ...], list[str]]:
    """Pearson's and Spearman's of the cosines of ``pairs``, whose languages ``name`` gives.

    And a line on sentences without a vector, whose cosines are 0, if there are any.
    """
    first, second = languages(name)
    vectors = subject.encode(pairs.first, first), subject.encode(pairs.second, second)
    similarity = cosines(*vectors)
    statistics = {
        PEARSON: bootstrap.pearson(similarity, pairs.score),
        SPEARMAN: bootstrap.spearman(similarity, pairs.score),
    }
    return measure(name, statistics, len(pairs)), without_vector(name, *vectors)


def languages(name: str) -> tuple[str, str]:
    """The languages of both sentences of a set, by its name; English where it names none.

    Names that do are those of ``miner data get``: ``stsb.de.test``, ``2017.track2.ar-en``,
    ``opusparcus.fi.test``.
    """
    found = NAMED.match(name)
    return (found[1], found[2] or found[1]) if found else (ENGLISH, ENGLISH)


def crossed(found: Mapping[str, Judged]) -> dict[str, Judged]:
    """English first sentences of the Benchmark with translated second ones, of each language.

    Raises CorpusError where a translation does not have the same pairs.
    """
    english = found.get(BENCHMARK.format("en"))
    more: dict[str, Judged] = {}
    for name, pairs in found.items():
        language = languages(name)[0]
        if english is None or language == ENGLISH or name != BENCHMARK.format(language):
            continue
        if not np.array_equal(pairs.score, english.score):
            raise CorpusError(f"{name}: has not the pairs of {BENCHMARK.format('en')}, in order")
        name = BENCHMARK.format(f"en-{language}")
        if name not in found:
            more[name] = Judged(english.score, english.first, pairs.second)
    return more


def _missing(figures: Mapping[str, Any]) -> Iterator[str]:
    """What the evaluation should have, and the data has not."""
    for year, names in YEARS.items():
        gone = [name for name in names if f"{year}.{name}" not in figures]
        if gone == [*names]:
            yield f"{year}: not there"
        elif gone:
            yield f"{year}: {', '.join(gone)}; the mean is that of the others, and named so"
    gone = [track for track in STS_TRACKS if f"2017.{track}" not in figures]
    if gone:
        yield f"2017: {', '.join(gone)}"
    for name in (BENCHMARK.format("en"), SICK):
        if name not in figures:
            yield f"{name}: not there"
