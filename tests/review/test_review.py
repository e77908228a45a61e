"""Reviews: the sampled pairs, the stored answers, the summary."""

from pathlib import Path

import numpy as np
import pytest
from support.files import write

from miner.errors import CorpusError, ResourceError
from miner.review.population import Origin, Population, origin_of
from miner.review.review import Review
from miner.text.formats import BitextFormat
from miner.text.write_bitext import write_bitext


def scored(path: Path, count: int = 200, seed: int = 1) -> Path:
    """Write mined pairs; targets of right pairs end with "+"."""
    generator = np.random.default_rng(seed)
    score = np.sort(generator.beta(0.4, 0.4, count))[::-1]
    right = generator.random(count) < score
    rows = zip(score.tolist(), right.tolist(), strict=True)
    return write(path, [(one, f"s{n}", f"t{n}{'+' * good}") for n, (one, good) in enumerate(rows)])


@pytest.fixture
def kept(tmp_path: Path) -> Origin:
    return origin_of(scored(tmp_path / "pairs.tsv"))


def answer_all(review: Review, count: int = 10**6) -> list[str]:
    """Answer all questions truthfully; return their sources."""
    asked = []
    while len(asked) < count and (question := review.next()):
        review.answer(question, "yes" if question.target.endswith("+") else "no")
        asked.append(question.source)
    return asked


def test_estimates_of_a_review_are_those_of_the_pairs(kept: Origin) -> None:
    rows = [line.split("\t") for line in Path(kept.source).read_text().splitlines()]
    with Review.open(kept, judge="anna") as review:
        answer_all(review, 20)
        assert review.summary().missing == 10 and not review.summary().lines
        answer_all(review, 60)
        found = review.summary()
        for line in found.lines:
            above = [
                target.endswith("+") for score, _, target in rows if float(score) >= line.threshold
            ]
            assert line.kept == len(above)
            assert abs(line.precision.value - sum(above) / len(above)) < 0.2
        assert found.lines[-1].kept == 200 and found.lines[-1].recall.value == 1
        answer_all(review)
        last = review.summary().lines[-1].precision
        assert last.value == pytest.approx(sum(row[2].endswith("+") for row in rows) / 200)


def test_undo_takes_the_last_answer_back_and_asks_again(kept: Origin) -> None:
    with Review.open(kept) as review:
        assert review.undo() is None
        (source,) = answer_all(review, 1)
        undone = review.undo()
        assert undone is not None and undone.source == source
        assert review.summary().answered == 0
        question = review.next()
        assert question is not None and question.source == source
        review.answer(question, "skip")
        assert (review.summary().answered, review.summary().skipped) == (0, 1)
        assert answer_all(review, 1) != [source]


def test_order_of_asking_does_not_change_with_rows_that_are_added(tmp_path: Path) -> None:
    path = scored(tmp_path / "pairs.tsv")
    text = path.read_text(encoding="utf-8")
    with Review.open(origin_of(path)) as review:
        first = [one.source for one in review.questions(50)]
    path.write_text(text + "0.5\tnew\tnew\n" + text.splitlines()[3] + "\n", encoding="utf-8")
    with Review.open(origin_of(path)) as review:
        assert review.pairs.repeated == 1
        second = [one.source for one in review.questions(50)]
    assert len({*first} & {*second}) >= 45


def test_second_judge_sees_doubtful_pairs_first(kept: Origin) -> None:
    with Review.open(kept, judge="anna") as review:
        asked = answer_all(review, 40)
    with Review.open(kept, judge="ben", again=True) as review:
        disputed = ""
        for place in range(40):
            question = review.next()
            assert question is not None and question.source in asked
            truth = "yes" if question.target.endswith("+") else "no"
            wrong = place == 5
            review.answer(question, {"yes": "no", "no": "yes"}[truth] if wrong else truth)
            disputed = question.source if wrong else disputed
        assert review.next() is None
        ((_, _, common, agreement),) = review.summary().agreement
        assert common == 40 and 0.8 < agreement < 1
    with Review.open(kept, judge="carl", again=True) as review:
        first = review.next()
        assert first is not None and first.source == disputed
        assert review.summary().doubtful >= 1


def test_two_reviews_at_once_are_refused(kept: Origin) -> None:
    with (
        Review.open(kept),
        pytest.raises(ResourceError, match="held by process.*other --answers"),
        Review.open(kept),
    ):
        pass


def test_sheet_is_read_once_and_foreign_pairs_are_told(kept: Origin, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    with Review.open(kept) as review:
        assert review.write_sheet(sheet, 40) == 40
        first = review.next()
        head, *rows = sheet.read_text(encoding="utf-8").splitlines()
        assert first is not None and rows[0].split("\t")[1] == first.source
        rows = [f"{row[:-2]}\ty\t" for row in rows] + ["\tx\ty\tyes\t"]
        sheet.write_text("\n".join([head, *rows]), encoding="utf-8")
        assert review.read_sheet(sheet) == (40, 1)
        assert review.read_sheet(sheet) == (0, 1)
        assert review.summary().answered == 40
        sheet.write_text(f"{head}\n\tx\ty\tyes\t\n", encoding="utf-8")
        with pytest.raises(CorpusError, match="none of its 1 answers"):
            review.read_sheet(sheet)


def test_answers_about_pairs_of_another_corpus_wait(kept: Origin, tmp_path: Path) -> None:
    with Review.open(kept, tmp_path / "answers") as review:
        answer_all(review, 10)
    other = tmp_path / "other.tsv"
    other.write_text("0.5\ta\tb\n0.1\tc\td\n", encoding="utf-8")
    with Review.open(origin_of(other), tmp_path / "answers") as review:
        assert (review.summary().elsewhere, review.summary().answered) == (10, 0)
        assert len(answer_all(review)) == 2


def test_rejected_rows_are_judged_by_reason(tmp_path: Path) -> None:
    clean = write(tmp_path / "clean.tsv", [(f"s{n}", f"t{n}+") for n in range(40)])
    right = [(f"r{n}", f"u{n}+", "length", 0) for n in range(1, 40, 2)]
    wrong = [(f"r{n}", f"u{n}", "quality", 0) for n in range(0, 40, 2)]
    bad = origin_of(write(tmp_path / "bad.tsv", right + wrong), rejected=True)
    with Review.open(origin_of(clean), rejected=bad) as review:
        reasons = [one.reason for one in review.questions(12)]
        assert {*reasons} == {"", "length", "quality"}
        answer_all(review)
        found = [(*facts, right.value) for *facts, right in review.summary().rejected]
        assert found == [("length", 20, 20, 1.0), ("quality", 20, 20, 0.0)]
        (line,) = review.summary().lines
        assert line.estimate is None and line.precision.value == 1


def rows_of(population: Population) -> list[tuple[float, str, str]]:
    texts = population.texts(range(len(population)))
    return [(float(population.score[row]), *texts[row]) for row in range(len(population))]


@pytest.mark.parametrize(
    "name, content, layout",
    [
        ("a.tsv", "0.5\ta\tb\n0.25\tc\td\n", BitextFormat()),
        ("a.tsv", "a\tb\t0.5\nc\td\t0.25\n", BitextFormat()),
        (
            "a.tsv",
            "x\tsource\ttarget\tscore\n1\ta\tb\t0.5\n2\tc\td\t0.25\n",
            BitextFormat(header=True),
        ),
        (
            "a.jsonl",
            '{"score": 0.5, "source": "a", "target": "b"}\n'
            '{"source": "c", "target": "d", "score": 0.25}\n',
            BitextFormat(),
        ),
    ],
)
def test_columns_are_found(tmp_path: Path, name: str, content: str, layout: BitextFormat) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = Population.read(origin_of(tmp_path / name, layout=layout))
    assert rows_of(found) == [(0.5, "a", "b"), (0.25, "c", "d")]


def test_units_of_translation_memories_are_pairs(tmp_path: Path) -> None:
    tmx = tmp_path / "a.tmx"
    write_bitext([{"source": "a", "target": "b"}], [str(tmx)], ("de", "en"))
    for columns in ((None, None), ("de", "en")):
        found = Population.read(origin_of(tmx, layout=BitextFormat(*columns)))
        assert rows_of(found) == [(0.0, "a", "b")]


def test_parquet_of_mining_and_two_files(tmp_path: Path) -> None:
    pa, pq = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    table = pa.table({"src": ["a"], "tgt": ["b"], "score": [0.5]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert rows_of(Population.read(origin_of(tmp_path / "a.parquet"))) == [(0.5, "a", "b")]
    for side in "ab":
        (tmp_path / f"x.{side}").write_text(f"{side}\n", encoding="utf-8")
    both = Population.read(origin_of(tmp_path / "x.a", tmp_path / "x.b"))
    assert rows_of(both) == [(0.0, "a", "b")]


@pytest.mark.parametrize(
    "content, message", [("", "has no pair"), ("0.5\ta\tb\nx\tc\td\n", "line 2: the score 'x'")]
)
def test_faulty_pairs_are_one_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "pairs.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        Population.read(origin_of(tmp_path / "pairs.tsv"))
    with pytest.raises(CorpusError, match="name a file"):
        origin_of("-")
