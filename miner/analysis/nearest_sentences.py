"""The nearest sentences of a corpus that is read block by block, to judge a model by (P17, S18).

Vectors are float16, as an index keeps them, so that text and an index of it give one result. The
cosine of two such unit vectors is exact in float64, in whatever order it is summed: products are
multiples of 2^-48, and no partial sum reaches 2. So order and ties depend on neither blocks nor
threads, and copies of a sentence tie.
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from miner.encoder.encoder import CHUNK, Encoder
from miner.errors import MismatchError
from miner.index.index import Index
from miner.text.corpus import Corpus
from miner.text.output import one_line

# Sentences and their names, n of each, and their vectors (n, d) float16.
Block = tuple[Sequence[str], Sequence[str], np.ndarray]
# Queries whose cosines with a block are in memory at a time: with CHUNK sentences, 16 MB of them.
TOGETHER = 1024


@dataclass
class Neighbor:
    """A sentence of a corpus and its cosine with a query, in [-1, 1] but for rounding.

    row: how many sentences stand before it; of copies, before the first. name: its id or line.
    copies: how often the corpus has it, at least 1.
    """

    cosine: float
    row: int
    name: str
    sentence: str
    copies: int = 1


def nearest(queries: np.ndarray, blocks: Iterable[Block], k: int) -> list[list[Neighbor]]:
    """The k nearest sentences of each of ``queries (q, d) float16``, copies counting as one.

    Best first, of equals the first in the corpus; fewer than k where there are no more. Rows are
    unit vectors or zero: a zero query has no neighbours, and a zero row of a block is none. Copies
    of a sentence must have equal vectors. Memory holds one block and the lists. Raises ValueError
    for k < 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    found: list[list[Neighbor]] = [[] for _ in queries]
    # The sentences of each list. A copy needs no longer memory: what has left a list, or did not
    # enter it, stays out with all later copies, which are as near and come after it.
    listed: list[dict[str, Neighbor]] = [{} for _ in queries]
    wide = queries.astype(np.float64)
    known = np.flatnonzero(wide.any(axis=1))
    before = 0
    for sentences, names, vectors in blocks:
        block = vectors.astype(np.float64)
        zero = ~block.any(axis=1)
        for start in range(0, len(known), TOGETHER):
            part = known[start : start + TOGETHER]
            similarity = wide[part] @ block.T  # (t, b)
            similarity[:, zero] = np.nan  # which is in front of nothing
            least = [found[q][-1].cosine if len(found[q]) == k else -np.inf for q in part]
            near = similarity >= np.array(least)[:, None]
            for i in np.flatnonzero(near.any(axis=1)).tolist():
                places = np.flatnonzero(near[i])
                places = places[np.argsort(-similarity[i, places], kind="stable")]
                best, texts = found[part[i]], listed[part[i]]
                for place in places.tolist():
                    cosine = float(similarity[i, place])
                    if len(best) == k and cosine < best[-1].cosine:
                        break
                    sentence = sentences[place]
                    if sentence in texts:
                        texts[sentence].copies += 1
                    elif len(best) < k or cosine > best[-1].cosine:
                        texts[sentence] = Neighbor(cosine, before + place, names[place], sentence)
                        insort(best, texts[sentence], key=lambda one: -one.cosine)
                        if len(best) > k:
                            del texts[best.pop().sentence]
        before += len(sentences)
    return found


def nearest_reference(queries: np.ndarray, block: Block, k: int) -> list[list[Neighbor]]:
    """What :func:`nearest` finds in a single block, one pair of sentences at a time."""
    found = []
    for query in queries.astype(np.float64):
        by_text: dict[str, Neighbor] = {}
        for row, (sentence, name, vector) in enumerate(zip(*block, strict=True)):
            if sentence in by_text:
                by_text[sentence].copies += 1
            elif query.any() and vector.any():
                cosine = float(query @ vector.astype(np.float64))
                by_text[sentence] = Neighbor(cosine, row, name, sentence)
        found.append(sorted(by_text.values(), key=lambda one: (-one.cosine, one.row))[:k])
    return found


def text_blocks(encoder: Encoder, corpus: Iterable[Corpus]) -> Iterator[Block]:
    """Text as it is read, with vectors; white space within a sentence as in an index of it.

    Blocks of some :data:`miner.encoder.encoder.CHUNK` sentences are right. Raises what reading does.
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


def index_blocks(encoder: Encoder, index: Index) -> Iterator[Block]:
    """The sentences of an index with their vectors; a compressed one is read just so.

    Raises MismatchError, before the first block, where ``encoder`` is not the model of the index.
    """
    if encoder.fingerprint != index.fingerprint:
        raise MismatchError(
            f"{index.path} was built by {index.model_name} ({index.fingerprint}), not by "
            f"{encoder.name} ({encoder.fingerprint}); give the model that built it"
        )
    if encoder.side != index.side:
        raise MismatchError(
            f"{index.path} was built with --side {index.side}, not with {encoder.side}; leave out "
            "--side"
        )
    for start in range(0, len(index), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(index)))
        yield index.sentences(rows), index.ids(rows), index.store.vectors[rows]
