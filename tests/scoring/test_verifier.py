"""Verification: kernels against their references, features that mean what they say."""

from __future__ import annotations

import dataclasses
import io
import json
import lzma
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.indexes import without_checksums
from support.kernel_references import (
    compare_reference,
    find_numbers_reference,
    model1_reference,
    shared_numbers_reference,
)
from support.lexicon_references import random_lexicons

from miner.encoder.encoder import Encoder
from miner.encoder.lexicon import Lexicon
from miner.encoder.model import DECOYS, LEXICON, VERIFIER, load
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ArtifactError, MismatchError, ResourceError
from miner.index.index import Index
from miner.kernels.model1 import (
    distinct,
    expectation,
    maximisation,
    occurrences,
    partners,
)
from miner.kernels.numbers import (
    find_numbers,
    shared_numbers,
)
from miner.kernels.tokens import COLUMNS, LONGEST, compare
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.mining import verification
from miner.mining.search import run, search, verifier_for
from miner.mining.verification import prepare_texts
from miner.scoring.context_features import CONTEXT_FEATURES, MAX_LEAD, best_logits, context_features
from miner.scoring.logistic import Logistic, sigmoid
from miner.scoring.margin import candidates
from miner.scoring.pair_features import PAIR_FEATURES, PreparedText, prepare, unit_codes
from miner.scoring.verifier import FEATURES, Verifier

NO_ORDER = np.empty((0, 4), dtype=np.float32)


def flat(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, sentences)])
    return np.array([piece for one in sentences for piece in one], dtype=np.int32), offsets


def random_lexicon(generator: np.random.Generator, size: int) -> Lexicon:
    table = generator.random((size, size)) * (generator.random((size, size)) < 0.1)
    row, column = np.nonzero(table)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    frequency = generator.random(size) + 0.01
    return Lexicon(
        offsets,
        column.astype(np.int32),
        table[row, column].astype(np.float32),
        (frequency / (frequency.sum() + 1)).astype(np.float32),
    )


# --- tokens -------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_compare_is_its_reference(seed: int) -> None:
    """Empty sentences, repeats, long texts, pairs in any order."""
    generator = np.random.default_rng(seed)
    size, dimension = int(generator.integers(2, 60)), int(generator.integers(1, 20))
    longest = generator.choice([3, 12, LONGEST + 9, 5 * LONGEST], 2)
    sides = [
        [
            generator.integers(0, size, generator.integers(0, most)).tolist()
            for _ in range(generator.integers(1, 12))
        ]
        for most in longest
    ]
    embedding = generator.normal(size=(size, dimension)).astype(np.float32)
    embedding[generator.random(size) < 0.1] = 0
    weight = (generator.random(size) + 0.1).astype(np.float32)
    lexicon = random_lexicon(generator, size)
    tables = lexicon.offsets, lexicon.pieces, lexicon.probability
    m = int(generator.integers(0, 60))
    source, target = (generator.integers(0, len(side), m) for side in sides)
    out = np.full((m, COLUMNS), np.nan, dtype=np.float32)
    arguments = *unit_codes(embedding), weight, lexicon.frequency
    compare(*flat(sides[0]), *flat(sides[1]), source, target, *arguments, *tables, out, NO_ORDER)
    rows = list(zip(source.tolist(), target.tolist(), strict=True))
    arrays = [[np.array(one, dtype=np.int64) for one in side] for side in sides]
    expected = compare_reference(*arrays, rows, *arguments, tables)
    # A best similarity within rounding of MATCHED may fall on either side of it.
    np.testing.assert_allclose(
        out[:, [0, 1, 4, 5, 6, 7, 8]], expected[:, [0, 1, 4, 5, 6, 7, 8]], atol=2e-5
    )
    if m:
        assert (np.abs(out[:, 2:4] - expected[:, 2:4]) < 1e-5).mean() > 0.9


def test_a_pair_does_not_depend_on_its_batch() -> None:
    generator = np.random.default_rng(3)
    sides = [[generator.integers(0, 40, 7).tolist() for _ in range(9)] for _ in range(2)]
    embedding = generator.normal(size=(40, 8)).astype(np.float32)
    known = *unit_codes(embedding), np.ones(40, dtype=np.float32)
    lexicon = random_lexicon(generator, 40)
    tables = lexicon.frequency, lexicon.offsets, lexicon.pieces, lexicon.probability
    source, target = (grid.ravel() for grid in np.mgrid[:9, :9])
    whole = np.empty((81, COLUMNS), dtype=np.float32)
    arguments = (*flat(sides[0]), *flat(sides[1]), source, target, *known, *tables)
    compare(*arguments, whole, NO_ORDER)
    order = generator.permutation(81)
    mixed = np.empty((81, COLUMNS), dtype=np.float32)
    compare(
        *flat(sides[0]), *flat(sides[1]), source[order], target[order], *known, *tables,
        mixed, NO_ORDER,
    )  # fmt: skip
    assert (mixed == whole[order]).all()


# --- numbers ------------------------------------------------------------------------------------


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
        ("no number", []),
        ("", []),
    ],
)
def test_numbers_however_they_are_written(text: str, numbers: list[int]) -> None:
    encoded = np.frombuffer(text.encode(), dtype=np.uint8)
    values, offsets = find_numbers(encoded, np.array([0, len(encoded)]))
    assert values.tolist() == numbers == find_numbers_reference(text)
    assert offsets.tolist() == [0, len(numbers)]


@given(st.lists(st.text(alphabet="019,. '\u00a0\u2019\u202fé漢x-"), max_size=8))
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
    source, target = np.array(rows).T
    found = shared_numbers(
        values.astype(np.uint64), offsets, values.astype(np.uint64), offsets, source, target
    )
    assert found.tolist() == shared_numbers_reference(sets, sets, rows)


# --- translation probabilities ------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_model1_is_its_reference(seed: int, iterations: int, lanes: int) -> None:
    generator = np.random.default_rng(seed)
    size, n = int(generator.integers(2, 15)), int(generator.integers(1, 12))
    sides = [
        [generator.integers(0, size, generator.integers(0, 6)).tolist() for _ in range(n)]
        for _ in range(2)
    ]
    left, right = (distinct(*flat(side)) for side in sides)
    sets = [[sorted(set(one)) for one in side] for side in sides]
    assert (left[0] == flat(sets[0])[0]).all() and (left[1] == flat(sets[0])[1]).all()
    starts, where = occurrences(*left, size)
    rows = np.zeros(size + 1, dtype=np.int64)
    none = np.empty(0, dtype=np.int32)
    np.cumsum(partners(starts, where, *right, 1, rows, none, lanes), out=rows[1:])
    columns = np.empty(rows[-1], dtype=np.int32)
    if len(columns):
        partners(starts, where, *right, 1, rows, columns, lanes)
    frequency = (generator.random(size) + 0.1).astype(np.float32)
    probability = np.repeat(1 / np.maximum(np.diff(rows), 1), np.diff(rows)).astype(np.float32)
    for _ in range(iterations):
        expected = np.empty(len(right[0]), dtype=np.float32)
        expectation(*left, *right, rows, columns, probability, frequency, expected)
        probability = maximisation(
            starts, where, *right, rows, columns, probability, expected, lanes
        )
    dense = np.zeros((size, size))
    dense[np.repeat(np.arange(size), np.diff(rows)), columns] = probability
    reference = model1_reference(sets[0], sets[1], size, frequency, iterations)
    np.testing.assert_allclose(dense, reference, atol=1e-4)


def test_the_languages_choose_the_lexicon(verifying_model: Path) -> None:
    encoder = Encoder.load(verifying_model)
    generator = np.random.default_rng(8)
    lexicons = random_lexicons(generator, encoder.tokenizer.size, ["de-en", "fr-en"])
    encoder = Encoder(dataclasses.replace(encoder.model, lexicons=lexicons))
    unknown = Verifier(encoder)
    first, later = Verifier(encoder, ("de", "en")), unknown.of(("de", "en"))
    assert unknown.tokens is not None and unknown.of((None, None)) is unknown
    again = unknown.of(("en", "de"))
    for verifier in (first, later, again):
        found, expected = verifier.tokens.lexicon, lexicons.of("de", "en")
        assert (found.pieces == expected.pieces).all()
        assert (found.probability == expected.probability).all()
    assert again.tokens.codes is unknown.tokens.codes
    assert len(unknown.tokens.lexicon.pieces) != len(first.tokens.lexicon.pieces)


def test_a_lexicon_that_contradicts_itself_is_refused() -> None:
    lexicon = random_lexicon(np.random.default_rng(5), 30)
    for change in (
        {"pieces": lexicon.pieces + 30},
        {"offsets": lexicon.offsets[:-1]},
        {"frequency": np.zeros(30, np.float32)},
        {"probability": lexicon.probability + 1},
    ):
        with pytest.raises(ValueError, match="contradict"):
            dataclasses.replace(lexicon, **change)


# --- features -----------------------------------------------------------------------------------


def lists(similarity: list[list[float]], row: list[list[int]]) -> Neighbors:
    return Neighbors(np.array(similarity, np.float32), np.array(row))


def test_leads_gaps_and_ranks() -> None:
    """Two sources, two targets; (0, 0) is the best of both, (1, 1) has one rival."""
    forward = lists([[0.9, 0.4], [0.5, 0.3]], [[0, 1], [1, 0]])
    backward = lists([[0.9, -np.inf], [0.5, 0.4]], [[0, -1], [1, 0]])
    found = candidates(forward, backward)
    pairs = list(zip(found.source_row.tolist(), found.target_row.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    alone = np.array([3.0, -1.0, -2.0, 1.0])
    best = best_logits(found, alone, (2, 2))
    features = dict(
        zip(
            CONTEXT_FEATURES, context_features(found, forward, backward, alone, best).T, strict=True
        )
    )
    assert features["alone"].tolist() == alone.tolist()
    # (0, 0): leads (0, 1) by 4 and (1, 0) by 5; (1, 1): (1, 0) by 3 and (0, 1) by 2.
    assert features["lead"].tolist() == [4.5, -3.0, -4.0, 2.5]
    assert features["lead_min"].tolist() == [4.0, -4.0, -5.0, 2.0]
    assert (features["lead_second"] == MAX_LEAD).all()  # nobody has two rivals
    np.testing.assert_allclose(features["gap_min"], [0.5, -0.5, -0.6, 0.1], atol=1e-6)
    np.testing.assert_allclose(features["rank"], np.log([1, 2, 3, 1]), atol=1e-6)


def test_swapping_the_sides_changes_nothing(
    verifying_model: Path, german: list[str], english: list[str]
) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    left, right = verifier.prepare(german), verifier.prepare(english)
    source, target = (grid.ravel() for grid in np.mgrid[:60, :60])
    one = verifier.tokens.pair_features(left, right, source, target)
    other = verifier.tokens.pair_features(right, left, target, source)
    symmetric = [name != "shared_pieces" for name in PAIR_FEATURES]
    np.testing.assert_allclose(one[:, symmetric], other[:, symmetric], atol=1e-5)


def test_translations_look_better_than_others(
    verifying_model: Path, german: list[str], english: list[str]
) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    left, right = verifier.prepare(german), verifier.prepare(english)
    rows = np.arange(60)
    true = verifier.tokens.pair_features(left, right, rows, rows)
    false = verifier.tokens.pair_features(left, right, rows, np.roll(rows, 7))
    for name, more in (
        ("alignment", True),
        ("unmatched", False),
        ("association", True),
        ("translated", True),
    ):
        column = PAIR_FEATURES.index(name)
        difference = true[:, column].mean() - false[:, column].mean()
        assert (difference > 0) == more, name


def test_sentences_without_tokens_have_features(verifying_model: Path) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    left, right = verifier.prepare(["", "漢字", "12"]), verifier.prepare(["Haus", ""])
    source, target = (grid.ravel() for grid in np.mgrid[:3, :2])
    assert np.isfinite(verifier.tokens.pair_features(left, right, source, target)).all()
    assert len(verifier.prepare([])) == 0


def test_taking_and_joining_texts(verifying_model: Path, german: list[str]) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    whole = verifier.prepare(german)
    joined = verifier.prepare(german[:20]).join(verifier.prepare(german[20:]))
    taken = whole.take(np.arange(60))
    for field in dataclasses.fields(whole):
        assert (getattr(joined, field.name) == getattr(whole, field.name)).all()
        assert (getattr(taken, field.name) == getattr(whole, field.name)).all()
    assert whole.take(np.array([3, 3])).characters.tolist() == [len(german[3])] * 2


# --- the functions ------------------------------------------------------------------------------


def test_logistic_is_what_it_says() -> None:
    function = Logistic(("a", "b"), 0.5, np.array([2.0, -1.0]), np.array([1.0, 0.0]))
    features = np.array([[1, 0], [2, 3]], dtype=np.float32)
    assert function.logit(features).tolist() == [0.5, -0.5]
    assert function.parts(features).tolist() == [[0, 0], [2, -3]]
    again = Logistic.from_dict(json.loads(json.dumps(function.as_dict())), ("a", "b"))
    assert again.logit(features).tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match="other features"):
        Logistic.from_dict(function.as_dict(), ("a", "c"))
    broken = function.as_dict() | {"intercept": float("nan")}
    with pytest.raises(ValueError, match="not finite"):
        Logistic.from_dict(broken, ("a", "b"))
    assert sigmoid(np.array([-800.0, 0.0, 800.0])).tolist() == [0.0, 0.5, 1.0]


# --- the model's files --------------------------------------------------------------------------


def test_a_model_carries_its_verifier(verifying_model: Path, tiny_model: Path) -> None:
    model = load(verifying_model)
    assert model.verifier is not None and model.lexicons is not None
    assert len(model.read_decoys()) > 600
    assert load(tiny_model).verifier is None and load(tiny_model).read_decoys() == []
    # The verifier does not change the vectors.
    assert model.fingerprint == load(tiny_model).fingerprint


@pytest.mark.parametrize("name", [LEXICON, VERIFIER, DECOYS])
def test_an_altered_verifier_is_refused(verifying_model: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "model"
    shutil.copytree(verifying_model, copy)
    with open(copy / name, "ab") as file:
        file.write(b"x")
    with pytest.raises(ArtifactError, match=f"{name}: does not match"):
        load(copy)
    (copy / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name}: cannot be read"):
        load(copy)


def test_decoys_that_changed_since_are_refused(verifying_model: Path, tmp_path: Path) -> None:
    model = load(shutil.copytree(verifying_model, tmp_path / "model"))
    (tmp_path / "model" / DECOYS).write_bytes(lzma.compress(b"other\n"))
    with pytest.raises(ArtifactError, match=f"{DECOYS}: does not match"):
        model.read_decoys()


# --- in a search --------------------------------------------------------------------------------


def test_more_targets_and_decoys_than_rows_count_are_refused() -> None:
    blocks: Any = SimpleNamespace(backward=range(2**31), spans=lambda size: [])
    with pytest.raises(ResourceError, match="^2,147,483,648 targets and decoys.*split the corpus$"):
        verification.choose_by_probability(blocks, "max", None, None, 1 << 30)  # type: ignore[arg-type]


def test_probability_ranks_where_there_is_a_verifier(
    verifying: tuple[Index, Index], indexes: tuple[Index, Index]
) -> None:
    pairs = search(*verifying)
    assert pairs.features is not None and pairs.features.shape == (len(pairs), len(FEATURES))
    assert ((pairs.score >= 0) & (pairs.score <= 1)).all()
    assert (np.diff(pairs.score) <= 0).all()
    right = sum(s == t for s, t in zip(pairs.source_row, pairs.target_row, strict=True))
    assert right > 50
    by_margin = search(*verifying, SearchSettings(rank="margin"))
    assert by_margin.features is None and by_margin.score[0] > 1
    assert search(*indexes).features is None  # this model has none


def test_threads_and_blocks_do_not_matter(verifying: tuple[Index, Index]) -> None:
    one, other = (search(*verifying, SearchSettings(threads=n)) for n in (1, 3))
    for name in ("score", "source_row", "target_row", "features"):
        assert (getattr(one, name) == getattr(other, name)).all()


def test_features_belong_to_their_pairs(verifying: tuple[Index, Index]) -> None:
    found = run(*verifying, verifier_for(verifying[0]))
    pairs = found.pairs
    assert found.verifier and found.source_text and found.target_text and pairs.features is not None
    own = found.verifier.tokens.pair_features(
        found.source_text, found.target_text, pairs.source_row, pairs.target_row
    )
    assert (pairs.features[:, : len(PAIR_FEATURES)] == own).all()
    again = found.verifier.context_function.logit(pairs.features[:, len(PAIR_FEATURES) :])
    assert (sigmoid(again) == pairs.score).all()


def test_a_verifier_that_is_not_there(
    indexes: tuple[Index, Index], verifying: tuple[Index, Index], other_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactError, match="carries no verifier"):
        search(*indexes, SearchSettings(rank="probability"))
    with pytest.raises(MismatchError, match="verify with the model that built it"):
        search(*verifying, SearchSettings(rank="probability"), encoder=Encoder.load(other_model))
    copies = []
    for index in verifying:
        place = tmp_path / index.path.name
        shutil.copytree(index.path, place)
        model = {**index.meta["model"], "name": str(tmp_path / "gone")}
        without_checksums(place, model=model)
        copies.append(Index.open(place))
    assert search(*copies).features is None
    with pytest.raises(ArtifactError, match="say where the model is now"):
        search(*copies, SearchSettings(rank="probability"))
    encoder = Encoder.load(verifying[0].model_name)
    assert search(*copies, encoder=encoder).features is not None


def test_a_faulty_verifier_is_an_error(verifying_model: Path) -> None:
    encoder = Encoder.load(verifying_model)
    assert encoder.model.verifier is not None
    broken = dict(encoder.model.verifier)
    del broken["among"]
    encoder.model = dataclasses.replace(encoder.model, verifier=broken)
    with pytest.raises(ArtifactError, match="cannot be used"):
        Verifier(encoder)


def test_text_on_disk_is_prepared_alike(verifying: tuple[Index, Index]) -> None:
    texts = verifying[0].store.texts
    tokenizer = Encoder.load(verifying[0].model_name).tokenizer
    held, mapped = (prepare_texts(texts, tokenizer, 2, memory) for memory in (1 << 40, 0))
    whole = prepare(tokenizer, texts.slice(0, len(texts)), 1)
    for field in dataclasses.fields(whole):
        wanted = getattr(whole, field.name)
        assert isinstance(getattr(mapped, field.name), np.memmap) or not len(wanted)
        for found in (held, mapped):
            assert getattr(found, field.name).dtype == wanted.dtype
            np.testing.assert_array_equal(getattr(found, field.name), wanted)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_no_space_for_prepared_text(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = Encoder.load(verifying[0].model_name).tokenizer
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: full)
    place = re.escape(tempfile.gettempdir())
    full = io.BufferedWriter(io.FileIO("/dev/full", "w"))
    with pytest.raises(ResourceError, match=f"{place}: cannot be written: no space left"):
        prepare_texts(verifying[0].store.texts, tokenizer, 2, 0)


def test_blocks_of_candidates_do_not_matter(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search(*verifying)
    monkeypatch.setattr(verification, "BLOCK", 50)
    for name in ("score", "source_row", "target_row", "cosine", "features"):
        np.testing.assert_array_equal(getattr(search(*verifying), name), getattr(whole, name))


def test_a_search_tokenises_a_sentence_once(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[str] = []

    def counted(tokenizer: Tokenizer, sentences: list[str], threads: int) -> PreparedText:
        prepared.extend(sentences)
        return prepare(tokenizer, sentences, threads)

    monkeypatch.setattr(verification, "prepare", counted)
    search(*verifying)
    assert len(prepared) == len(verifying[0]) + len(verifying[1])
