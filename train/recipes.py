"""Recipes: initial settings of a training, their changes for single encoders, and their list.

The module imports neither numpy nor torch. A recipe with the name of a paper has the paper's
settings, and those of its released code where the paper is silent (docs/papers.md names them).
``p19-tuned`` is P19's objective with settings that mine better on little text.
"""

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from miner.config_fields import FieldOption, option_name, settings
from miner.encoder.architecture import ENCODERS
from miner_train.config import TrainConfig

# P19's objective, tuned by this project on held-out mining.
_TUNED = TrainConfig(
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
# The best rows of P19 have d = 1024. Embeddings have torch's initial distribution.
_P19 = dataclasses.replace(
    _TUNED,
    dimension=1024,
    initial=1.0,
    distribution="normal",
    adam="dense",
    embedding_dropout=0.3,
)
# Released code of P18: N(0, 0.01) for embeddings without a pretrained vector.
_P18 = dataclasses.replace(
    _TUNED,
    encoder="word+trigram",
    initial=0.01,
    distribution="normal",
    adam="dense",
    batch=100,
    megabatch=40,
    anneal=0,
    epochs=5,
    # Two columns of one language: negatives may be any other sentence.
    negatives_from="either",
)
# Recipes by name; every option of ``miner train`` overrides one field.
RECIPES: dict[str, TrainConfig] = {
    "fast": TrainConfig(),
    "p19": _P19,
    "p19-tuned": _TUNED,
    "p18": _P18,
    "p17": dataclasses.replace(_P18, encoder="word", megabatch=1, epochs=20),
    "s18": dataclasses.replace(
        _TUNED,
        encoder="gran-gru",
        segmentation="morfessor",
        objective="contrastive",
        negatives="rand",
        negatives_from="either",
        initial=0.01,
        variational=0.2,
        adam="dense",
        megabatch=1,
        anneal=0,
    ),
    "random": dataclasses.replace(
        _TUNED, initial=1.0, distribution="normal", megabatch=1, anneal=0, epochs=0
    ),
}
RECIPE_NOTES = {
    "fast": "in-batch softmax with additive margin: mines best",
    "p19": "Wieting et al. 2019, as published: margin loss, annealed mega-batches, negatives of "
    "the other column, dropout, d = 1024",
    "p19-tuned": "the same objective, tuned for mining: small embeddings at the start, no dropout, "
    "d = 300, lazy Adam",
    "p18": "Wieting and Gimpel 2018: words and trigrams on paraphrases, mega-batches of 40",
    "p17": "Wieting et al. 2017: an average of words on paraphrases; with --encoder gran-lstm 3 "
    "epochs",
    "s18": "Sjöblom et al. 2018: contrastive loss on labelled or ranked paraphrases, GRAN over a "
    "GRU on morphs (--label-col, or --score-col with --clean 0.8)",
    "random": "untrained baselines of Wieting et al. 2019 (--encoder sp or trigram)",
}

# P18 and P19, after Wieting and Gimpel 2017, shuffle the words or pieces that an LSTM reads.
_SHUFFLED: dict[str, Any] = {"scramble": 0.3}
# The BLSTM of P19 concatenates 2 x 150 states.
_NETWORK: dict[str, Any] = {**_SHUFFLED, "dimension": 300}
# With small initial embeddings an LSTM may not start to learn (benchmarks/LOG.md).
_LARGE: dict[str, Any] = {"initial": 1.0, "distribution": "normal"}
# Settings of a recipe that differ for an encoder, by recipe and encoder.
FOR_ENCODER: dict[str, dict[str, dict[str, Any]]] = {
    "p19": {
        "trigram": {"dimension": 300},
        "word": {"dimension": 300},
        **dict.fromkeys(("lstm", "lstm-sp"), _NETWORK),
        **dict.fromkeys(("blstm", "blstm-sp"), {**_NETWORK, "directions": "concat"}),
    },
    "p19-tuned": dict.fromkeys(("lstm", "blstm", "lstm-sp", "blstm-sp"), {**_SHUFFLED, **_LARGE}),
    "p18": dict.fromkeys(("lstm", "blstm"), _SHUFFLED),
    "p17": {"gran-lstm": {"epochs": 3}},
    "fast": dict.fromkeys(("lstm", "blstm", "lstm-sp", "blstm-sp"), _LARGE),
}


def recipe(name: str, encoder: str | None = None) -> TrainConfig:
    """Return a recipe, adapted to ``encoder`` if it differs from the recipe's encoder.

    Settings without effect for the encoder fall back to their defaults. Encoders joined by "+"
    share the settings of the recipe. Raises KeyError for an unknown name, and ValueError that
    begins with a field's name for an invalid encoder.
    """
    base = RECIPES[name]
    if encoder is None or encoder == base.encoder:
        return base
    own: dict[str, Any] = {**FOR_ENCODER.get(name, {}).get(encoder, {}), "encoder": encoder}
    if set(encoder.split("+")) <= set(ENCODERS):
        plain = TrainConfig(encoder=encoder)
        for field in dataclasses.fields(TrainConfig):
            setting: FieldOption = field.metadata["setting"]
            # Only the encoder decides whether these settings have an effect.
            by_encoder = setting.group in ("Encoder", "Vocabulary", "Optimisation")
            if by_encoder and setting.need and not setting.idle and not setting.need.met(plain):
                own[field.name] = field.default
    return dataclasses.replace(base, **own)


def listing() -> str:
    """Explain every choice and recipe, generated from the fields of TrainConfig."""
    described = settings(TrainConfig)
    lines: list[str] = []
    for name, own in described.items():
        if own.choices:
            lines += _section(f"{option_name(name)}: {own.help}", own.choices)
    lines += _section("--recipe: settings to start from.", RECIPE_NOTES)
    lines.append("Settings of the recipes:")
    columns = [
        [title, *(_shown(getattr(one, name)) for name in described)]
        for title, one in RECIPES.items()
    ]
    widths = [max(map(len, column)) for column in columns]
    for name, *values in zip(["", *map(option_name, described)], *columns, strict=True):
        cells = (f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
        lines.append("  ".join([f"  {name:19}", *cells]))
    lines += ["", "Settings of a recipe that --encoder changes:"]
    for name, encoders in FOR_ENCODER.items():
        for encoder, changes in encoders.items():
            changed = ", ".join(f"{option_name(key)} {_shown(changes[key])}" for key in changes)
            lines.append(f"  {name} --encoder {encoder}: {changed}")
    return "\n".join(lines)


def _section(title: str, notes: Mapping[str, str]) -> Iterator[str]:
    yield title
    for name, note in notes.items():
        yield from textwrap.wrap(
            note, 100, initial_indent=f"  {name:12} ", subsequent_indent=" " * 15
        )
    yield ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
