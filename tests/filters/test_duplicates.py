"""The duplicates filter against a plain reference that compares every pair with every other."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of, filters  # noqa: F401 (fixture)
from support.raw_lines import put

from miner.cleaning.partitions import answers, best_rows, entries
from miner.filters.duplicates import Duplicates, keys
from miner.filters.filter_types import Batch, Context, Rivals
from miner.text.formats import BitextFormat
from miner.text.near_copies import bare, plain


def alike(one: str, other: str, exact: bool = False) -> bool:
    first, second = keys(Batch([one, other], ["x", "x"]), exact)[:, 1]
    return bool(first == second)


def test_what_is_the_same_text() -> None:
    assert alike("Gut, besser!", "gut besser") and alike("Straße_1", "STRASSE 1")
    assert alike(" a  b ", "a - b") and not alike("ab", "a b") and not alike("1,5", "15")
    assert not alike("...", "!!!") and not alike(
        "", " "
    )  # without letters the texts themselves are compared
    texts = ["C", "C++", "C#", "5", "-5", "5 %", "5 €", "5 $", "a+b", "a−b", "ab", "a = b", "a ≠ b"]
    texts += ["C → D", "20 °C", "20 C", "gut 👍", "gut 👎", "gut"]
    assert not any(alike(one, other) for one, other in combinations(texts, 2))
    assert alike("5 €!", "5€") and alike("-5 °C", "–5 ° C.") and alike("►  Gut", "Gut | ")
    assert alike("3-5", "3 – 5") and alike("# Titel", "Titel")
    assert not alike("Gut", "gut", exact=True) and alike("Gut ", "Gut ", exact=True)
    assert alike("\ud800", "\ud800")


@given(st.lists(st.tuples(*[st.text("ab\t ", max_size=3)] * 2), min_size=1, max_size=9))
def test_keys_are_equal_where_texts_are(pairs) -> None:
    found = keys(Batch(*zip(*pairs, strict=True)), exact=True)
    for row, one in enumerate(pairs):
        for other_row, other in enumerate(pairs):
            expected = [one == other, one[0] == other[0], one[1] == other[1]]
            assert (found[row] == found[other_row]).tolist() == expected


# Few texts and few scores, so that there are duplicates and ties.
small = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=14
)


def reference(of: str, pairs) -> list[int]:
    """The place of the duplicate that stays, or -1, for each pair."""
    stay: list[int] = []
    out = [-1] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda row: (-pairs[row][2], row))
    for place in order:
        source, target, _ = pairs[place]
        for one in stay:
            same = pairs[one][0] == source, pairs[one][1] == target
            if {"pair": all(same), "source": same[0], "target": same[1], "either": any(same)}[of]:
                break
        else:
            stay.append(place)
    for place in set(order) - set(stay):
        source, target, _ = pairs[place]
        of_source = [one for one in stay if pairs[one][0] == source]
        of_target = [one for one in stay if pairs[one][1] == target]
        both = [one for one in of_source if one in of_target]
        found = {"pair": both, "source": of_source, "target": of_target}
        [out[place]] = found[of] if of != "either" else (of_source or of_target)
    return out


@given(small, st.sampled_from(["pair", "source", "target", "either"]))
def test_duplicates_agree_with_the_reference(pairs, of) -> None:
    both = np.array([[s * 9 + t, 100 + s, 200 + t] for s, t, _ in pairs], dtype=np.uint64)
    score = np.array([score for _, _, score in pairs])
    rows = np.arange(len(pairs), dtype=np.int64) * 3 + 5  # the rows between were rejected before
    comparison = Duplicates({"of": of, "exact": False}, Context())
    keys = comparison.keys(both.reshape(-1, 3))
    if of == "either":
        found = comparison.scores(Rivals(rows, keys=keys, rank=score))
    else:
        sent, _ = entries(keys[:, 0], score, rows, 1)
        best = answers(keys[:, 0], sent, best_rows([sent])[0])
        found = comparison.scores(Rivals(rows, best=best[:, None]))
    expected = [-1 if place < 0 else int(rows[place]) for place in reference(of, pairs)]
    assert found.tolist() == expected


@pytest.mark.parametrize("header", [False, True])
def test_the_best_duplicate_is_kept_and_named(tmp_path: Path, header: bool) -> None:
    lines = ["A b!\tx y\t0.1", "a b\tX Y\t0.9", "a b\tz\t0.5", "c\tx y\t0.9", "A b!\tx, y\t0.9"]
    text = "".join(f"{line}\n" for line in ["s\tt\tn"] * header + lines)
    path = put(tmp_path / "a.tsv", text.encode())

    def run(**of) -> list[float]:
        config = config_of(
            {"name": "good", "column": 3}, {"name": "duplicates"} | of, rank="good"
        )  # fmt: skip
        found = cleaned(path, config, BitextFormat(header=header), lines=2)
        assert found.kept.tolist() == (found.scores("duplicates") == 0).tolist()
        return (found.scores("duplicates") - header * (found.scores("duplicates") > 0)).tolist()

    assert run() == [2, 0, 0, 0, 2]
    assert run(of="source") == [2, 0, 2, 0, 2]
    assert run(of="target") == [2, 0, 0, 2, 2]
    assert run(of="either") == [2, 0, 2, 2, 2]
    assert run(exact=True) == [0, 0, 0, 0, 0]
    assert run(exact=True, of="source") == [5, 0, 2, 0, 0]


def test_without_a_score_the_first_duplicate_is_kept(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"a\tb\nc\td\na\tb\nA\tb.\n")
    found = cleaned(path, config_of({"name": "duplicates"}))
    assert found.scores("duplicates").tolist() == [0, 0, 1, 1]


@given(st.text(alphabet="aA1ßé漢_ -.,’\u00a0\ud800\U0001f600", max_size=8))
def test_a_bare_text_is_the_plain_one(text):
    assert bare(text) == plain(text).encode("utf-8", "surrogatepass")
