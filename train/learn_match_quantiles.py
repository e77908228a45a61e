"""Surprise of tokens, learned from bitext: how rarely a token id is matched as poorly."""

from collections.abc import Sequence

import numpy as np

from miner.encoder.encoder import Encoder
from miner.kernels.aligned import BINS, PER_NAT
from miner.kernels.aligned import SURPRISE as COLUMN
from miner.scoring.comparer import ALIGNER, SURPRISE, describe_pairs
from miner_train.language_texts import LanguageText, token_tables
from miner_train.learn_alignment import learn_alignment
from miner_train.learn_comparer import drawn, shares

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
            found = (numbers[:, COLUMN] * PER_NAT).astype(np.int64)
            places = ids[:, 0].astype(np.int64) * BINS + found
            counts += np.bincount(places, minlength=len(counts))
    table = counts.reshape(size, BINS)
    common = table.sum(axis=0, keepdims=True) / max(table.sum(), 1.0)
    total = table.sum(axis=1, keepdims=True) + COMMON
    poorer = np.cumsum((table + COMMON * common) / total, axis=1)
    surprise = -np.log(poorer.clip(1e-9, 1.0))
    return np.rint(surprise * PER_NAT).clip(0, 255).astype(np.uint8)
