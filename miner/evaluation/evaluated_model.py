"""Models to evaluate: a model of this program, or sentence vectors of another tool."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from miner.encoder.loading import USUAL, Loading, split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, CorpusError, MismatchError
from miner.evaluation.labelled_text import find_file
from miner.index.index import Index
from miner.index.vectors import open_vectors, unit_blocks
from miner.text.corpus import CorpusReader
from miner.text.durable import scratch_directory
from miner.text.file_digests import file_sha256
from miner.text.language_codes import ENGLISH
from miner.text.output import open_output
from miner.text.text_format import is_blank
from miner.text_table import quoted

# Files of a directory of vectors.
SENTENCES = "sentences.txt"
VECTORS = ("vectors.npy", "vectors.h5", "vectors.hdf5")


class EvaluatedModel(Protocol):
    """Protocol of the models that can be evaluated: ``name``, and ``encode(sentences, language)``.

    Any object with these two qualifies, for example a wrapper of another library's model.
    """

    name: str

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Return unit rows ``(n, d) float32``; a sentence without known words has a zero row."""
        ...


class MinerModel:
    """Encoder that opens by name. ``encoders``: of source and target; usually the same."""

    def __init__(
        self,
        model: str,
        threads: int | None = None,
        device: str = "cpu",
        loading: Loading = USUAL,
    ):
        source = open_encoder(model, threads, device, "source", loading)
        self.name = model
        self.encoders = source, source.on_side("target")

    @property
    def fingerprint(self) -> str:
        return self.encoders[0].fingerprint

    @property
    def verifies(self) -> bool:
        """True if the model can rank pairs by probability."""
        model = self.encoders[0].model
        return model is not None and model.verifier is not None

    def encoder(self, language: str) -> SentenceEncoder:
        return self.encoders[language == ENGLISH]

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        return self.encoder(language).encode(sentences)


class PrecomputedVectors:
    """Vectors of another tool: a directory of sentences, one a line, with a vector for each.

    The sentences were written by :func:`write_sentences`. Raises ArtifactError for a directory or
    vectors that cannot be read or hold NaN, MismatchError for unequal numbers of them.
    """

    def __init__(self, directory: str | Path):
        self.name = str(directory)
        directory = Path(directory)
        text = find_file(directory, SENTENCES)
        there = vector_files(directory)
        if len(there) > 1:
            raise ArtifactError(f"{directory}: has {' and '.join(there)}; remove the older")
        if text is None or not there:
            raise ArtifactError(
                f"{directory}: no {SENTENCES if text is None else VECTORS[0]}; write the sentences "
                "with 'miner evaluate sentences', and their vectors beside them, one for each line"
            )
        path = directory / there[0]
        digest = hashlib.sha256()
        for file in (text, path):
            digest.update(bytes.fromhex(file_sha256(file)))
        self.fingerprint = digest.hexdigest()[:16]
        self._path = text
        self._row: dict[str, int] = {}
        reader = CorpusReader(text, format="plain")
        for block in reader:
            lines = (block.lines - 1).tolist()
            self._row.update(zip(block.sentences, lines, strict=True))
        array = open_vectors(path)
        if len(array) != reader.lines:
            raise MismatchError(
                f"{path} has {len(array)} vectors, {text} {reader.lines} lines; one for each is "
                "needed"
            )
        if array.dtype == np.float16:
            # float32 rows are rescaled, because rounding changed their unit length slightly.
            array = array.astype(np.float32)
        blocks = unit_blocks(array, np.arange(len(array)), str(path))
        self._vectors = np.concatenate([np.empty((0, array.shape[1]), np.float32), *blocks])

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        """Look the vectors up; blank sentences have zero rows. Raises MismatchError for unknown
        ones.
        """
        out = np.zeros((len(sentences), self._vectors.shape[1]), dtype=np.float32)
        for row, sentence in zip(out, map(_line, sentences), strict=True):
            if not sentence:
                continue
            if sentence not in self._row:
                raise MismatchError(
                    f"{self._path}: has no sentence {quoted(sentence)}; write the "
                    "sentences with 'miner evaluate sentences', and encode them"
                )
            row[:] = self._vectors[self._row[sentence]]
        return out


def vector_files(directory: Path) -> list[str]:
    """Return the names of the vector files in a directory; there should be one."""
    return [name for name in VECTORS if (directory / name).is_file()]


def open_model(
    model: str, threads: int | None = None, device: str = "cpu", loading: Loading = USUAL
) -> MinerModel | PrecomputedVectors:
    """Open a model by its name (:func:`~miner.encoder.open_encoder.open_encoder`), or vectors."""
    if split_name(model) is None and find_file(Path(model), SENTENCES) is not None:
        return PrecomputedVectors(model)
    return MinerModel(model, threads, device, loading)


def write_sentences(sentences: Iterable[str], path: str | Path) -> int:
    """Write the distinct sentences, one a line, for other tools to encode; return their number."""
    distinct = dict.fromkeys(filter(None, map(_line, sentences)))
    with open_output(path) as file:
        file.writelines(f"{sentence}\n" for sentence in distinct)
    return len(distinct)


def build_index(model: EvaluatedModel, corpus: Path, language: str, path: Path) -> Index:
    """Build the index of a corpus in the format of BUCC with the vectors of any model.

    Raises CorpusError for a corpus without lines, and the errors of the model.
    """
    if isinstance(model, MinerModel):
        return Index.build(model.encoder(language), corpus, path, format="bucc")
    blocks = [
        model.encode(block.sentences, language)
        for block in CorpusReader(corpus, format="bucc", every=True)
    ]
    if not blocks:
        raise CorpusError(f"{corpus}: is empty; there is nothing to mine in")
    with scratch_directory() as work:
        vectors = work / VECTORS[0]
        np.save(vectors, np.concatenate(blocks))
        return Index.build_from_vectors(vectors, corpus, path, format="bucc")


def _line(sentence: str) -> str:
    """Strip the carriage returns at the end of a sentence; a blank sentence becomes empty."""
    return "" if is_blank(sentence) else sentence.rstrip("\r")
