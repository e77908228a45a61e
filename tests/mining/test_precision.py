"""Precision without gold: the estimate on scores whose truth is known, and on a small search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.encoder.encoder import Encoder
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ResourceError
from miner.index.index import Index
from miner.index.store import Store
from miner.knn.neighbors import Neighbors
from miner.mining import decoys, precision
from miner.mining.decoys import _alike, _merged
from miner.mining.precision import Estimate, estimate, false_discovery, rounded
from miner.mining.search import run, verifier_for
from miner.scoring.logistic import sigmoid
from miner.scoring.pair_features import PreparedText, TokenTable, prepare
from miner.scoring.verifier import Verifier


def world(
    seed: int, right: int, wrong: int, decoys: int, offset: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of pairs, best first, which of them are right, and scores of decoys.

    Wrong pairs and decoys have log-odds of one distribution, decoys ``offset`` fewer in number
    (natural logarithm).
    """
    generator = np.random.default_rng(seed)
    score = sigmoid(
        np.concatenate([generator.normal(3, 1.5, right), generator.logistic(-6, 0.8, wrong)])
    )
    true = np.arange(right + wrong) < right
    order = np.argsort(-score)
    seen = generator.binomial(decoys, np.exp(-offset))
    return score[order], true[order], sigmoid(generator.logistic(-6, 0.8, seen))


def estimated(
    score: np.ndarray, decoy: np.ndarray, targets: int, decoys: int
) -> tuple[np.ndarray, np.ndarray]:
    one = np.zeros(len(score), dtype=np.int64), np.zeros(len(decoy), dtype=np.int64)
    return false_discovery(score, one[0], decoy, one[1], np.array([targets]), np.array([decoys]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("right", [300, 3000])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_what_is_asked_is_reached(seed: int, right: int, share: float) -> None:
    wrong = 20_000
    score, true, decoy = world(seed, right, wrong, int(wrong * share))
    _, q_value = estimated(score, decoy, wrong, int(wrong * share))
    for asked in (0.9, 0.95, 0.98):
        kept = int(np.searchsorted(q_value, 1 - asked, side="right"))
        assert kept > right / 3
        assert true[:kept].mean() == pytest.approx(asked, abs=0.06 if right == 300 else 0.03)


def test_decoys_that_match_less_are_scaled() -> None:
    """Half as many decoys are matched as the corpus's own wrong pairs: the low scores tell."""
    score, true, decoy = world(1, 1000, 20_000, 20_000, offset=np.log(2))
    _, q_value = estimated(score, decoy, 20_000, 20_000)
    kept = int(np.searchsorted(q_value, 0.1, side="right"))
    assert true[:kept].mean() == pytest.approx(0.9, abs=0.03)


def test_strata_are_told_apart() -> None:
    """Short sentences match by chance, long ones hardly: decoys are mostly short, targets long."""
    generator = np.random.default_rng(2)
    low, high = generator.logistic(-6, 0.8, 20_000), generator.logistic(-2, 0.8, 2000)
    score = sigmoid(np.concatenate([low, high]))
    stratum = np.repeat([1, 0], [20_000, 2000])
    order = np.argsort(-score)
    decoy = sigmoid(
        np.concatenate([generator.logistic(-6, 0.8, 2000), generator.logistic(-2, 0.8, 20_000)])
    )
    decoy_stratum = np.repeat([1, 0], [2000, 20_000])
    wrong, _ = false_discovery(
        score[order], stratum[order], decoy, decoy_stratum,
        np.array([2000, 20_000]), np.array([20_000, 2000]),
    )  # fmt: skip
    # All pairs are wrong, and the estimate knows it.
    np.testing.assert_allclose(wrong[[200, 1000, 3000]], [201, 1001, 3001], rtol=0.2)


@given(st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(0, 300), st.integers(1, 3))
def test_estimates_are_in_range_and_in_order(seed: int, m: int, n: int, strata: int) -> None:
    """Ties, nothing at all, more decoys than pairs, strata without decoys."""
    generator = np.random.default_rng(seed)
    score = -np.sort(-np.round(generator.random(m), 2))
    decoy = np.round(generator.random(n), 2)
    sizes = generator.integers(1, 500, strata), generator.integers(1, 500, strata)
    wrong, q_value = false_discovery(
        score, generator.integers(0, strata, m), decoy, generator.integers(0, strata, n), *sizes
    )
    kept = np.searchsorted(-score, -score, side="right")
    assert ((wrong >= 0) & (wrong <= kept)).all()
    assert ((q_value >= 0) & (q_value <= 1)).all() and (np.diff(q_value) >= 0).all()
    for value in np.unique(score):
        assert len(np.unique(wrong[score == value])) == 1


def test_an_estimate_answers() -> None:
    score = np.array([0.9, 0.8, 0.8, 0.4, 0.1])
    found = Estimate(score, np.array([0, 0, 0, 1, 2.0]), np.array([0, 0, 0, 0.25, 0.4]), 500, 9)
    assert found.threshold(0.95) == 0.8 and found.threshold(0.7) == 0.4
    assert found.count(0.8) == 3 and found.precision(3) == 1 and found.precision(0) == 1
    assert found.precision(4) == 0.75 and found.recall(3) == 1 and found.recall(0) == 0
    assert [row.kept for row in found.table((0.99, 0.95, 0.7, 0.5))] == [3, 4, 5]
    nothing = Estimate(score, np.arange(1, 6.0), np.full(5, 1.0), 500, 9)
    assert nothing.threshold(0.9) is None and nothing.recall(2) == 0
    assert rounded(0.1234567) == 0.123456


def test_recall_counts_scores_with_more_right_pairs_than_wrong_ones() -> None:
    """The last two pairs are wrong rather than right, and add nothing to the total of 2."""
    wrong = np.array([0, 0.8, 1.6, 2, 2.7, 3.6])
    q_value = np.array([0, 0.4, 0.5, 0.5, 0.54, 0.6])
    found = Estimate(np.linspace(0.9, 0.4, 6), wrong, q_value, 500, 9)
    assert found.recall(1) == 0.5 and found.recall(4) == 1 and found.recall(6) == 1


@given(st.integers(0, 2**32 - 1))
def test_merged_lists_are_those_of_the_union(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, first, more, k = 5, *generator.integers(0, 7, 2).tolist(), int(generator.integers(1, 5))
    similarity = np.round(generator.random((n, first + more)), 1).astype(np.float32)

    def nearest(part: np.ndarray) -> Neighbors:
        order = np.argsort(-part, axis=1, kind="stable")[:, :k]
        missing = k - order.shape[1]
        values = np.take_along_axis(part, order, axis=1)
        return Neighbors(
            np.pad(values, ((0, 0), (0, missing)), constant_values=-np.inf),
            np.pad(order, ((0, 0), (0, missing)), constant_values=-1),
        )

    merged = _merged(nearest(similarity[:, :first]), nearest(similarity[:, first:]), first)
    whole = nearest(similarity)
    assert (merged.row == whole.row).all() and (merged.similarity == whole.similarity).all()


def test_decoys_of_another_language_go(
    verifying_model: Path, english: list[str], german: list[str]
) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    targets, rows = verifier.prepare(english[:40]), np.arange(40)
    pool = verifier.prepare(english[40:] + german[40:])
    size = verifier.encoder.tokenizer.size
    alike = _alike(targets, rows, pool, np.arange(40), size)
    assert alike[:20].sum() >= 12 and alike[20:].sum() <= 6


def test_estimating_a_search(verifying: tuple[Index, Index], english: list[str]) -> None:
    found = run(*verifying, verifier_for(verifying[0]))
    guess = estimate(found)
    assert guess.decoys >= 500 and len(guess.q_value) == len(found.pairs)
    assert any("only" in doubt and "pairs to judge by" in doubt for doubt in guess.doubts)
    true = found.pairs.source_row == found.pairs.target_row
    kept = guess.count(guess.threshold(0.9) or 2.0)
    assert kept >= 30 and true[:kept].mean() > 0.8
    again = estimate(found)
    assert (again.q_value == guess.q_value).all()
    with pytest.raises(ResourceError, match="only 0 decoys.*no targets"):
        estimate(found, english)


def test_only_decoys_are_scored_anew(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither logits of the search's own candidates nor their texts are computed again."""
    found = run(*verifying, verifier_for(verifying[0]))
    expected = estimate(found)
    against: list[PreparedText] = []
    prepared: list[list[str]] = []
    features, preparing = TokenTable.pair_features, decoys.prepare

    def scored(
        self: TokenTable, source: PreparedText, target: PreparedText, *rows: np.ndarray
    ) -> np.ndarray:
        against.append(target)
        return features(self, source, target, *rows)

    def counted(tokenizer: Tokenizer, sentences: list[str], threads: int) -> PreparedText:
        prepared.append(sentences)
        return preparing(tokenizer, sentences, threads)

    def refused(*arguments: object) -> None:
        pytest.fail("vectors are scanned, or an index is read, again")

    monkeypatch.setattr(TokenTable, "pair_features", scored)
    monkeypatch.setattr(decoys, "prepare", counted)
    monkeypatch.setattr(Store, "distinct", refused)
    monkeypatch.setattr(Index, "ann", refused)
    again = estimate(found)
    assert len(against) >= 2 and not any(text is found.target_text for text in against)
    assert len(prepared) == 1 and len(set(prepared[0])) == len(prepared[0])
    np.testing.assert_array_equal(again.q_value, expected.q_value)


def test_only_decoys_like_the_targets_are_used(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoys of the model that do not resemble the targets are dropped; given ones are kept."""
    found = run(*verifying, verifier_for(verifying[0]))
    assert found.verifier is not None
    pool = found.verifier.encoder.model.read_decoys()

    def alike(*arguments: object) -> np.ndarray:
        usable = arguments[3]
        assert isinstance(usable, np.ndarray) and len(usable) > 520
        return np.arange(len(usable)) < 510

    monkeypatch.setattr(decoys, "_alike", alike)
    assert estimate(found).decoys == 510
    assert estimate(found, pool).decoys > 510


def test_translations_among_the_decoys_are_dropped(
    verifying: tuple[Index, Index], english: list[str]
) -> None:
    """Near-copies of targets are as good as these; the estimate must not collapse over them."""
    found = run(*verifying, verifier_for(verifying[0]))
    assert found.verifier is not None
    pool = found.verifier.encoder.model.read_decoys()
    clean = estimate(found, pool)
    assert clean.dropped == 0
    near = [f"{word} {sentence}" for word in ("und", "the", "a") for sentence in english]
    guess = estimate(found, pool + near)
    assert guess.dropped > 40 and any("were dropped" in doubt for doubt in guess.doubts)
    threshold = guess.threshold(0.9)
    assert threshold is not None and guess.count(threshold) >= 30
    np.testing.assert_allclose(guess.q_value[30], clean.q_value[30], atol=0.03)


def test_targets_are_no_decoys(verifying: tuple[Index, Index], english: list[str]) -> None:
    """Decoys with the token ids of a target never compete, however they are written."""
    found = run(*verifying, verifier_for(verifying[0]))
    assert found.verifier is not None and found.target_text is not None
    spaced = [sentence.replace(" ", "   ") for sentence in english]
    pool = found.verifier.prepare([*spaced, *english, "something else", ""])
    assert decoys._among(pool, found.target_text).tolist() == [True] * 120 + [False] * 2


@pytest.mark.parametrize(("matched", "doubted"), [(19, False), (20, True)])
def test_unlike_decoys_are_doubted_where_enough_matched(
    verifying: tuple[Index, Index], matched: int, doubted: bool
) -> None:
    """Of a single decoy for 60 targets, so many matches predict far more pairs than there are."""
    found = run(*verifying, verifier_for(verifying[0]))
    doubts = precision._doubts(found, np.linspace(0.2, 0.3, matched), np.array([1]))
    assert any("poor matches" in doubt for doubt in doubts) == doubted


def test_no_more_decoys_are_used_than_the_limit(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoys, "DECOYS", 520)
    assert estimate(run(*verifying, verifier_for(verifying[0]))).decoys == 520


def test_decoys_without_known_tokens_do_not_count(verifying: tuple[Index, Index]) -> None:
    found = run(*verifying, verifier_for(verifying[0]))
    assert found.verifier is not None
    pool = found.verifier.encoder.model.read_decoys()
    assert estimate(found, [*pool, "", "漢字", "語"]).decoys == estimate(found, pool).decoys


def test_preparing_does_not_depend_on_threads(verifying_model: Path, english: list[str]) -> None:
    tokenizer = Encoder.load(verifying_model).tokenizer
    sentences = english * 100
    one, other = prepare(tokenizer, sentences, 1), prepare(tokenizer, sentences, 3)
    assert (one.ids == other.ids).all() and (one.numbers == other.numbers).all()


def test_too_few_targets_are_not_estimated(
    verifying: tuple[Index, Index], english: list[str], tmp_path: Path
) -> None:
    """Three lines say nothing of precision, however many decoys there are."""
    (tmp_path / "few").write_text("\n".join(english[:3]) + "\n", encoding="utf-8")
    encoder = Encoder.load(verifying[0].model_name)
    few = Index.build(encoder, tmp_path / "few", tmp_path / "few.index")
    with pytest.raises(ResourceError, match="only 3 different targets"):
        estimate(run(verifying[0], few, verifier_for(few)))


def test_a_precision_that_is_met_exactly() -> None:
    score = np.linspace(0.9, 0.5, 10)
    found = Estimate(score, np.ones(10), np.full(10, 0.1), 500, 0)
    assert found.threshold(0.9) == 0.5
