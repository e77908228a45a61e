"""Settings of the training of a classifier, as in :mod:`miner_train.config`."""

from dataclasses import dataclass
from functools import partial

from miner.config_fields import Need, check, setting
from miner_train.config import DROPOUT, FOLD_CASE, SEED, TrainConfig

_text = partial(setting, "Text")
_encoder = partial(setting, "Encoder")
_vocabulary = partial(setting, "Vocabulary")
_objective = partial(setting, "Objective")
_negatives = partial(setting, "Negatives")
_steps = partial(setting, "Optimisation")

# Encoders of a classifier, by network and unit.
CLASSIFIER_ENCODERS = {
    ("average", "piece"): "sp",
    ("average", "word"): "word",
    ("lstm", "piece"): "lstm-sp",
    ("lstm", "word"): "lstm",
}


@dataclass(frozen=True)
class ClassifierConfig:
    """Settings of the training of a classifier. Epochs, rate and batch follow P17.

    Values are checked on creation. Raises ValueError that begins with the name of the field.
    """

    encoder: str = _encoder(
        "average",
        "average sees which words there are, and is fast; lstm sees their order too.",
        choices={"average": "mean of embeddings", "lstm": "mean of an LSTM's states"},
    )
    units: str = _encoder(
        "piece",
        "Units that it reads: SentencePiece pieces, of any language, or words.",
        choices={"piece": "SentencePiece pieces", "word": "words"},
    )
    pieces: int = _vocabulary(
        20_000,
        "Size of the vocabulary of pieces.",
        within="[8, inf)",
        need=Need("--units piece", lambda config: config.units == "piece"),
    )
    types: int = _vocabulary(
        200_000,
        "Size of the vocabulary of words: the most frequent ones.",
        within="[1, inf)",
        need=Need("--units word", lambda config: config.units == "word"),
    )
    fold_case: bool = _vocabulary(True, FOLD_CASE, off="--keep-case")
    dimension: int = _encoder(300, "Length of an embedding and of a state.", within="[1, inf)")
    epochs: int = _steps(10, "Passes over all sentences.", within="[1, inf)")
    batch: int = _steps(100, "Sentences of one step.", within="[2, inf)")
    rate: float = _steps(0.001, "Learning rate of Adam.", within="(0, inf)")
    dropout: float = _steps(0.0, DROPOUT, within="[0, 1)")
    l2: float = _objective(
        0.0,
        "Weight of the squares of the parameters, embeddings aside (P17).",
        within="[0, inf)",
    )
    l2_words: float = _objective(
        0.0,
        "Weight of embeddings' squared distance from their start (L2 in the text of P17).",
        within="[0, inf)",
    )
    translation: str = _negatives(
        "random",
        "Translation of a matched pair that a batch takes, of several (P17).",
        choices={
            "random": "any of them",
            "hardest": "the one most like a reference by the current classifier",
        },
    )
    heldout: float = _text(
        0.1,
        "Sentences to judge each epoch by: a share of each class, or from 2 on a number of both "
        "together; at most half of a class.",
    )
    test: float = _text(
        0.1,
        "Sentences to judge the chosen epoch by, which chose nothing: a share or a number as in "
        "--heldout, at most a quarter of a class. 0: none.",
    )
    seed: int = _steps(1, SEED, within=f"[0, {1 << 62})")

    def __post_init__(self) -> None:
        check(self)
        for name, none in (("heldout", False), ("test", True)):
            value = getattr(self, name)
            if not (0 < value < 1 or (none and value == 0) or (value >= 2 and value % 1 == 0)):
                raise ValueError(f"{name} = {value:g} is neither a share nor a number from 2")

    @property
    def name(self) -> str:
        """Name of the encoder in :data:`miner.encoder.architecture.ENCODERS`."""
        return CLASSIFIER_ENCODERS[self.encoder, self.units]

    @property
    def encoding(self) -> TrainConfig:
        """Settings of the encoder; their objective and negatives are not used."""
        shared = ("pieces", "types", "fold_case", "dimension", "batch", "rate", "dropout", "seed")
        return TrainConfig(
            encoder=self.name,
            initial=0.1,
            lambda_c=self.l2 if self.encoder == "lstm" else 0.0,
            lambda_w=self.l2_words,
            **{name: getattr(self, name) for name in shared},
        )
