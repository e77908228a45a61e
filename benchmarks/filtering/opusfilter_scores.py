"""OpusFilter's default filters on pairs: run by the Python that has OpusFilter, not by ours.

    PYTHON opusfilter_scores.py SOURCE_LANGUAGE TARGET_LANGUAGE < PAIRS > RESULT

PAIRS are source and target as TSV; RESULT is JSON: of each filter its name, and of each pair a
score, higher for better pairs, and whether the filter accepts it. The filters and their settings
are those of OpusFilter's own generator of configurations (``opusfilter-autogen``).
"""

import json
import logging
import sys

from opusfilter import CLEAN_FALSE, CLEAN_HIGH, CLEAN_LOW, CLEAN_TRUE, filters
from opusfilter.autogen import DefaultParameterFilters

# What the languages of our sets are written in.
SCRIPT = "Latin"


def main() -> None:
    logging.disable(logging.WARNING)  # of sentences it takes for the names of files
    text = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    pairs = [tuple(line.split("\t")[:2]) for line in text.split("\n")]
    chosen = DefaultParameterFilters(langs=sys.argv[1:3], scripts=[SCRIPT, SCRIPT])
    chosen.set_filter_thresholds()
    out = []
    for configured in chosen.filters:
        ((name, settings),) = configured.items()
        made = getattr(filters, name)(**settings)
        scores = list(made.score(pairs))
        accepted = [bool(made.accept(score)) for score in scores]
        label = f"{name}, {settings['name']}" if settings.get("name") else name
        values = [value(made.score_direction, score) for score in scores]
        # Those that are good between two bounds have no better or worse beside the decision.
        has_score = None not in values
        values = values if has_score else [float(one) for one in accepted]
        out.append({"name": label, "scores": values, "accepted": accepted})
    json.dump(out, sys.stdout)


def value(direction: str, score: object) -> float | None:
    """The score of the worse side, higher for better; None where there is no better."""
    values = score if isinstance(score, (list, tuple)) else [score]
    if direction in (CLEAN_HIGH, CLEAN_TRUE):
        return float(min(values))
    if direction in (CLEAN_LOW, CLEAN_FALSE):
        return -float(max(values))
    return None


if __name__ == "__main__":
    main()
