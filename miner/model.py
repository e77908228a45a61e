"""The model directory: what an encoder is, on disk.

A directory holds ``config.json`` (format version, encoder, dimension, normalisation, training
configuration, SHA-256 of the other files), ``sp.model`` (SentencePiece) and ``weights.npy``
((V, d), float16, or int8 with one float32 scale a row in ``scales.npy``). Nothing is pickled;
arrays open by memory map. The fingerprint identifies the vectors a model makes: two indexes can
be searched against each other only when theirs are equal.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError
from miner.files import atomic_directory

FORMAT = "bitext-miner model"
VERSION = 1
CONFIG = "config.json"
VOCABULARY = "sp.model"
WEIGHTS = "weights.npy"
SCALES = "scales.npy"
DEFAULT = Path(__file__).parent / "models" / "default"


@dataclass(frozen=True)
class Model:
    """A loaded model.

    ``vocabulary`` is the serialised SentencePiece model; ``weights (V, d)`` float16 or int8, with
    ``scales (V,) float32`` for int8 and ``None`` otherwise; ``threshold`` the score that was best
    on the held-out mining task of the training (``None`` where there was none).
    """

    vocabulary: bytes
    weights: np.ndarray
    scales: np.ndarray | None = None
    threshold: float | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    path: Path | None = None

    @property
    def dimension(self) -> int:
        return int(self.weights.shape[1])

    def table(self) -> np.ndarray:
        """The piece embeddings as ``(V, d) float32``, in memory."""
        table = np.asarray(self.weights, dtype=np.float32)
        if self.scales is not None:
            table *= self.scales[:, None]
        return np.ascontiguousarray(table)

    def save(self, path: str | Path) -> "Model":
        """Write the directory (built beside, renamed last; an old model there is replaced)."""
        with atomic_directory(path, marker=CONFIG) as directory:
            (directory / VOCABULARY).write_bytes(self.vocabulary)
            np.save(directory / WEIGHTS, self.weights, allow_pickle=False)
            if self.scales is not None:
                np.save(directory / SCALES, self.scales, allow_pickle=False)
            files = {
                name: _sha256(directory / name)
                for name in (VOCABULARY, WEIGHTS, SCALES)
                if (directory / name).exists()
            }
            config = {
                "format": FORMAT,
                "version": VERSION,
                "encoder": "sp",
                "dimension": self.dimension,
                "pieces": int(self.weights.shape[0]),
                "normalisation": "unit length",
                "dtype": str(self.weights.dtype),
                "threshold": self.threshold,
                "fingerprint": _fingerprint(files),
                "files": files,
                "training": dict(self.training),
            }
            (directory / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        return load(path)


def quantise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``(V, d) float32`` to int8 in [-127, 127] and one float32 scale a row (0 for zero rows)."""
    scales = (np.abs(table).max(axis=1, initial=0.0) / 127.0).astype(np.float32)
    safe = np.where(scales > 0, scales, 1.0)[:, None]
    return np.rint(table / safe).clip(-127, 127).astype(np.int8), scales


def resolve(path: str | Path) -> Path:
    """The directory that a ``--model`` value names; ``default`` is the model that ships."""
    return DEFAULT if str(path) == "default" else Path(path)


def load(path: str | Path = "default") -> Model:
    """Open and verify a model directory.

    Raises :class:`~miner.errors.ArtifactError` where a file is missing, cut short or altered, or
    where the format or its version is not ours.
    """
    directory = resolve(path)
    config = _config(directory)
    files = config["files"]
    for name, expected in files.items():
        if name not in (VOCABULARY, WEIGHTS, SCALES):
            raise ArtifactError(f"{directory / CONFIG}: lists an unknown file {name!r}")
        try:
            actual = _sha256(directory / name)
        except OSError as error:
            raise ArtifactError(
                f"{directory / name}: cannot be read ({error.strerror}); copy or train the "
                "model again"
            ) from None
        if actual != expected:
            raise ArtifactError(
                f"{directory / name}: does not match the fingerprint in {CONFIG} (cut short or "
                "altered); copy or train the model again"
            )
    if not {VOCABULARY, WEIGHTS} <= set(files) or _fingerprint(files) != config["fingerprint"]:
        raise ArtifactError(f"{directory / CONFIG}: fingerprint and files do not agree")
    weights = _open_array(directory / WEIGHTS, (config["pieces"], config["dimension"]))
    if weights.dtype not in (np.float16, np.float32, np.int8):
        raise ArtifactError(f"{directory / WEIGHTS}: holds {weights.dtype}, not float16 or int8")
    scales = None
    if weights.dtype == np.int8:
        scales = np.array(_open_array(directory / SCALES, (config["pieces"],)))
    return Model(
        vocabulary=(directory / VOCABULARY).read_bytes(),
        weights=weights,
        scales=scales,
        threshold=config.get("threshold"),
        training=config.get("training", {}),
        fingerprint=config["fingerprint"],
        path=directory,
    )


def _config(directory: Path) -> dict[str, Any]:
    path = directory / CONFIG
    if not directory.is_dir():
        raise ArtifactError(
            f"{directory}: no such model directory; train one with 'miner train' or use "
            "'--model default'"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtifactError(f"{directory}: not a model directory (no {CONFIG})") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ArtifactError(f"{path}: not the configuration of a {FORMAT}")
    if config.get("version") != VERSION:
        raise ArtifactError(
            f"{path}: format version {config.get('version')}, this program reads {VERSION}; "
            "install the bitext-miner that wrote it"
        )
    missing = {"files", "fingerprint", "pieces", "dimension"} - set(config)
    if missing:
        raise ArtifactError(f"{path}: lacks {', '.join(sorted(missing))}")
    if not isinstance(config["files"], dict):
        raise ArtifactError(f"{path}: its 'files' is no table of files")
    return config


def _open_array(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.lib.format.open_memmap(path, mode="r")  # takes .npy alone, never a pickle
    except (OSError, ValueError, OverflowError) as error:
        raise ArtifactError(f"{path}: not a readable array ({error})") from None
    if array.shape != shape:
        raise ArtifactError(f"{path}: shape {array.shape}, {CONFIG} says {shape}")
    return array


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fingerprint(files: Mapping[str, str]) -> str:
    text = json.dumps(dict(sorted(files.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
