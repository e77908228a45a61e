"""Checkpoints: refused if damaged or of another run, replaced as a whole."""

import os

import numpy as np
import pytest

import miner_train.training_checkpoint
from miner.errors import ArtifactError, ResourceError
from miner_train.training_checkpoint import Checkpoint


def test_checkpoint_without_its_key_begins_anew(checkpoint):
    """As after a kill between its first two writes."""
    (checkpoint.directory / "key.json").unlink()
    assert checkpoint.load_vocabulary() is None


def test_checkpoint_with_other_bytes_is_refused(checkpoint):
    """Zeroed embeddings are valid embeddings, so only the checksum detects them."""
    checkpoint.save_state({"table": np.ones((30, 4))})
    for load, name, content in (
        (checkpoint.load_state, "state.npz", np.ones(4).tobytes()),
        (checkpoint.load_vocabulary, "vocabulary.npz", b"vocabulary"),
    ):
        path = checkpoint.directory / name
        whole = path.read_bytes()
        other = whole.replace(content, bytes(len(content)))
        assert other != whole
        for damaged in (other, whole[:-9], b"text", b""):
            path.write_bytes(damaged)
            with pytest.raises(ArtifactError, match=rf"{name}: cannot be read .*--restart"):
                load()


def test_checkpoint_that_lacks_arrays_is_refused(checkpoint):
    """No checksum covers an archive's directory: a longer comment hides what follows."""
    checkpoint.save_state({"first": np.ones(3), "second": np.ones(3)})
    path = checkpoint.directory / "state.npz"
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"PK\x01\x02") + 33] = 1
    path.write_bytes(damaged)
    with pytest.raises(ArtifactError, match="state.npz: cannot be read .*--restart"):
        checkpoint.load_state()


def test_a_key_that_is_no_text_is_another_key(checkpoint):
    (checkpoint.directory / "key.json").write_bytes(b"\xff")
    with pytest.raises(ArtifactError, match="--restart"):
        checkpoint.load_vocabulary()


def test_a_checkpoint_for_which_memory_lacks_is_not_called_damaged(checkpoint, monkeypatch):
    def failing(*_args, **_options):
        raise MemoryError

    checkpoint.save_state({"step": np.array(1)})
    monkeypatch.setattr(np, "load", failing)
    with pytest.raises(MemoryError):
        checkpoint.load_state()


def test_checkpoint_excludes_other_runs(checkpoint, tmp_path):
    with checkpoint:
        with pytest.raises(ResourceError, match=rf"held by process {os.getpid()} on"):
            Checkpoint(tmp_path / "model", {"any": "key"}).__enter__()
        assert checkpoint.load_vocabulary()
    assert [path.name for path in tmp_path.iterdir()] == [".model.training"]


def test_checkpoint_of_another_version_is_refused(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(miner_train.training_checkpoint, "VERSION", 1)
    with pytest.raises(ArtifactError, match="another version of this program.*--restart"):
        Checkpoint(tmp_path / "model", {"any": "key"}).load_vocabulary()


def test_checkpoint_is_replaced_whole_or_not(checkpoint, monkeypatch):
    checkpoint.save_state({"step": np.array(1)})

    def failing(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", failing)
    with pytest.raises(ResourceError, match=r"\.model\.training/state\.npz: .*no space left"):
        checkpoint.save_state({"step": np.array(2)})
    assert checkpoint.load_state()["step"] == 1
    assert not list(checkpoint.directory.glob("*.partial"))
