"""Text of a training: all pairs of the files, and counts of the pairs dropped from each file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.scoring.decontaminate import Unwanted
from miner.scoring.decontaminate_settings import Without
from miner.text.bitext import parse_scores, read_bitext
from miner.text.formats import USUAL_FORMAT, BitextFormat
from miner_train import selection
from miner_train.config import TrainConfig
from miner_train.data import UNKNOWN, fingerprint
from miner_train.stages import Report

# Pattern of the codes of a language pair.
LANGUAGES = re.compile(r"(?<![a-z])[a-z]{2,3}-[a-z]{2,3}(?![a-z])")
# Reasons for dropping pairs that a model's record names even with a count of 0.
USUAL = ("empty", "not UTF-8")


@dataclass(frozen=True)
class TextPair:
    """Bitext to read: two aligned files, or two columns of one file (``target`` None).

    In a single file, ``label_col`` is the column of labels, 1 for translations and 0 for other
    pairs, and ``score_col`` the column of scores, best highest, by which ``TrainConfig.keep`` ranks
    pairs. ``named`` is the pair of languages (``de-en``), if file names do not contain it.
    ``held_out``: all pairs are held out.
    """

    source: str
    target: str | None = None
    bitext_format: BitextFormat = USUAL_FORMAT
    label_col: str | None = None
    score_col: str | None = None
    named: str | None = None
    held_out: bool = False

    @property
    def name(self) -> str:
        return self.source if self.target is None else f"{self.source} + {self.target}"

    @property
    def languages(self) -> str | None:
        """Return the language pair: ``named``, or from the name of the folder (``de-en``) or
        file.
        """
        if self.named is not None:
            return self.named
        path = Path(self.source)
        match = LANGUAGES.fullmatch(path.parent.name) or LANGUAGES.search(path.name)
        return match.group() if match else None


@dataclass(frozen=True)
class TrainingText:
    """All pairs of a training.

    ``same (n,) bool`` is False for pairs labelled as no translations. ``languages`` are the names
    of the language pairs, sorted, and ``language (n,) int16`` the number of each pair's name, or
    ``UNKNOWN``. ``held_out (n,) bool`` marks the pairs of files that are held out. ``counts`` are
    the records of the files, for the model, and ``excluded`` of the files of excluded sentences.
    """

    source: list[str]
    target: list[str]
    same: np.ndarray
    language: np.ndarray
    held_out: np.ndarray
    languages: list[str]
    counts: list[dict[str, Any]]
    excluded: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of the pairs, of their labels if any is 0, and of the marks of held-out
        files.
        """
        marks = [
            mark
            for mark, usual in ((self.same, True), (self.held_out, False))
            if (mark != usual).any()
        ]
        return fingerprint(self.source, self.target, *marks)

    @property
    def sentences(self) -> list[str]:
        """Return the distinct sentences, in the order of their text ids."""
        return list(dict.fromkeys([*self.source, *self.target]))


def read_texts(
    texts: Sequence[TextPair], config: TrainConfig, without: Without, report: Report
) -> TrainingText:
    """Read all pairs that the configuration keeps, without sentences of other files.

    Raises CorpusError if no pair remains.
    """
    unwanted = without.opened()
    parts = [_read_text(text, config, unwanted, report) for text in texts]
    source = [sentence for part in parts for sentence in part.source]
    target = [sentence for part in parts for sentence in part.target]
    counts = [part.counts[0] for part in parts]
    if not source:
        raise CorpusError(f"{', '.join(text.name for text in texts)}: no pairs to train on")
    same = np.concatenate([part.same for part in parts])
    languages = sorted({name for part in parts for name in part.languages})
    number = {name: i for i, name in enumerate(languages)}
    codes = [number[text.languages] if text.languages else UNKNOWN for text in texts]
    sizes = [len(part) for part in parts]
    language = np.repeat(np.array(codes, np.int16), sizes)
    held_out = np.repeat([text.held_out for text in texts], sizes)
    if config.sample:
        rows = selection.draw(len(source), config.sample, config.seed)
        report(f"{len(rows)} of {len(source)} pairs drawn")
        source, target = _taken([source, target], rows)
        same, language, held_out = same[rows], language[rows], held_out[rows]
    if unwanted and not any("with excluded sentences" in count for count in counts):
        report(f"warning: no pair has a sentence of {', '.join(without.files)}")
    records = [
        {"name": Path(excluded.path).name, "sentences": len(excluded)} for excluded in unwanted
    ]
    return TrainingText(source, target, same, language, held_out, languages, counts, records)


def _read_text(
    text: TextPair, config: TrainConfig, unwanted: Sequence[Unwanted], report: Report
) -> TrainingText:
    columns = [column for column in (text.label_col, text.score_col) if column is not None]
    bitext = read_bitext(text.source, text.target, text.bitext_format, more=columns)
    same, score = np.ones(len(bitext), dtype=bool), None
    if text.label_col is not None:
        same = selection.labels([row[0] for row in bitext.more], text.name, bitext.lines)
    if text.score_col is not None:
        score = parse_scores([row[-1] for row in bitext.more], text.name, bitext.lines)
    rows = selection.cut(len(bitext), config.keep, score)
    if config.clean:
        if score is None:
            raise CorpusError(
                f"{text.name}: cleanliness is estimated by a column of probabilities; name it by "
                "--score-col"
            )
        if len(score) and not (score.min() >= 0 and score.max() <= 1):
            raise CorpusError(
                f"{text.name}: the scores in column {text.score_col} are no probabilities; keep "
                "a share of the pairs instead (--keep)"
            )
        rows = rows[selection.cut_clean(score[rows], config.clean)]
    kept = len(rows)
    # Only the contrastive objective learns from pairs that are no translations.
    if config.objective != "contrastive":
        rows = rows[same[rows]]
    both = [bitext.source, bitext.target]
    gone = selection.seen(_taken(both, rows), unwanted)
    left_out = {
        "empty": bitext.empty,
        "not UTF-8": bitext.undecodable,
        "cut off": len(bitext) - kept,
        "labelled as different": kept - len(rows),
        "with excluded sentences": int(gone.sum()),
    }
    rows = rows[~gone]
    notes = "".join(f", {count} {why} left out" for why, count in left_out.items() if count)
    if bitext.replaced:
        notes += f", {bitext.replaced} with bytes replaced"
    report(f"{text.name}: {len(rows)} pairs{notes}")
    record = {
        "name": Path(text.source).name,
        **({} if text.languages is None else {"languages": text.languages}),
        "pairs": len(rows),
        **({"held out": True} if text.held_out else {}),
        **{why: count for why, count in left_out.items() if count or why in USUAL},
    }
    source, target = _taken(both, rows)
    languages = [] if text.languages is None else [text.languages]
    language = np.full(len(rows), 0 if languages else UNKNOWN, np.int16)
    held_out = np.full(len(rows), text.held_out)
    return TrainingText(source, target, same[rows], language, held_out, languages, [record], [])


def _taken(sides: Sequence[Sequence[str]], rows: np.ndarray) -> list[list[str]]:
    return [[side[row] for row in rows.tolist()] for side in sides]
