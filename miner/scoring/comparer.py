"""Comparer: a small network that compares each token of a pair with its counterpart.

The other features are means over tokens, which hide one wrong word in twenty. The comparer also
pools by maximum (Parikh et al. 2016). :mod:`miner_train.learn_comparer` learns it from translations
and corruptions of them.
"""

from collections.abc import Mapping

import numpy as np

from miner.encoder.cached_arrays import cached_arrays, digest_of, key_of
from miner.errors import ArtifactError
from miner.ragged import offsets_of
from miner.scoring.pair_features import TokenTable

# Arrays of the network, in the kernel's order.
ARRAYS = ("units", "token", "token_bias", "pair", "pair_bias", "logit", "logit_bias")

# Arrays of the aligner, in the kernel's order, and the table of surprise by token id.
ALIGNER, SURPRISE = ("emission", "jump", "unaligned"), "surprise"
# Features of a pair: mean surprise of its tokens in nats, and the network's logit.
COMPARED = "compared"
FEATURES = (SURPRISE, COMPARED)

# Token ids of sentences ``(t,) int32``, and their offsets ``(n + 1,) int64``.
Text = tuple[np.ndarray, np.ndarray]
# Arrays of an aligner, in the order of :mod:`miner.kernels.hidden_markov`, and table of surprise.
Matching = tuple[tuple[np.ndarray, ...], np.ndarray]


class Comparer:
    """The comparer of one model, over the embedding and lexicon of ``table``.

    ``arrays``: ``units (V, s)`` are vectors of the token ids; ``token (c, h)`` and ``pair (4h + 2,
    h)`` are weights of the two layers, ``logit (h,)`` of the result, each with its ``_bias``.
    ``surprise (V, BINS) uint8``: how surprising each match quality is for a token id
    (:mod:`miner_train.learn_match_quantiles`) by the aligner of :mod:`miner.kernels.hidden_markov`.
    The arrays must have passed :func:`check_arrays`, as those of :func:`checked_arrays` have.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], table: TokenTable):
        self.table = table
        self.network = network_of(arrays)
        self.matching = matching_of(arrays)

    def compare(
        self, source: Text, target: Text, source_row: np.ndarray, target_row: np.ndarray
    ) -> np.ndarray:
        """Return ``FEATURES`` of each pair of rows, ``(m, 2) float32``; 0 without tokens on a side.

        They depend on the pair alone.
        """
        from miner.kernels.aligned import compare_pairs

        out = np.empty((len(source_row), len(FEATURES)), dtype=np.float32)
        rows = source_row.astype(np.int64), target_row.astype(np.int64)
        compare_pairs(source, target, *rows, *self.table.known, *self.matching, self.network, out)
        return out

    def objections(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the evidence of each token against a pair, in log-odds, for both sides.

        ``source (n,)`` and ``target (m,)`` are token ids. A token's objection is the gain in the
        pair's logit when the pooling skips the token; 0 for tokens that are not compared.
        """
        from miner.kernels.aligned import MOST

        evidence = np.zeros(len(source)), np.zeros(len(target))
        if not len(source) or not len(target):
            return evidence
        texts = [
            (side.astype(np.int32), offsets_of(np.array([len(side)]))) for side in (source, target)
        ]
        _, ids, numbers = describe_pairs(self.table, self.matching, texts[0], texts[1])
        compared = self.compared(ids, numbers)
        first = min(len(source), MOST)
        sides = compared[:first], compared[first:]
        sizes = first, len(ids) - first
        whole = self.pooled(*sides, sizes)
        for side, tokens in enumerate(sides):
            for position in range(len(tokens)):
                rest = (
                    np.delete(tokens, position, axis=0)
                    if len(tokens) > 1
                    else np.zeros_like(tokens)
                )
                both = (rest, sides[1]) if side == 0 else (sides[0], rest)
                evidence[side][position] = self.pooled(*both, sizes) - whole
        return evidence

    def surprises(self, source: Text, target: Text) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the surprise of the tokens of both sides of pairs, row by row of two texts.

        In nats; 0 if the other side has no token. Tokens that are not compared are omitted.
        """
        from miner.kernels.aligned import MOST
        from miner.kernels.aligned import SURPRISE as COLUMN

        starts, _, numbers = describe_pairs(self.table, self.matching, source, target)
        surprise = numbers[:, COLUMN]
        middle = starts[:-1] + np.minimum(np.diff(source[1]), MOST)
        ends = zip(starts.tolist(), middle.tolist(), starts[1:].tolist(), strict=False)
        return [(surprise[first:half], surprise[half:last]) for first, half, last in ends]

    def compared(self, ids: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Compare described tokens with their counterparts: ``(t, h) float32``, >= 0."""
        units, token, bias = self.network[:3]
        vectors = np.where(ids[:, :, None] < 0, 0, units[ids])  # (t, 4, s)
        token_vector, partner, before, after = np.moveaxis(vectors, 1, 0)  # (t, s) each
        parts = [
            numbers,
            token_vector,
            partner,
            np.abs(token_vector - partner),
            token_vector * partner,
            before,
            after,
        ]
        return np.maximum(np.concatenate(parts, axis=1) @ token + bias, 0)

    def pooled(self, source: np.ndarray, target: np.ndarray, sizes: tuple[int, int]) -> float:
        """Return the logit of a pair from its compared tokens: ``(n, h)``, ``(m, h)``.

        ``sizes`` are the numbers of tokens of both sentences.
        """
        pair, pair_bias, logit, logit_bias = self.network[3:]
        sides = [
            np.concatenate([vectors.mean(axis=0), vectors.max(axis=0)])
            for vectors in (source, target)
        ]
        size = np.log(sizes)
        ends = [size.mean(), abs(size[0] - size[1])]
        both = np.concatenate([sides[0] + sides[1], np.abs(sides[0] - sides[1]), ends])
        return float(np.maximum(both @ pair + pair_bias, 0) @ logit + logit_bias[0])


def checked_arrays(
    arrays: Mapping[str, np.ndarray], vocabulary: int, name: str
) -> dict[str, np.ndarray]:
    """Return a model's arrays, of the types of the kernels. Raises as :func:`check_arrays`."""

    def make() -> dict[str, np.ndarray]:
        check_arrays(arrays, vocabulary, name)
        network, (aligner, surprise) = network_of(arrays), matching_of(arrays)
        return dict(zip(names, (*network, *aligner, surprise), strict=True))

    names = *ARRAYS, *ALIGNER, SURPRISE
    key = key_of(digest_of(arrays), str(vocabulary))
    return cached_arrays("comparer", names, key, make)


def check_arrays(arrays: Mapping[str, np.ndarray], vocabulary: int, name: str) -> None:
    """Raise ArtifactError, naming the model, for arrays that do not fit its vocabulary."""
    from miner.kernels.aligned import BINS, COLUMNS
    from miner.kernels.hidden_markov import COSINES, EVIDENCES, JUMPS

    shapes = {key: array.shape for key, array in arrays.items()}
    # Sizes of a token's vector and of a hidden layer.
    size, hidden = (shapes[key][-1] if shapes.get(key) else 0 for key in ("units", "logit"))
    expected = {
        **dict(zip(ALIGNER, ((COSINES, EVIDENCES), (JUMPS,), (1,)), strict=True)),
        SURPRISE: (vocabulary, BINS),
        "units": (vocabulary, size),
        # Numeric features of a token; vectors of the token and its counterpart, their difference
        # and product, and vectors of the tokens before and after.
        "token": (COLUMNS + 6 * size, hidden),
        "token_bias": (hidden,),
        "pair": (4 * hidden + 2, hidden),
        "pair_bias": (hidden,),
        "logit": (hidden,),
        "logit_bias": (1,),
    }
    if shapes != expected or not all(np.isfinite(array).all() for array in arrays.values()):
        raise ArtifactError(f"{name}: its comparer cannot be used; train the model again")


def network_of(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return the arrays of a model that are weights of the network."""
    return tuple(np.ascontiguousarray(arrays[key], np.float32) for key in ARRAYS)


def matching_of(arrays: Mapping[str, np.ndarray]) -> Matching:
    """Return the arrays of a model that describe how well tokens are matched."""
    aligner = tuple(np.ascontiguousarray(arrays[key], np.float32) for key in ALIGNER)
    return aligner, np.ascontiguousarray(arrays[SURPRISE], np.uint8)


def describe_pairs(
    table: TokenTable, matching: Matching, source: Text, target: Text
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Describe the tokens of pairs, row by row of two texts.

    Returns offsets ``(n + 1,) int64`` of the pairs and, of all tokens, the source's first, ``ids
    (t, 4) int32`` and ``numbers (t, COLUMNS) float32`` as :mod:`miner.kernels.aligned` has them.
    """
    from miner.kernels.aligned import COLUMNS, MOST, describe

    sizes = [np.minimum(np.diff(offsets), MOST) for _, offsets in (source, target)]
    starts = offsets_of(sizes[0] + sizes[1])
    ids = np.full((starts[-1], 4), -1, dtype=np.int32)
    numbers = np.zeros((starts[-1], COLUMNS), dtype=np.float32)
    rows = np.arange(len(sizes[0]), dtype=np.int64)
    describe(source, target, rows, rows, *table.known, *matching, starts, ids, numbers)
    return starts, ids, numbers
