"""Rows of the tables of models: train or reuse a model, measure it once, go on after a kill."""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import report
from benchmarks.models.trained_models import Spent, settings, trained
from benchmarks.models.training_text import Text
from miner import MinerError
from miner.encoder.model import load
from miner_train.config import TrainConfig

Row = dict[str, Any]
# Results of a section so far, with its ``rows``.
Results = dict[str, Any]


class Bench:
    """Models and metrics of one run.

    data, models: directories. old: rows of an earlier run by section; their metrics are reused for
    models with the same fingerprint, which have the same vectors. quick: train small models only.
    """

    def __init__(self, data: Path, models: Path, old: Mapping[str, list[Row]], quick: bool = False):
        self.data, self.models, self.quick = data, models, quick
        self.known = {
            row["fingerprint"]: row["figures"]
            for rows in old.values()
            for row in rows
            if "fingerprint" in row
        }

    @property
    def work(self) -> Path:
        """Directory of the training text."""
        return self.models / "text"

    def model(self, text: Text, config: TrainConfig) -> tuple[Path, Spent]:
        """Train a model unless it exists; return its directory and training seconds."""
        config = self.used(config)
        key = json.dumps([text.described["fingerprint"], settings(config)])
        digest = hashlib.sha256(key.encode()).hexdigest()[:8]
        output = self.models / f"{text.name}.{config.encoder}.{digest}"
        spent = trained([text.path], config, output, verifier=False)
        return output, spent

    def used(self, config: TrainConfig) -> TrainConfig:
        """Return the configuration for the training, smaller in a quick run."""
        return quickly(config) if self.quick else config

    def measured(
        self, text: Text, config: TrainConfig, measure: Callable[[Path], dict[str, Any]]
    ) -> Row:
        """Return settings, training seconds and metrics of a model, or why it failed."""
        found: Row = {"settings": settings(self.used(config))}
        try:
            model, spent = self.model(text, config)
            fingerprint = load(model).fingerprint
            if fingerprint not in self.known:
                self.known[fingerprint] = measure(model)
        except MinerError as error:  # for example if the training diverges; the other rows continue
            print(f"error: {error}", flush=True)
            return {**found, "failed": str(error).splitlines()[0]}
        return {
            **found,
            "training seconds": spent.clock,
            "training CPU seconds": spent.cpu,
            "fingerprint": fingerprint,
            "figures": self.known[fingerprint],
        }


def quickly(config: TrainConfig) -> TrainConfig:
    """Return a configuration for a quick run: one epoch, a small vocabulary."""
    return replace(
        config, epochs=min(1, config.epochs), pieces=min(config.pieces, 1000), types=5000
    )


def earlier(path: Path | None, libraries: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows of an earlier run on this machine with these versions, by section."""
    if path is None or not path.exists():
        return {}
    same = {"versions": report.versions(libraries), "hardware": report.hardware()}
    return {
        name: section["results"]["rows"]
        for name, section in json.loads(path.read_text(encoding="utf-8"))["sections"].items()
        if {key: section[key] for key in same} == same
    }


def completed(results: Results, old: Sequence[Row]) -> Results:
    """Add the old rows that are not measured again yet."""

    def key(row: Row) -> tuple[Any, ...]:
        return row.get("group"), row.get("question"), row["name"], row.get("seed")

    done = {key(row) for row in results["rows"]}
    return {**results, "rows": [*results["rows"], *(row for row in old if key(row) not in done)]}


AnyBench = TypeVar("AnyBench", bound=Bench)


def run(
    name: str,
    sections: Mapping[str, Callable[[AnyBench], Iterator[Results]]],
    table: Callable[[str, Results], list[str]],
    arguments: argparse.Namespace,
    make: Callable[[Mapping[str, list[Row]]], AnyBench],
    libraries: Sequence[str] = (),
) -> None:
    """Run the sections of a benchmark, write the results after each row, print the tables.

    ``make`` returns the bench, given the rows of an earlier run.
    """
    path = report.destination(arguments)
    old = earlier(path, libraries)
    bench = make(old)
    for section in arguments.only:
        results: Results = {"rows": []}
        for results in sections[section](bench):
            rows = old.get(section, [])
            report.merge(path, name, section, completed(results, rows), libraries)
        # Old rows that the section no longer has are dropped.
        report.merge(path, name, section, results, libraries)
        print("\n".join(table(section, results)), flush=True)
