"""Measure the right pairs that each cheap filter of the default set drops, in every language.

Each filter sees all pairs of the retrieval set of Tatoeba of a language, which are right, and has
its default bound. The languages are given, so that the filters that need them run. The filters
were not tuned on these sets.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering.noisy_text import one
from benchmarks.markdown import head, line
from miner.cleaning.config import default_config
from miner.cleaning.scorers import broken
from miner.filters.filter_types import LOCAL, Batch, Context
from miner.text.bitext import read_bitext

SUFFIX = "-en.tsv.xz"
# Share of pairs that a filter may drop before the table has it in bold.
ALLOWED = 0.005


def measure(data: Path) -> dict[str, Any]:
    """Return by language the number of pairs, of pairs dropped by each filter, and by any."""
    rows: list[dict[str, Any]] = []
    for path in sorted((data / "tatoeba").glob(f"*{SUFFIX}")):
        language = path.name.removesuffix(SUFFIX)
        bitext = read_bitext(one(data / "tatoeba", f"{language}-en.tsv"))
        batch = Batch(bitext.source, bitext.target)
        config = default_config(Context(language, "en"))
        steps = config.stage(LOCAL)
        scores = [step.filter.build(step.settings, config.context)(batch) for step in steps]
        wrong = broken(steps, np.column_stack(scores).astype(np.float32))
        dropped = {step.label: int(own.sum()) for step, own in zip(steps, wrong.T, strict=True)}
        any_filter = int(wrong.any(axis=1).sum())
        rows.append(
            {"language": language, "pairs": len(batch), "dropped": dropped, "any": any_filter}
        )
        print(f"  {language}: {any_filter} of {len(batch)}", flush=True)
    return {"rows": rows}


def tables(results: dict[str, Any]) -> list[str]:
    """Return the table of dropped right pairs, by language and filter."""
    rows = results["rows"]
    names = [name for name in rows[0]["dropped"] if any(row["dropped"][name] for row in rows)]
    least = [name for name in rows[0]["dropped"] if name not in names]
    none = [row["language"] for row in rows if not row["any"]]
    most = max(row["any"] / row["pairs"] for row in rows)
    lines = [
        "Right pairs that each cheap filter of the default set drops, of the sets of Tatoeba in",
        f"{len(rows)} languages with English, as counts, and the share that any drops (at most",
        f"{most:.1%}; in bold above {ALLOWED:.1%}). These drop none: {', '.join(least)}.",
        f"In {len(none)} languages no filter drops any: {', '.join(none)}.",
        "",
        *head(["", "pairs", *names, "any"]),
    ]
    for row in sorted(rows, key=lambda row: -row["any"] / row["pairs"]):
        if row["any"]:
            share = row["any"] / row["pairs"]
            mark = "**" if share > ALLOWED else ""
            counts = [str(row["dropped"][name] or "") for name in names]
            cells = [f"{row['pairs']:,}", *counts, f"{mark}{share:.1%}{mark}"]
            lines.append(line([row["language"], *cells]))
    return lines
