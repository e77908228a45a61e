"""Mix generated paraphrases into a training text: does similarity improve (P18)?

A generator learns from English pairs with a common translation and rewrites the English sentences
of a bitext. A model is trained on the bitext, on it with the paraphrases of its English sentences,
and on it with as many more pairs of bitext.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.models import training_text
from benchmarks.models.back_translation_experiments import PIECES, SEEDS, SOURCE
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import P19, STS_DEV, ExperimentBench, pick
from benchmarks.models.trained_models import counted, noted
from benchmarks.models.training_text import ENGLISH, Pair, draw
from miner.encoder.open_encoder import open_encoder
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import read_labelled, tsv_files
from miner_train.papers import sts
from miner_train.papers.build import translate_all, whole
from miner_train.papers.generation import Decoding
from miner_train.papers.generator import Generator, Rewriter
from miner_train.papers.generator_config import GeneratorConfig
from miner_train.papers.learn_generator import train_generator
from miner_train.papers.rerank import means, rank

LANGUAGES = "de-en"
# One thread, because steps are small and synchronisation would cost more than it gains.
THREADS = 1
CONFIG = GeneratorConfig(pieces=3000, dimension=128, epochs=5, warmup=100, batch=1000)
# Pairs that the generator learns from, and sentences to rewrite.
TAUGHT, REWRITTEN = 12_000, 1000
# Beam width, which is also the number of candidates per sentence.
BEAM = 4


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train on bitext, with paraphrases, and with more bitext, from several seeds."""
    bitext = draw(training_text.sources(bench.data, LANGUAGES)[SOURCE], 3 * REWRITTEN)
    own, further = bitext[: len(bitext) // 3], bitext[len(bitext) // 3 :]
    sentences = list(dict.fromkeys(english for _, english in own))
    known = set(sentences)
    pairs = [pair for pair in training_text.paraphrases(bench.data) if not known & set(pair)]
    paraphrases, described = rewritten(bench, draw(pairs, TAUGHT), sentences)
    texts = {
        "bitext": own,
        "bitext and paraphrases": [*own, *paraphrases],
        "as much bitext": [*own, *further[: len(paraphrases)]],
    }
    rows: list[Row] = []
    for seed in SEEDS:
        for name, pairs in texts.items():
            config = replace(P19, pieces=PIECES, seed=seed)
            figures = partial(benchmark, data=bench.data)
            row = bench.row(LANGUAGES, name, pairs, config, ENGLISH, measure=figures, seed=seed)
            rows.append(row)
            yield {**described, "default": bench.default, "rows": rows}


def rewritten(
    bench: ExperimentBench, pairs: list[Pair], sentences: list[str]
) -> tuple[list[Pair], Results]:
    """Train a generator on English pairs; return sentences with their paraphrases.

    A paraphrase is the best of a sentence's candidates by meaning, novelty and cost. Also returns
    the means of P18 over them (:func:`miner_train.papers.rerank.means`) and the CPU time.
    """
    text = training_text.written("generator", pairs, bench.work)
    place = bench.models / f"generator.{text.described['fingerprint'][:8]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    config = replace(CONFIG, epochs=1, pieces=300) if bench.quick else CONFIG
    note = bench.work / f"{place.name}.seconds"
    with counted(note):
        if not place.exists():
            read, written = ([pair[side] for pair in pairs] for side in (0, 1))
            train_generator(read, written, config, place, threads=THREADS, report=print)
        generator = Generator.load(place)
        decoding = Decoding(beam=BEAM)
        candidates = translate_all(
            sentences,
            whole(len(sentences), lambda: Rewriter(generator, decoding, threads=THREADS)),
            BEAM,
            bench.work / f"{place.name}.candidates",
            {"generator": generator.fingerprint, "beam": BEAM},
        )
    ranked = rank(sentences, candidates, open_encoder("default"))
    best = [own[:1] for own in ranked]
    described = {"means": means(sentences, best), "generator CPU seconds": noted(note).cpu}
    return [(one, own[0].text) for one, own in zip(sentences, best, strict=True) if own], described


def benchmark(model: Path, data: Path) -> dict[str, Any]:
    """Return the correlations of a model on both parts of STS-B."""
    evaluated, files = MinerModel(str(model)), tsv_files(data / sts.TASK)
    found = {}
    for key, name in (("sts-b dev", STS_DEV), ("sts-b", sts.BENCHMARK.format("en"))):
        metrics, _ = sts.correlations(evaluated, name, read_labelled(files[name]))
        found[key] = pick(metrics, name, sts.PEARSON).as_dict()
    return found
