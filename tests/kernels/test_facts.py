"""Facts: words, logits and evidence agree with plain loops; learning recovers planted facts."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.kernels import facts as kernel
from miner.ragged import offsets_of
from miner.scoring.fact_reader import FactClass, Reader
from miner.scoring.facts import Predictor

CLASSES = [
    FactClass("negation", ["not", "don't"], again=1, excuses=["hardly"]),
    FactClass("negation", ["a second one"], tested=kernel.ADDED),
    FactClass("number", ["three", "3", "23", "3rd"], [3], number=103),
    FactClass("number", ["twenty", "23"], [2], number=120),
    FactClass("number", ["x"], tested=kernel.MISSING, number=103),
    FactClass("number", ["hundred"], number=100),
]
WORDS = ["not", "Don’t", "hardly", "Three", "3", "23", "twenty", "x", "é", "—", "3.5", "'", "3rd",
         "300", "320", "3000", "hundred"]  # fmt: skip


def numbers_of(text: str) -> tuple[set[int], set[int], set[int]]:
    """Return the numbers of one or two digits, their parts, and also those of three digits."""
    every = re.findall(r"[0-9]+", text)
    found = {int(one) for one in every if len(one) < 3}
    parts = found | {part for one in found if one > 19 for part in (one // 10 * 10, one % 10)}
    more = set(parts) - {0}
    for one in (int(number) for number in every if len(number) == 3):
        rest = one % 100
        more |= {0, one // 100, rest, *((rest // 10 * 10, rest % 10) if rest > 19 else ())}
    return found, parts, more


def read_reference(english: str, other: str) -> list[int]:
    text = english.replace("’", "'").lower()
    text = re.sub("[\u2000-\u203f]", " ", text)
    found = re.findall(r"(?:(?<=\d)[.,](?=\d)|[^\x00-\x7f]|[a-z0-9']){1,}", text)
    exact, parts, more = numbers_of(other)
    marks = [0] * len(CLASSES)
    for word in (one.strip("'") for one in found):
        owners = [place for place, one in enumerate(CLASSES) if word in one.words]
        number = max((CLASSES[place].number for place in owners), default=-1)
        shared = int(word) in exact if word.isdigit() else number - 100 in more
        for place in owners:
            again = CLASSES[place].again
            at = again if marks[place] == 1 and again >= 0 else place
            marks[at] = 2 if shared or marks[at] == 2 else 1
        for place, one in enumerate(CLASSES):
            if word in one.excuses:
                marks[place] = marks[place] or 3
    wanted = parts - numbers_of(english)[1]
    return [
        4 if mark == 0 and one.number > 100 and one.number - 100 in wanted else mark
        for mark, one in zip(marks, CLASSES, strict=True)
    ]


texts = st.lists(st.sampled_from(WORDS), max_size=8)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4), st.sampled_from([" ", ", ", "-"]))
@settings(deadline=None)
def test_marks_are_those_of_the_words(pairs, between):
    english, other = ([between.join(side) for side in sides] for sides in zip(*pairs, strict=True))
    found = Reader(CLASSES).read(english, other)
    assert found.tolist() == [read_reference(*pair) for pair in zip(english, other, strict=True)]


def bucket(before: int, token: int) -> int:
    ids = np.array([token] if before < 0 else [before, token], np.int32)
    out = np.empty((len(ids), 2), np.int32)
    kernel.list_features(ids, offsets_of(np.array([len(ids)])), kernel.BITS, out)
    return int(out[-1, 0 if before < 0 else 1])


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=5), st.data())
@settings(deadline=None)
def test_logits_are_sums_over_distinct_features(sentences, data):
    features = {(-1, 0): 0, (-1, 3): 1, (0, 3): 2, (3, 3): 3}
    weights = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=8, max_size=8)))
    weights = weights.reshape(4, 2).astype(np.float32)
    buckets = np.array([bucket(*one) for one in features])
    constants = np.array([0.5, -1], np.float32)
    owners = np.tile([0, 1], 4)
    predictor = Predictor.of(buckets, np.full(4, 2), owners, weights.ravel(), constants)
    tokens = np.array([token for one in sentences for token in one], np.int32)
    logits = predictor.logits((tokens, offsets_of(np.array(list(map(len, sentences))))))
    for own, found in zip(sentences, logits, strict=True):
        there = {(-1, token) for token in own} | set(zip(own, own[1:], strict=False))
        places = sorted(place for feature, place in features.items() if feature in there)
        np.testing.assert_allclose(found, constants + weights[places].sum(axis=0), rtol=1e-6)


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=6, max_size=6), min_size=1),
    st.data(),
)
@settings(deadline=None)
def test_evidence_is_the_largest_of_its_kind(marks, data):
    reader, seen = Reader(CLASSES), np.array(marks, np.uint8)
    values = st.lists(st.integers(-9, 9), min_size=seen.size, max_size=seen.size)
    logits = np.array(data.draw(values), np.float32).reshape(seen.shape)
    found = reader.evidence(logits, seen, reader.tested)
    for row, own in enumerate(seen.tolist()):
        expected = np.zeros((2, 3))
        for place, one in enumerate(CLASSES):
            best = expected[reader.kind[place]]
            if own[place] == 1 and one.tested & kernel.ADDED:
                best[1] = max(best[1], -logits[row, place])
                for other in one.excludes:
                    if own[other] in (0, 4):
                        logit = max(logits[row, other], 1 if own[other] == 4 else -np.inf)
                        best[0] = max(best[0], logit - logits[row, place])
            if own[place] == 0 and one.tested & kernel.MISSING:
                best[2] = max(best[2], logits[row, place])
        assert found[row].tolist() == expected.tolist()


def learn_reference(rows, offsets, seen, order, starts, classes, settings, state):
    rate, sparse, decay = settings
    weights, constants, sums, squares = state
    for step, i in enumerate(order.tolist()):
        own = {row for row in rows[offsets[i] : offsets[i + 1]].ravel().tolist() if row >= 0}
        places = [at for row in sorted(own) for at in range(starts[row], starts[row + 1])]
        logit = constants.astype(float)
        np.add.at(logit, classes[places], weights[places])
        gradient = 1 / (1 + np.exp(-logit)) - (seen[i] == 1)
        gradient[seen[i] >= 2] = 0
        constants -= gradient * rate / np.sqrt(step + 100)
        for at in places:
            g = gradient[classes[at]]
            root = np.sqrt(squares[at] + g * g)
            sums[at] += g - (root - np.sqrt(squares[at])) / rate * weights[at]
            squares[at] += g * g
            rest = max(abs(sums[at]) - sparse, 0) * np.sign(sums[at])
            weights[at] = -rest / ((1 + root) / rate + decay)


def test_a_pass_is_that_of_its_reference():
    generator = np.random.default_rng(1)
    lengths = generator.integers(0, 5, 40)
    offsets = offsets_of(lengths)
    rows = generator.integers(-1, 6, (offsets[-1], 2)).astype(np.int32)
    seen = generator.integers(0, 4, (40, 3)).astype(np.uint8)
    starts = np.array([0, 2, 3, 5, 5, 6, 8], np.int32)
    classes = np.array([0, 2, 1, 0, 1, 2, 1, 2], np.int32)
    order = generator.permutation(40)
    together = np.zeros((6, 3), np.int32)
    kernel.count(rows, offsets, seen, together)
    for row in range(6):
        there = [(rows[a:b] == row).any() for a, b in zip(offsets, offsets[1:], strict=False)]
        assert together[row].tolist() == (seen[there] == 1).sum(axis=0).tolist()
    settings = 0.3, 0.1, 0.5
    state = [np.zeros(8), np.array([-1.0, 0, 1]), np.zeros(8), np.zeros(8)]
    found = [one.astype(np.float32) for one in state]
    kernel.learn(rows, offsets, seen, order, starts, classes, *settings, *found)
    learn_reference(rows, offsets, seen, order, starts, classes, settings, state)
    for one, other in zip(found, state, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    assert np.abs(found[0]).max() > 0.01
