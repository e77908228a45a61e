"""Cleanliness of paraphrase pairs without annotations, estimated with shuffled pairs as decoys.

S18 estimates from annotations how clean the best pairs of Opusparcus are. Here the cosines of pairs
are modelled as a mixture of right pairs and of pairs that match like shuffled ones
(:mod:`miner.precision.mixture`), which gives each pair a probability.
"""

from collections.abc import Sequence

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.precision.mixture import Histogram, Law
from miner.scoring.quality import cosines

# Expected slope of log-odds over cosines, per standard deviation of decoys' cosines; and law that
# models all decoys except the lowest tenth, because shuffled pairs have the same sentences.
SLOPE, LAW = 3.0, Law(0.1, (0.05, 0.2))
# Minimum number of pairs to fit a mixture.
FEWEST = 200


def probabilities(pairs: Sequence[tuple[str, str]], encoder: SentenceEncoder) -> np.ndarray:
    """Return each pair's probability of being right, ``(n,) float64``; their mean is the
    cleanliness.

    A pair counts as wrong if its cosine looks like that of two random sentences. Pairs that share a
    topic, or differ in one word, look right. Raises CorpusError for fewer than `FEWEST`.
    """
    if len(pairs) < FEWEST:
        raise CorpusError(
            f"{len(pairs)} pairs are too few to estimate cleanliness, which needs {FEWEST}"
        )
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    row = {text: number for number, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    first, second = (np.array([row[pair[side]] for pair in pairs]) for side in (0, 1))
    other = np.random.default_rng(1).permutation(second)
    known = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    shuffled = zip(first.tolist(), other.tolist(), strict=True)
    new = np.array([one != two and {one, two} not in known for one, two in shuffled])
    if np.count_nonzero(new) < FEWEST // 2:
        raise CorpusError("shuffled pairs are mostly pairs again; give more different sentences")
    cosine = cosines(vectors[first], vectors[second]).astype(np.float64)
    decoy = cosines(vectors[first[new]], vectors[other[new]]).astype(np.float64)
    center, spread = float(decoy.mean()), max(float(decoy.std()), 1e-9)
    cosine, decoy = (cosine - center) / spread, (decoy - center) / spread
    return Histogram(cosine, decoy, np.ones(len(decoy)), SLOPE, LAW).fit().probability(cosine)
