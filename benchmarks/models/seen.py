"""How many test sentences stand in the training text, in whatever pair and spelling.

Sentences are compared by their letters and digits in lower case; short ones, which say nothing of
where they are from, are not counted.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miner.evaluation import mining_sets, noisy, paraphrase, sts, tatoeba
from miner.evaluation.labelled_text import read_labelled
from miner.text.bitext import read_bitext
from miner.text.corpus import read
from miner_train import selection

# Letters and digits of the shortest sentence that counts.
LEAST = 13

# What the model that ships was trained on, by directory and name.
SHIPPED = Path(selection.__file__).parent / "shipped.txt"
Found = dict[str, dict[str, dict[str, int]]]


def count(data: Path, pairs: Sequence[str]) -> Found:
    """By the training text, then by test set: distinct sentences, and how many of them were seen.

    The text is all there is of each of ``pairs`` of languages, and what the model that ships was
    trained on. Test sets of which no sentence was seen are not named.
    """
    tests = {name: folded(sentences) for name, sentences in test_sentences(data).items()}
    train = data / "train"
    texts = {pair: sorted((train / pair).glob("*.tsv*")) for pair in pairs}
    texts["shipped"] = [train / f"{name}.tsv.xz" for name in SHIPPED.read_text().split()]
    found: Found = {}
    for text, files in texts.items():
        known: set[str] = set()
        for file in files:
            bitext = read_bitext(file)
            known |= folded([*bitext.source, *bitext.target])
        found[text] = {
            name: {"sentences": len(lot), "seen": len(lot & known)}
            for name, lot in tests.items()
            if lot & known
        }
    return found


def folded(sentences: Sequence[str]) -> set[str]:
    """Return the distinct folded forms in which sentences are compared."""
    return {text for text in map(selection.folded, sentences) if len(text) >= LEAST}


def test_sentences(data: Path) -> dict[str, list[str]]:
    """All sentences of every test set, of those for mining the true pairs, by place and name."""
    found: dict[str, list[str]] = {}
    files: list[tuple[Any, str, Path, int]] = [
        *((sts, name, path, 0) for name, path in sts.sets(data).items()),
        *((paraphrase, name, paths[1], 0) for name, paths in paraphrase.sets(data).items()),
        *((noisy, name, path, 2) for name, path in noisy.sets(data).items()),
    ]
    for task, name, path, column in files:
        pairs = read_labelled(path, column=column)
        found[f"{task.TASK} {name}"] = [*pairs.first, *pairs.second]
    for name, path in tatoeba.sets(data).items():
        bitext = read_bitext(path)
        found[f"{tatoeba.TASK} {name}"] = [*bitext.source, *bitext.target]
    for task in mining_sets.sets(data):
        split = task.reported
        gold = task.gold(split)
        for side, language in enumerate(task.languages):
            corpus = read(task.need(f"{split}.{language}"), format="bucc")
            text = dict(zip(corpus.ids, corpus.sentences, strict=True))
            true = [text[pair[side]] for pair in sorted(gold) if pair[side] in text]
            found.setdefault(f"{task.name} {split}, true pairs", []).extend(true)
    return found
