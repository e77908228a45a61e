"""Two indexes in, scored sentence pairs out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, DependencyError, MismatchError
from miner.index.index import Index
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.recall import measured_recall
from miner.knn.search_checkpoint import Checkpoint
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import memory_budget, thread_count
from miner.mining.pairs import Pairs, each_copy
from miner.progress import Reporter, silent
from miner.scoring import margin as margins
from miner.scoring.margin import Candidates
from miner.scoring.pair_features import PreparedText
from miner.scoring.verifier import PairLogits, Verifier


@dataclass(frozen=True, eq=False)
class Search:
    """A search and all that it saw, so that more can be asked of it.

    ``pairs`` is the result; ``forward`` and ``backward`` the neighbour lists that it comes from.
    ``verifier``, ``source_text``, ``target_text`` and ``alone``, what the verifier says of every
    candidate by itself, are None where margins rank. ``recall`` is the share of true neighbours in
    ``forward`` and ``backward``, measured on a sample; None where both indexes are flat.
    """

    pairs: Pairs
    settings: SearchSettings
    forward: Neighbors
    backward: Neighbors
    verifier: Verifier | None
    source_text: PreparedText | None
    target_text: PreparedText | None
    alone: PairLogits | None = None
    recall: tuple[float, float] | None = None


def search(
    source: Index,
    target: Index,
    settings: SearchSettings = SearchSettings(),
    *,
    encoder: Encoder | None = None,
    report: Reporter = silent,
) -> Pairs:
    """Mine the translation pairs of two corpora; all that the retrieval finds, best first.

    Candidates are the k nearest neighbours in each direction. Their score is the probability of
    being a translation, by the model's verifier, or a margin: see
    :class:`~miner.knn.settings.SearchSettings`. ``encoder`` is the model that built both indexes;
    by default it is loaded from where it was then. Every distinct text takes part once.

    Raises :class:`~miner.errors.MismatchError` for indexes of two models,
    :class:`~miner.errors.ArtifactError` where a verifier is asked for and there is none,
    :class:`~miner.errors.ResourceError` for too little memory or a missing GPU.
    """
    verifier = verifier_for(source, settings.rank, encoder)
    pairs = run(source, target, verifier, settings, report).pairs
    return pairs if settings.duplicates == "first" else each_copy(pairs)


def verifier_for(
    index: Index,
    rank: str | None = None,
    encoder: Encoder | None = None,
    note: Callable[[str], None] = lambda reason: None,
) -> Verifier | None:
    """The verifier to rank the pairs of an index by; None where margins are to rank.

    With ``rank=None`` margins rank where the model carries no verifier, or is no longer where the
    index says; ``note`` then gets the reason. An ``encoder`` must be the one of the index.
    """
    if rank == "margin":
        return None
    try:
        return _verifier(index, encoder)
    except (ArtifactError, DependencyError, MismatchError) as error:
        if rank is not None or isinstance(error, MismatchError):
            raise
        note(str(error))
        return None


def _verifier(index: Index, encoder: Encoder | None) -> Verifier:
    if encoder is None and index.external:
        raise ArtifactError(f"{index.path} has vectors from elsewhere, which nothing can verify")
    named = encoder is None
    try:
        # The side does not matter: a model with two has no verifier, which is said below.
        encoder = encoder or Encoder.load(index.model_name, side="source")
    except ArtifactError as error:
        raise ArtifactError(
            f"{index.path} was built by {index.model_name}, which cannot be opened ({error}); say "
            "where the model is now (--model), or rank by margin"
        ) from None
    if encoder.fingerprint != index.fingerprint and named:
        raise MismatchError(
            f"{index.path} was built by {index.model_name} ({index.fingerprint}), which has been "
            f"replaced since ({encoder.fingerprint}); index again, or rank by margin"
        )
    if encoder.fingerprint != index.fingerprint:
        raise MismatchError(
            f"{index.path} was built by {index.model_name} ({index.fingerprint}), not by "
            f"{encoder.name} ({encoder.fingerprint}); verify with the model that built it"
        )
    return Verifier(encoder)


def run(
    source: Index,
    target: Index,
    verifier: Verifier | None,
    settings: SearchSettings = SearchSettings(),
    report: Reporter = silent,
    checkpoint: Checkpoint | None = None,
) -> Search:
    """Search as :func:`search` does, with the ``verifier`` to rank by; return all that was seen.

    With a ``checkpoint`` the neighbour search continues from what it holds.
    """
    settings = replace(
        settings,
        rank="margin" if verifier is None else "probability",
        memory=memory_budget(settings.memory),
        threads=thread_count(settings.threads),
    )
    require_one_model(source, target)
    left, right = side(source), side(target)
    forward, backward = nearest_both(left, right, settings, report, checkpoint)
    recall = None
    if left.ann is not None or right.ann is not None:
        recall = measured_recall(left, right, forward), measured_recall(right, left, backward)
    texts: Sequence[PreparedText | None] = (None, None)
    if verifier is not None:
        texts = [
            verifier.prepare(index.store.texts.slice(0, len(index)), settings.threads)
            for index in (source, target)
        ]
    found, features, alone = choose(settings, forward, backward, verifier, texts[0], texts[1])
    pairs = Pairs(
        found.score,
        found.source_row,
        found.target_row,
        found.similarity,
        found.margin_ratio,
        found.forward_rank,
        found.backward_rank,
        source,
        target,
        features,
    )
    return Search(pairs, settings, forward, backward, verifier, texts[0], texts[1], alone, recall)


def require_one_model(source: Index, target: Index) -> None:
    """Raise :class:`~miner.errors.MismatchError` for indexes that no search can compare."""
    if source.fingerprint != target.fingerprint:
        raise MismatchError(
            f"{source.path} was built by {source.model_name} ({source.fingerprint}), {target.path} "
            f"by {target.model_name} ({target.fingerprint}); index both with one model"
        )


def side(index: Index) -> VectorSet:
    """What of an index takes part in a search."""
    return VectorSet(index.store.vectors, index.store.distinct(), index.ann())


def choose(
    settings: SearchSettings,
    forward: Neighbors,
    backward: Neighbors,
    verifier: Verifier | None,
    source: PreparedText | None,
    target: PreparedText | None,
    known: PairLogits | None = None,
) -> tuple[Candidates, np.ndarray | None, PairLogits | None]:
    """The pairs that the retrieval keeps of all candidates, best first.

    With a verifier also their features, but for those of ``known`` candidates, and what is known of
    every candidate by itself.
    """
    found = margins.candidates(forward, backward, settings.margin)
    if verifier is None or source is None or target is None:
        return margins.retrieve(found, settings.retrieval), None, None
    probability, among, alone = verifier.verify(found, forward, backward, source, target, known)
    chosen = margins.retrieve(replace(found, score=probability), settings.retrieval)
    if known is not None:
        return chosen, None, alone
    # Of the chosen alone: kept of all, they would be the most that a search holds.
    own = verifier.tokens.pair_features(source, target, chosen.source_row, chosen.target_row)
    place = alone.place(chosen.source_row, chosen.target_row)
    return chosen, np.concatenate([own, among[place]], axis=1), alone
