"""Search of two indexes: neighbours, candidates, scores, and the pairs of a retrieval."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.loading import split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, DependencyError, MismatchError, ResourceError
from miner.index.index import Index
from miner.knn.engines import check_hybrid, search_device
from miner.knn.knn_search import HYBRID, leaves_out, nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.search_checkpoint import Checkpoint
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import memory_budget, thread_count
from miner.mining.pairs import Pairs, each_duplicate
from miner.mining.search_recall import Recall, measure
from miner.mining.verification import (
    PairLogits,
    choose_by_margin,
    choose_by_probability,
    features,
    least_memory,
    prepare_texts,
    release,
)
from miner.progress import Reporter, silent
from miner.scoring.languages import Identified, identify, sample
from miner.scoring.margin import CandidateBlocks, Candidates
from miner.scoring.pair_features import PreparedText
from miner.scoring.verifier import UNFITTED, Languages, Verifier

# Pairs of sentences from which on ``auto`` chooses the hybrid engine: 262,000 by 262,000.
LARGE = 1 << 36


@dataclass(frozen=True, eq=False)
class Search:
    """A search and its intermediate results, which the estimate of precision and reports use.

    ``pairs`` is the result. ``sides`` are the vectors that were searched, ``forward`` and
    ``backward`` the neighbour lists. ``verifier``, ``source_text``, ``target_text`` and ``logits``
    (of the pair features of every candidate) are None where margins rank. ``recall`` is measured on
    a sample; None where all pairs were compared. ``languages`` are those of both sides, for which
    candidates were verified.
    """

    pairs: Pairs
    settings: SearchSettings
    sides: tuple[VectorSet, VectorSet]
    forward: Neighbors
    backward: Neighbors
    verifier: Verifier | None = None
    source_text: PreparedText | None = None
    target_text: PreparedText | None = None
    logits: PairLogits | None = None
    recall: Recall | None = None
    languages: tuple[Identified, Identified] = (Identified(()), Identified(()))


def search(
    source: Index,
    target: Index,
    settings: SearchSettings = SearchSettings(),
    *,
    encoder: SentenceEncoder | None = None,
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
    return pairs if settings.duplicates == "first" else each_duplicate(pairs)


def verifier_for(
    index: Index,
    rank: str | None = None,
    encoder: SentenceEncoder | None = None,
    note: Callable[[str], None] = lambda reason: None,
) -> Verifier | None:
    """Return the verifier to rank the pairs of an index by; None to rank by margin.

    With ``rank=None`` margins rank if the model carries no verifier, or is no longer where the
    index says; ``note`` then receives the reason. ``encoder`` must be the model of the index.
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


def _verifier(index: Index, encoder: SentenceEncoder | None) -> Verifier:
    if encoder is None and index.external:
        raise ArtifactError(f"{index.path} has vectors from elsewhere, which nothing can verify")
    named = encoder is None
    if named and split_name(index.model_name) is not None:
        raise ArtifactError(f"{index.model_name} {UNFITTED}")
    try:
        # The side does not matter: a model with two has no verifier, which is said below.
        encoder = encoder or open_encoder(index.model_name, side="source")
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
    *,
    estimating: bool = False,
) -> Search:
    """Search as :func:`search` does, with the ``verifier`` to rank by; return all that was seen.

    With a ``checkpoint`` the neighbour search continues from what it holds. ``estimating``: also
    refuse, before any work, memory that is too little for an estimate of precision.
    """
    memory, threads = memory_budget(settings.memory), thread_count(settings.threads)
    rank = "margin" if verifier is None else "probability"
    settings = replace(settings, rank=rank, memory=memory, threads=threads)
    require_one_model(source, target)
    sides = side(source), side(target)
    engine = chosen_engine(*sides, settings, verifier is not None)
    settings = replace(settings, engine=engine)
    languages = languages_of(source, target, settings.languages)
    if verifier is not None:
        verifier = verifier.of((languages[0].code, languages[1].code))
    sizes = len(source), len(target)
    text = 0 if verifier is None else target.store.texts.size
    least = least_memory(sizes, settings.neighbors, text, estimating=estimating)
    if least > memory:
        raise ResourceError(
            f"--memory {memory >> 20}M is too little for {sum(sizes)} sentences and "
            f"k={settings.neighbors}: give at least {(least >> 20) + 1}M, or split the corpus"
        )
    approximate, texts, tokens = leaves_out(*sides, settings), None, None
    if verifier is not None and settings.engine == "hybrid" and approximate:
        from miner.knn.postings import SideTokens, Tokens

        texts = _texts(source, target, verifier, settings)
        first, second = (SideTokens(text.ids, text.offsets) for text in texts)
        tokens = Tokens(first, second, verifier.tokens.lexicon)
    forward, backward = nearest_both(*sides, settings, report, checkpoint, tokens)
    blocks = CandidateBlocks(forward, backward, settings.margin)
    if verifier is None:
        found = choose_by_margin(blocks, settings.retrieval)
        pairs = _pairs(found, source, target, None)
        recall = measure(sides, (forward, backward), settings) if approximate else None
        return Search(pairs, settings, sides, forward, backward, recall=recall, languages=languages)
    left, right = texts or _texts(source, target, verifier, settings)

    def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        logit = verifier.pair_logits(left, right, source_row, target_row)
        release(left, right)
        return logit

    recall = measure(sides, (forward, backward), settings, logits_of) if approximate else None
    found, logits, context_of = choose_by_probability(
        blocks, settings.retrieval, verifier, logits_of, memory
    )
    columns = features(verifier, left, right, found, context_of)
    pairs = _pairs(found, source, target, columns)
    return Search(
        pairs,
        settings,
        sides,
        forward,
        backward,
        verifier,
        left,
        right,
        logits,
        recall,
        languages,
    )


def chosen_engine(
    source: VectorSet, target: VectorSet, settings: SearchSettings, lexicon: bool
) -> str:
    """Return the name of the engine of a search; ``auto`` is decided.

    It is the hybrid engine for at least :func:`pairs_for_hybrid` pairs, of flat indexes; else the
    fused one. Raises ResourceError for a missing device.
    """
    if settings.engine != "auto":
        return settings.engine
    if len(source) * len(target) < LARGE or not (source.ann is None and target.ann is None):
        return "fused"
    return "fused" if pairs_for_hybrid(settings, lexicon) is None else "hybrid"


def pairs_for_hybrid(settings: SearchSettings, lexicon: bool) -> int | None:
    """Return the number of pairs of sentences from which on flat indexes are searched by hybrid.

    None: never. ``auto`` chooses it on a processor, with a ``lexicon``. Raises ResourceError for a
    missing device, and for settings that the hybrid engine does not take.
    """
    if settings.engine == "hybrid":
        check_hybrid(settings.engine, settings.device, settings.exact)
        return HYBRID
    if settings.engine != "auto" or not lexicon or settings.exact:
        return None
    return LARGE if search_device(settings.device, "fused") == "cpu" else None


def languages_of(
    source: Index, target: Index, given: Languages = (None, None)
) -> tuple[Identified, Identified]:
    """Identify the languages of two indexes from a sample of each.

    ``given`` are BCP-47 codes that count instead.
    """
    left, right = (
        identify(index.verify().sentences(sample(len(index))), code)
        for index, code in zip((source, target), given, strict=True)
    )
    return left, right


def _texts(
    source: Index, target: Index, verifier: Verifier, settings: SearchSettings
) -> tuple[PreparedText, PreparedText]:
    """Prepare the text of both sides for verification."""
    threads, memory = thread_count(settings.threads), memory_budget(settings.memory)
    tokenizer = verifier.encoder.tokenizer
    left, right = (
        prepare_texts(index.store.texts, tokenizer, threads, memory) for index in (source, target)
    )
    return left, right


def _pairs(found: Candidates, source: Index, target: Index, features: np.ndarray | None) -> Pairs:
    return Pairs(
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


def require_one_model(source: Index, target: Index) -> None:
    """Raise :class:`~miner.errors.MismatchError` for indexes that no search can compare."""
    if source.fingerprint != target.fingerprint:
        raise MismatchError(
            f"{source.path} was built by {source.model_name} ({source.fingerprint}), {target.path} "
            f"by {target.model_name} ({target.fingerprint}); index both with one model"
        )


def side(index: Index) -> VectorSet:
    """Return the vectors of an index that take part in a search, after a check of its content."""
    index.verify()
    return VectorSet(index.store.vectors, index.store.distinct(), index.ann())
