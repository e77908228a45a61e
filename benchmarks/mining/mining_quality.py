"""Mining quality on the BUCC-style sets: our recipes and the default model, from one command.

    python -m benchmarks mining --data DIR [--models models/bench]

For each language pair, one model is trained by the ``fast`` recipe and one by ``p19`` (Wieting et
al. 2019) on the pair's full training text, unless ``--models`` holds a model of the same
configuration and files. Both and the default model are measured by
:mod:`benchmarks.mining.bucc_protocol`, ranked by margin and by probability. Sentences of the test
sets of ``miner evaluate`` are left out of the training text.
"""

import time
from pathlib import Path

from benchmarks import report
from benchmarks.mining import bucc_protocol
from benchmarks.models import unseen
from miner import MinerError
from miner.encoder.model import load
from miner.knn.settings import SearchSettings
from miner_train.config import RECIPES, TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

PAIRS = ("de-en", "fr-en")


def trained(
    config: TrainConfig, pair: str, data: Path, output: Path, verifier: bool = True
) -> tuple[str, float | None]:
    """Train a model unless it is there.

    Returns its directory, and the seconds of its training (None for a model that was there).
    """
    files = sorted((data / "train" / pair).glob("*.tsv.xz"))
    if not files:
        raise MinerError(f"{data / 'train' / pair}: no training text (*.tsv.xz)")
    tests, count = unseen.written(data, output.parent / "tests")
    if output.exists():
        found = load(output).training
        # Not as dicts: one that was stored before a field was there has its default.
        same = "config" in found and TrainConfig.from_dict(found["config"]) == config
        same = same and found.get("excluded") == [{"name": tests.name, "sentences": count}]
        if same and [text["name"] for text in found["text"]] == [file.name for file in files]:
            return str(output), None
    started = time.perf_counter()
    texts = [TextPair(str(file)) for file in files]
    train_model(texts, config, output, exclude=[str(tests)], verifier=verifier, report=say)
    return str(output), round(time.perf_counter() - started, 1)


def say(line: str) -> None:
    """Print a line of a training at once."""
    print(line, flush=True)


def main() -> None:
    arguments = report.parser(__doc__, "bucc.json", models=True).parse_args()
    results = []
    for pair in PAIRS:
        for name in ("fast", "p19", "default"):
            model, seconds = "default", None
            if name != "default":
                output = arguments.models / f"{pair}-{name}"
                model, seconds = trained(RECIPES[name], pair, arguments.data, output)
            # P19 has no verification: its recipe is ranked by margin alone.
            for rank in ("margin", "probability")[: 1 if name == "p19" else 2]:
                settings = SearchSettings(rank=rank)
                result = bucc_protocol.measure(
                    model, arguments.data / "bucc-style", pair, None, settings
                )
                results.append({"name": name, "training seconds": seconds, **result})
                print(bucc_protocol.table(results[-1:]), flush=True)
                # After each model, so that a killed run leaves its results.
                report.write(arguments.json, "mining", results)
    print(bucc_protocol.table(results))
