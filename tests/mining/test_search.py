"""miner.mining.search: pairs found, cut and written; the same whatever the machine."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from support.indexes import without_checksums

from miner.encoder.encoder import Encoder
from miner.errors import MismatchError, ResourceError
from miner.index.index import Index
from miner.knn import knn_search
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.mining.pairs import Pairs, each_duplicate
from miner.mining.search import search
from miner.names import MARGINS, RETRIEVALS
from miner.text.bitext import read_bitext
from miner.text.words import plain_form

# The package's name `search` is the function.
searching = importlib.import_module("miner.mining.search")
writing = importlib.import_module("miner.mining.pairs")

Build = Callable[..., Index]
Mined = list[tuple[float, str, str]]


@pytest.fixture
def build(encoder: Encoder, tmp_path: Path) -> Build:
    """An index of these sentences; the file's name is the index's."""

    def build(name: str, sentences: Sequence[str], **settings: Any) -> Index:
        (tmp_path / name).write_text("".join(f"{s}\n" for s in sentences), encoding="utf-8")
        return Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index", **settings)

    return build


@pytest.fixture(scope="module")
def pairs(indexes: tuple[Index, Index]) -> Pairs:
    return search(*indexes, SearchSettings(device="cpu", threads=2))


def mine(source: Index, target: Index, **settings: Any) -> Pairs:
    return search(source, target, SearchSettings(**{"device": "cpu", "threads": 2} | settings))


def rows(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.source_row.tolist(), pairs.target_row.tolist(), strict=True))


def same(one: Pairs, other: Pairs) -> None:
    for name in (
        "score", "source_row", "target_row", "cosine", "margin_ratio", "forward_rank",
        "backward_rank",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def read_tsv(path: Path) -> Mined:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    return [(float(score), left, right) for score, left, right in rows]


# --- what is found ------------------------------------------------------------------------------


def test_translations_are_found(pairs: Pairs) -> None:
    assert np.mean(pairs.source_row == pairs.target_row) > 0.9
    assert len(pairs) > 50
    assert np.bincount(pairs.source_row).max() == np.bincount(pairs.target_row).max() == 1
    keys = list(zip(-pairs.score, pairs.source_row, pairs.target_row, strict=True))
    assert keys == sorted(keys)


def test_columns_say_what_they_are(pairs: Pairs) -> None:
    source, target = pairs.source.store.vectors, pairs.target.store.vectors
    exact = np.einsum(
        "ij,ij->i",
        source[pairs.source_row].astype(np.float64),
        target[pairs.target_row].astype(np.float64),
    )
    np.testing.assert_array_equal(pairs.cosine, exact.astype(np.float32))
    np.testing.assert_array_equal(pairs.margin_ratio, pairs.score)
    assert pairs.score.dtype == np.float64 and pairs.cosine.dtype == np.float32
    assert ((pairs.forward_rank > 0) | (pairs.backward_rank > 0)).all()
    assert max(pairs.forward_rank.max(), pairs.backward_rank.max()) <= 4


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_margins_and_retrievals(indexes: tuple[Index, Index], margin: str, retrieval: str) -> None:
    found = mine(*indexes, margin=margin, retrieval=retrieval)
    if margin == "absolute":
        np.testing.assert_array_equal(found.score, found.cosine.astype(np.float64))
    if margin == "ratio":
        np.testing.assert_array_equal(found.score, found.margin_ratio)
    if retrieval == "forward":
        assert sorted(found.source_row.tolist()) == list(range(60))
    if retrieval == "backward":
        assert sorted(found.target_row.tolist()) == list(range(60))
    assert np.mean(found.source_row == found.target_row) > 0.85


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_a_threshold_keeps_what_equals_it(indexes: tuple[Index, Index], retrieval: str) -> None:
    """In every retrieval mode: at a score, that score stays and the next lower one goes."""
    found = mine(*indexes, retrieval=retrieval)
    for place in (0, 10, len(found) - 1):
        threshold = float(found.score[place])
        kept = found.at_least(threshold)
        expected = [pair for pair in found.texts() if pair[0] >= threshold]
        assert list(kept.texts()) == expected and len(kept) >= place + 1
        assert found.count_at_least(threshold) == len(kept)
        assert len(found.at_least(np.nextafter(threshold, np.inf))) <= place
    assert len(found.at_least(-np.inf)) == len(found)
    assert len(found.at_least(np.inf)) == len(found.at_least(np.nan)) == 0


def test_short_names(indexes: tuple[Index, Index]) -> None:
    same(mine(*indexes, retrieval="fwd"), mine(*indexes, retrieval="forward"))
    same(mine(*indexes, retrieval="intersect"), mine(*indexes, retrieval="intersection"))


@pytest.mark.parametrize("setting", ["margin", "retrieval", "duplicates"])
def test_unknown_names(indexes: tuple[Index, Index], setting: str) -> None:
    with pytest.raises(ValueError, match="unknown name 'best'"):
        mine(*indexes, **{setting: "best"})


@pytest.mark.parametrize(
    "settings",
    [{"threads": 1}, {"threads": 3}, {"memory": 64 << 20}, {"memory": 1 << 40}, {"block": 256},
     {"block": 5}],
    ids=str,
)  # fmt: skip
def test_pairs_do_not_depend_on_the_machine(
    pairs: Pairs,
    indexes: tuple[Index, Index],
    settings: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(knn_search, "BLOCK", settings.pop("block", knn_search.BLOCK))
    same(mine(*indexes, **settings), pairs)


def test_sides_can_be_swapped(pairs: Pairs, indexes: tuple[Index, Index]) -> None:
    swapped = mine(*indexes[::-1])
    assert sorted(rows(pairs)) == sorted((s, t) for t, s in rows(swapped))
    np.testing.assert_array_equal(np.sort(swapped.score), np.sort(pairs.score))


def test_k_above_the_corpus(indexes: tuple[Index, Index]) -> None:
    assert len(mine(*indexes, k=1000)) > 50


def test_too_little_memory(indexes: tuple[Index, Index]) -> None:
    with pytest.raises(ResourceError, match="--memory"):
        mine(*indexes, memory=1 << 20)


def test_compressed_indexes(build: Build, german: list[str], english: list[str]) -> None:
    flat = mine(build("a", german), build("b", english))
    compressed = mine(build("c", german, index="IVF2,Flat"), build("d", english, index="HNSW16"))
    found = set(rows(flat)) & set(rows(compressed))
    assert len(found) > 30
    mixed = mine(flat.source, compressed.target)
    assert len(set(rows(flat)) & set(rows(mixed))) > 40


def test_the_hybrid_engine_finds_the_pairs(
    indexes: tuple[Index, Index], pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knn_search, "HYBRID", 0)
    settings = SearchSettings(device="cpu", threads=2, engine="hybrid")
    for verifier in (searching.verifier_for(indexes[0]), None):
        found = searching.run(*indexes, verifier, settings)
        assert len(set(rows(found.pairs)) & set(rows(pairs))) > 0.8 * len(pairs)
        assert found.recall.forward > 0.5 and found.recall.backward > 0.5
        assert 0 <= found.recall.found <= found.recall.likely <= 8 * 2 * len(indexes[0])
        assert "recall of neighbours" in str(found.recall)


def test_auto_is_hybrid_for_very_large_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = (VectorSet(np.ones((n, 2), np.float16), np.arange(n)) for n in (20, 30))
    compressed = VectorSet(left.vectors, left.rows, object())
    choose, auto = searching.chosen_engine, SearchSettings(device="cpu")
    assert auto.engine == "auto" and choose(left, right, auto, True) == "fused"
    monkeypatch.setattr(searching, "LARGE", 600)
    assert choose(left, right, auto, True) == "hybrid"
    assert choose(left, right, replace(auto, engine="faiss"), True) == "faiss"
    assert choose(left, right, auto, False) == "fused"
    assert choose(left, right, replace(auto, exact=True), True) == "fused"
    assert choose(compressed, right, auto, True) == "fused"
    monkeypatch.setattr(searching, "search_device", lambda device, engine: "cuda")
    assert choose(left, right, replace(auto, device="auto"), True) == "fused"


def test_two_models(
    indexes: tuple[Index, Index], other_model: Path, english_file: Path, tmp_path: Path
) -> None:
    other = Index.build(Encoder.load(other_model), english_file, tmp_path / "other")
    with pytest.raises(MismatchError) as caught:
        mine(indexes[0], other)
    for index in (indexes[0], other):
        for word in (str(index.path), index.model_name, index.fingerprint):
            assert word in str(caught.value)
    assert "\n" not in str(caught.value)


# --- duplicates and odd corpora -----------------------------------------------------------------


def test_duplicates_are_reported_once_or_each(
    build: Build, german: list[str], english: list[str]
) -> None:
    source = build("a", [german[0], german[1], german[0], german[0], german[2]])
    target = build("b", [english[2], english[0], english[1], english[0]])
    first = mine(source, target)
    assert sorted(rows(first)) == [(0, 1), (1, 2), (4, 0)]
    each = mine(source, target, duplicates="each")
    assert sorted(rows(each)) == [(0, 1), (1, 2), (2, 3), (4, 0)]
    by_pair = dict(zip(rows(each), each.score.tolist(), strict=True))
    assert by_pair[0, 1] == by_pair[2, 3]
    keys = list(zip(-each.score, each.source_row, each.target_row, strict=True))
    assert keys == sorted(keys)
    threshold = float(each.score[1])
    assert len(each.at_least(threshold)) == np.count_nonzero(each.score >= threshold)


def test_duplicates_do_not_change_the_neighbourhood(
    build: Build, pairs: Pairs, german: list[str], english: list[str]
) -> None:
    repeated = mine(build("a", german + german[:30] * 3), build("b", english + english[20:] * 2))
    same(repeated, pairs)


def test_identical_corpora(build: Build, german: list[str]) -> None:
    found = mine(build("a", german), build("b", german))
    assert sorted(rows(found)) == [(row, row) for row in range(60)]
    np.testing.assert_allclose(found.cosine, 1, atol=2e-3)


def test_an_index_against_itself(indexes: tuple[Index, Index]) -> None:
    found = mine(indexes[0], indexes[0])
    assert sorted(rows(found)) == [(row, row) for row in range(60)]


def test_ten_thousand_duplicates(build: Build, german: list[str], english: list[str]) -> None:
    source = build("a", [german[0]] * 10_000 + german[1:])
    target = build("b", [*english[1:], *[english[0]] * 10_000])
    first = mine(source, target)
    assert len(first) <= 60 and (0, 59) in rows(first)
    each = mine(source, target, duplicates="each")
    assert len(each) == len(first) + 9_999
    copies = each.take(each.source_row < 10_000)
    assert rows(copies) == [(row, 59 + row) for row in range(10_000)]


def test_one_sentence_each(build: Build, german: list[str], english: list[str]) -> None:
    found = mine(build("a", german[:1]), build("b", english[:1]))
    assert rows(found) == [(0, 0)]
    assert found.forward_rank.tolist() == found.backward_rank.tolist() == [1]


@pytest.mark.parametrize("nothing", [[], ["", " ", ""], ["日本", "日本語"]], ids=str)
@pytest.mark.parametrize("duplicates", ["first", "each"])
def test_nothing_to_find(
    build: Build, german: list[str], nothing: list[str], duplicates: str, tmp_path: Path
) -> None:
    empty, full = build("a", nothing), build("b", german)
    for source, target in ((empty, full), (full, empty), (empty, empty)):
        for retrieval in RETRIEVALS:
            found = mine(source, target, retrieval=retrieval, duplicates=duplicates)
            assert len(found) == len(found.top(3)) == len(found.at_least(0)) == 0
            assert list(found.texts()) == list(found.ids()) == []
    found.write(tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == b""


def test_sentences_without_vector_are_never_paired(
    build: Build, german: list[str], english: list[str]
) -> None:
    found = mine(build("a", ["日本", german[0]]), build("b", [english[0], "日本"]))
    assert rows(found) == [(1, 0)]


# --- cutting and writing ------------------------------------------------------------------------


def test_top(pairs: Pairs) -> None:
    assert rows(pairs.top(3)) == rows(pairs)[:3]
    assert len(pairs.top(0)) == len(pairs.top(-1)) == 0
    assert len(pairs.top(10_000)) == len(pairs)


def test_text_reads_back_the_same(pairs: Pairs, tmp_path: Path, german: list[str]) -> None:
    pairs.write(tmp_path / "out.tsv")
    written = read_tsv(tmp_path / "out.tsv")
    assert written == list(pairs.texts())
    assert [score for score, _, _ in written] == pairs.score.tolist(), "to the last bit"
    assert written[0][1] == german[pairs.source_row[0]]


def test_ids_read_back_the_same(pairs: Pairs, tmp_path: Path) -> None:
    pairs.write(tmp_path / "out.tsv", ids=True)
    written = read_tsv(tmp_path / "out.tsv")
    assert written == list(pairs.ids())
    assert [(int(s) - 1, int(t) - 1) for _, s, t in written] == rows(pairs)


@pytest.mark.parametrize("ids", [False, True])
def test_bucc_has_ids_alone(pairs: Pairs, tmp_path: Path, ids: bool) -> None:
    pairs.write(tmp_path / "out", bucc=True, ids=ids)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [f"{s}\t{t}" for _, s, t in pairs.ids()]


@pytest.mark.parametrize("ids", [False, True])
def test_json_lines(pairs: Pairs, tmp_path: Path, ids: bool) -> None:
    pairs.write(tmp_path / "out.jsonl.gz", ids=ids)
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as file:
        found = [tuple(json.loads(line).values()) for line in file]
    assert found == list(pairs.ids() if ids else pairs.texts())
    if not ids:
        assert len(read_bitext(tmp_path / "out.jsonl.gz")) == len(pairs)
    with pytest.raises(ValueError, match=r"rows of tsv would be written there; name it \.tsv"):
        pairs.write(tmp_path / "out.jsonl", bucc=True)


@pytest.mark.parametrize(
    ("suffix", "opened"), [(".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)]
)
def test_compressed_text(
    pairs: Pairs, tmp_path: Path, suffix: str, opened: Callable[..., Any]
) -> None:
    pairs.write(tmp_path / "out.tsv")
    pairs.write(tmp_path / f"out.tsv{suffix}")
    with opened(tmp_path / f"out.tsv{suffix}", "rb") as file:
        assert file.read() == (tmp_path / "out.tsv").read_bytes()


def test_writing_in_blocks(pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs.write(tmp_path / "one.tsv")
    monkeypatch.setattr(writing, "BLOCK", 7)
    pairs.write(tmp_path / "two.tsv")
    assert (tmp_path / "one.tsv").read_bytes() == (tmp_path / "two.tsv").read_bytes()


def test_a_cell_is_one_cell(build: Build, tmp_path: Path) -> None:
    """Tabs and carriage returns inside a sentence become spaces, in ids as well."""
    index = build("a", ["Der\tHund\rbellt\u2028laut"])
    mine(index, index).write(tmp_path / "out.tsv")
    (row,) = read_tsv(tmp_path / "out.tsv")
    assert row[1:] == ("Der Hund bellt\u2028laut",) * 2


@pytest.mark.parametrize("size", [7, 16_384])
def test_parquet(pairs: Pairs, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(writing, "BLOCK", size)
    pairs.write(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    texts, ranks = ["src_id", "tgt_id", "src", "tgt"], ["forward_rank", "backward_rank"]
    assert list(table) == [*texts, "score", "margin_ratio", "cosine", *ranks]
    assert list(zip(table["score"], table["src"], table["tgt"], strict=True)) == list(pairs.texts())
    ids = list(zip(table["score"], table["src_id"], table["tgt_id"], strict=True))
    assert ids == list(pairs.ids())
    for name in ("score", "margin_ratio", "cosine", "forward_rank", "backward_rank"):
        assert table[name] == getattr(pairs, name).tolist()


def test_parquet_of_no_pairs(pairs: Pairs, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pairs.top(0).write(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 0 and table.num_columns == 9


def test_output_appears_whole_or_not_at_all(
    pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.tsv").write_text("older")
    original = Index.sentences
    calls = iter(range(100))

    def failing(self: Index, rows: np.ndarray) -> list[str]:
        if next(calls) >= 4:
            raise KeyboardInterrupt
        return original(self, rows)

    monkeypatch.setattr(writing, "BLOCK", 7)
    monkeypatch.setattr(Index, "sentences", failing)
    with pytest.raises(KeyboardInterrupt):
        pairs.write(tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.tsv"]


def test_duplicates_are_paired_in_order_and_ties_go_by_row() -> None:
    """Two pairs of one score, each with duplicates: by source row, whichever pair they are of."""
    source, target = (
        SimpleNamespace(store=SimpleNamespace(first=np.array(first)))
        for first in ([0, 1, 0, 1, 4], [0, 1, 1, 0, 0])
    )
    columns = np.zeros(2, np.float32), np.zeros(2), np.ones(2, np.int16), np.ones(2, np.int16)
    found = Pairs(
        np.array([0.5, 0.5]), np.array([0, 1]), np.array([1, 0]), *columns, source, target
    )  # fmt: skip
    pairs = each_duplicate(found)
    rows = list(zip(pairs.source_row.tolist(), pairs.target_row.tolist(), strict=True))
    assert rows == [(0, 1), (1, 0), (2, 2), (3, 3)]


def variants(sentence: str) -> list[str]:
    """Near-identical forms: spaces, final punctuation, letter case, Unicode form."""
    return [
        sentence.replace(" ", "  "),
        sentence.rstrip(".") + " .",
        sentence.upper(),
        unicodedata.normalize("NFD", sentence),
    ]


def test_near_identical_duplicates_are_no_rivals(
    verifying: tuple[Index, Index], german: list[str], english: list[str], tmp_path: Path
) -> None:
    """A sentence in several forms takes part once, in every rank, and is reported as asked."""
    encoder = Encoder.load(verifying[0].model_name)

    def build(name: str, lines: list[str]) -> Index:
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index")

    more = [form for sentence in english for form in variants(sentence)]
    source, target = build("de", german), build("en", english + more)
    assert target.distinct == verifying[1].distinct
    for rank in ("probability", "margin"):
        settings = SearchSettings(rank=rank)
        found, wanted = search(source, target, settings), search(*verifying, settings)
        assert (found.score == wanted.score).all()
        assert (found.target_row == wanted.target_row).all()
    # An index that was built before forms were compared finds the same.
    with h5py.File(without_checksums(target.path) / "embeddings.h5", "r+") as file:
        file["first"][:] = np.arange(len(target))
        del file.attrs["plain_forms"]
    again = search(source, Index.open(target.path), SearchSettings(rank="margin"))
    assert (again.score == wanted.score).all() and (again.target_row == wanted.target_row).all()


def test_questions_are_no_duplicates_of_statements() -> None:
    assert plain_form("You know.") == plain_form(" you  KNOW ") == plain_form("You know…\u201d")
    assert plain_form("You know?") != plain_form("You know.")
    assert plain_form("...") == "..." and plain_form("ﬁn.") == "fin"
