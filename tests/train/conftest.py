"""Fixture of the tests of training: a checkpoint that has its vocabulary."""

import pytest


@pytest.fixture
def checkpoint(tmp_path):
    # Tests with this fixture are skipped without torch, which this import needs.
    from miner_train.training_checkpoint import Checkpoint

    it = Checkpoint(tmp_path / "model", {"any": "key"})
    it.save_vocabulary({"sp.model": b"vocabulary"})
    return it
