"""Filter by language, with a fastText model such as OpenLID or GlotLID: lid."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from miner.errors import ArtifactError
from miner.filters.filter_types import Batch, Context, Filter, Scorer, Setting
from miner.libraries import library
from miner.text.language_codes import alike, describe, primary
from miner.text.output import one_line

# Labels of a text that are looked at: the likeliest, among them all scripts of a language.
MOST = 8


def _lid(settings: Mapping[str, Any], context: Context) -> Scorer:
    path = context.directory / settings["file"]
    fasttext = library("fasttext", "the filter lid", "lid")
    try:
        model = fasttext.load_model(str(path))
    except ValueError as error:
        raise ArtifactError(f"{path}: not a fastText model ({error})") from None
    # __label__deu_Latn is de; so is __label__de.
    codes = {label: primary(label.removeprefix("__label__")) for label in model.labels}
    for code in filter(None, context.languages):
        if alike(code).isdisjoint(codes.values()):
            raise ArtifactError(f"{path}: has no label of {describe(code)}; leave out --lid")

    def side(texts: Sequence[str], language: str) -> np.ndarray:
        found = model.predict([one_line(text) for text in texts], MOST)
        own = alike(language)
        return np.array(
            [
                sum(p for label, p in zip(*one, strict=True) if codes[label] in own)
                for one in zip(*found, strict=True)
            ]
        )

    def score(batch: Batch) -> np.ndarray:
        sides = zip(batch.sides, context.languages, strict=True)
        return np.min([side(texts, code or "") for texts, code in sides], axis=0)

    return score


FILTERS = (
    Filter(
        "lid",
        "probability of a side's own language by a fastText model, 0 to 1; the worse side",
        "in its language with a probability of {value:.2f}",
        "higher",
        _lid,
        minimum=0.5,
        settings={"file": Setting(None, "the model, such as OpenLID or GlotLID", file=True)},
        languages=True,
        libraries=("fasttext-numpy2",),
        paper="Joulin et al. 2017; Burchell et al. 2023, OpenLID; Kargaran et al. 2023, GlotLID",
    ),
)
