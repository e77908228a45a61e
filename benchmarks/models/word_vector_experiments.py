"""Start a model of words from pretrained vectors, as P17 and P18 do, on English paraphrases.

The vectors are those of a file that the user has, for example PARAGRAM's; none come with the data.
Their dimension is that of all rows. The last row holds the embeddings near the vectors (P17's
lambda_w).
"""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.models import training_text
from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import PARAPHRASE, ExperimentBench
from miner_train.word_vectors import read_embeddings

# Weight of the squared distance from the vectors.
HELD = 1e-6


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train words from random embeddings, from the vectors, and held near the vectors."""
    assert bench.embeddings is not None
    dimension = read_embeddings(bench.embeddings)[1].shape[1]
    pairs = training_text.draw(training_text.paraphrases(bench.data), bench.pairs)
    plain = replace(PARAPHRASE, encoder="word", dimension=dimension)
    held = replace(plain, lambda_w=HELD)
    rows = []
    for name, config, start in (
        ("random", plain, None),
        ("the vectors", plain, bench.embeddings),
        (f"the vectors, lambda_w {HELD:g}", held, bench.embeddings),
    ):
        group = f"words, d = {dimension}"
        row = bench.row(
            group, name, pairs, config, training_text.ENGLISH, mine=False, embeddings=start
        )
        rows.append(row)
        yield {"embeddings": bench.embeddings.name, "rows": rows}
