"""Decoys: sentences that translate no source, added to the targets of a search.

Decoys compete with the targets for the same sources: they are scored by the same margins and
verifier, and matched one to one. A matched decoy represents wrong pairs: see
:mod:`miner.precision.estimate`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from miner.arrays import Columns
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ResourceError
from miner.knn.neighbors import Neighbors
from miner.ragged import take_lists
from miner.scoring.margin import Candidates
from miner.scoring.pair_features import TokenizedText, tokenize_text
from miner.scoring.verification import release
from miner.scoring.verifier import Verifier
from miner.text.language_codes import describe
from miner.text_table import count_of

# Decoys in total, and maximum draws; a draw has at most as many decoys as targets, because more
# would crowd each other out.
DECOYS, DRAWS = 20_000, 32
# Minimum number of decoys, and of targets, for an estimate.
FEWEST, FEWEST_TARGETS = 500, 50
SEED = 1
# Quantile of the targets' likelihoods below which a decoy is dropped, and minimum number of decoys
# to keep: each of few represents many wrong pairs (benchmarks/LOG.md).
UNLIKE, STAY = 0.05, 2000
# Sentences whose token ids, or neighbours, are compared at a time; token ids counted at a time.
BLOCK, IDS = 16_384, 1 << 20


@dataclass(frozen=True, eq=False)
class Decoys:
    """Pool of decoys and their draws.

    ``text`` and ``sentences`` are the pool, ``draws`` lists of its rows. ``alike`` is the share of
    the pool with the vocabulary of the targets.
    """

    sentences: list[str]
    text: TokenizedText
    draws: list[np.ndarray]
    alike: float


@dataclass(frozen=True, eq=False)
class DecoyPairs(Columns):
    """Pairs of sources with decoys, from one-to-one matching.

    ``score (n,) float64`` is the probability by the model's verifier, ``features (n, f) float32``
    are :data:`~miner.scoring.verifier.FEATURES`; ``cosine (n,) float32`` and ``margin_ratio (n,)
    float64`` as in :class:`~miner.scoring.pairs.Pairs`; ``source_row (n,) int64``; ``decoy (n,)
    int64`` are rows of the pool. ``second (n,) float64`` are the log-odds added by the second
    opinion, NaN for pairs that it did not read.
    """

    score: np.ndarray
    features: np.ndarray
    cosine: np.ndarray
    margin_ratio: np.ndarray
    source_row: np.ndarray
    decoy: np.ndarray
    second: np.ndarray

    @classmethod
    def of(
        cls,
        pairs: Candidates,
        features: np.ndarray,
        decoy: np.ndarray,
        second: np.ndarray | None = None,
    ) -> "DecoyPairs":
        """Return decoy pairs: the targets are rows ``decoy (n,)`` of the pool, or of the corpus
        in a knock-out.
        """
        return cls(
            pairs.score,
            features,
            pairs.similarity,
            pairs.margin_ratio,
            pairs.source_row,
            decoy,
            np.full(len(pairs), np.nan) if second is None else second,
        )


def choose_among(
    pool: list[str],
    targets: TokenizedText,
    rows: np.ndarray,
    tokenizer: Tokenizer,
    threads: int,
    *,
    resembling: bool,
) -> Decoys:
    """Choose decoys among the distinct sentences ``pool``, none a translation of any source.

    ``targets`` are the sentences of the index by ``tokenizer``, ``rows`` the distinct ones.
    ``resembling`` selects decoys with the vocabulary of the targets, and the likeliest others if
    there are few. Raises :class:`~miner.errors.ResourceError` if there are too few decoys.
    """
    if len(rows) < FEWEST_TARGETS:
        raise ResourceError(
            f"only {count_of(len(rows), 'different target')}, too few to mix decoys in among; "
            "give a --threshold"
        )
    text = tokenize_text(tokenizer, pool, threads)
    usable = np.flatnonzero((np.diff(text.offsets) > 0) & ~_among(text, targets))
    likelihood, least = _likelihoods(targets, rows, text, usable, tokenizer.size)
    alike = likelihood >= least
    if resembling:
        count = int(alike.sum())
        order = np.argsort(-likelihood, kind="stable")
        usable = usable[np.sort(order[: max(count, STAY) if count >= FEWEST else count])]
    # A random sample, whatever the order of the decoys.
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
    """Return the model's decoys in the target's language; all of them if it is unknown."""
    model, language = verifier.encoder.model, verifier.languages[1]
    decoys = model.read_decoys(language)
    if not decoys and language is not None:
        raise ResourceError(
            f"the model has no decoys in {describe(language)}; give at least {FEWEST} sentences of "
            "it that translate no source (--decoys FILE), or a --threshold"
        )
    return decoys


def encoded(decoys: Decoys, chosen: np.ndarray, verifier: Verifier) -> np.ndarray:
    """Encode the decoys of a draw, ``(n, d) float32``."""
    text = decoys.text.take(chosen)
    sentences = [decoys.sentences[i] for i in chosen]
    encoder = verifier.encoder.on_side("target")
    return encoder.encode_pieces(text.ids, text.offsets, sentences)


def merged_lists(lists: Neighbors, more: Neighbors, first: int) -> Neighbors:
    """Merge two sets of lists into the k nearest of both.

    Row ``i`` in the lists of ``more`` becomes ``first + i``.
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


def _among(decoys: TokenizedText, targets: TokenizedText) -> np.ndarray:
    """Return a ``(n,) bool`` mask of the decoys that have the token ids of a target."""
    wanted = list(_keys(decoys, 0, len(decoys)))
    decoy_keys, shared = set(wanted), set()
    for start in range(0, len(targets), BLOCK):
        shared |= decoy_keys.intersection(_keys(targets, start, min(start + BLOCK, len(targets))))
        release(targets)
    return np.array([key in shared for key in wanted], dtype=bool)


def _keys(text: TokenizedText, start: int, end: int) -> Iterator[bytes]:
    """Yield the token ids of the sentences from ``start`` to ``end`` as bytes."""
    offsets = text.offsets[start : end + 1]
    ids = np.asarray(text.ids[offsets[0] : offsets[-1]]).tobytes()
    edges = ((offsets - offsets[0]) * text.ids.itemsize).tolist()
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        yield ids[first:last]


def _likelihoods(
    targets: TokenizedText, rows: np.ndarray, decoys: TokenizedText, usable: np.ndarray, size: int
) -> tuple[np.ndarray, float]:
    """Return the likelihoods ``(m,)`` of the ``usable`` decoys among the targets, and the minimum.

    The likelihood of a sentence is the mean log frequency of its tokens in the other targets. The
    minimum is the quantile `UNLIKE` of the targets. Decoys below it are of another language, or of
    a domain with other words.
    """
    count = np.zeros(size, dtype=np.int64)
    for start in range(0, len(targets.ids), IDS):
        count += np.bincount(targets.ids[start : start + IDS], minlength=size)
        release(targets)

    def likelihood(text: TokenizedText, rows: np.ndarray, own: int) -> np.ndarray:
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

    least = float(np.quantile(likelihood(targets, rows, 1), UNLIKE))
    return likelihood(decoys, usable, 0), least
