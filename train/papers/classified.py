"""Sentences of two classes to train a classifier on: separate, or in matched pairs (P17, 5.6).

A matched pair is a reference (good) with translations of the same sentence (bad), so that the
classes differ only in style. Each batch has one translation of every pair: a random one, or the one
that the current classifier finds most like a reference (the two choices of P17's released code).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.errors import CorpusError
from miner.ragged import offsets_of, take_lists
from miner.text.bitext import read_bitext
from miner.text.formats import BitextFormat
from miner.text.lines import display_name
from miner_train.data import Sentences, join
from miner_train.stages import Report

# Judge: probability of being good (n,) of sentences, by the current classifier.
Judge = Callable[[Sentences], np.ndarray]


@dataclass(frozen=True)
class LabelledSentences:
    """``n`` tokenised sentences with their class ``good (n,) bool``."""

    sentences: Sentences
    good: np.ndarray

    def __len__(self) -> int:
        return len(self.good)

    def take(self, rows: np.ndarray) -> LabelledSentences:
        return LabelledSentences(self.sentences.take(rows), self.good[rows])

    def batch(
        self, rows: np.ndarray, generator: np.random.Generator, judge: Judge
    ) -> LabelledSentences:
        """Return the sentences ``rows``."""
        return self.take(rows)

    @property
    def majority(self) -> float:
        """Accuracy of always predicting the larger class."""
        return float(max(self.good.mean(), 1 - self.good.mean()))


@dataclass(frozen=True)
class MatchedReferences:
    """``n`` tokenised references with their translations; ``offsets (n + 1,)`` into translations.

    ``hardest`` selects the translation most like a reference; else a random one.
    """

    references: Sentences
    translations: Sentences
    offsets: np.ndarray
    hardest: bool

    def __len__(self) -> int:
        return len(self.references)

    def batch(
        self, rows: np.ndarray, generator: np.random.Generator, judge: Judge
    ) -> LabelledSentences:
        """Return the references ``rows`` followed by one translation of each."""
        first, counts = self.offsets[rows], np.diff(self.offsets)[rows]
        if self.hardest:
            every, starts = take_lists(np.arange(len(self.translations)), self.offsets, rows)
            looks = np.split(judge(self.translations.take(every)), starts[1:-1])
            chosen = every[starts[:-1] + np.array([probability.argmax() for probability in looks])]
        else:
            chosen = first + (generator.random(len(rows)) * counts).astype(np.int64)
        both = join([self.references.take(rows), self.translations.take(chosen)])
        return LabelledSentences(both, np.arange(2 * len(rows)) < len(rows))

    def drawn(self, seed: int) -> LabelledSentences:
        """Return all references, each with a translation determined by ``seed``."""
        generator = np.random.default_rng([seed, 5])
        plain = replace(self, hardest=False)
        return plain.batch(np.arange(len(self)), generator, lambda sentences: np.empty(0))


# References with their distinct translations.
Groups = dict[str, list[str]]


def read_matched(
    paths: Sequence[str], layout: BitextFormat, more: Sequence[str], report: Report
) -> Groups:
    """Read references, from the source column, and their distinct translations, from the others.

    The others are the target column and the columns ``more``. Translations that occur as a
    reference anywhere are dropped, and references left without a translation. Raises CorpusError if
    fewer than four references remain.
    """
    groups: Groups = {}
    rows = 0
    for path in paths:
        pairs = read_bitext(path, None, layout, more=more)
        rows += len(pairs)
        for reference, translation, others in zip(
            pairs.source, pairs.target, pairs.more, strict=True
        ):
            translations_of = groups.setdefault(reference.strip(), [])
            translations_of += [text.strip() for text in (translation, *others) if text.strip()]
    kept_groups: Groups = {}
    for reference, translations in groups.items():
        if kept := [text for text in dict.fromkeys(translations) if text not in groups]:
            kept_groups[reference] = kept
    names = ", ".join(map(display_name, paths))
    total = sum(map(len, kept_groups.values()))
    report(
        f"{names}: {len(kept_groups)} references of {rows} rows, {total} translations; left out: "
        f"{len(groups) - len(kept_groups)} without a translation that is no reference"
    )
    if len(kept_groups) < 4:
        raise CorpusError(
            f"{names}: {len(kept_groups)} references with translations that differ from them; a "
            "classifier needs some thousands"
        )
    return kept_groups


def split_matched(groups: Groups, counts: Sequence[int], seed: int) -> list[Groups]:
    """Split by reference: ``counts`` for the last parts, the rest for the first.

    A translation that occurs in a later part is dropped from the first.
    """
    references = list(groups)
    order = np.random.default_rng([seed, 1]).permutation(len(references))
    starts = offsets_of(np.array([len(references) - sum(counts), *counts]))
    parts = [
        {references[row]: groups[references[row]] for row in np.sort(order[start:end]).tolist()}
        for start, end in zip(starts[:-1], starts[1:], strict=True)
    ]
    later = {text for part in parts[1:] for texts in part.values() for text in texts}
    first = {
        reference: kept
        for reference, texts in parts[0].items()
        if (kept := [text for text in texts if text not in later])
    }
    return [first, *parts[1:]]


def tokenized(
    groups: Groups, cut: Callable[[Sequence[str]], Sentences], hardest: bool
) -> MatchedReferences:
    """Tokenise a part, without sentences that have no known token and pairs that lose a side."""
    references = cut(list(groups))
    translations = cut([text for texts in groups.values() for text in texts])
    owner = np.repeat(np.arange(len(groups)), [len(texts) for texts in groups.values()])
    known = np.diff(references.offsets) > 0
    keep = (np.diff(translations.offsets) > 0) & known[owner]
    kept = np.flatnonzero(np.bincount(owner[keep], minlength=len(groups)) > 0)
    counts = np.bincount(owner[keep], minlength=len(groups))[kept]
    return MatchedReferences(
        references.take(kept),
        translations.take(np.flatnonzero(keep)),
        offsets_of(counts),
        hardest,
    )
