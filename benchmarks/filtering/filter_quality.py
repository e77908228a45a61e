"""How well do scores and filters tell good pairs from noise, and how fast is the default?

    python -m benchmarks filtering --data DIR [--only labelled,synthetic] [--peers PYTHON]

Sections, each merged into the JSON: ``labelled`` sets with labels by hand, AUC, average precision
and best F1 (filters are developed on paracrawl and opensubs; commoncrawl is for the report);
``synthetic`` held-out text, half of it made noisy (``text.py`` says which text, ``noise.py`` how):
the share of each kind that is removed, where 95% of what is removed is noise, and where 95% of what
is kept is good; ``throughput`` of the default filters, with the share of each.

Systems: single features; ``miner score`` and ``miner filter`` as they come; and, with ``--peers``,
OpusFilter and bicleaner-hardrules, which another environment has (README.md says how it is made).
One that is not there is reported so. No labels and no figures of test text choose anything.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.filtering import filter_metrics, filter_tables, noisy_text, throughput
from benchmarks.filtering.filter_peers import Peers
from benchmarks.filtering.noise import KINDS
from benchmarks.filtering.systems import MINER, Baselines, Missing, Ours, System
from miner.machine import thread_count

NAME = "filtering"
LIBRARIES = ("scikit-learn",)
SECTIONS = tuple(filter_tables.SECTIONS)
PRECISION = 0.95

Table = dict[str, System]


def labelled(data: Path, systems: Table) -> dict[str, Any]:
    sets = {one.name: (one, *noisy_text.labelled(data, one)) for one in noisy_text.SETS}

    def figures(system: System) -> dict[str, Any]:
        found = {}
        for name, (one, pairs, good) in sets.items():
            with _Attempt() as attempt:
                scores = system.score(pairs, one.languages)
                attempt.figures = (
                    filter_metrics.decision(scores > 0, good)
                    if system.decides
                    else filter_metrics.ranking(scores, good)
                )
            found[name] = attempt.figures
        return {"sets": found}

    described = {
        name: {
            "languages": one.languages,
            "development": one.development,
            "pairs": len(pairs),
            "good": int(good.sum()),
        }
        for name, (one, pairs, good) in sets.items()
    }
    return {"sets": described, "rows": _rows(systems, figures)}


def synthetic(data: Path, systems: Table) -> dict[str, Any]:
    texts = {
        languages: {
            split: noisy_text.mixture(data, languages, split) for split in noisy_text.SPLITS
        }
        for languages in noisy_text.LANGUAGES
    }

    def figures(system: System) -> dict[str, Any]:
        found = {}
        for languages, mixtures in texts.items():
            with _Attempt() as attempt:
                attempt.figures = told_apart(system, mixtures, languages)
            found[languages] = attempt.figures
        return {"texts": found}

    counts = {
        languages: {split: one.counts for split, one in mixtures.items()}
        for languages, mixtures in texts.items()
    }
    return {"precision": PRECISION, "texts": counts, "rows": _rows(systems, figures)}


def told_apart(
    system: System, mixtures: dict[str, noisy_text.Mixture], languages: str
) -> dict[str, Any]:
    """Precision, recall, and the removed share of each kind, on the test text.

    A ``decision`` is taken as it is. Scores are cut at thresholds chosen on the development text:
    at that which removes most where 95% of what it removes is noise (``removing``), and at that
    which keeps most where 95% of what it keeps is good (``keeping``); None where none does.
    ``oracle``: the threshold chosen on the test text itself.
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
    # Of the good against this kind alone: what a score sees, whatever the threshold. Of numbers and
    # names, which captions lack, a part of that is that news has other scores.
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


class _Attempt:
    """Metrics of a system, or the reason why there are none."""

    figures: dict[str, Any]

    def __enter__(self) -> "_Attempt":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if isinstance(error, Missing):
            self.figures = {"missing": str(error)}
        return isinstance(error, Missing)


def _rows(systems: Table, figures: Callable[[System], dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name, system in systems.items():
        print(f"  {name}", flush=True)
        rows.append({"name": name, "decides": system.decides, **figures(system)})
    return rows


def sections(text_: str) -> list[str]:
    names = text_.split(",")
    unknown = sorted(set(names) - set(SECTIONS))
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]}; take {', '.join(SECTIONS)}")
    return [name for name in SECTIONS if name in names]


def main() -> None:
    parser = report.parser(__doc__, "filtering.json")
    parser.add_argument(
        "--only", type=sections, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}"
    )
    parser.add_argument("--peers", type=Path, help="Python of the environment that has them")
    parser.add_argument("--miner", default=MINER, help="the command [that of this Python]")
    parser.add_argument("--threads", type=int, default=thread_count(), help="cores [all]")
    arguments = parser.parse_args()
    # So many cores for all that is measured: what is started here inherits it.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    peers = Peers(arguments.peers)
    for name in arguments.only:
        print(f"{name}:", flush=True)
        if name == "throughput":
            found = throughput.measure(arguments.data, arguments.miner)
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
