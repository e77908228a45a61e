"""Train one row, unless its model is there, and take its figures."""

import hashlib
import json
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.mining import bucc_protocol
from benchmarks.models.encoder_text import BILINGUAL, Text
from miner import Encoder, MinerError
from miner.encoder.model import load as load_model
from miner.evaluation import sts, tatoeba
from miner.evaluation.evaluated_model import ENGLISH, MinerModel
from miner.knn.settings import SearchSettings
from miner.text.corpus import read
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

# Encoded to take the speed: the first English sentences of the mining task, so many times. They
# are as many chunks for each of two or four threads (miner.encoder.encoder.CHUNK).
SENTENCES, ROUNDS = 8000, 5
# Seconds between two notes of how long a training has taken.
EVERY = 10.0


class Clock:
    """Seconds from the text to the last step so far, over all runs of one training.

    The note on disk is what a run that was killed leaves.
    """

    def __init__(self, note: Path):
        self.note = note
        self.before = float(note.read_text()) if note.exists() else 0.0
        self.started = self.noted = time.perf_counter()
        self.seconds = self.before

    def say(self, line: str) -> None:
        """Print a line of the training with its time."""
        print(f"  {time.perf_counter() - self.started:6.0f} s  {line}", flush=True)

    def tick(self, stage: str, done: int, total: int | None) -> None:
        """Count the time up to this step (a :data:`miner.progress.Reporter`)."""
        now = time.perf_counter()
        self.seconds = self.before + now - self.started
        if now - self.noted > EVERY:
            self.save()

    def save(self) -> None:
        self.noted = time.perf_counter()
        self.note.write_text(f"{self.seconds:.1f}\n")


def trained(config: TrainConfig, text: Text, models: Path) -> tuple[Path, float]:
    """The model's directory, and the seconds from the text to the last step (0: none was taken).

    What is learned after that to verify candidates is no part of the encoder, and not counted.
    """
    changed = settings(config)
    digest = hashlib.sha256(json.dumps([text.fingerprint, changed]).encode()).hexdigest()[:8]
    place = models / f"{text.name}.{config.encoder}.{digest}"
    output, note = place / "model", place / "seconds"
    if not there(output, config, text):
        place.mkdir(parents=True, exist_ok=True)
        clock = Clock(note)
        train_model(
            [TextPair(str(text.path))],
            config,
            output,
            verifier=False,
            report=clock.say,
            progress=clock.tick,
        )
        clock.save()
    return output, float(note.read_text()) if note.exists() else 0.0


def settings(config: TrainConfig) -> dict[str, Any]:
    """Return the settings of a configuration that differ from the defaults."""
    default = TrainConfig().as_dict()
    return {name: value for name, value in config.as_dict().items() if value != default[name]}


def there(output: Path, config: TrainConfig, text: Text) -> bool:
    """Tell if a model of exactly this configuration and text lies there."""
    if not output.exists():
        return False
    training = load_model(output).training
    same = training.get("text fingerprint") == text.fingerprint
    return same and TrainConfig.from_dict(training["config"]) == config


def figures(model: Path, data: Path, bilingual: bool) -> dict[str, Any]:
    """Metrics of a model on each set, and the cost of its use."""
    evaluated = MinerModel(str(model))
    found: dict[str, Any] = {}
    if bilingual:
        mined = bucc_protocol.measure(
            str(model), data / "bucc-style", BILINGUAL, None, SearchSettings(rank="margin")
        )
        found["bucc"] = {name: mined[name] for name in ("training", "test", "test oracle")}
        found["tatoeba"] = retrieved(evaluated, data)
    result = sts.evaluate(evaluated, data)
    by_set: dict[str, dict[str, float]] = {}
    for one in result.metrics:
        by_set.setdefault(one.dataset, {"pairs": one.items})[one.name] = one.value
    mean = sts.mean_in(result.metrics, sts.ALL_YEARS)
    if mean is None:
        raise MinerError(f"{data / 'sts'}: no data sets of STS 2012 to 2016 (2012.*.tsv)")
    found["sts 12-16"] = 100 * mean.value
    found["sts-b"] = 100 * by_set[ENGLISH_STS][sts.PEARSON]
    found["sts"] = {name: one for name, one in by_set.items() if one["pairs"] and in_table(name)}
    english = evaluated.encoder(ENGLISH)
    found["sentences/s"] = speed(english, data)
    found["parameters"] = english.model.parameters
    return found


ENGLISH_STS = sts.BENCHMARK.format(ENGLISH)


def in_table(name: str) -> bool:
    """Tell if an STS set is one that encoders are compared on."""
    return name == ENGLISH_STS or name.split(".")[0] in sts.YEARS


def retrieved(model: MinerModel, data: Path) -> dict[str, float]:
    """Accuracy on Tatoeba by the cosine."""
    path = tatoeba.sets(data).get(BILINGUAL)
    if path is None:
        raise MinerError(f"{data / tatoeba.TASK}: no {BILINGUAL}.tsv, plain or compressed")
    by_metric = {one.name: one for one in tatoeba.accuracies(model, BILINGUAL, path)[0]}
    ways = {"to_target": "there", "to_source": "back", "mean": "both ways"}
    found: dict[str, float] = {
        name: by_metric[f"{way} by cosine"].value for name, way in ways.items()
    }
    return {**found, "pairs": by_metric["there by cosine"].items}


def speed(encoder: Encoder, data: Path) -> dict[str, int]:
    """Text to vectors, in memory."""
    task = bucc_protocol.located(data / "bucc-style", BILINGUAL)
    sentences = read(task.need("test.en"), format="bucc").sentences
    sample = sentences[:SENTENCES]
    encoder.encode(sample[: SENTENCES // 20])  # compile, warm up
    rates = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        encoder.encode(sample)
        rates.append(len(sample) / (time.perf_counter() - started))
    return {
        "median": round(statistics.median(rates)),
        "min": round(min(rates)),
        "max": round(max(rates)),
        "sentences": len(sample),
    }
