"""Classifiers of 30 words with random weights."""

from typing import Any

import numpy as np

from miner.encoder.architecture import Architecture
from miner.encoder.model import Model
from miner.encoder.part import EncoderPart

DIMENSION, STATES = 12, 7


WORDS = [f"w{number}" for number in range(30)]


VOCABULARY = "".join(f"{word}\n" for word in WORDS).encode()


def layer(size: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    return {
        "weight": generator.normal(size=(2, size)).astype(np.float32),
        "bias": generator.normal(size=2).astype(np.float32),
    }


def made(encoder: str = "word", **changed: Any) -> Model:
    """Return a classifier of 30 words with random weights."""
    generator = np.random.default_rng(4)
    table = generator.normal(size=(len(WORDS), DIMENSION)).astype(np.float16)
    size, network = DIMENSION, {}
    if encoder == "lstm":
        size = STATES
        shapes = {
            "by_input.weight": (4 * STATES, DIMENSION),
            "by_input.bias": (4 * STATES,),
            "by_state.weight": (4 * STATES, STATES),
        }
        network = {
            f"ways.0.{name}": generator.normal(size=shape).astype(np.float32) * np.float32(0.5)
            for name, shape in shapes.items()
        }
    values: dict[str, Any] = {"classifier": layer(size), **changed}
    return Model(
        (EncoderPart(table, None, network),),
        {"words.txt": VOCABULARY},
        size,
        Architecture(encoder),
        **values,
    )
