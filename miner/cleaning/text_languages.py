"""Languages of a bitext, identified from its first rows, for filters that a model scores by."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from miner.cleaning.plan import Plan
from miner.filters.filter_types import MODEL
from miner.scoring.languages import Identified, identify
from miner.scoring.verifier import Languages
from miner.text.rows import Rows

# Rows at the head of a bitext that are identified.
ROWS = 1000


def identify_rows(
    parts: Iterable[Rows], given: Languages = (None, None)
) -> tuple[Identified, Identified]:
    """Identify the languages of both sides of a bitext, which may come in parts.

    ``given`` are BCP-47 codes that count instead. Raises the errors of `Rows`.
    """
    sides: tuple[list[str], list[str]] = [], []
    for rows in parts:
        block = rows.first(ROWS - len(sides[0]))
        if len(block):  # a file without a line lacks the columns, too
            texts = rows.layout.texts(block)
            sides[0].extend(texts.source)
            sides[1].extend(texts.target)
        if len(sides[0]) >= ROWS:
            break
    source, target = map(identify, sides, given)
    return source, target


def needs_languages(plan: Plan) -> bool:
    """Return True if a model scores and some language is not given."""
    return bool(plan.stage(MODEL)) and not all(plan.context.languages)


def with_languages(plan: Plan, parts: Iterable[Rows]) -> Plan:
    """Return the plan with the languages of the text, where a model scores and some are not given.

    Filters that only compare a text with the languages given do not see them.
    """
    if not needs_languages(plan):
        return plan
    source, target = identify_rows(parts, plan.context.languages)
    return identified_as(plan, (source.seen, target.seen))


def identified_as(plan: Plan, seen: Languages) -> Plan:
    """Return the plan with the languages of the text, ISO 639 codes."""
    return dataclasses.replace(plan, context=dataclasses.replace(plan.context, identified=seen))
