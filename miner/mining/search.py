"""Result of a search of two indexes, and the choice of verifier, languages and engine for it."""

from collections.abc import Callable

from miner.encoder.loading import split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, DependencyError, MismatchError
from miner.index.index import Index
from miner.knn.engines import check_hybrid, search_device
from miner.knn.settings import SearchSettings
from miner.scoring.languages import Identified, identify, sample
from miner.scoring.verifier import UNFITTED, Languages, Verifier

# Pairs of sentences from which on the hybrid engine is worth its preparation; and from which on
# ``auto`` chooses it: 262,000 by 262,000.
HYBRID, LARGE = 1 << 30, 1 << 36


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
    if encoder is None and split_name(index.model_name) is not None:
        raise ArtifactError(f"{index.model_name} {UNFITTED}")
    try:
        # The side does not matter: a model with two has no verifier, which is said below.
        encoder = encoder or open_encoder(index.model_name, side="source")
    except ArtifactError as error:
        raise ArtifactError(
            f"{index.path} was built by {index.model_name}, which cannot be opened ({error}); say "
            "where the model is now (--model), or rank by margin"
        ) from None
    index.check_model(encoder, ", or rank by margin")
    return Verifier(encoder)


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


def require_one_model(source: Index, target: Index) -> None:
    """Raise :class:`~miner.errors.MismatchError` for indexes that no search can compare."""
    if source.fingerprint != target.fingerprint:
        raise MismatchError(
            f"{source.path} was built by {source.model_name} ({source.fingerprint}), {target.path} "
            f"by {target.model_name} ({target.fingerprint}); index both with one model"
        )
