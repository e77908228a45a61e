"""Measure mining on the BUCC-style sets, for models of both recipes and the default model.

    python -m benchmarks mining --data DIR [--models models/bench] [--only NAME ...]

For each language pair, one model is trained by the ``fast`` recipe and one by ``p19-tuned`` (the
objective of Wieting et al. 2019) on the full training text of the pair, unless ``--models`` holds a
model of the same configuration and files. These models and the default model follow the protocol of
:mod:`benchmarks.mining.bucc_protocol`, ranked by margin and by probability. Sentences of the test
sets of ``miner evaluate`` are left out of the training text. ``--only default`` measures one model
again and keeps the rows of the others.
"""

from pathlib import Path

from benchmarks import report
from benchmarks.mining import bucc_protocol
from benchmarks.models import unseen
from benchmarks.models.trained_models import trained
from miner import MinerError
from miner.knn.settings import SearchSettings
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES

PAIRS = ("de-en", "fr-en")
MODELS = ("fast", "p19-tuned", "default")


def trained_on(pair: str, config: TrainConfig, data: Path, output: Path) -> float:
    """Train a model on the text of a pair, or reuse it; return the seconds of its training."""
    files = sorted((data / "train" / pair).glob("*.tsv.xz"))
    if not files:
        raise MinerError(f"{data / 'train' / pair}: no training text (*.tsv.xz)")
    kept_out = unseen.written(data, output.parent / "tests")
    return trained(files, config, output, exclude=kept_out).clock


def main() -> None:
    arguments = report.parser(__doc__, "bucc.json", "models/bench", MODELS).parse_args()
    results = []
    for pair in PAIRS:
        for name in arguments.only:
            model, seconds = "default", None
            if name != "default":
                output = arguments.models / f"{pair}-{name}"
                model = str(output)
                seconds = trained_on(pair, RECIPES[name], arguments.data, output)
            # A P19 model has no verifier, so only margins rank.
            for rank in ("margin", "probability")[: 1 if name == "p19-tuned" else 2]:
                settings = SearchSettings(rank=rank)
                result = bucc_protocol.measure(
                    model, arguments.data / "bucc-style", pair, None, settings
                )
                results.append({"name": name, "training seconds": seconds, **result})
                print(bucc_protocol.table(results[-1:]), flush=True)
                # Written after each model, so that a killed run leaves its results.
                report.replace(
                    arguments.json,
                    "mining",
                    results,
                    lambda row: (row["pair"], row["name"], row["settings"]["rank"]),
                )
    print(bucc_protocol.table(results))
