"""Training pairs as flat piece ids, and the share of them that is held out."""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.encoder import CHUNK
from miner.machine import thread_count
from miner.ragged import offsets_of, take_lists

# What cuts sentences into the ids of their tokens: (ids (t,) int32, offsets (n + 1,) int64).
Cut = Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Sentences:
    """``n`` tokenised sentences: ``ids (t,) int32`` in a row, ``offsets (n + 1,) int64``.

    ``also`` has the same sentences in further units, where a mixed encoder reads several.
    """

    ids: np.ndarray
    offsets: np.ndarray
    also: "tuple[Sentences, ...]" = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def views(self) -> "tuple[Sentences, ...]":
        """The sentences in each of their units, these first, without the others."""
        return (replace(self, also=()), *self.also) if self.also else (self,)

    def take(self, rows: np.ndarray) -> "Sentences":
        """The sentences ``rows``, in that order, repeats allowed."""
        more = tuple(view.take(rows) for view in self.also)
        return Sentences(*take_lists(self.ids, self.offsets, rows), more)


def join(parts: Sequence[Sentences]) -> Sentences:
    """All sentences of ``parts``, one part after the other."""
    ids = np.concatenate([part.ids for part in parts])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    more = tuple(join(views) for views in zip(*(part.also for part in parts), strict=True))
    return Sentences(ids, offsets_of(lengths), more)


def dropped(sentences: Sentences, rate: float, generator: np.random.Generator) -> Sentences:
    """Leave out each token with probability ``rate``; no sentence loses them all.

    Of one view of the sentences; the others are left behind.
    """
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


def scrambled(sentences: Sentences, rate: float, generator: np.random.Generator) -> Sentences:
    """Shuffle the tokens of each sentence with probability ``rate`` (P18, P19).

    Drawn afresh at every call, so that a sentence is met in many orders, and mostly in its own.
    """
    if rate == 0:
        return sentences
    lengths = np.diff(sentences.offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    chosen = generator.random(len(lengths)) < rate
    place = np.arange(len(owner), dtype=np.float64)
    shuffled = chosen[owner]
    place[shuffled] = sentences.offsets[owner[shuffled]] + (
        generator.random(int(shuffled.sum())) * lengths[owner[shuffled]]
    )
    # Within each sentence by place: as they were, or at random.
    return Sentences(sentences.ids[np.lexsort((place, owner))], sentences.offsets)


@dataclass(frozen=True)
class PairData:
    """Aligned pairs: row ``i`` of ``source`` translates row ``i`` of ``target``.

    ``source_text`` and ``target_text (n,) int64`` number the distinct sentences, both sides by one
    count, so that a second copy of a translation is never taken for a negative. ``same (n,) bool``
    is false for pairs that are labelled as no translations (S18).
    """

    source: Sentences
    target: Sentences
    source_text: np.ndarray
    target_text: np.ndarray
    same: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    @property
    def text(self) -> np.ndarray:
        """The numbers of both sentences of each pair: ``(n, 2) int64``."""
        return np.stack([self.source_text, self.target_text], axis=1)

    def take(self, rows: np.ndarray) -> "PairData":
        """The pairs ``rows``, in that order."""
        return PairData(
            self.source.take(rows),
            self.target.take(rows),
            self.source_text[rows],
            self.target_text[rows],
            self.same[rows],
        )


def tokenize(
    tokenizers: Sequence[Cut], sentences: Sequence[str], threads: int | None = None
) -> Sentences:
    """All of ``sentences``, a view by each of the tokenizers; by default on all cores."""

    def view(tokenizer: Cut) -> Sentences:
        return tokenize_parts(lambda chunk, first: tokenizer(chunk), sentences, threads)

    first, *also = map(view, tokenizers)
    return Sentences(first.ids, first.offsets, tuple(also))


def tokenize_parts(
    cut: Callable[[Sequence[str], int], tuple[np.ndarray, np.ndarray]],
    sentences: Sequence[str],
    threads: int | None = None,
) -> Sentences:
    """All of ``sentences`` by a function of some of them and the number of their first."""

    def work(start: int) -> Sentences:
        return Sentences(*cut(sentences[start : start + CHUNK], start))

    with ThreadPoolExecutor(thread_count(threads)) as pool:
        return join(list(pool.map(work, range(0, max(1, len(sentences)), CHUNK))))


def prepare(
    tokenizers: tuple[Sequence[Cut], Sequence[Cut]],
    source: Sequence[str],
    target: Sequence[str],
    same: np.ndarray | None = None,
) -> PairData:
    """Tokenise the pairs, each column by its tokenizers, one for each kind of unit.

    A pair whose side has no known token is left out, having no vector. ``same`` are the labels, if
    the pairs have any.
    """
    left, right = tokenize(tokenizers[0], source), tokenize(tokenizers[1], target)
    known = [
        np.any([np.diff(view.offsets) > 0 for view in side.views], axis=0) for side in (left, right)
    ]
    numbers: dict[str, int] = {}
    text = number_texts(source, numbers), number_texts(target, numbers)
    labels = np.ones(len(left), dtype=bool) if same is None else same
    return PairData(left, right, *text, labels).take(np.flatnonzero(known[0] & known[1]))


def number_texts(sentences: Sequence[str], numbers: dict[str, int]) -> np.ndarray:
    """The number of each sentence, ``(n,) int64``; new ones join ``numbers``."""
    found = (numbers.setdefault(sentence, len(numbers)) for sentence in sentences)
    return np.fromiter(found, dtype=np.int64, count=len(sentences))


def fingerprint(
    source: Sequence[str], target: Sequence[str], same: np.ndarray | None = None
) -> str:
    """Identifies the training text, so that a killed run is only continued on the same."""
    digest = hashlib.sha256()
    if same is not None:
        digest.update(same.tobytes())
    for side in (source, target):
        for sentence in side:
            digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
        digest.update(b"\x00")
    return digest.hexdigest()[:16]


def split(data: PairData, heldout: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows ``(training, held out)``, both ascending.

    At most ``heldout`` rows, and a tenth of all, are held out, no two of which share a sentence and
    none of which is labelled as no translation;
    training keeps no pair that has a sentence of a held-out one.
    """
    order = np.random.default_rng([seed, 1]).permutation(len(data))
    text = np.stack([data.source_text[order], data.target_text[order]], axis=1)
    first = np.zeros(text.size, dtype=bool)
    first[np.unique(text, return_index=True)[1]] = True
    single = np.flatnonzero(first.reshape(text.shape).all(axis=1) & data.same[order])
    held = np.sort(order[single[: min(heldout, len(data) // 10)]])
    sentences = np.concatenate([data.source_text[held], data.target_text[held]])
    touches = np.isin(data.source_text, sentences) | np.isin(data.target_text, sentences)
    return np.flatnonzero(~touches), held
