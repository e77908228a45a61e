"""Classifier of sentences: an encoder and a softmax over two classes, learned together (P17, 5.6).

It learns from two plain corpora, good and bad sentences, or from references with translations of
the same sentences (:mod:`miner_train.papers.classified`). A held-out part selects the epoch, and a
test part evaluates it. The softmax reads the encoder's vectors without normalisation.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.device import resolve_device
from miner.encoder.architecture import VOCABULARIES
from miner.encoder.model import Model
from miner.encoder.model_files import CLASSIFIER
from miner.encoder.tokenizer import open_tokenizer
from miner.errors import CorpusError
from miner.progress import Reporter, silent
from miner.text.artifacts import replaceable
from miner.text.corpus import CorpusReader
from miner.text.formats import BitextFormat
from miner.text.lines import display_name
from miner_train.assemble import stored_part
from miner_train.data import Sentences, tokenize
from miner_train.loop import memory_named
from miner_train.papers.classified import (
    LabelledSentences,
    MatchedReferences,
    read_matched,
    split_matched,
    tokenized,
)
from miner_train.papers.classifier_config import ClassifierConfig
from miner_train.papers.classifier_loop import ClassifierTrainer
from miner_train.stages import Report
from miner_train.vocabulary import train_vocabulary, train_words

# Tokenises sentences.
Cut = Callable[[Sequence[str]], Sentences]


@dataclass(frozen=True)
class ClassifierText:
    """Text of a training: its name, both classes' training sentences, and its parts, tokenised."""

    name: str
    sides: tuple[list[str], list[str]]
    build: Callable[
        [Cut], tuple[LabelledSentences | MatchedReferences, LabelledSentences, LabelledSentences]
    ]
    record: Mapping[str, object]


def two_classes(
    good: Sequence[CorpusReader],
    bad: Sequence[CorpusReader],
    config: ClassifierConfig,
    report: Report,
) -> ClassifierText:
    """Read the sentences of both classes, and split each.

    A sentence counts once in its class, and not at all if it is in both. Raises CorpusError if a
    class has too little text.
    """
    classes = [_read(readers, report) for readers in (good, bad)]
    names = [", ".join(display_name(reader.origin) for reader in side) for side in (good, bad)]
    both = classes[0].keys() & classes[1].keys()
    if both:
        report(f"{len(both)} sentences that are in both classes left out")
    texts = [[text for text in side if text not in both] for side in classes]
    for class_texts, name in zip(texts, names, strict=True):
        if len(class_texts) < 2:
            raise CorpusError(
                f"{name}: {len(class_texts)} sentences to learn from"
                + (f", beside {len(both)} that are in both classes" if both else "")
                + "; a classifier needs two classes, and some thousands of sentences of each"
            )
    split = [_split(class_texts, number, texts, config) for number, class_texts in enumerate(texts)]

    def labelled(cut: Cut, good: list[str], bad: list[str]) -> LabelledSentences:
        every = LabelledSentences(cut([*good, *bad]), np.arange(len(good) + len(bad)) < len(good))
        return every.take(np.flatnonzero(np.diff(every.sentences.offsets)))

    def build(cut: Cut) -> tuple[LabelledSentences, LabelledSentences, LabelledSentences]:
        training, held, test = (labelled(cut, *sides) for sides in zip(*split, strict=True))
        unknown = sum(map(len, texts)) - len(training) - len(held) - len(test)
        report(
            f"{len(training)} sentences to train on, {training.good.sum()} of them good; "
            f"{len(held)} held out, {held.good.sum()} of them good; {len(test)} to test"
            + (f"; {unknown} without a known {config.units} left out" if unknown else "")
        )
        if len(training) < 2 or training.good.all() or not training.good.any():
            raise _unknown(" and ".join(names), "training", config)
        return training, held, test

    record = {"good": list(map(_counts, good)), "bad": list(map(_counts, bad))}
    return ClassifierText(" and ".join(names), (split[0][0], split[1][0]), build, record)


def matched_pairs(
    paths: Sequence[str],
    layout: BitextFormat,
    more: Sequence[str],
    config: ClassifierConfig,
    report: Report,
) -> ClassifierText:
    """Read references and translations of the same sentences (P17, section 5.6).

    Parts are split by reference, so that no sentence of the test has been seen in another wording.
    """
    groups = read_matched(paths, layout, more, report)
    counts = _counts_of(len(groups), 2 * len(groups), config)
    parts = split_matched(groups, counts, config.seed)
    sides = list(parts[0]), [text for texts in parts[0].values() for text in texts]
    name = ", ".join(map(display_name, paths))

    def build(cut: Cut) -> tuple[MatchedReferences, LabelledSentences, LabelledSentences]:
        hardest = config.translation == "hardest"
        training, held, test = (tokenized(part, cut, hardest) for part in parts)
        report(
            f"{len(training)} pairs to train on, with {len(training.translations)} translations; "
            f"{len(held)} held out; {len(test)} to test"
        )
        if not len(training):
            raise _unknown(name, "training", config)
        return training, held.drawn(config.seed), test.drawn(config.seed)

    return ClassifierText(name, sides, build, {"matched": [Path(path).name for path in paths]})


def train_classifier(
    read: Callable[[ClassifierConfig, Report], ClassifierText],
    config: ClassifierConfig,
    output: str | Path,
    *,
    threads: int | None = None,
    device: str = "cpu",
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Model:
    """Learn to tell good sentences from bad ones, and save the classifier.

    ``read`` is :func:`two_classes` or :func:`matched_pairs` of some files. The result is the same,
    byte for byte, for the same seed and any ``threads`` [all cores]. ``device`` (auto, cpu or cuda)
    is for an LSTM, whose last bits may differ on a GPU. Raises the errors of ``read``,
    ArtifactError for an ``output`` that is another kind of directory, and ResourceError.
    """
    replaceable(output, CLASSIFIER)  # refuse now rather than after all the work
    device = resolve_device(device)
    text = read(config, report)
    report(f"learning a vocabulary of {config.units}s")
    encoding = config.encoding
    if config.units == "word":
        vocabulary = train_words(text.sides, encoding)[0]
    else:
        vocabulary = train_vocabulary(text.sides, encoding)
    files = {VOCABULARIES[config.units]: vocabulary}
    tokenizer = open_tokenizer(config.units, files, encoding.architecture)
    training, held, test = text.build(lambda part: tokenize([tokenizer], part, threads))
    if len(held) < 2 or held.good.all() or not held.good.any():
        raise _unknown(text.name, "held-out", config)
    with memory_named(f"{config.batch} sentences"):
        trainer = ClassifierTrainer(config, tokenizer.size, training, threads, device)
        best = trainer.run(held, report, progress, test)
    if best.accuracy <= held.majority:
        report("warning: no better than always naming the larger class; do not filter by it")
    judged = {
        **_accuracies("held-out", best.right, held.good),
        **_accuracies("test", best.right_of_test, test.good),
    }
    if len(test):
        shown = ", ".join(f"{name} {judged[name]:.4f}" for name in judged if "test acc" in name)
        report(f"epoch {best.number}: {shown}")
    model = Model(
        (stored_part(best.encoder, encoding.dtype),),
        files,
        best.softmax["weight"].shape[1],
        encoding.architecture,
        classifier=best.softmax,
        training={
            "config": dataclasses.asdict(config),
            **text.record,
            "sentences": len(training),
            **(
                {}
                if isinstance(training, MatchedReferences)
                else {"of them good": int(training.good.sum())}
            ),
            **judged,
            "held-out majority": held.majority,
            "epoch": best.number,
        },
    )
    return model.save(output)


def _accuracies(part: str, right: np.ndarray, good: np.ndarray) -> dict[str, float]:
    """Return the size of a part, and its accuracies: of all, of the good and of the bad."""
    classes = {"": good | ~good, " of good": good, " of bad": ~good}
    accuracies = {name: right[rows].mean() for name, rows in classes.items() if rows.any()}
    shares = {f"{part} accuracy{name}": float(share) for name, share in accuracies.items()}
    return {f"{part} sentences": len(good), **shares}


def _unknown(name: str, part: str, config: ClassifierConfig) -> CorpusError:
    return CorpusError(
        f"{name}: the {part} sentences of one class have no known {config.units}; give more text"
    )


def _read(readers: Sequence[CorpusReader], report: Report) -> dict[str, None]:
    """Read the distinct sentences of a class, stripped, in their order."""
    distinct: dict[str, None] = {}
    for reader in readers:
        read, before = 0, len(distinct)
        for block in reader:
            read += len(block)
            distinct.update(dict.fromkeys(text.strip() for text in block.sentences))
        notes = {
            "empty": reader.empty,
            "not UTF-8": reader.undecodable,
            "seen before": read - (len(distinct) - before),
        }
        name = display_name(reader.origin)
        if not read:
            raise CorpusError(f"{name}: no sentences in it; is this the right file?")
        left_out = "".join(f", {count} {why} left out" for why, count in notes.items() if count)
        replaced = f", {reader.replaced} with bytes replaced" if reader.replaced else ""
        report(f"{name}: {len(distinct) - before} sentences{left_out}{replaced}")
    return distinct


def _counts(reader: CorpusReader) -> dict[str, str | int]:
    return {
        "name": Path(reader.origin).name,
        "lines": reader.lines,
        "empty": reader.empty,
        "not UTF-8": reader.undecodable,
    }


def _split(
    sentences: list[str], number: int, classes: list[list[str]], config: ClassifierConfig
) -> tuple[list[str], list[str], list[str]]:
    """Split a class of at least two sentences into training, held-out and optionally test
    sentences.
    """
    held, test = _counts_of(len(sentences), sum(map(len, classes)), config)
    order = np.random.default_rng([config.seed, 1, number]).permutation(len(sentences))
    parts = order[held + test :], order[:held], order[held : held + test]
    training, chosen, judged = (
        [sentences[row] for row in np.sort(part).tolist()] for part in parts
    )
    return training, chosen, judged


def _counts_of(own: int, total: int, config: ClassifierConfig) -> tuple[int, int]:
    """Return the numbers of held-out and test sentences of ``own``; a setting is a share, or a
    number out of ``total``.
    """
    held, test = (share / total if share >= 2 else share for share in (config.heldout, config.test))
    count = min(max(1, round(held * own)), own // 2)
    return count, min(round(test * own), own // 4, own - count - 1)
