"""Trained models: their content, and saving to a directory (:mod:`miner.encoder.model_files`)."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder import decoy_file, known_languages, lexicon_file
from miner.encoder.architecture import ENCODERS, VOCABULARIES, Architecture
from miner.encoder.lexicons import Lexicons
from miner.encoder.loading import ForeignVectors
from miner.encoder.model_files import (
    ARCHITECTURE,
    CLASSIFIER,
    COMPARER,
    CONFIG,
    DECOYS,
    FACTS,
    FORMAT,
    LEXICON,
    NAMES,
    VERIFIER,
    VERIFYING_FILES,
    VERSION,
    FileArrays,
    check,
    digests,
    fingerprint_of,
    listed,
    open_array,
    part_files,
    read_architecture,
    read_arrays,
    read_config,
    resolve,
    vector_files,
    vocabulary_files,
)
from miner.encoder.part import EncoderPart
from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.text.artifacts import atomic_directory

# Maximum weight: the squares of larger ones overflow.
LARGEST = 1e15


@dataclass(frozen=True)
class Model:
    """A loaded model.

    ``parts`` follow the order of ``architecture.encoders``. ``vocabularies`` are the contents of
    the vocabulary files by name. ``threshold`` is the score with the best F1 on the training's
    held-out mining task, or None. ``verifier`` and ``lexicons`` are both present or both None;
    ``decoys`` are sentences by language to save with them, and ``decoys_digest`` is the SHA-256 of
    their file in a loaded model. ``vectors`` names the encoder of another library whose vectors the
    model verifies; then its own embeddings serve only verification, and its fingerprint is the
    other encoder's. ``languages`` are the facts that a training recorded about each language, by
    ISO 639 code. ``comparer``, ``names``, ``facts`` and ``classifier`` have the arrays of
    :class:`miner.scoring.comparer.Comparer`, :class:`miner.scoring.transliteration.Names`,
    :mod:`miner.scoring.facts` and
    :class:`miner.scoring.classifier.Classifier` by name, and may be empty.
    """

    parts: tuple[EncoderPart, ...]
    vocabularies: Mapping[str, bytes]
    dimension: int
    architecture: Architecture = Architecture()
    threshold: float | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    verifier: Mapping[str, Any] | None = None
    lexicons: Lexicons | None = None
    comparer: Mapping[str, np.ndarray] = field(default_factory=dict)
    names: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, np.ndarray] = field(default_factory=dict)
    decoys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    decoys_digest: str | None = None
    languages: Mapping[str, known_languages.KnownLanguage] = field(default_factory=dict)
    classifier: Mapping[str, np.ndarray] = field(default_factory=dict)
    vectors: ForeignVectors | None = None
    fingerprint: str = ""
    path: Path | None = None

    @classmethod
    def of_pieces(
        cls, vocabulary: bytes, weights: np.ndarray, scales: np.ndarray | None = None, **more: Any
    ) -> "Model":
        """Make the encoder ``sp`` of a SentencePiece model and the embeddings of its pieces."""
        part = EncoderPart(weights, scales)
        return cls((part,), {VOCABULARIES["piece"]: vocabulary}, int(weights.shape[1]), **more)

    @property
    def verifying(self) -> EncoderPart | None:
        """Part whose units verification compares: pieces or words that both columns share.

        None if the columns share no embedding, or if all units are trigrams.
        """
        if self.architecture.separate or self.architecture.units[0] == "trigram":
            return None
        for name, part in zip(self.architecture.encoders, self.parts, strict=True):
            if ENCODERS[name].units == self.architecture.units[0]:
                return part
        return None

    @property
    def parameters(self) -> int:
        """Number of learned parameters; zero embeddings, which had no text, do not count."""
        arrays = [array for part in self.parts for array in part.network.values()]
        learned = [np.any(part.weights, axis=1).sum() * part.dimension for part in self.parts]
        return sum(array.size for array in arrays) + int(sum(learned))

    @property
    def marker(self) -> str:
        """File that marks a directory of this kind. Only a directory that has it is replaced."""
        return CLASSIFIER if self.classifier else CONFIG

    def describe(self) -> str:
        """Describe the model in one line: encoder, vocabulary sizes, dimension, type."""
        sizes = " + ".join(
            f"{len(part.weights)} {ENCODERS[name].units}s"
            for name, part in zip(self.architecture.encoders, self.parts, strict=True)
        )
        if self.vectors is not None:
            details = f"{self.vectors.dimension} dimensions, verified by {sizes}"
            return f"vectors of {self.vectors.address}, {details}"
        encoder = "" if self.architecture.plain else f"{self.architecture.encoder}, "
        return f"{encoder}{sizes}, {self.dimension} dimensions, {self.parts[0].dtype}"

    def save(self, path: str | Path) -> "Model":
        """Write the model directory and open it, replacing an older one of the same kind."""
        architecture, decoys = self.architecture, self._stored_decoys()
        with atomic_directory(path, marker=self.marker) as directory:
            if architecture.described:
                text = json.dumps(dataclasses.asdict(architecture), indent=2) + "\n"
                (directory / ARCHITECTURE).write_text(text, encoding="utf-8")
            for name, content in self.vocabularies.items():
                (directory / name).write_bytes(content)
            for part, names in zip(self.parts, part_files(architecture), strict=True):
                np.save(directory / names[0], part.weights, allow_pickle=False)
                if part.scales is not None:
                    np.save(directory / names[1], part.scales, allow_pickle=False)
                if part.network:
                    np.savez(directory / names[2], **part.network)  # type: ignore[arg-type]
            if self.verifier is not None and self.lexicons is not None:
                (directory / LEXICON).write_bytes(lexicon_file.to_bytes(self.lexicons))
                text = json.dumps(self.verifier, indent=1) + "\n"
                (directory / VERIFIER).write_text(text, encoding="utf-8")
                (directory / DECOYS).write_bytes(
                    decoy_file.pack(self.decoys) if decoys is None else decoys
                )
                parts = (COMPARER, self.comparer), (NAMES, self.names), (FACTS, self.facts)
                for name, arrays in parts:
                    if arrays:
                        np.savez_compressed(directory / name, **arrays)  # type: ignore[arg-type]
            if self.classifier:
                np.savez(directory / CLASSIFIER, **self.classifier)  # type: ignore[arg-type]
            files = digests(directory, vector_files(architecture))
            classifying = digests(directory, (CLASSIFIER,))
            languages = known_languages.as_dict(self.languages)
            config = {
                "format": FORMAT,
                "version": VERSION,
                "encoder": architecture.encoder,
                "dimension": self.dimension,
                **({"pieces": len(self.parts[0].weights)} if architecture.plain else {}),
                "normalisation": "unit length",
                "dtype": self.parts[0].dtype,
                "threshold": self.threshold,
                "fingerprint": fingerprint_of(files),
                "files": files,
                "verification": digests(directory, (*VERIFYING_FILES, COMPARER, NAMES, FACTS)),
                **({"classification": classifying} if classifying else {}),
                **({"languages": languages} if languages else {}),
                **({"vectors": dataclasses.asdict(self.vectors)} if self.vectors else {}),
                "training": dict(self.training),
            }
            (directory / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        return load(path)

    def read_decoys(self, language: str | None = None) -> list[str]:
        """Return the decoys, with which precision is estimated; empty for a model without any.

        They are sorted within a language, so the first ones are no sample. ``language``: ISO 639
        code; decoys known to be in other languages are omitted. Raises ArtifactError if their file
        has changed since the model was loaded.
        """
        return decoy_file.in_language(self.decoys_by_language(language), language)

    def decoys_by_language(self, language: str | None = None) -> Mapping[str, Sequence[str]]:
        """Return ``decoys``, or the decoys in the file of a loaded model. Raises ArtifactError.

        From a file, only those that may be in ``language``, if it is set, are read.
        """
        stored, name = self._stored_decoys(), f"{self.path}/{DECOYS}"
        return self.decoys if stored is None else decoy_file.unpack(stored, name, language)

    def _stored_decoys(self) -> bytes | None:
        """Read the decoy file of a loaded model; None if it has none, or if the file has
        changed.
        """
        if self.decoys or self.path is None or self.decoys_digest is None:
            return None
        check(self.path, {DECOYS: self.decoys_digest}, [DECOYS])
        return (self.path / DECOYS).read_bytes()


def converted(model: Model, dtype: str) -> Model:
    """Return the model with its embeddings stored as ``dtype``, a key of ``DTYPES``.

    Raises ArtifactError for int4 of an odd number of dimensions.
    """
    if dtype == "int4" and any(part.dimension % 2 for part in model.parts):
        raise ArtifactError(
            f"{model.path}: int4 stores numbers in pairs, and the model has an odd number of "
            "dimensions; convert to int8"
        )
    parts = tuple(EncoderPart.of(part.table(), dtype, part.network) for part in model.parts)
    training = dict(model.training)
    if "config" in training:
        training["config"] = {**training["config"], "dtype": dtype}
    return dataclasses.replace(model, parts=parts, training=training)


def load(path: str | Path = "default") -> Model:
    """Open and verify a model directory.

    Raises :class:`~miner.errors.ArtifactError` if a file is missing, truncated or altered, or if
    the format or its version is unknown.
    """
    directory = resolve(path)
    config = read_config(directory)
    files = config["files"]
    architecture = read_architecture(directory, files)
    check(directory, files, vector_files(architecture))
    if fingerprint_of(files) != config["fingerprint"]:
        raise ArtifactError(f"{directory / CONFIG}: fingerprint and files do not agree")
    needed = [VOCABULARIES[units] for units in architecture.units]
    needed += [names[0] for names in part_files(architecture)]
    if missing := [name for name in needed if name not in files]:
        raise ArtifactError(f"{directory / CONFIG}: lists no {', '.join(missing)}")
    shape = (config.get("pieces"), config["dimension"]) if architecture.plain else None
    parts = tuple(_part(directory, files, names, shape) for names in part_files(architecture))
    verifier = lexicons = None
    verifying = listed(directory, config, "verification")
    if verifying:
        check(directory, verifying, (*VERIFYING_FILES, COMPARER, NAMES, FACTS))
        if set(VERIFYING_FILES) - set(verifying):
            raise ArtifactError(f"{directory / CONFIG}: lists only {', '.join(verifying)}")
        path = directory / LEXICON
        lexicons = lexicon_file.from_bytes(path.read_bytes(), str(path), verifying[LEXICON])
        verifier = read_json(directory / VERIFIER)
    vectors = None
    if config.get("vectors") is not None:
        try:
            vectors = ForeignVectors.from_dict(config["vectors"])
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{directory / CONFIG}: names no encoder ({error}); run 'miner fit' again"
            ) from None
    classifying = listed(directory, config, "classification")
    check(directory, classifying, [CLASSIFIER])
    return Model(
        parts=parts,
        vocabularies={
            name: (directory / name).read_bytes()
            for name in vocabulary_files(architecture)
            if name in files
        },
        dimension=config["dimension"],
        architecture=architecture,
        threshold=config.get("threshold"),
        training=config.get("training", {}),
        verifier=verifier,
        lexicons=lexicons,
        comparer=_later(directory, verifying, COMPARER, "a comparer"),
        names=_later(directory, verifying, NAMES, "a model of names"),
        facts=_later(directory, verifying, FACTS, "a model of facts"),
        decoys_digest=verifying.get(DECOYS),
        languages=known_languages.read(config.get("languages"), str(directory / CONFIG)),
        classifier=read_arrays(directory / CLASSIFIER, "a classifier") if classifying else {},
        vectors=vectors,
        fingerprint=vectors.fingerprint if vectors else config["fingerprint"],
        path=directory,
    )


def _later(
    directory: Path, files: Mapping[str, str], name: str, kind: str
) -> Mapping[str, np.ndarray]:
    """Return the arrays of an optional file, to be read when they are used; none without it."""
    return FileArrays(directory / name, kind, files[name]) if name in files else {}


def _part(
    directory: Path,
    files: Mapping[str, str],
    names: tuple[str, str, str],
    shape: tuple[Any, Any] | None,
) -> EncoderPart:
    """Open the weights, scales and network of the files ``names``."""
    path = directory / names[0]
    weights, scales = open_array(path, None), None
    if weights.dtype not in (np.float16, np.float32, np.int8, np.uint8) or weights.ndim != 2:
        raise ArtifactError(f"{path}: holds {weights.dtype}, not float16, int8 or int4")
    actual = len(weights), EncoderPart(weights).dimension
    if shape is not None and actual != shape:
        raise ArtifactError(f"{path}: shape {actual}, {CONFIG} says {shape}")
    if weights.dtype.kind != "f":
        scales = np.array(open_array(directory / names[1], (len(weights),)))
    network = read_arrays(directory / names[2], "a network") if names[2] in files else {}
    checked = (names[0], weights) if scales is None else (names[1], scales)
    for name, array in (checked, *network.items()):
        if array.dtype.kind != "f" or not array.size:
            continue
        ends = float(array.min()), float(array.max())
        if not (ends[0] >= -LARGEST and ends[1] <= LARGEST):  # NaN, too
            raise ArtifactError(
                f"{directory}: its {name} has NaN, infinity or a number beyond {LARGEST:.0e}; copy "
                "or train the model again"
            )
    return EncoderPart(weights, scales, network, "".join(files.get(name, "") for name in names[:2]))
