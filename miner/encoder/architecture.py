"""Architecture of an encoder: its parts, their units, and the combination of their vectors.

Free of numpy and of every other library, so that configurations and help texts load fast.
"""

from dataclasses import dataclass

# Kinds of units, and the vocabulary file of each in a model directory.
VOCABULARIES = {"piece": "sp.model", "word": "words.txt", "trigram": "trigrams.txt"}
# File of the words that Morfessor learned from, segmented, where the words are morphs.
SEGMENTATION = "morphs.txt"
# Prefix of the target column's files, in a model whose columns share no embedding.
TARGET = "target."

# Types of stored embeddings.
DTYPES = {
    "float16": "2 bytes a number",
    "int8": "1 byte, with a float32 scale for each row",
    "int4": "half a byte, with a float32 scale for each row; retrieval falls by less than .001",
}

COMBINATIONS = ("add", "concat")
POOLINGS = ("mean", "max")
DIRECTIONS = ("concat", "average")


@dataclass(frozen=True)
class EncoderKind:
    """Kind of encoder: the units it reads, and the network over them.

    ``network`` is a name of ``miner.encoder.recurrent.CELLS``, or None for the mean of the
    embeddings. ``both_ways`` adds a second network that reads from the end.
    """

    units: str
    network: str | None = None
    both_ways: bool = False


ENCODERS = {
    "sp": EncoderKind("piece"),
    "word": EncoderKind("word"),
    "trigram": EncoderKind("trigram"),
    "lstm": EncoderKind("word", "lstm"),
    "blstm": EncoderKind("word", "lstm", both_ways=True),
    "lstm-sp": EncoderKind("piece", "lstm"),
    "blstm-sp": EncoderKind("piece", "lstm", both_ways=True),
    "gran-lstm": EncoderKind("word", "gran-lstm"),
    "gran-gru": EncoderKind("word", "gran-gru"),
}


@dataclass(frozen=True)
class Architecture:
    """Parts of a model and the way they make one vector. Fields are named as in ``TrainConfig``.

    ``encoder`` names the parts, keys of :data:`ENCODERS` joined by "+". ``combine`` is one of
    :data:`COMBINATIONS`; ``pooling`` and ``directions``, of :data:`POOLINGS` and
    :data:`DIRECTIONS`, apply to recurrent parts. ``separate``: the source and the target column of
    the training text have separate vocabularies, so that an encoder needs to know its column.
    ``alike``: pieces with the same spelling in both vocabularies share an embedding (P19).
    ``one_script``: :func:`~miner.encoder.script_folding.in_one_script` is applied to sentences.
    Raises ValueError for anything else.
    """

    encoder: str = "sp"
    combine: str = "add"
    pooling: str = "mean"
    directions: str = "concat"
    fold_case: bool = True
    separate: bool = False
    alike: bool = False
    one_script: bool = False

    def __post_init__(self) -> None:
        known = (
            all(name in ENCODERS for name in self.encoders)
            and len(set(self.encoders)) == len(self.encoders)
            and self.combine in COMBINATIONS
            and self.pooling in POOLINGS
            and self.directions in DIRECTIONS
        )
        if not known:
            raise ValueError(f"no such encoder: {self}")

    @property
    def encoders(self) -> tuple[str, ...]:
        return tuple(self.encoder.split("+"))

    @property
    def units(self) -> tuple[str, ...]:
        """Kinds of units that the parts read, without repeats. Verification compares the first."""
        read = {ENCODERS[name].units for name in self.encoders}
        return tuple(units for units in VOCABULARIES if units in read)

    @property
    def plain(self) -> bool:
        """True for ``sp`` with one vocabulary and no other part."""
        return self.encoder == "sp" and not self.separate

    @property
    def described(self) -> bool:
        """True if a model directory needs ``encoder.json`` to describe this encoder."""
        return not self.plain or self.one_script
