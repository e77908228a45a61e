"""Measure what ``--without`` finds: test sentences planted in text without any.

The three test sets are English sentences: the true pairs of the bucc-style training splits (de-en,
fr-en; news), and paraphrases (msrpc, test split; news). Planted are copies in other case and
punctuation, edited copies, a test sentence joined to another sentence, translations and
paraphrases. The other text has sentences of the training splits outside of the true pairs; each one
found is a false alarm.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering.noisy_text import one
from benchmarks.markdown import head, line
from benchmarks.mining.precision_reached import bucc_style
from miner import Without
from miner.text.bitext import read_bitext
from miner.text.durable import scratch_directory
from miner.text.formats import BitextFormat

SEED = 9
# Sentences per test set, and of other text per language.
TESTED, OTHERS = 1000, 20_000
NEAR, COSINES = (0.8, 0.6), (0.9, 0.8, 0.7, 0.65, 0.6, 0.55)
SETTINGS = {
    "exact": {},
    **{f"--near {near:g}": {"near": near} for near in NEAR},
    **{f"--near-vectors {cosine:g}": {"near_vectors": cosine} for cosine in COSINES},
}
Edit = Callable[[str, Sequence[str], np.random.Generator], str]


def respelled(text: str, others: Sequence[str], generator: np.random.Generator) -> str:
    return f"« {text.upper().rstrip('.!?')} »"


def edited(text: str, others: Sequence[str], generator: np.random.Generator) -> str:
    """Replace one word by a word of another sentence."""
    words = text.split()
    other = others[int(generator.integers(len(others)))].split()
    words[int(generator.integers(len(words)))] = other[int(generator.integers(len(other)))]
    return " ".join(words)


def cut(text: str, others: Sequence[str], generator: np.random.Generator) -> str:
    """Leave out one word."""
    words = text.split()
    del words[int(generator.integers(len(words)))]
    return " ".join(words)


def rewritten(text: str, others: Sequence[str], generator: np.random.Generator) -> str:
    """Replace three words."""
    for _ in range(3):
        text = edited(text, others, generator)
    return text


def joined(text: str, others: Sequence[str], generator: np.random.Generator) -> str:
    return f"{text} {others[int(generator.integers(len(others)))]}"


EDITS: dict[str, Edit] = {
    "copy, other case and marks": respelled,
    "one word left out": cut,
    "one word replaced": edited,
    "three words replaced": rewritten,
    "joined to another sentence": joined,
}


def measure(data: Path) -> dict[str, Any]:
    """Return the recall of each kind of planted sentence, and false alarms, by set and setting."""
    found = {}
    others: list[str] = []
    for languages in ("de-en", "fr-en"):
        sides, pairs = bucc_style(data / "bucc-style", languages, "training")
        gold = sorted(pairs)
        true = [[side[pair[i]] for pair in gold] for i, side in enumerate(sides)]
        rest = [
            sorted(set(side.values()) - set(own)) for side, own in zip(sides, true, strict=True)
        ]
        generator = np.random.default_rng(SEED)
        rest = [list(generator.choice(side, OTHERS, replace=False)) for side in rest]
        others = others or rest[1]
        kinds = {"translation": (true[0][:TESTED], 0)}
        found[languages] = shares(true[1][:TESTED], kinds, rest)
    columns = BitextFormat(2, 3)
    bitext = read_bitext(one(data / "paraphrase", "msrpc.test.tsv"), None, columns, more=(1,))
    same = [row for row, (label,) in enumerate(bitext.more) if label == "1"]
    kinds = {"paraphrase": ([bitext.target[row] for row in same], 1)}
    found["msrpc"] = shares([bitext.source[row] for row in same], kinds, [[], others])
    return {"sets": found}


def shares(
    tested: Sequence[str],
    kinds: Mapping[str, tuple[Sequence[str], int]],
    rest: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """Return the share of each kind that each setting finds.

    ``kinds`` are texts with their side, ``rest`` is the other text of both sides.
    """
    generator = np.random.default_rng(SEED)
    planted = {
        name: ([edit(text, rest[1], generator) for text in tested], 1)
        for name, edit in EDITS.items()
    } | dict(kinds)
    out: dict[str, Any] = {}
    with scratch_directory() as place:
        path = place / "tested.txt"
        path.write_text("".join(f"{text}\n" for text in tested), encoding="utf-8")
        for name, settings in SETTINGS.items():
            (unwanted,) = Without([str(path)], **settings).opened()
            hits = {kind: unwanted.hits(*texts) > 0 for kind, texts in planted.items()}
            row = {kind: float(hit.mean()) for kind, hit in hits.items()}
            false = [unwanted.hits(texts, side) > 0 for side, texts in enumerate(rest)]
            out[name] = {"found": row, "false alarms": float(np.concatenate(false).mean())}
    return {"tested": len(tested), "others": sum(map(len, rest)), "settings": out}


def tables(results: dict[str, Any]) -> list[str]:
    """Return a table for each test set: kinds by settings, and false alarms."""
    lines: list[str] = []
    for name, found in results["sets"].items():
        settings = found["settings"]
        kinds = list(settings["exact"]["found"])
        lines += [
            *([""] if lines else []),
            f"{name}: {found['tested']:,} test sentences, {found['others']:,} other sentences; "
            "share that is found:",
            "",
            *head(["planted", *settings]),
            *(
                line([kind, *(f"{one['found'][kind]:.1%}" for one in settings.values())])
                for kind in kinds
            ),
            line(["other text", *(f"{one['false alarms']:.2%}" for one in settings.values())]),
        ]
    return lines
