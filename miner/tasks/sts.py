"""Semantic textual similarity: do cosines agree with what people say of two sentences?

Pearson's and Spearman's correlation of cosines with judgements, by data set. Means over the sets of
a year, and over all sets of 2012 to 2016, are unweighted (P18, P19). Beside the English sets: the
tracks of 2017, the STS Benchmark in every language that is there, and SICK-R. Where the Benchmark
is there in translation, its English sentences are also compared with the translated partners: not
a set of its own right, but one that needs both languages.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.errors import CorpusError, NoTestSetError
from miner.quality import cosines
from miner.tasks import bootstrap
from miner.tasks.figures import Figure, Outcome, Report, mean_of, measure, silent
from miner.tasks.subject import ENGLISH, Subject
from miner.tasks.text import Judged, judged, tables

PLACE = "sts"
# The data sets of each year's English task. Of 2013 SMT is left out everywhere: its licence costs.
YEARS = {str(year): names for year, names in STS_NAMES.items()}
ALL_YEARS = "2012-2016"
BENCHMARK, SICK = "stsb.{}.test", "sick-r.test"
PEARSON, SPEARMAN = "pearson", "spearman"


def sets(data: Path) -> dict[str, Path]:
    """The files of the evaluation, by name. Raises CorpusError where there are none."""
    found = {
        name: path
        for name, path in tables(data / PLACE).items()
        if not name.endswith((".train", ".dev"))
    }
    if not found:
        raise NoTestSetError(
            f"{data / PLACE}: no sets (such as 2012.MSRpar.tsv or stsb.en.test.tsv)"
        )
    return found


def texts(data: Path) -> Iterator[str]:
    """All sentences of the evaluation."""
    for path in sets(data).values():
        pairs = judged(path)
        yield from chain(pairs.first, pairs.second)


def evaluate(subject: Subject, data: Path, report: Report = silent) -> Outcome:
    """Correlations on every set of ``data``. Raises CorpusError."""
    found = {name: judged(path, least=2) for name, path in sets(data).items()}
    found |= crossed(found)
    figures = {}
    for name, pairs in found.items():
        figures[name] = correlations(subject, name, pairs)
        report(PLACE, len(figures), len(found))
    by_year = {
        year: [figures[f"{year}.{name}"] for name in names if f"{year}.{name}" in figures]
        for year, names in YEARS.items()
    }
    means = [
        mean_of(name, metric)
        for name, sets_ in [*by_year.items(), (ALL_YEARS, [*chain(*by_year.values())])]
        for metric in zip(*sets_, strict=True)
    ]
    single = [one for name, one in figures.items() if not name.startswith(tuple(YEARS))]
    headline = [one for one in (*means, *chain(*single)) if one.metric == PEARSON]
    every = (*means, *chain(*figures.values()))
    return Outcome(PLACE, every, tuple(headline), tuple(_missing(figures)))


def correlations(subject: Subject, name: str, pairs: Judged) -> tuple[Figure, ...]:
    """Pearson's and Spearman's of the cosines of ``pairs``, whose languages ``name`` gives."""
    first, second = languages(name)
    similarity = cosines(subject.encode(pairs.first, first), subject.encode(pairs.second, second))
    statistics = {
        PEARSON: bootstrap.pearson(similarity, pairs.score),
        SPEARMAN: bootstrap.spearman(similarity, pairs.score),
    }
    return measure(name, statistics, len(pairs))


def languages(name: str) -> tuple[str, str]:
    """The languages of both sentences of a set, by its name; English where it names none."""
    for part in name.split("."):
        first, dash, second = part.partition("-")
        if len(first) == 2 and first.isalpha() and (not dash or len(second) == 2):
            return first, second or first
    return ENGLISH, ENGLISH


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
            yield f"{year}: without {', '.join(gone)}; its mean is that of the others"
    gone = [track for track in STS_TRACKS if f"2017.{track}" not in figures]
    if gone:
        yield f"2017: without {', '.join(gone)}"
    for name in (BENCHMARK.format("en"), SICK):
        if name not in figures:
            yield f"{name}: not there"
