"""`TrainConfig`: settings of a training.

The fields have help, choices and ranges, from which the command line generates its options. The
module imports neither numpy nor torch, so that help texts load fast; it is one file because fields
refer to each other. :mod:`miner_train.recipes` has the recipes. Papers: P17 Wieting et al. 2017,
P18 Wieting and Gimpel 2018, P19 Wieting et al. 2019, S18 Sjöblom et al. 2018.
"""

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any

from miner.config_fields import Need, check, setting
from miner.encoder.architecture import DTYPES, ENCODERS, Architecture, EncoderKind
from miner.errors import ArtifactError

PIECES = Need("an encoder of pieces", lambda config: "piece" in config.architecture.units)
WORDS = Need("an encoder of words", lambda config: "word" in config.architecture.units)
TYPES = Need(
    "an encoder of words or trigrams", lambda config: config.architecture.units != ("piece",)
)
SEVERAL = Need("several encoders", lambda config: len(config.encoders) > 1)
RECURRENT = Need("a recurrent encoder", lambda config: any(kind.network for kind in config.kinds))
LSTM = Need(
    "an encoder by an LSTM's states",
    lambda config: any(kind.network == "lstm" for kind in config.kinds),
)
BOTH_WAYS = Need(
    "an encoder of both directions", lambda config: any(kind.both_ways for kind in config.kinds)
)
SOFTMAX = Need("the softmax objective", lambda config: config.objective == "softmax")
MEGABATCHES = Need("mega-batches (--megabatch)", lambda config: config.megabatch > 1)
NEAREST = Need(
    "an objective that chooses the hardest negatives",
    lambda config: (
        config.negatives != "rand" and (config.objective != "softmax" or config.megabatch > 1)
    ),
)

_text = partial(setting, "Text")
_encoder = partial(setting, "Encoder")
_recurrent = partial(setting, "Encoder", need=RECURRENT)
_vocabulary = partial(setting, "Vocabulary")
_pieces = partial(setting, "Vocabulary", need=PIECES, idle=True)
_objective = partial(setting, "Objective")
_negatives = partial(setting, "Negatives")
_steps = partial(setting, "Optimisation")
_recurrent_steps = partial(setting, "Optimisation", need=RECURRENT)

FOLD_CASE = "Treat A and a as one letter."
DROPOUT = "Token dropout: share of the tokens of a sentence left out in each training step."
SEED = "Seed of everything random."


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training. The defaults are the ``fast`` recipe.

    Values are checked on creation. Raises ValueError that begins with the name of the field.
    """

    encoder: str = _encoder(
        "sp",
        "Encoder, or several with + between them (word+trigram); see --list.",
        metavar="NAME",
        several=True,
        choices={
            "sp": "mean of SentencePiece embeddings (P19); the encoder of the shipped model",
            "word": "mean of word embeddings (P17); --segmentation morfessor for morphs (S18)",
            "trigram": "mean of embeddings of character trigrams (P18)",
            "lstm": "mean or maximum of an LSTM's states over words (P18, P19); with the margin "
            "objective use --initial 1: with small embeddings it may not start to learn",
            "blstm": "the same in both directions",
            "lstm-sp": "the same over pieces (P19: --scramble 0.3 --embedding-dropout 0.3)",
            "blstm-sp": "the same over pieces in both directions",
            "gran-lstm": "mean of words, each passed through a gate that an LSTM controls (P17)",
            "gran-gru": "the same with a GRU with leaky rectifiers (S18: --variational)",
        },
    )
    combine: str = _encoder(
        "add",
        "How the vectors of several encoders make one (P18).",
        need=SEVERAL,
        choices={"add": "their sum", "concat": "concatenation"},
    )

    pieces: int = _pieces(
        32_000, "Size of the SentencePiece vocabulary of both languages.", within="[8, inf)"
    )
    coverage: float = _pieces(
        0.9998, "Share of the text's characters that the pieces cover.", within="[0.9, 1]"
    )
    vocabulary_sample: int = _pieces(
        500_000, "Sentences of both sides to learn the pieces from.", within="[1, inf)"
    )
    types: int = _vocabulary(
        200_000,
        "Size of the vocabulary of words or trigrams: the most frequent ones.",
        within="[1, inf)",
        need=TYPES,
        idle=True,
    )
    segmentation: str = _vocabulary(
        "none",
        "Segmentation of words.",
        need=WORDS,
        choices={"none": "words stay whole", "morfessor": "morphs of Morfessor Baseline (S18)"},
    )
    fold_case: bool = _vocabulary(True, FOLD_CASE, off="--keep-case")
    one_script: bool = _pieces(
        False,
        "Read Serbian in Latin letters, digits of all scripts as 0 to 9, Arabic and Hebrew without "
        "points, and kaf and yeh of Persian and of Arabic in their own sentences.",
        off="--scripts-apart",
    )
    vocabularies: str = _vocabulary(
        "shared",
        "Embeddings of what is spelt alike in both columns.",
        choices={
            "shared": "one for both columns, with pieces learned from both",
            "alike": "separate pieces for each column, with one embedding per spelling (P19)",
            "separate": "one per column (P19)",
        },
    )

    dimension: int = _encoder(512, "Length of an embedding, and of their mean.", within="[1, inf)")
    hidden: int = _encoder(
        0,
        "LSTM: length of a hidden state; 0: such that vectors have the dimension.",
        within="[0, inf)",
        need=LSTM,
    )
    directions: str = _encoder(
        "average",
        "Bidirectional LSTM: how the states of both directions make one.",
        need=BOTH_WAYS,
        idle=True,
        choices={
            "average": "mean of both directions, which P18 found better",
            "concat": "concatenation, each of half the dimension (P19)",
        },
    )
    pooling: str = _recurrent(
        "mean",
        "Recurrent: how the states make the vector of a sentence.",
        choices={"mean": "mean of the states", "max": "maximum of the states in each dimension"},
    )
    initial: float = _encoder(
        0.02,
        "Scale of the embeddings at the start: half the width of a uniform distribution, or the "
        "standard deviation of a normal one.",
        within="(0, inf)",
    )
    distribution: str = _encoder(
        "uniform",
        "Distribution that the embeddings start from.",
        choices={"uniform": "on [-initial, initial]", "normal": "with mean 0"},
    )

    objective: str = _objective(
        "softmax",
        "Loss to minimise.",
        choices={
            "softmax": "cross-entropy over the batch with an additive margin (Yang et al. 2019, "
            "equation 4); with --megabatch the hardest negatives of a pool join the batch",
            "margin": "each pair must beat a negative of either side by a margin (P17, P18, P19)",
            "contrastive": "a pair costs its cosine distance, any other pair the square of the "
            "amount by which it is nearer than a margin; labelled pairs, or one negative drawn "
            "for each (S18)",
        },
    )
    scale: float = _objective(
        20.0, "Softmax: factor of the cosines.", within="(0, inf)", need=SOFTMAX, idle=True
    )
    margin: float = _objective(
        0.2,
        "Margin: what softmax subtracts from the cosine of the true pair, by how much the pair "
        "must beat its negative, or how far apart contrastive negatives must be.",
        within="[0, 2]",
    )
    lambda_c: float = _objective(
        0.0,
        "Recurrent: weight of the squares of the network's parameters (P17).",
        within="[0, inf)",
        need=RECURRENT,
    )
    lambda_w: float = _objective(
        0.0,
        "Weight of embeddings' squared distance from their start (P17).",
        within="[0, inf)",
    )

    negatives: str = _negatives(
        "max",
        "Negative of a sentence.",
        choices={
            "max": "the hardest of the pool (P17, P18, P19)",
            "rand": "a random one (S18)",
            "mix": "randomly one or the other (Wieting and Gimpel 2017)",
        },
    )
    negatives_from: str = _negatives(
        "opposite",
        "Columns that negatives come from.",
        choices={
            "opposite": "the opposite column",
            "either": "both columns, for one language in both (P18)",
        },
    )
    negatives_below: float = _negatives(
        1.0,
        "Largest cosine of a hardest negative: nearer sentences may be paraphrases and are passed "
        "over (P18, arXiv, footnote 4). 1: no limit.",
        within="[-1, 1]",
        need=NEAREST,
    )
    batch: int = _negatives(2048, "Pairs of one step.", within="[2, inf)")
    megabatch: int = _negatives(
        1, "Batches pooled to choose negatives from (P18).", within="[1, inf)"
    )
    anneal: int = _negatives(
        0,
        "Steps after which the pool grows by one batch (P19); 0: full size at once.",
        within="[0, inf)",
        need=MEGABATCHES,
        idle=True,
    )
    anneal_per: str = _negatives(
        "training",
        "Span over which the steps of --anneal are counted.",
        choices={
            "training": "all epochs together",
            "epoch": "restarted in each epoch, as in the code of P19",
        },
        need=MEGABATCHES,
        idle=True,
    )

    temperature: float = _steps(
        1.0,
        "Sampling of language pairs, named by files: n pairs of text are drawn in proportion to "
        "n ** (1 / TEMPERATURE). 1: every pair once an epoch; higher: more of the rare language "
        "pairs, and as many steps.",
        within="[1, inf)",
    )
    apart: int = _steps(
        0,
        "Last epochs in which a batch holds pairs of one language pair, so that negatives are in "
        "its languages. The best epoch is then the best one by the mean over language pairs.",
        within="[0, inf)",
    )
    epochs: int = _steps(
        8, "Passes over all pairs; 0 leaves the embeddings random (P19).", within="[0, inf)"
    )
    rate: float = _steps(0.003, "Learning rate of Adam.", within="(0, inf)")
    final_rate: float = _steps(
        0.05, "Share of the learning rate left at the end; it falls linearly.", within="[0, 1]"
    )
    adam: str = _steps(
        "lazy",
        "Adam of the embeddings.",
        choices={
            "lazy": "changes only the embeddings and moments of the batch (torch's SparseAdam)",
            "dense": "changes all embeddings in every step, as in the papers; slower for large "
            "vocabularies",
        },
    )
    dropout: float = _steps(0.1, DROPOUT, within="[0, 1)")
    embedding_dropout: float = _steps(
        0.0,
        "Embedding dropout: share of the single numbers of each token's embedding set to 0 in a "
        "step; the others are scaled up (dropout in P19's released code).",
        within="[0, 1)",
    )
    variational: float = _recurrent_steps(
        0.0,
        "Recurrent: share of inputs and states set to 0 for a whole sentence in a step "
        "(variational dropout).",
        within="[0, 1)",
    )
    scramble: float = _recurrent_steps(
        0.0, "Recurrent: share of sentences whose tokens are shuffled in a step.", within="[0, 1]"
    )

    keep: float = _text(
        1.0,
        "Share of each bitext to keep: the best pairs by --score-col, else the first.",
        within="(0, 1]",
    )
    clean: float = _text(
        0.0,
        "Keep the longest run of each bitext's best pairs whose mean probability, by --score-col, "
        "is at least this (S18: 0.8, 0.7, 0.6). 0: do not cut.",
        within="[0, 1]",
    )
    sample: int = _text(0, "Pairs to draw at random from all; 0: take all.", within="[0, inf)")
    heldout: int = _text(
        20_000,
        "Pairs held out, to choose the best epoch and to learn to verify; at most a tenth of all.",
        within="[0, inf)",
    )
    seed: int = _steps(1, SEED, within=f"[0, {1 << 62})")
    dtype: str = setting(
        "Model",
        "float16",
        "Type of the stored embeddings.",
        choices=DTYPES,
    )

    def __post_init__(self) -> None:
        check(self)
        ways = any(kind.both_ways for kind in self.kinds) and self.directions == "concat"
        if ways and not self.hidden and self.dimension % 2:
            raise ValueError(f"dimension = {self.dimension} is odd: two directions share it")
        if self.dtype == "int4" and self.dimension % 2:
            raise ValueError(f"dimension = {self.dimension} is odd: int4 stores numbers in pairs")
        if self.objective == "softmax" and self.megabatch == 1 and self.negatives != "max":
            raise ValueError(
                f"negatives = {self.negatives!r} has no effect: softmax takes all of a batch for "
                "negatives, unless megabatch > 1"
            )
        if self.vocabularies == "alike" and set(self.architecture.units) != {"piece"}:
            raise ValueError("vocabularies = 'alike' is for encoders of pieces alone")
        if self.combine == "add" and len({self.size(name) for name in self.encoders}) > 1:
            sizes = ", ".join(f"{name} {self.size(name)}" for name in self.encoders)
            raise ValueError(
                f"combine = 'add': vectors of unequal lengths cannot be added: {sizes}"
            )

    @property
    def encoders(self) -> tuple[str, ...]:
        """Names of the encoders that are trained together."""
        return tuple(self.encoder.split("+"))

    @property
    def kinds(self) -> tuple[EncoderKind, ...]:
        """Kinds of the encoders, in their order."""
        return tuple(ENCODERS[name] for name in self.encoders)

    @property
    def architecture(self) -> Architecture:
        """Architecture of the model that the training makes."""
        return Architecture(
            encoder=self.encoder,
            combine=self.combine,
            pooling=self.pooling,
            directions=self.directions,
            fold_case=self.fold_case,
            separate=self.vocabularies != "shared",
            alike=self.vocabularies == "alike",
            one_script=self.one_script,
        )

    def states(self, name: str) -> int:
        """Size of the hidden states of the encoder ``name``, in one direction."""
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
        """Inverse of :meth:`as_dict`. Raises ArtifactError for an unknown key or a wrong type."""
        unknown = set(values) - {field.name for field in dataclasses.fields(cls)}
        if unknown:
            raise ArtifactError(f"training configuration: unknown {', '.join(sorted(unknown))}")
        try:
            return cls(**values)
        except (AttributeError, TypeError) as error:
            raise ArtifactError(f"training configuration: {error}") from None
