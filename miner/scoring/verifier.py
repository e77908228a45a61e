"""A second look at candidate pairs: from cheap features to the probability of a translation.

The averaged vectors tell what a sentence is about. Whether two sentences say the same shows in
their pieces: does each have a counterpart, do the numbers agree, is any rival better? Two logistic
functions weigh that. The first, *alone*, sees the two sentences and nothing else, and on purpose
not their cosine: on text like its training text an encoder is better than elsewhere, so that a
weight learned there trusts it too much. The second, *among*, sees what the first says of the pair
and of its rivals, and the neighbourhood. Both are learned without gold by :mod:`train.learn_verifier`.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.encoder.encoder import CHUNK, Encoder
from miner.encoder.lexicon import Lexicon
from miner.encoder.model import quantise
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ArtifactError
from miner.knn.neighbors import Neighbors
from miner.ragged import offsets_of, take_lists
from miner.scoring.margin import Candidates

# What a pair says of itself. Figures of the two sides come as their mean and their worse one, so
# that it does not matter which language is called the source.
ALONE = (
    "alignment",
    "alignment_min",
    "unmatched",
    "unmatched_max",
    "association",
    "association_min",
    "translated",
    "translated_min",
    "length_ratio",
    "length",
    "length_squared",
    "numbers_differ",
    "numbers_shared",
    "shared_pieces",
)
# What its rivals and neighbours add; ``alone`` is the logit of the first function.
AMONG = (
    "alone",
    "lead",
    "lead_min",
    "lead_second",
    "lead_second_min",
    "gap",
    "gap_min",
    "rank",
)
FEATURES = (*ALONE, *AMONG)
# Candidates that are compared at a time.
PART = 1 << 18
# A lead counts up to this; a pair without a rival leads by as much.
FAR = 12.0


@dataclass(frozen=True, eq=False)
class Text:
    """Sentences made ready for a second look.

    Flat pieces ``ids (t,) int32`` with ``offsets (n + 1,) int64``; ``characters (n,) int64``; the
    numbers they mention, ``numbers (m,) uint64`` with ``number_offsets (n + 1,) int64``.
    """

    ids: np.ndarray
    offsets: np.ndarray
    characters: np.ndarray
    numbers: np.ndarray
    number_offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.characters)

    def take(self, rows: np.ndarray) -> "Text":
        """The sentences ``rows``, in that order."""
        ids, offsets = take_lists(self.ids, self.offsets, rows)
        return Text(
            ids,
            offsets,
            self.characters[rows],
            *take_lists(self.numbers, self.number_offsets, rows),
        )

    def join(self, more: "Text") -> "Text":
        """These sentences, and then those."""
        return Text(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.characters, more.characters]),
            np.concatenate([self.numbers, more.numbers]),
            np.concatenate(
                [self.number_offsets, self.number_offsets[-1] + more.number_offsets[1:]]
            ),
        )


def prepare(tokenizer: Tokenizer, sentences: Sequence[str], threads: int) -> Text:
    """Tokenise sentences, count their characters, find their numbers."""
    from miner.kernels.numbers import find_numbers

    def work(start: int) -> tuple[np.ndarray, ...]:
        part = sentences[start : start + CHUNK]
        ids, offsets = tokenizer(part)
        encoded = [sentence.encode("utf-8", "surrogatepass") for sentence in part]
        places = np.cumsum([0, *map(len, encoded)])
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        numbers, number_offsets = find_numbers(text, places)
        return ids, np.diff(offsets), numbers, np.diff(number_offsets)

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(work, range(0, max(len(sentences), 1), CHUNK)))
    ids, lengths, numbers, number_lengths = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    characters = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    return Text(ids, offsets_of(lengths), characters, numbers, offsets_of(number_lengths))


def unit_codes(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows ``(V, d) float32`` rounded to bytes ``(V, p) int8``, and what makes unit rows of them.

    ``p`` is ``d``, with zeros, up to what compiled loops take at a time; the scale ``(V,) float32``
    of a zero row is 0. What a model stores as bytes is rounded no further.
    """
    from miner.kernels.dots import STEP

    codes, _ = quantise(table)
    padded = np.zeros((len(codes), -(-codes.shape[1] // STEP) * STEP), dtype=np.int8)
    padded[:, : codes.shape[1]] = codes
    length = np.sqrt(np.einsum("vd,vd->v", codes, codes, dtype=np.int64))
    return padded, np.where(length > 0, 1 / np.maximum(length, 1), 0).astype(np.float32)


class Pieces:
    """What is known of every piece: its direction, its weight, its translations.

    ``codes (V, p) int8`` times ``scale (V,) float32`` are unit rows (zero for a zero row), filled
    up with zeros to p; ``weight (V,) float32`` > 0 is the length of its vector: training makes
    what carries meaning loud.
    """

    def __init__(self, table: np.ndarray, lexicon: Lexicon):
        length = np.linalg.norm(table, axis=1)
        self.weight = np.maximum(length, 1e-9).astype(np.float32)
        self.codes, self.scale = unit_codes(table)
        self.lexicon = lexicon

    def similarity(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Cosines of pieces with pieces, ``(n, m) float32``."""
        from miner.kernels.dots import cosines

        return cosines(self.codes, self.scale, left, right)

    def compare(
        self,
        source: Text,
        target: Text,
        source_row: np.ndarray,
        target_row: np.ndarray,
        order: np.ndarray | None = None,
    ) -> np.ndarray:
        """The features ``ALONE`` of pairs of rows: ``(m, len(ALONE)) float32``.

        Lengths are natural logarithms of pieces (``length``: of both sides' mean) or of a ratio of
        characters; ``association`` is in nats a piece; the others are shares or cosines. ``order
        (m, 4) float32``, if given, gets the figures of :mod:`miner.kernels.order`.
        """
        from miner.kernels.tokens import COLUMNS, compare

        figures = np.empty((len(source_row), COLUMNS), dtype=np.float32)
        lexicon = self.lexicon
        compare(
            source.ids,
            source.offsets,
            target.ids,
            target.offsets,
            source_row,
            target_row,
            self.codes,
            self.scale,
            self.weight,
            lexicon.frequency,
            lexicon.offsets,
            lexicon.pieces,
            lexicon.probability,
            figures,
            np.empty((0, 4), dtype=np.float32) if order is None else order,
        )
        out = np.empty((len(source_row), len(ALONE)), dtype=np.float32)
        for column, worse in enumerate((np.minimum, np.maximum, np.minimum, np.minimum)):
            left, right = figures[:, 2 * column], figures[:, 2 * column + 1]
            out[:, 2 * column] = (left + right) / 2
            out[:, 2 * column + 1] = worse(left, right)
        # Five more characters: of two short sentences one is easily twice as long.
        characters = (source.characters[source_row] + 5) / (target.characters[target_row] + 5)
        out[:, 8] = np.abs(np.log(characters))
        pieces = np.diff(source.offsets)[source_row] + np.diff(target.offsets)[target_row]
        out[:, 9] = np.log(pieces / 2 + 1)
        out[:, 10] = out[:, 9] ** 2
        out[:, 11:13] = _numbers(source, target, source_row, target_row)
        out[:, 13] = figures[:, 8]
        return out


def _numbers(
    source: Text, target: Text, source_row: np.ndarray, target_row: np.ndarray
) -> np.ndarray:
    """``(m, 2) float32``: whether either side has a number that the other lacks; how many both."""
    from miner.kernels.numbers import shared_numbers

    shared = shared_numbers(
        source.numbers,
        source.number_offsets,
        target.numbers,
        target.number_offsets,
        source_row,
        target_row,
    )
    total = np.diff(source.number_offsets)[source_row] + np.diff(target.number_offsets)[target_row]
    return np.stack([total > 2 * shared, shared], axis=1).astype(np.float32)


def compare_neighbours(
    candidates: Candidates, forward: Neighbors, backward: Neighbors, alone: np.ndarray
) -> np.ndarray:
    """The features ``AMONG``: ``(m, len(AMONG)) float32``; ``alone (m,)`` are logits.

    ``lead`` is by how much ``alone`` exceeds that of the best other candidate, ``lead_second`` of
    the second best, ``gap`` the cosine that of the nearest other neighbour: mean and minimum over
    the two sentences. ``rank`` is the natural logarithm of the worse of the pair's two ranks, k + 1
    where a sentence is not on the other's list.
    """
    out = np.empty((len(candidates), len(AMONG)), dtype=np.float32)
    out[:, 0] = alone
    leads = _leads(alone, candidates.source_row), _leads(alone, candidates.target_row)
    for column in (0, 1):
        left, right = leads[0][:, column], leads[1][:, column]
        out[:, 1 + 2 * column] = (left + right) / 2
        out[:, 2 + 2 * column] = np.minimum(left, right)
    cosine = candidates.similarity
    left = cosine - _nearest_other(forward, candidates.source_row, candidates.forward_rank)
    right = cosine - _nearest_other(backward, candidates.target_row, candidates.backward_rank)
    out[:, 5], out[:, 6] = (left + right) / 2, np.minimum(left, right)
    k = max(forward.row.shape[1], backward.row.shape[1])
    ranks = np.stack([candidates.forward_rank, candidates.backward_rank])
    out[:, 7] = np.log(np.where(ranks == 0, k + 1, ranks).max(axis=0))
    return out


def _leads(score: np.ndarray, key: np.ndarray) -> np.ndarray:
    """``(m, 2)``: each score less the best, and the second best, of the others of its key."""
    order = np.lexsort((-score, key))
    ordered = score[order]
    starts = np.flatnonzero(np.r_[True, key[order][1:] != key[order][:-1]])[: len(order)]
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = np.full((len(starts), 3), -np.inf)
    for place in range(3):
        has = sizes > place
        best[has, place] = ordered[starts[has] + place]
    best = np.repeat(best, sizes, axis=0)
    leads = np.empty((len(order), 2))
    for place in range(2):
        rival = np.where(rank <= place, best[:, place + 1], best[:, place])
        leads[order, place] = np.minimum(ordered - rival, FAR)
    return np.maximum(leads, -FAR)


def _nearest_other(neighbors: Neighbors, row: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Cosine of each sentence's nearest neighbour but the candidate itself; 0 without one."""
    lists = np.where(neighbors.row >= 0, neighbors.similarity, 0)
    second = lists[:, 1] if lists.shape[1] > 1 else np.zeros(len(lists), np.float32)
    return np.where(rank == 1, second[row], lists[row, 0])


@dataclass(frozen=True, eq=False)
class Logistic:
    """``sigmoid(intercept + (x - mean) · weight)`` over named features.

    ``mean`` of each feature over the training's translations makes the parts of a logit mean
    something: what the pair has beyond, or lacks of, a usual translation.
    """

    names: tuple[str, ...]
    intercept: float
    weight: np.ndarray
    mean: np.ndarray

    def parts(self, features: np.ndarray) -> np.ndarray:
        """What each feature adds to the logit: ``(m, f) float64``."""
        return (features.astype(np.float64) - self.mean) * self.weight

    def logit(self, features: np.ndarray) -> np.ndarray:
        """``(m,) float64``. Sums run feature by feature: the same for any number of rows."""
        total = np.full(len(features), self.intercept)
        for column in range(len(self.names)):
            total += (features[:, column].astype(np.float64) - self.mean[column]) * self.weight[
                column
            ]
        return total

    def as_dict(self) -> dict[str, Any]:
        return {
            "intercept": self.intercept,
            "weight": dict(zip(self.names, self.weight.tolist(), strict=True)),
            "mean": dict(zip(self.names, self.mean.tolist(), strict=True)),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], names: tuple[str, ...]) -> "Logistic":
        """The inverse of :meth:`as_dict`; ValueError or KeyError where it has other features."""
        if set(values["weight"]) != set(names) or set(values["mean"]) != set(names):
            raise ValueError("it knows other features")
        weight = np.array([values["weight"][name] for name in names], dtype=np.float64)
        mean = np.array([values["mean"][name] for name in names], dtype=np.float64)
        intercept = float(values["intercept"])
        if not (np.isfinite(weight).all() and np.isfinite(mean).all() and np.isfinite(intercept)):
            raise ValueError("a number in it is not finite")
        return cls(names, intercept, weight, mean)


def sigmoid(logit: np.ndarray) -> np.ndarray:
    """Logits to probabilities, without overflow."""
    return np.exp(-np.logaddexp(0, -logit))


class Verifier:
    """The second look of one model.

    ``alone`` and ``among`` are its two logistic functions, ``pieces`` what it knows of words.
    Raises :class:`~miner.errors.ArtifactError` for a model without, or with a faulty, verifier.
    """

    def __init__(self, encoder: Encoder):
        model = encoder.model
        if model.verifying is None:
            raise ArtifactError(
                f"{encoder.name}: takes no second look, which compares pieces or words that both "
                "columns share; rank by margin"
            )
        if model.verifier is None or model.lexicon is None:
            raise ArtifactError(
                f"{encoder.name}: carries no verifier (trained on too little text, or by an older "
                "version); train it again, or rank by margin"
            )
        try:
            self.alone = Logistic.from_dict(model.verifier["alone"], ALONE)
            self.among = Logistic.from_dict(model.verifier["among"], AMONG)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{encoder.name}: its verifier cannot be used ({error}); train the model again"
            ) from None
        part = model.verifying
        if len(model.lexicon.frequency) != len(part.weights):
            raise ArtifactError(f"{encoder.name}: lexicon and embeddings are of two models")
        self.encoder = encoder
        self.pieces = Pieces(part.table(), model.lexicon)

    def prepare(self, sentences: Sequence[str], threads: int | None = None) -> Text:
        """Sentences ready for :meth:`look`."""
        return prepare(self.encoder.tokenizer, sentences, threads or self.encoder.threads)

    def look(
        self,
        candidates: Candidates,
        forward: Neighbors,
        backward: Neighbors,
        source: Text,
        target: Text,
        known: "Alone | None" = None,
    ) -> tuple[np.ndarray, np.ndarray, "Alone"]:
        """Probability ``(m,) float64`` and the features ``AMONG`` of every candidate.

        The candidates are all of a search, since they are each other's rivals. What is ``known`` of
        some by themselves is not computed again; the third is what is known then.
        """
        alone = Alone.empty(candidates) if known is None else known.of(candidates)
        new = np.flatnonzero(np.isnan(alone.logit))
        # By the part: the features of all would take much memory.
        for start in range(0, len(new), PART):
            part = new[start : start + PART]
            own = self.pieces.compare(
                source, target, candidates.source_row[part], candidates.target_row[part]
            )
            alone.logit[part] = self.alone.logit(own)
        among = compare_neighbours(candidates, forward, backward, alone.logit)
        return sigmoid(self.among.logit(among)), among, alone


@dataclass(frozen=True, eq=False)
class Alone:
    """What the first function says of pairs: ``key (m,) int64``, ascending; ``logit (m,) float64``.

    A key is the source's row, times 2**32, plus the target's.
    """

    key: np.ndarray
    logit: np.ndarray

    @classmethod
    def empty(cls, candidates: Candidates) -> "Alone":
        """Nothing known of candidates, which ascend by (source, target): NaN."""
        key = (candidates.source_row << 32) + candidates.target_row
        return cls(key, np.full(len(key), np.nan))

    def of(self, candidates: Candidates) -> "Alone":
        """What is known of these candidates; NaN where nothing is."""
        found = Alone.empty(candidates)
        place = np.minimum(np.searchsorted(self.key, found.key), max(0, len(self.key) - 1))
        same = self.key[place] == found.key if len(self.key) else np.zeros(len(found.key), bool)
        found.logit[same] = self.logit[place[same]]
        return found

    def place(self, source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        """Where these pairs, all of them among the keys, stand."""
        return np.searchsorted(self.key, (source_row << 32) + target_row)
