"""Word vectors from co-occurrence, to start a model of words from.

Positive pointwise mutual information of words within a window, with smoothed contexts, cut to its
largest singular values (Levy, Goldberg and Dagan 2015, *Improving Distributional Similarity with
Lessons Learned from Word Embeddings*). It takes the place of word2vec, of which it is the explicit
form, and needs nothing that the trainer does not have.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from miner import MinerError
from miner.encoder.normaliser import Normaliser
from miner.encoder.word_units import WORD
from miner.ragged import offsets_of
from miner.text.output import open_output

# Words on each side of a word that are its contexts; least count of a word; most words.
WINDOW, LEAST, MOST = 5, 5, 30_000
# Exponent of the counts of contexts, which lets rare ones count for less.
SMOOTHING = 0.75
SEED = 1


def learn_vectors(sentences: Sequence[str], dimension: int) -> tuple[list[str], np.ndarray]:
    """Return the frequent words of ``sentences``, folded, and their vectors ``(n, d) float32``.

    Vectors have unit length, or are zero. Raises MinerError for a text with fewer frequent words
    than ``dimension``.
    """
    split = [WORD.findall(sentence) for sentence in Normaliser.by_rule(True)(sentences)]
    counts = Counter(word for own in split for word in own)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:MOST]
    words = [word for word in frequent if counts[word] >= LEAST]
    if len(words) <= dimension:
        raise MinerError(
            f"{len(words)} words occur {LEAST} times: too few for vectors of {dimension} numbers; "
            "give more text"
        )
    row = {word: number for number, word in enumerate(words)}
    ids = np.array([row.get(word, -1) for own in split for word in own])
    offsets = offsets_of(np.array([len(own) for own in split]))
    information = mutual_information(cooccurrence(ids, offsets, len(words)))
    left, values, _ = randomized_svd(information, dimension, random_state=SEED)
    vectors = left * np.sqrt(values)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return words, (vectors / np.where(length == 0, 1, length)).astype(np.float32)


def cooccurrence(ids: np.ndarray, offsets: np.ndarray, size: int) -> sparse.csr_matrix:
    """Count the words within `WINDOW` of each other in one sentence: ``(size, size)``, symmetric.

    ``ids (t,)`` are the words of all sentences, -1 for those that are not counted, and ``offsets
    (n + 1,)`` the start of each sentence.
    """
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    total = sparse.csr_matrix((size, size))
    for apart in range(1, WINDOW + 1):
        one, other = ids[:-apart], ids[apart:]
        kept = (owner[:-apart] == owner[apart:]) & (one >= 0) & (other >= 0)
        places = one[kept], other[kept]
        found = sparse.coo_matrix((np.ones(len(places[0])), places), shape=(size, size)).tocsr()
        total = total + found + found.T
    return total


def mutual_information(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return positive pointwise mutual information of ``counts (n, n)``; other entries are 0."""
    found = counts.tocoo()
    word = np.asarray(counts.sum(axis=1)).ravel()
    context = word**SMOOTHING
    value = np.log(found.data * context.sum() / (word[found.row] * context[found.col]))
    kept = value > 0
    places = found.row[kept], found.col[kept]
    return sparse.coo_matrix((value[kept], places), shape=counts.shape).tocsr()


def write_vectors(words: Sequence[str], vectors: np.ndarray, path: Path) -> None:
    """Write a text file of word2vec."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n")
        for word, vector in zip(words, vectors.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{number:.5f}' for number in vector)}\n")
