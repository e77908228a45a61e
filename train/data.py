"""Training pairs as ragged arrays of token ids, and their split into training and held-out
pairs.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.encoder import CHUNK
from miner.machine import thread_count
from miner.parallel import in_order
from miner.ragged import offsets_of, take_lists

# Tokeniser of sentences: token ids (t,) int32 and offsets (n + 1,) int64 of a ragged array.
Tokenise = Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]
# Number of the language pair of pairs in unknown languages.
UNKNOWN = -1


@dataclass(frozen=True)
class Sentences:
    """Tokenised sentences: a ragged array of token ids (t,) int32, by offsets (n + 1,) int64.

    ``also`` holds the same sentences by further tokenizers, for mixed encoders.
    """

    ids: np.ndarray
    offsets: np.ndarray
    also: "tuple[Sentences, ...]" = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def views(self) -> "tuple[Sentences, ...]":
        """Token ids of the sentences by each tokenizer; those of the first one come first."""
        return (replace(self, also=()), *self.also) if self.also else (self,)

    def take(self, rows: np.ndarray) -> "Sentences":
        """Select sentences by ``rows``, in that order; rows may repeat."""
        more = tuple(view.take(rows) for view in self.also)
        return Sentences(*take_lists(self.ids, self.offsets, rows), more)


# Encoder of sentences to unit vectors, with the current parameters.
Encode = Callable[[Sentences], np.ndarray]


def join(parts: Sequence[Sentences]) -> Sentences:
    """Concatenate the sentences of ``parts``."""
    ids = np.concatenate([part.ids for part in parts])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    more = tuple(join(views) for views in zip(*(part.also for part in parts), strict=True))
    return Sentences(ids, offsets_of(lengths), more)


def dropped(sentences: Sentences, rate: float, generator: np.random.Generator) -> Sentences:
    """Drop each token of the first units with probability ``rate``, never a whole sentence."""
    if rate == 0:
        return sentences
    lengths = np.diff(sentences.offsets)
    keep = generator.random(len(sentences.ids), dtype=np.float32) >= rate
    owner = np.repeat(np.arange(len(lengths)), lengths)
    kept = np.bincount(owner[keep], minlength=len(lengths))
    bare = kept == 0
    keep |= bare[owner]
    return Sentences(sentences.ids[keep], offsets_of(np.where(bare, lengths, kept)))


def scrambled(sentences: Sentences, rate: float, generator: np.random.Generator) -> Sentences:
    """Shuffle the tokens of each sentence with probability ``rate``, differently in each call
    (P18).
    """
    if rate == 0:
        return sentences
    lengths = np.diff(sentences.offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    chosen = generator.random(len(lengths)) < rate
    position = np.arange(len(owner), dtype=np.float64)
    shuffled = chosen[owner]
    position[shuffled] = sentences.offsets[owner[shuffled]] + (
        generator.random(int(shuffled.sum())) * lengths[owner[shuffled]]
    )
    # Sort within each sentence by position, which is either the old one or random.
    return Sentences(sentences.ids[np.lexsort((position, owner))], sentences.offsets)


# Fields of PairData with one number per pair, in order.
COLUMNS = ("source_text", "target_text", "same", "language", "held_out")


@dataclass(frozen=True)
class PairData:
    """Aligned pairs: row ``i`` of ``source`` translates row ``i`` of ``target``.

    ``source_text`` and ``target_text (n,) int64`` are ids of the distinct sentences of both sides,
    so that a duplicate of a translation never serves as a negative. ``same (n,) bool`` is False for
    pairs labelled as no translations (S18). ``language (n,) int16`` is the number of the language
    pair, ``UNKNOWN`` if no file name contains it. ``held_out (n,) bool`` marks pairs of files that
    are held out entirely.
    """

    source: Sentences
    target: Sentences
    source_text: np.ndarray
    target_text: np.ndarray
    same: np.ndarray
    language: np.ndarray
    held_out: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    @property
    def text(self) -> np.ndarray:
        """Text ids of both sentences of each pair, ``(n, 2) int64``."""
        return np.stack([self.source_text, self.target_text], axis=1)

    def take(self, rows: np.ndarray) -> "PairData":
        """Select pairs by ``rows``, in that order."""
        columns = (getattr(self, name)[rows] for name in COLUMNS)
        return PairData(self.source.take(rows), self.target.take(rows), *columns)


def tokenize(
    tokenizers: Sequence[Tokenise], sentences: Sequence[str], threads: int | None = None
) -> Sentences:
    """Tokenise sentences by each of the tokenizers, on all cores or ``threads``."""

    def part(start: int) -> Sentences:
        chunk = sentences[start : start + CHUNK]
        first, *also = (Sentences(*tokenizer(chunk)) for tokenizer in tokenizers)
        return Sentences(first.ids, first.offsets, tuple(also))

    starts = range(0, max(1, len(sentences)), CHUNK)
    return join(list(in_order(part, starts, thread_count(threads))))


def prepare(
    tokenizers: tuple[Sequence[Tokenise], Sequence[Tokenise]],
    source: Sequence[str],
    target: Sequence[str],
    same: np.ndarray | None = None,
    language: np.ndarray | None = None,
    held_out: np.ndarray | None = None,
) -> PairData:
    """Tokenise the pairs, each column by its tokenizers, one per unit.

    Pairs with a side without known tokens are dropped, because they have no vector. Defaults: all
    pairs are translations (``same (n,) bool``), in unknown languages (``language (n,) int16``), and
    none is held out (``held_out (n,) bool``).
    """
    left, right = tokenize(tokenizers[0], source), tokenize(tokenizers[1], target)
    known = [
        np.any([np.diff(view.offsets) > 0 for view in side.views], axis=0) for side in (left, right)
    ]
    ids: dict[str, int] = {}
    text = text_ids(source, ids), text_ids(target, ids)
    labels = np.ones(len(left), dtype=bool) if same is None else same
    numbers = np.full(len(left), UNKNOWN, dtype=np.int16) if language is None else language
    apart = np.zeros(len(left), dtype=bool) if held_out is None else held_out
    pairs = PairData(left, right, *text, labels, numbers, apart)
    return pairs.take(np.flatnonzero(known[0] & known[1]))


def text_ids(sentences: Sequence[str], ids: dict[str, int]) -> np.ndarray:
    """Text id of each sentence, ``(n,) int64``; new sentences are added to ``ids``."""
    numbers = (ids.setdefault(sentence, len(ids)) for sentence in sentences)
    return np.fromiter(numbers, dtype=np.int64, count=len(sentences))


def fingerprint(source: Sequence[str], target: Sequence[str], *marks: np.ndarray) -> str:
    """Hash a training's text and marks, because a checkpoint is continued only on the same text."""
    digest = hashlib.sha256(b"".join(mark.tobytes() for mark in marks))
    for side in (source, target):
        for sentence in side:
            digest.update(sentence.encode("utf-8", "surrogatepass") + b"\n")
        digest.update(b"\x00")
    return digest.hexdigest()[:16]


def split(data: PairData, heldout: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the pairs into rows of training and of held-out pairs, both ascending.

    Held out are at most ``heldout`` rows and a tenth of all, plus the rows marked so. No two of
    them share a sentence, and none is labelled as no translation. Training keeps no pair of the
    same languages that shares a sentence with them; pairs of other languages may share the English
    sentence.
    """
    order = np.random.default_rng([seed, 1]).permutation(len(data))
    order = order[np.argsort(~data.held_out[order], kind="stable")]
    text = data.text[order]
    first = np.zeros(text.size, dtype=bool)
    first[np.unique(text, return_index=True)[1]] = True
    single = np.flatnonzero(first.reshape(text.shape).all(axis=1) & data.same[order])
    marked = int(data.held_out[order[single]].sum())
    held = np.sort(order[single[: marked + min(heldout, len(data) // 10)]])
    # The same text counts only within its language pair: text id and pair in one integer.
    keyed = data.text * (1 << 16) + (data.language[:, None].astype(np.int64) - UNKNOWN)
    touches = np.isin(keyed, keyed[held]).any(axis=1)
    return np.flatnonzero(~touches & ~data.held_out), held


@dataclass(frozen=True)
class SplitPairs:
    """All pairs of a training and their split into rows ``training`` and ``held``.

    ``sentences`` are the distinct sentences by text id, and ``languages`` the names of the language
    pairs (``de-en``) by number.
    """

    pairs: PairData
    training: np.ndarray
    held: np.ndarray
    sentences: list[str]
    languages: list[str]

    @property
    def translations(self) -> np.ndarray:
        """Rows of the training pairs that are translations; all held-out pairs are."""
        return self.training[self.pairs.same[self.training]]

    def by_language(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Positions in ``rows`` of the pairs of each language pair that occurs, by name."""
        numbers = self.pairs.language[rows]
        groups = {name: np.flatnonzero(numbers == i) for i, name in enumerate(self.languages)}
        return {name: places for name, places in groups.items() if len(places)}

    def text(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Source and target sentences of the pairs ``rows``."""
        source, target = self.pairs.source_text[rows], self.pairs.target_text[rows]
        return [self.sentences[i] for i in source], [self.sentences[i] for i in target]
