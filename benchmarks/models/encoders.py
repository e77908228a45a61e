"""Compare encoders trained on the same text by the same objective: quality, speed, size, time.

    python -m benchmarks encoders --data DIR [--models models/encoders] [--only GROUP ...] [--quick]

The questions of Wieting et al. 2019 and Wieting & Gimpel 2018. Groups: ``bilingual`` all encoders
by the P19 objective on 100,000 pairs of French and English; ``softmax`` some of them by the
objective of the ``fast`` recipe; ``questions`` the parts of the P19 recipe (mega-batches,
negatives, dimension, vocabulary), with pieces; ``english`` all encoders on paraphrases: English
sentences that translate the same sentence. All use one seed.

Results are written after each row. A run that was killed goes on: models in ``--models`` are not
trained again, and metrics in the JSON from the same machine and versions are not measured again.
"""

from collections.abc import Iterator
from functools import partial

from benchmarks import report
from benchmarks.models import bench, encoder_metrics, encoder_tables, training_text
from benchmarks.models.bench import Bench, Results
from benchmarks.models.encoder_plan import GROUPS

NAME = "encoders"
PAIRS, QUICK_PAIRS = 100_000, 5000


def measure(place: Bench, name: str) -> Iterator[Results]:
    """Train the encoders of a group; after each, yield the text's description and all rows."""
    group = GROUPS[name]
    pairs = training_text.bilingual if group.bilingual else training_text.paraphrases
    drawn = training_text.draw(pairs(place.data), QUICK_PAIRS if place.quick else PAIRS)
    text = training_text.written(group.text, drawn, place.work)
    rows = []
    for row in group.rows:
        print(f"{name}: {row.question} {row.name}", flush=True)
        metrics = partial(encoder_metrics.metrics, data=place.data, bilingual=group.bilingual)
        rows.append(
            {
                "question": row.question,
                "name": row.name,
                "epochs": place.used(row.config).epochs,
                **place.measured(text, row.config, metrics),
            }
        )
        yield {"text": text.described, "rows": rows}


def main() -> None:
    parser = report.parser(__doc__, f"{NAME}.json", "models/encoders", GROUPS, quick=True)
    arguments = parser.parse_args()
    bench.run(
        NAME,
        {name: partial(measure, name=name) for name in GROUPS},
        encoder_tables.group,
        arguments,
        lambda old: Bench(arguments.data, arguments.models, old, arguments.quick),
        ("morfessor",),
    )
