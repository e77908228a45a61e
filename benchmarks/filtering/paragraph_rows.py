"""Measure the quality of rows with several sentences: whole, and with ``--paragraphs``.

Rows are two to eight consecutive pairs of a source in running order. Every second one is corrupted:
a target sentence is replaced by another, left out or put in; the second half of the target is left
out; or the target is that of other pairs. ``talks`` and ``guides`` decided how beads become a
score, ``news`` and ``laws`` are for the report. The model was trained on none of them.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering import filter_metrics
from benchmarks.filtering.noise import Pair
from benchmarks.filtering.noisy_text import one
from benchmarks.markdown import table
from miner import Encoder
from miner.alignment.paragraphs import Paragraphs
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext

ROWS, SEED, WORDS = 300, 5, 4
TEXTS = {
    "talks": ("train/de-en", "iwslt.tsv", "development"),
    "guides": ("train/de-en", "opensource-guide.tsv", "development"),
    "news": ("train/cs-en", "newstest.tsv", "report"),
    "laws": ("heldout", "fr-en.laws.tsv", "report"),
}
KINDS = "replaced", "left out", "put in", "second half left out", "of other pairs"


def measure(data: Path) -> dict[str, Any]:
    """Return AUCs, of all kinds of corruption and of each, by text and way to score."""
    found = {}
    for name, (folder, file, use) in TEXTS.items():
        languages = folder[-5:] if "/" in folder else file[:5]
        bitext = read_bitext(one(data / folder, file))
        pairs = [
            pair
            for pair in zip(bitext.source, bitext.target, strict=True)
            if min(len(side.split()) for side in pair) >= WORDS
            and all(side[-1:] in ".!?" for side in pair)
        ]
        rows, kinds = corrupted(pairs, np.random.default_rng(SEED))
        source, target = languages.split("-")
        quality = Quality(Verifier(Encoder.load("default", 1), (source, target)))
        ways = {}
        for way, score in (("whole row", quality), ("--paragraphs", Paragraphs(quality))):
            begun = time.process_time()
            scores = score.score(*zip(*rows, strict=True))
            seconds = time.process_time() - begun
            good = np.array([not kind for kind in kinds])
            by = {}
            for kind in KINDS:
                part = good | np.array([own == kind for own in kinds])
                by[kind] = filter_metrics.ranking(scores[part], good[part])["auc"]
            auc = filter_metrics.ranking(scores, good)["auc"]
            ways[way] = {"auc": auc, "by kind": by, "CPU ms a row": 1000 * seconds / len(rows)}
            ways[way]["right below 0.1"] = float((scores[good] < 0.1).mean())
        found[name] = {"languages": languages, "use": use, "ways": ways}
        print(f"  {name}: {ways}", flush=True)
    return {"rows": ROWS, "texts": found}


def corrupted(
    pairs: Sequence[Pair], generator: np.random.Generator
) -> tuple[list[Pair], list[str]]:
    """Return rows of consecutive pairs, and the kind of corruption of each, or ""."""
    rows, kinds = [], []
    for number in range(ROWS):
        size = int(generator.integers(2, 9))
        start, other = generator.integers(len(pairs) - size, size=2).tolist()
        targets = [target for _, target in pairs[start : start + size]]
        kind = "" if number % 2 else KINDS[number // 2 % len(KINDS)]
        place, stranger = int(generator.integers(size)), pairs[other][1]
        if kind == "replaced":
            targets[place] = stranger
        elif kind == "left out":
            del targets[place]
        elif kind == "put in":
            targets.insert(place, stranger)
        elif kind == "second half left out":
            targets = targets[: size // 2]
        elif kind:
            targets = [target for _, target in pairs[other : other + size]]
        source = (source for source, _ in pairs[start : start + size])
        rows.append((" ".join(source), " ".join(targets)))
        kinds.append(kind)
    return rows, kinds


def tables(results: dict[str, Any]) -> list[str]:
    """Return the table of AUCs."""
    rows = [
        (
            f"{name} ({text['languages']}, {text['use']})",
            way,
            f"{own['auc']:.3f}",
            *(f"{own['by kind'][kind]:.3f}" for kind in KINDS),
            f"{own['right below 0.1']:.1%}",
            f"{own['CPU ms a row']:.0f}",
        )
        for name, text in results["texts"].items()
        for way, own in text["ways"].items()
    ]
    return [
        f"{results['rows']} rows of two to eight sentences of each text, every second one",
        "corrupted in one way. AUC of the quality of all rows, and of the right rows against each",
        "kind.",
        "",
        *table(("text", "score of", "all", *KINDS, "right below 0.1", "CPU ms a row"), rows),
    ]
