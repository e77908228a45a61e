"""Measure the time of verification and of the estimate of precision, beside the search.

    python -m benchmarks verification --data DIR [--model default]

On bucc-style de-en test, about 54k x 68k sentences: the neighbour search alone (k = 8),
verification including tokenisation of both sides, and the estimate of precision: the search of the
decoys, their verification, and the refit.
They alternate in one run; medians are reported.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import report
from benchmarks.mining import bucc_protocol
from miner import Encoder, Index
from miner.knn.settings import SearchSettings
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.precision.estimate import calibrate
from miner.scoring.margin import candidates

RUNS = 3


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    arguments = report.parser(__doc__, "verification.json", model=True).parse_args()
    encoder = Encoder.load(arguments.model)
    task = bucc_protocol.located(arguments.data / "bucc-style", "de-en")
    seconds: dict[str, list[float]] = {"search": [], "search and verification": [], "estimate": []}
    with tempfile.TemporaryDirectory(prefix="verification-") as work:
        source, target = (
            Index.build(encoder, task.need(f"test.{side}"), Path(work) / side, format="bucc")
            for side in ("de", "en")
        )
        verifier = verifier_for(source, "probability", encoder)
        found = search_indexes(source, target, verifier, estimating=True)  # warm up: read files
        unverified = SearchSettings(k=found.settings.neighbors)
        for _ in range(RUNS):
            seconds["search"].append(
                timed(lambda: search_indexes(source, target, None, unverified))
            )
            verified = timed(lambda: search_indexes(source, target, verifier))
            estimated = timed(
                lambda: calibrate(search_indexes(source, target, verifier, estimating=True))
            )
            seconds["search and verification"].append(verified)
            seconds["estimate"].append(estimated - verified)
        sizes = [source.distinct, target.distinct]
        count = len(candidates(found.forward, found.backward))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    spent = median["search and verification"] - median["search"]
    result = {
        "sentences": sizes,
        "candidates": count,
        "seconds": {
            name: [round(value, 2) for value in values] for name, values in seconds.items()
        },
        "verification, seconds": round(spent, 2),
        "verification, share of the search": round(spent / median["search"], 3),
        "candidates a minute": round(count / spent * 60),
        "estimate, share of the search": round(median["estimate"] / median["search"], 3),
        "decoys": calibrate(found)[1].decoys,
    }
    report.write(arguments.json, "verification", result)
    for name, value in result.items():
        print(f"{name}: {value}")
