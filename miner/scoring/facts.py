"""Facts of pairs: negations, numbers, persons and the like that contradict the other side.

A fact is a class of English words that a sentence has or lacks: negations, seven, Monday, "he".
Sparse logistic regressions (:mod:`miner.kernels.facts`), learned from bitext by
:mod:`miner_train.learn_facts`, tell from the other side how probable each class is. Some classes
exclude each other, such as the days of the week. The evidence against a pair is, for each kind of
fact, the largest advantage of an absent class over a present one that it excludes, and the
improbability of what is present and of what is absent.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from miner.encoder.cached_arrays import cached_arrays, digest_of, key_of
from miner.errors import ArtifactError
from miner.kernels import facts as kernel
from miner.option_values import Languages
from miner.ragged import offsets_of
from miner.scoring.fact_reader import FactClass, Reader
from miner.scoring.logistic import sigmoid
from miner.scoring.number_agreement import same_in_other_digits
from miner.text.language_codes import ENGLISH

# Arrays of a model: the classes as JSON, the codes of the languages, and of all languages in turn
# their features as byte planes of differences of buckets, the number of weights of each, and
# the classes and values of the weights; scales; constants, tests of the classes and weights of the
# evidence by kind, each by language.
ARRAYS = ("classes", "languages", "sizes", "buckets", "counts", "owners", "weights", "scales",
          "constants", "tested", "evidence")  # fmt: skip
# Texts that are looked at at a time.
BLOCK = 1024
# Levels of a weight, of each sign; a weight that is nearest to 0 is left out.
LEVELS = 21
# Evidence beyond the highest counts as that much: free translations have it, too.
HIGHEST = 8.0

# An English word, as a reason names it.
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Least probability of no contradiction: free translations turn facts, too. In a language of fewer
# training pairs than FEW, whose text lacks words, a right pair stays above the usual bound.
LEAST, FEW, LEAST_OF_FEW = 0.0025, 36_000, 0.05
# A ragged array of token ids, and offsets.
Tokens = tuple[np.ndarray, np.ndarray]


class Predictor(NamedTuple):
    """Logistic regressions of one language, as the kernel takes them."""

    slots: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    constants: np.ndarray

    @classmethod
    def of(
        cls,
        buckets: np.ndarray,
        counts: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray,
        constants: np.ndarray,
    ) -> "Predictor":
        """Make a predictor of features, ``buckets (f,)``, each with ``counts (f,)`` weights."""
        size = 8
        while size < 4 * len(buckets):
            size *= 2
        slots, places = np.full(size, -1, np.int32), np.zeros(size, np.int32)
        left = np.arange(len(buckets), dtype=np.int32)
        at = buckets & (size - 1)
        while len(left):  # each of those left takes its slot, the first of those that want it
            free = np.flatnonzero(slots[at] < 0)
            wanted, first = np.unique(at[free], return_index=True)
            taking = free[first]
            slots[wanted], places[wanted] = buckets[left[taking]], left[taking]
            left, at = np.delete(left, taking), np.delete(at + 1 & (size - 1), taking)
        starts = offsets_of(counts).astype(np.int32)
        return cls(
            slots, places, starts, classes.astype(np.int32), weights.astype(np.float32), constants
        )

    def logits(self, tokens: Tokens) -> np.ndarray:
        """Return the logits of all classes of sentences, ``(n, k) float32``."""
        out = np.empty((len(tokens[1]) - 1, len(self.constants)), np.float32)
        kernel.logits(*tokens, kernel.BITS, *self, out)
        return out


class Contradiction(NamedTuple):
    """Kind of fact that contradicts, the English word, and the token of the other side.

    ``word``: empty if the English side lacks a fact. ``token``: its place, -1 for none.
    """

    kind: str
    word: str
    token: int


class Facts:
    """Facts of pairs of English and one other language; ``side`` is the English one's.

    ``least``: the least probability of no contradiction.
    """

    def __init__(
        self,
        side: int,
        reader: Reader,
        predictor: Predictor,
        tested: np.ndarray,
        weights: np.ndarray,
        least: float,
    ):
        self.side, self.reader, self.predictor = side, reader, predictor
        self.tested, self.weights, self.least = tested, weights, least

    def probability(
        self, texts: tuple[Sequence[str], Sequence[str]], tokens: tuple[Tokens, Tokens]
    ) -> np.ndarray:
        """Return the probability that no fact contradicts, of each pair: ``(n,) float64``."""
        blocks = self._blocks(texts, tokens)
        agree = [np.prod(sigmoid(by_kind), axis=1) for *_, by_kind in blocks]
        most = -np.log(self.least)
        # Logarithms are bent towards that of the least one, so that the order stays.
        return np.exp(most * (np.concatenate([np.empty(0), *agree]) ** (1 / most) - 1))

    def contradictions(
        self, texts: tuple[Sequence[str], Sequence[str]], tokens: tuple[Tokens, Tokens]
    ) -> list[Contradiction | None]:
        """Return the worst contradiction of each pair; None where no fact contradicts."""
        found: list[Contradiction | None] = []
        for (own, offsets), seen, logits, by_kind in self._blocks(texts, tokens):
            for row, kind in enumerate(by_kind.argmin(axis=1).tolist()):
                text = texts[self.side][len(found)]
                ids = own[offsets[row] : offsets[row + 1]]
                against = by_kind[row, kind] < 0
                found.append(
                    self._contradiction(text, ids, seen[row], logits[row], kind)
                    if against
                    else None
                )
        return found

    def _blocks(
        self, texts: tuple[Sequence[str], Sequence[str]], tokens: tuple[Tokens, Tokens]
    ) -> Iterator[tuple[Tokens, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield tokens of the other side, marks, logits and log-odds by kind, block by block."""
        english, other = texts[self.side], texts[1 - self.side]
        ids, offsets = tokens[1 - self.side]
        for first in range(0, len(english), BLOCK):
            last = min(first + BLOCK, len(english))
            some = np.ascontiguousarray(ids[offsets[first] : offsets[last]])
            lists = some, offsets[first : last + 1] - offsets[first]
            seen = self.reader.read(english[first:last], other[first:last])
            logits = self.predictor.logits(lists)
            self.reader.excuse_forms(logits, seen)
            evidence = self.reader.evidence(logits, seen, self.tested)
            by_kind = kind_logits(evidence, np.diff(lists[1]), self.weights)
            if "number" in self.reader.kinds:
                numbers = by_kind[:, self.reader.kinds.index("number")]
                for row in np.flatnonzero(numbers < 0).tolist():
                    if same_in_other_digits(
                        english[first + row], other[first + row]
                    ):  # 90 minutes, 1h30
                        numbers[row] = HIGHEST
            yield lists, seen, logits, by_kind

    def _contradiction(
        self, text: str, ids: np.ndarray, seen: np.ndarray, logits: np.ndarray, kind: int
    ) -> Contradiction:
        """Name the class that is present or absent against the other side, whichever is worse."""
        mine = self.reader.kind == kind
        present = (seen == kernel.PRESENT) & mine & (self.tested & kernel.ADDED > 0)
        absent = np.isin(seen, (kernel.ABSENT, kernel.WANTED)) & mine
        absent &= self.tested & kernel.MISSING > 0
        added = int(np.where(present, -logits, -np.inf).argmax()) if present.any() else -1
        missing = int(np.where(absent, logits, -np.inf).argmax()) if absent.any() else -1
        word, token = "", -1
        if added >= 0 and (missing < 0 or logits[added] < 0):
            words = {word.lower(): word for word in _WORDS.findall(text)}
            named = (words[one] for one in self.reader.classes[added].words if one in words)
            word = next(named, "")
        if missing >= 0 and logits[missing] > 0 and len(ids):
            # The logit falls most without the token that speaks for the class.
            n = len(ids)
            without = np.concatenate([np.delete(ids, place) for place in range(n)]).astype(np.int32)
            lists = without, np.arange(0, n * (n - 1) + 1, max(n - 1, 1))[: n + 1]
            token = int(self.predictor.logits(lists)[:, missing].argmin()) if n > 1 else 0
        return Contradiction(self.reader.kinds[kind], word, token)


def kind_logits(evidence: np.ndarray, lengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the log-odds that no fact of each kind contradicts, ``(n, kinds) float64``.

    ``evidence (n, kinds, 3)`` by ``weights (kinds, 5)``: a constant, three weights, and that of the
    logarithm of the ``lengths`` of the sentences in tokens.
    """
    more = np.log(np.maximum(lengths, 1))[:, None]
    found = weights[:, 0].astype(np.float64) + weights[:, -1] * more
    for column in range(kernel.EVIDENCE):  # one by one, so that rows do not depend on each other
        found += (
            np.clip(evidence[:, :, column], 0, HIGHEST).astype(np.float64) * weights[:, column + 1]
        )
    return found


def facts_of(
    arrays: Mapping[str, np.ndarray], languages: Languages, name: str, pairs: int = FEW
) -> Facts | None:
    """Open the facts of a model for text in two languages; None where it has none of them.

    ``name`` names the model in errors; ``pairs``: training pairs of the other language than
    English. Raises ArtifactError for faulty arrays.
    """
    if not arrays or languages.count(ENGLISH) != 1:
        return None
    side = languages.index(ENGLISH)
    least = LEAST if pairs >= FEW else LEAST_OF_FEW
    every = arrays
    try:
        key = key_of(digest_of(every), "facts")
        arrays = cached_arrays("facts", ARRAYS, key, lambda: {one: every[one] for one in ARRAYS})
        codes = bytes(arrays["languages"]).decode().split()
        if languages[1 - side] not in codes:
            return None
        return _opened(arrays, codes.index(str(languages[1 - side])), side, least)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ArtifactError(
            f"{name}: its facts cannot be used ({error}); train the model again"
        ) from None


def _opened(arrays: Mapping[str, np.ndarray], place: int, side: int, least: float) -> Facts:
    sizes = arrays["sizes"].astype(np.int64)
    first, weight = sizes[:place].sum(axis=0).tolist()
    features, weights = sizes[place].tolist()
    planes = arrays["buckets"][:, first : first + features].astype(np.int64)
    buckets = np.cumsum(planes[0] | planes[1] << 8 | planes[2] << 16)
    counts = arrays["counts"][first : first + features].astype(np.int64)
    owners = arrays["owners"][:, weight : weight + weights].astype(np.int64)
    classes = owners[0] | owners[1] << 8
    values = arrays["weights"][weight : weight + weights] * arrays["scales"][place]
    constants = arrays["constants"][place].astype(np.float32)
    reader = _reader(bytes(arrays["classes"]))
    k = len(reader.classes)
    shapes = len(constants), arrays["tested"].shape[1], arrays["evidence"].shape[1]
    if shapes != (k, k, len(reader.kinds)) or counts.sum() != weights or len(values) != weights:
        raise ValueError("arrays of different sizes")
    if classes.max(initial=0) >= k or k > kernel.CLASSES or not np.isfinite(values).all():
        raise ValueError("weights out of range")
    predictor = Predictor.of(buckets, counts, classes, values, constants)
    tested = np.ascontiguousarray(arrays["tested"][place])
    return Facts(side, reader, predictor, tested, arrays["evidence"][place], least)


@lru_cache(maxsize=4)
def _reader(classes: bytes) -> Reader:
    return Reader([FactClass(*one) for one in json.loads(classes)])


def pack(
    classes: Sequence[FactClass],
    learned: Mapping[str, tuple[np.ndarray, ...]],
    tested: Mapping[str, np.ndarray],
    evidence: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the arrays of a model: ``learned`` are the arguments of `Predictor.of` by language.

    Weights are rounded to int8 in :data:`LEVELS` levels of each sign, constants to float16.
    """
    every: dict[str, list[Any]] = {name: [] for name in ARRAYS}
    for buckets, counts, owners, weights, constants in learned.values():
        scale = max(float(np.abs(weights).max(initial=0)) / LEVELS, 1e-6)
        levels = np.rint(weights / scale)
        stay = levels != 0
        features = np.repeat(np.arange(len(buckets)), counts)[stay]
        left = np.bincount(features, minlength=len(buckets))
        classes_of = np.asarray(owners)[stay]
        steps = np.diff(np.asarray(buckets)[left > 0], prepend=0).astype(np.uint32)
        every["sizes"].append([len(steps), len(features)])
        every["buckets"].append(np.stack([(steps >> shift) & 255 for shift in (0, 8, 16)]))
        every["counts"].append(left[left > 0])
        every["owners"].append(np.stack([classes_of & 255, classes_of >> 8]))
        every["weights"].append(levels[stay])
        every["scales"].append(scale)
        every["constants"].append(constants)
    text = json.dumps([list(one) for one in classes]).encode()
    return {
        "classes": np.frombuffer(text, np.uint8),
        "languages": np.frombuffer(" ".join(learned).encode(), np.uint8),
        "sizes": np.array(every["sizes"], np.int32),
        "buckets": np.concatenate(every["buckets"], axis=1).astype(np.uint8),
        "counts": np.concatenate(every["counts"]).astype(np.uint16),
        "owners": np.concatenate(every["owners"], axis=1).astype(np.uint8),
        "weights": np.concatenate(every["weights"]).astype(np.int8),
        "scales": np.array(every["scales"], np.float32),
        "constants": np.array(every["constants"], np.float16),
        "tested": np.stack([tested[code] for code in learned]).astype(np.uint8),
        "evidence": np.stack([evidence[code] for code in learned]).astype(np.float32),
    }
