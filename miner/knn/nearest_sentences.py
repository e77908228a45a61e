"""The k nearest sentences of a corpus read block by block, to inspect a model (P17, S18).

Vectors are float16, as in an index, so that a text and its index give the same result. The cosine
of two such unit vectors is exact in float64 in any order of summation: products are multiples of
2^-48, and no partial sum reaches 2. So order and ties depend on neither blocks nor threads, and
duplicates of a sentence tie.
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from miner.encoder.encoder import CHUNK
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MismatchError
from miner.index.index import Index
from miner.text.corpus import Corpus
from miner.text.output import one_line

# n sentences, their n names, and their vectors (n, d) float16.
Block = tuple[Sequence[str], Sequence[str], np.ndarray]
# Queries compared with a block at a time: with CHUNK sentences, 16 MB of cosines.
QUERIES_AT_ONCE = 1024


@dataclass
class Neighbor:
    """Sentence of a corpus and its cosine with a query, in [-1, 1] up to rounding.

    row: number of sentences before its first occurrence. name: its id or line number. copies:
    number of its occurrences in the corpus, at least 1.
    """

    cosine: float
    row: int
    name: str
    sentence: str
    copies: int = 1


def nearest(queries: np.ndarray, blocks: Iterable[Block], k: int) -> list[list[Neighbor]]:
    """Return the k nearest sentences of each of ``queries (q, d) float16``.

    Duplicates count as one. Best first, ties in corpus order; fewer than k if the corpus has no
    more. Rows are unit vectors or zero: a zero query has no neighbours, and a zero row is no
    neighbour. Duplicates of a sentence must have equal vectors. Memory holds one block and the
    lists. Raises ValueError for k < 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    lists: list[list[Neighbor]] = [[] for _ in queries]
    # Sentences in each list. Others need not be remembered: their later duplicates have the same
    # cosine, lose the tie, and stay outside too.
    listed: list[dict[str, Neighbor]] = [{} for _ in queries]
    wide = queries.astype(np.float64)
    known = np.flatnonzero(wide.any(axis=1))
    before = 0
    for sentences, names, vectors in blocks:
        block = vectors.astype(np.float64)
        zero = ~block.any(axis=1)
        for start in range(0, len(known), QUERIES_AT_ONCE):
            part = known[start : start + QUERIES_AT_ONCE]
            similarity = wide[part] @ block.T  # (t, b)
            similarity[:, zero] = np.nan  # is >= nothing
            least = [lists[q][-1].cosine if len(lists[q]) == k else -np.inf for q in part]
            near = similarity >= np.array(least)[:, None]
            for i in np.flatnonzero(near.any(axis=1)).tolist():
                places = np.flatnonzero(near[i])
                places = places[np.argsort(-similarity[i, places], kind="stable")]
                best, texts = lists[part[i]], listed[part[i]]
                for position in places.tolist():
                    cosine = float(similarity[i, position])
                    if len(best) == k and cosine < best[-1].cosine:
                        break
                    sentence = sentences[position]
                    if sentence in texts:
                        texts[sentence].copies += 1
                    elif len(best) < k or cosine > best[-1].cosine:
                        texts[sentence] = Neighbor(
                            cosine, before + position, names[position], sentence
                        )
                        insort(best, texts[sentence], key=lambda neighbor: -neighbor.cosine)
                        if len(best) > k:
                            del texts[best.pop().sentence]
        before += len(sentences)
    return lists


def text_blocks(encoder: SentenceEncoder, corpus: Iterable[Corpus]) -> Iterator[Block]:
    """Yield the blocks of a text with their vectors; white space is normalised as in an index.

    ``corpus`` should have blocks of about :data:`miner.encoder.encoder.CHUNK` sentences. Raises
    the errors of reading.
    """
    waiting: deque[tuple[list[str], list[str]]] = deque()

    def texts() -> Iterator[list[str]]:
        for block in corpus:
            sentences = [one_line(sentence) for sentence in block.sentences]
            waiting.append((sentences, block.ids))
            yield sentences

    with closing(encoder.stream(texts(), np.float16)) as stream:
        for vectors in stream:
            yield (*waiting.popleft(), vectors)


def index_blocks(encoder: SentenceEncoder, index: Index) -> Iterator[Block]:
    """Yield the sentences of an index, compressed or not, with the vectors it stores.

    Raises MismatchError, before the first block, where ``encoder`` is not the model of the index.
    """
    index.check_model(encoder)
    if encoder.side != index.side:
        raise MismatchError(
            f"{index.path} was built with --side {index.side}, not with {encoder.side}; leave out "
            "--side"
        )
    index.verify()
    for start in range(0, len(index), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(index)))
        yield index.sentences(rows), index.ids(rows), index.store.vectors[rows]
