"""Bitext of two artificial languages as words and ids, and trainings on it."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from miner_train.config import TrainConfig
from miner_train.data import Sentences, prepare, split
from miner_train.loop import Trainer


def synthetic(count, seed=0, words=60):
    """Return ``count`` distinct pairs of two artificial languages, translated word for word.

    The languages share no letter, so that only training can find translations.
    """
    lexicon = [
        (
            "".join(a + "aeo"[i % 3] for i, a in enumerate(letters)),
            "".join(b + "iuy"[i % 3] for i, b in enumerate(reversed(mates))),
        )
        for letters, mates in zip(
            itertools.product("bdfgk", "bdfgk", "bdfgk"),
            itertools.product("pstvz", "pstvz", "pstvz"),
            strict=True,
        )
    ][:words]
    generator = np.random.default_rng(seed)
    pairs = {}
    while len(pairs) < count:
        chosen = generator.choice(words, size=generator.integers(4, 9), replace=False)
        source, target = zip(*(lexicon[i] for i in chosen.tolist()), strict=True)
        pairs[" ".join(source)] = " ".join(target)
    return list(pairs), list(pairs.values())


def aligned_files(place: Path, sides: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Write both sides of a bitext to the files ``a`` and ``b``."""
    for name, side in zip("ab", sides, strict=True):
        (place / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return str(place / "a"), str(place / "b")


def sentences(lists):
    """Return ragged Sentences of these lists of ids."""
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return Sentences(np.array(list(itertools.chain(*lists)), dtype=np.int32), offsets)


SOFTMAX = TrainConfig(dimension=24, batch=64, epochs=4, rate=0.02, heldout=70)
MARGIN = dataclasses.replace(
    SOFTMAX, objective="margin", margin=0.4, megabatch=3, anneal=6, dropout=0.05
)


class Stop(Exception):
    """Exception by which a test interrupts a training."""


def material(count=700):
    """Return pairs as word numbers and the size of their vocabulary; some sentences repeat."""
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
