"""Pairs of invented words, as ids, and trainings of them."""

import dataclasses

from miner_train.config import TrainConfig
from miner_train.data import prepare, split
from miner_train.loop import Trainer
from support.invented import sentences, synthetic

SOFTMAX = TrainConfig(dimension=24, batch=64, epochs=4, rate=0.02, heldout=70)
MARGIN = dataclasses.replace(
    SOFTMAX, objective="margin", margin=0.4, megabatch=3, anneal=6, dropout=0.05
)


class Stop(Exception):
    """Exception with which a test kills a training."""


def material(count=700):
    """Pairs as word numbers, the size of their vocabulary; some sentences occur in several."""
    source, target = synthetic(count)
    source[5:10] = source[:5]
    target[15:20] = target[10:15]
    numbers = {}

    def tokenizer(chunk):
        known = [[numbers.setdefault(w, len(numbers)) for w in s.split()] for s in chunk]
        found = sentences(known)
        return found.ids, found.offsets

    return prepare(([tokenizer], [tokenizer]), source, target), {"piece": len(numbers)}


def trainer(config, count=700):
    data, size = material(count)
    training, held = split(data, config.heldout, config.seed)
    return Trainer(config, size, data.take(training), data.take(held))
