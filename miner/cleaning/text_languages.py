"""Languages of a bitext, identified from its first rows, for filters that a model scores by."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from miner.cleaning.plan import Plan
from miner.filters.filter_types import MODEL
from miner.scoring.languages import Identified, identify
from miner.scoring.verifier import Languages
from miner.text.rows import Rows

# Rows at the head of a bitext that are identified.
ROWS = 1000


def identify_rows(rows: Rows, given: Languages = (None, None)) -> tuple[Identified, Identified]:
    """Identify the languages of both sides; ``given`` are BCP-47 codes that count instead.

    Raises the errors of `Rows`.
    """
    block = rows.first(ROWS)
    sides: tuple[Sequence[str], Sequence[str]] = (), ()
    if len(block):  # a file without a line lacks the columns, too
        texts = rows.layout.texts(block)
        sides = texts.source, texts.target
    source, target = map(identify, sides, given)
    return source, target


def with_languages(plan: Plan, rows: Rows) -> Plan:
    """Return the plan with the languages of the text, where a model scores and some are not given.

    Filters that only compare a text with the languages given do not see them.
    """
    if not plan.stage(MODEL) or all(plan.context.languages):
        return plan
    source, target = identify_rows(rows, plan.context.languages)
    context = dataclasses.replace(plan.context, identified=(source.seen, target.seen))
    return dataclasses.replace(plan, context=context)
