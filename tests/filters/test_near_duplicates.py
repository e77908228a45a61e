"""The near_duplicates filter against a plain reference, and its signatures against real shares."""

import unicodedata
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of
from support.raw_lines import put

from miner.cleaning.partitions import answers, best_rows, entries
from miner.filters.filter_types import Batch, Rivals
from miner.filters.near_duplicates import NearDuplicates, signatures
from miner.text.near_copies import BAND, HASHES, SHINGLE, plain


def near_reference(table: np.ndarray, score) -> list[float]:
    """Compare every pair with the best one of each band, in the order of the scores."""
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
        sent, starts = entries(keys[:, column], rank, rows, 1)
        best[:, column] = answers(keys[:, column], sent, best_rows([sent])[0])
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
    # A signature does not depend on the rest of the batch.
    np.testing.assert_array_equal(signatures(Batch(german[7:9], english[7:9])), one[7:9])


def test_near_duplicates_of_a_text(tmp_path: Path, german: list[str], english: list[str]) -> None:
    lines = [f"{s}\t{t}" for s, t in zip(german, english, strict=True)]
    near = [f"{line} Ja." for line in lines]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in lines + near).encode())
    config = config_of({"name": "near_duplicates", "maximum": 0.7})
    found = cleaned(path, config, lines=50)
    assert found.kept[:60].all() and found.kept[60:].sum() <= 6
    assert (found.scores("near_duplicates")[60:] > 0.4).all()
