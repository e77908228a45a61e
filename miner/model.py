"""The model directory: what an encoder is, on disk.

A directory holds ``config.json`` (format version, encoder, dimension, normalisation, training
configuration, SHA-256 of the other files), ``sp.model`` (SentencePiece) and ``weights.npy``
((V, d), float16, or int8 with one float32 scale a row in ``scales.npy``). A model that can take a
second look at its candidates also has ``lexicon.npz`` and ``verifier.json`` (see
:mod:`miner.lexicon`, :mod:`miner.verify`) and ``decoys.txt.xz``, sentences of its training text to
estimate precision with (:mod:`miner.threshold`). Nothing is pickled; arrays open by memory map. The
fingerprint identifies the vectors a model makes, and the second look has no part in it: two indexes
can be searched against each other only when theirs are equal.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError
from miner.files import atomic_directory, one_line
from miner.lexicon import Lexicon

FORMAT = "bitext-miner model"
VERSION = 1
CONFIG = "config.json"
VOCABULARY = "sp.model"
WEIGHTS = "weights.npy"
SCALES = "scales.npy"
LEXICON = "lexicon.npz"
VERIFIER = "verifier.json"
DECOYS = "decoys.txt.xz"
VECTOR_FILES = (VOCABULARY, WEIGHTS, SCALES)
VERIFYING_FILES = (LEXICON, VERIFIER, DECOYS)


@dataclass(frozen=True)
class Kind:
    """What an encoder is: the units it reads, and the network over them (None: their mean)."""

    units: str
    network: str | None = None
    both_ways: bool = False


ENCODERS = {
    "sp": Kind("piece"),
    "word": Kind("word"),
    "trigram": Kind("trigram"),
    "lstm": Kind("word", "lstm"),
    "blstm": Kind("word", "lstm", both_ways=True),
    "lstm-sp": Kind("piece", "lstm"),
    "blstm-sp": Kind("piece", "lstm", both_ways=True),
    "gran-lstm": Kind("word", "gran-lstm"),
    "gran-gru": Kind("word", "gran-gru"),
}
DEFAULT = Path(__file__).parent / "models" / "default"


@dataclass(frozen=True)
class Model:
    """A loaded model.

    ``vocabulary`` is the serialised SentencePiece model; ``weights (V, d)`` float16 or int8, with
    ``scales (V,) float32`` for int8 and ``None`` otherwise; ``threshold`` the score that was best
    on the held-out mining task of the training (``None`` where there was none). ``verifier`` and
    ``lexicon`` make the second look (both or neither); ``decoys`` are sentences to save with them.
    """

    vocabulary: bytes
    weights: np.ndarray
    scales: np.ndarray | None = None
    threshold: float | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    verifier: Mapping[str, Any] | None = None
    lexicon: Lexicon | None = None
    decoys: Sequence[str] = ()
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
            if self.verifier is not None and self.lexicon is not None:
                (directory / LEXICON).write_bytes(self.lexicon.to_bytes())
                text = json.dumps(self.verifier, indent=1) + "\n"
                (directory / VERIFIER).write_text(text, encoding="utf-8")
                lines = "".join(f"{one_line(decoy)}\n" for decoy in self.decoys)
                (directory / DECOYS).write_bytes(lzma.compress(lines.encode("utf-8")))
            files, verifying = (
                {name: _sha256(directory / name) for name in names if (directory / name).exists()}
                for names in (VECTOR_FILES, VERIFYING_FILES)
            )
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
                "verification": verifying,
                "training": dict(self.training),
            }
            (directory / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        return load(path)

    def read_decoys(self) -> list[str]:
        """The sentences that precision is estimated with; none for a model without."""
        if self.path is None or not (self.path / DECOYS).exists():
            return list(self.decoys)
        return lzma.decompress((self.path / DECOYS).read_bytes()).decode("utf-8").split("\n")[:-1]


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
    _check(directory, files, VECTOR_FILES)
    if not {VOCABULARY, WEIGHTS} <= set(files) or _fingerprint(files) != config["fingerprint"]:
        raise ArtifactError(f"{directory / CONFIG}: fingerprint and files do not agree")
    weights = _open_array(directory / WEIGHTS, (config["pieces"], config["dimension"]))
    if weights.dtype not in (np.float16, np.float32, np.int8):
        raise ArtifactError(f"{directory / WEIGHTS}: holds {weights.dtype}, not float16 or int8")
    scales = None
    if weights.dtype == np.int8:
        scales = np.array(_open_array(directory / SCALES, (config["pieces"],)))
    verifier = lexicon = None
    verifying = config.get("verification") or {}
    if not isinstance(verifying, dict):
        raise ArtifactError(f"{directory / CONFIG}: its 'verification' is no table of files")
    if verifying:
        _check(directory, verifying, VERIFYING_FILES)
        if set(verifying) != set(VERIFYING_FILES):
            raise ArtifactError(f"{directory / CONFIG}: lists only {', '.join(verifying)}")
        lexicon = Lexicon.from_bytes((directory / LEXICON).read_bytes(), str(directory / LEXICON))
        verifier = json.loads((directory / VERIFIER).read_text(encoding="utf-8"))
    return Model(
        vocabulary=(directory / VOCABULARY).read_bytes(),
        weights=weights,
        scales=scales,
        threshold=config.get("threshold"),
        training=config.get("training", {}),
        verifier=verifier,
        lexicon=lexicon,
        fingerprint=config["fingerprint"],
        path=directory,
    )


def _check(directory: Path, files: Mapping[str, str], known: Sequence[str]) -> None:
    """Compare files with their SHA-256 in the configuration."""
    for name, expected in files.items():
        if name not in known:
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
