"""Count test sentences that occur in the training text.

Sentences are compared by their letters and digits in lower case. Short ones are not counted: they
occur in any text.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miner.evaluation import mining_sets, noisy, tatoeba
from miner.evaluation.labelled_text import read_labelled
from miner.text.bitext import read_bitext
from miner.text.corpus import read
from miner.text.near_copies import plain
from miner_train import selection
from miner_train.papers import paraphrase_detection as paraphrase
from miner_train.papers import sts

# Minimum letters and digits of a sentence that counts.
LEAST = 13

# Training text of the model that ships, by directory and name.
SHIPPED = Path(selection.__file__).parent / "shipped.txt"
Found = dict[str, dict[str, dict[str, int]]]


def count(data: Path, pairs: Sequence[str]) -> Found:
    """Count distinct test sentences and those seen, by training text and test set.

    Training texts are all text of each language pair in ``pairs``, and the text of the model that
    ships, as far as it is there. Test sets without a seen sentence are left out.
    """
    tests = {name: folded(sentences) for name, sentences in test_sentences(data).items()}
    train = data / "train"
    texts = {pair: sorted((train / pair).glob("*.tsv*")) for pair in pairs}
    texts["shipped"] = [
        path
        for name in SHIPPED.read_text().split()
        if (path := train / f"{name}.tsv.xz").is_file()  # some texts have left the data since
    ]
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
    return {form for text in sentences if len(form := plain(text).replace(" ", "")) >= LEAST}


def test_sentences(data: Path) -> dict[str, list[str]]:
    """Return the sentences of every test set by name; from mining sets only the true pairs."""
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
