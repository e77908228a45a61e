"""``miner paraphrase``: back-translation, resumed runs, pivots."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.files import write

from miner.errors import ArtifactError, CorpusError
from miner_train.papers import build, shared_translations
from miner_train.papers.shared_translations import pivot_pairs
from miner_train.papers.translators import Translation

Run = Callable[..., tuple[int, str, str]]


def test_build_from_columns(tmp_path: Path, miner: Run) -> None:
    rows = [["x", "a b c", "a b d", "0.5", "b c a"], ["y", "e f", "e f", "0.1", ""]]
    bitext = write(tmp_path / "a.tsv", rows)
    config = tmp_path / "f.toml"
    config.write_text('[[filter]]\nname = "cost"\ncolumn = "3"\nmaximum = 0.2\n')
    out, facts = tmp_path / "out.tsv", tmp_path / "f.json"
    base = ["paraphrase", "build", bitext, "-o", out, "--json", facts]
    code, _, err = miner(*base, "--translator", "column:3,5", "--best", 2)
    assert code == 0, err
    assert out.read_text() == "a b c\ta b d\t\na b c\tb c a\t\n"
    found = json.loads(facts.read_text())
    assert found["kept"]["pairs"] == 2 and found["kept"]["1-gram overlap"] == pytest.approx(5 / 6)
    code, _, err = miner(*base, "--translator", "column:3", "--cost-col", 4, "--config", config)
    assert code == 0, err
    assert out.read_text() == "e f\te f\t0.1000\n"
    for wrong, said in (
        (["--translator", "deepl"], "give phrases or column:N"),
        (["--cost-col", 4], "--cost-col is for translations in a column"),
        (["--translator", "column:3", "--learn", bitext], "--learn is for"),
    ):
        code, _, err = miner(*base, *wrong)
        assert code == 2 and said in err


def test_build_by_phrases(tmp_path: Path, miner: Run) -> None:
    nouns, verbs = ("hund", "katze", "fisch", "vogel"), ("schläft", "isst", "läuft")
    english = dict(
        zip((*nouns, *verbs), ["dog", "cat", "fish", "bird", "sleeps", "eats", "runs"], strict=True)
    )
    rows = [[f"der {n} {v}", f"the {english[n]} {english[v]} ."] for n in nouns for v in verbs]
    bitext = write(tmp_path / "a.tsv", rows)
    out = tmp_path / "out.tsv"
    code, _, err = miner("paraphrase", "build", bitext, "--best", 2, "-o", out)
    assert code == 0, err
    assert "learning phrases from 6 pairs" in err  # half of the text, twice
    pairs = [line.split("\t") for line in out.read_text().splitlines()]
    assert {reference for reference, _, _ in pairs} <= {row[1] for row in rows}
    assert all(float(cost) > 0 for _, _, cost in pairs)
    assert any(set(english.values()) & set(other.split()) for _, other, _ in pairs)
    code, _, err = miner("paraphrase", "build", bitext, "--learn", bitext, "-o", out)
    # Trained on its own input, it repeats the references.
    assert code == 1 and "learning phrases from 12 pairs" in err and "no paraphrase is left" in err


class Counting:
    """Translator that counts its sentences, and is interrupted after some of them."""

    def __init__(self, most: int = 1000):
        self.asked: list[str] = []
        self.most = most

    def translate(self, sentences: list[str], k: int) -> list[list[Translation]]:
        if len(self.asked) >= self.most:
            raise KeyboardInterrupt
        self.asked += sentences
        return [[Translation(text.upper(), 0.5), Translation(text)][:k] for text in sentences]


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    sentences = [f"s{n}" for n in range(200)]
    place = tmp_path / "out.translations"

    def run(translator: Counting, key: str = "a") -> list[list[Translation]]:
        every = np.arange(200)
        parts = [
            (every[::2], lambda: translator),
            (every[1::2], lambda: translator),
        ]
        return build.translate_all(sentences, parts, 2, place, {"translator": key})

    stopped = Counting(most=100)
    with pytest.raises(KeyboardInterrupt):
        run(stopped)
    with place.open("ab") as file:
        file.write(b'[[1, 3], [[["cut sh')  # as after a kill
    rest = Counting()
    found = run(rest)
    assert not set(stopped.asked) & set(rest.asked)
    assert len(stopped.asked) + len(rest.asked) == 200
    assert [own[0].text for own in found] == [text.upper() for text in sentences]
    assert found[0][0].cost == 0.5 and math.isnan(found[0][1].cost)
    again = Counting()
    assert [[one.text for one in own] for own in run(again)] == [
        [one.text for one in own] for own in found
    ]
    assert not again.asked
    with pytest.raises(ArtifactError, match="another text, or by another translator; give --rest"):
        run(Counting(), "b")


def test_halves_learn_from_each_other() -> None:
    learned: list[list[int]] = []

    def learn(rows: np.ndarray) -> Counting:
        learned.append(rows.tolist())
        return Counting()

    for rows, make in build.halves(5, learn):  # type: ignore[arg-type]
        make()
        assert not set(rows.tolist()) & set(learned[-1])
    assert sorted(sum(learned, [])) == [0, 1, 2, 3, 4]


def test_pivots_by_hand() -> None:
    rows = [("f", "A."), ("f", "b"), ("f", "b"), ("g", "a"), ("g", "b"), ("h", "b"), ("h", "c")]
    found = {(pair.first, pair.second): pair for pair in pivot_pairs(rows)}
    assert set(found) == {("A.", "b"), ("b", "c")}
    pair = found["A.", "b"]
    # p(b | a): half through f, 2/3 of which are b, half through g, 1/2 of which are b.
    assert pair.forward == pytest.approx(1 / 2 * 2 / 3 + 1 / 2 * 1 / 2)
    # p(a | b): two of four through f, one through g.
    assert pair.backward == pytest.approx(2 / 4 * 1 / 3 + 1 / 4 * 1 / 2)
    assert pair.pivots == 2 and pair.pmi == pytest.approx(math.log(pair.forward / (4 / 7)))
    assert [one.pivots for one in pivot_pairs(rows, least=2)] == [2]
    assert list(pivot_pairs([])) == []


def test_the_command_pivot(tmp_path: Path, miner: Run) -> None:
    one = write(tmp_path / "de.tsv", [["Hallo", "Hello"], ["Hallo", "Hi"], ["Ja", "Yes"]])
    other = write(tmp_path / "fr.tsv", [["Ja", "No"], ["Salut", "Hi"], ["Salut", "Hello"]])
    code, out, err = miner("paraphrase", "pivot", one, other)
    assert code == 0 and "1 pairs" in err
    cells = out.strip().split("\t")
    assert cells[1:3] == ["Hello", "Hi"] and cells[5] == "2"


class Numbers:
    """Encoder of sentences 'topic noise': a vector of the topic plus that of the noise."""

    def encode(self, sentences: list[str]) -> np.ndarray:
        rows = []
        for sentence in sentences:
            topic, noise = map(int, sentence.split())
            own = np.random.default_rng([1, topic]).normal(size=20)
            rows.append(own + 0.5 * np.random.default_rng([2, noise]).normal(size=20))
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_cleanliness_is_the_share_of_right_pairs(share: float) -> None:
    pairs = [(f"{n} {2 * n}", f"{n if n >= share * 1000 else n + 2000} {2 * n + 1}")
             for n in range(1000)]  # fmt: skip
    found = shared_translations.probabilities(pairs, Numbers())
    assert found.shape == (1000,) and found.mean() == pytest.approx(1 - share, abs=0.03)
    wrong = round(share * 1000)
    assert np.median(found[wrong:]) > 0.9 and (not wrong or np.median(found[:wrong]) < 0.1)
    with pytest.raises(CorpusError, match="199 pairs are too few to estimate cleanliness"):
        shared_translations.probabilities(pairs[:199], Numbers())
    with pytest.raises(CorpusError, match="give more different sentences"):
        shared_translations.probabilities(pairs[:1] * 300, Numbers())


def test_pivot_with_probabilities(tmp_path: Path, tiny_model: Path, miner: Run) -> None:
    rows = [[f"f{n}", f"the {n} {word}"] for n in range(250) for word in ("man", "woman")]
    bitext = write(tmp_path / "a.tsv", rows)
    code, out, err = miner("paraphrase", "pivot", bitext, "--encoder", tiny_model, "--threads", 1)
    assert code == 0 and "250 pairs, " in err and "% of them estimated to be right" in err
    assert {len(line.split("\t")) for line in out.splitlines()} == {7}
