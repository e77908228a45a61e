"""``miner negatives``, and the examples of hardest negatives that it shows."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.negatives_reference import hardest_reference

from miner.encoder.encoder import Encoder
from miner.text.bitext import Bitext
from miner_train.examples import CosineStatistics, Pairs, draw, hardest, statistics

SOURCE = [
    "Der Zug kommt um sechs Uhr an.",
    "Wir kaufen ein Haus.",
    "Die Katze schläft auf dem Sofa.",
    "Wir verkaufen unser Auto.",
    "Der Bus kommt um sieben Uhr.",
    "Der Zug kommt um sechs Uhr an.",
]
TARGET = [
    "The train arrives at six.",
    "We are buying a house.",
    "The cat sleeps on the sofa.",
    "We are selling our car.",
    "The bus arrives at seven.",
    "The train gets in at six.",
]


@st.composite
def problems(draw) -> tuple[np.ndarray, np.ndarray, Pairs]:
    """Vectors of small integers, whose products are exact, and sentences with many copies."""
    n = draw(st.integers(0, 12))
    vector = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
    many = st.lists(vector, min_size=n, max_size=n)
    texts = st.lists(st.sampled_from("abcdefghijkl"), min_size=n, max_size=n)
    left, right = (np.array(draw(many), dtype=np.float32).reshape(-1, 2) for _ in range(2))
    return left, right, Pairs(draw(texts), draw(texts), np.arange(1, n + 1))


@settings(max_examples=50)
@given(problems(), st.integers(1, 14), st.booleans())
def test_the_choice_is_that_of_the_training(problem, size: int, either: bool) -> None:
    found = hardest(*problem, size, either)
    expected = hardest_reference(*problem, size, either)
    assert found.for_source.tolist() == expected[0]
    assert found.for_target.tolist() == expected[1]
    source, target, pairs = problem
    both = np.concatenate([source, target])
    for rows, own, cosines in (
        (expected[0], source, found.against_source),
        (expected[1], target, found.against_target),
        (range(len(source), 2 * len(source)), source, found.translation),
    ):
        for place, row in enumerate(rows[: len(found)]):
            assert cosines[place] == (own[place] @ both[row] if row >= 0 else -np.inf)
    # As many as whole mega-batches have, or all.
    n = len(pairs)
    assert len(found) == (n if n <= size else n // size * size) and found.size == min(size, n)


@settings(max_examples=30)
@given(problems(), st.booleans())
def test_negatives_get_harder(problem, either: bool) -> None:
    """Where each mega-batch is made of whole smaller ones."""
    sizes = [hardest(*problem, size, either) for size in (1, 3, 6, 12)]
    for smaller, larger in zip(sizes, sizes[1:], strict=False):
        n = min(len(smaller), len(larger))
        assert (smaller.against_source[:n] <= larger.against_source[:n]).all()
        assert (smaller.against_target[:n] <= larger.against_target[:n]).all()


def blocks(texts: list[str], ends: list[int]) -> Iterator[Bitext]:
    places = [0, *sorted(min(end, len(texts)) for end in ends), len(texts)]
    for start, end in zip(places, places[1:], strict=False):
        part, lines = texts[start:end], np.arange(start + 1, end + 1)
        yield Bitext(part, [f"{text}!" for text in part], lines, len(part), 0, 0, 0, [])


@given(st.integers(0, 40), st.integers(1, 50), st.integers(0, 3), st.lists(st.integers(0, 40)))
def test_a_draw_is_of_the_lowest_numbers(n: int, most: int, seed: int, ends: list[int]) -> None:
    texts = [f"text {row}" for row in range(n)]
    drawn = draw(blocks(texts, ends), most, seed)
    order = np.argsort(np.random.default_rng(seed).random(n))[:most]
    assert drawn.lines.tolist() == (order + 1).tolist()
    assert drawn.source == [texts[row] for row in order]
    assert drawn.target == [f"{texts[row]}!" for row in order]
    # Fewer are the first of more.
    assert draw(blocks(texts, []), most + 7, seed).source[: len(drawn)] == drawn.source


def test_statistics() -> None:
    translation = np.array([0.9, 0.5, 0.5, 0.8, 0.7], dtype=np.float32)
    against = np.array([0.2, 0.5, 0.75, 0.5, -np.inf], dtype=np.float32)
    found = statistics(translation, against, 0.4)
    assert found is not None
    quartiles = np.percentile(against[:4], (25, 50, 75))
    assert (found.n, found.nearer, found.violating) == (4, 0.25, 0.75)
    assert found.mean == pytest.approx(0.4875) and found.quartiles == pytest.approx(quartiles)
    assert statistics(translation) == CosineStatistics(
        5, pytest.approx(0.68), pytest.approx((0.5, 0.7, 0.8))
    )
    assert statistics(translation[:0]) is None and statistics(translation[4:], against[4:]) is None


def test_it_does_without_torch() -> None:
    script = "import sys, miner_train.examples; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2])
    assert done.returncode == 0


@pytest.fixture
def bitext(tmp_path: Path) -> Path:
    path = tmp_path / "bitext.tsv"
    lines = [f"{s}\t{t}\n" for s, t in zip(SOURCE, TARGET, strict=True)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def shown(out: str) -> dict[str, dict[str, list[str]]]:
    """By the pair's source, what stands against it and against its target, by mega-batch."""
    found = {}
    for block in out.split("\n\nline ")[1:]:
        _, source, _, *rest = block.rstrip("\n").split("\n")
        middle = next(i for i, line in enumerate(rest) if "for the target" in line)
        found[source.split(maxsplit=1)[1]] = {
            "for source": [line.split(maxsplit=2)[-1] for line in rest[1:middle]],
            "for target": [line.split(maxsplit=2)[-1] for line in rest[middle + 1 :]],
        }
    return found


def test_negatives_of_pairs(miner, bitext: Path) -> None:
    """The nearest that are no copies, and no translations of a copy."""
    code, out, err = miner("negatives", "default", bitext, "--examples", 9)
    assert code == 0 and out.startswith("6 of 6 pairs, in batches of 128\n")
    assert err == (
        "6 pairs are too few for mega-batches of 1, 20, 40, 120: 'all' is one mega-batch of all of "
        "them\n"
    )
    found = shown(out)
    assert set(found) == set(SOURCE)
    train = found[SOURCE[0]]
    assert train == {"for source": [TARGET[4]], "for target": [SOURCE[4]]}
    assert found[SOURCE[4]]["for source"][0] in (TARGET[0], TARGET[5])


def test_sizes_are_nested(miner, bitext: Path) -> None:
    arguments = ("negatives", "default", bitext, "--batch", 2, "--examples", 4)
    code, out, err = miner(*arguments, "--mega-batch", 1, "--megabatch", 3)
    assert (code, err) == (0, "")
    assert len(shown(out)) == 4 - (out.count(SOURCE[0]) > 2)
    assert re.findall(r"^(\d+) +source and target +(\d+)", out, re.M) == [("1", "6"), ("3", "6")]
    mean = [float(x) for x in re.findall(r"source and its negative +\d+ +([\d.-]+)", out)]
    assert mean[0] < mean[1]
    # The seed decides; and the smaller of two sizes is the same without the larger.
    assert miner(*arguments, "--mega-batch", 3, "--mega-batch", 1) == (code, out, err)
    assert miner(*arguments, "--mega-batch", 1, "--mega-batch", 3, "--seed", 2)[1] != out
    alone = shown(miner(*arguments, "--mega-batch", 1)[1])
    both = shown(out)
    assert all(
        both[s]["for source"][0] == alone[s]["for source"][0] for s in set(alone) & set(both)
    )


def test_from_either_column(miner, tmp_path: Path) -> None:
    """Paraphrases: what is nearest may stand in the same column."""
    path = tmp_path / "paraphrases.tsv"
    rows = [(TARGET[0], "A man eats."), ("The train arrives at seven.", "Birds fly.")]
    path.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    command = ("negatives", "default", path)
    opposite, either = (
        shown(miner(*command, *more)[1]) for more in ((), ("--negatives-from", "either"))
    )
    assert opposite[TARGET[0]]["for source"] == ["Birds fly."]
    assert either[TARGET[0]]["for source"] == ["The train arrives at seven."]


def test_separate_vocabularies(miner, bitext: Path, separate_model: Path) -> None:
    """Each column is read by its own."""
    code, out, _ = miner("negatives", separate_model, bitext)
    left, right = (
        Encoder.load(separate_model, side=side).encode(texts)
        for side, texts in (("source", SOURCE), ("target", TARGET))
    )
    mean = (left * right).sum(axis=1).mean()
    assert code == 0 and re.search(rf"source and target +6 +{mean:.3f} ", out)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere.tsv",), 1, "nowhere.tsv: "),
        (("empty.tsv",), 1, "0 pairs to choose from"),
        (("one.tsv",), 1, "1 pairs to choose from"),
        (("bytes.tsv",), 1, "bytes.tsv, line 2"),
        (("related.tsv",), 1, "no pair has a negative"),
        (("one.tsv", "--scol", "3"), 1, "one.tsv, line 1"),
        (("one.tsv", "--scol", "2"), 2, "both 2"),
        ((), 2, "give one BITEXT"),
        (("--source", "one.tsv"), 2, "give one BITEXT"),
        (("one.tsv", "--mega-batch", "0"), 2, "--mega-batch"),
        (("one.tsv", "--seed", "-1"), 2, "--seed"),
    ],
)
def test_bad_input(miner, tmp_path, monkeypatch, arguments, code: int, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.tsv").write_bytes(b"")
    (tmp_path / "one.tsv").write_bytes(b"Haus\thouse\n")
    (tmp_path / "bytes.tsv").write_bytes(b"Haus\thouse\nHa\xffus\thouse\n")
    (tmp_path / "related.tsv").write_bytes(b"Haus\thouse\nGeb\xc3\xa4ude\thouse\n")
    found, _, err = miner("negatives", "default", *arguments)
    assert found == code and message in err
    assert code != 1 or len(err.splitlines()) == 1


def test_columns_that_do_not_belong_together_are_noticed(miner, bitext: Path) -> None:
    rows = zip(SOURCE[:5], TARGET[2:5] + TARGET[:2], strict=True)
    bitext.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    for more in ((), ("--negatives-from", "either")):
        code, _, err = miner("negatives", "default", bitext, *more)
        assert code == 0 and "warning: 100% of the sources have a negative nearer" in err
    rows = zip(TARGET, TARGET, strict=True)  # same column: near, and no warning
    bitext.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    code, _, err = miner("negatives", "default", bitext, "--negatives-from", "either")
    assert code == 0 and "warning" not in err
