"""The model directory: what an encoder is, on disk.

A directory holds ``config.json`` (format version, encoder, dimension, normalisation, training
configuration, SHA-256 of the other files), ``sp.model`` (SentencePiece) and ``weights.npy``
((V, d), float16, or int8 with one float32 scale a row in ``scales.npy``). Any other encoder than
``sp`` has an ``encoder.json`` that says how its parts make a vector (:class:`Design`), a vocabulary
for each kind of unit (``sp.model``, ``words.txt``, ``trigrams.txt``; ``morphs.txt`` for Morfessor),
and for each part ``NAME.weights.npy``, perhaps ``NAME.scales.npy``, and ``NAME.network.npz`` where
it is recurrent. A model that can take a second look at its candidates also has ``lexicon.npz`` and
``verifier.json`` (see :mod:`miner.encoder.lexicon`, :mod:`miner.scoring.verifier`) and ``decoys.txt.xz``, sentences
of its training text to estimate precision with (:mod:`miner.mining.precision`). A classifier of sentences
(:mod:`miner.scoring.classifier`) is a model of one encoder with a ``classifier.npz``, the layer that reads
its vectors. Nothing is pickled; arrays open by memory map. The fingerprint identifies the vectors
that a model makes; the second look and the classifier's layer have no part in it: two indexes can
be searched against each other only when theirs are equal.
"""

import dataclasses
import hashlib
import json
import lzma
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.lexicon import Lexicon
from miner.errors import ArtifactError
from miner.text.output import atomic_directory, one_line

FORMAT = "bitext-miner model"
VERSION = 1
CONFIG = "config.json"
DESIGN = "encoder.json"
# A vocabulary for each kind of unit, and the model that cuts words into morphs.
VOCABULARIES = {"piece": "sp.model", "word": "words.txt", "trigram": "trigrams.txt"}
SEGMENTATION = "morphs.txt"
WEIGHTS, SCALES, NETWORK = "weights.npy", "scales.npy", "network.npz"
LEXICON = "lexicon.npz"
VERIFIER = "verifier.json"
DECOYS = "decoys.txt.xz"
CLASSIFIER = "classifier.npz"
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
DEFAULT = Path(__file__).parent.parent / "models" / "default"


@dataclass(frozen=True)
class Design:
    """How a model's parts make one vector; see ``train.config.TrainConfig``, whose words these are.

    ``encoder`` names the parts, of :data:`ENCODERS`, with "+" between them; ``combine`` is "add" or
    "concat"; ``pooling`` ("mean" or "max") and ``directions`` ("concat" or "average") are for
    recurrent parts; ``separate`` means that the two columns of the training text share no
    embedding, so that an encoder must know which of the two it reads.
    """

    encoder: str = "sp"
    combine: str = "add"
    pooling: str = "mean"
    directions: str = "concat"
    fold_case: bool = True
    separate: bool = False

    def __post_init__(self) -> None:
        good = (
            all(name in ENCODERS for name in self.encoders)
            and len(set(self.encoders)) == len(self.encoders)
            and self.combine in ("add", "concat")
            and self.pooling in ("mean", "max")
            and self.directions in ("concat", "average")
        )
        if not good:
            raise ValueError(f"no such encoder: {self}")

    @property
    def encoders(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(self.encoder.split("+"))

    @property
    def units(self) -> tuple[str, ...]:
        """What the parts read, each once; first what a second look compares."""
        read = {ENCODERS[name].units for name in self.encoders}
        return tuple(units for units in VOCABULARIES if units in read)

    @property
    def plain(self) -> bool:
        """Whether this is the one encoder that needs no ``encoder.json``: ``sp`` by itself."""
        return self.encoder == "sp" and not self.separate

    def files(self) -> dict[str, tuple[str, str, str]]:
        """The names of the files of weights, scales and network of each part."""
        if self.plain:
            return {"sp": (WEIGHTS, SCALES, NETWORK)}
        return {
            name: (f"{name}.{WEIGHTS}", f"{name}.{SCALES}", f"{name}.{NETWORK}")
            for name in self.encoders
        }

    def vector_files(self) -> list[str]:
        """All that the vectors may depend on."""
        vocabularies = [VOCABULARIES[units] for units in self.units]
        parts = [name for names in self.files().values() for name in names]
        return [DESIGN, SEGMENTATION, *vocabularies, *parts]


@dataclass(frozen=True)
class Part:
    """One of a model's encoders: the embeddings of its units, and the network over them.

    ``weights (V, d)`` float16, float32 or int8, with ``scales (V,) float32`` for int8 and ``None``
    otherwise; ``network`` has the arrays of :class:`miner.encoder.recurrent.Network`, float32, by name, and
    is empty for an average.
    """

    weights: np.ndarray
    scales: np.ndarray | None = None
    network: Mapping[str, np.ndarray] = field(default_factory=dict)

    def table(self) -> np.ndarray:
        """The embeddings as ``(V, d) float32``, in memory."""
        table = np.asarray(self.weights, dtype=np.float32)
        if self.scales is not None:
            table *= self.scales[:, None]
        return np.ascontiguousarray(table)


@dataclass(frozen=True)
class Model:
    """A loaded model.

    ``parts`` are as many as ``design.encoders``; ``vocabularies`` has a serialised vocabulary for
    each of ``design.units``; ``segmentation`` the Morfessor model of the words, if any;
    ``threshold`` the score that was best on the held-out mining task of the training (``None``
    where there was none). ``verifier`` and ``lexicon`` make the second look (both or neither);
    ``decoys`` are sentences to save with them. ``classifier`` has the arrays of
    :class:`miner.scoring.classifier.Classifier` by name, and is empty for what is no classifier.
    """

    parts: tuple[Part, ...]
    vocabularies: Mapping[str, bytes]
    dimension: int
    design: Design = Design()
    segmentation: bytes | None = None
    threshold: float | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    verifier: Mapping[str, Any] | None = None
    lexicon: Lexicon | None = None
    decoys: Sequence[str] = ()
    classifier: Mapping[str, np.ndarray] = field(default_factory=dict)
    fingerprint: str = ""
    path: Path | None = None

    @classmethod
    def of_pieces(
        cls, vocabulary: bytes, weights: np.ndarray, scales: np.ndarray | None = None, **more: Any
    ) -> "Model":
        """The encoder ``sp``: a SentencePiece model, and the embeddings of its pieces."""
        part = Part(weights, scales)
        return cls((part,), {"piece": vocabulary}, int(weights.shape[1]), **more)

    @property
    def verifying(self) -> Part | None:
        """The part whose units a second look compares: pieces or words that both columns share."""
        if self.design.separate or self.design.units[0] == "trigram":
            return None
        for name, part in zip(self.design.encoders, self.parts, strict=True):
            if ENCODERS[name].units == self.design.units[0]:
                return part
        return None

    @property
    def parameters(self) -> int:
        """How many numbers were learned: all but the embeddings that are zero, for want of text."""
        arrays = [array for part in self.parts for array in part.network.values()]
        learned = [part.weights[np.any(part.weights, axis=1)] for part in self.parts]
        return sum(array.size for array in (*arrays, *learned))

    @property
    def marker(self) -> str:
        """The file by which a directory is known to be of this kind: only such are replaced."""
        return CLASSIFIER if self.classifier else CONFIG

    def describe(self) -> str:
        """A few words for people: encoder, size, type."""
        sizes = " + ".join(
            f"{len(part.weights)} {ENCODERS[name].units}s"
            for name, part in zip(self.design.encoders, self.parts, strict=True)
        )
        encoder = "" if self.design.plain else f"{self.design.encoder}, "
        return f"{encoder}{sizes}, {self.dimension} dimensions, {self.parts[0].weights.dtype}"

    def save(self, path: str | Path) -> "Model":
        """Write the directory (built beside, renamed last; an old one of its kind is replaced)."""
        design = self.design
        with atomic_directory(path, marker=self.marker) as directory:
            if not design.plain:
                text = json.dumps(dataclasses.asdict(design), indent=2) + "\n"
                (directory / DESIGN).write_text(text, encoding="utf-8")
            for units in design.units:
                (directory / VOCABULARIES[units]).write_bytes(self.vocabularies[units])
            if self.segmentation is not None:
                (directory / SEGMENTATION).write_bytes(self.segmentation)
            for part, names in zip(self.parts, design.files().values(), strict=True):
                np.save(directory / names[0], part.weights, allow_pickle=False)
                if part.scales is not None:
                    np.save(directory / names[1], part.scales, allow_pickle=False)
                if part.network:
                    np.savez(directory / names[2], **part.network)  # type: ignore[arg-type]
            if self.verifier is not None and self.lexicon is not None:
                (directory / LEXICON).write_bytes(self.lexicon.to_bytes())
                text = json.dumps(self.verifier, indent=1) + "\n"
                (directory / VERIFIER).write_text(text, encoding="utf-8")
                lines = "".join(f"{one_line(decoy)}\n" for decoy in self.decoys)
                (directory / DECOYS).write_bytes(lzma.compress(lines.encode("utf-8")))
            if self.classifier:
                np.savez(directory / CLASSIFIER, **self.classifier)  # type: ignore[arg-type]
            files, verifying, classifying = (
                {name: _sha256(directory / name) for name in names if (directory / name).exists()}
                for names in (design.vector_files(), VERIFYING_FILES, (CLASSIFIER,))
            )
            config = {
                "format": FORMAT,
                "version": VERSION,
                "encoder": design.encoder,
                "dimension": self.dimension,
                **({"pieces": len(self.parts[0].weights)} if design.plain else {}),
                "normalisation": "unit length",
                "dtype": str(self.parts[0].weights.dtype),
                "threshold": self.threshold,
                "fingerprint": _fingerprint(files),
                "files": files,
                "verification": verifying,
                **({"classification": classifying} if classifying else {}),
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
    design = _design(directory, files)
    _check(directory, files, design.vector_files())
    if _fingerprint(files) != config["fingerprint"]:
        raise ArtifactError(f"{directory / CONFIG}: fingerprint and files do not agree")
    needed = [VOCABULARIES[units] for units in design.units]
    needed += [names[0] for names in design.files().values()]
    if missing := [name for name in needed if name not in files]:
        raise ArtifactError(f"{directory / CONFIG}: lists no {', '.join(missing)}")
    shape = (config.get("pieces"), config["dimension"]) if design.plain else None
    parts = tuple(_part(directory, files, names, shape) for names in design.files().values())
    verifier = lexicon = None
    verifying = _listed(directory, config, "verification")
    if verifying:
        _check(directory, verifying, VERIFYING_FILES)
        if set(verifying) != set(VERIFYING_FILES):
            raise ArtifactError(f"{directory / CONFIG}: lists only {', '.join(verifying)}")
        lexicon = Lexicon.from_bytes((directory / LEXICON).read_bytes(), str(directory / LEXICON))
        verifier = json.loads((directory / VERIFIER).read_text(encoding="utf-8"))
    classifier: dict[str, np.ndarray] = {}
    if classifying := _listed(directory, config, "classification"):
        _check(directory, classifying, [CLASSIFIER])
        classifier = _arrays(directory / CLASSIFIER, "a classifier")
    return Model(
        parts=parts,
        vocabularies={
            units: (directory / VOCABULARIES[units]).read_bytes() for units in design.units
        },
        dimension=config["dimension"],
        design=design,
        segmentation=(directory / SEGMENTATION).read_bytes() if SEGMENTATION in files else None,
        threshold=config.get("threshold"),
        training=config.get("training", {}),
        verifier=verifier,
        lexicon=lexicon,
        classifier=classifier,
        fingerprint=config["fingerprint"],
        path=directory,
    )


def _design(directory: Path, files: Mapping[str, str]) -> Design:
    """What ``encoder.json`` says, if the model has one."""
    path = directory / DESIGN
    if DESIGN not in files:
        return Design()
    _check(directory, {DESIGN: files[DESIGN]}, [DESIGN])
    try:
        return Design(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ArtifactError(
            f"{path}: not an encoder that this program knows ({error}); install the bitext-miner "
            "that wrote it"
        ) from None


def _part(
    directory: Path,
    files: Mapping[str, str],
    names: tuple[str, str, str],
    shape: tuple[Any, Any] | None,
) -> Part:
    """Weights, scales and network of the files ``names``."""
    weights = _open_array(directory / names[0], shape)
    if weights.dtype not in (np.float16, np.float32, np.int8) or weights.ndim != 2:
        raise ArtifactError(f"{directory / names[0]}: holds {weights.dtype}, not float16 or int8")
    scales = None
    if weights.dtype == np.int8:
        scales = np.array(_open_array(directory / names[1], (len(weights),)))
    network = _arrays(directory / names[2], "a network") if names[2] in files else {}
    return Part(weights, scales, network)


def _listed(directory: Path, config: Mapping[str, Any], key: str) -> dict[str, str]:
    """A table of files and their SHA-256 that a configuration may have."""
    files = config.get(key) or {}
    if not isinstance(files, dict):
        raise ArtifactError(f"{directory / CONFIG}: its {key!r} is no table of files")
    return files


def _arrays(path: Path, what: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, which is ``what``."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path}: not {what} ({error})") from None


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
    files = config.get("files", {})
    if not isinstance(files, dict):
        raise ArtifactError(f"{path}: its 'files' is no table of files")
    needed = {"files", "fingerprint", "dimension", *(() if DESIGN in files else ("pieces",))}
    if missing := needed - set(config):
        raise ArtifactError(f"{path}: lacks {', '.join(sorted(missing))}")
    return config


def _open_array(path: Path, shape: tuple[int, ...] | None) -> np.ndarray:
    try:
        array = np.lib.format.open_memmap(path, mode="r")  # takes .npy alone, never a pickle
    except (OSError, ValueError, OverflowError) as error:
        raise ArtifactError(f"{path}: not a readable array ({error})") from None
    if shape is not None and array.shape != shape:
        raise ArtifactError(f"{path}: shape {array.shape}, {CONFIG} says {shape}")
    return array


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fingerprint(files: Mapping[str, str]) -> str:
    text = json.dumps(dict(sorted(files.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
