"""Files of a model directory: their names, the configuration and the digests in it.

``config.json`` holds the format version, encoder, dimension, the training's configuration, facts
about each language and the SHA-256 of the other files. ``sp.model`` is the SentencePiece model and
``weights.npy`` the embeddings: ``(V, d)``, float16, or int8 with one float32 scale a row in
``scales.npy``; or int4, two numbers a byte (:func:`miner.kernels.pool.packed`), with such scales.

Every encoder other than ``sp``, or with a setting that is not the default, has ``encoder.json``,
its :class:`~miner.encoder.architecture.Architecture`; one vocabulary for each kind of unit
(``sp.model``, ``words.txt``, ``trigrams.txt``; ``morphs.txt`` for Morfessor), and where the columns
share no embedding further ones for the target column (``target.sp.model``); and for each part
``NAME.weights.npy``, ``NAME.scales.npy`` if int8 or int4, and ``NAME.network.npz`` if recurrent.

A model that verifies candidates also has ``lexicon.npz`` (:mod:`miner.encoder.lexicon_file`),
``verifier.json`` (:mod:`miner.scoring.verifier`), ``decoys.zip``
(:mod:`miner.encoder.decoy_file`) and maybe ``comparer.npz``, ``names.npz``
(:mod:`miner.scoring.transliteration`) and ``facts.npz`` (:mod:`miner.scoring.facts`).
A model of ``miner fit`` has ``vectors`` in its configuration, the encoder of another library that
it verifies. A classifier of sentences has ``classifier.npz``, the layer that reads the vectors of
one encoder.

Nothing is pickled, and arrays open by memory map. The fingerprint identifies the vectors of a
model: indexes can be searched against each other when their fingerprints are equal. Verification
and the classifier's layer do not change it.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import open_npy, open_npz
from miner.encoder import known_languages
from miner.encoder.architecture import SEGMENTATION, TARGET, VOCABULARIES, Architecture
from miner.encoder.checked_files import checked_sha256
from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.text.file_digests import content_digest, file_sha256

FORMAT = "bitext-miner model"
VERSION = 1
CONFIG = "config.json"
ARCHITECTURE = "encoder.json"
WEIGHTS, SCALES, NETWORK = "weights.npy", "scales.npy", "network.npz"
LEXICON = "lexicon.npz"
VERIFIER = "verifier.json"
DECOYS = "decoys.zip"
CLASSIFIER = "classifier.npz"
VERIFYING_FILES = (LEXICON, VERIFIER, DECOYS)
# Optional files of verification.
COMPARER, NAMES, FACTS = "comparer.npz", "names.npz", "facts.npz"
DEFAULT = Path(__file__).parent.parent / "models" / "default"


def resolve(path: str | Path) -> Path:
    """Return the directory of a ``--model`` value; ``default`` is the shipped model."""
    return DEFAULT if str(path) == "default" else Path(path)


def model_digest(path: str | Path) -> str | None:
    """Return a digest of all files that scores depend on; None without a model.

    It covers the configuration, which holds the digests of the other files, checked on opening. The
    model's fingerprint covers the encoder alone.
    """
    return content_digest(resolve(path) / CONFIG)


def known_by(path: str | Path) -> dict[str, known_languages.KnownLanguage]:
    """Read the languages of a model from its configuration alone. Raises ArtifactError."""
    directory = resolve(path)
    return known_languages.read(read_config(directory).get("languages"), str(directory / CONFIG))


def read_config(directory: Path) -> dict[str, Any]:
    path = directory / CONFIG
    if not directory.is_dir():
        raise ArtifactError(
            f"{directory}: no such model directory; train one with 'miner train' or use "
            "'--model default'"
        )
    try:
        config = read_json(path)
    except FileNotFoundError:
        raise ArtifactError(
            f"{directory}: not a model directory (no {CONFIG}); name one that 'miner train' made, "
            "or 'default'"
        ) from None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ArtifactError(f"{path}: not the configuration of a {FORMAT}")
    if config.get("version") != VERSION:
        raise ArtifactError(
            f"{path}: format version {config.get('version')}, this program reads {VERSION}; "
            "install the bitext-miner that wrote it"
        )
    files = listed(directory, config, "files")
    needed = {"files", "fingerprint", "dimension", *(() if ARCHITECTURE in files else ("pieces",))}
    if missing := needed - set(config):
        raise ArtifactError(f"{path}: lacks {', '.join(sorted(missing))}")
    return config


def listed(directory: Path, config: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return a table of SHA-256 by file name from the configuration; empty if it is missing."""
    files = config.get(key, {})
    if not isinstance(files, dict):
        raise ArtifactError(f"{directory / CONFIG}: its {key!r} is no table of files")
    return files


def read_architecture(directory: Path, files: Mapping[str, str]) -> Architecture:
    """Read ``encoder.json``; a model without it is ``sp``."""
    path = directory / ARCHITECTURE
    if ARCHITECTURE not in files:
        return Architecture()
    check(directory, {ARCHITECTURE: files[ARCHITECTURE]}, [ARCHITECTURE])
    try:
        return Architecture(**read_json(path))
    except (TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"{path}: not an encoder that this program knows ({error}); install the bitext-miner "
            "that wrote it"
        ) from None


def part_files(architecture: Architecture) -> list[tuple[str, str, str]]:
    """Return the files of weights, scales and network of each part."""
    if architecture.plain:
        return [(WEIGHTS, SCALES, NETWORK)]
    return [
        (f"{name}.{WEIGHTS}", f"{name}.{SCALES}", f"{name}.{NETWORK}")
        for name in architecture.encoders
    ]


def vector_files(architecture: Architecture) -> list[str]:
    """List the files that the vectors may depend on."""
    parts = [name for names in part_files(architecture) for name in names]
    return [ARCHITECTURE, *vocabulary_files(architecture), *parts]


def vocabulary_files(architecture: Architecture) -> list[str]:
    names = [SEGMENTATION, *(VOCABULARIES[units] for units in architecture.units)]
    return names + ([TARGET + name for name in names] if architecture.separate else [])


def check(directory: Path, files: Mapping[str, str], known: Sequence[str]) -> None:
    """Compare files with their SHA-256 in the configuration."""
    for name, expected in files.items():
        if name not in known:
            raise ArtifactError(f"{directory / CONFIG}: lists an unknown file {name!r}")
        try:
            actual = checked_sha256(directory / name)
        except OSError as error:
            raise ArtifactError(
                f"{directory / name}: cannot be read ({error.strerror}); copy or train the "
                "model again"
            ) from None
        if actual != expected:
            raise ArtifactError(
                f"{directory / name}: does not match the fingerprint in {CONFIG} (truncated or "
                "altered); copy or train the model again"
            )


def digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of the existing files, by name."""
    return {name: file_sha256(directory / name) for name in names if (directory / name).exists()}


def fingerprint_of(files: Mapping[str, str]) -> str:
    text = json.dumps(dict(sorted(files.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def open_array(path: Path, shape: tuple[int, ...] | None) -> np.ndarray:
    # Never written to, but loops are compiled for writable arrays only.
    array = open_npy(path, "c")
    if shape is not None and array.shape != shape:
        raise ArtifactError(f"{path}: shape {array.shape}, {CONFIG} says {shape}")
    return array


class FileArrays(Mapping[str, np.ndarray]):
    """Arrays of an .npz file of a model, by name, read when one is first used.

    ``kind``: their content, for messages. ``digest``: SHA-256 of the file, the key of caches of
    arrays computed from them. Raises ArtifactError on first use.
    """

    def __init__(self, path: Path, kind: str, digest: str):
        self.path, self.kind, self.digest = path, kind, digest

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        # Another model may have taken its place since this one was loaded.
        check(self.path.parent, {self.path.name: self.digest}, [self.path.name])
        return read_arrays(self.path, self.kind)


def read_arrays(path: Path, kind: str) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file; ``kind`` describes its content in errors."""
    try:
        with open_npz(path) as arrays:
            return dict(arrays)
    # MemoryError: a header claims more than there is. AttributeError: an .npy file.
    except (
        OSError,
        ValueError,
        EOFError,
        MemoryError,
        AttributeError,
        zipfile.BadZipFile,
    ) as error:
        raise ArtifactError(f"{path}: not {kind} ({error})") from None
