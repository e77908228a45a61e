"""Compare training texts: sources, filters, deciles of a score, numbers of pairs, languages.

    python -m benchmarks experiments --data DIR [--only SECTION ...] [--pairs 24000] [--quick]

The data experiments of Wieting et al. 2017, 2018 and 2019 on our text. All rows but those of
``recipes`` use the P19 recipe and the same number of passes. Sections: ``sources`` compares sources
of text at a fixed number of pairs, ``filters`` the pairs that filters keep of noisy pools,
``deciles`` the tenths of a pool by score, ``scale`` the number of pairs, by two recipes,
``languages`` foreign languages beside the same English sentences, and ``every-language`` all
languages, on text of their own. ``recipes`` crosses P19's recipe and the fast one with dropout, and
``back-translation`` compares a bitext with its translation into English. ``bounds`` tries filter
bounds on that translation, and ``generation`` adds the paraphrases of a small generator.
``word-vectors`` starts words from the vectors of ``--embeddings``, as P17 and P18 do, and is left
out without them.

Results are written after each row. A run that was killed goes on: models in ``--models`` are not
trained again, and metrics in the JSON from the same machine and versions are not measured again.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import report
from benchmarks.models import (
    back_translation_experiments,
    bench,
    bound_experiments,
    deciles,
    experiment_tables,
    filter_experiments,
    generation_experiments,
    language_experiments,
    recipe_experiments,
    size_experiments,
    sources,
    word_vector_experiments,
)
from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import ExperimentBench

NAME, VECTORS = "experiments", "word-vectors"
PAIRS, QUICK_PAIRS = 24_000, 1000
SECTIONS: dict[str, Callable[[ExperimentBench], Iterator[Results]]] = {
    "sources": sources.measure,
    "filters": filter_experiments.measure,
    "deciles": deciles.measure,
    "scale": size_experiments.measure,
    "languages": language_experiments.measure,
    "every-language": language_experiments.measure_every,
    "recipes": recipe_experiments.measure,
    "back-translation": back_translation_experiments.measure,
    "bounds": bound_experiments.measure,
    "generation": generation_experiments.measure,
    VECTORS: word_vector_experiments.measure,
}


def main() -> None:
    parser = report.parser(__doc__, f"{NAME}.json", "models/experiments", SECTIONS, quick=True)
    parser.add_argument("--pairs", type=int, help=f"pairs of a row, where fixed [{PAIRS}]")
    parser.add_argument("--embeddings", type=Path, help=f"word vectors, for {VECTORS}")
    arguments = parser.parse_args()
    if arguments.embeddings is None and VECTORS in arguments.only:
        arguments.only = [section for section in arguments.only if section != VECTORS]
        if not arguments.only:
            parser.error(f"{VECTORS} needs --embeddings")
    pairs = arguments.pairs or (QUICK_PAIRS if arguments.quick else PAIRS)
    bench.run(
        NAME,
        SECTIONS,
        experiment_tables.section,
        arguments,
        lambda old: ExperimentBench(
            arguments.data,
            arguments.models,
            old,
            arguments.quick,
            pairs=pairs,
            embeddings=arguments.embeddings,
        ),
    )
