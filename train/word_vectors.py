"""Pretrained word vectors to start from: text files of word2vec, GloVe and fastText."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.errors import CorpusError
from miner.text.lines import display_name, read_lines
from miner.text.output import StrPath
from miner_train.config import TrainConfig

# Lines that are read at a time.
BLOCK = 4096
LARGEST = float(np.finfo(np.float32).max)


def read_embeddings(path: StrPath) -> tuple[list[str], np.ndarray]:
    """Read ``n`` distinct words and their vectors ``(n, d) float32``.

    A line is a word and ``d`` numbers, separated by spaces; the word may hold spaces, as some of
    GloVe's do, and bytes that are not UTF-8 become U+FFFD. A first line of two whole numbers gives
    the number of words and ``d``. The first vector of a repeated word counts. Compressed files are
    known by their suffix, ``-`` is standard input.

    Raises CorpusError, with the line, for a file of another kind or an incomplete one.
    """
    origin = str(path)
    name = display_name(origin)
    lines = (line.rstrip(b" ") for line in read_lines(origin))
    numbered: Iterator[tuple[int, bytes]] = (
        (number, line) for number, line in enumerate(lines, 1) if line
    )
    head = list(islice(numbered, 1))
    first = head[0][1].split(b" ") if head else []
    expected: int | None = None
    dimension = 0
    if len(first) == 2 and all(map(bytes.isdigit, first)):
        expected, dimension = int(first[0]), int(first[1])
    else:
        while dimension < len(first) - 1 and _is_number(first[-1 - dimension]):
            dimension += 1
        numbered = chain(head, numbered)
    if first and dimension < 1:
        raise CorpusError(
            f"{name}, line {head[0][0]}: not a word and numbers; is this file word vectors?"
        )
    rows: dict[str, int] = {}
    parts: list[np.ndarray] = []
    read = 0
    while block := list(islice(numbered, BLOCK)):
        fields = [line.rsplit(b" ", dimension) for _, line in block]
        vectors = _vectors(name, [number for number, _ in block], fields, dimension)
        words = [own[0].decode("utf-8", "replace") for own in fields]
        # Keep the first vector of each word.
        kept = [i for i, word in enumerate(words, read) if rows.setdefault(word, i) == i]
        parts.append(vectors[np.array(kept, dtype=np.int64) - read])
        read += len(block)
    if expected is not None and read != expected:
        raise CorpusError(
            f"{name}: {read} word vectors, and its first line says {expected}; probably an "
            "incomplete download: fetch it again"
        )
    if not read:
        raise CorpusError(f"{name}: no word vectors in it; is this the right file?")
    return list(rows), np.concatenate(parts)


def read_matching(path: str, config: TrainConfig) -> tuple[list[str], np.ndarray]:
    """Read word vectors of the configuration's dimension. Raises CorpusError for any other."""
    if "word" not in config.architecture.units:
        raise CorpusError(f"{path}: word vectors are for encoders of words, not {config.encoder}")
    words, vectors = read_embeddings(path)
    if vectors.shape[1] != config.dimension:
        raise CorpusError(
            f"{path}: has vectors of {vectors.shape[1]} numbers; "
            f"give --dimension {vectors.shape[1]} (now {config.dimension})"
        )
    return words, vectors


def digest(words: Sequence[str], vectors: np.ndarray) -> str:
    """Hash of words and vectors, for the key of a checkpoint."""
    found = hashlib.sha256(np.ascontiguousarray(vectors).view(np.uint8).data)
    found.update("\n".join(words).encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:16]


def initial_embeddings(
    words: Sequence[str],
    vectors: np.ndarray,
    vocabularies: Sequence[bytes],
    config: TrainConfig,
) -> np.ndarray:
    """Arrange vectors in the order of the vocabulary: ``(V, d) float32``, NaN for words without.

    ``vocabularies`` are one, or those of both columns.
    """
    rows: dict[str, int] = {}
    for row, word in enumerate(Normaliser.by_rule(config.fold_case)(words)):
        rows.setdefault(word, row)
    types = [word for one in vocabularies for word in one.decode("utf-8").splitlines()]
    found = np.array([rows.get(word, -1) for word in types])
    return np.where(found[:, None] >= 0, vectors[found], np.float32(np.nan))


def describe_coverage(start: np.ndarray, seen: np.ndarray) -> str:
    """Tell how many of the text's words have a vector. Raises CorpusError if none has.

    ``start`` are the :func:`initial_embeddings`, ``seen`` the distinct token ids of the text.
    """
    known = np.isfinite(start[:, 0])
    count = int(known[seen].sum())
    if not count:
        raise CorpusError(
            f"none of the text's {len(seen)} words has a vector; is the file of its languages, "
            "and separated by spaces?"
        )
    more = int(known.sum()) - count
    return f"vectors for {count} of the text's {len(seen)} words, {more} more"


def _vectors(
    name: str, numbers: Sequence[int], fields: Sequence[Sequence[bytes]], dimension: int
) -> np.ndarray:
    """Parse the vectors ``(n, d) float32`` of lines that are split at their last ``d`` spaces."""
    for number, (word, *values) in zip(numbers, fields, strict=True):
        longer = word.rpartition(b" ")
        if len(values) != dimension or (longer[1] and _is_number(longer[2])):
            found = len(values) if len(values) < dimension else f"more than {dimension}"
            raise CorpusError(
                f"{name}, line {number}: {found} numbers, {dimension} before it; mend the line, or "
                "fetch the file again"
            )
    try:
        every = map(float, chain.from_iterable(own[1:] for own in fields))
        vectors = np.fromiter(every, dtype=np.float64, count=len(fields) * dimension)
        if (np.abs(vectors) <= LARGEST).all():
            return vectors.astype(np.float32).reshape(len(fields), dimension)
    except ValueError:
        pass
    for number, (_, *texts) in zip(numbers, fields, strict=True):
        for text in texts:
            if not _is_number(text) or not abs(float(text)) <= LARGEST:
                shown = text.decode("utf-8", "replace")
                raise CorpusError(
                    f"{name}, line {number}: {shown!r} is no finite number; mend the line, or "
                    "fetch the file again"
                )
    raise AssertionError("one of them is at fault")


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
