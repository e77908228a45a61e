"""Everything that decides what a training makes, in one dataclass, stored with the model."""

import dataclasses
import math
import textwrap
from dataclasses import dataclass
from typing import Any

from miner.encoder.architecture import ENCODERS, Architecture
from miner.errors import ArtifactError

# Values of the fields that are words; the first of each is the default.
CHOICES = {
    "objective": ("softmax", "margin", "contrastive"),
    "combine": ("add", "concat"),
    "segmentation": ("none", "morfessor"),
    "vocabularies": ("shared", "separate"),
    "directions": ("concat", "average"),
    "pooling": ("mean", "max"),
    "distribution": ("uniform", "normal"),
    "negatives": ("max", "rand", "mix"),
    "negatives_from": ("opposite", "either"),
    "dtype": ("float16", "int8"),
}


@dataclass(frozen=True)
class TrainConfig:
    """A training, but for its data. The defaults are the ``fast`` recipe.

    Ranges are checked on creation (ValueError). Papers: P17 Wieting et al. 2017, P18 Wieting &
    Gimpel 2018, P19 Wieting et al. 2019, S18 Sjöblom et al. 2018; the additive-margin softmax is
    Yang et al. 2019 (equation 4).
    """

    # One of miner.encoder.architecture.ENCODERS, or several different ones with "+" between them (P18).
    encoder: str = "sp"
    # How the vectors of several make one: their sum, or one after the other.
    combine: str = "add"

    # Pieces: SentencePiece unigram over both languages together.
    pieces: int = 32_000
    coverage: float = 0.9998
    # Sentences drawn, over both sides, to learn the pieces from.
    vocabulary_sample: int = 500_000
    # Words and character trigrams: the most frequent of the text, at most so many.
    types: int = 200_000
    # Words only: cut into morphs by Morfessor Baseline (S18).
    segmentation: str = "none"
    fold_case: bool = True
    # Whether what is spelt alike in both columns has one embedding or two (P19).
    vocabularies: str = "shared"

    # Length of an embedding, and of the vector of an average of them.
    dimension: int = 512
    # Recurrent encoders. Length of a hidden state; 0: such that vectors have the dimension. Both
    # directions of a bidirectional one are put one after the other, or averaged; the mean of the
    # states is the sentence's vector, or their maximum.
    hidden: int = 0
    directions: str = "concat"
    pooling: str = "mean"
    # Embeddings start from a uniform distribution on [-initial, initial], or from a normal one with
    # this standard deviation.
    initial: float = 0.02
    distribution: str = "uniform"

    objective: str = "softmax"
    # The softmax objective subtracts the margin from the true pair's cosine, then multiplies by
    # the scale; the margin objective asks that the pair beat its negative by the margin; the
    # contrastive one (S18) that negatives be apart by the margin.
    scale: float = 20.0
    margin: float = 0.2
    # Weight of the squares of all that is learned but embeddings, and of the squared distance of
    # the embeddings from where they started (P17).
    lambda_c: float = 0.0
    lambda_w: float = 0.0

    # Negatives: the hardest, random ones, or either by the toss of a coin (P17, P18); from the
    # opposite column alone, or from both (for two columns of one language, P18).
    negatives: str = "max"
    negatives_from: str = "opposite"
    batch: int = 2048
    # Mini-batches that are pooled to choose negatives from (P18), and mini-batches after which the
    # pool grows by one (P19; 0: full size at once).
    megabatch: int = 1
    anneal: int = 0

    # 0 leaves the embeddings as they start: the random baselines of P19.
    epochs: int = 8
    rate: float = 0.003
    # The learning rate falls linearly to this share of it over the training; 1 keeps it.
    final_rate: float = 0.05
    # Share of token occurrences left out of a sentence while training.
    dropout: float = 0.1
    # Recurrent encoders: share of the inputs and states that is zero for a whole sentence
    # (variational dropout), and of the sentences whose words are shuffled; both drawn anew at
    # every step.
    variational: float = 0.0
    scramble: float = 0.0
    # Pieces: cut every epoch anew, at random, with this smoothing (0: always the best cut).
    sampling: float = 0.0

    # Of each bitext, the share of pairs to keep, the best by score or the first; and of all, how
    # many pairs to draw (0: all).
    keep: float = 1.0
    sample: int = 0
    # Pairs kept from training to choose an epoch and to learn to verify (at most a tenth of all).
    heldout: int = 20_000
    seed: int = 1
    # Type of the stored embeddings.
    dtype: str = "float16"

    def __post_init__(self) -> None:
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name} = {getattr(self, name)!r} is not one of {', '.join(values)}"
                )
        checks = {
            "types": self.types >= 1,
            "hidden": self.hidden >= 0,
            "lambda_c": 0 <= self.lambda_c < math.inf,
            "lambda_w": 0 <= self.lambda_w < math.inf,
            "variational": 0 <= self.variational < 1,
            "scramble": 0 <= self.scramble <= 1,
            "sampling": 0 <= self.sampling < math.inf,
            "keep": 0 < self.keep <= 1,
            "sample": self.sample >= 0,
            "pieces": self.pieces >= 8,
            "coverage": 0.9 <= self.coverage <= 1,
            "vocabulary_sample": self.vocabulary_sample >= 1,
            "dimension": self.dimension >= 1,
            "initial": 0 < self.initial < math.inf,
            "scale": 0 < self.scale < math.inf,
            "margin": 0 <= self.margin <= 2,
            "batch": self.batch >= 2,
            "megabatch": self.megabatch >= 1,
            "anneal": self.anneal >= 0,
            "epochs": self.epochs >= 0,
            "rate": 0 < self.rate < math.inf,
            "final_rate": 0 <= self.final_rate <= 1,
            "dropout": 0 <= self.dropout < 1,
            "heldout": self.heldout >= 0,
            "seed": 0 <= self.seed < 1 << 62,
        }
        for name, good in checks.items():
            if not good:
                raise ValueError(f"{name} = {getattr(self, name)!r} is out of range")
        unknown = [name for name in self.encoders if name not in ENCODERS]
        if unknown or len(set(self.encoders)) < len(self.encoders):
            raise ValueError(
                f"encoder = {self.encoder!r} is not one of {', '.join(ENCODERS)}, nor several "
                'different ones joined by "+"'
            )
        kinds = [ENCODERS[name] for name in self.encoders]
        recurrent = any(kind.network for kind in kinds)
        needs = {
            "variational": (recurrent, "a recurrent encoder"),
            "scramble": (recurrent, "a recurrent encoder"),
            "lambda_c": (recurrent, "a recurrent encoder"),
            "sampling": ("piece" in self.architecture.units, "an encoder of pieces"),
            "hidden": (
                any(kind.network == "lstm" for kind in kinds),
                "an encoder by an LSTM's states",
            ),
            "directions": (any(kind.both_ways for kind in kinds), "an encoder of both directions"),
            "combine": (len(kinds) > 1, "several encoders"),
            "pooling": (recurrent, "a recurrent encoder"),
            "segmentation": ("word" in self.architecture.units, "an encoder of words"),
        }
        default = {field.name: field.default for field in dataclasses.fields(self)}
        for name, (there, what) in needs.items():
            if getattr(self, name) != default[name] and not there:
                raise ValueError(f"{name} is for {what}, which {self.encoder} is not")
        shared = any(kind.both_ways for kind in kinds) and self.directions == "concat"
        if shared and not self.hidden and self.dimension % 2:
            raise ValueError(f"dimension = {self.dimension} is odd: two directions share it")
        if self.objective == "softmax" and self.megabatch == 1 and self.negatives != "max":
            raise ValueError("softmax takes all of a batch for negatives, unless megabatch > 1")
        if self.combine == "add" and len({self.size(name) for name in self.encoders}) > 1:
            sizes = ", ".join(f"{name} {self.size(name)}" for name in self.encoders)
            raise ValueError(f"vectors of different lengths cannot be added: {sizes}")

    @property
    def encoders(self) -> tuple[str, ...]:
        """The names of the encoders that are trained together."""
        return tuple(self.encoder.split("+"))

    @property
    def architecture(self) -> Architecture:
        """What of this the finished model must know."""
        return Architecture(
            encoder=self.encoder,
            combine=self.combine,
            pooling=self.pooling,
            directions=self.directions,
            fold_case=self.fold_case,
            separate=self.vocabularies == "separate",
        )

    def states(self, name: str) -> int:
        """Length of the hidden states of the encoder ``name``, of one direction."""
        kind = ENCODERS[name]
        if kind.network is None or kind.network.startswith("gran"):
            return self.dimension
        if self.hidden:
            return self.hidden
        halved = kind.both_ways and self.directions == "concat"
        return self.dimension // 2 if halved else self.dimension

    def size(self, name: str) -> int:
        """Length of the vector of the encoder ``name``."""
        twice = ENCODERS[name].both_ways and self.directions == "concat"
        return self.states(name) * (2 if twice else 1)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainConfig":
        """The inverse of :meth:`as_dict`; an unknown key is an error."""
        unknown = set(values) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ArtifactError(f"training configuration: unknown {', '.join(sorted(unknown))}")
        try:
            return cls(**values)
        except (AttributeError, TypeError) as error:
            raise ArtifactError(f"training configuration: {error}") from None


# Named starting points; every option of ``miner train`` overrides one field.
_P19 = TrainConfig(
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
)
RECIPES: dict[str, TrainConfig] = {
    "fast": TrainConfig(),
    "p19": _P19,
    # Two columns of one language: negatives may be any other sentence.
    "p18": dataclasses.replace(
        _P19,
        encoder="word+trigram",
        batch=100,
        megabatch=40,
        anneal=0,
        epochs=5,
        negatives_from="either",
    ),
    "p17": dataclasses.replace(
        _P19,
        encoder="word",
        batch=100,
        megabatch=1,
        anneal=0,
        epochs=20,
        negatives_from="either",
    ),
    "s18": dataclasses.replace(
        _P19,
        encoder="gran-gru",
        objective="contrastive",
        negatives="rand",
        negatives_from="either",
        initial=0.01,
        variational=0.2,
        megabatch=1,
        anneal=0,
    ),
    "random": dataclasses.replace(
        _P19, initial=1.0, distribution="normal", megabatch=1, anneal=0, epochs=0
    ),
}

# What each recipe is, for people.
NOTES = {
    "fast": "in-batch softmax with additive margin: what mines best, in the least time",
    "p19": "Wieting et al. 2019: margin loss, annealed mega-batches, negatives of the other column",
    "p18": "Wieting and Gimpel 2018: words and trigrams on paraphrases, mega-batches of 40",
    "p17": "Wieting et al. 2017: an average of words on paraphrases; give it --embeddings to start "
    "from, and for GRAN --encoder gran-lstm --epochs 3 --negatives mix",
    "s18": "Sjöblom et al. 2018: contrastive loss on labelled or ranked paraphrases, GRAN over a "
    "GRU (--label-col, --keep 0.8)",
    "random": "untrained baselines of Wieting et al. 2019 (--encoder sp or trigram)",
}
ENCODER_NOTES = {
    "sp": "mean of SentencePiece embeddings (P19); the one that ships",
    "word": "mean of word embeddings (P17); --segmentation morfessor for morphs (S18)",
    "trigram": "mean of embeddings of character trigrams (P18)",
    "lstm": "mean or maximum of an LSTM's states over words (P18, P19); with the margin objective "
    "give --initial 1: from small embeddings it may not leave the start",
    "blstm": "the same in both directions",
    "lstm-sp": "the same over pieces (P19: --scramble 0.3 --dropout 0.3)",
    "blstm-sp": "the same over pieces in both directions",
    "gran-lstm": "mean of words, each through a gate that an LSTM moves (P17)",
    "gran-gru": "the same by a GRU with leaky rectifiers (S18: --variational)",
}
OBJECTIVE_NOTES = {
    "softmax": "cross-entropy over the batch, the true pair's cosine less a margin; with "
    "--megabatch the hardest negatives of a pool join the batch",
    "margin": "the pair must beat a negative of either side by a margin (P17, P18, P19)",
    "contrastive": "pairs pay their distance, others what they are nearer than a margin, squared; "
    "labelled pairs, or one negative drawn for each (S18)",
}


def explain() -> str:
    """Encoders, objectives and recipes, and a table of each recipe's settings."""
    lines = []
    for title, notes in (
        ("Encoders (--encoder; several with +)", ENCODER_NOTES),
        ("Objectives (--objective)", OBJECTIVE_NOTES),
        ("Recipes (--recipe)", NOTES),
    ):
        lines.append(f"{title}:")
        for name, note in notes.items():
            lines += textwrap.wrap(
                note, 100, initial_indent=f"  {name:12} ", subsequent_indent=" " * 15
            )
        lines.append("")
    lines.append("Settings of the recipes:")
    lines.append("  ".join([f"  {'':18}", *(f"{name:>12}" for name in RECIPES)]))
    for field in dataclasses.fields(TrainConfig):
        values = [getattr(recipe, field.name) for recipe in RECIPES.values()]
        option = "--" + field.name.replace("_", "-")
        lines.append("  ".join([f"  {option:18}", *(f"{_shown(value):>12}" for value in values)]))
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
