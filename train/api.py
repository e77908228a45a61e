"""Function `train`, the Python form of ``miner train``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from miner.encoder.encoder import Encoder
from miner.libraries import require
from miner.progress import Reporter, silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.text.durable import scratch_directory
from miner.text.formats import USUAL_FORMAT, BitextFormat
from miner.text.in_memory import Given, GivenTexts, given_bitexts
from miner.text.language_codes import language_pair
from miner_train.config import TrainConfig
from miner_train.read import TextPair
from miner_train.recipes import recipe


def train(
    source: Given,
    target: Given | None = None,
    *,
    output: str | Path,
    config: TrainConfig | str = "fast",
    languages: str | None = None,
    without: Without = NOTHING,
    layout: BitextFormat = USUAL_FORMAT,
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
) -> Encoder:
    """Train a model on a bitext, save it to the directory ``output``, and return its encoder.

    >>> train(pairs, output="models/de-en", config=replace(recipe("fast"), epochs=4))

    A bitext is as in :func:`miner.score`. ``config`` is a recipe or its settings, ``languages`` the
    pair of languages (``de-en``), if file names do not contain it. Sentences in the files of
    ``without`` are excluded. A stopped training continues when it is called again.

    Raises CorpusError, ArtifactError, DependencyError and ResourceError.
    """
    if languages is not None:
        language_pair(languages.split("-"))
    require(["torch", "sklearn"], "training", "train")
    from miner_train.pipeline import train_model

    with scratch_directory() as directory:
        texts = []
        for first, *other in given_bitexts(source, target):
            if isinstance(first, GivenTexts):
                path, layout = directory / "pairs.jsonl", BitextFormat(format="jsonl")
                path.write_bytes(b"".join(first.lines))
                first = str(path)
            second = str(other[0]) if other else None
            texts.append(TextPair(first, second, layout, named=languages))
        means: dict[str, Any] = {"without": without, "report": note, "progress": report}
        if isinstance(config, str):
            config, means["given"] = recipe(config), ()
        model = train_model(texts, config, output, **means)
    return Encoder(model)
