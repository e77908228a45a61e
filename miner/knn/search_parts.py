"""Parts of a search that other processes share: candidates of blocks, and their exact ranking."""

from miner.knn.engines import PRODUCT_SIZE, Engine
from miner.knn.knn_search import BLOCK, BlockSearch
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.settle import SECOND_SLACK, settle
from miner.knn.vector_set import VectorSet
from miner.progress import silent


def block_candidates(
    source: VectorSet,
    target: VectorSet,
    k: int,
    memory: int,
    engine: Engine,
    begun: tuple[Lists | None, Lists | None] = (None, None),
) -> tuple[Lists, Lists]:
    """Collect the candidates of both sides of a part of a similarity matrix.

    Positions are those in the two sets. The lists of several parts, merged by
    :meth:`~miner.knn.lists.Lists.merge`, are those of the whole matrix.

    ``begun`` are lists of another part, by which fewer candidates are collected: only those that
    the lists of both parts together may hold. Places that come from there stay in the result. Lists
    of another width are ignored.
    """
    search = BlockSearch(source, target, k, memory, engine, silent, None)
    search.begun = begun
    return search.candidates()


def settle_part(
    queries: VectorSet, base: VectorSet, lists: Lists, k: int, memory: int, engine: Engine | None
) -> Neighbors:
    """Rank the candidates ``lists`` that some queries found in all of ``base``, exactly.

    ``engine`` is the one that found them; None for a search that leaves rows out.
    """
    d = base.vectors.shape[1]
    # A row while its candidates are ranked, or searched again in float32.
    ranked, second = (
        8 * d + lists.width * (d * 6 + 48),
        12 * d + 4 * PRODUCT_SIZE + (k + SECOND_SLACK) * 48,
    )
    return settle(
        queries, base, lists, k, engine, max(1, min(BLOCK, memory // max(ranked, second)))
    )
