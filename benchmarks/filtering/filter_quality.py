"""Measure how well scores and filters separate good pairs from noise.

    python -m benchmarks filtering --data DIR [--only SECTION ...] [--peers PYTHON]

Sections, each merged into the JSON:

- ``labelled``: AUC, average precision and best F1 on sets with labels by hand. Filters are
  developed on paracrawl and opensubs; commoncrawl is for the report only.
- ``synthetic``: held-out text (``noisy_text.py``), half of it corrupted (``noise.py``). Share of
  each kind of noise removed, at a threshold where 95% of the removed pairs are noise, and share of
  good pairs kept, at one where 95% of the kept pairs are good.
- ``numbers``: right numbers rejected and altered ones flagged (``altered_numbers.py``).
- ``rules``: right pairs that each cheap filter drops, in every language (``rules.py``).
- ``paragraphs``: rows of several sentences (``paragraph_rows.py``).
- ``without``: share of planted test sentences that ``--without`` finds (``planted.py``).

Systems: single features; ``miner score`` and ``miner filter`` with default settings; and, with
``--peers``, OpusFilter and bicleaner-hardrules from another environment
(docs/results/filtering.md). A missing system is reported as missing. Thresholds are never chosen on
test text.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.filtering import (
    altered_numbers,
    filter_metrics,
    filter_tables,
    noisy_text,
    paragraph_rows,
    planted,
    rules,
)
from benchmarks.filtering.filter_peers import Peers
from benchmarks.filtering.noise import KINDS
from benchmarks.filtering.systems import MINER, Baselines, Missing, Ours, System
from miner.machine import thread_count

NAME = "filtering"
LIBRARIES = ("scikit-learn",)
PRECISION = 0.95

Table = dict[str, System]


def labelled(data: Path, systems: Table) -> dict[str, Any]:
    sets = {one.name: (one, *noisy_text.labelled(data, one)) for one in noisy_text.SETS}

    def metrics(system: System, name: str) -> dict[str, Any]:
        one, pairs, good = sets[name]
        scores = system.score(pairs, one.languages)
        if system.decides:
            return filter_metrics.decision(scores > 0, good)
        return filter_metrics.ranking(scores, good)

    described = {
        name: {
            "languages": one.languages,
            "development": one.development,
            "pairs": len(pairs),
            "good": int(good.sum()),
        }
        for name, (one, pairs, good) in sets.items()
    }
    return {"sets": described, "rows": _rows(systems, "sets", sets, metrics)}


def synthetic(data: Path, systems: Table) -> dict[str, Any]:
    texts = {
        languages: {
            split: noisy_text.mixture(data, languages, split) for split in noisy_text.SPLITS
        }
        for languages in noisy_text.LANGUAGES
    }

    def metrics(system: System, languages: str) -> dict[str, Any]:
        return separated(system, texts[languages], languages)

    counts = {
        languages: {split: one.counts for split, one in mixtures.items()}
        for languages, mixtures in texts.items()
    }
    rows = _rows(systems, "texts", texts, metrics)
    return {"precision": PRECISION, "texts": counts, "rows": rows}


def separated(
    system: System, mixtures: dict[str, noisy_text.Mixture], languages: str
) -> dict[str, Any]:
    """Return precision, recall, and the removed share of each kind of noise on the test text.

    A ``decision`` is used as it is. Scores have two thresholds, chosen on the development text:
    ``removing`` removes most while 95% of the removed pairs are noise; ``keeping`` keeps most while
    95% of the kept pairs are good. None: no threshold does so. ``oracle``: the threshold is chosen
    on the test text itself.
    """
    test = mixtures["test"]
    scores = system.score(test.pairs, languages)
    if system.decides:
        return {"decision": _kept(scores > 0, test)}
    dev = mixtures["dev"]
    chosen_on = {
        "dev": (system.score(dev.pairs, languages), dev.good),
        "oracle": (scores, test.good),
    }
    found: dict[str, Any] = {"auc": filter_metrics.ranking(scores, test.good)["auc"]}
    kinds = np.array(test.kinds)
    # Good pairs against this kind alone, without a threshold. Captions have no numbers and names,
    # so part of these AUCs is the difference between the scores of captions and news.
    found["auc by kind"] = {
        kind: filter_metrics.ranking(scores[part], test.good[part])["auc"]
        for kind in KINDS
        if (part := test.good | (kinds == kind)).sum() > test.good.sum()
    }
    for name, choose in (
        ("removing", filter_metrics.removing),
        ("keeping", filter_metrics.keeping),
    ):
        found[name] = {}
        for where, (values, good) in chosen_on.items():
            threshold = choose(values, good, PRECISION)
            found[name][where] = (
                None
                if threshold is None
                else {"threshold": threshold, **_kept(scores >= threshold, test)}
            )
    return found


def _kept(kept: np.ndarray, mixture: noisy_text.Mixture) -> dict[str, Any]:
    removed = filter_metrics.removed(kept, mixture.kinds)
    removed.pop(noisy_text.GOOD)
    return {**filter_metrics.decision(kept, mixture.good), "removed": removed}


def _rows(
    systems: Table,
    parts: str,
    names: Iterable[str],
    metrics: Callable[[System, str], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Measure each system on the ``parts`` of these names; a missing one has the reason."""
    rows = []
    for system_name, system in systems.items():
        print(f"  {system_name}", flush=True)
        found: dict[str, Any] = {}
        for name in names:
            try:
                found[name] = metrics(system, name)
            except Missing as error:
                found[name] = {"missing": str(error)}
        rows.append({"name": system_name, "decides": system.decides, parts: found})
    return rows


def main() -> None:
    parser = report.parser(__doc__, "filtering.json", sections=filter_tables.SECTIONS)
    parser.add_argument("--peers", type=Path, help="Python interpreter of their environment")
    parser.add_argument("--miner", default=MINER, help="command to measure [of this environment]")
    parser.add_argument("--threads", type=int, default=thread_count(), help="cores [all]")
    arguments = parser.parse_args()
    # The commands started here inherit this limit of cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    peers = Peers(arguments.peers)
    for name in arguments.only:
        print(f"{name}:", flush=True)
        if name == "without":
            found = planted.measure(arguments.data)
        elif name == "numbers":
            found = altered_numbers.measure(arguments.data)
        elif name == "rules":
            found = rules.measure(arguments.data)
        elif name == "paragraphs":
            found = paragraph_rows.measure(arguments.data)
        else:
            systems = {
                **Baselines(arguments.threads).table(),
                **Ours(arguments.miner).table(),
                **peers.table(),
            }
            measure = labelled if name == "labelled" else synthetic
            found = {**measure(arguments.data, systems), "peers": peers.versions()}
        report.merge(arguments.json, NAME, name, found, LIBRARIES)
        print("\n".join(filter_tables.SECTIONS[name](found)), flush=True)
