"""Score pairs by the default filters of OpusFilter; runs in an environment that has OpusFilter.

    PYTHON opusfilter_scores.py SOURCE_LANGUAGE TARGET_LANGUAGE < PAIRS > RESULT

PAIRS are source and target as TSV. RESULT is JSON: the name of each filter with a score for each
pair, higher for better pairs, and its decision. Filters and settings are those that
``opusfilter-autogen``, OpusFilter's generator of configurations, chooses.
"""

import json
import logging
import sys

from opusfilter import CLEAN_FALSE, CLEAN_HIGH, CLEAN_LOW, CLEAN_TRUE, filters
from opusfilter.autogen import DefaultParameterFilters

# The script of all languages of our sets.
SCRIPT = "Latin"


def main() -> None:
    logging.disable(logging.WARNING)  # it takes some sentences for file names
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
        # A filter with two bounds has decisions, but no order of scores.
        has_score = None not in values
        values = values if has_score else [float(one) for one in accepted]
        out.append({"name": label, "scores": values, "accepted": accepted})
    json.dump(out, sys.stdout)


def value(direction: str, score: object) -> float | None:
    """Return the score of the worse side, higher for better; None if scores have no direction."""
    values = score if isinstance(score, (list, tuple)) else [score]
    if direction in (CLEAN_HIGH, CLEAN_TRUE):
        return float(min(values))
    if direction in (CLEAN_LOW, CLEAN_FALSE):
        return -float(max(values))
    return None


if __name__ == "__main__":
    main()
