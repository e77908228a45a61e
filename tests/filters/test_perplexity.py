"""The perplexity filter: its references, the side it scores, and real text against shuffled."""

import lzma
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miner.errors import CorpusError, MinerError
from miner.filters.filter_types import Batch, Context, Scorer
from miner.filters.given import SIDES, spread
from miner.filters.registry import FILTERS
from miner.scoring.trigram_lm import Trigrams
from miner.text.words import tokens

DATA = Path(os.environ.get("MINER_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = DATA / "train" / "de-en" / "tatoeba.tsv.xz"
FILTER = FILTERS["perplexity"]
GOOD = ["The cat sat on the mat.", "The dog sat on the cat.", "A dog saw the cat on a mat!"]


def scorer(directory: Path, **settings: Any) -> Scorer:
    given = {name: setting.default for name, setting in FILTER.settings.items()}
    return FILTER.build({**given, **settings}, Context(directory=directory))


@pytest.fixture
def references(tmp_path: Path) -> Path:
    path = tmp_path / "good.en"
    path.write_text("\n\n".join(GOOD) + "\n", encoding="utf-8")
    return path


def score(scorer: Scorer, sentences: list[str]) -> list[float]:
    return scorer(Batch([""] * len(sentences), sentences)).tolist()


def test_scores_are_the_models(references: Path, tmp_path: Path) -> None:
    sentences = ["the CAT sat.", "Le chat."]
    model = Trigrams.train([tokens(text) for text in GOOD], "it")
    expected = model.perplexity([tokens(text) for text in sentences])
    assert score(scorer(tmp_path, references="good.en"), sentences) == expected.tolist()
    assert FILTER.reason.format(value=expected[1], bound=1.0).startswith("a perplexity of ")


def test_either_side(references: Path) -> None:
    both = [scorer(references.parent, references="good.en", of=side) for side in SIDES]
    batch = Batch(["The cat sat.", "x y z"], ["x y z", "The cat sat."])
    source, target = (one(batch) for one in both)
    assert source.tolist() == target[::-1].tolist()
    assert source[0] < source[1]


def test_a_side_without_tokens_is_as_bad_as_unknown_words(references: Path) -> None:
    score_all = scorer(references.parent, references="good.en")
    empty, blank, unknown, good = score(score_all, ["", " \t\u00a0", "q " * 200, GOOD[0]])
    assert empty == blank == pytest.approx(unknown, rel=0.05)
    assert np.isfinite(empty) and empty > 3 * good
    assert score_all(Batch([], [])).shape == (0,)


def test_compressed_references_and_absolute_paths(references: Path, tmp_path: Path) -> None:
    packed = tmp_path / "good.en.xz"
    packed.write_bytes(lzma.compress(references.read_bytes()))
    other = tmp_path / "elsewhere"
    given = [(tmp_path, "good.en"), (tmp_path, "good.en.xz"), (other, str(packed))]
    scores = [score(scorer(base, references=name), ["The cat."]) for base, name in given]
    assert scores[0] == scores[1] == scores[2]


def test_other_processes_score_the_same(references: Path) -> None:
    """Scores do not depend on the order of sets, which differs between processes."""
    program = (
        "import sys; from pathlib import Path; from test_perplexity import *;"
        "print(score(scorer(Path(), references=sys.argv[1]), sys.argv[2:]))"
    )
    sentences = ["The dog sat on a mat.", "no"]
    done = subprocess.run(
        [sys.executable, "-c", program, str(references), *sentences],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    here = score(scorer(Path(), references=str(references)), sentences)
    assert done.stdout == f"{here}\n", done.stderr


@pytest.mark.parametrize("most", [1, 2, 3, 7, 99, 100, 40_000])
def test_a_sample_is_spread_evenly(tmp_path: Path, most: int) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{i}\n\n" for i in range(100)), encoding="utf-8")
    kept = [int(text) for text in spread(path, most)]
    assert len(kept) == min(most, 100)
    steps = np.diff([-1, *kept])
    assert steps.max() - steps.min() <= 1 and kept[-1] == 99
    assert kept == [int(text) for text in spread(path, most)]


def test_the_setting_says_how_many(references: Path) -> None:
    given = {"references": "good.en", "sentences": 1}
    model = Trigrams.train([tokens(GOOD[-1])], "it")
    expected = model.perplexity([["the", "cat"]]).tolist()
    assert score(scorer(references.parent, **given), ["the cat"]) == expected


def refused(directory: Path, **settings: Any) -> str:
    with pytest.raises(MinerError) as caught:
        scorer(directory, **settings)
    return str(caught.value)


def test_bad_references(tmp_path: Path) -> None:
    (tmp_path / "blank").write_bytes(b" \n\n")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    os.mkfifo(tmp_path / "pipe")
    for name, says in [
        ("nowhere", "cannot be read"),
        ("blank", "no words"),
        ("latin", "UTF-8"),
        ("pipe", "must be a file"),
        (".", "must be a file"),
    ]:
        message = refused(tmp_path, references=name)
        assert says in message and message.startswith(str(tmp_path / name))


def test_standard_input_is_no_reference() -> None:
    with pytest.raises(CorpusError, match="must be a file"):
        scorer(Path(), references="-")


@pytest.mark.skipif(not REAL.is_file(), reason=f"no training text in {REAL} (set MINER_DATA)")
def test_word_order_and_language_on_real_text(tmp_path: Path) -> None:
    """Compare held-out sentences with the same ones shuffled, and with their translations."""
    with lzma.open(REAL, "rt", encoding="utf-8", newline="\n") as file:
        rows = list(
            {row[1]: row for row in (line.rstrip("\n").split("\t") for line in file)}.values()
        )
    generator = random.Random(5)
    generator.shuffle(rows)
    held = [row for row in rows[:3000] if len(tokens(row[1])) >= 5]
    (tmp_path / "en").write_text("".join(f"{row[1]}\n" for row in rows[3000:]), encoding="utf-8")
    shuffled = [words.split() for _, words in held]
    for words in shuffled:
        generator.shuffle(words)
    rate = scorer(tmp_path, references="en")
    nothing = [""] * len(held)
    good = rate(Batch(nothing, [row[1] for row in held]))
    for bad, least in (
        ([" ".join(words) for words in shuffled], 0.9),
        ([r[0] for r in held], 0.99),
    ):
        values = rate(Batch(nothing, bad))
        # The area under the curve: the share of comparisons in which the good one is lower.
        order = np.argsort(np.concatenate([good, values]), kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = np.arange(len(order))
        n = len(good)
        assert (ranks[n:].sum() - n * (n - 1) / 2) / n**2 > least
