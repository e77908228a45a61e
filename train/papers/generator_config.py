"""Settings of the training of a paraphrase generator, as in :mod:`miner_train.config`."""

from dataclasses import dataclass
from functools import partial

from miner.config_fields import check, setting
from miner_train.config import SEED

_network = partial(setting, "Network")
_text = partial(setting, "Text")
_steps = partial(setting, "Optimisation")


@dataclass(frozen=True)
class GeneratorConfig:
    """Settings of the training of a generator.

    Values are checked on creation. Raises ValueError that begins with the name of the field.
    """

    pieces: int = _text(8000, "Size of the vocabulary of pieces.", within="[8, inf)")
    fold_case: bool = _text(
        True,
        "Read lower-case words with spaces around punctuation, as the built-in translator writes; "
        "what is written keeps its case.",
        off="--keep-case",
    )
    longest: int = _text(60, "Most pieces of a side; longer pairs are left out.", within="[1, inf)")
    heldout: int = _text(
        500,
        "References that judge each epoch, with all their pairs; at most a tenth of all.",
        within="[1, inf)",
    )
    dimension: int = _network(256, "Length of an embedding and of a state.", within="[2, inf)")
    heads: int = _network(4, "Heads of attention; --dimension is a multiple.", within="[1, inf)")
    layers: int = _network(2, "Layers of the encoder, and of the decoder.", within="[1, inf)")
    dropout: float = _steps(0.1, "Share of the numbers left out in each step.", within="[0, 1)")
    smoothing: float = _steps(
        0.1, "Label smoothing: probability shared by all other pieces.", within="[0, 1)"
    )
    epochs: int = _steps(10, "Passes over all pairs.", within="[1, inf)")
    batch: int = _steps(2000, "Pieces of one step, of the written side.", within="[1, inf)")
    rate: float = _steps(0.001, "Highest learning rate of Adam.", within="(0, inf)")
    warmup: int = _steps(
        400,
        "Steps in which the rate rises; it then falls with the square root.",
        within="[1, inf)",
    )
    seed: int = _steps(1, SEED, within=f"[0, {1 << 62})")

    def __post_init__(self) -> None:
        check(self)
        if self.dimension % self.heads:
            raise ValueError(f"dimension = {self.dimension} is no multiple of heads {self.heads}")
