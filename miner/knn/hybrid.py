"""Hybrid search: candidates of both directions without comparing all with all.

Two ways of finding candidates, whose misses differ:

- **Clusters** (:mod:`miner.knn.clusters`). A sentence is compared with all members of the few
  clusters of the other side that are nearest to it, by the int8 kernel, whose products serve both
  directions (an inverted file, as in Jégou et al. 2011, probed from both sides).
- **Tokens** (:mod:`miner.knn.postings`), where there is a lexicon. A sentence is compared with
  those that hold translations of its rare tokens.

Similarities are exact integers and lists keep the best of whatever comes in any order, so the lists
do not depend on blocks and threads. The stages are in :mod:`miner.mining.hybrid_stages`.
"""

import numpy as np

# Clusters for each side of n sentences: PER_ROOT times the root of n, rounded to a power of two;
# and clusters that each sentence probes, its own included.
PER_ROOT, PROBES = 4, 32
# Sentences found by tokens for each query, and queries of one step.
RETRIEVED, QUERIES = 64, 8192


def number_of_clusters(sizes: tuple[int, int]) -> int:
    """Return the number of clusters for sides of these sizes."""
    root = PER_ROOT * float(np.sqrt(max(1, *sizes)))
    return max(1, 1 << round(float(np.log2(root))))


def probes(here: int) -> slice:
    """Return which of the nearest clusters a sentence of side ``here`` probes.

    Sources probe the cluster that they belong to; targets need not, as all is compared then.
    """
    return slice(here, PROBES)
