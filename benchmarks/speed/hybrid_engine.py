"""Compare the hybrid engine with the exhaustive one: pairs kept, F1, time and memory.

    python -m benchmarks hybrid --data DIR [--only SECTION ...] [--work DIR] [--quick]

``quality``: the BUCC-style sets. Pairs kept are those that the exhaustive search finds with a
probability of 0.05 or more by the model's own function; a pair counts if it is among the candidates
of the hybrid search. F1 is that of the BUCC protocol, by those probabilities.

``search``: the neighbour search alone, at 100,000 to a million lines a side; the exhaustive engine
at the smaller sizes. ``steps``: the CPU seconds of some steps of a hybrid search, times their
number: an estimate where there is no time for a search. ``growth``: from two text files to a file
of pairs, with the estimate of precision.

The source is all French training text and the French of the BUCC-style sets, the target all English
of French, German and Spanish training text. Where this is too little, sentences come again without
one of their words. Each run has a process of its own. With ``--work``, texts, indexes and measured
points are kept there, and a repeated command measures what is missing.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.mining.bucc_protocol import located
from benchmarks.speed import hybrid_tables, mine_speed, search_speed, speed_text
from benchmarks.speed.process import Job, Meter, run
from miner import Encoder, Index
from miner.evaluation.metrics import best_threshold, evaluate
from miner.evaluation.mining_sets import SPLITS
from miner.knn.engines import Int8Engine
from miner.knn.hybrid import HybridSearch, Step
from miner.knn.knn_search import BLOCK, nearest_both
from miner.knn.lists import Lists
from miner.knn.postings import SideTokens, Tokens
from miner.knn.settings import SearchSettings
from miner.knn.settle import settle
from miner.knn.vector_set import VectorSet
from miner.machine import thread_count
from miner.mining.search import languages_of, side, verifier_for
from miner.mining.search import run as mine
from miner.scoring import search_recall
from miner.scoring.pairs import each_duplicate
from miner.scoring.verification import prepare_texts
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.corpus import read

PAIRS = ("de-en", "fr-en")
KEPT = 0.05
ENGINES = ("fused", "hybrid")
SIZES = (100_000, 300_000, 1_000_000)
# Largest size that the exhaustive engine searches.
MOST = 100_000
# Bytes that a search of the section ``search`` may take.
MEMORY = 2 << 30
QUICK = 0.02
# What a job may report beside its time and memory.
MORE = ("stages", "pairs", "recall")
# Jobs of the sections that grow.
CALLS = {"search": "search_job", "steps": "steps_job", "growth": "job"}
# Blocks of queries of each side, and clusters, that the section ``steps`` measures.
BLOCKS, CLUSTERS = 12, 200
Both = tuple[VectorSet, VectorSet]
SEED = 1


def quality(data: Path, pair: str, threads: int) -> dict[str, Any]:
    """Compare both engines on one BUCC-style set."""
    task = located(data / "bucc-style", pair)
    encoder = Encoder.load("default", threads)
    row: dict[str, Any] = {"pair": pair, "fused": {}, "hybrid": {}}
    mined: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
    for split in SPLITS:
        with tempfile.TemporaryDirectory(prefix="hybrid-") as work:
            left, right = (
                Index.build(encoder, task.need(f"{split}.{one}"), Path(work) / one, format="bucc")
                for one in (pair.split("-")[0], "en")
            )
            verifier = verifier_for(left, "probability", encoder)
            both = []
            for engine in ENGINES:
                meter = Meter()
                with meter:
                    both.append(
                        mine(left, right, verifier, SearchSettings(engine=engine, threads=threads))
                    )
                row[engine][split] = {"cpu seconds": round(meter.cpu, 1)}
                mined[engine, split] = list(each_duplicate(both[-1].pairs).ids())
            pairs, found = both[0].pairs, both[1]
            good = pairs.score >= KEPT
            source, target = pairs.source_row[good], pairs.target_row[good]
            inside = (found.forward.row[source] == target[:, None]).any(axis=1)
            inside |= (found.backward.row[target] == source[:, None]).any(axis=1)
            row[split] = {"kept": len(source), "found": int(inside.sum())}
            if found.recall is not None:
                row[split]["recall"] = asdict(found.recall)
            print(f"  {pair} {split}: {row[split]}", flush=True)
    for engine in ENGINES:
        tuned = best_threshold(mined[engine, "training"], task.gold("training"))
        test = evaluate(mined[engine, "test"], task.gold("test"), tuned.threshold)
        row[engine]["training"] |= tuned.as_dict()
        row[engine]["test"] |= test.as_dict()
    return row


def sides(data: Path, most: int) -> tuple[list[str], list[str], list[int]]:
    """Return the texts of both sides, shuffled, and the number of real sentences of each."""
    found: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for pair in ("fr-en", "de-en", "es-en"):
        for file in sorted((data / "train" / pair).glob("*.tsv*")):
            bitext = read_bitext(file)
            if pair == "fr-en":
                found[0].update(dict.fromkeys(bitext.source))
            found[1].update(dict.fromkeys(bitext.target))
    task = located(data / "bucc-style", "fr-en")
    for split in ("training", "test"):
        found[0].update(dict.fromkeys(read(task.need(f"{split}.fr"), format="bucc").sentences))
    generator = np.random.default_rng(SEED)
    texts, real = [], []
    for distinct in found:
        own = [line for line in distinct if "\t" not in line]
        own = [own[i] for i in generator.permutation(len(own)).tolist()]
        real.append(min(len(own), most))
        more = altered(own, set(own), generator)
        while len(own) < most:
            own.append(next(more))
        texts.append(own[:most])
    return texts[0], texts[1], real


def altered(texts: list[str], known: set[str], generator: np.random.Generator) -> Iterator[str]:
    """Yield new texts without end: sentences without one of their words."""
    texts = list(texts)
    while True:
        for text in texts:
            words = text.split()
            if len(words) > 3:
                del words[int(generator.integers(len(words)))]
                new = " ".join(words)
                if new not in known:
                    known.add(new)
                    yield new


def job(engine: str, paths: list[str], work: str, threads: int) -> dict[str, Any]:
    """Measure one engine once."""
    encoder = Encoder.load("default", threads)
    source, target = (Path(path) for path in paths)
    meter = Meter()
    with meter:
        found, seconds = mine_speed.ours(
            encoder, source, target, Path(work), "probability", threads, engine
        )
    stages = {stage: round(value, 2) for stage, value in seconds.items()}
    recall = None if found.recall is None else asdict(found.recall)
    return meter.result(2, pairs=len(found.pairs), stages=stages, recall=recall)


def search_job(engine: str, paths: list[str], work: str, threads: int) -> dict[str, Any]:
    """Measure the neighbour search of one engine once; its recall is measured after it."""
    both, tokens, logits_of = prepared(paths, threads)
    settings = SearchSettings(k=8, engine=engine, memory=MEMORY, threads=threads, device="cpu")
    meter = Meter()
    with meter:
        lists = nearest_both(*both, settings, tokens=tokens)
    recall = None
    if engine == "hybrid":
        recall = asdict(search_recall.measure(both, lists, settings, logits_of))
    return meter.result(2, stages={}, recall=recall)


def prepared(paths: list[str], threads: int) -> tuple[Both, Tokens, search_recall.LogitsOf]:
    """Return what a search of two texts takes, and the function of the logits of its pairs."""
    encoder = Encoder.load("default", threads)
    left, right = (indexed(encoder, Path(path)) for path in paths)
    languages = [language.code for language in languages_of(left, right)]
    verifier = Verifier(encoder, (languages[0], languages[1]))
    first, second = (
        prepare_texts(index.store.texts, encoder.tokenizer, threads, search_speed.MEMORY)
        for index in (left, right)
    )
    tokens = Tokens(
        SideTokens(first.ids, first.offsets),
        SideTokens(second.ids, second.offsets),
        verifier.tokens.lexicon,
    )

    def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        return verifier.pair_logits(first, second, source_row, target_row)

    return (side(left), side(right)), tokens, logits_of


class SomeSteps(HybridSearch):
    """A search that does evenly spaced steps of each kind, and notes the CPU seconds of each."""

    def _steps(self) -> Iterator[Step]:
        steps = list(super()._steps())
        self.count = Counter(kind for kind, _ in steps)
        self.spent: dict[str, list[float]] = {kind: [] for kind in self.count}
        for kind, number in self.count.items():
            own = [step for step in steps if step[0] == kind]
            most = CLUSTERS if kind == "cluster" else BLOCKS
            chosen = np.linspace(0, number - 1, min(number, most)).astype(int)
            yield from (own[place] for place in np.unique(chosen))

    def _work(self, steps: list[Step]) -> Iterator[None]:
        before = time.process_time()
        for step, _ in zip(steps, super()._work(steps), strict=False):
            now = time.process_time()
            self.spent[step[0]].append(now - before)
            before = now
            yield

    def estimate(self) -> dict[str, float]:
        """Return the CPU seconds of all steps of each kind; the first of a kind prepares it."""
        found = {}
        for kind, (first, *others) in self.spent.items():
            each = float(np.mean(others)) if others else first
            found[f"{kind}: preparation"] = max(0.0, first - each)
            found[f"{kind}: steps"] = each * self.count[kind]
        return found


def steps_job(engine: str, paths: list[str], work: str, threads: int) -> dict[str, Any]:
    """Measure some steps of a hybrid search, and the exact scoring of some random candidates."""
    both, tokens, _ = prepared(paths, threads)
    width = 8 + Int8Engine.slack
    lists = Lists.empty(len(both[0]), width), Lists.empty(len(both[1]), width)
    search = SomeSteps(both, tokens, lists, Int8Engine(threads), MEMORY, BLOCK)
    search.run(None, lambda share: None)
    stages = search.estimate()
    before, generator = time.process_time(), np.random.default_rng(SEED)
    for here in (0, 1):
        queries, base = both[here], both[1 - here]
        some = VectorSet(queries.vectors, queries.rows[queries.sample(BLOCK)])
        drawn = Lists.empty(len(some), width)
        drawn.position[:] = generator.integers(0, len(base), drawn.position.shape)
        settle(some, base, drawn, 8, None, BLOCK)
    share = max(1.0, len(both[0]) / BLOCK)
    stages["exact scores"] = (time.process_time() - before) * share
    stages = {name: round(value, 1) for name, value in stages.items()}
    total = sum(stages.values())
    return {"count": 2, "cpu seconds": total, "seconds": total, "peak": 0, "stages": stages}


def indexed(encoder: Encoder, text: Path) -> Index:
    """Return the index beside a text, which is built where there is none."""
    path = text.with_suffix("")
    return Index.open(path) if path.exists() else Index.build(encoder, text, path)


def written(data: Path, sizes: list[int], work: Path) -> tuple[dict[int, list[str]], list[int]]:
    """Write the texts of both sides at all ``sizes``; returns the paths, and the real sentences."""
    paths = {n: [work / f"{name}-{n}.txt" for name in ("source", "target")] for n in sizes}
    real = work / f"real-{max(sizes)}.json"
    if not real.exists():
        source, target, numbers = sides(data, max(sizes))
        for n, files in paths.items():
            for path, texts in zip(files, (source, target), strict=True):
                speed_text.write(path, texts[:n])
        real.write_text(json.dumps(numbers), encoding="utf-8")
    found = json.loads(real.read_text(encoding="utf-8"))
    return {n: [str(path) for path in files] for n, files in paths.items()}, found


def growth(data: Path, call: str, sizes: list[int], threads: int, work: Path) -> dict[str, Any]:
    """Run a job at several sizes with each engine; fit the exponents of n in the seconds."""
    paths, real = written(data, sizes, work)
    rows = []
    for engine in ENGINES if call != CALLS["steps"] else ENGINES[1:]:
        points: list[dict[str, Any]] = []
        for n in sizes if engine == "hybrid" else [n for n in sizes if n <= MOST]:
            kept = work / f"{call}-{engine}-{n}.json"
            if kept.exists():
                points.append(json.loads(kept.read_text(encoding="utf-8")))
                continue
            arguments = {
                "engine": engine,
                "paths": paths[n],
                "work": str(work),
                "threads": threads,
            }
            found = run(Job(engine, f"hybrid_engine:{call}", arguments), threads)
            if "count" in found:
                found = {
                    "seconds": round(found["seconds"], 2),
                    "cpu seconds": round(found["cpu seconds"], 2),
                    "peak MiB": round(found["peak"] / 2**20),
                    **{name: value for name, value in found.items() if name in MORE},
                }
                kept.write_text(json.dumps({"a side": n, **found}), encoding="utf-8")
            points.append({"a side": n, **found})
            print(f"  {engine}, {n:,} a side: {points[-1]}", flush=True)
        cpu = [{**point, "seconds": point["cpu seconds"]} for point in points if "seconds" in point]
        grown = {
            "seconds": mine_speed.exponents(points).get("all"),
            "CPU seconds": mine_speed.exponents(cpu).get("all"),
        }
        rows.append({"name": engine, "points": points, "exponents": grown})
    return {"real": real, "rows": rows}


def main() -> None:
    parser = report.parser(__doc__, "hybrid.json", sections=hybrid_tables.SECTIONS, quick=True)
    parser.add_argument("--threads", type=int, default=thread_count(), help="[all cores]")
    parser.add_argument("--work", type=Path, help="keep texts, indexes and measured points here")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="lines a side")
    arguments = parser.parse_args()
    path, threads = report.destination(arguments), arguments.threads
    for name in arguments.only:
        print(f"{name}:", flush=True)
        found: dict[str, Any] = {"threads": threads}
        if name == "quality":
            pairs = PAIRS[:1] if arguments.quick else PAIRS
            found["rows"] = [quality(arguments.data, pair, threads) for pair in pairs]
        else:
            scale, call = QUICK if arguments.quick else 1.0, CALLS[name]
            sizes = [round(size * scale) for size in arguments.sizes]
            with tempfile.TemporaryDirectory(prefix="hybrid-") as temporary:
                work = arguments.work or Path(temporary)
                work.mkdir(parents=True, exist_ok=True)
                found |= growth(arguments.data, call, sizes, threads, work)
        print("\n".join(hybrid_tables.SECTIONS[name](found)), flush=True)
        report.merge(path, "hybrid", name, found)
