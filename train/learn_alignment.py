"""Aligner, learned from held-out bitext by expectation maximisation.

Its parameters are few and common to all languages, so that little text suffices. Held-out text
shows how good a counterpart is for an encoder and a lexicon that have not seen the pair.
"""

from collections.abc import Sequence

import numpy as np

from miner.encoder.encoder import Encoder
from miner.kernels.aligned import FARTHEST, count
from miner.kernels.hidden_markov import COSINES, EVIDENCES, REACH
from miner.scoring.comparer import ALIGNER
from miner_train.language_texts import LanguageText, token_tables
from miner_train.learn_comparer import drawn

# Maximum pairs of a text, and passes over them.
PAIRS, PASSES = 400, 4
# Range of the logarithm of emissions, and minimum count of a jump.
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
    found = _arrays(np.exp(emission), np.array(JUMP), UNALIGNED)
    for _ in range(PASSES):
        counts = [
            count(pair[0], pair[1], *tokens.known, found)
            for pair, tokens in zip(sides, tables, strict=True)
        ]
        emissions, jumps, unaligned = (sum(one) for one in zip(*counts, strict=True))
        aligned, every = emissions + 1
        likelier = np.log(aligned / aligned.sum()) - np.log(every / every.sum())
        emission = np.exp(likelier.clip(LOWEST, HIGHEST))
        without = (unaligned[0] + 1) / (unaligned[1] + 2)
        found = _arrays(emission, jump_probabilities(jumps + SELDOM), without)
    return dict(zip(ALIGNER, found, strict=True))


def _arrays(emission: np.ndarray, jump: np.ndarray, unaligned: float) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(one, np.float32) for one in (emission, jump, [unaligned]))


def jump_probabilities(counts: np.ndarray) -> np.ndarray:
    """Return the jump probabilities of an aligner, from counts of -FARTHEST to FARTHEST."""
    share = counts / counts.sum()
    near = share[FARTHEST - REACH : FARTHEST + REACH + 1]
    return np.append(near, 1 - near.sum())
