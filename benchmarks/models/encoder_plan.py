"""Rows of every table of encoders, each with its whole configuration.

The encoders share objective and text, and each has what else its papers give it: LSTMs shuffle the
words of some sentences. Recurrent encoders see the text fewer times, for it takes them far longer;
beside them stand averages that see it as few times.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.models.encoder_text import BILINGUAL
from miner_train.config import RECIPES, TrainConfig

RECURRENT = ("lstm", "blstm", "lstm-sp", "blstm-sp", "gran-lstm", "gran-gru")
# Passes of recurrent encoders over the text, where averages take the recipe's ten.
ONCE, FEW = 1, 3
# LSTMs are scrambled as in P19, and start from embeddings so large that their gates tell words
# apart; from small ones, or with dropout, they do not leave the start in so few passes. GRANs start
# as in S18.
OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(RECURRENT[:4], {"scramble": 0.3, "initial": 1.0}),
    **dict.fromkeys(RECURRENT[4:], {"initial": 0.01}),
}

P19 = RECIPES["p19"]
# The other objective: the same vocabularies, vectors and held-out pairs, so that only it differs.
SOFTMAX = replace(RECIPES["fast"], pieces=20_000, dimension=300, batch=512, heldout=6000)
PARAPHRASE = replace(P19, negatives_from="either")


@dataclass(frozen=True)
class Row:
    """One training; ``question`` is what it is one of the answers to, if to any."""

    name: str
    config: TrainConfig
    question: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.question, self.name


@dataclass(frozen=True)
class Group:
    """Rows on one text. Only two languages can be mined."""

    text: str
    rows: tuple[Row, ...]

    @property
    def bilingual(self) -> bool:
        return self.text == BILINGUAL


def fitted(recipe: TrainConfig, encoder: str, **changes: Any) -> TrainConfig:
    """The recipe for an encoder, or several joined by "+", with the settings that are its own."""
    own: dict[str, Any] = {}
    for part in encoder.split("+"):
        # The embeddings of an average that takes part start as the recipe says.
        own |= {
            name: value
            for name, value in OWN.get(part, {}).items()
            if name != "initial" or part == encoder
        }
    return replace(recipe, **{"encoder": encoder, **own, **changes})


def encoders(recipe: TrainConfig, names: tuple[str, ...]) -> Iterator[Row]:
    for name in names:
        yield Row(name, fitted(recipe, name))


def shortened(rows: Iterable[Row], epochs: int) -> Iterator[Row]:
    """The rows, those with a recurrent encoder in as many epochs; two averages in as many, too."""
    for row in rows:
        short = replace(row.config, epochs=epochs)
        if set(row.config.encoders) & set(RECURRENT):
            yield replace(row, config=short)
            continue
        yield row
        if row.name in ("sp", "word"):
            yield Row(f"{row.name}, {epochs} epoch{'s' * (epochs > 1)}", short)


def mixed(recipe: TrainConfig) -> Iterator[Row]:
    """P18's mixed encoders, and pieces for words."""
    for parts, combine in (
        ("word+trigram", "add"),
        ("word+trigram", "concat"),
        ("sp+trigram", "add"),
    ):
        name = f"{parts} ({'added' if combine == 'add' else 'side by side'})"
        yield Row(name, fitted(recipe, parts, combine=combine))


def untrained(*sizes: int) -> Iterator[Row]:
    """P19's random baselines (table 2), of so many pieces."""
    random = RECIPES["random"]
    for pieces in sizes:
        name = f"sp, {pieces // 1000}k pieces" if len(sizes) > 1 else "sp"
        yield Row(f"{name}, random", replace(random, pieces=pieces))
    yield Row("trigram, random", replace(random, encoder="trigram"))


def questions() -> Iterator[Row]:
    """P19's and P18's, all with pieces: one thing at a time is other than in the P19 recipe."""

    def row(question: str, name: str, **changes: Any) -> Row:
        return Row(name, replace(P19, **changes), question)

    megabatch = "mega-batch"
    yield row(megabatch, "1", megabatch=1, anneal=0)
    for size in (20, 40, 120):
        yield row(megabatch, f"{size}, at once", megabatch=size, anneal=0)
        yield row(megabatch, f"{size}, grows by 1 in {P19.anneal} steps", megabatch=size)
    for sides in ("opposite", "either"):
        yield row("negatives from", f"{sides} language", negatives_from=sides)
    for kind, name in (("max", "hardest"), ("rand", "random"), ("mix", "half and half")):
        yield row("negatives", name, negatives=kind)
    for dimension in (100, 300, 1024):
        yield row("dimension", str(dimension), dimension=dimension)
    for pieces in (10_000, 20_000, 40_000):
        yield row("pieces", f"{pieces:,}", pieces=pieces)
    for kind in ("shared", "separate"):
        yield row("vocabularies", kind, vocabularies=kind)


AVERAGES = ("sp", "word", "trigram")
GROUPS = {
    "bilingual": Group(
        BILINGUAL,
        (
            *shortened(encoders(P19, AVERAGES), ONCE),
            *mixed(P19),
            *untrained(20_000, 40_000),
            *shortened(encoders(P19, RECURRENT), ONCE),
        ),
    ),
    "softmax": Group(BILINGUAL, tuple(encoders(SOFTMAX, AVERAGES))),
    "questions": Group(BILINGUAL, tuple(questions())),
    # The text is so small that it has some 4,000 pieces, and that every encoder is quickly trained.
    "english": Group(
        "english",
        (
            *shortened(encoders(PARAPHRASE, AVERAGES), FEW),
            *mixed(PARAPHRASE),
            *untrained(20_000),
            *shortened(encoders(PARAPHRASE, (*RECURRENT, "word+trigram+lstm")), FEW),
        ),
    ),
}


def quickly(config: TrainConfig) -> TrainConfig:
    """The same for a try: an epoch, a small vocabulary."""
    return replace(
        config, epochs=min(1, config.epochs), pieces=min(config.pieces, 1000), types=5000
    )
