"""Training pairs as flat piece ids, and the share of them that is held out."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from miner.encoder import CHUNK
from miner.flat import offsets_of, take_lists
from miner.machine import thread_count
from miner.tokenizer import Tokenizer


@dataclass(frozen=True)
class Sentences:
    """``n`` tokenised sentences: ``ids (t,) int32`` in a row, ``offsets (n + 1,) int64``."""

    ids: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: np.ndarray) -> "Sentences":
        """The sentences ``rows``, in that order, repeats allowed."""
        return Sentences(*take_lists(self.ids, self.offsets, rows))


def join(parts: Sequence[Sentences]) -> Sentences:
    """All sentences of ``parts``, one part after the other."""
    ids = np.concatenate([part.ids for part in parts])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Sentences(ids, offsets_of(lengths))


def dropped(sentences: Sentences, rate: float, generator: np.random.Generator) -> Sentences:
    """Leave out each piece occurrence with probability ``rate``; no sentence loses them all."""
    if rate == 0:
        return sentences
    lengths = np.diff(sentences.offsets)
    keep = generator.random(len(sentences.ids), dtype=np.float32) >= rate
    owner = np.repeat(np.arange(len(lengths)), lengths)
    kept = np.bincount(owner[keep], minlength=len(lengths))
    bare = kept == 0
    if bare.any():
        keep |= bare[owner]
        kept = np.where(bare, lengths, kept)
    return Sentences(sentences.ids[keep], offsets_of(kept))


@dataclass(frozen=True)
class PairData:
    """Aligned pairs: row ``i`` of ``source`` translates row ``i`` of ``target``.

    ``source_text`` and ``target_text (n,) int64`` number the distinct sentences, both sides by one
    count, so that a second copy of a translation is never taken for a negative.
    """

    source: Sentences
    target: Sentences
    source_text: np.ndarray
    target_text: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "PairData":
        """The pairs ``rows``, in that order."""
        return PairData(
            self.source.take(rows),
            self.target.take(rows),
            self.source_text[rows],
            self.target_text[rows],
        )


def tokenize(tokenizer: Tokenizer, sentences: Sequence[str]) -> Sentences:
    """All of ``sentences``, on all cores."""
    chunks = [sentences[start : start + CHUNK] for start in range(0, len(sentences), CHUNK)]
    with ThreadPoolExecutor(thread_count()) as pool:
        parts = [Sentences(*part) for part in pool.map(tokenizer, chunks)]
    return join(parts) if parts else Sentences(np.empty(0, np.int32), np.zeros(1, np.int64))


def prepare(tokenizer: Tokenizer, source: Sequence[str], target: Sequence[str]) -> PairData:
    """Tokenise the pairs; one whose side has no known piece is left out, having no vector."""
    left, right = tokenize(tokenizer, source), tokenize(tokenizer, target)
    rows = np.flatnonzero((np.diff(left.offsets) > 0) & (np.diff(right.offsets) > 0))
    numbers: dict[str, int] = {}
    return PairData(left, right, _number(source, numbers), _number(target, numbers)).take(rows)


def _number(sentences: Sequence[str], numbers: dict[str, int]) -> np.ndarray:
    found = (numbers.setdefault(sentence, len(numbers)) for sentence in sentences)
    return np.fromiter(found, dtype=np.int64, count=len(sentences))


def fingerprint(source: Sequence[str], target: Sequence[str]) -> str:
    """Identifies the training text, so that a killed run is only continued on the same."""
    digest = hashlib.sha256()
    for side in (source, target):
        for sentence in side:
            digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
        digest.update(b"\x00")
    return digest.hexdigest()[:16]


def split(data: PairData, heldout: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows ``(training, held out)``, both ascending.

    At most ``heldout`` rows, and a tenth of all, are held out, no two of which share a sentence;
    training keeps no pair that has a sentence of a held-out one.
    """
    order = np.random.default_rng([seed, 1]).permutation(len(data))
    text = np.stack([data.source_text[order], data.target_text[order]], axis=1)
    first = np.zeros(text.size, dtype=bool)
    first[np.unique(text, return_index=True)[1]] = True
    single = np.flatnonzero(first.reshape(text.shape).all(axis=1))
    held = np.sort(order[single[: min(heldout, len(data) // 10)]])
    sentences = np.concatenate([data.source_text[held], data.target_text[held]])
    touches = np.isin(data.source_text, sentences) | np.isin(data.target_text, sentences)
    return np.flatnonzero(~touches), held
