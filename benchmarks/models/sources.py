"""Which source of text is best, at a fixed number of pairs (P17, sections 5 and 6; P18)?

Every source that has so many, and beside them equally many pairs of each.
"""

from collections.abc import Iterator

from benchmarks.models import experiment_text
from benchmarks.models.encoder_text import BILINGUAL, draw
from benchmarks.models.experiment_metrics import Bench, Results

# So few that nearly all sources have them.
FEW = 4000
MIX = "all of these, equally"


def measure(bench: Bench) -> Iterator[Results]:
    parts = experiment_text.sources(bench.data, BILINGUAL)
    rows = []
    left_out = {}
    for most in sorted({bench.pairs, min(FEW, bench.pairs)}, reverse=True):
        group = f"{most:,} pairs"
        enough = {name: pairs for name, pairs in parts.items() if len(pairs) >= most}
        left_out[group] = {name: len(pairs) for name, pairs in parts.items() if name not in enough}
        for name, pairs in enough.items():
            rows.append(bench.row(group, name, draw(pairs, most)))
            yield {"left out": left_out, "rows": rows}
        if len(enough) > 1:
            rows.append(bench.row(group, MIX, experiment_text.mixed(enough, most)))
            yield {"left out": left_out, "rows": rows}
