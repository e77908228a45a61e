"""miner.search: the mined pairs, equal on every machine."""

import unicodedata

import numpy as np
import pytest
from support.files import write
from support.mined_pairs import Build, build, mine, pairs, rows  # noqa: F401 (fixtures)

from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.mine import search
from miner.option_values import RETRIEVALS
from miner.scoring.pairs import Pairs
from miner.text.words import plain_form


def same(one: Pairs, other: Pairs) -> None:
    for name in (
        "score", "source_row", "target_row", "cosine", "margin_ratio", "forward_rank",
        "backward_rank",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


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


@pytest.mark.parametrize("retrieval", RETRIEVALS)
def test_a_threshold_keeps_what_equals_it(indexes: tuple[Index, Index], retrieval: str) -> None:
    """At a threshold equal to a score, that score is kept and the next lower one dropped."""
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


def test_sides_can_be_swapped(pairs: Pairs, indexes: tuple[Index, Index]) -> None:
    swapped = mine(*indexes[::-1])
    assert sorted(rows(pairs)) == sorted((s, t) for t, s in rows(swapped))
    np.testing.assert_array_equal(np.sort(swapped.score), np.sort(pairs.score))


def test_duplicates_are_reported_once_or_each(build, german, english):
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


def test_duplicates_do_not_change_the_neighbourhood(build, pairs, german, english):
    repeated = mine(build("a", german + german[:30] * 3), build("b", english + english[20:] * 2))
    same(repeated, pairs)


def test_a_margin_implies_the_rank() -> None:
    assert SearchSettings(margin="ratio").rank == "margin" and SearchSettings().rank is None
    with pytest.raises(ValueError, match="ranks by margin"):
        SearchSettings(rank="probability", margin="ratio")


def test_an_index_against_itself(indexes: tuple[Index, Index]) -> None:
    found = mine(indexes[0], indexes[0])
    assert sorted(rows(found)) == [(row, row) for row in range(60)]


def test_sentences_without_vector_are_never_paired(build, german, english):
    found = mine(build("a", ["日本", german[0]]), build("b", [english[0], "日本"]))
    assert rows(found) == [(1, 0)]


def variants(sentence: str) -> list[str]:
    """Return near-identical forms of a sentence: spaces, final punctuation, case, Unicode form."""
    return [
        sentence.replace(" ", "  "),
        sentence.rstrip(".") + " .",
        sentence.upper(),
        unicodedata.normalize("NFD", sentence),
    ]


def test_near_identical_duplicates_are_no_rivals(verifying, lone_file, english, tmp_path):
    """Several forms of a sentence compete once, by every ranking, and are reported as requested."""
    encoder = Encoder.load(verifying[0].model_name)

    def build(name: str, lines: list[str]) -> Index:
        return Index.build(encoder, write(tmp_path / name, lines), tmp_path / f"{name}.index")

    more = [form for sentence in english for form in variants(sentence)]
    german = lone_file.read_text("utf-8").splitlines()
    source, target = build("de", german), build("en", english + more)
    assert target.distinct == verifying[1].distinct
    for rank in ("probability", "margin"):
        settings = SearchSettings(rank=rank)
        found, wanted = search(source, target, settings), search(*verifying, settings)
        assert (found.score == wanted.score).all()
        assert (found.target_row == wanted.target_row).all()


def test_questions_are_no_duplicates_of_statements() -> None:
    assert plain_form("You know.") == plain_form(" you  KNOW ") == plain_form("You know…\u201d")
    assert plain_form("You know?") != plain_form("You know.")
    assert plain_form("...") == "..." and plain_form("ﬁn.") == "fin"
