"""Measure which documents of two collections are paired: laws with noise, and templates.

    python -m benchmarks documents --data DIR

French and English laws that the model was not trained on, in pieces of 12 lines. Six of ten are on
both sides, two on each side alone. Settings were chosen on the other half of the laws.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import miner
from benchmarks import report
from benchmarks.markdown import table as markdown_table
from benchmarks.mining.document_sets import (
    Collections,
    boilerplate_pages,
    laws,
    noisy_laws,
    numbered_pages,
)
from miner import Encoder
from miner.scoring.matching import match_one_to_one

SEEDS = (1, 2, 3)
SETS: dict[str, Callable[[Any, int], Collections]] = {
    "laws, 30% of lines foreign": lambda pieces, seed: noisy_laws(pieces, 0.3, seed),
    "laws, 50% of lines foreign": lambda pieces, seed: noisy_laws(pieces, 0.5, seed),
    "pages that differ in one number": numbered_pages,
    "pages with 8 of 12 lines of a site": boilerplate_pages,
}
# Precision of the best threshold, and target precisions.
WANTED, ASKED = 0.98, (0.98, 0.95)


def means(encoder: Encoder, collections: Collections) -> np.ndarray:
    """Pair documents by the cosine of mean vectors; return which pairs are right, best first."""
    sides = []
    for documents in collections:
        vectors = np.stack([encoder.encode(lines).mean(axis=0) for lines in documents.values()])
        sides.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    score = sides[0] @ sides[1].T
    row, column = (place.ravel() for place in np.indices(score.shape))
    kept = match_one_to_one(score.ravel(), row, column)
    names = [np.array(list(documents)) for documents in collections]
    right: np.ndarray = names[0][row[kept]] == names[1][column[kept]]
    return right


def curve(right: np.ndarray, shared: int) -> dict[str, float]:
    """Return recall of all pairs, and of the longest list with precision ``wanted``."""
    recall = np.cumsum(right) / shared
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    return {"recall": recall[-1], "recall at .98": recall[precision >= WANTED].max(initial=0)}


def measure(encoder: Encoder, collections: Collections) -> dict[str, float]:
    """Pair two collections; return recall, precision reached at each target, CPU seconds."""
    with tempfile.TemporaryDirectory() as place:
        files = collections.write(Path(place))
        begun = _seconds()
        found = miner.align_documents(*files, encoder=encoder)
        seconds = _seconds() - begun
    pairs = found.all_pairs
    names = [np.array([name for name, _, _ in side]) for side in found.names]
    right = names[0][pairs.source] == names[1][pairs.target]
    result = {**curve(right, collections.shared), "cpu seconds": seconds}
    assert found.estimate is not None
    for asked in ASKED:
        kept = found.estimate.count(found.estimate.threshold(asked) or np.inf)
        result[f"precision asked {asked}"] = float(right[:kept].mean()) if kept else 1.0
        result[f"recall asked {asked}"] = right[:kept].sum() / collections.shared
    baseline = curve(means(encoder, collections), collections.shared)
    return {**result, **{f"{name} by means": value for name, value in baseline.items()}}


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def table(results: list[dict[str, Any]]) -> list[str]:
    """Lay out the results of all sets."""
    rows = [
        (
            row["set"],
            f"{row['documents']:,}",
            f"{row['recall by means']:.3f} / {row['recall at .98 by means']:.3f}",
            f"{row['recall']:.3f} / **{row['recall at .98']:.3f}**",
            *(
                f"{row[f'precision asked {asked}']:.3f} / {row[f'recall asked {asked}']:.3f}"
                for asked in ASKED
            ),
            f"{row['cpu seconds']:.1f}",
        )
        for row in results
    ]
    heads = "set", "documents a side", "mean vectors", "`align-documents`"
    asked = (f"precision {asked} asked" for asked in ASKED)
    return markdown_table([*heads, *asked, "CPU s"], rows)


def main() -> None:
    parser = report.parser(__doc__, "documents.json", model=True)
    parser.add_argument("--split", type=int, default=1, choices=(0, 1), help="half of laws [1]")
    arguments = parser.parse_args()
    encoder, results = Encoder.load(arguments.model), []
    pieces = laws(arguments.data, arguments.split)
    measure(encoder, noisy_laws(pieces[:100], 0.3, 0))  # fill caches
    for name, make in SETS.items():
        made = [make(pieces, seed) for seed in SEEDS]
        runs = [measure(encoder, collections) for collections in made]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        results.append({"set": name, "documents": len(made[0].source), **mean})
        print(table(results[-1:])[-1], flush=True)
    report.write(arguments.json, "documents", results)
