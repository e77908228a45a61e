"""Numbers in text: parsed and compared as by the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_references import find_numbers_reference, shared_numbers_reference
from support.tokens import flat

from miner.kernels.numbers import find_numbers, shared_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234.5 and 1.234,5", [12345]),
        ("12 500 is 12\u00a0500 is 12\u202f500 is 12'500 is 12\u2019500", [12500]),
        ("in 1999 200 people", [200, 1999]),
        ("0.5 and ,5", [5]),
        ("18:30 on 2024-05-01", [1, 5, 18, 30, 2024]),
        ("1,2,", [12]),
        ("a1b22", [1, 22]),
        ("1 234 5678", [1234, 5678]),
        ("٣٤٫٥ و ۳۴٬۵", [345]),
        ("१२,५ ১২৫ ௧௨௫ ๑๒๕ １２５", [125]),
        ("no number", []),
        ("", []),
    ],
)
def test_numbers_however_they_are_written(text: str, numbers: list[int]) -> None:
    encoded = np.frombuffer(text.encode(), dtype=np.uint8)
    values, offsets = find_numbers(encoded, np.array([0, len(encoded)]))
    assert values.tolist() == numbers == find_numbers_reference(text)
    assert offsets.tolist() == [0, len(numbers)]


@given(st.lists(st.text(alphabet="019٠٩۱९৭௮๙９٫٬,. '\u00a0\u2019\u202fé漢غกx-"), max_size=8))
def test_numbers_are_the_reference(sentences: list[str]) -> None:
    encoded = [sentence.encode() for sentence in sentences]
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    values, offsets = find_numbers(text, np.cumsum([0, *map(len, encoded)]))
    found = [
        values[start:end].tolist() for start, end in zip(offsets[:-1], offsets[1:], strict=True)
    ]
    assert found == [find_numbers_reference(sentence) for sentence in sentences]


@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=6))
def test_shared_numbers_are_the_reference(sides: list[list[int]]) -> None:
    sets = [sorted(set(one)) for one in sides]
    values, offsets = flat(sets)
    rows = [(i, j) for i in range(len(sets)) for j in range(len(sets))]
    source, target = np.array(rows).T.copy()
    side = values.astype(np.uint64), offsets
    found = shared_numbers(side, side, source, target)
    assert found.tolist() == shared_numbers_reference(sets, sets, rows)


def test_a_sentence_of_many_numbers() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.integers(0, 2**63, 1 << 16).tolist()
    sentence = "x".join(map(str, numbers))
    text = np.frombuffer(sentence.encode(), np.uint8)
    side = find_numbers(text, np.array([0, 0, len(text)]))
    assert side[0].tolist() == sorted(set(numbers))
    rows = np.array([0, 1, 1]), np.array([1, 0, 1])
    assert shared_numbers(side, side, *rows).tolist() == [0, 0, len(side[0])]
