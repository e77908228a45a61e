"""Runner of all benchmarks: ``python -m benchmarks NAME [options]``.

``NAME --help`` prints the options. Benchmarks write their results to ``benchmarks/results``;
``pages`` makes tables and plots of them.
"""

import importlib
import sys

from benchmarks import report

BENCHMARKS = {
    "bucc": "benchmarks.mining.bucc_protocol",
    "mining": "benchmarks.mining.mining_quality",
    "precision": "benchmarks.mining.precision_reached",
    "between": "benchmarks.mining.between_languages",
    "documents": "benchmarks.mining.document_pairs",
    "sparse": "benchmarks.mining.sparse_corpora",
    "second": "benchmarks.mining.second_opinion",
    "sweep": "benchmarks.mining.precision_sweep",
    "review": "benchmarks.mining.review_labels",
    "verification": "benchmarks.mining.verification_cost",
    "encoders": "benchmarks.models.encoders",
    "evaluations": "benchmarks.models.evaluations",
    "experiments": "benchmarks.models.experiments",
    "papers": "benchmarks.models.paper_figures",
    "foreign": "benchmarks.models.foreign",
    "peers": "benchmarks.models.peers",
    "languages": "benchmarks.models.language_accuracy",
    "new-language": "benchmarks.models.new_language",
    "seeds": "benchmarks.models.seeds",
    "distances": "benchmarks.models.distances",
    "aligners": "benchmarks.alignment.aligner_peers",
    "align": "benchmarks.alignment.alignment_quality",
    "filtering": "benchmarks.filtering.filter_quality",
    "translation": "benchmarks.translation.translation_quality",
    "bounds": "benchmarks.filtering.quality_bounds",
    "contrast": "benchmarks.filtering.contrast",
    "speed": "benchmarks.speed.speed_sections",
    "gpu": "benchmarks.speed.gpu_search",
    "hybrid": "benchmarks.speed.hybrid_engine",
    "shards": "benchmarks.scale.shard_overhead",
    "billion": "benchmarks.scale.billion",
    "slurm": "benchmarks.scale.slurm_mining",
    "memory": "benchmarks.scale.task_memory",
    "training": "benchmarks.speed.training_steps",
    "reliability": "benchmarks.reliability.campaign",
    "pages": "benchmarks.pages",
}


def main() -> None:
    """Run the benchmark that the first argument names, with the other arguments."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in BENCHMARKS:
        print(f"usage: python -m benchmarks {{{','.join(BENCHMARKS)}}} [options]", file=sys.stderr)
        sys.exit(0 if name in ("-h", "--help") else 2)
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2:]]
    report.run(importlib.import_module(BENCHMARKS[name]).main)


if __name__ == "__main__":
    main()
