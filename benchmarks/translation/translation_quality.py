"""Measure what filtering does to a translator that is trained on the filtered text.

    python -m benchmarks translation --data DIR [--peers PYTHON] [--seeds 1 2] [--languages cs-en]
        [--second hf:models/e5-small --second-pairs 3000]

A corpus with one half of noise (``corpus.py``) is filtered by each system; a small transformer
(``translator.py``) is trained on what it keeps, with the same number of updates and the same
vocabulary for all, and translates test sets that nobody was trained on. ``--text captions`` is a
corpus of one kind that a small translator learns within minutes of one core; ``all`` has all
sources, a larger translator and 20 times the updates, for a GPU or a night. ``news`` is learned by
a phrase-based translator (``phrases.py``), because a transformer learns nothing from so few pairs.
chrF and BLEU are sacrebleu's, with intervals and tests against ``miner filter`` by its paired
bootstrap. ``--work`` keeps each system's decisions, checkpoint and translations, so that a stopped
run goes on, and further systems and seeds are added to it.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.filtering.filter_peers import Peers
from benchmarks.filtering.noise import Pair
from benchmarks.filtering.noisy_text import Mixture
from benchmarks.filtering.systems import MINER, PRECISE, Baselines, Missing, Ours
from benchmarks.translation import corpus
from benchmarks.translation.phrases import PhraseBased, Phrases
from benchmarks.translation.translation_tables import METRICS
from benchmarks.translation.translator import Setting, Translator
from miner import MinerError
from miner.encoder.pretrained import torch_threads
from miner.text.output import write_whole
from miner_train.config import TrainConfig
from miner_train.vocabulary import train_vocabulary

NAME = "translation"
LIBRARIES = ("sacrebleu",)
OURS, RANDOM, SAMPLES = "miner filter", "random half", 1000


@dataclass(frozen=True)
class Text:
    """Text of a corpus: its sources by languages, its translator, and names of its test sets."""

    sources: Mapping[str, Sequence[str]]
    setting: Setting | Phrases
    tests: Sequence[str] = ("captions", "news", "talks")


TEXTS = {
    "captions": Text(dict.fromkeys(corpus.SOURCES, ("multi30k",)), Setting()),
    "news": Text({"cs-en": ("newstest", "wmt21-23")}, Phrases(), ("news",)),
    "all": Text(
        corpus.SOURCES,
        Setting(8000, 256, layers=3, updates=20_000, batch=4000, rate=0.001, warmup=1000),
    ),
}


# From the corpus, its languages and the seed to kept rows (n,) bool.
Decide = Callable[[Mixture, str, int], np.ndarray]


def systems(arguments: argparse.Namespace) -> dict[str, Decide]:
    """Return the systems by name."""
    peers = Peers(arguments.peers)

    def random_half(text: Mixture, languages: str, seed: int) -> np.ndarray:
        return np.random.default_rng(seed).permutation(len(text.pairs)) < len(text.pairs) // 2

    def margin(text: Mixture, languages: str, seed: int) -> np.ndarray:
        scores = Baselines(1).margin(text.pairs, languages)
        return scores >= np.sort(scores)[len(scores) // 2]

    def decided(score: Any, text: Mixture, languages: str, seed: int) -> np.ndarray:
        return score(text.pairs, languages) > 0

    found: dict[str, Decide] = {
        "clean half": lambda text, languages, seed: text.good,
        "nothing": lambda text, languages, seed: np.ones(len(text.pairs), dtype=bool),
        OURS: partial(decided, Ours(MINER).filter),
        PRECISE: partial(decided, Ours(MINER, PRECISE.split()[2:]).filter),
        "OpusFilter, its default filters": partial(decided, peers.opus_decision),
        "margin of our vectors, the better half": margin,
        "bicleaner-hardrules, no language id": partial(decided, peers.hardrules),
        RANDOM: random_half,
    }
    if arguments.second:
        second = ["--second", arguments.second]
        if arguments.second_pairs is not None:
            second += ["--second-pairs", str(arguments.second_pairs)]
        for name in (OURS, PRECISE):
            options = (*name.split()[2:], *second)
            found[f"{name} --second"] = partial(decided, Ours(MINER, options).filter)
    return found


def translated(
    work: Path,
    kept: Sequence[Pair],
    vocabulary: bytes,
    tests: dict[str, list[Pair]],
    setting: Setting | Phrases,
    seed: int,
) -> dict[str, Any]:
    """Train on the pairs kept, or continue; return the translations of the test sets."""
    path = work / "translations.json"
    if not path.exists():
        translator = (
            PhraseBased(setting)
            if isinstance(setting, Phrases)
            else Translator(vocabulary, setting, seed)
        )
        translator.train(kept, work / "checkpoint.pt")
        found = {name: translator.translate([s for s, _ in own]) for name, own in tests.items()}
        record = {"training CPU seconds": translator.seconds, "translations": found}
        write_whole(path, json.dumps(record, ensure_ascii=False).encode())
    return json.loads(path.read_text(encoding="utf-8"))


def scores(
    tests: dict[str, list[Pair]], found: dict[str, dict[str, list[str]]], lowercase: bool
) -> dict[str, Any]:
    """Return chrF and BLEU of each system and test set, compared with ours by bootstrap."""
    from sacrebleu.metrics import BLEU, CHRF
    from sacrebleu.significance import PairedTest

    first = [OURS] if OURS in found else []
    names = [*first, *(name for name in found if name not in first)]
    rows: dict[str, Any] = {name: {} for name in names}
    for test, pairs in tests.items():
        references = [[target for _, target in pairs]]
        metrics: dict[str, Any] = dict(
            zip(METRICS, (CHRF(lowercase=lowercase), BLEU(lowercase=lowercase)), strict=True)
        )
        given: Any = [(name, found[name][test]) for name in names]
        test_of = PairedTest(given, metrics, references, test_type="bs", n_samples=SAMPLES)
        results: dict[str, Any] = test_of()[1]
        for metric in metrics:
            for name, result in zip(names, results[metric], strict=True):
                rows[name].setdefault(test, {})[metric] = {
                    "score": float(result.score),
                    "interval": float(result.ci),
                    "p": None if result.p_value is None else float(result.p_value),
                }
    return rows


def measure(arguments: argparse.Namespace, languages: str, corpus_name: str) -> dict[str, Any]:
    """Filter, train and translate by each system and seed."""
    setting = TEXTS[corpus_name].setting
    sources = TEXTS[corpus_name].sources.get(languages)
    if sources is None:
        raise MinerError(f"no text '{corpus_name}' of {languages}")
    work = arguments.work / f"{languages}-{corpus_name}"
    tests = corpus.test_sets(arguments.data, languages)
    held = [pair for own in tests.values() for pair in own]
    tests = {name: own for name, own in tests.items() if name in TEXTS[corpus_name].tests}
    text = corpus.noisy_corpus(arguments.data, languages, held, sources)
    vocabulary = b""
    if isinstance(setting, Setting):
        sides = tuple([pair[side] for pair in text.pairs] for side in (0, 1))
        config = TrainConfig(pieces=setting.pieces, fold_case=False)
        vocabulary = kept_file(work / "sp.model", lambda: train_vocabulary(sides, config))
    rows = []
    for seed in arguments.seeds:
        found: dict[str, dict[str, list[str]]] = {}
        own: list[dict[str, Any]] = []
        for name, system in systems(arguments).items():
            if name.split(",")[0] not in (arguments.only or [name.split(",")[0]]):
                continue
            place = work / f"{name.replace(' ', '-').replace(',', '')}.{seed}"
            place.mkdir(parents=True, exist_ok=True)
            print(f"  {languages}, {name}, seed {seed}", flush=True)
            # The seed of a training decides nothing in a filter.
            chosen = place / "kept" if name == RANDOM else place.with_suffix(".kept")
            try:
                kept = kept_file(chosen, partial(decision, system, text, languages, seed))
            except Missing as error:
                own.append({"system": name, "seed": seed, "missing": str(error)})
                continue
            choice = np.frombuffer(kept, np.uint8).astype(bool)
            pairs = [pair for pair, one in zip(text.pairs, choice, strict=True) if one]
            made = translated(place, pairs, vocabulary, tests, setting, seed)
            found[name] = made.pop("translations")
            own.append({"system": name, "seed": seed, **shares(text, choice), **made})
        scored = scores(tests, found, lowercase=isinstance(setting, Phrases))
        rows += [{**row, "scores": scored.get(row["system"])} for row in own]
        show(rows)
    return {
        "setting": asdict(setting),
        "pairs": len(text.pairs),
        "kinds": text.counts,
        "tests": {name: len(own) for name, own in tests.items()},
        "rows": rows,
    }


def decision(system: Decide, text: Mixture, languages: str, seed: int) -> bytes:
    return system(text, languages, seed).astype(np.uint8).tobytes()


def kept_file(path: Path, made: Callable[[], bytes]) -> bytes:
    """Return the content of a file, which is made if it is missing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made())
    return path.read_bytes()


def shares(text: Mixture, choice: np.ndarray) -> dict[str, Any]:
    """Return the rows kept, and the shares of clean pairs and of noise that are among them."""
    return {
        "kept": int(choice.sum()),
        "clean kept": float(choice[text.good].mean()),
        "noise kept": float(choice[~text.good].mean()),
    }


def show(rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        of = row["scores"] or {}
        cells = (
            f"{test} {one['chrF2']['score']:.1f} {one['BLEU']['score']:.1f}"
            for test, one in of.items()
        )
        print("   ", row["system"], row.get("kept"), *cells, flush=True)


def main() -> None:
    parser = report.parser(__doc__, "translation.json")
    parser.add_argument("--peers", type=Path, help="Python interpreter of their environment")
    parser.add_argument("--second", help="second opinion of two more systems")
    parser.add_argument("--second-pairs", type=int, help="most pairs that it reads")
    parser.add_argument("--languages", nargs="+", choices=list(corpus.SOURCES), default=["de-en"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], help="[1]")
    parser.add_argument("--only", nargs="+", help="names of systems, up to a comma [all]")
    parser.add_argument("--text", choices=TEXTS, default="captions", help="[captions]")
    parser.add_argument("--work", type=Path, default=Path("translation-work"))
    arguments = parser.parse_args()
    with torch_threads(1):
        for languages in arguments.languages:
            found = measure(arguments, languages, arguments.text)
            part = ", second opinion" if arguments.second and arguments.only else ""
            section = f"{languages}, {arguments.text}{part}"
            report.merge(arguments.json, NAME, section, found, LIBRARIES)


if __name__ == "__main__":
    main()
