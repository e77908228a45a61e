"""miner_train.papers.sts, and the files of labelled pairs that it reads."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.evaluated_models import Recording, made_up, of_all
from support.files import write

from miner.errors import CorpusError
from miner.evaluation.labelled_text import LabelledPairs, read_labelled, tsv_files
from miner.evaluation.results import Metric
from miner_train.papers import sts


def pairs(name: str, count: int = 8) -> list[tuple[float, str, str]]:
    return [(row % 6, f"{name} first {row}", f"{name} second {row}") for row in range(count)]


def lay_out(data: Path, *names: str) -> None:
    for name in names:
        write(data / "sts" / f"{name}.tsv", pairs(name))


def by_set(found: tuple[Metric, ...], name: str) -> dict[str, float]:
    """Return the values of one metric by test set."""
    return {metric.dataset: metric.value for metric in found if metric.name == name}


@pytest.mark.parametrize("score", ["high", "nan", "inf", ""])
def test_a_score_that_is_no_number(tmp_path: Path, score: str) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(f"1.0\ta\tb\n{score}\ta\tb\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=f"sts.tsv, line 2: column 1 has '{score}', not a number"):
        read_labelled(path)
    path.write_text(f"a\tb\t{score}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=f"sts.tsv, line 1: column 3 has '{score}', not a number"):
        read_labelled(path, column=2)


@pytest.mark.parametrize("line", ["1.0\ta", "1.0\ta\tb\tc"])
def test_a_line_that_is_no_read_labelled_pair(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(f"1.0\ta\tb\n\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"sts.tsv, line 3: expected a score and two sentences"):
        read_labelled(path)
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"sts.tsv, line 1: expected two sentences and a score"):
        read_labelled(path, column=2)


def test_a_set_needs_two_pairs(tmp_path: Path) -> None:
    write(tmp_path / "sts" / "2012.OnWN.tsv", pairs("x", 1))
    with pytest.raises(CorpusError, match=r"2012.OnWN.tsv: 1 pairs; 2 or more are needed"):
        sts.evaluate(Recording(), tmp_path)


def test_some_sets_alone(tmp_path: Path) -> None:
    lay_out(tmp_path, "2012.OnWN", "2013.headlines", "stsb.en.test", "stsb.de.test")
    every = by_set(sts.evaluate(Recording(), tmp_path).metrics, "pearson")
    only = ("2012.OnWN", "stsb.en.test", "2014.images")
    found = by_set(sts.evaluate(Recording(), tmp_path, only=only).metrics, "pearson")
    assert {"stsb.en-de.test", "2013.headlines"} <= {*every} - {*found}
    assert found["2012-2016, 1 of 25 sets"] == found["2012.OnWN"] == every["2012.OnWN"]
    assert found["stsb.en.test"] == every["stsb.en.test"]


def test_means_are_over_the_sets_that_are_there_and_others_are_named(tmp_path: Path) -> None:
    there = ("2012.MSRpar", "2012.OnWN", "2013.headlines", "2017.track5.en-en", "sick-r.test")
    lay_out(tmp_path, *there, "stsb.en.test")
    result = sts.evaluate(Recording(), tmp_path)
    for metric in ("pearson", "spearman"):
        value = by_set(result.metrics, metric)
        year = value["2012.MSRpar"], value["2012.OnWN"]
        assert value["2012, 2 of 5 sets"] == pytest.approx(np.mean(year))
        assert value["2013, 1 of 4 sets"] == pytest.approx(value["2013.headlines"])
        every = [*year, value["2013.headlines"]]
        assert value["2012-2016, 3 of 25 sets"] == pytest.approx(np.mean(every))
        every.append(value["sick-r.test"])
        assert value["2012-2015, Twitter and SICK, 4 of 22 sets"] == pytest.approx(np.mean(every))
    assert not {"2014", "2015", "2016", "2017"} & set(value)
    assert [(one.dataset, one.name) for one in result.headline] == [
        (name, "pearson")
        for name in (
            *("2012, 2 of 5 sets", "2013, 1 of 4 sets", "2012-2016, 3 of 25 sets"),
            "2012-2015, Twitter and SICK, 4 of 22 sets",
            *("2017.track5.en-en", "sick-r.test", "stsb.en.test"),
        )
    ]
    assert result.missing == (
        "2012: MSRvid, SMTeuroparl, SMTnews; the mean covers the others, and its name says so",
        "2013: FNWN, OnWN, SMT; the mean covers the others, and its name says so",
        "2014: not there",
        "2015: not there",
        "2016: not there",
        "2017: track1.ar-ar, track2.ar-en, track3.es-es, track4a.es-en, track4b.es-en, "
        "track6.tr-en",
        "pit-2015.test: not there",
    )


def test_captions_of_the_benchmark_are_measured_apart() -> None:
    """Only in a file of the official length."""
    numbers = [str(n) for n in range(1379)]
    whole = LabelledPairs(np.arange(1379.0), numbers, numbers[::-1])
    found = sts.by_genre({"stsb.en.test": whole, "stsb.de.test": whole})
    captions = found["stsb.en.test, captions"]
    rest = found["stsb.en.test, news and forums"]
    assert len(found) == 2 and (captions.score[-1], rest.score[0]) == (624, 625)
    assert (rest.first[0], rest.second[-1], len(captions) + len(rest)) == ("625", "0", 1379)
    short = LabelledPairs(whole.score[1:], numbers[1:], numbers[1:])
    assert not sts.by_genre({"stsb.en.test": short})


def test_training_sets_are_skipped_and_unknown_sets_are_evaluated(tmp_path: Path) -> None:
    lay_out(tmp_path, "stsb.en.train", "stsb.en.dev", "sick-r.train", "2012.own", "own")
    (tmp_path / "sts" / "README.md").write_text("no set")
    model = Recording()
    result = sts.evaluate(model, tmp_path)
    assert set(by_set(result.metrics, "pearson")) == {"2012.own", "own"}
    assert "own" in {one.dataset for one in result.headline}
    texts = of_all(sts.texts(tmp_path))
    assert model.asked == {"en": texts} and len(texts) == 32
    assert "stsb.en.test: not there" in result.missing
    assert "2012: not there" in result.missing  # no set of its own


@pytest.mark.parametrize(
    "name, expected",
    [
        ("2017.track4a.es-en", ("es", "en")),
        ("2017.track1.ar-ar", ("ar", "ar")),
        ("stsb.de.test", ("de", "de")),
        ("stsb.en-de.test", ("en", "de")),
        ("sick-r.test", ("en", "en")),
        ("2014.deft-news", ("en", "en")),
        ("msrpc", ("en", "en")),
        ("opusparcus.fi", ("fi", "fi")),
        ("stsb.cmn.test", ("cmn", "cmn")),
        ("my.own.set", ("en", "en")),
    ],
)
def test_languages(name: str, expected: tuple[str, str]) -> None:
    assert sts.languages(name) == expected


def test_english_is_also_compared_with_translations(tmp_path: Path) -> None:
    lay_out(tmp_path, "stsb.en.test", "stsb.de.test", "stsb.fr.test")
    model = Recording()
    result = sts.evaluate(model, tmp_path)
    value = by_set(result.metrics, "pearson")
    assert set(value) == {f"stsb.{one}.test" for one in ("en", "de", "fr", "en-de", "en-fr")}
    first = made_up([f"stsb.en.test first {row}" for row in range(8)])
    second = made_up([f"stsb.de.test second {row}" for row in range(8)])
    cosine = (first * second).sum(axis=1)
    expected = np.corrcoef(cosine, np.arange(8) % 6)[0, 1]
    assert value["stsb.en-de.test"] == pytest.approx(expected, abs=1e-6)
    assert set().union(*model.asked.values()) == of_all(sts.texts(tmp_path))


@pytest.mark.parametrize("count, score", [(8, 4.5), (9, None)])
def test_translations_have_the_same_pairs(tmp_path: Path, count: int, score: float | None) -> None:
    lay_out(tmp_path, "stsb.en.test")
    rows = pairs("stsb.de.test", count)
    if score is not None:
        rows[3] = (score, *rows[3][1:])
    write(tmp_path / "sts" / "stsb.de.test.tsv", rows)
    with pytest.raises(CorpusError, match=r"stsb.de.test: does not have the pairs of stsb.en.test"):
        sts.evaluate(Recording(), tmp_path)


def test_sets_may_be_compressed_but_not_doubled(tmp_path: Path) -> None:
    for suffix in ("", ".gz", ".bz2", ".xz", ".zst"):
        write(tmp_path / "sts" / f"a{suffix}.x.tsv{suffix}", pairs("x"))
    found = tsv_files(tmp_path / "sts")
    assert len(found) == 5 and list(found) == sorted(found)
    assert all(len(read_labelled(path)) == 8 for path in found.values())
    write(tmp_path / "sts" / "a.x.tsv.xz", pairs("x"))
    with pytest.raises(CorpusError, match=r"sts: has a.x.tsv and a.x.tsv.xz; remove one"):
        tsv_files(tmp_path / "sts")


def test_no_sets(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=re.escape(f"{tmp_path / 'sts'}: no sets (such as 2012.")):
        sts.evaluate(Recording(), tmp_path)
