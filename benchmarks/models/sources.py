"""Compare sources of text at a fixed number of pairs (P17, section 5.3; P18).

One row for each source with enough pairs, and one for equal parts of all of them.
"""

from collections.abc import Iterator

from benchmarks.models import training_text
from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import ExperimentBench
from benchmarks.models.training_text import BILINGUAL, draw

# A smaller number of pairs, available in nearly all sources.
FEW = 4000
MIX = "all of these, equally"


def measure(bench: ExperimentBench) -> Iterator[Results]:
    parts = training_text.sources(bench.data, BILINGUAL)
    rows = []
    left_out = {}
    for most in sorted({bench.pairs, min(FEW, bench.pairs)}, reverse=True):
        group = f"{most:,} pairs"
        enough = {name: pairs for name, pairs in parts.items() if len(pairs) >= most}
        left_out[group] = {name: len(pairs) for name, pairs in parts.items() if name not in enough}
        samples = {name: draw(pairs, most) for name, pairs in enough.items()}
        if len(enough) > 1:
            samples[MIX] = training_text.mixed(enough, most)
        for name, pairs in samples.items():
            rows.append(bench.row(group, name, pairs))
            yield {"left out": left_out, "rows": rows}
