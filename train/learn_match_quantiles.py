"""Aligner and match quantiles of tokens, learned from bitext.

The aligner is learned from held-out text by expectation maximisation. Its parameters are few and
common to all languages, so that little text suffices; held-out text shows how good a counterpart is
for an encoder and a lexicon that have not seen the pair. Match quantiles say how rarely a token id
is matched as poorly.
"""

from collections.abc import Sequence

import numpy as np

from miner.encoder.encoder import Encoder
from miner.kernels.aligned import BINS, FARTHEST, PER_NAT, count
from miner.kernels.aligned import SURPRISE as COLUMN
from miner.kernels.hidden_markov import COSINES, EVIDENCES, REACH
from miner.scoring.comparer import ALIGNER, SURPRISE, describe_pairs
from miner_train.language_texts import LanguageText, token_tables
from miner_train.learn_comparer import drawn, shares

# Maximum pairs of a text, and passes over them.
PAIRS, PASSES = 400, 4
# Bounds of the logarithm of an emission probability; minimum expected count of a jump.
LOWEST, HIGHEST, SELDOM = -4.0, 8.0, 1e-3
# Initial probabilities of jumps, and share of unaligned tokens: tokens mostly follow in order.
JUMP = (*(0.005, 0.01, 0.01, 0.01, 0.02, 0.06), 0.08, *(0.5, 0.15, 0.06, 0.03, 0.02, 0.01), 0.05)
UNALIGNED = 0.1


def learn_alignment(
    encoder: Encoder, texts: Sequence[LanguageText], seed: int
) -> dict[str, np.ndarray]:
    """Learn the arrays of an aligner of :mod:`miner.kernels.hidden_markov` from held-out pairs."""
    texts = [text for text in texts if len(text.held[0])]
    tables = token_tables(encoder.model, texts)
    sides = []
    for number, text in enumerate(texts):
        rows = drawn(text.held, PAIRS, [seed, 14, number])
        sides.append([encoder.tokenizer([side[row] for row in rows]) for side in text.held])
    emission = np.linspace(-3, 4, COSINES)[:, None] + np.linspace(0, 4, EVIDENCES)
    aligner = _arrays(np.exp(emission), np.array(JUMP), UNALIGNED)
    for _ in range(PASSES):
        counts = [
            count(pair[0], pair[1], *tokens.known, aligner)
            for pair, tokens in zip(sides, tables, strict=True)
        ]
        emissions, jumps, unaligned = (sum(parts) for parts in zip(*counts, strict=True))
        aligned, every = emissions + 1
        likelier = np.log(aligned / aligned.sum()) - np.log(every / every.sum())
        emission = np.exp(likelier.clip(LOWEST, HIGHEST))
        without = (unaligned[0] + 1) / (unaligned[1] + 2)
        aligner = _arrays(emission, jump_probabilities(jumps + SELDOM), without)
    return dict(zip(ALIGNER, aligner, strict=True))


def _arrays(emission: np.ndarray, jump: np.ndarray, unaligned: float) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(array, np.float32) for array in (emission, jump, [unaligned]))


def jump_probabilities(counts: np.ndarray) -> np.ndarray:
    """Return the jump probabilities of an aligner, from counts of -FARTHEST to FARTHEST."""
    share = counts / counts.sum()
    near = share[FARTHEST - REACH : FARTHEST + REACH + 1]
    return np.append(near, 1 - near.sum())


# Occurrences that the distribution common to all token ids counts as.
COMMON = 6.0
# Pairs matched at a time.
BLOCK = 4000


def learn_matches(
    encoder: Encoder, texts: Sequence[LanguageText], seed: int
) -> dict[str, np.ndarray]:
    """Learn aligner and surprise, arrays of :class:`miner.scoring.comparer.Comparer`."""
    arrays = learn_alignment(encoder, texts, seed)
    aligner = tuple(arrays[name] for name in ALIGNER)
    return {**arrays, SURPRISE: learn_match_quantiles(encoder, aligner, texts, seed)}


def learn_match_quantiles(
    encoder: Encoder,
    aligner: tuple[np.ndarray, ...],
    texts: Sequence[LanguageText],
    seed: int,
) -> np.ndarray:
    """Learn the table ``(V, BINS) uint8`` of :class:`miner.scoring.comparer.Comparer`.

    Column ``b`` of a token id is -log P(it is matched as poorly as ``b``, or worse), times
    ``PER_NAT``. Texts are drawn from as the comparer's examples are. ``aligner`` is as in
    :mod:`miner.kernels.hidden_markov`. A token id that never occurs has the common distribution.
    """
    texts = [text for text in texts if len(text.training[0])]
    size = encoder.tokenizer.size
    counts = np.zeros(size * BINS)
    # A table by which the surprise of a token is the column of its match.
    columns = np.tile(np.arange(BINS, dtype=np.uint8), (size, 1))
    most = shares([len(text.training[0]) for text in texts])
    for number, (tokens, text) in enumerate(
        zip(token_tables(encoder.model, texts), texts, strict=True)
    ):
        rows = drawn(text.training, most[number], [seed, 13, number])
        for block in np.split(rows, range(BLOCK, len(rows), BLOCK)):
            sides = [encoder.tokenizer([side[row] for row in block]) for side in text.training]
            _, ids, numbers = describe_pairs(tokens, (aligner, columns), *sides)
            bins = (numbers[:, COLUMN] * PER_NAT).astype(np.int64)
            places = ids[:, 0].astype(np.int64) * BINS + bins
            counts += np.bincount(places, minlength=len(counts))
    table = counts.reshape(size, BINS)
    common = table.sum(axis=0, keepdims=True) / max(table.sum(), 1.0)
    total = table.sum(axis=1, keepdims=True) + COMMON
    poorer = np.cumsum((table + COMMON * common) / total, axis=1)
    surprise = -np.log(poorer.clip(1e-9, 1.0))
    return np.rint(surprise * PER_NAT).clip(0, 255).astype(np.uint8)
