"""Start a model of words from pretrained vectors, as P17 and P18 do, on English paraphrases.

P17 and P18 start from PARAGRAM, which learned from PPDB; neither comes with the data. Without a
file of ``--embeddings`` the vectors are learned here, from co-occurrence in the English text of all
languages (:mod:`benchmarks.models.cooccurrence_vectors`). Their dimension is that of all rows. The
last row holds the embeddings near the vectors (P17's lambda_w).
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.models import training_text
from benchmarks.models.bench import Results, Row
from benchmarks.models.cooccurrence_vectors import learn_vectors, write_vectors
from benchmarks.models.experiment_metrics import PARAPHRASE, ExperimentBench
from miner_train.data import fingerprint
from miner_train.word_vectors import read_embeddings

# Weight of the squared distance from the vectors.
HELD = 1e-6
DIMENSION = 100
SEEDS = (1, 2, 3)


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train words from random embeddings, from the vectors, and held near the vectors."""
    vectors = bench.embeddings
    described: Results = {}
    if vectors is None:
        vectors, described = prepared(bench)
    dimension = read_embeddings(vectors)[1].shape[1]
    pairs = training_text.draw(training_text.paraphrases(bench.data), bench.pairs)
    plain = replace(PARAPHRASE, encoder="word", dimension=dimension)
    held = replace(plain, lambda_w=HELD)
    rows: list[Row] = []
    for seed in SEEDS:
        for name, config, start in (
            ("random", plain, None),
            ("the vectors", plain, vectors),
            (f"the vectors, lambda_w {HELD:g}", held, vectors),
        ):
            row = bench.row(
                f"words, d = {dimension}",
                name,
                pairs,
                replace(config, seed=seed),
                training_text.ENGLISH,
                mine=False,
                embeddings=start,
                seed=seed,
            )
            rows.append(row)
            yield {"embeddings": vectors.name, **described, "rows": rows}


def prepared(bench: ExperimentBench) -> tuple[Path, Results]:
    """Learn vectors from the English text, or reuse them; return their file and description."""
    sentences = english(bench.data)
    dimension = 10 if bench.quick else DIMENSION
    path = bench.work / f"cooccurrence.{dimension}.{fingerprint(sentences, [])[:12]}.txt"
    if not path.exists():
        print(f"word vectors of {len(sentences):,} sentences", flush=True)
        write_vectors(*learn_vectors(sentences, dimension), path)
    return path, {"sentences": len(sentences)}


def english(data: Path) -> list[str]:
    """Return the distinct short English sentences of all languages with training text."""
    found: dict[str, None] = {}
    for place in sorted((data / "train").glob("??-en")):
        for pairs in training_text.sources(data, place.name).values():
            found.update(dict.fromkeys(target for _, target in pairs))
    return list(found)
