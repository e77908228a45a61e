"""miner.encoder.pieces and its kernel: segmentations drawn at random."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.kernel_references import cuts_reference

from miner.encoder.normaliser import Normaliser
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.unit_lists import code_points
from miner.kernels.unigram import sample, trie
from tests.support.tokens import lists

ROOT = Path(__file__).parents[2]


def test_a_sample_has_the_same_text_in_other_pieces(vocabulary: bytes, german: list[str]) -> None:
    """Seed and sentence number alone decide the pieces."""
    tokenizer = PieceTokenizer(vocabulary)
    sentences = [*german, "", "日本"]
    ids, offsets = tokenizer.sample(sentences, 0.1, 3)
    again = tokenizer.sample(sentences, 0.1, 3)
    np.testing.assert_array_equal(again[0], ids)
    other, others = tokenizer.sample(sentences, 0.1, 4), tokenizer(sentences)
    assert lists(other) != lists((ids, offsets)) != lists(others)
    read = [one.replace(" ", "") for one in Normaliser.of_model(vocabulary)(german)]
    shown = [
        "".join(tokenizer.processor.id_to_piece(piece) for piece in own).replace("\u2581", "")
        for own in lists((ids, offsets))
    ]
    known = {c for i in range(tokenizer.size) for c in tokenizer.processor.id_to_piece(i)}
    assert shown[-2:] == ["", ""]
    assert shown[:-2] == ["".join(c for c in one if c in known) for one in read]
    # In blocks, by several threads.
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(
            lambda start: lists(tokenizer.sample(sentences[start : start + 7], 0.1, 3, start)),
            range(0, len(sentences), 7),
        )
    assert [own for part in parts for own in part] == lists((ids, offsets))


def test_a_sample_is_the_same_in_another_process(vocabulary, german, tmp_path):
    (tmp_path / "sp.model").write_bytes(vocabulary)
    script = f"""
from pathlib import Path
from miner.encoder.pieces import PieceTokenizer
tokenizer = PieceTokenizer(Path({str(tmp_path / "sp.model")!r}).read_bytes())
print(tokenizer.sample({german[:9]!r}, 0.1, 5)[0].tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    expected = PieceTokenizer(vocabulary).sample(german[:9], 0.1, 5)[0].tolist()
    assert done.stdout == f"{expected}\n", done.stderr


def test_a_large_alpha_draws_the_best_segmentation(vocabulary: bytes, german: list[str]) -> None:
    tokenizer = PieceTokenizer(vocabulary)
    assert lists(tokenizer.sample(german, 1e4, 1)) == lists(tokenizer(german))


def test_no_sample_is_empty(vocabulary: bytes) -> None:
    """A segmentation without a meaningful piece is replaced by the best one."""
    tokenizer = PieceTokenizer(vocabulary)
    sentences = ["der", "日本", "d", "", "die"] * 50
    ids, offsets = tokenizer.sample(sentences, 0.0, 1)
    best = np.diff(tokenizer(sentences)[1]) > 0
    np.testing.assert_array_equal(np.diff(offsets) > 0, best)
    tokenizer.meaningful[:] = False
    tokenizer.meaningful[tokenizer.processor.encode("der")] = True
    few = lists(tokenizer.sample(["der"] * 50 + [""], 0.0, 1))
    assert all(few[:50]) and not few[50]


def draws(count: int, alpha: float) -> Iterator[tuple[str, ...]]:
    """Segment one text by a small model, once for each of ``count`` sentence numbers."""
    names = list(SCORES)
    tree = trie(names, range(len(names)), list(SCORES.values()))
    codes, offsets = code_points(["abxab"] * count)
    out, lengths = np.empty(len(codes), np.int32), np.empty(count, np.int64)
    end = sample(codes, offsets, tree, 3, -6.0, alpha, np.uint64(11), np.uint64(0), out, lengths)
    at = 0
    assert lengths.sum() == end
    for length in lengths.tolist():
        yield tuple("x" if i < 0 else names[i] for i in out[at : at + length].tolist())
        at += length


SCORES = {"a": -2.0, "b": -3.0, "ab": -2.5, "bx": -5.0, "bxa": -4.0, "xa": -7.0}


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_segmentations_are_drawn_by_their_probability(alpha: float) -> None:
    count = 20_000
    found = Counter(draws(count, alpha))
    expected = cuts_reference("abxab", SCORES, -6.0, alpha)
    assert len(expected) == 9 and set(found) <= set(expected)
    for cut, probability in expected.items():
        error = 5 * np.sqrt(count * probability * (1 - probability)) + 1
        assert found[cut] == pytest.approx(count * probability, abs=error), cut


def test_a_line_of_a_megabyte_is_sampled(vocabulary: bytes, german: list[str]) -> None:
    line = " ".join(german * 300)
    ids, _ = PieceTokenizer(vocabulary).sample([line], 0.2, 1)
    assert len(line) > 500_000 and len(ids) > 100_000
