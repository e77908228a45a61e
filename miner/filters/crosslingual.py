"""Filters that score by a trained model: quality, cosine, margin."""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from miner.encoder.known_languages import quality_bound
from miner.encoder.model_files import model_digest
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import strictly
from miner.filters.filter_types import Batch, Context, Scorer, place
from miner.option_values import Languages
from miner.scoring.languages import languages_by_row
from miner.scoring.logistic import sigmoid
from miner.scoring.named_faults import Fault, FaultNames
from miner.scoring.quality import Quality, cosines, logits_and_factors
from miner.scoring.reference import Reference, Texts, Vectors
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH, SEVERAL
from miner.text.sheet import read_labels
from miner.text_table import quoted

if TYPE_CHECKING:
    from miner.alignment.paragraphs import Paragraphs

# Quality below which a pair counts as unrelated, so that no single fault explains it.
UNRELATED = 0.01
# Default minimum quality, for languages without a measured bound.
USUAL = 0.1

QualityScore: TypeAlias = "Quality | Paragraphs"
Encoders = tuple[SentenceEncoder, SentenceEncoder]
# Rows of batches in work, grouped by language pair.
_GROUPS: WeakKeyDictionary[Batch, dict[Languages, list[int]]] = WeakKeyDictionary()


def encoders_of(settings: Mapping[str, Any], context: Context) -> Encoders:
    """Load the encoders of both sides, once for all filters of a process."""
    model = settings["model"]
    name = place(context.directory, model) if model else context.encoder
    return _loaded(name, model_digest(name))


@lru_cache(maxsize=2)
def _loaded(model: str, version: str | None) -> Encoders:
    """Load a model; both sides share one encoder unless their vocabularies are separate."""
    encoder = open_encoder(model, threads=1, side="source")
    return encoder, encoder.on_side("target")


def _quality(settings: Mapping[str, Any], context: Context) -> Scorer:
    encoder, _ = encoders_of(settings, context)
    labels = read_labels(context.directory / settings["labels"]) if settings["labels"] else None

    def quality_in(languages: Languages) -> QualityScore:
        quality = Quality(Verifier(encoder, languages))
        quality = quality if labels is None else quality.with_labels(labels)
        return _paragraphs(quality) if settings["paragraphs"] else quality

    if SEVERAL not in context.likely:
        quality = quality_in(context.likely)
        return lambda batch: quality.score(*batch.sides)
    opened = cache(quality_in)

    def score(batch: Batch) -> np.ndarray:
        """Score each row in its own languages, so that no row depends on the others."""
        scores = np.empty(len(batch))
        for languages, rows in _by_languages(encoder, batch, context.likely).items():
            sides = ([side[row] for row in rows] for side in batch.sides)
            scores[rows] = opened(languages).score(*sides)
        return scores

    return score


def _facts(settings: Mapping[str, Any], context: Context) -> Scorer:
    encoder, _ = encoders_of(settings, context)
    opened = cache(lambda languages: Verifier(encoder, languages))

    def score(batch: Batch) -> np.ndarray:
        """Return the probability that no fact contradicts; 1 in languages without facts."""
        probability = np.ones(len(batch))
        for languages, rows in _by_languages(encoder, batch, context.likely).items():
            verifier = opened(languages)
            if verifier.facts is not None:
                source, target = ([side[row] for row in rows] for side in batch.sides)
                tokens = (
                    verifier.tokenize_text(source, 1).tokens,
                    verifier.tokenize_text(target, 1).tokens,
                )
                probability[rows] = verifier.facts.probability((source, target), tokens)
        return probability

    return score


def _paragraphs(quality: Quality) -> "Paragraphs":
    from miner.alignment.paragraphs import Paragraphs  # which needs sentencex

    return Paragraphs(quality)


def _bounds(settings: Mapping[str, Any], context: Context) -> Scorer:
    encoder, _ = encoders_of(settings, context)
    facts = {} if encoder.model is None else encoder.model.languages

    def bounds(batch: Batch) -> np.ndarray:
        """Return the bound of the languages of each row."""
        values = np.full(len(batch), np.nan)
        for languages, rows in _by_languages(encoder, batch, context.likely).items():
            if None not in languages:
                bound = quality_bound(facts, languages)
                values[rows] = USUAL if bound is None else bound
        return values

    return bounds


def _by_languages(
    encoder: SentenceEncoder, batch: Batch, likely: Languages
) -> dict[Languages, list[int]]:
    """Group the rows of a batch by language pair, identified on sides that have several
    languages.
    """
    if batch in _GROUPS:
        return _GROUPS[batch]
    model = encoder.model
    known = {ENGLISH, *(model.languages if model is not None else ())}
    source, target = (
        languages_by_row(texts, known) if code == SEVERAL else [code] * len(batch)
        for texts, code in zip(batch.sides, likely, strict=True)
    )
    groups: dict[Languages, list[int]] = {}
    for row, languages in enumerate(zip(source, target, strict=True)):
        groups.setdefault(languages, []).append(row)
    _GROUPS[batch] = groups
    return groups


def _faults(settings: Mapping[str, Any], context: Context) -> Callable[[Batch], list[Fault]]:
    encoder, _ = encoders_of(settings, context)
    verifier = Verifier(encoder, context.likely)
    if verifier.comparer is None:
        return lambda batch: [Fault()] * len(batch)
    names, quality = FaultNames(verifier), Quality(verifier)

    def name(batch: Batch) -> list[Fault]:
        if not len(batch):
            return []
        source, target = map(list, batch.sides)
        worst = _paragraphs(quality).worst(source, target) if settings["paragraphs"] else {}
        for row, bead in worst.items():
            source[row], target[row] = bead
        # Without the factors of contradicting numbers and facts, which are faults themselves.
        logit, factor = logits_and_factors(verifier, quality.calibrated, source, target)
        unrelated = (sigmoid(logit) < UNRELATED) | (factor == 0)
        named = names(source, target)
        faults = [
            Fault("unrelated") if no else fault for no, fault in zip(unrelated, named, strict=True)
        ]
        for row, (left, right) in worst.items():
            both = bool(left and right)
            shown = f"{quoted(left)} | {quoted(right)}" if both else quoted(left or right)
            why = faults[row].name if both else "no counterpart"
            faults[row] = faults[row]._replace(name=f"{why} ({shown})".lstrip())
        return faults

    return name


def _cosine(settings: Mapping[str, Any], context: Context) -> Scorer:
    encoders = encoders_of(settings, context)
    return lambda batch: cosines(*_vectors(encoders, batch.sides))


def _vectors(encoders: Encoders, texts: Texts) -> Vectors:
    return encoders[0].encode(texts[0]), encoders[1].encode(texts[1])


def _margin(settings: Mapping[str, Any], context: Context) -> Scorer:
    """Score by margins against a reference, by default a sample of the text itself."""
    encoders, texts = encoders_of(settings, context), context.sample
    if settings["reference"]:
        with strictly():
            bitext = read_bitext(context.directory / settings["reference"])
        texts = bitext.source, bitext.target
    reference = Reference(texts, _vectors(encoders, texts), settings["k"])
    kind = settings["margin"]
    return lambda batch: reference.margins(batch.sides, _vectors(encoders, batch.sides), kind)


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "quality": {"build": _quality, "faults": _faults, "bounds": _bounds, "minimum": USUAL},
    "facts": {"build": _facts},
    "cosine": {"build": _cosine},
    "margin": {"build": _margin},
}
