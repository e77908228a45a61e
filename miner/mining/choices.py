"""Choice of the verifier, the languages and the engine of a search of two indexes."""

from collections.abc import Callable

from miner.encoder.loading import split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, DependencyError, MismatchError
from miner.index.index import Index
from miner.knn.engines import search_device
from miner.knn.settings import SearchSettings
from miner.option_values import Languages
from miner.progress import silent
from miner.scoring.languages import Identified, identify, sample
from miner.scoring.verifier import UNFITTED, Verifier

# Number of sentence pairs from which the hybrid engine repays its preparation; and from which
# ``auto`` chooses it: 131,000 by 131,000. At 100,000 it takes a tenth less time, and F1 on German
# and English training text is .001 lower, as at 54,000.
HYBRID, LARGE = 1 << 30, 1 << 34


def verifier_for(
    index: Index | None,
    rank: str | None = None,
    encoder: SentenceEncoder | None = None,
    note: Callable[[str], None] = silent,
) -> Verifier | None:
    """Return the verifier to rank pairs by; None to rank by margin.

    It belongs to ``encoder``, by default the model that built ``index``, which must be the same.
    With ``rank=None`` margins rank if the model has no verifier, or is no longer at its location;
    ``note`` then receives the reason.
    """
    if rank == "margin":
        return None
    try:
        if index is not None:
            encoder = _encoder_of(index, encoder)
        assert encoder is not None
        return Verifier(encoder)
    except (ArtifactError, DependencyError) as error:
        if rank is not None:
            raise
        note(str(error))
        return None


def _encoder_of(index: Index, encoder: SentenceEncoder | None) -> SentenceEncoder:
    """Return ``encoder``, or open the model of an index. Raises MismatchError for another model."""
    if encoder is None and index.external:
        raise ArtifactError(f"{index.path} has vectors from elsewhere, which nothing can verify")
    if encoder is None and split_name(index.model_name) is not None:
        raise ArtifactError(f"{index.model_name} {UNFITTED}")
    try:
        # The side does not matter: a model with two has no verifier, which is reported later.
        encoder = encoder or open_encoder(index.model_name, side="source")
    except ArtifactError as error:
        raise ArtifactError(
            f"{index.path} was built by {index.model_name}, which cannot be opened ({error}); say "
            "where the model is now (--model), or rank by margin"
        ) from None
    index.check_model(encoder, ", or rank by margin")
    return encoder


def pairs_for_hybrid(settings: SearchSettings, lexicon: bool) -> int | None:
    """Return the number of sentence pairs from which flat indexes are searched by hybrid.

    None: never. ``auto`` chooses it on a processor, with a ``lexicon``. Raises ResourceError for a
    missing device, and for settings that the hybrid engine does not support.
    """
    if settings.engine == "hybrid":
        search_device(settings.device, settings.engine, settings.exact)
        return HYBRID
    gpu = settings.device.startswith("cuda")  # of the worker, which may be another machine
    if settings.engine != "auto" or not lexicon or settings.exact or gpu:
        return None
    return LARGE if search_device(settings.device, "fused") == "cpu" else None


def languages_of(
    source: Index, target: Index, given: Languages = (None, None)
) -> tuple[Identified, Identified]:
    """Identify the languages of two indexes from a sample of each.

    ``given``: BCP-47 codes that override identification.
    """
    left, right = (
        identify(index.verify().sentences(sample(len(index))), code)
        for index, code in zip((source, target), given, strict=True)
    )
    return left, right


def require_one_model(source: Index, target: Index) -> None:
    """Raise :class:`~miner.errors.MismatchError` for indexes that cannot be compared."""
    if source.fingerprint != target.fingerprint:
        raise MismatchError(
            f"{source.path} was built by {source.model_name} ({source.fingerprint}), {target.path} "
            f"by {target.model_name} ({target.fingerprint}); index both with one model"
        )
