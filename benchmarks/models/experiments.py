"""Compare training texts: sources, filters, deciles of a score, numbers of pairs, languages.

    python -m benchmarks experiments --data DIR [--only SECTION ...] [--pairs 24000] [--quick]

The data experiments of Wieting et al. 2017, 2018 and 2019 on our text. All rows but those of
sections about recipes use the P19 recipe and the same number of passes. Sections:

- ``sources`` compares sources of text at a fixed number of pairs;
- ``filters`` compares the pairs that filters keep of noisy pools;
- ``deciles`` compares the tenths of a pool by score;
- ``scale`` compares numbers of pairs, by two recipes;
- ``languages`` compares foreign languages beside the same English sentences;
- ``every-language`` compares all languages, on text of their own;
- ``crossed-recipes`` crosses P19's recipe and the fast one with dropout;
- ``embedding-starts`` compares starts of the embeddings;
- ``paper-recipes`` compares the recipes of all four papers on English paraphrases;
- ``back-translation`` compares a bitext with its translation into English;
- ``translations`` describes the three best translations, and compares their tenths;
- ``filter-bounds`` tries bounds of filters on that translation;
- ``generated-paraphrases`` adds the paraphrases of a small generator to a bitext;
- ``shuffled-pairs`` shuffles a part of paraphrases by pivoting;
- ``megabatches`` takes negatives from some numbers of mini-batches;
- ``blstm-parts`` leaves out parts of P19's recipe for a BLSTM.

Results are written after each row. A run that was killed goes on: models in ``--models`` are not
trained again, and metrics in the JSON from the same machine and versions are not measured again.
"""

from collections.abc import Callable, Iterator

from benchmarks import report
from benchmarks.models import (
    back_translation_experiments,
    bench,
    bound_experiments,
    experiment_tables,
    generation_experiments,
    language_experiments,
    part_experiments,
    recipe_experiments,
    text_experiments,
    translation_experiments,
)
from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import ExperimentBench

NAME = "experiments"
PAIRS, QUICK_PAIRS = 24_000, 1000
SECTIONS: dict[str, Callable[[ExperimentBench], Iterator[Results]]] = {
    "sources": text_experiments.measure_sources,
    "filters": text_experiments.measure_filters,
    "deciles": text_experiments.measure_deciles,
    "scale": text_experiments.measure_sizes,
    "languages": language_experiments.measure,
    "every-language": language_experiments.measure_every,
    "crossed-recipes": recipe_experiments.measure,
    "embedding-starts": recipe_experiments.measure_starts,
    "paper-recipes": recipe_experiments.measure_papers,
    "back-translation": back_translation_experiments.measure,
    "translations": translation_experiments.measure,
    "filter-bounds": bound_experiments.measure,
    "generated-paraphrases": generation_experiments.measure,
    "shuffled-pairs": part_experiments.measure_shuffled,
    "megabatches": part_experiments.measure_megabatches,
    "blstm-parts": part_experiments.measure_blstm,
}


def main() -> None:
    parser = report.parser(__doc__, f"{NAME}.json", "models/experiments", SECTIONS, quick=True)
    parser.add_argument("--pairs", type=int, help=f"pairs of a row, where fixed [{PAIRS}]")
    arguments = parser.parse_args()
    pairs = arguments.pairs or (QUICK_PAIRS if arguments.quick else PAIRS)
    bench.run(
        NAME,
        SECTIONS,
        experiment_tables.section,
        arguments,
        lambda old: ExperimentBench(
            arguments.data, arguments.models, old, arguments.quick, pairs=pairs
        ),
    )
