"""Precision without gold, of pairs ranked by margin."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.foreign import Plain
from support.near_copies import NEAR, near_lines, near_pairs

import miner
import miner.precision.decoys
from miner import Index, Keep, SearchSettings
from miner.encoder.model import load, resolve
from miner.encoder.trigram_units import HashedTrigrams
from miner.errors import MismatchError, ResourceError
from miner.mining.keep import KeepError
from miner.mining.result import Mined
from miner.precision.margins import pool_with_vectors

BY_MARGIN = SearchSettings(rank="margin", languages=("de", "en"))


@pytest.fixture(autouse=True, scope="module")
def few_draws() -> Iterator[None]:
    """Limit the decoys, since few suffice for 400 sentences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(miner.precision.decoys, "DRAWS", 4)
        yield


@pytest.fixture(scope="module")
def mined() -> Mined:
    settings = SearchSettings(languages=("de", "en"))
    return miner.mine(
        NEAR / "near.de", NEAR / "near.en", encoder=Plain(resolve("default")), settings=settings
    )


def true_share(pairs: miner.Pairs) -> float:
    gold = set(near_pairs())
    return sum((one, other) in gold for _, one, other in pairs.texts()) / len(pairs)


def test_scores_are_probabilities_in_the_order_of_margins(mined: Mined) -> None:
    pairs = mined.all_pairs
    assert mined.estimate is not None and pairs.raw_score is not None
    assert pairs.q_value is not None and (np.diff(pairs.q_value) >= 0).all()
    assert (np.diff(pairs.raw_score) <= 0).all() and (np.diff(pairs.score) <= 0).all()
    assert 0 <= pairs.score.min() <= pairs.score.max() <= 1
    assert "probabilities on this corpus, estimated from margins" in " ".join(mined.notes)
    # The target precision was 0.95.
    assert mined.precision == pytest.approx(0.95, abs=0.01)
    # Decoys do not represent the near-copies of this text.
    assert len(mined.pairs) > 100 and true_share(mined.pairs) > 0.75


def test_by_name_with_a_model_of_this_program() -> None:
    files = NEAR / "near.de", NEAR / "near.en"
    plain = miner.mine(*files, settings=BY_MARGIN)
    assert plain.estimate is None
    asked = miner.mine(*files, settings=BY_MARGIN, keep=Keep(target_precision=0.9))
    assert asked.estimate is not None and asked.precision == pytest.approx(0.9, abs=0.01)


def test_vectors_from_elsewhere(tmp_path: Path) -> None:
    encoder = Plain(resolve("default"))
    decoys = load("default").read_decoys("en")[::13]  # they are sorted
    indexes = []
    for side in ("de", "en"):
        np.save(tmp_path / f"{side}.npy", encoder.encode(near_lines(side)))
        files = tmp_path / f"{side}.npy", NEAR / f"near.{side}"
        indexes.append(Index.build_from_vectors(*files, tmp_path / side))
    keep = Keep(target_precision=0.95, decoys=decoys, decoy_vectors=encoder.encode(decoys))
    found = miner.mine(*indexes, keep=keep)
    assert found.precision == pytest.approx(0.95, abs=0.01) and true_share(found.pairs) > 0.75
    with pytest.raises(KeepError, match="--decoy-embeddings"):
        miner.mine(*indexes, keep=Keep(target_precision=0.95))
    with pytest.raises(MismatchError, match="not one for each"):
        miner.mine(*indexes, keep=Keep(decoys=decoys, decoy_vectors=np.ones((3, 512))))
    with pytest.raises(MismatchError, match="8 dimensions"):
        miner.mine(*indexes, keep=Keep(decoys=decoys, decoy_vectors=np.ones((len(decoys), 8))))
    assert miner.mine(*indexes).estimate is None


def test_decoys_that_are_too_few() -> None:
    files = NEAR / "near.de", NEAR / "near.en"
    with pytest.raises(ResourceError, match="give at least 500"):
        miner.mine(*files, settings=BY_MARGIN, keep=Keep(decoys=["One.", "Two."]))


def test_repeated_decoys_have_one_vector() -> None:
    pool = pool_with_vectors(["a", "b", "a"], np.eye(3))
    assert pool.sentences == ["a", "b"] and pool.given
    np.testing.assert_array_equal(pool.vectors(np.array([1, 0])), np.eye(3)[[1, 0]])


def test_hashed_trigrams() -> None:
    tokenizer = HashedTrigrams()
    ids, offsets = tokenizer(["Ein Haus", "", "図書館", "EIN HAUS"])
    assert offsets.tolist() == [0, 8, 8, 11, 19] and ids.dtype == np.int32
    assert (ids[:8] == ids[11:]).all() and 0 <= ids.min() <= ids.max() < tokenizer.size
