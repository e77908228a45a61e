"""How many test sentences stand in the training text, in whatever pair and spelling.

Sentences are compared by their letters and digits in lower case; short ones, which say nothing of
where they are from, are not counted.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miner.corpus import read, read_bitext
from miner.tasks import hidden, noisy, paraphrase, sts, tatoeba
from miner.tasks.text import judged

# Letters and digits of the shortest sentence that counts.
LEAST = 13

Found = dict[str, dict[str, dict[str, int]]]


def count(data: Path, pairs: Sequence[str]) -> Found:
    """By the languages of the training text, then by test set: distinct sentences, those seen.

    Test sets of which no sentence was seen are not named.
    """
    tests = {name: folded(sentences) for name, sentences in test_sentences(data).items()}
    found: Found = {}
    every: set[str] = set()
    for pair in sorted(path.name for path in (data / "train").iterdir() if path.is_dir()):
        known: set[str] = set()
        for file in sorted((data / "train" / pair).glob("*.tsv*")):
            bitext = read_bitext(file)
            known |= folded([*bitext.source, *bitext.target])
        every |= known
        if pair in pairs:
            found[pair] = _among(tests, known)
    return {**found, "all five": _among(tests, every)}


def _among(tests: dict[str, set[str]], known: set[str]) -> dict[str, dict[str, int]]:
    return {
        name: {"sentences": len(lot), "seen": len(lot & known)}
        for name, lot in tests.items()
        if lot & known
    }


def folded(sentences: Sequence[str]) -> set[str]:
    """What is compared of sentences, each once."""
    every = ("".join(filter(str.isalnum, sentence.casefold())) for sentence in sentences)
    return {text for text in every if len(text) >= LEAST}


def test_sentences(data: Path) -> dict[str, list[str]]:
    """All sentences of every test set, by its place and name."""
    found: dict[str, list[str]] = {}
    files: list[tuple[Any, str, Path, int]] = [
        *((sts, name, path, 0) for name, path in sts.sets(data).items()),
        *((paraphrase, name, paths[1], 0) for name, paths in paraphrase.sets(data).items()),
        *((noisy, name, path, 2) for name, path in noisy.sets(data).items()),
    ]
    for task, name, path, column in files:
        pairs = judged(path, column=column)
        found[f"{task.PLACE} {name}"] = [*pairs.first, *pairs.second]
    for name, path in tatoeba.sets(data).items():
        bitext = read_bitext(path)
        found[f"{tatoeba.PLACE} {name}"] = [*bitext.source, *bitext.target]
    for task in hidden.sets(data):
        split = task.reported
        gold = hidden.read_gold_of(task, split)
        for side, language in enumerate(task.languages):
            corpus = read(task.need(f"{split}.{language}"), format="bucc")
            text = dict(zip(corpus.ids, corpus.sentences, strict=True))
            true = [text[pair[side]] for pair in sorted(gold) if pair[side] in text]
            found.setdefault(f"{task.name} {split}, true pairs", []).extend(true)
    return found
