"""Order of an epoch: its pairs, and how often each occurs."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner_train.config import TrainConfig
from miner_train.sampling import epoch_order, shares

CONFIG = TrainConfig(batch=8)
numbers = st.lists(st.integers(-1, 3), max_size=80).map(lambda found: np.array(found, np.int16))
temperatures = st.sampled_from([1.0, 1.5, 2.0, 5.0, 100.0])


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=6), temperatures)
def test_shares(counts, temperature):
    found = shares(np.array(counts), temperature)
    assert found.sum() == sum(counts) and (found >= 0).all()
    weights = [count ** (1 / temperature) for count in counts]
    for share, weight in zip(found.tolist(), weights, strict=True):
        assert abs(share - sum(counts) * weight / sum(weights)) < 1


def test_temperature_one_changes_nothing_and_a_high_one_makes_equal():
    counts = np.array([7, 100, 3])
    assert shares(counts, 1).tolist() == counts.tolist()
    assert shares(np.array([1, 1000, 199]), 1e9).tolist() == [400, 400, 400]


@given(numbers, temperatures, st.integers(0, 3), st.integers(0, 8))
def test_an_epoch_takes_the_share_of_each_language_pair(language, temperature, epoch, apart):
    config = dataclasses.replace(CONFIG, temperature=temperature, apart=apart)
    order = epoch_order(language, config, epoch)
    assert len(order) == len(language)
    assert order.tolist() == epoch_order(language, config, epoch).tolist()

    kinds, counts = np.unique(language, return_counts=True)
    if len(kinds):
        wanted = dict(zip(kinds.tolist(), shares(counts, temperature).tolist(), strict=True))
        taken = Counter(language[order].tolist())
        assert taken == Counter({kind: share for kind, share in wanted.items() if share})
    # Pairs of a language pair occur equally often, up to an incomplete pass.
    repeats = Counter(order.tolist())
    for kind in kinds:
        times = [repeats[row] for row in np.flatnonzero(language == kind).tolist()]
        assert max(times) - min(times) <= 1


def test_without_languages_the_order_is_a_permutation_of_the_seed():
    expected = np.random.default_rng([1, 3, 2]).permutation(50)
    for language in (np.full(50, -1, np.int16), np.zeros(50, np.int16)):
        for temperature in (1.0, 3.0):
            config = dataclasses.replace(CONFIG, temperature=temperature)
            assert epoch_order(language, config, 2).tolist() == expected.tolist()


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_epochs_and_seeds_differ(temperature):
    language = np.repeat(np.array([0, 1], np.int16), 200)
    config = dataclasses.replace(CONFIG, temperature=temperature)
    first = epoch_order(language, config, 0).tolist()
    assert first != epoch_order(language, config, 1).tolist()
    assert first != epoch_order(language, dataclasses.replace(config, seed=2), 0).tolist()


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_batches_of_the_last_epochs_are_of_one_language_pair(temperature):
    language = np.repeat(np.array([0, 1, 2], np.int16), [53, 30, 5])
    config = dataclasses.replace(CONFIG, temperature=temperature, epochs=3, apart=1)

    def languages(epoch):
        kinds = language[epoch_order(language, config, epoch)]
        return [set(kinds[start : start + 8].tolist()) for start in range(0, len(kinds), 8)]

    whole = np.bincount(language[epoch_order(language, config, 2)]) // 8
    batches = languages(2)[: whole.sum()]
    assert all(len(batch) == 1 for batch in batches)
    assert np.array_equal(np.bincount([*map(min, batches)], minlength=3), whole)
    assert not all(len(batch) == 1 for batch in languages(1)[: whole.sum()])
