"""Checkpoint of a training: files beside the model to be, replaced atomically."""

import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import h5py
import numpy as np

from miner.encoder.architecture import TARGET, VOCABULARIES
from miner.encoder.model import SEGMENTATION
from miner.errors import ArtifactError, resource_error
from miner.text import durable
from miner.text.locks import lock
from miner_train.data import PairData, Sentences

# Another number if the format of the files changes: a checkpoint of another one is refused.
VERSION = 3
# Bytes of a digest, and of the block that is hashed at a time.
DIGEST, BLOCK = 32, 1 << 22
# Fields of PairData with one number for each pair, in their order.
COLUMNS = ("source_text", "target_text", "same", "language")


class Checkpoint:
    """The directory ``.NAME.training`` beside the model ``NAME``.

    It holds the vocabularies, the tokenised pairs and the last state of the training, each written
    whole or not at all, and each ending with its SHA-256. ``key`` identifies the configuration and
    the text; a checkpoint of another key or version is not continued. A ``with`` block keeps other
    processes out of the directory, and raises ResourceError if one of them holds it.
    """

    def __init__(self, output: str | Path, key: dict[str, Any]):
        target = Path(output)
        self.directory = target.with_name(f".{target.name}.training")
        self.key = json.dumps({"version": VERSION, **key}, sort_keys=True)
        self._lock = ExitStack()

    def __enter__(self) -> "Checkpoint":
        try:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise resource_error(error, self.directory) from error
        self._lock.enter_context(lock(self.directory))
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def load_vocabulary(self) -> dict[str, bytes] | None:
        """Read the files of :meth:`save_vocabulary`, None without any.

        Raises ArtifactError for a checkpoint of another key.
        """
        key = self.directory / "key.json"
        if not key.exists():
            return None
        if key.read_text(encoding="utf-8") != self.key:
            raise ArtifactError(
                f"{self.directory}: left by an interrupted training with other options or text, or "
                "by another version of this program; repeat its command to go on, or remove it "
                "(or give --restart) to begin anew"
            )
        names = (*VOCABULARIES.values(), SEGMENTATION)
        paths = [self.directory / (side + name) for side in ("", TARGET) for name in names]
        existing = [path for path in paths if path.exists()]
        for path in existing:
            _verify(path)
        return {path.name: path.read_bytes()[:-DIGEST] for path in existing}

    def save_vocabulary(self, files: Mapping[str, bytes]) -> None:
        """Write the vocabularies, by their file names in a model; remove everything else."""
        try:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
            for name, content in files.items():
                self._write(name, partial(_put, content))
            # Compared as a whole, and so without a digest.
            self._write("key.json", partial(_put, self.key.encode()), digest=False)
        except OSError as error:
            raise resource_error(error, self.directory) from error

    def load_pairs(self) -> PairData | None:
        """Read the pairs of :meth:`save_pairs`, None without any. Raises ArtifactError."""
        path = self.directory / "pairs.h5"
        if not path.exists():
            return None
        _verify(path)
        try:
            with h5py.File(path, "r") as file:
                source, target = (
                    [
                        Sentences(view["ids"][()], view["offsets"][()])
                        for _, view in sorted(file[side].items())
                    ]
                    for side in ("source", "target")
                )
                rest = [file[name][()] for name in COLUMNS]
        except (OSError, KeyError, RuntimeError) as error:
            reason = str(error).split("\n")[0]
            raise ArtifactError(
                f"{path}: cannot be read ({reason}); give --restart to begin anew"
            ) from None
        left, right = (replace(views[0], also=tuple(views[1:])) for views in (source, target))
        return PairData(left, right, *rest)

    def save_pairs(self, pairs: PairData) -> None:
        """Write the tokenised pairs."""

        def write(file: IO[bytes]) -> None:
            # Made in memory, since HDF5 may end the process where a disk is full.
            whole = io.BytesIO()
            with h5py.File(whole, "w") as made:
                for side, sentences in (("source", pairs.source), ("target", pairs.target)):
                    for number, view in enumerate(sentences.views):
                        made[f"{side}/{number}/ids"] = view.ids
                        made[f"{side}/{number}/offsets"] = view.offsets
                for name in COLUMNS:
                    made[name] = getattr(pairs, name)
            file.write(whole.getbuffer())

        try:
            self._write("pairs.h5", write)
        except OSError as error:
            raise resource_error(error, self.directory) from error

    def load_state(self) -> dict[str, np.ndarray] | None:
        path = self.directory / "state.npz"
        if not path.exists():
            return None
        _verify(path)
        try:
            with np.load(path, allow_pickle=False) as state:
                return dict(state)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise ArtifactError(
                f"{path}: cannot be read ({error}); give --restart to begin anew"
            ) from None

    def save_state(self, state: dict[str, np.ndarray]) -> None:
        try:
            self._write("state.npz", lambda file: np.savez(file, **state))  # type: ignore[arg-type]
        except OSError as error:
            raise resource_error(error, self.directory) from error

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _write(self, name: str, write: Any, digest: bool = True) -> None:
        temporary = self.directory / f"{name}.partial"
        try:
            with open(temporary, "w+b") as file:
                write(file)
                if digest:
                    file.seek(0)
                    found = hashlib.file_digest(file, "sha256").digest()
                    file.seek(0, os.SEEK_END)
                    file.write(found)
            durable.replace(temporary, self.directory / name)
        finally:
            temporary.unlink(missing_ok=True)


def _put(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _verify(path: Path) -> None:
    """Compare a file with the digest at its end. Raises ArtifactError."""
    digest, reason = hashlib.sha256(), "its checksum is wrong"
    try:
        left = path.stat().st_size - DIGEST
        with open(path, "rb") as file:
            while left > 0 and (chunk := file.read(min(left, BLOCK))):
                digest.update(chunk)
                left -= len(chunk)
            if left == 0 and file.read() == digest.digest():
                return
    except OSError as error:
        reason = str(error)
    raise ArtifactError(f"{path}: cannot be read ({reason}); give --restart to begin anew")
