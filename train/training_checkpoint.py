"""Checkpoint of a training: files beside the future model, replaced atomically."""

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError, reason, writing
from miner.text.locks import lock
from miner.text.output import atomic_file, write_whole

# Version of the files' format; a checkpoint of another version is refused.
VERSION = 6
KEY, VOCABULARY, STATE = "key.json", "vocabulary.npz", "state.npz"
# Array with the names of the other arrays, because a damaged archive may lack some.
MEMBERS = "members"


class Checkpoint:
    """Directory ``.NAME.training`` beside the model ``NAME``.

    It holds the vocabularies and the last state of the training, archives with checksums, each
    written as a whole. ``key`` identifies the configuration and the text; a checkpoint with another
    key or version is not continued. A ``with`` block locks the directory, and raises ResourceError
    if another process holds it; ``restart`` discards the old content.
    """

    def __init__(self, output: str | Path, key: dict[str, Any], restart: bool = False):
        target = Path(output)
        self.directory = target.with_name(f".{target.name}.training")
        self.key = json.dumps({"version": VERSION, **key}, sort_keys=True)
        self._lock, self._restart = ExitStack(), restart

    def __enter__(self) -> "Checkpoint":
        with writing(self.directory):
            self.directory.parent.mkdir(parents=True, exist_ok=True)
        self._lock.enter_context(lock(self.directory))
        if self._restart:
            self.remove()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def load_vocabulary(self) -> dict[str, bytes] | None:
        """Read the files of :meth:`save_vocabulary`; None if there are none.

        Raises ArtifactError for a checkpoint with another key.
        """
        key = self.directory / KEY
        if not key.exists():
            return None
        if key.read_bytes() != self.key.encode():
            raise ArtifactError(
                f"{self.directory}: left by an interrupted training with other options or text, or "
                "by another version of this program; repeat its command to go on, or remove it "
                "(or give --restart) to begin anew"
            )
        files = self._load(VOCABULARY)
        return (
            None if files is None else {name: content.tobytes() for name, content in files.items()}
        )

    def save_vocabulary(self, files: Mapping[str, bytes]) -> None:
        """Write the vocabularies, by their file names in a model; remove everything else."""
        with writing(self.directory):
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
        self._save(
            VOCABULARY, {name: np.frombuffer(content, np.uint8) for name, content in files.items()}
        )
        write_whole(self.directory / KEY, self.key.encode())

    def load_state(self) -> dict[str, np.ndarray] | None:
        """Read the arrays of :meth:`save_state`; None if there are none. Raises ArtifactError."""
        return self._load(STATE)

    def save_state(self, state: Mapping[str, np.ndarray]) -> None:
        self._save(STATE, state)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _load(self, name: str) -> dict[str, np.ndarray] | None:
        path = self.directory / name
        try:
            with np.load(path, allow_pickle=False) as arrays:
                stored = dict(arrays)
            if sorted(stored) != sorted([MEMBERS, *stored[MEMBERS].tolist()]):
                raise ValueError("some of its arrays are missing")
            del stored[MEMBERS]
            return stored
        except FileNotFoundError:
            return None
        except MemoryError:
            raise
        except Exception as error:  # zipfile and numpy raise nearly anything for a damaged file
            raise ArtifactError(
                f"{path}: cannot be read ({reason(error)}); give --restart to begin anew"
            ) from None

    def _save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        with atomic_file(self.directory / name) as partial, open(partial, "wb") as file:
            named: dict[str, Any] = {**arrays, MEMBERS: np.array([*arrays], dtype=np.str_)}
            np.savez(file, **named)
