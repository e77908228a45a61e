"""Decoys: sentences that translate no source, mixed in among the targets of a search.

Decoys join the targets, compete for the same sources, are scored by the same margins and the same
verifier, and are matched one to one. A decoy that is matched stands for wrong pairs: see
:mod:`miner.mining.precision`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from miner.encoder.tokenizer import Tokenizer
from miner.errors import MismatchError, ResourceError
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import VectorSet
from miner.machine import thread_count
from miner.mining.search import Search
from miner.mining.verification import (
    choose_by_margin,
    choose_by_probability,
    features,
    held_bytes,
    release,
)
from miner.ragged import take_lists
from miner.scoring.margin import CandidateBlocks
from miner.scoring.pair_features import PreparedText, prepare
from miner.scoring.verifier import Verifier
from miner.text.language_codes import describe

# Decoys in all, and draws of them at most: a draw has no more decoys than there are targets, since
# they would crowd each other out otherwise.
DECOYS, DRAWS = 20_000, 32
# With fewer decoys, or fewer targets to put them among, there is no estimate.
FEWEST, FEWEST_TARGETS = 500, 50
SEED = 1
# Decoys are dropped if their words are rarer in the corpus than those of this share of its own
# sentences.
UNLIKE = 0.05
# Sentences whose token ids, or neighbours, are compared at a time; token ids counted at a time.
BLOCK, IDS = 16_384, 1 << 20
# Memory for the blocks of the decoys' search.
DECOY_SEARCH = 48 << 20


@dataclass(frozen=True, eq=False)
class Decoys:
    """Sentences to mix in among the targets.

    ``text`` and ``sentences`` are the pool that ``draws``, lists of its rows, choose from.
    ``alike`` is the share of the pool with the vocabulary of the targets.
    """

    sentences: list[str]
    text: PreparedText
    draws: list[np.ndarray]
    alike: float


@dataclass(frozen=True, eq=False)
class DecoyPairs:
    """Pairs of sources with decoys, from one-to-one matching.

    ``score (n,) float64`` is the probability by the model's verifier, ``features (n, f) float32``
    are :data:`~miner.scoring.verifier.FEATURES`; ``cosine (n,) float32`` and ``margin_ratio (n,)
    float64`` as in :class:`~miner.mining.pairs.Pairs`; ``source_row (n,) int64``; ``decoy (n,)
    int64`` are rows of the pool.
    """

    score: np.ndarray
    features: np.ndarray
    cosine: np.ndarray
    margin_ratio: np.ndarray
    source_row: np.ndarray
    decoy: np.ndarray

    def __len__(self) -> int:
        return len(self.score)

    def take(self, keep: np.ndarray) -> "DecoyPairs":
        """Return the pairs at these positions, or where a ``(n,)`` mask is true."""
        return DecoyPairs(*(getattr(self, field.name)[keep] for field in fields(self)))


def choose(found: Search, sentences: Sequence[str] | None = None) -> Decoys:
    """Choose the decoys of a search.

    ``sentences`` are those to choose among, in the target's language, none a translation of any
    source; by default those of the model in that language, as far as they resemble the targets.
    Raises :class:`~miner.errors.ResourceError` where there are too few.
    """
    assert found.verifier is not None and found.target_text is not None
    return choose_among(
        list(dict.fromkeys(of_model(found.verifier) if sentences is None else sentences)),
        found.target_text,
        found.sides[1].rows,
        found.verifier.encoder.tokenizer,
        thread_count(found.settings.threads),
        resembling=sentences is None,
    )


def choose_among(
    pool: list[str],
    targets: PreparedText,
    rows: np.ndarray,
    tokenizer: Tokenizer,
    threads: int,
    *,
    resembling: bool,
) -> Decoys:
    """Choose decoys among the distinct sentences ``pool``, as :func:`choose` does.

    ``targets`` are those of the index by ``tokenizer``, ``rows`` the distinct ones. With
    ``resembling`` only decoys with the vocabulary of the targets are chosen.
    """
    text = prepare(tokenizer, pool, threads)
    usable = np.flatnonzero((np.diff(text.offsets) > 0) & ~_among(text, targets))
    alike = _alike(targets, rows, text, usable, tokenizer.size)
    if resembling:
        usable = usable[alike]
    if len(rows) < FEWEST_TARGETS:
        raise ResourceError(
            f"only {len(rows)} different targets, too few to mix decoys in among; "
            "give a --threshold"
        )
    # A sample, whatever the order of the decoys.
    usable = np.random.default_rng(SEED).permutation(usable)[:DECOYS]
    draws = np.array_split(usable, -(-len(usable) // len(rows)) or 1)[:DRAWS]
    used = sum(map(len, draws))
    if used < FEWEST:
        why = "resemble the targets" if resembling else "are distinct, known, and no targets"
        raise ResourceError(
            f"only {used} decoys {why}; give at least {FEWEST} sentences of the target's "
            "language and domain (--decoys FILE), or a --threshold"
        )
    return Decoys(pool, text, draws, float(alike.mean()))


def of_model(verifier: Verifier) -> list[str]:
    """Return the model's decoys in the target's language; all of them if that is unknown."""
    model, language = verifier.encoder.model, verifier.languages[1]
    decoys = model.read_decoys(language)
    if not decoys and language is not None:
        raise ResourceError(
            f"the model has no decoys in {describe(language)}; give at least {FEWEST} sentences of "
            "it that translate no source (--decoys FILE), or a --threshold"
        )
    return decoys


def match(found: Search, decoys: Decoys) -> DecoyPairs:
    """Let each draw of decoys join the targets; return the pairs of those that are matched."""
    assert found.verifier is not None
    parts = []
    for chosen in decoys.draws:
        vectors = encoded(decoys, chosen, found.verifier).astype(found.sides[0].vectors.dtype)
        pairs = _compete(found, vectors, decoys.text.take(chosen))
        parts.append(replace(pairs, decoy=chosen[pairs.decoy]))
    return joined(parts)


def encoded(decoys: Decoys, chosen: np.ndarray, verifier: Verifier) -> np.ndarray:
    """Encode the decoys of one draw, ``(n, d) float32``."""
    text = decoys.text.take(chosen)
    sentences = [decoys.sentences[i] for i in chosen]
    encoder = verifier.encoder.on_side("target")
    return encoder.encode_pieces(text.ids, text.offsets, sentences)


def joined(parts: Sequence[DecoyPairs]) -> DecoyPairs:
    """Join the pairs of several draws."""
    columns = ([getattr(part, field.name) for part in parts] for field in fields(DecoyPairs))
    return DecoyPairs(*map(np.concatenate, columns))


def _compete(found: Search, vectors: np.ndarray, text: PreparedText) -> DecoyPairs:
    """Let one draw of decoys join the targets; return the pairs of those matched, by position.

    ``vectors (n, d)`` and ``text`` are those of the decoys. The logits of the search's own
    candidates are known, and only those of decoys are computed.
    """
    verifier, logits, source_text = found.verifier, found.logits, found.source_text
    assert verifier is not None and logits is not None and source_text is not None
    blocks, memory = _joined(found, vectors)
    first = len(found.backward)

    def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        logit = np.empty(len(source_row))
        new = target_row >= first
        logit[~new] = logits.of(source_row[~new], target_row[~new])
        logit[new] = verifier.pair_logits(
            source_text, text, source_row[new], target_row[new] - first
        )
        release(source_text)
        return logit

    chosen, _, context_of = choose_by_probability(
        blocks, found.settings.retrieval, verifier, logits_of, memory
    )
    chosen = chosen.take(chosen.target_row >= first)
    own = replace(chosen, target_row=chosen.target_row - first)
    columns = features(
        verifier,
        source_text,
        text,
        own,
        lambda pairs: context_of(replace(pairs, target_row=pairs.target_row + first)),
    )
    return DecoyPairs(
        chosen.score,
        columns,
        own.similarity,
        own.margin_ratio,
        own.source_row,
        own.target_row,
    )


def match_by_margin(
    found: Search, decoys: Decoys, vectors_of: Callable[[np.ndarray], np.ndarray]
) -> DecoyPairs:
    """Match as :func:`match` does, by margin alone; the score is the margin, without features.

    ``vectors_of`` returns the vectors ``(n, d)`` of rows of the pool.
    """
    first, parts = len(found.backward), []
    for chosen in decoys.draws:
        vectors = vectors_of(chosen).astype(found.sides[0].vectors.dtype)
        if vectors.shape[1] != found.sides[0].vectors.shape[1]:
            raise MismatchError(
                f"the decoys have vectors of {vectors.shape[1]} dimensions, the targets of "
                f"{found.sides[0].vectors.shape[1]}; encode both by one encoder"
            )
        blocks, _ = _joined(found, vectors)
        pairs = choose_by_margin(blocks, found.settings.retrieval)
        pairs = pairs.take(pairs.target_row >= first)
        parts.append(
            DecoyPairs(
                pairs.score,
                np.empty((len(pairs), 0), dtype=np.float32),
                pairs.similarity,
                pairs.margin_ratio,
                pairs.source_row,
                chosen[pairs.target_row - first],
            )
        )
    return joined(parts)


def _joined(found: Search, vectors: np.ndarray) -> tuple[CandidateBlocks, int]:
    """Return the candidates of a search when decoys ``(n, d)`` join the targets, after them.

    Also returned is the memory, in bytes, that further work may take.
    """
    decoys = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
    settings, first = found.settings, len(found.backward)
    assert settings.memory is not None
    # At least what its lists and small blocks take: the work is not to end here.
    memory = max(
        settings.memory - held_bytes((len(found.forward), first), settings.neighbors),
        (20 * settings.neighbors + 100) * (len(found.forward) + len(vectors)) + DECOY_SEARCH,
    )
    # Without a compressed index of the sources: the neighbours of decoys are to be exact.
    exhaustive = "fused" if settings.engine == "hybrid" else settings.engine
    forward, backward = nearest_both(
        replace(found.sides[0], ann=None),
        decoys,
        replace(settings, memory=memory, engine=exhaustive),
    )
    both = Neighbors(
        np.concatenate([found.backward.similarity, backward.similarity]),
        np.concatenate([found.backward.row, backward.row]),
    )
    lists = merged_lists(found.forward, forward, first)
    return CandidateBlocks(lists, both, settings.margin), memory


def merged_lists(lists: Neighbors, more: Neighbors, first: int) -> Neighbors:
    """Merge lists into the k nearest of both, in place of ``more``.

    Row ``i`` of the lists of ``more`` becomes ``first + i``.
    """
    k = lists.row.shape[1]
    for start in range(0, len(lists), BLOCK):
        part = slice(start, start + BLOCK)
        new = more.row[part]
        row = np.concatenate([lists.row[part], np.where(new >= 0, new + first, -1)], axis=1)
        similarity = np.concatenate([lists.similarity[part], more.similarity[part]], axis=1)
        similarity = np.where(row >= 0, similarity, -np.inf)
        order = np.lexsort((row, -similarity), axis=1)[:, :k]
        more.similarity[part] = np.take_along_axis(similarity, order, axis=1)
        more.row[part] = np.take_along_axis(row, order, axis=1)
    return more


def _among(decoys: PreparedText, targets: PreparedText) -> np.ndarray:
    """Return a ``(n,) bool`` mask of the decoys that have the token ids of a target."""
    wanted = list(_keys(decoys, 0, len(decoys)))
    own, found = set(wanted), set()
    for start in range(0, len(targets), BLOCK):
        found |= own.intersection(_keys(targets, start, min(start + BLOCK, len(targets))))
        release(targets)
    return np.array([key in found for key in wanted], dtype=bool)


def _keys(text: PreparedText, start: int, end: int) -> Iterator[bytes]:
    """Yield the token ids of the sentences from ``start`` to ``end`` as bytes."""
    offsets = text.offsets[start : end + 1]
    ids = np.asarray(text.ids[offsets[0] : offsets[-1]]).tobytes()
    edges = ((offsets - offsets[0]) * text.ids.itemsize).tolist()
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        yield ids[first:last]


def _alike(
    targets: PreparedText, rows: np.ndarray, decoys: PreparedText, usable: np.ndarray, size: int
) -> np.ndarray:
    """Return a ``(m,) bool`` mask of the ``usable`` decoys with the vocabulary of the targets.

    The likelihood of a sentence is the mean log frequency of its tokens among the targets, without
    its own occurrences. Decoys less likely than all but a few targets are of another language, or
    of a domain with other words.
    """
    count = np.zeros(size, dtype=np.int64)
    for start in range(0, len(targets.ids), IDS):
        count += np.bincount(targets.ids[start : start + IDS], minlength=size)
        release(targets)

    def likelihood(text: PreparedText, rows: np.ndarray, own: int) -> np.ndarray:
        out = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            lengths = text.offsets[rows[part] + 1] - text.offsets[rows[part]]
            ids, offsets = take_lists(text.ids, text.offsets, rows[part])
            logs = np.log(np.maximum(count[ids] - own, 0) + 0.5)
            owner = np.repeat(np.arange(len(lengths)), lengths)
            out[part] = np.bincount(owner, logs, minlength=len(lengths))
            out[part] /= np.maximum(lengths, 1)
            release(text)
        return out

    return likelihood(decoys, usable, 0) >= np.quantile(likelihood(targets, rows, 1), UNLIKE)
