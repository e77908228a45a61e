"""Teacher's sentence vectors for a distillation: cached on disk, then reduced.

A transformer takes far longer to encode the text than a student to learn from it, so a distillation
that is killed or repeated does not encode again.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.arrays import open_npy
from miner.encoder.pieces import SPACE_MARK, PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, writing
from miner.json_files import read_json
from miner.progress import Reporter, silent
from miner.text.artifacts import replaceable
from miner.text.locks import lock
from miner.text.output import atomic_file

KEY = "key.json"
# Sentences per part: a killed run repeats at most one part.
PART = 8192
# Vectors from which the axes are computed.
SAMPLE = 100_000
# Weight of a piece of probability p: RARE / (RARE + p) (Arora et al. 2017).
RARE = 1e-3
# Pieces encoded at a time.
BLOCK = 4096


def cached_vectors(
    teacher: SentenceEncoder,
    sentences: Sequence[str],
    directory: str | Path,
    *,
    restart: bool = False,
    report: Reporter = silent,
) -> list[np.ndarray]:
    """Encode ``sentences`` with ``teacher``; reuse the vectors that ``directory`` holds.

    Returns the parts in order, memory maps ``(m, d) float16`` of unit rows, zero for sentences
    unknown to the teacher. ``key.json`` names teacher and text; ``restart`` discards vectors of
    others. Raises ArtifactError for a directory of another teacher or text, or with a damaged part.
    """
    root = replaceable(directory, KEY)
    with lock(root):
        if restart:
            shutil.rmtree(root, ignore_errors=True)
        _check_key(root, directory, teacher, sentences)
        parts = []
        for number, start in enumerate(range(0, len(sentences), PART)):
            path = root / f"{number:06}.npy"
            batch = sentences[start : start + PART]
            if not path.exists():
                with atomic_file(path) as partial, open(partial, "wb") as file:
                    np.save(file, teacher.encode(batch).astype(np.float16))
            part = open_npy(path)
            if part.shape != (len(batch), teacher.dimension) or part.dtype != np.float16:
                raise ArtifactError(f"{path}: damaged; remove it, and it is made again")
            parts.append(part)
            report("encoding by the teacher", start + len(batch), len(sentences))
        return parts


def _check_key(
    place: Path, name: str | Path, teacher: SentenceEncoder, sentences: Sequence[str]
) -> None:
    """Compare the directory's key with teacher and text; write it to a new directory."""
    lines = (sentence.encode("utf-8", "surrogatepass") + b"\n" for sentence in sentences)
    key = {
        "teacher": teacher.address,
        "fingerprint": teacher.fingerprint,
        "dimension": teacher.dimension,
        "sentences": len(sentences),
        "text": hashlib.sha256(b"".join(lines)).hexdigest(),
    }
    if not (place / KEY).exists():
        with writing(name):
            place.mkdir(parents=True, exist_ok=True)
        with atomic_file(place / KEY) as partial:
            partial.write_text(json.dumps(key, indent=2) + "\n", encoding="utf-8")
        return
    try:
        stored = read_json(place / KEY)
        other, digest = stored["teacher"], stored["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{place / KEY}: cannot be read ({error}); give --restart") from None
    if digest != teacher.fingerprint:
        raise ArtifactError(
            f"{name}: vectors of {other} ({digest}), not of {teacher.address} "
            f"({teacher.fingerprint}); name another --cache, or give --restart"
        )
    if stored != key:
        raise ArtifactError(
            f"{name}: vectors of another text or other settings; name another --cache, or give "
            "--restart"
        )


@dataclass(frozen=True)
class Axes:
    """Principal axes of a teacher's vectors: ``mean (D,)`` and ``axes (D, d)``, float32."""

    mean: np.ndarray
    axes: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[np.ndarray], dimension: int) -> "Axes":
        """Compute the ``dimension`` axes of largest variance, from an even sample."""
        step = -(-sum(map(len, parts)) // SAMPLE) or 1
        sample = np.concatenate([part[::step] for part in parts]).astype(np.float64)
        mean = sample.mean(axis=0)
        centred = sample - mean
        _, axes = np.linalg.eigh(centred.T @ centred)
        return cls(
            mean.astype(np.float32),
            np.ascontiguousarray(axes[:, ::-1][:, :dimension], dtype=np.float32),
        )

    def reduce(self, vectors: np.ndarray) -> np.ndarray:
        """Centre vectors ``(n, D)`` and project them on the axes: unit rows ``(n, d) float32``."""
        return unit_rows((vectors.astype(np.float32) - self.mean) @ self.axes)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale rows ``(n, d)`` to length 1. Zero rows stay zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def piece_vectors(
    encoder: SentenceEncoder,
    tokenizer: PieceTokenizer,
    ids: np.ndarray,
    reduce: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return vectors ``(V, d) float32`` of pieces, as in model2vec (Tulkens and van Dongen 2024).

    A piece's vector is the encoder's vector of its text, without the mark of a space, reduced by
    ``reduce`` to ``(V, d)``. Its length falls with the frequency of the piece among ``ids (t,)``.
    Pieces that cannot occur have zero rows.
    """
    rows, texts = piece_texts(tokenizer)
    blocks = (texts[start : start + BLOCK] for start in range(0, len(texts), BLOCK))
    known = np.concatenate(list(map(encoder.encode, blocks)))
    reduced = unit_rows(reduce(known))
    table = np.zeros((tokenizer.size, reduced.shape[1]), dtype=np.float32)
    table[rows] = reduced * rarity(ids, tokenizer.size)[rows, None]
    return table


def piece_texts(tokenizer: PieceTokenizer) -> tuple[np.ndarray, list[str]]:
    """Return the ids of the pieces that can occur, ``(m,) int64``, and their texts."""
    name = tokenizer.processor.id_to_piece
    rows = np.flatnonzero(tokenizer.meaningful)
    return rows, [name(row).replace(SPACE_MARK, " ").strip() for row in rows.tolist()]


def rarity(ids: np.ndarray, size: int) -> np.ndarray:
    """Return the weight of each piece ``(size,) float64`` by its frequency in ``ids (t,)``."""
    return RARE / (RARE + np.bincount(ids, minlength=size) / max(len(ids), 1))
