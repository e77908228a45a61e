"""The comparer: its kernel agrees with a reference; a logit depends on the pair only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import alignments_reference, emissions_reference
from support.tokens import flat

from miner.encoder.lexicon import Lexicon
from miner.encoder.part import EncoderPart
from miner.errors import ArtifactError
from miner.kernels import library
from miner.kernels.aligned import (
    BINS,
    COLUMNS,
    DISTANCE,
    EVIDENCE,
    LOWEST,
    MOST,
    PER_MATCH,
    PER_NAT,
)
from miner.kernels.aligned import SURPRISE as SURPRISE_COLUMN
from miner.kernels.dots import cosines
from miner.kernels.hidden_markov import COSINES, EVIDENCES, FLOOR, JUMPS
from miner.ragged import offsets_of
from miner.scoring.comparer import (
    ALIGNER,
    ARRAYS,
    SURPRISE,
    Comparer,
    check_arrays,
    describe_pairs,
    matching_of,
)
from miner.scoring.pair_features import TokenTable

TOKENS = 14
# Sizes of a token's vector and of a hidden layer.
SIZE, HIDDEN = 5, 7


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
        alignments_reference(table, jump.astype(np.float64), float(unaligned[0]))
        for table in (own, own.T)
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
    for own, others, place, there, value, cosine, known, probability in (
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
                    probability[0][i, j],
                    probability[1][i, j],
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
                    min(probability[0][i].sum(), 1.0),
                    match[i - 1] if i else 1.0,
                    1.0 if last else match[i + 1],
                ]
            )
    return np.array(ids), np.array(partners), np.array(numbers)


def knowledge(seed: int, tokens: int = TOKENS) -> TokenTable:
    """Draw an embedding, and a lexicon with about a third of all pairs."""
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(tokens, 6)).astype(np.float32)
    table[1] = 0
    listed = generator.random((tokens, tokens)) < 0.3
    row, column = np.nonzero(listed)
    probability = generator.uniform(0.01, 1, len(row)).astype(np.float32)
    frequency = generator.uniform(0.001, 0.2, tokens).astype(np.float32)
    lexicon = Lexicon(
        offsets_of(listed.sum(axis=1)), column.astype(np.int32), probability, frequency
    )
    return TokenTable(EncoderPart(table), lexicon)


def network(seed: int, tokens: int = TOKENS) -> dict[str, np.ndarray]:
    """Draw the arrays of a comparer, with an aligner and a table of match quantiles."""
    generator = np.random.default_rng(seed)
    shapes = [
        (tokens, SIZE),
        (COLUMNS + 6 * SIZE, HIDDEN),
        (HIDDEN,),
        (4 * HIDDEN + 2, HIDDEN),
        (HIDDEN,),
        (HIDDEN,),
        (1,),
    ]
    arrays = {
        name: generator.normal(scale=0.3, size=shape).astype(np.float32)
        for name, shape in zip(ARRAYS, shapes, strict=True)
    }
    return {
        **arrays,
        "emission": generator.uniform(0.1, 9, (COSINES, EVIDENCES)).astype(np.float32),
        "jump": generator.dirichlet(np.ones(JUMPS)).astype(np.float32),
        "unaligned": np.array([0.2], np.float32),
        SURPRISE: generator.integers(0, 256, (tokens, BINS)).astype(np.uint8),
    }


tokens = st.integers(0, TOKENS - 1)
sentence = st.lists(tokens, min_size=1, max_size=3) | st.lists(tokens, min_size=1, max_size=12)


@pytest.mark.parametrize("level", library.levels())
@settings(deadline=None)
@given(st.lists(st.tuples(sentence, sentence), min_size=1, max_size=5), st.integers(0, 99))
def test_the_kernels_agree_with_the_reference(level, pairs, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "level", lambda: level)
        check_kernels(pairs, seed)


def check_kernels(pairs, seed):
    table, arrays = knowledge(seed), network(seed)
    sides = [flat([pair[side] for pair in pairs]) for side in range(2)]
    matching = matching_of(arrays)
    starts, ids, numbers = describe_pairs(table, matching, *sides)
    rows = np.arange(len(pairs))
    comparer = Comparer(arrays, table)
    surprise, logits = comparer.compare(*sides, rows, rows).T
    whole = table.codes, table.scale, table.weight, table.lexicon.frequency
    for row, (source, target) in enumerate(pairs):
        span = slice(starts[row], starts[row + 1])
        related = related_reference(source, target, whole, table.lexicon)
        expected_ids, partners, expected = aligned_reference(source, target, whole, related)
        # Ties of float32 scores may be broken differently, also between positions of one token.
        distinct = all(len(set(side)) == len(side) for side in (source, target))
        if distinct and (ids[span] == expected_ids).all():
            np.testing.assert_allclose(numbers[span, :18], expected, atol=2e-5)
            if max(len(source), len(target)) <= 3:  # the reference enumerates all alignments
                matches = matches_reference(source, target, partners, related, matching)
                np.testing.assert_allclose(numbers[span, 18:], matches, atol=2e-3)
        compared = comparer.compared(ids[span], numbers[span])
        parts = compared[: len(source)], compared[len(source) :]
        expected_logit = comparer.pooled(*parts, (len(source), len(target)))
        assert logits[row] == pytest.approx(expected_logit, abs=2e-4)
        sides_of = np.split(numbers[span, SURPRISE_COLUMN], [len(source)])
        means = [side.mean() for side in sides_of]
        assert surprise[row] == pytest.approx(np.mean(means), rel=1e-5)


def test_a_logit_depends_on_the_pair_alone():
    table, arrays = knowledge(1), network(1)
    generator = np.random.default_rng(2)
    lists = [generator.integers(0, TOKENS, generator.integers(0, 9)).tolist() for _ in range(600)]
    text, comparer, rows = flat(lists), Comparer(arrays, table), np.arange(600)
    together = comparer.compare(text, text, rows, rows[::-1])
    for row in (0, 255, 256, 599):
        alone = comparer.compare(text, text, rows[row : row + 1], rows[::-1][row : row + 1])
        np.testing.assert_array_equal(alone[0], together[row])
    empty = [not lists[row] or not lists[-1 - row] for row in rows]
    assert any(empty) and (together[empty] == 0).all() and (together[np.invert(empty)] != 0).all()


def test_only_the_beginning_of_a_very_long_text_is_compared():
    table, arrays = knowledge(3), network(3)
    line = np.random.default_rng(3).integers(0, TOKENS, MOST + 50).tolist()
    texts = [flat([line]), flat([line[:MOST]])]
    first = np.zeros(1, dtype=np.int64)
    both = [Comparer(arrays, table).compare(text, text, first, first)[0] for text in texts]
    np.testing.assert_array_equal(*both)
    left, right = Comparer(arrays, table).objections(np.array(line), np.array(line[:3]))
    assert left[:MOST].any() and not left[MOST:].any() and right.any()


def test_the_objections_of_tokens():
    table, arrays = knowledge(4), network(4)
    comparer = Comparer(arrays, table)
    left, right = comparer.objections(np.array([2, 3]), np.array([4]))
    assert left.shape == (2,) and right.shape == (1,)
    _, ids, numbers = describe_pairs(table, comparer.matching, flat([[2, 3]]), flat([[4]]))
    compared = comparer.compared(ids, numbers)
    whole = comparer.pooled(compared[:2], compared[2:], (2, 1))
    assert left[0] == pytest.approx(comparer.pooled(compared[1:2], compared[2:], (2, 1)) - whole)
    assert not comparer.objections(np.array([2]), np.array([], dtype=np.int32))[0].any()


def test_arrays_that_do_not_fit():
    table, arrays = knowledge(5), network(5)
    for broken in (
        {},
        {**arrays, "logit": arrays["logit"][1:]},
        {**arrays, "pair": arrays["pair"] * np.nan},
        {**arrays, SURPRISE: arrays[SURPRISE][1:]},
        {name: array for name, array in arrays.items() if name not in ALIGNER},
    ):
        with pytest.raises(ArtifactError, match="m: its comparer cannot be used"):
            check_arrays(broken, len(table.codes), "m")
