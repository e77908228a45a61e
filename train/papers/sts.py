"""Semantic textual similarity: correlation of cosines with human judgements.

Pearson's and Spearman's correlation, by data set. Unweighted means: over the sets of a year, over
the 25 sets of 2012 to 2016 (P18, P19), and over P17's 22 sets, which are those years up to 2015,
Twitter and SICK. The name of a mean over fewer sets says so. Besides the English sets: the tracks
of 2017, the STS Benchmark in every available language, and SICK-R. The Benchmark's English first
sentences are also compared with translated second sentences.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.labelled_text import LabelledPairs, read_labelled, tsv_files
from miner.evaluation.results import Metric, TaskResult, mean_of, measure, without_vector
from miner.progress import Reporter, counted, silent
from miner.scoring.quality import cosines
from miner.text.language_codes import ENGLISH

TASK = "sts"
# Data sets of each year's English task. The archive of 2013 lacks SMT, which needs a paid licence;
# it is used if the user has it.
YEARS = {str(year): names for year, names in STS_NAMES.items()}
YEARS["2013"] += ("SMT",)
ALL_YEARS, P17 = "2012-2016", "2012-2015, Twitter and SICK"
BENCHMARK, SICK, TWITTER = "stsb.{}.test", "sick-r.test", "pit-2015.test"
# Pairs of the Benchmark's test set, and number of captions, which come first.
BENCHMARK_PAIRS, CAPTIONS = 1379, 625
OF_YEAR = {year: [f"{year}.{name}" for name in names] for year, names in YEARS.items()}
# Sets of each mean, by name.
MEANS = {
    **OF_YEAR,
    ALL_YEARS: [*chain(*OF_YEAR.values())],
    P17: [*chain(*(OF_YEAR[year] for year in YEARS if year != "2016")), TWITTER, SICK],
}
PEARSON, SPEARMAN = "pearson", "spearman"
LANGUAGES_IN_NAME = re.compile(
    r"(?:stsb|opusparcus|2017\.track\w+)\.([a-z]{2,3})(?:-([a-z]{2,3}))?(?:\.|$)"
)


def sets(data: Path) -> dict[str, Path]:
    """Return the files of the evaluation by name. Raises CorpusError if there are none."""
    files = {
        name: path
        for name, path in tsv_files(data / TASK).items()
        if not name.endswith((".train", ".dev"))
    }
    if not files:
        raise NoTestSetError(data / TASK, "2012.MSRpar.tsv or stsb.en.test.tsv")
    return files


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield all sentences of the evaluation in lists, with the language of each list."""
    for name, path in sets(data).items():
        pairs = read_labelled(path)
        yield from zip(languages(name), (pairs.first, pairs.second), strict=True)


def evaluate(
    model: EvaluatedModel,
    data: Path,
    report: Reporter = silent,
    only: Collection[str] | None = None,
) -> TaskResult:
    """Measure correlations on the sets of ``data``, all or ``only`` some. Raises CorpusError."""
    every = {name: read_labelled(path, least=2) for name, path in sets(data).items()}
    every |= cross_language(every)
    every |= by_genre(every)
    if only is not None:
        every = {name: pairs for name, pairs in every.items() if name in only}
    by_set: dict[str, tuple[Metric, ...]] = {}
    missing: list[str] = []
    for name, pairs in counted(TASK, every.items(), report):
        by_set[name], unknown = correlations(model, name, pairs)
        missing += unknown
    means: list[Metric] = []
    for span, wanted in MEANS.items():
        there = [by_set[name] for name in wanted if name in by_set]
        title = span
        if len(there) < len(wanted):
            title += f", {len(there)} of {len(wanted)} sets"
        means += [mean_of(title, same) for same in zip(*there, strict=True)]
    single = [metrics for name, metrics in by_set.items() if not name.startswith(tuple(YEARS))]
    headline = [metric for metric in (*means, *chain(*single)) if metric.name == PEARSON]
    shown = (*means, *chain(*by_set.values()))
    return TaskResult(TASK, shown, tuple(headline), (*_missing(by_set), *missing))


def correlations(
    model: EvaluatedModel, name: str, pairs: LabelledPairs
) -> tuple[tuple[Metric, ...], list[str]]:
    """Correlate the cosines of ``pairs`` with their scores, on the set ``name``.

    The second value has a line about sentences without a vector, whose cosines are 0, if there are
    any.
    """
    first, second = languages(name)
    vectors = model.encode(pairs.first, first), model.encode(pairs.second, second)
    similarity = cosines(*vectors)
    statistics = {
        PEARSON: metrics.pearson(similarity, pairs.score),
        SPEARMAN: metrics.spearman(similarity, pairs.score),
    }
    return measure(name, statistics, len(pairs)), without_vector(name, *vectors)


def languages(name: str) -> tuple[str, str]:
    """Parse the languages of both sentences from a set's name; English where it names none.

    Names with languages, as ``miner data get`` writes them: ``stsb.de.test``,
    ``2017.track2.ar-en``, ``opusparcus.fi.test``.
    """
    match = LANGUAGES_IN_NAME.match(name)
    return (match[1], match[2] or match[1]) if match else (ENGLISH, ENGLISH)


def cross_language(pairs_by_set: Mapping[str, LabelledPairs]) -> dict[str, LabelledPairs]:
    """Pair English first sentences of the Benchmark with translated second sentences.

    Raises CorpusError if a translation has other pairs.
    """
    english = pairs_by_set.get(BENCHMARK.format("en"))
    more: dict[str, LabelledPairs] = {}
    for name, pairs in pairs_by_set.items():
        language = languages(name)[0]
        if english is None or language == ENGLISH or name != BENCHMARK.format(language):
            continue
        if not np.array_equal(pairs.score, english.score):
            raise CorpusError(
                f"{name}: does not have the pairs of {BENCHMARK.format('en')} in their order"
            )
        crossed = BENCHMARK.format(f"en-{language}")
        if crossed not in pairs_by_set:
            more[crossed] = LabelledPairs(english.score, english.first, pairs.second)
    return more


def by_genre(pairs_by_set: Mapping[str, LabelledPairs]) -> dict[str, LabelledPairs]:
    """Split the English Benchmark into captions and the rest (P18, arXiv, Table 12).

    The official file has captions first. A file of another length is not split.
    """
    name = BENCHMARK.format("en")
    if name not in pairs_by_set or len(pairs_by_set[name]) != BENCHMARK_PAIRS:
        return {}
    genres = {"captions": slice(CAPTIONS), "news and forums": slice(CAPTIONS, None)}
    pairs = pairs_by_set[name]
    return {
        f"{name}, {genre}": LabelledPairs(pairs.score[rows], pairs.first[rows], pairs.second[rows])
        for genre, rows in genres.items()
    }


def _missing(measured: Mapping[str, Any]) -> Iterator[str]:
    """Name the official sets that the data does not have, a line each."""
    for year, names in YEARS.items():
        gone = [name for name in names if f"{year}.{name}" not in measured]
        if gone == [*names]:
            yield f"{year}: not there"
        elif gone:
            yield f"{year}: {', '.join(gone)}; the mean covers the others, and its name says so"
    gone = [track for track in STS_TRACKS if f"2017.{track}" not in measured]
    if gone:
        yield f"2017: {', '.join(gone)}"
    for name in (BENCHMARK.format("en"), SICK, TWITTER):
        if name not in measured:
            yield f"{name}: not there"
