"""Fixture of the training tests: a checkpoint with a vocabulary."""

import pytest

from miner_train.training_checkpoint import Checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    it = Checkpoint(tmp_path / "model", {"any": "key"})
    it.save_vocabulary({"sp.model": b"vocabulary"})
    return it
