"""miner.papers.language_overlap and ``miner evaluate languages``."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from miner.cli.evaluate import languages
from miner.encoder.encoder import Encoder
from miner.encoder.tokenizer import MarkedTokenizer
from miner.errors import CorpusError
from miner.papers.language_overlap import (
    OVERLAP,
    Overlap,
    compare_languages,
    correlate,
    correlate_apart,
    overlap,
    read_distances,
    read_scores,
    table,
)
from miner.ragged import offsets_of

SCORES = {"de": 0.7, "fr": 0.6, "es": 0.65, "ru": 0.5}
TABLE = Path(__file__).parents[2] / "benchmarks" / "models" / "distances.tsv"


class Letters:
    """A tokenizer whose pieces are the letters a to z."""

    size = 26
    meaningful = np.ones(26, dtype=bool)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        lists = [[ord(letter) - ord("a") for letter in text] for text in sentences]
        ids = np.array([one for each in lists for one in each], dtype=np.int32)
        return ids, offsets_of(np.array([len(each) for each in lists], dtype=np.int64))

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        return list(sentence), self([sentence])[0]


def overlap_reference(tokenizer, source: Sequence[str], target: Sequence[str]) -> float:
    """Compute the share of common pieces as the paper defines it, by sets."""
    one, other = (set(tokenizer(side)[0].tolist()) for side in (source, target))
    return len(one & other) / len(one | other) if one | other else 0.0


texts = st.lists(st.text("abcdefghij", max_size=6), max_size=6)


@given(texts, texts)
def test_overlap_agrees_with_sets(source: list[str], target: list[str]) -> None:
    found = overlap(Letters(), source, target)
    assert found.share == pytest.approx(overlap_reference(Letters(), source, target))
    back = overlap(Letters(), target, source)
    assert (back.source, back.target, back.both) == (found.target, found.source, found.both)
    assert found.both <= min(found.source, found.target) and 0 <= found.share <= 1


def test_overlap() -> None:
    found = overlap(Letters(), ["abba", "c"], ["cd"])
    assert found == Overlap(source=3, target=2, both=1) and found.share == 0.25
    assert overlap(Letters(), [], [""]).share == 0
    assert overlap(Letters(), ["ab"], ["ba"]).share == 1
    # Pieces of one spelling count as one, though the model has an embedding for each side.
    assert overlap(MarkedTokenizer(Letters(), 1), ["abba", "c"], ["cd"]) == found


def test_correlate() -> None:
    columns = {
        "falls": {"de": 1.0, "es": 2.0, "fr": 3.0, "ru": 4.0, "it": 0.0},
        "of three": {"de": 3.0, "es": 2.0, "ru": 1.0},
        "of two": {"de": 3.0, "es": 2.0},
        "alike": dict.fromkeys(SCORES, 1.0),
        "none": {},
    }
    found = correlate(SCORES, columns)
    assert list(found) == list(columns)
    assert found["falls"].value == pytest.approx(-1) and found["falls"].languages == 4
    assert found["of three"].value == pytest.approx(1) and found["of three"].languages == 3
    assert [found[name].value for name in ("of two", "alike", "none")] == [None] * 3
    assert [found[name].languages for name in ("of two", "alike", "none")] == [2, 4, 0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12))
def test_correlate_agrees_with_scipy(rows: list[tuple[int, int]]) -> None:
    scores, column = ({str(n): float(row[side]) for n, row in enumerate(rows)} for side in (0, 1))
    value = correlate(scores, {"x": column})["x"].value
    if len(set(scores.values())) == 1 or len(set(column.values())) == 1:
        assert value is None
    else:
        assert value == pytest.approx(stats.spearmanr(*zip(*rows, strict=True))[0])


def test_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text("# of 2012 to 2016\nde\t0.7\n\nfr\t-1e-1\n", encoding="utf-8")
    assert read_scores(path) == {"de": 0.7, "fr": -0.1}
    path.write_text("# from somewhere\nlanguage\tnear\tfar\nde\t1\t2\nfr\t\t3\n", encoding="utf-8")
    assert read_distances(path) == {"near": {"de": 1.0}, "far": {"de": 2.0, "fr": 3.0}}
    assert list(read_distances(path)) == ["near", "far"]


@pytest.mark.parametrize(
    "text, says",
    [
        ("de\t0.7\nfr\n", "line 2: expected a language and its score"),
        ("de\thigh\n", "line 1: 'high' is not a number"),
        ("de\tnan\n", "line 1: 'nan' is not a number"),
        ("de\t1\n# note\nde\t2\n", "line 3: de is listed twice"),
        ("\t1\n", "line 1: no language"),
    ],
)
def test_malformed_scores(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=f"scores.tsv, {says}"):
        read_scores(path)


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "line 1: expected 'language'"),
        ("language\n", "line 1: expected 'language'"),
        ("language\ta\ta\n", "line 1: expected 'language'"),
        ("language\ta\nde\t1\t2\n", "line 2: has 3 cells, the first line 2"),
        ("language\ta\tb\nde\t1\t\nde\t\t2\n", "line 3: de is listed twice"),
        ("language\ta\nde\tinf\n", "line 2: 'inf' is not a number"),
    ],
)
def test_malformed_distances(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "distances.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=f"distances.tsv, {says}"):
        read_distances(path)


def test_distances_in_the_repository() -> None:
    columns = read_distances(TABLE)
    assert list(columns) == ["syntactic", "phonological", "inventory", "genetic", "geographic"]
    assert all(len(column) == 17 for column in columns.values())
    assert all(0 <= value <= 1 for column in columns.values() for value in column.values())
    genetic = columns["genetic"]
    assert min(genetic, key=lambda language: genetic[language]) == "de"
    assert genetic["fr"] == genetic["es"] < genetic["fi"] == genetic["zh"] == 1


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.tsv"
    path.write_text("".join(f"{name}\t{value}\n" for name, value in SCORES.items()))
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(languages, [str(argument) for argument in arguments])


def test_command(scores: Path, tmp_path: Path) -> None:
    distances = tmp_path / "distances.tsv"
    distances.write_text("language\tfar\nde\t1\nes\t2\nfr\t3\nru\t4\nit\t5\n", encoding="utf-8")
    done = call(scores, "--distances", distances, "--json", tmp_path / "found.json")
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["language", "score", "far"],
        ["de", "0.700", "1.000"],
        ["es", "0.650", "2.000"],
        ["fr", "0.600", "3.000"],
        ["ru", "0.500", "4.000"],
        [],
        ["Spearman", "-1.000"],
        ["languages", "4"],
    ]
    record = json.loads((tmp_path / "found.json").read_text())
    assert record["scores"] == SCORES and record["pieces"] == {}
    assert record["spearman"]["far"] == {"value": pytest.approx(-1), "languages": 4}


def test_command_counts_pieces(scores, tmp_path, tiny_model, german, english):
    text = tmp_path / "text.tsv"
    lines = [f"{one}\t{other}\n" for one, other in zip(german, english, strict=True)]
    text.write_text("".join(lines), encoding="utf-8")
    file = tmp_path / "found.json"
    done = call(scores, "--model", f"de={tiny_model}", "--text", f"de={text}", "--json", file)
    assert done.exit_code == 0, done.output
    record = json.loads(file.read_text())
    expected = overlap_reference(Encoder.load(tiny_model).tokenizer, german, english)
    assert 0 < expected < 1 and record["columns"]["overlap"]["de"] == pytest.approx(expected)
    # One language has pieces, the others have none; so there is no correlation.
    assert record["spearman"]["overlap"] == {"value": None, "languages": 1}
    table = [line.split() for line in done.stdout.splitlines()]
    assert table[1] == ["de", "0.700", f"{expected:.3f}"] and table[2] == ["es", "0.650", "-"]
    assert table[-2:] == [["Spearman", "-"], ["languages", "1"]]


@pytest.mark.parametrize(
    "options, says",
    [
        (("--model", "de"), "'de' is not LANG=PLACE"),
        (("--model", "de=a"), "--model and --text for the same languages"),
        (("--model", "de=a", "--model", "de=b", "--text", "de=c"), "twice"),
    ],
)
def test_command_used_wrongly(scores: Path, options: tuple[str, ...], says: str) -> None:
    done = call(scores, *options)
    assert done.exit_code == 2 and says in done.output


def test_command_on_missing_input(scores: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("# nothing\n")
    for arguments, says in (
        ((empty,), "holds no score"),
        ((scores, "--model", "it=a", "--text", "it=b"), "has no score of it"),
        ((scores, "--distances", tmp_path / "gone.tsv"), "gone.tsv"),
    ):
        done = call(*arguments)
        assert isinstance(done.exception, CorpusError) and says in str(done.exception)


def test_languages_of_low_and_high_overlap_apart() -> None:
    scores = {name: float(n) for n, name in enumerate("abcdefg")}
    columns = {
        OVERLAP: dict(zip("abcdef", (0.1, 0.3, 0.2, 0.4, 0.5, 0.6), strict=True)),
        "rises": scores,
    }
    low, high = correlate_apart(scores, columns, 0.3).items()
    assert (low[0], high[0]) == ("overlap <= 0.3", "overlap > 0.3")
    assert low[1][OVERLAP].value == pytest.approx(0.5) and high[1][OVERLAP].value == 1
    assert low[1]["rises"].languages == high[1]["rises"].languages == 3  # g has no overlap
    with pytest.raises(CorpusError, match="no column 'overlap' to split"):
        correlate_apart(scores, {"rises": scores}, 0.3)


def test_the_table_shows_both_groups(tmp_path: Path) -> None:
    scores, more = tmp_path / "s.tsv", tmp_path / "d.tsv"
    scores.write_text("".join(f"{name}\t{n}\n" for n, name in enumerate("abcdef")))
    rows = "".join(f"{name}\t0.{n}\n" for n, name in enumerate("abcdef"))
    more.write_text(f"language\toverlap\n{rows}")
    lines = table(compare_languages(str(scores), str(more), {}, {}, split=0.2))
    assert [line.split()[0] for line in lines[-6:]] == [
        "Spearman", "languages", "overlap", "languages", "overlap", "languages",
    ]  # fmt: skip
    assert lines[-4].split() == ["overlap", "<=", "0.2", "1.000"]
