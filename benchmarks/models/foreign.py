"""Measure encoders of other libraries: a transformer behind the toolchain, its fit, its student.

    python -m benchmarks foreign --data DIR [--models models/foreign] [--minutes 15] [--cut 0.1]

Trains the transformer of :mod:`benchmarks.models.small_transformer` on German–English and
French–English for ``--minutes`` of CPU time, unless ``--models`` holds it, and takes it as
``hf:DIR`` from then on. On a cut of the BUCC-style sets (that share of their gold pairs and of the
other sentences) it mines by margin; then with verification that ``miner fit`` learned; then by the
student that ``miner distill`` made. Thresholds are tuned on the cut of the training split.
Precision is asked for without gold, and compared with the gold. Throughput is by CPU time on
``--threads``, beside a loop of ``SentenceTransformer.encode``.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.mining import bucc_protocol
from benchmarks.models import foreign_tables, small_transformer, training_text
from benchmarks.models.training_text import Pair
from miner import Index, Keep, SearchSettings, best_threshold, evaluate, mine, open_encoder
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.text.corpus import read
from miner_train.config import TrainConfig
from miner_train.distill import Lessons, distill
from miner_train.fit_encoder import fit_encoder
from miner_train.read import TextPair

PAIRS = ("de-en", "fr-en")
ASKED = (0.90, 0.95, 0.98)
SPLITS = ("training", "test")
SEED = 3
# Timed sentences: the student's, as a multiple of the transformer's; number of rounds.
TIMES_MORE, ROUNDS = 40, 5

LIBRARIES = ("sentence-transformers", "transformers", "tokenizers")
# Encodes sentences; the result is not used.
Encode = Callable[[list[str]], Any]


@dataclass(frozen=True)
class Sizes:
    """Pairs that a fit and a student learn from, their pieces, and the student's epochs.

    ``timed`` are the sentences that the transformer's encoding is timed on.
    """

    pairs: int
    pieces: int = 16_000
    distractors: int = 5000
    epochs: int = 8
    timed: int = 1000


QUICK = Sizes(6000, 2000, 500, 1, 100)
# Pairs that the transformer is trained on, of each language pair.
TRAINED = 200_000


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def cut(data: Path, pair: str, share: float, place: Path) -> Path:
    """Write a share of a BUCC-style set, in its format; return its directory."""
    found = bucc_protocol.located(data, pair)
    place.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        generator = np.random.default_rng(SEED)
        gold = sorted(found.gold(split))
        kept = [gold[i] for i in generator.permutation(len(gold))[: round(share * len(gold))]]
        lines = "".join(f"{source}\t{target}\n" for source, target in kept)
        (place / f"{pair}.{split}.gold").write_text(lines, encoding="utf-8")
        for side, language in enumerate(pair.split("-")):
            own = {one[side] for one in kept}
            gone = {one[side] for one in gold} - own
            corpus = read(found.need(f"{split}.{language}"), format="bucc")
            lots = generator.random(len(corpus.ids)) < share
            rows = zip(corpus.ids, corpus.sentences, lots.tolist(), strict=True)
            lines = "".join(
                f"{name}\t{text}\n"
                for name, text, drawn in rows
                if name in own or (drawn and name not in gone)
            )
            (place / f"{pair}.{split}.{language}").write_text(lines, encoding="utf-8")
    return place


def indexes(encoder: SentenceEncoder, text: Path, pair: str, split: str) -> tuple[Index, Index]:
    """Encode both sides of a split, unless indexes of this encoder exist."""
    found = []
    for language in pair.split("-"):
        place = text / f"{encoder.fingerprint}.{split}.{language}"
        if not place.exists():
            Index.build(encoder, text / f"{pair}.{split}.{language}", place, format="bucc")
        found.append(Index.open(place))
    return found[0], found[1]


def mined(
    builder: SentenceEncoder,
    encoder: SentenceEncoder,
    rank: str,
    text: Path,
    pair: str,
    threads: int,
) -> dict[str, Any]:
    """Mine both splits of indexes by ``builder``; return F1 on test, and target and reached
    precision.
    """
    task = bucc_protocol.located(text, pair)
    settings = SearchSettings(rank=rank, threads=threads, duplicates="each")
    mine_split = partial(mine, encoder=encoder, settings=settings)
    train, test = (indexes(builder, text, pair, split) for split in SPLITS)
    # Scores of the model, before any refit, are comparable between splits.
    raw = [mine_split(*both, keep=Keep(estimate=False)).all_pairs for both in (train, test)]
    tuned = best_threshold(list(raw[0].ids()), task.gold("training"))
    gold = task.gold("test")
    found = evaluate(list(raw[1].ids()), gold, tuned.threshold or 2.0)
    estimated = mine_split(*test, keep=Keep(target_precision=ASKED[0]))
    rows = list(estimated.all_pairs.ids())
    reached = {}
    for asked in ASKED:
        assert estimated.estimate is not None
        threshold = estimated.estimate.threshold(asked)
        if threshold is not None:
            one = evaluate(rows, gold, threshold)
            reached[str(asked)] = {"precision": one.precision, "recall": one.recall}
    return {"rank": rank, "training F1": tuned.f1, "test": found.as_dict(), "reached": reached}


def throughput(encoders: dict[str, Encode], texts: list[str]) -> dict[str, float]:
    """Return sentences per second of CPU time, as the median of alternating rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in encoders}
    for number in range(ROUNDS + 1):
        for name, encode in encoders.items():
            begun = time.process_time()
            encode(texts)
            if number:  # the first round warms up
                seconds[name].append(time.process_time() - begun)
    return {name: len(texts) / float(np.median(found)) for name, found in seconds.items()}


def speeds(
    name: str, student: Path, texts: list[str], timed: int, threads: int
) -> dict[str, float]:
    """Return the throughput of bare library, adapter and student, in sentences/s."""
    torch = import_module("torch")
    torch.set_num_threads(threads)
    library = import_module("sentence_transformers")
    bare = library.SentenceTransformer(name.partition(":")[2], device="cpu")
    adapter = open_encoder(name, threads)
    fast = open_encoder(student, threads)
    few = texts[:timed]

    def loop(sentences: list[str]) -> Any:
        return bare.encode(sentences, batch_size=32, show_progress_bar=False)

    return {
        **throughput({"bare": loop, "adapter": adapter.encode}, few),
        **throughput({"student": fast.encode}, texts),
    }


def measure(
    pair: str, name: str, data: Path, place: Path, share: float, sizes: Sizes, threads: int
) -> dict[str, Any]:
    """Measure one language pair: transformer, fit and student."""
    encoder = open_encoder(name, threads)
    assert isinstance(encoder, ForeignEncoder)
    text = cut(data / "bucc-style", pair, share, place / f"{pair}.{share}")
    rows = {"transformer": mined(encoder, encoder, "margin", text, pair, threads)}
    print(pair, rows, flush=True)
    drawn = training_text.draw(_pairs(data, pair), sizes.pairs)
    bitext = training_text.written(pair, drawn, place)
    lesson = TextPair(str(bitext.path), named=pair)
    fitted, student = place / f"{pair}-fitted", place / f"{pair}-student"
    fit_encoder(
        encoder,
        [lesson],
        fitted,
        pieces=sizes.pieces,
        distractors=sizes.distractors,
        report=say,
    )
    verifying = open_encoder(fitted, threads)
    rows["fit"] = mined(encoder, verifying, "probability", text, pair, threads)
    print(pair, rows, flush=True)
    config = TrainConfig(pieces=sizes.pieces, dimension=encoder.dimension, epochs=sizes.epochs)
    distill(
        encoder,
        Lessons(bitext=[lesson]),
        config,
        student,
        cache=place / f"{pair}-vectors",
        comparer=False,
        report=say,
    )
    own = open_encoder(student, threads)
    for rank in ("margin", "probability"):
        rows[f"student, {rank}"] = mined(own, own, rank, text, pair, threads)
    print(pair, rows, flush=True)
    sentences = list(islice(_sentences(data, pair), sizes.timed * TIMES_MORE))
    return {
        "pair": pair,
        "rows": rows,
        "sentences/s of CPU time": speeds(name, student, sentences, sizes.timed, threads),
    }


def _pairs(data: Path, pair: str) -> list[Pair]:
    return training_text.together(training_text.sources(data, pair).values())


def _sentences(data: Path, pair: str) -> Iterator[str]:
    """Sentences of the test split, to time encoders on."""
    source = bucc_protocol.located(data / "bucc-style", pair)
    corpus = read(source.need(f"test.{pair.split('-')[0]}"), format="bucc")
    return iter(corpus.sentences)


def main() -> None:
    parser = report.parser(__doc__, "foreign.json", "models/foreign", quick=True)
    parser.add_argument("--minutes", type=float, default=15.0, help="CPU time of the training [15]")
    parser.add_argument("--cut", type=float, default=0.1, help="share of the mining sets [0.1]")
    parser.add_argument("--learn", type=int, default=60_000, help="pairs of a fit and a student")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=PAIRS, help="[both]")
    parser.add_argument("--threads", type=int, default=1, help="[1]")
    arguments = parser.parse_args()
    sizes = QUICK if arguments.quick else Sizes(arguments.learn)
    text: Iterable[Sequence[Pair]] = (
        training_text.draw(_pairs(arguments.data, pair), TRAINED) for pair in PAIRS
    )
    pairs = training_text.together(text)
    place = small_transformer.trained(pairs, arguments.models, arguments.minutes, arguments.threads)
    for pair in arguments.pairs:
        measured = measure(
            pair,
            f"hf:{place}",
            arguments.data,
            arguments.models,
            arguments.cut,
            sizes,
            arguments.threads,
        )
        found = {
            "transformer": small_transformer.recipe(place),
            "cut": arguments.cut,
            "learned from": sizes.pairs,
            **measured,
        }
        print(foreign_tables.speed(found), flush=True)
        report.merge(report.destination(arguments), "foreign", pair, found, LIBRARIES)
