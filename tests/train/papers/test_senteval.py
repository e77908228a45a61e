"""SentEval on small files in its official layout: every set, its protocol, faults."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.files import write

from miner.errors import CorpusError, NoTestSetError
from miner_train.papers import senteval
from miner_train.papers.senteval_sets import LAYOUTS, find

KINDS = ("good", "bad", "odd")


class Words:
    """Model whose vectors count three words, and the length."""

    name = "words"

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        rows = np.array([[*(s.split().count(k) for k in KINDS), 0.1 * len(s)] for s in sentences])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def sentences(kind: str, count: int = 12) -> list[str]:
    return [f"{kind} {'x' * (n % 5 + 1)} {n}" for n in range(count)]


def lay_out(place: Path) -> Path:
    """Write every set in the official layout, each easy for `Words`."""
    for name in ("MR", "CR", "SUBJ", "MPQA"):
        for file, kind in zip(LAYOUTS[name].files, KINDS, strict=False):
            write(place / name / file, [[s] for s in sentences(kind)])
    for part in ("train", "dev", "test"):
        two = [[s, n] for n, kind in enumerate(KINDS[:2]) for s in sentences(kind)]
        write(place / "SST/binary" / f"sentiment-{part}", two)
        five = [[f"{n} {s}"] for n, kind in enumerate(KINDS) for s in sentences(kind)]
        write(place / "SST/fine" / f"sentiment-{part}", five)
    for part, kinds in (("train_5500", ("DESC", "NUM")), ("TREC_10", ("NUM", "DESC"))):
        rows = [f"{kind}:x {s}" for kind in kinds for s in sentences(KINDS[kind == "NUM"])]
        body = "\n".join([*rows, "NUM:x bad caf\xe9"])
        (place / "TREC").mkdir(exist_ok=True)
        (place / "TREC" / f"{part}.label").write_bytes(body.encode("latin-1"))
    pairs = [(1, s, s) for s in sentences("good", 20)]
    pairs += [(0, s, t) for s, t in zip(sentences("good", 20), sentences("bad", 20), strict=True)]
    for part in ("train", "test"):
        rows = [["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]]
        rows += [[str(label), "1", "2", s, t] for label, s, t in pairs]
        write(place / "MRPC" / f"msr_paraphrase_{part}.txt", rows)
    for file in LAYOUTS["SICK-E"].files:
        rows = [["pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"]]
        for label, s, t in pairs:
            judgment = "ENTAILMENT" if label else "CONTRADICTION"
            rows.append(["1", s, t, str(1.5 + 3 * label), judgment])
        write(place / "SICK" / file, rows)
    for part in ("train", "dev", "test"):
        rows = [["news", "f", "2012", "1", str(5 * label), s, t] for label, s, t in pairs]
        write(place / "STS/STSBenchmark" / f"sts-{part}.csv", rows)
    return place


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("senteval"))


def test_every_set_in_the_official_layout(official: Path) -> None:
    result = senteval.evaluate(Words(), official, folds=3)
    assert not result.missing
    found = {(metric.dataset, metric.name): metric for metric in result.metrics}
    assert {name for name, _ in found} == set(LAYOUTS)
    for (name, metric), one in found.items():
        assert metric == ("pearson" if name in senteval.GRADED else metric)
        assert one.value > 0.95, (name, metric)
    assert found["MR", "accuracy"].items == 24 and found["TREC", "accuracy"].items == 25
    assert found["SST5", "accuracy"].items == 36 and ("MRPC", "f1") in found
    # The folder may be in "downstream", as in SentEval, or in "senteval".
    assert find(official.parent, "MR") is None


def test_the_readers(official: Path) -> None:
    def read(name: str) -> dict:
        reader = find(official, name)
        assert reader is not None
        return reader()

    questions = read("TREC")
    assert questions["train"].first[0] == "good x 0"
    assert questions["train"].first[-1] == "bad caf\xe9"
    # A label has the same number in both parts, whichever comes first.
    assert questions["train"].label[0] == 0 and questions["test"].label[0] == 1
    assert set(read("SST5")["dev"].label) == {0, 1, 2}
    pairs = read("SICK-E")
    assert pairs["train"].second is not None and set(pairs["train"].label) == {0, 2}
    assert set(read("SICK-R")["dev"].label) == {1.5, 4.5}
    assert read("STS-B")["test"].first[0] == "good x 0"


def test_sets_of_miner_data(tmp_path: Path) -> None:
    rows = [[n % 2, f"{KINDS[n % 2]} {n}", f"good {n}"] for n in range(30)]
    for part in ("train", "val", "test"):
        write(tmp_path / "paraphrase" / f"msrpc.{part}.tsv.gz", rows)
    for part in ("train", "test"):
        write(tmp_path / "sts" / f"sick-r.{part}.tsv", [[1 + 3.5 * n, *rest] for n, *rest in rows])
    result = senteval.evaluate(Words(), tmp_path, names=("MRPC", "SICK-R", "MR"), folds=3)
    assert [metric.dataset for metric in result.metrics] == ["MRPC", "MRPC", "SICK-R"]
    assert result.missing == (f"MR: not in {tmp_path}",)
    parts = find(tmp_path, "MRPC")
    assert parts is not None and len(parts()["train"].first) == 60


def test_grades_are_means_of_a_distribution() -> None:
    """If the only feature is the class, the prediction is the class's mean grade."""
    x = np.array([[0.0], [1.0]] * 200) * 9
    grade = np.array([2.25, 3.5] * 200)
    found = senteval.graded({"train": x, "test": x[:2]}, {"train": grade, "test": grade[:2]})
    np.testing.assert_allclose(found, [2.25, 3.5], atol=0.05)


def test_no_item_is_judged_by_a_fold_that_it_is_in() -> None:
    """Random labels cannot be learned, so accuracy over folds is chance."""
    generator = np.random.default_rng(0)
    x, label = generator.normal(size=(300, 150)), generator.integers(0, 2, 300)
    assert (senteval.fitted(x, label, 8.0)(x) == label).mean() > 0.8
    assert 0.35 < (senteval.nested(x, label, 2) == label).mean() < 0.65


@pytest.mark.parametrize(
    ("file", "body", "said"),
    [
        ("SST/binary/sentiment-dev", "nice\tgood\n", "line 1: 'good' is not a label"),
        ("TREC/train_5500.label", "no label\n", "line 1: no label before a colon"),
        ("MRPC/msr_paraphrase_train.txt", "h\nx\ty\n", "line 1: 1 columns, not 5"),
        ("STS/STSBenchmark/sts-dev.csv", "a\tb\tc\td\te\tf\tg\n", "line 1: 'e' is no number"),
        ("SICK/SICK_train.txt", "a\tb\tc\td\te\n1\ts\tt\t3\tmaybe\n", "line 2: 'maybe' is no judg"),
        ("MR/rt-polarity.pos", "", "no sentences in it"),
    ],
)
def test_faulty_files(tmp_path: Path, file: str, body: str, said: str) -> None:
    lay_out(tmp_path)
    (tmp_path / file).write_text(body, encoding="utf-8")
    with pytest.raises(CorpusError, match=said):
        senteval.evaluate(Words(), tmp_path, folds=2)


def test_one_label_or_no_set(tmp_path: Path) -> None:
    with pytest.raises(NoTestSetError, match="no sets"):
        senteval.evaluate(Words(), tmp_path)
    for part in ("train", "dev", "test"):
        write(tmp_path / "SST/binary" / f"sentiment-{part}", [[s, 1] for s in sentences("good")])
    with pytest.raises(CorpusError, match="SST2: all items of train have one label"):
        senteval.evaluate(Words(), tmp_path)


def test_the_command(official, tmp_path, tiny_model, miner):
    code, out, err = miner(
        *("evaluate", "senteval", official, "--only", "SST2", "--only", "SICK-R", "--folds", 2),
        *("--model", tiny_model, "--against", tiny_model, "--json", tmp_path / "s.json"),
    )
    assert code == 0, err
    assert "SST2" in out and "SICK-R" in out and (tmp_path / "s.json").exists()
    code, _, err = miner("evaluate", "senteval", tmp_path, "--model", tiny_model)
    assert code == 1 and "no sets (such as MR/rt-polarity.pos" in err
