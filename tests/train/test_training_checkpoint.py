"""Checkpoints of a training: refused if damaged or of another run, replaced whole or not at all."""

import os

import numpy as np
import pytest
from support.trainings import material

import miner_train.training_checkpoint
from miner.errors import ArtifactError, ResourceError
from miner_train.training_checkpoint import Checkpoint


def test_checkpoint_without_its_key_begins_anew(checkpoint):
    """Killed between its two first writes."""
    (checkpoint.directory / "key.json").unlink()
    assert checkpoint.load_vocabulary() is None


def test_checkpoint_of_the_pairs(checkpoint):
    data, _ = material(50)
    assert checkpoint.load_pairs() is None
    checkpoint.save_pairs(data)
    found = checkpoint.load_pairs()
    for one, other in ((found.source, data.source), (found.target, data.target), (found, data)):
        arrays = {name: own for name, own in vars(other).items() if isinstance(own, np.ndarray)}
        for name, own in arrays.items():
            read = getattr(one, name)
            assert read.dtype == own.dtype and read.tolist() == own.tolist()


def test_checkpoint_with_other_bytes_is_refused(checkpoint):
    """Zeroed token ids are still a table of ids: only the digest tells."""
    data = material(50)[0]
    checkpoint.save_pairs(data)
    checkpoint.save_state({"table": np.ones((30, 4))})
    for name, content in (
        ("pairs.npz", data.source.ids[:10].tobytes()),
        ("state.npz", np.ones(4).tobytes()),
    ):
        path = checkpoint.directory / name
        path.write_bytes(path.read_bytes().replace(content, bytes(len(content))))
    (checkpoint.directory / "sp.model").write_bytes(b"vocabularx")
    for load, name in (
        (checkpoint.load_pairs, "pairs.npz"),
        (checkpoint.load_state, "state.npz"),
        (checkpoint.load_vocabulary, "sp.model"),
    ):
        path = checkpoint.directory / name
        for content in (path.read_bytes(), path.read_bytes()[:-9], b"text", b""):
            path.write_bytes(content)
            with pytest.raises(ArtifactError, match=rf"{name}: .*checksum is wrong.*--restart"):
                load()


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
    with pytest.raises(ResourceError, match=r"\.model\.training: .*no space left"):
        checkpoint.save_state({"step": np.array(2)})
    assert checkpoint.load_state()["step"] == 1
    assert not list(checkpoint.directory.glob("*.partial"))
