"""Pair features: functions of the two sentences only (tokens, lengths, numbers)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np

from miner.encoder.cached_arrays import cached_arrays, key_of
from miner.encoder.encoder import CHUNK
from miner.encoder.lexicon import Lexicon
from miner.encoder.part import EncoderPart, quantise
from miner.encoder.tokenizer import Tokenizer
from miner.ragged import offsets_of, take_lists
from miner.text.invisible import visible
from miner.text.words import LONGEST

# Rows of embeddings converted at a time.
ROWS = 512
# Scale of int8 rows above which float32 products have full precision.
TINY = 1e-30
# Two-sided metrics appear as the mean and the worse of both sides, so that swapping source and
# target does not matter.
PAIR_FEATURES = (
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


@dataclass(frozen=True, eq=False)
class TokenizedText:
    """n sentences, tokenised, with their numbers.

    ``ids (t,) int32`` with ``offsets (n + 1,) int64``: ragged token ids. ``characters (n,) int64``:
    lengths in code points. ``numbers (m,) uint64`` with ``number_offsets (n + 1,) int64``: the
    distinct numbers of each sentence, ascending.
    """

    ids: np.ndarray
    offsets: np.ndarray
    characters: np.ndarray
    numbers: np.ndarray
    number_offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.characters)

    @property
    def tokens(self) -> tuple[np.ndarray, np.ndarray]:
        return self.ids, self.offsets

    def take(self, rows: np.ndarray) -> "TokenizedText":
        """Return the sentences ``rows``, in that order."""
        ids, offsets = take_lists(self.ids, self.offsets, rows)
        return TokenizedText(
            ids,
            offsets,
            self.characters[rows],
            *take_lists(self.numbers, self.number_offsets, rows),
        )

    def join(self, more: "TokenizedText") -> "TokenizedText":
        """Append the sentences of ``more``."""
        return TokenizedText(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            np.concatenate([self.characters, more.characters]),
            np.concatenate([self.numbers, more.numbers]),
            np.concatenate(
                [self.number_offsets, self.number_offsets[-1] + more.number_offsets[1:]]
            ),
        )


def tokenize_text(tokenizer: Tokenizer, sentences: Sequence[str], threads: int) -> TokenizedText:
    """Tokenise sentences, count their visible characters, find their numbers.

    Tokens and numbers are those of a sentence's first ``LONGEST`` characters.
    """
    from miner.kernels.numbers import find_numbers

    def work(start: int) -> tuple[np.ndarray, ...]:
        seen = list(map(visible, sentences[start : start + CHUNK]))
        part = [sentence[:LONGEST] for sentence in seen]
        ids, offsets = tokenizer(part)
        encoded = [sentence.encode("utf-8", "surrogatepass") for sentence in part]
        places = np.cumsum([0, *map(len, encoded)])
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        numbers, number_offsets = find_numbers(text, places)
        # As text is mostly typed: letters without separate accents, single spaces.
        typed = (" ".join(normalize("NFC", sentence).split()) for sentence in seen)
        characters = np.fromiter(map(len, typed), np.int64, len(seen))
        return ids, np.diff(offsets), characters, numbers, np.diff(number_offsets)

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(work, range(0, max(len(sentences), 1), CHUNK)))
    ids, counts, characters, numbers, number_counts = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return TokenizedText(ids, offsets_of(counts), characters, numbers, offsets_of(number_counts))


def lengths(offsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the lengths of the lists ``rows`` of a ragged array."""
    return offsets[rows + 1] - offsets[rows]


def unit_codes(
    table: np.ndarray, stored: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Quantise rows ``(V, d) float32`` to int8: codes ``(V, p)`` and scales ``(V,) float32``.

    Codes times scale are unit rows; the scale of a zero row is 0. ``p`` is ``d`` rounded up, with
    zeros, to the step of the compiled loops. ``stored (V, d) int8`` are existing codes, returned as
    they are if they need no padding.
    """
    from miner.kernels.dots import STEP

    codes = quantise(table)[0] if stored is None else stored
    padded = codes
    if codes.shape[1] % STEP:
        padded = np.zeros((len(codes), -(-codes.shape[1] // STEP) * STEP), dtype=np.int8)
        padded[:, : codes.shape[1]] = codes
    wide = codes.astype(np.int32)
    length = np.sqrt(np.einsum("vd,vd->v", wide, wide).astype(np.int64))
    return padded, np.where(length > 0, 1 / np.maximum(length, 1), 0).astype(np.float32)


def _as_quantised(part: EncoderPart) -> bool:
    """Return True if the part has codes that quantising its int8 table would reproduce."""
    if part.scales is None or part.dtype == "int4":
        return part.dtype == "int4"
    largest, least = part.weights.max(axis=1, initial=0), part.weights.min(axis=1, initial=0)
    # Such rows use the full range of int8, as `quantise` does; tiny scales are rounded too
    # coarsely.
    full = (np.maximum(largest, -least.astype(np.int16)) == 127) & (part.scales > TINY)
    return bool(np.all(full | (largest == least)))


def _described(part: EncoderPart) -> dict[str, np.ndarray]:
    """Return the arrays of a `TokenTable`; without codes if the part has the same."""
    as_stored, parts = _as_quantised(part), []
    # A few rows at a time, so that their float32 numbers stay in the cache.
    for start in range(0, max(len(part.weights), 1), ROWS):
        rows = slice(start, start + ROWS)
        some = EncoderPart(part.weights[rows], None if part.scales is None else part.scales[rows])
        table = some.table()
        quantised = unit_codes(table, some.numbers() if as_stored else None)
        parts.append((*quantised, np.linalg.norm(table, axis=1)))
    codes, *others = zip(*parts, strict=True)
    scale, length = map(np.concatenate, others)
    shared = as_stored and part.dimension == codes[0].shape[1]
    return {
        "codes": np.empty((0, 0), np.int8) if shared else np.concatenate(codes),
        "scale": scale,
        "weight": np.maximum(length, 1e-9).astype(np.float32),
    }


class TokenTable:
    """Direction, weight and translations of every token id.

    ``part`` holds the embeddings of V tokens. ``codes (V, p) int8``, or ``(V, p / 2) uint8`` of
    :func:`miner.kernels.pool.packed`, times ``scale (V,) float32``
    are unit rows, or zero rows, zero-padded to p. ``weight (V,) float32`` > 0 is the length of the
    token's vector: training lengthens the vectors of meaningful tokens.
    """

    def __init__(self, part: EncoderPart, lexicon: Lexicon):
        # Codes of float parts would fill the disk cache.
        key = key_of(part.digest) if part.scales is not None else ""
        arrays = cached_arrays(
            "tokens", ("codes", "scale", "weight"), key, lambda: _described(part)
        )
        codes, self.scale, self.weight = arrays["codes"], arrays["scale"], arrays["weight"]
        # Numbers of the model are used without a copy if they need no padding.
        self.codes: np.ndarray = codes if len(codes) else np.asarray(part.weights)
        self.lexicon = lexicon

    @property
    def known(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """Embedding and lexicon as the kernels take them."""
        table = self.codes, self.scale, self.weight, self.lexicon.frequency
        return table, self.lexicon.entries

    def with_lexicon(self, lexicon: Lexicon) -> "TokenTable":
        """Return this table with another lexicon."""
        other = copy(self)
        other.lexicon = lexicon
        return other

    def similarity(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the cosines of token ids with token ids, ``(n, m) float32``."""
        from miner.kernels.dots import cosines
        from miner.kernels.pool import unpacked

        codes = self.codes
        if codes.dtype == np.uint8:
            both = np.concatenate([left, right])
            codes, scale = unpacked(codes[both]), self.scale[both]
            left, right = np.split(np.arange(len(both)), [len(left)])
            return cosines(codes, scale, left, right)
        return cosines(codes, self.scale, left, right)

    def pair_features(
        self,
        source: TokenizedText,
        target: TokenizedText,
        source_row: np.ndarray,
        target_row: np.ndarray,
        order: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute ``PAIR_FEATURES`` of pairs of rows: ``(m, f) float32``.

        ``length`` is the natural logarithm of the mean number of tokens, ``length_ratio`` of the
        ratio of characters; ``association`` is in nats per token; the others are shares, cosines or
        counts. ``order (m, 4) float32``, if passed, receives the features of order of
        :func:`miner.kernels.tokens.compare`.
        """
        from miner.kernels.tokens import COLUMNS, compare
        from miner.kernels.tokens import LONGEST as WINDOW

        source_row, target_row = (
            np.ascontiguousarray(rows, np.int64) for rows in (source_row, target_row)
        )
        metrics = np.empty((len(source_row), COLUMNS), dtype=np.float32)
        order = np.empty((0, 4), dtype=np.float32) if order is None else order
        compare(source.tokens, target.tokens, source_row, target_row, *self.known, metrics, order)
        out = np.empty((len(source_row), len(PAIR_FEATURES)), dtype=np.float32)
        for column, worse in enumerate((np.minimum, np.maximum, np.minimum, np.minimum)):
            left, right = metrics[:, 2 * column], metrics[:, 2 * column + 1]
            out[:, 2 * column] = (left + right) / 2
            out[:, 2 * column + 1] = worse(left, right)
        # 5 is added because one of two short sentences is easily twice as long.
        characters = (source.characters[source_row] + 5) / (target.characters[target_row] + 5)
        out[:, 8] = np.abs(np.log(characters))
        # Long texts are compared by windows of about this many tokens.
        tokens = np.minimum(lengths(source.offsets, source_row), WINDOW) + np.minimum(
            lengths(target.offsets, target_row), WINDOW
        )
        out[:, 9] = np.log(tokens / 2 + 1)
        out[:, 10] = out[:, 9] ** 2
        out[:, 11:13] = number_features(source, target, source_row, target_row)
        out[:, 13] = metrics[:, 8]
        return out


def number_features(
    source: TokenizedText, target: TokenizedText, source_row: np.ndarray, target_row: np.ndarray
) -> np.ndarray:
    """Return ``(m, 2) float32``: 1 if a number lacks its counterpart; the common numbers."""
    from miner.kernels.numbers import shared_numbers

    left, right = ((side.numbers, side.number_offsets) for side in (source, target))
    shared = shared_numbers(left, right, source_row, target_row)
    total = lengths(source.number_offsets, source_row) + lengths(target.number_offsets, target_row)
    return np.stack([total > 2 * shared, shared], axis=1).astype(np.float32)
