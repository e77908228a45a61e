"""Plain references of the compiled kernels: the same results in numpy and Python, for tests.

Each takes the arguments of its kernel, with lists in place of flat arrays where that is simpler.
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from miner.encoder.lexicon import Lexicon
from miner.kernels.aligned import BINS, DISTANCE, EVIDENCE, LOWEST, PER_MATCH, PER_NAT
from miner.kernels.dots import cosines
from miner.kernels.fused import UP, Pack
from miner.kernels.hidden_markov import (
    COSINES,
    EVIDENCES,
    FLOOR,
    LEAST,
    PER_COSINE,
    PER_EVIDENCE,
    REACH,
)
from miner.kernels.long_texts import ORDER_PART, ORDER_REACH, windows
from miner.kernels.ngrams import END, START
from miner.kernels.tokens import COLUMNS, EMPTY, FEWEST, LONGEST, MATCHED, NEAR, ORDER_COLUMNS


def similarity_reference(rows: Pack, columns: Pack) -> np.ndarray:
    """The whole similarity matrix of :func:`miner.kernels.fused.merge`, ``(n, m) float32``."""
    left, right = (
        part.tiles.astype(np.int64).transpose(0, 2, 1, 3).reshape(len(part.scale), -1)
        for part in (rows, columns)
    )
    product = (left @ (right - UP).T).astype(np.float32)
    return (product * columns.scale * rows.scale[:, None])[: rows.count, : columns.count]


def rescore_reference(queries: np.ndarray, base: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Similarities by :func:`miner.kernels.exact.rescore`."""
    out = np.full(rows.shape, -np.inf, dtype=np.float32)
    for i, j in zip(*np.nonzero(rows >= 0), strict=True):
        out[i, j] = queries[i].astype(np.float64) @ base[rows[i, j]].astype(np.float64)
    return out


def scan_reference(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Lists of :func:`miner.kernels.exact.scan` from empty ones."""
    exact = (queries.astype(np.float64) @ base.astype(np.float64).T).astype(np.float32)
    row = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(exact, row, axis=1), row


def retrieve_reference(
    queries: list[list[int]],
    base: list[list[int]],
    lexicon: dict[int, dict[int, float]],
    parameters: tuple[float, float, int],
    common: float,
    width: int,
) -> list[list[int]]:
    """Positions that :class:`miner.knn.postings.Postings` retrieves for each query.

    ``parameters`` are the weight of a token itself, the least probability and the budget.
    """
    own, probable, budget = parameters
    holders: dict[int, list[int]] = {}
    for j, tokens in enumerate(base):
        for y in sorted(set(tokens)):
            holders.setdefault(y, []).append(j)
    most = max(1, common * len(base))
    holders = {y: found for y, found in holders.items() if len(found) <= most}
    idf = {y: np.float32(np.log(len(base) / len(found))) for y, found in holders.items()}
    idf = {y: value for y, value in idf.items() if value}
    inverse = []
    for tokens in base:
        total = sum(float(idf[y]) ** 2 for y in dict.fromkeys(tokens) if y in idf)
        inverse.append(np.float32(1 / np.sqrt(total)) if total else np.float32(0))
    result = []
    for tokens in queries:
        weight: dict[int, np.float32] = {}
        for x in dict.fromkeys(tokens):
            asked = [(x, own)]
            asked += [(y, p) for y, p in sorted(lexicon.get(x, {}).items()) if p >= probable]
            for y, share in asked:
                if y in idf:
                    weight[y] = np.float32(weight.get(y, np.float32(0)) + np.float32(share))
        left, score = budget, {}
        for y in sorted(weight, key=lambda y: (len(holders[y]), y)):
            left -= len(holders[y])
            if left < 0:
                break
            share = np.float32(np.float32(weight[y] * idf[y]) * idf[y])
            for j in holders[y]:
                score[j] = np.float32(score.get(j, np.float32(0)) + share)
        value = {j: np.float32(total * inverse[j]) for j, total in score.items()}
        result.append(sorted(value, key=lambda j: (-value[j], j))[:width])
    return result


def mean_pool_reference(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Unit vectors by :func:`miner.kernels.pool.mean_pool`, in double precision."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float64)
    for row in range(len(out)):
        own = ids[offsets[row] : offsets[row + 1]]
        total = (table[own].astype(np.float64) * scales[own, None]).sum(axis=0)
        norm = np.sqrt(total @ total)
        if norm > 0:
            out[row] = total / norm
    return out


def mean_rows_reference(table: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Means by :func:`miner.kernels.pool.mean_rows`."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float32)
    for i in range(len(out)):
        if offsets[i + 1] > offsets[i]:
            out[i] = table[ids[offsets[i] : offsets[i + 1]]].mean(axis=0)
    return out


def dropout_mask_reference(places: np.ndarray, dimension: int, seed: int, cut: int) -> np.ndarray:
    """Factors by :func:`miner.kernels.embed.dropout_mask`, with whole numbers of Python."""
    blocks, most = -(-dimension // 4), (1 << 64) - 1
    out = np.zeros((len(places), dimension), dtype=np.float32)
    for i, place in enumerate(places.tolist()):
        for j in range(dimension):
            x = (seed + (place * blocks + j // 4 + 1) * 0x9E3779B97F4A7C15) & most
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & most
            x = (x ^ x >> 27) * 0x94D049BB133111EB & most
            if ((x ^ x >> 31) >> 16 * (j % 4)) & 0xFFFF >= cut:
                out[i, j] = 1 / (1 - cut / 65536)
    return out


def scale_both_reference(
    matrix: np.ndarray, by_row: np.ndarray, by_column: np.ndarray
) -> np.ndarray:
    """The matrix after :func:`miner.kernels.embed.scale_both`."""
    return matrix * (by_row[:, None] + by_column[None, :])


def model1_reference(
    left: list[list[int]], right: list[list[int]], size: int, frequency: np.ndarray, iterations: int
) -> np.ndarray:
    """Translation table of :mod:`miner.kernels.model1`, dense: ``(size, size) float64``."""
    table = np.zeros((size, size))
    for a, b in zip(left, right, strict=True):
        table[np.ix_(a, b)] = 1.0
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
    for _ in range(iterations):
        counts = np.zeros_like(table)
        for a, b in zip(left, right, strict=True):
            block = table[np.ix_(a, b)]
            counts[np.ix_(a, b)] += block / (frequency[b] + block.sum(axis=0))
        table = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-30)
    return table


def segment_reference(
    text: Sequence[int],
    pieces: dict[tuple[int, ...], int],
    scores: np.ndarray,
    mark: int,
    dropped: int,
) -> list[int]:
    """Ids of one sentence by :func:`miner.kernels.unigram.segment`, of its characters' numbers."""
    words: list[list[int]] = []
    for character in text:
        if character == mark or not words:
            words.append([])
        words[-1].append(character)
    found, total, longest = [], np.float32(0), max(map(len, pieces))
    for word in words:
        best = [total] + [np.float32(-np.inf)] * len(word)
        last = [(0, 0)] * (len(word) + 1)  # begin and id of the last piece
        for begin in range(len(word)):
            for end in range(begin + 1, min(begin + longest, len(word)) + 1):
                piece = pieces.get(tuple(word[begin:end]))
                if piece is not None and scores[piece] + best[begin] > best[end]:
                    best[end], last[end] = scores[piece] + best[begin], (begin, piece)
            if scores[0] + best[begin] > best[begin + 1]:
                best[begin + 1], last[begin + 1] = scores[0] + best[begin], (begin, 0)
        total, own, end = best[-1], [], len(word)
        while end > 0:
            end, piece = last[end]
            own.append(piece)
        found += [piece for piece in reversed(own) if piece not in (0, dropped)]
    return found


def trigrams_reference(sentence: str, vocabulary: dict[str, int]) -> list[int]:
    """Trigram ids of one sentence by :func:`miner.kernels.units.trigrams`."""
    padded = f" {sentence} "
    return [vocabulary.get(padded[i : i + 3], -1) for i in range(len(sentence))]


# Separators of thousands: space, no-break space, narrow no-break space, apostrophes.
_GROUP = "[ \u00a0\u202f'\u2019]"
_NUMBER = re.compile(
    rf"(?<!\d)\d{{1,3}}(?:{_GROUP}[0-9]{{3}}(?!\d))+(?:[.,٫٬]\d+)*|\d+(?:[.,٫٬]\d+)*"
)
_MASK = (1 << 64) - 1


def find_numbers_reference(sentence: str) -> list[int]:
    """Numbers of one sentence by :func:`miner.kernels.numbers.find_numbers`."""
    found = (re.sub(r"\D", "", match) for match in _NUMBER.findall(sentence))
    return sorted({int(digits) & _MASK for digits in found})


def shared_numbers_reference(
    source: list[list[int]], target: list[list[int]], rows: list[tuple[int, int]]
) -> list[int]:
    """Counts by :func:`miner.kernels.numbers.shared_numbers`."""
    return [len(set(source[s]) & set(target[t])) for s, t in rows]


def naive_bayes_reference(texts, move, row, out, table, prior):
    """Scores by :func:`miner.kernels.naive_bayes.naive_bayes`, for a list of bytes objects."""
    scores = np.empty((len(texts), len(prior)), dtype=np.float32)
    for i, text in enumerate(texts):
        state, found = 0, []
        for byte in text:
            state = move[row[state] * 256 + byte]
            if out[state] >= 0:
                found.append(out[state])
        features, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        scores[i] = np.log1p(counts) @ table[features].astype(np.float64) + prior
    return scores


def surprise_reference(sentences, words, pairs, triples):
    """Log probability of every word and of the end, for each of ``sentences`` (lists of ids).

    :func:`miner.kernels.ngrams.surprise` returns their negative mean.
    """

    def entries(slots, places):
        both = zip(slots.tolist(), places.tolist(), strict=True)
        return {(key >> 32, key & 0xFFFFFFFF): place for key, place in both if place >= 0}

    word_log, word_backoff = words
    pair_place, (pair_log, pair_backoff) = entries(*pairs[:2]), pairs[2:]
    triple_place, triple_log = entries(*triples[:2]), triples[2]

    def log(first, second, third):
        context = pair_place.get((first, second))
        if (context, third) in triple_place:
            return triple_log[triple_place[context, third]]
        seen = pair_place.get((second, third))
        lower = word_backoff[second] + word_log[third] if seen is None else pair_log[seen]
        return lower if context is None else pair_backoff[context] + lower

    padded = ([START, START, *sentence, END] for sentence in sentences)
    return [[log(*line[i - 2 : i + 1]) for i in range(2, len(line))] for line in padded]


def compared(a, b):
    """Mask ``(n, m)`` of the position pairs that are compared: all, or windows of long texts."""
    if max(len(a), len(b)) <= LONGEST:
        return np.ones((len(a), len(b)), dtype=bool)
    mask = np.zeros((len(a), len(b)), dtype=bool)
    for own, others in windows(len(a), len(b)):
        mask[own, others] = True
    return mask


def compare_reference(source, target, rows, codes, scale, weight, frequency, lexicon):
    """Features by :func:`miner.kernels.tokens.compare`, for lists of token ids."""
    offsets, pieces, probability = lexicon
    table = np.zeros((len(weight), len(weight)))
    for piece in range(len(weight)):
        span = slice(offsets[piece], offsets[piece + 1])
        table[piece, pieces[span]] = probability[span]
    information = -np.log(frequency)
    out = np.zeros((len(rows), COLUMNS))
    for number, (s, t) in enumerate(rows):
        a, b = source[s], target[t]
        if not len(a) or not len(b):
            continue
        mask = compared(a, b)
        similarity = np.where(mask, cosines(codes, scale, a, b), -np.inf)
        for side, (own, other, values, near) in enumerate(
            [(a, b, similarity, mask), (b, a, similarity.T, mask.T)]
        ):
            best = np.where(near.any(axis=1), values.max(axis=1), 0)
            total = (table[np.ix_(other, own)].T * near).sum(axis=1)
            heavy, rare = weight[own], information[own]
            out[number, side] = (heavy * best).sum() / heavy.sum()
            out[number, 2 + side] = heavy[best < MATCHED].sum() / heavy.sum()
            chance = total / np.maximum(near.sum(axis=1), 1) + EMPTY * frequency[own]
            out[number, 4 + side] = np.log(chance / ((1 + EMPTY) * frequency[own])).mean()
            out[number, 6 + side] = (rare * np.minimum(total, 1)).sum() / rare.sum()
        shared = (mask & np.equal.outer(a, b)).any(axis=1)
        out[number, 8] = information[a][shared].sum() / information[a].sum()
    return out


def order_reference(source, target, codes, scale, weight):
    """Features of order by :func:`miner.kernels.tokens.compare`, ``(n, 4)``, for lists of ids."""
    out = np.ones((len(source), ORDER_COLUMNS))
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        if not len(a) or not len(b):
            continue
        a, b = np.array(a), np.array(b)
        parts = [(slice(0, len(a)), slice(0, len(b)))]
        if max(len(a), len(b)) > LONGEST:
            parts = windows(len(a), len(b), ORDER_PART, ORDER_REACH)
        rows = np.array(
            [_order_of_part(a[own], b[other], codes, scale, weight) for own, other in parts]
        )
        for column in range(4):
            share = [part[column % 2].stop - part[column % 2].start for part in parts]
            out[number, column] = np.average(rows[:, column], weights=share)
    return out


def _order_of_part(a, b, codes, scale, weight):
    row = np.ones(ORDER_COLUMNS)
    if not len(a) or not len(b):
        return row
    similarity = cosines(codes, scale, a, b)
    for side, (own, table) in enumerate(((a, similarity), (b, similarity.T))):
        place, matched = table.argmax(axis=1), table.max(axis=1) >= MATCHED
        both = matched[1:] & matched[:-1]
        heavy = np.minimum(weight[own][1:], weight[own][:-1]) * both
        if heavy.sum() > 0:
            near = np.abs(np.diff(place)) <= NEAR
            row[side] = (heavy * near).sum() / heavy.sum()
        rank, found = np.arange(matched.sum()), place[matched]
        if len(found) >= FEWEST and found.std() > 0:
            row[2 + side] = np.corrcoef(rank, found)[0, 1]
    return row


def related_reference(
    source: list[int],
    target: list[int],
    table: tuple[np.ndarray, ...],
    lexicon: Lexicon,
) -> tuple[np.ndarray, ...]:
    """Cosines, evidence and translation probabilities of all pairs of tokens, ``(n, m)`` each."""
    codes, scale, _, frequency = table
    n, m = len(source), len(target)
    similar = cosines(codes, scale, np.array(source), np.array(target)).astype(np.float64)
    forward, backward = np.zeros((n, m)), np.zeros((n, m))
    for i, j in np.ndindex(n, m):
        for matrix, one, other in (
            (forward, source[i], target[j]),
            (backward, target[j], source[i]),
        ):
            found = dict(zip(*(part.tolist() for part in lexicon.translations(one)), strict=True))
            matrix[i, j] = found.get(other, 0.0)
    chance = np.maximum(forward / frequency[target], backward / frequency[source][:, None])
    return similar, np.log1p(chance) / EVIDENCE, forward, backward


def matches_reference(
    source: list[int],
    target: list[int],
    partners: np.ndarray,
    related: tuple[np.ndarray, ...],
    matching: tuple[tuple[np.ndarray, ...], np.ndarray],
) -> np.ndarray:
    """Last numbers of the tokens of one pair by :func:`miner.kernels.aligned.describe`.

    ``partners (n + m,)`` are positions of the counterparts, ``related`` is from
    :func:`related_reference`.
    """
    (emission, jump, unaligned), surprise = matching
    own = emissions_reference(source, target, related[0].T, related[1].T, emission)  # (m, n)
    forward, backward = (
        alignments_reference(given, jump.astype(np.float64), float(unaligned[0]))
        for given in (own, own.T)
    )
    both, n = forward[1] * backward[1].T, len(source)
    likelihood = np.concatenate([backward[0], forward[0]])
    best = np.concatenate([both.max(axis=0), both.max(axis=1)])
    chosen = [both[j, i] for i, j in enumerate(partners[:n])]
    chosen += [both[j, i] for j, i in enumerate(partners[n:])]
    columns = np.log(np.stack([likelihood, best + FLOOR, np.array(chosen) + FLOOR], axis=1))
    bins = ((columns[:, 0] + columns[:, 1] - LOWEST) * PER_MATCH).clip(0, BINS - 1).astype(int)
    nats = surprise[[*source, *target], bins] / PER_NAT
    return np.column_stack([columns, nats])


def emissions_reference(
    a: Sequence[int],
    b: Sequence[int],
    cosine: np.ndarray,
    evidence: np.ndarray,
    emission: np.ndarray,
) -> np.ndarray:
    """Emissions of the tokens of ``b (m,)`` at those of ``a (n,)``, whose tables are ``(m, n)``."""
    row = np.trunc((cosine - LEAST) * PER_COSINE).clip(0, COSINES - 2).astype(int)
    row[np.asarray(b)[:, None] == np.asarray(a)] = COSINES - 1
    column = np.trunc(1 + evidence * PER_EVIDENCE).clip(1, EVIDENCES - 1).astype(int)
    return emission[row, np.where(evidence > 0, column, 0)].astype(np.float64)


def aligned_reference(
    source: list[int],
    target: list[int],
    table: tuple[np.ndarray, ...],
    related: tuple[np.ndarray, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids, counterparts and first numbers of one pair by :func:`miner.kernels.aligned.describe`."""
    _, _, weight, frequency = table
    similar, evidence, forward, backward = related
    n, m = len(source), len(target)
    left, right = (np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m
    score = similar + evidence - DISTANCE * np.abs(left[:, None] - right)
    ids, numbers, partners = [], [], []
    for own, others, place, there, value, cosine, known, given in (
        (source, target, left, right, score, similar, evidence, (forward, backward)),
        (target, source, right, left, score.T, similar.T, evidence.T, (backward.T, forward.T)),
    ):
        partner, back = value.argmax(axis=1), value.argmax(axis=0)
        partners += partner.tolist()
        match = [max(cosine[i, partner[i]], known[i, partner[i]]) for i in range(len(own))]
        for i, token in enumerate(own):
            j = partner[i]
            rest = np.delete(value[i], j)
            gap = value[i, j] - rest.max() if len(rest) else np.inf
            last = i + 1 == len(own)
            ids.append([token, others[j], own[i - 1] if i else -1, -1 if last else own[i + 1]])
            numbers.append(
                [
                    cosine[i, j],
                    known[i, j],
                    given[0][i, j],
                    given[1][i, j],
                    token == others[j],
                    there[j] - place[i],
                    abs(there[j] - place[i]),
                    back[j] == i,
                    min((partner == j).sum() - 1, 3) / 3,
                    min(gap, 1.0),
                    0.0 if last else np.clip(partner[i + 1] - j, -3, 3) / 3,
                    cosine[i].max(),
                    known[i].max(),
                    weight[token],
                    -np.log(frequency[token]) / EVIDENCE,
                    min(given[0][i].sum(), 1.0),
                    match[i - 1] if i else 1.0,
                    1.0 if last else match[i + 1],
                ]
            )
    return np.array(ids), np.array(partners), np.array(numbers)


def alignments_reference(
    emission: np.ndarray, jump: np.ndarray, unaligned: float
) -> tuple[np.ndarray, np.ndarray]:
    """Likelihoods ``(m,)`` and posteriors ``(m, n)`` of :mod:`miner.kernels.hidden_markov`.

    ``emission (m, n)`` are those of all tokens at all positions. Every sequence of positions is
    weighed, with each token aligned or not.
    """
    m, n = emission.shape
    distance = np.arange(n) - np.arange(n)[:, None]  # jump from the row's position to the column's
    near = np.abs(distance) <= REACH
    moves = np.where(near, jump[distance.clip(-REACH, REACH) + REACH], 0) + jump[-1] / n
    moves /= moves.sum(axis=1, keepdims=True)
    totals, posterior = [1.0], np.zeros((m, n))
    for length in range(1, m + 1):
        total = 0.0
        for path in itertools.product(itertools.product(range(n), (True, False)), repeat=length):
            weight, before = 1.0, None
            for j, (position, aligned) in enumerate(path):
                if before is None:
                    weight /= n
                elif aligned:
                    weight *= moves[before, position]
                else:
                    weight *= position == before
                weight *= (1 - unaligned) * emission[j, position] if aligned else unaligned
                before = position
            total += weight
            for j, (position, aligned) in enumerate(path):
                posterior[j, position] += weight * aligned * (length == m)
        totals.append(total)
    return np.divide(totals[1:], totals[:-1]), posterior / totals[-1]
