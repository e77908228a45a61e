"""Duplicate filters agree with references that compare all pairs."""

import unicodedata
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of, filters  # noqa: F401 (fixture)
from support.raw_lines import put

from miner.cleaning.comparing import answers, best_rows, entries
from miner.filters.duplicates import Duplicates, NearDuplicates, keys, signatures
from miner.filters.filter_types import Batch, Context, Rivals
from miner.text.formats import BitextFormat
from miner.text.near_copies import BAND, HASHES, SHINGLE, bare, plain


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
    """Return the position of the kept duplicate of each pair, or -1."""
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
    # earlier filters rejected the rows between
    rows = np.arange(len(pairs), dtype=np.int64) * 3 + 5
    comparison = Duplicates({"of": of, "exact": False}, Context())
    keys = comparison.keys(both.reshape(-1, 3))
    if of == "either":
        found = comparison.scores(Rivals(rows, keys=keys, rank=score))
    else:
        sent = entries(keys[:, 0], score, rows)
        best = answers(keys[:, 0], sent, best_rows([sent]))
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


def near_reference(table: np.ndarray, score) -> list[float]:
    """Compare each pair with the best pair of each band, in the order of scores."""
    order = sorted(range(len(score)), key=lambda row: (-score[row], row))
    out = [0.0] * len(table)
    for place, row in enumerate(order):
        for start in range(0, HASHES, BAND):
            band = slice(start, start + BAND)
            same = [r for r in order[: place + 1] if (table[r, band] == table[row, band]).all()]
            if same[0] != row:
                out[row] = max(out[row], float((table[same[0]] == table[row]).mean()))
    return out


@given(
    st.integers(0, 9),
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([0.0, 1.0]), min_size=9, max_size=9),
)
def test_similarities_agree_with_the_reference(n, seed, scores) -> None:
    generator = np.random.default_rng(seed)
    base = generator.integers(0, 2, (3, HASHES))
    table = base[generator.integers(0, 3, n)]
    noise = generator.random(table.shape) < 0.15
    table = np.where(noise, generator.integers(0, 3, table.shape), table).astype(np.uint32)
    rows = np.arange(n, dtype=np.int64) * 2
    comparison, rank = NearDuplicates(), np.array(scores[:n])
    keys = comparison.keys(table)
    best = np.empty(keys.shape, dtype=np.int64)
    for column in range(keys.shape[1]):
        sent = entries(keys[:, column], rank, rows)
        best[:, column] = answers(keys[:, column], sent, best_rows([sent]))
    rivals = Rivals(rows, table, best, sketches_of=lambda rows: table[rows // 2])
    found = comparison.scores(rivals)
    np.testing.assert_allclose(found, near_reference(table, scores[:n]), atol=1e-12)


def test_normal_forms_have_one_signature() -> None:
    sides = [[unicodedata.normalize(form, "Größe é, Ångström")] for form in ("NFC", "NFD")]
    one, other = (signatures(Batch(side, side)) for side in sides)
    np.testing.assert_array_equal(one, other)


def shingles(text: str) -> set[str]:
    return {text[i : i + SHINGLE] for i in range(max(len(text) - SHINGLE + 1, 1))}


def test_signatures_estimate_what_is_shared(german: list[str], english: list[str]) -> None:
    cut = [text[: len(text) * 3 // 4] for text in english]
    one, other = signatures(Batch(german, english)), signatures(Batch(german, cut))
    estimated = (one == other).mean(axis=1)
    exact = []
    for source, whole, part in zip(german, english, cut, strict=True):
        sets = [
            {"s" + s for s in shingles("s" + plain(source))}
            | {"t" + s for s in shingles("t" + plain(text))}
            for text in (whole, part)
        ]
        exact.append(len(sets[0] & sets[1]) / len(sets[0] | sets[1]))
    # 64 hashes: a standard deviation of 0.06 at most for each, and of 0.008 for the mean of 60.
    assert abs(estimated.mean() - np.mean(exact)) < 0.04
    assert np.abs(estimated - exact).max() < 0.3
    assert signatures(Batch([], [])).shape == (0, HASHES)
    # A signature does not depend on the batch.
    np.testing.assert_array_equal(signatures(Batch(german[7:9], english[7:9])), one[7:9])


def test_near_duplicates_of_a_text(tmp_path: Path, german: list[str], english: list[str]) -> None:
    lines = [f"{s}\t{t}" for s, t in zip(german, english, strict=True)]
    near = [f"{line} Ja." for line in lines]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in lines + near).encode())
    config = config_of({"name": "near_duplicates", "maximum": 0.7})
    found = cleaned(path, config, lines=50)
    assert found.kept[:60].all() and found.kept[60:].sum() <= 6
    assert (found.scores("near_duplicates")[60:] > 0.4).all()
