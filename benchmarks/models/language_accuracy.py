"""Measure a model on each of its languages: accuracy of retrieval on text of several domains.

    python -m benchmarks languages --data DIR [--model default] [--record]

Each sentence is to find its translation among all sentences of a set: the nearest by ratio margin
with k = 4, mean of both directions, the protocol of ``miner evaluate tatoeba``. The sets are those
of Tatoeba, and text of which nothing is in the training of the model that ships: news (WMT) and
prose of games (Wesnoth), up to 1,000 pairs of each, evenly spread. ``--record`` writes the
accuracies into the model's configuration, from which commands warn of weak languages, and the table
into its card.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import filled
from benchmarks.models import language_tables
from miner import MinerError
from miner.encoder.known_languages import KnownLanguage, as_dict
from miner.encoder.model import load
from miner.encoder.model_files import CONFIG, resolve
from miner.encoder.model_info import CARD
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import find_file
from miner.evaluation.tatoeba import found_own_row
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH
from miner.text.output import open_output

# File names of each set, below ``train/PAIR``; Tatoeba has a folder of its own.
UNSEEN = {"news": ("newstest", "wmt21-23", "wmt24"), "games": ("wesnoth",)}
TATOEBA = "Tatoeba"
# Maximum and minimum pairs of a set, and minimum length of a sentence.
MOST, FEWEST, SHORTEST = 1000, 200, 20


def unseen(data: Path, pair: str, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Choose up to ``MOST`` distinct pairs of these files, evenly spread over all of them."""
    found: dict[str, str] = {}
    sources = set()
    for name in names:
        path = find_file(data / "train" / pair, f"{name}.tsv")
        if path is None:
            continue
        bitext = read_bitext(path)
        for source, target in zip(bitext.source, bitext.target, strict=True):
            if min(len(source) * dense(source), len(target)) < SHORTEST or source in sources:
                continue
            sources.add(source)
            found.setdefault(target, source)
    chosen = np.unique(np.linspace(0, len(found) - 1, min(MOST, len(found))).astype(np.int64))
    targets = [list(found)[row] for row in chosen.tolist()] if found else []
    return [found[target] for target in targets], targets


def dense(text: str) -> int:
    """Return the Latin characters that one character of this text is worth: 3 in Chinese and
    Japanese.
    """
    return 3 if any("\u3040" <= character <= "\u9fff" for character in text) else 1


def accuracy(model: MinerModel, language: str, sides: tuple[list[str], list[str]]) -> float:
    """Return the share of sentences that find their translation, mean of both directions."""
    vectors = model.encode(sides[0], language), model.encode(sides[1], ENGLISH)
    there, back = found_own_row(*vectors, "ratio")
    return float(there.mean() + back.mean()) / 2


def measure(model: MinerModel, data: Path, language: str) -> dict[str, float]:
    """Measure one language on all sets that there are, by the name of the set."""
    pair = f"{language}-{ENGLISH}"
    sets: dict[str, tuple[list[str], list[str]]] = {}
    path = find_file(data / "tatoeba", f"{pair}.tsv")
    if path is not None:
        bitext = read_bitext(path)
        sets[TATOEBA] = list(bitext.source), list(bitext.target)
    for name, files in UNSEEN.items():
        sides = unseen(data, pair, files)
        if len(sides[0]) >= FEWEST:
            sets[name] = sides
    return {name: round(accuracy(model, language, sides), 4) for name, sides in sets.items()}


def record_languages(directory: Path, languages: dict[str, Any]) -> None:
    """Write facts about the languages into a model's configuration."""
    config = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
    config["languages"] = languages
    with open_output(directory / CONFIG) as file:
        file.write(json.dumps(config, indent=2) + "\n")


def record(directory: Path, languages: dict[str, KnownLanguage], table: list[str]) -> None:
    """Write facts about the languages into a model's configuration, and the table into its card."""
    record_languages(directory, as_dict(languages))
    card = directory / CARD
    if card.is_file():
        text = filled(card.read_text(encoding="utf-8"), {"languages": lambda: table})
        with open_output(card) as file:
            file.write(text)


def main() -> None:
    parser = report.parser(__doc__, "languages.json", model=True)
    parser.add_argument("--record", action="store_true", help="write into the model directory")
    arguments = parser.parse_args()
    known = load(arguments.model).languages
    if not known:
        raise MinerError(
            f"{arguments.model}: records no languages; train it again, with text in folders or "
            "files that are named by their languages, such as de-en"
        )
    model = MinerModel(arguments.model)
    measured = {}
    for language in known:
        if language == ENGLISH:
            continue
        found = measure(model, arguments.data, language)
        measured[language] = dataclasses.replace(known[language], accuracy=found)
        print(language, *(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
    # English gets the accuracy of its best partner.
    if ENGLISH in known and measured:
        others = (one.accuracy for one in measured.values())
        best = max(others, key=lambda one: min(one.values(), default=0.0))
        measured[ENGLISH] = dataclasses.replace(known[ENGLISH], accuracy=best)
    results: dict[str, Any] = {
        "model": arguments.model,
        "fingerprint": model.fingerprint,
        "languages": as_dict(measured),
    }
    report.write(arguments.json, "languages", results)
    lines = language_tables.rows(results)
    print("\n".join(lines))
    if arguments.record:
        record(resolve(arguments.model), measured, lines)
