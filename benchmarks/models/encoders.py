"""Every encoder on the same text, by the same objective: what do they find, and what do they cost?

    python -m benchmarks encoders --data DIR [--models models/encoders] [--only GROUP] [--quick]

The questions of Wieting et al. 2019 and Wieting & Gimpel 2018, with figures of ours. Groups:
``bilingual`` all encoders by the P19 objective on 100,000 pairs of French and English; ``softmax``
some of them by the ``fast`` recipe's objective; ``questions`` what of the P19 recipe matters
(mega-batches, negatives, dimension, vocabulary), with pieces; ``english`` all encoders on
paraphrases, English sentences that translate the same sentence. Everything has one seed.

A model that lies in ``--models`` is not trained again, nor are figures taken again that the JSON
has of it, from the same machine and versions; every row is written when it is there. So a run that
was killed goes on. ``--quick`` tries whether all of it runs, and writes with ``--json`` only.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.models import encoder_metrics, encoder_tables, encoder_text
from benchmarks.models.encoder_plan import GROUPS, Row, quickly
from miner import MinerError
from miner.encoder.model import load

NAME = "encoders"
LIBRARIES = ("morfessor",)
QUICK_PAIRS = 5000

# Rows by question and name.
Rows = dict[tuple[str, str], dict[str, Any]]


def earlier(path: Path) -> dict[str, Rows]:
    """The rows of each group that an earlier run left, on this machine and with these versions."""
    if not path.exists():
        return {}
    same = {"versions": report.versions(LIBRARIES), "hardware": report.hardware()}
    return {
        group: {(row["question"], row["name"]): row for row in section["results"]["rows"]}
        for group, section in json.loads(path.read_text(encoding="utf-8"))["sections"].items()
        if {name: section[name] for name in same} == same
    }


class Bench:
    """All that is measured, from one directory of data and one of models."""

    def __init__(self, data: Path, models: Path, old: dict[str, Rows], quick: bool):
        self.data, self.models, self.old, self.quick = data, models, old, quick
        # By the model's fingerprint: the same vectors have the same figures, in every table.
        self.figures = {
            row["fingerprint"]: row["figures"]
            for rows in old.values()
            for row in rows.values()
            if "figures" in row
        }

    def group(self, name: str) -> Iterator[dict[str, Any]]:
        """Text and rows, after each row; earlier rows that are still to be repeated included."""
        group = GROUPS[name]
        most = QUICK_PAIRS if self.quick else encoder_text.PAIRS
        drawn = encoder_text.prepare(group.text, self.data, self.models / "text", most)
        rows = dict(self.old.get(name, {}))
        for row in group.rows:
            print(f"{time.strftime('%H:%M:%S')}  {name}: {row.question} {row.name}", flush=True)
            if self.quick:
                row = replace(row, config=quickly(row.config))
            rows[row.key] = self.row(row, drawn, group.bilingual)
            listed = [rows[one.key] for one in group.rows if one.key in rows]
            yield {"text": drawn.described, "rows": listed}

    def row(self, row: Row, drawn: encoder_text.Text, bilingual: bool) -> dict[str, Any]:
        """One line of a table; what went wrong, where that is what there is to tell."""
        result: dict[str, Any] = {
            "question": row.question,
            "name": row.name,
            "epochs": row.config.epochs,
            "settings": encoder_metrics.settings(row.config),
        }
        try:
            model, seconds = encoder_metrics.trained(row.config, drawn, self.models)
            fingerprint = load(model).fingerprint
            if fingerprint not in self.figures:
                self.figures[fingerprint] = encoder_metrics.figures(model, self.data, bilingual)
        except MinerError as error:  # one that diverges, say; the others are still of interest
            print(f"error: {error}", flush=True)
            return {**result, "failed": type(error).__name__}
        return {
            **result,
            "training seconds": seconds,
            "fingerprint": fingerprint,
            "figures": self.figures[fingerprint],
        }


def main() -> None:
    parser = report.parser(__doc__, "encoders.json", models=True)
    parser.set_defaults(models=Path("models/encoders"))
    parser.add_argument("--only", choices=list(GROUPS), help="one group [all]")
    parser.add_argument("--quick", action="store_true", help="does it run? small, an epoch")
    arguments = parser.parse_args()
    keep = not arguments.quick or arguments.json != parser.get_default("json")
    old = earlier(arguments.json) if keep else {}
    bench = Bench(arguments.data, arguments.models, old, arguments.quick)
    for name in [arguments.only] if arguments.only else list(GROUPS):
        for results in bench.group(name):
            if keep:
                report.merge(arguments.json, NAME, name, results, LIBRARIES)
        print("\n".join(encoder_tables.group(name, results)), flush=True)
