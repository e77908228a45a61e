"""Rows of the tables of encoders, each with its configuration.

The encoders share objective and text. Each has the other settings of its papers: LSTMs shuffle the
words of some sentences. Recurrent encoders take far longer, so they see the text fewer times. Two
averages are also trained for as few passes, for comparison.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.models.training_text import BILINGUAL
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES

RECURRENT = ("lstm", "blstm", "lstm-sp", "blstm-sp", "gran-lstm", "gran-gru")
# Passes of recurrent encoders over the text; averages take the ten of the recipe.
ONCE, FEW = 1, 3
# LSTMs shuffle words as in P19 and start from large embeddings, so that their gates distinguish
# words. With small ones, or with dropout, they do not learn in so few passes. GRANs start as in
# S18.
OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(RECURRENT[:4], {"scramble": 0.3, "initial": 1.0}),
    **dict.fromkeys(RECURRENT[4:], {"initial": 0.01}),
}
for _name in ("blstm", "blstm-sp"):
    OWN[_name] = {**OWN[_name], "directions": "concat"}

P19 = RECIPES["p19-tuned"]
# Recipe "fast", with the vocabularies, dimension and held-out pairs of the other rows.
SOFTMAX = replace(RECIPES["fast"], pieces=20_000, dimension=300, batch=512, heldout=6000)
PARAPHRASE = replace(P19, negatives_from="either")


@dataclass(frozen=True)
class Row:
    """One training. Rows with the same ``question`` share a table."""

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
    """Return the recipe for an encoder, or for several joined by "+", with its own settings."""
    own: dict[str, Any] = {}
    for part in encoder.split("+"):
        # In a combination with an average, initial embeddings follow the recipe.
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
    """Train recurrent encoders for ``epochs`` passes, and two averages for both numbers."""
    for row in rows:
        short = replace(row.config, epochs=epochs)
        if set(row.config.encoders) & set(RECURRENT):
            yield replace(row, config=short)
            continue
        yield row
        if row.name in ("sp", "word"):
            yield Row(f"{row.name}, {epochs} epoch{'s' * (epochs > 1)}", short)


def mixed(recipe: TrainConfig) -> Iterator[Row]:
    """Yield the mixed encoders of P18, and one with pieces in place of words."""
    for parts, combine in (
        ("word+trigram", "add"),
        ("word+trigram", "concat"),
        ("sp+trigram", "add"),
    ):
        name = f"{parts} ({'added' if combine == 'add' else 'side by side'})"
        yield Row(name, fitted(recipe, parts, combine=combine))


def untrained(*sizes: int) -> Iterator[Row]:
    """Yield the random baselines of P19 (table 2) for some sizes of the vocabulary."""
    random = RECIPES["random"]
    for pieces in sizes:
        name = f"sp, {pieces // 1000}k pieces" if len(sizes) > 1 else "sp"
        yield Row(f"{name}, random", replace(random, pieces=pieces))
    yield Row("trigram, random", replace(random, encoder="trigram"))


def questions() -> Iterator[Row]:
    """Yield the questions of P19 and P18: the P19 recipe with pieces, one setting changed."""

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
    # A small text of about 4,000 pieces, on which every encoder trains fast.
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
