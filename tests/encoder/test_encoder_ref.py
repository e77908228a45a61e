"""References to encoders: what fingerprints depend on."""

import dataclasses
from pathlib import Path

import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.encoder_ref import EncoderRef
from miner.encoder.model import Model, load
from miner.errors import MismatchError


def relearned(model: Model) -> Model:
    """Return the model with another verifier and the same vectors."""
    verifier = {name: dict(function) for name, function in (model.verifier or {}).items()}
    verifier["alone"]["intercept"] += 1
    decoys = {code: list(own) for code, own in model.decoys_by_language().items()}
    return dataclasses.replace(model, verifier=verifier, decoys=decoys)


def test_a_verifier_that_was_learned_again(verifying_model: Path, tmp_path: Path) -> None:
    first = load(verifying_model).save(tmp_path / "model")
    before = Encoder(first)
    entries = EncoderRef.of(before), EncoderRef.of_scorer(before)
    assert entries[1].open(1).fingerprint == first.fingerprint
    relearned(first).save(tmp_path / "model")
    after = Encoder.load(tmp_path / "model")
    assert EncoderRef.of(after) == entries[0]
    assert EncoderRef.of_scorer(after) != entries[1]
    entries[0].open(1)
    with pytest.raises(MismatchError, match="replaced since the plan was made"):
        entries[1].open(1)
    assert EncoderRef.of_scorer(after).open(1).model is not None
