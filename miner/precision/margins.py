"""Precision without gold for pairs ranked by margin, without a verifier: decoys and the mixture.

Any encoder, and vectors of other programs, have margins. Decoys join the targets as in
:mod:`miner.precision.estimate`, and compete by margin. The mixture of right and wrong pairs is
fitted to standardised margins, and turns each into a probability of being right, in the same order.
A margin does not see a wrong number, so neither do these probabilities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from miner.encoder.loading import split_name
from miner.encoder.model import load
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.encoder.trigram_units import HashedTrigrams
from miner.errors import ArtifactError, MismatchError, ResourceError
from miner.index.index import Index
from miner.index.vectors import unit_blocks
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import VectorSet
from miner.precision import decoy_weights, refit
from miner.precision.decoys import FEWEST, DecoyPairs, Decoys, choose_among, merged_lists
from miner.precision.estimate import FEWEST_MATCHED, Estimate, doubts_of, expected_wrong
from miner.precision.mixture import RESAMPLES, Law
from miner.precision.search_result import SearchResult
from miner.scoring.margin import CandidateBlocks, Listed
from miner.scoring.verification import choose_by_margin, prepare_texts
from miner.text.language_codes import describe

# Expected slope of log-odds of being right over margins, per standard deviation of decoys' margins.
SLOPE = 2.0
# Most wrong pairs have other margins than decoys, so that the mixture models the best tenth of the
# decoys, and trusts their tail (benchmarks/LOG.md).
LAW = Law(0.9, (0.85, 0.95), 0.1, -5.0)


@dataclass(frozen=True, eq=False)
class DecoyPool:
    """Pool of sentences to choose decoys from, without repeats, and ``vectors(rows) -> (n, d)``.

    ``given``: the user gave the sentences.
    """

    sentences: list[str]
    vectors: Callable[[np.ndarray], np.ndarray]
    given: bool


def encoder_of(
    index: Index, encoder: SentenceEncoder | None, threads: int | None, device: str
) -> SentenceEncoder:
    """Return the encoder of the target's index for decoys: ``encoder`` itself if it matches.

    Raises ArtifactError if it is missing, MismatchError if it has changed.
    """
    if encoder is None and split_name(index.model_name) is not None:
        # An index may come from an untrusted source, so it must not cause a download or run code.
        raise ArtifactError(
            f"{index.path} was built by {index.model_name}; name it to encode decoys by it "
            f"(--model {index.model_name}), or search with --no-estimate"
        )
    try:
        encoder = encoder or open_encoder(
            index.model_name, threads, device, index.side or "target", index.loading
        )
    except ArtifactError as error:
        raise ArtifactError(
            f"{index.path} was built by {index.model_name}, which cannot be opened ({error}) to "
            "encode decoys; say where it is now (--model), or search with --no-estimate"
        ) from None
    index.check_model(encoder, ", or search with --no-estimate")
    return encoder.on_side(index.side)


def encoded_pool(
    encoder: SentenceEncoder, sentences: Sequence[str] | None, language: str | None
) -> DecoyPool:
    """Return a pool of decoys that an encoder, of the target's side, encodes.

    Without ``sentences``: decoys of the encoder's model, else of the shipped model, in
    ``language``. Raises ResourceError for a language without decoys.
    """
    pool = sentences
    if pool is None:
        decoys = encoder.model.read_decoys(language) if encoder.model else []
        pool = decoys or (load("default").read_decoys(language) if language is not None else [])
    if not pool:
        where = "an unknown language" if language is None else describe(language)
        raise ResourceError(
            f"there are no decoys in {where}; give at least {FEWEST} sentences of it that "
            "translate no source (--decoys FILE), or a --threshold"
        )
    distinct, encode = list(dict.fromkeys(pool)), encoder.encode

    def vectors(rows: np.ndarray) -> np.ndarray:
        return encode([distinct[row] for row in rows.tolist()])

    return DecoyPool(distinct, vectors, sentences is not None)


def pool_with_vectors(sentences: Sequence[str], vectors: np.ndarray) -> DecoyPool:
    """Return a pool of decoys with external vectors, ``(n, d)``, one for each sentence.

    Raises MismatchError for unequal numbers; ArtifactError for NaN, when a vector is used.
    """
    if len(sentences) != len(vectors):
        raise MismatchError(
            f"there are {len(vectors)} vectors for {len(sentences)} decoys, not one for each"
        )
    first = dict(zip(reversed(sentences), range(len(sentences) - 1, -1, -1), strict=True))
    rows = np.array(sorted(first.values()))

    def chosen(places: np.ndarray) -> np.ndarray:
        return np.concatenate(list(unit_blocks(vectors, rows[places], "vectors of decoys")))

    return DecoyPool([sentences[row] for row in rows.tolist()], chosen, True)


def calibrate_by_margin(result: SearchResult, pool: DecoyPool) -> tuple[SearchResult, Estimate]:
    """Estimate the probability of being right of pairs ranked by margin, on this corpus.

    Returns the search, whose pairs keep their order and have the margin as ``raw_score``, and the
    estimate of their precision and recall. Raises ResourceError for too few decoys.
    """
    pairs, settings = result.pairs, result.settings
    assert settings.memory is not None and settings.threads is not None
    tokenizer = HashedTrigrams()
    targets = prepare_texts(pairs.target.store.texts, tokenizer, settings.threads, settings.memory)
    rows = result.sides[1].rows
    decoys = choose_among(
        pool.sentences, targets, rows, tokenizer, settings.threads, resembling=not pool.given
    )
    matched = match_by_margin(result, decoys, pool.vectors)
    used = np.concatenate(decoys.draws)
    if len(matched) < FEWEST_MATCHED:
        raise ResourceError(
            f"only {len(matched)} of {len(used)} decoys were matched, too few to estimate "
            "precision; give more (--decoys FILE), or a --threshold"
        )
    lengths = decoys.text.characters
    weight = np.zeros(len(lengths))
    weight[used] = decoy_weights.length_weights(targets.characters[rows], lengths[used])
    weight = weight[matched.decoy]
    center = float(np.average(matched.score, weights=weight))
    spread = max(float(np.sqrt(np.average((matched.score - center) ** 2, weights=weight))), 1e-9)
    fitted = refit.scored(
        (pairs.score - center) / spread, (matched.score - center) / spread, weight, SLOPE, LAW
    )
    score = fitted.mixture.probability(fitted.logit)
    wrong, q_value = expected_wrong(score)
    pairs = replace(pairs, score=score, raw_score=pairs.score, q_value=q_value)
    result = replace(result, pairs=pairs)
    doubts = doubts_of(result, float(np.exp(fitted.mixture.scale)))
    if pool.given and decoys.alike < 0.5:
        doubts += (f"only {decoys.alike:.0%} of the decoys use the words of the targets",)
    nothing_more = np.zeros(RESAMPLES)
    resample = partial(fitted.histogram.resampled, fitted.mixture, nothing_more, np.inf)
    notes = ("scores are probabilities on this corpus, estimated from margins",)
    return result, Estimate(
        score, wrong, q_value, len(used), len(matched), doubts, 0, notes, resample
    )


def match_by_margin(
    result: SearchResult, decoys: Decoys, vectors_of: Callable[[np.ndarray], np.ndarray]
) -> DecoyPairs:
    """Add each draw of decoys to the targets; return the pairs of matched decoys.

    They compete by margin: the score is the margin, and there are no features. ``vectors_of``
    returns the vectors ``(n, d)`` of rows of the pool.
    """
    first, parts = len(result.backward), []
    for chosen in decoys.draws:
        vectors = vectors_of(chosen).astype(result.sides[0].vectors.dtype)
        if vectors.shape[1] != result.sides[0].vectors.shape[1]:
            raise MismatchError(
                f"the decoys have vectors of {vectors.shape[1]} dimensions, the targets of "
                f"{result.sides[0].vectors.shape[1]}; encode both by one encoder"
            )
        pairs = choose_by_margin(_joined(result, vectors), result.settings.retrieval)
        pairs = pairs.take(pairs.target_row >= first)
        nothing = np.empty((len(pairs), 0), dtype=np.float32)
        parts.append(DecoyPairs.of(pairs, nothing, chosen[pairs.target_row - first]))
    return DecoyPairs.joined(parts)


def _joined(result: SearchResult, vectors: np.ndarray) -> CandidateBlocks:
    """Return the candidates of a search when decoys ``(n, d)`` join the targets, after them."""
    decoys = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
    settings = result.settings
    # Without the compressed index of the sources, because the neighbours of decoys must be exact.
    exhaustive = "fused" if settings.engine == "hybrid" else settings.engine
    forward, backward = nearest_both(
        replace(result.sides[0], ann=None), decoys, replace(settings, engine=exhaustive)
    )
    both = Neighbors(
        np.concatenate([result.backward.similarity, backward.similarity]),
        np.concatenate([result.backward.row, backward.row]),
    )
    lists = merged_lists(result.forward, forward, len(result.backward))
    return CandidateBlocks(lists, Listed.of(both, len(lists)), settings.margin_function)
