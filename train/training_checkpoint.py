"""Checkpoint of a training: files beside the model to be, replaced atomically."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.encoder.architecture import SEGMENTATION, TARGET, VOCABULARIES
from miner.errors import ArtifactError, writing
from miner.text import durable
from miner.text.locks import lock
from miner_train.data import COLUMNS, PairData, Sentences

# Another number if the format of the files changes: a checkpoint of another one is refused.
VERSION = 4
# Bytes of a digest, and of the block that is hashed at a time.
DIGEST, BLOCK = 32, 1 << 22


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
        with writing(self.directory):
            self.directory.parent.mkdir(parents=True, exist_ok=True)
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
        with writing(self.directory):
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
            for name, content in files.items():
                self._write(name, methodcaller("write", content))
            # Compared as a whole, and so without a digest.
            self._write("key.json", methodcaller("write", self.key.encode()), digest=False)

    def load_pairs(self) -> PairData | None:
        """Read the pairs of :meth:`save_pairs`, None without any. Raises ArtifactError."""
        arrays = self._load("pairs.npz")
        if arrays is None:
            return None

        def side(name: str) -> Sentences:
            count = sum(key.startswith(f"{name}/ids/") for key in arrays)
            first, *also = (
                Sentences(arrays[f"{name}/ids/{view}"], arrays[f"{name}/offsets/{view}"])
                for view in range(count)
            )
            return replace(first, also=tuple(also))

        return PairData(side("source"), side("target"), *(arrays[name] for name in COLUMNS))

    def save_pairs(self, pairs: PairData) -> None:
        arrays = {name: getattr(pairs, name) for name in COLUMNS}
        for name, side in (("source", pairs.source), ("target", pairs.target)):
            for number, view in enumerate(side.views):
                arrays[f"{name}/ids/{number}"] = view.ids
                arrays[f"{name}/offsets/{number}"] = view.offsets
        self._save("pairs.npz", arrays)

    def load_state(self) -> dict[str, np.ndarray] | None:
        """Read the arrays of :meth:`save_state`, None without any. Raises ArtifactError."""
        return self._load("state.npz")

    def save_state(self, state: Mapping[str, np.ndarray]) -> None:
        self._save("state.npz", state)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _load(self, name: str) -> dict[str, np.ndarray] | None:
        path = self.directory / name
        if not path.exists():
            return None
        _verify(path)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise ArtifactError(
                f"{path}: cannot be read ({error}); give --restart to begin anew"
            ) from None

    def _save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        with writing(self.directory):
            self._write(name, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]

    def _write(self, name: str, write: Callable[[IO[bytes]], Any], digest: bool = True) -> None:
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
