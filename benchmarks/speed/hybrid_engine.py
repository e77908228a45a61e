"""Compare the hybrid engine with the exhaustive one: pairs kept, F1, time and memory.

    python -m benchmarks hybrid --data DIR [--only SECTION ...] [--work DIR] [--quick]

``quality``: the BUCC-style sets. Pairs kept are those that the exhaustive search finds with a
probability of 0.05 or more by the model's own function; a pair counts if it is among the candidates
of the hybrid search. F1 is that of the BUCC protocol, by those probabilities. The training split is
also measured among further text, 100,000 lines a side: software documentation in one language and
laws in the other, which are no translations. Its threshold is then its own best one.

``search``: the neighbour search alone, at 100,000 to a million lines a side; the exhaustive engine
at the smaller sizes. ``growth``: from two text files to a file of pairs, with the estimate of
precision.

The source is all French training text and the French of the BUCC-style sets, the target all English
of French, German and Spanish training text. Where this is too little, sentences come again without
one of their words. Each run has a process of its own. With ``--work``, texts, indexes and measured
points are kept there, and a repeated command measures what is missing.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.mining.bucc_protocol import located
from benchmarks.speed import hybrid_tables, mine_speed, speed_text
from benchmarks.speed.process import Job, Meter, run
from miner import Encoder, Index
from miner.evaluation.metrics import best_threshold, evaluate
from miner.evaluation.mining_sets import SPLITS
from miner.knn.settings import SearchSettings
from miner.machine import thread_count
from miner.mining.choices import verifier_for
from miner.mining.keep import Keep
from miner.mining.mine import mine as mine_sides
from miner.mining.mine import search_indexes as mine
from miner.scoring.pairs import each_duplicate
from miner.tasks.status import status
from miner.text.bitext import read_bitext
from miner.text.corpus import read

PAIRS = ("de-en", "fr-en")
# Training split among further text; the files of train/ that bring it, source and target.
GROWN, GROWN_LINES = "training, grown", 100_000
WEB, LAWS = "de-en/mdn-mt", "fr-en/canada-laws"
FURTHER = {"de-en": (WEB, LAWS), "fr-en": (LAWS, WEB)}
KEPT = 0.05
ENGINES = ("fused", "hybrid")
SIZES = (100_000, 300_000, 1_000_000)
# Largest size that the exhaustive engine searches.
MOST = 100_000
# Memory limit of a search in the section ``search``, in bytes.
MEMORY = 2 << 30
QUICK = 0.03
# Fields of a job besides its time and memory.
MORE = ("stages", "pairs", "recall")
# Jobs of sections with growing sizes.
CALLS = {"search": "search_job", "growth": "job"}
# Kinds of tasks of a neighbour search.
SEARCHES = "probe", "centroids", "assign", "retrieve", "search", "hybrid", "merge", "lists"
SEED = 1


def quality(data: Path, pair: str, threads: int) -> dict[str, Any]:
    """Compare both engines on one BUCC-style set."""
    task = located(data / "bucc-style", pair)
    encoder = Encoder.load("default", threads)
    row: dict[str, Any] = {"pair": pair, "fused": {}, "hybrid": {}}
    mined: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
    for split in (*SPLITS, GROWN):
        with tempfile.TemporaryDirectory(prefix="hybrid-") as work:
            files = [task.need(f"{split.split(',')[0]}.{one}") for one in task.languages]
            if split == GROWN:
                files = among_further(files, data, pair, Path(work))
            left, right = (
                Index.build(encoder, path, Path(work) / one, format="bucc")
                for path, one in zip(files, task.languages, strict=True)
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
        grown = best_threshold(mined[engine, GROWN], task.gold("training"))
        row[engine][GROWN] |= grown.as_dict()
        tuned = best_threshold(mined[engine, "training"], task.gold("training"))
        test = evaluate(mined[engine, "test"], task.gold("test"), tuned.threshold)
        row[engine]["training"] |= tuned.as_dict()
        row[engine]["test"] |= test.as_dict()
    return row


def among_further(files: list[Path], data: Path, pair: str, work: Path) -> list[Path]:
    """Write the sentences of both files with further sentences, `GROWN_LINES` in total."""
    written = []
    for side, (path, name) in enumerate(zip(files, FURTHER[pair], strict=True)):
        own = read(path, format="bucc")
        bitext = read_bitext(data / "train" / f"{name}.tsv.xz")
        known = set(own.sentences)
        more = [
            text
            # English is the target side of all training text.
            for text in dict.fromkeys(bitext.target if side else bitext.source)
            if text not in known and "\t" not in text
        ][: max(0, GROWN_LINES - len(own.sentences))]
        lines = [*zip(own.ids, own.sentences, strict=True)]
        lines += [(f"further-{number}", text) for number, text in enumerate(more)]
        written.append(work / f"{side}.txt")
        written[-1].write_text("".join(f"{name}\t{text}\n" for name, text in lines), "utf-8")
    return written


def sides(data: Path, most: int) -> tuple[list[str], list[str], list[int]]:
    """Return the shuffled texts of both sides, and the number of real sentences of each."""
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
    """Yield new sentences without end: real ones with one word removed."""
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
    """Measure the neighbour search of one engine once, by the records of its tasks."""
    encoder = Encoder.load("default", threads)
    left, right = (indexed(encoder, Path(path)) for path in paths)
    settings = SearchSettings(k=8, engine=engine, memory=MEMORY, threads=threads, device="cpu")
    with tempfile.TemporaryDirectory(dir=work) as place:
        keep = Keep(estimate=False, threshold=0.0)
        mined = mine_sides(left, right, keep=keep, settings=settings, encoder=encoder, work=place)
        kinds = [kind for kind in status(place).kinds if kind.name in SEARCHES]
    recall = mined.search.recall
    return {
        "count": 2,
        "seconds": sum(kind.seconds * kind.done for kind in kinds),
        "cpu seconds": sum(kind.core_seconds * kind.done for kind in kinds),
        "peak": max(kind.peak for kind in kinds),
        "stages": {},
        "recall": None if recall is None else asdict(recall),
    }


def indexed(encoder: Encoder, text: Path) -> Index:
    """Build the index beside a text unless it exists; return it."""
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
    for engine in ENGINES:
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
