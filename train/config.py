"""Everything that decides what a training makes, in one dataclass, stored with the model."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from miner.errors import ArtifactError

OBJECTIVES = ("softmax", "margin")


@dataclass(frozen=True)
class TrainConfig:
    """A training, but for its data. The defaults are the ``fast`` recipe.

    Ranges are checked on creation (ValueError). Papers: P19 Wieting et al. 2019, P18 Wieting &
    Gimpel 2018; the additive-margin softmax is Yang et al. 2019 (equation 4).
    """

    # Vocabulary: SentencePiece unigram over both languages together.
    pieces: int = 32_000
    coverage: float = 0.9998
    # Sentences drawn, over both sides, to learn the vocabulary from.
    vocabulary_sample: int = 500_000
    fold_case: bool = True

    dimension: int = 512
    # Piece embeddings start from a uniform distribution on [-x, x].
    initial: float = 0.02

    objective: str = "softmax"
    # The softmax objective subtracts the margin from the true pair's cosine, then multiplies by
    # the scale; the margin objective asks that the pair beat its negative by the margin.
    scale: float = 20.0
    margin: float = 0.2

    batch: int = 2048
    # Margin objective only: mini-batches that are pooled to choose negatives from (P18), and
    # mini-batches after which the pool grows by one (P19; 0: full size at once).
    megabatch: int = 1
    anneal: int = 0

    epochs: int = 8
    rate: float = 0.003
    # The learning rate falls linearly to this share of it over the training; 1 keeps it.
    final_rate: float = 0.05
    # Share of piece occurrences left out of a sentence's mean while training.
    dropout: float = 0.1

    # Pairs kept from training to choose an epoch and to learn to verify (at most a tenth of all).
    heldout: int = 20_000
    seed: int = 1
    # Type of the stored embeddings.
    dtype: str = "float16"

    def __post_init__(self) -> None:
        checks = {
            "pieces": self.pieces >= 8,
            "coverage": 0.9 <= self.coverage <= 1,
            "vocabulary_sample": self.vocabulary_sample >= 1,
            "dimension": self.dimension >= 1,
            "initial": 0 < self.initial < math.inf,
            "objective": self.objective in OBJECTIVES,
            "scale": 0 < self.scale < math.inf,
            "margin": 0 <= self.margin <= 2,
            "batch": self.batch >= 2,
            "megabatch": self.megabatch >= 1,
            "anneal": self.anneal >= 0,
            "epochs": self.epochs >= 1,
            "rate": 0 < self.rate < math.inf,
            "final_rate": 0 <= self.final_rate <= 1,
            "dropout": 0 <= self.dropout < 1,
            "heldout": self.heldout >= 0,
            "seed": self.seed >= 0,
            "dtype": self.dtype in ("float16", "int8"),
        }
        for name, good in checks.items():
            if not good:
                raise ValueError(f"{name} = {getattr(self, name)!r} is out of range")
        if self.objective == "softmax" and self.megabatch != 1:
            raise ValueError("mega-batches choose negatives for the margin objective only")

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainConfig":
        """The inverse of :meth:`as_dict`; an unknown key is an error."""
        unknown = set(values) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ArtifactError(f"training configuration: unknown {', '.join(sorted(unknown))}")
        return cls(**values)


# Named starting points; every option of ``miner train`` overrides one field.
RECIPES: dict[str, TrainConfig] = {
    "fast": TrainConfig(),
    "p19": TrainConfig(
        pieces=20_000,
        dimension=300,
        initial=0.1,
        objective="margin",
        margin=0.4,
        batch=128,
        heldout=6000,
        megabatch=120,
        anneal=150,
        epochs=10,
        rate=0.001,
        final_rate=1.0,
        dropout=0.0,
    ),
}
