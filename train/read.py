"""The text of a training: files in, all pairs out, and what was left out of each."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.text.bitext import parse_scores, read_bitext
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat
from train import selection
from train.config import TrainConfig

# Reasons for leaving out pairs that a model names even where there were none.
USUAL = ("empty", "not UTF-8")


@dataclass(frozen=True)
class TextPair:
    """A bitext to read: two aligned files, or two columns of one (``target`` None).

    Of one file, ``label_col`` says whether a pair means the same (1) or not (0), and ``score_col``
    how good it is, the higher the better, for ``TrainConfig.keep``.
    """

    source: str
    target: str | None = None
    bitext_format: BitextFormat = USUAL_FORMAT
    label_col: str | None = None
    score_col: str | None = None

    @property
    def name(self) -> str:
        return self.source if self.target is None else f"{self.source} + {self.target}"


@dataclass(frozen=True)
class Read:
    """All pairs: two lists of sentences, whether each pair means the same, what each file gave."""

    source: list[str]
    target: list[str]
    same: np.ndarray
    counts: list[dict[str, Any]]


def read_texts(
    texts: Sequence[TextPair],
    config: TrainConfig,
    report: Callable[[str], None],
    excluded: Set[str] = frozenset(),
) -> Read:
    """All pairs that the configuration keeps, but for those with a side that is ``excluded``.

    ``excluded`` is folded: see :func:`train.selection.folded`.
    """
    source: list[str] = []
    target: list[str] = []
    labels = []
    counts: list[dict[str, Any]] = []
    for text in texts:
        columns = [column for column in (text.label_col, text.score_col) if column is not None]
        bitext = read_bitext(text.source, text.target, text.bitext_format, more=columns)
        # Rows to columns.
        more = list(zip(*bitext.more, strict=True)) if len(bitext) else [()] * len(columns)
        same = np.ones(len(bitext), dtype=bool)
        if text.label_col is not None:
            same = selection.labels(more.pop(0), text.name, bitext.lines)
        score = None
        if text.score_col is not None:
            score = parse_scores(more.pop(0), text.name, bitext.lines)
        rows = selection.cut(len(bitext), config.keep, score)
        # Only the contrastive objective can learn from what is no translation.
        unlike = 0
        if config.objective != "contrastive":
            unlike = int((~same[rows]).sum())
            rows = rows[same[rows]]
        sides = [[side[row] for row in rows.tolist()] for side in (bitext.source, bitext.target)]
        gone = selection.seen(sides, excluded)
        rows = rows[~gone]
        left_out = {
            "empty": bitext.empty,
            "not UTF-8": bitext.undecodable,
            "cut off": len(bitext) - len(rows) - unlike - int(gone.sum()),
            "labelled as different": unlike,
            "with excluded sentences": int(gone.sum()),
        }
        notes = "".join(f", {count} {why} left out" for why, count in left_out.items() if count)
        if bitext.replaced:
            notes += f", {bitext.replaced} with bytes replaced"
        report(f"{text.name}: {len(rows)} pairs{notes}")
        counts.append(
            {
                "name": Path(text.source).name,
                "pairs": len(rows),
                **{why: count for why, count in left_out.items() if count or why in USUAL},
            }
        )
        source += [bitext.source[row] for row in rows.tolist()]
        target += [bitext.target[row] for row in rows.tolist()]
        labels.append(same[rows])
    if not source:
        raise CorpusError(f"{', '.join(text.name for text in texts)}: no pairs to train on")
    together = np.concatenate(labels)
    if config.sample:
        rows = selection.draw(len(source), config.sample, config.seed)
        report(f"{len(rows)} of {len(source)} pairs drawn")
        source, target = ([side[row] for row in rows.tolist()] for side in (source, target))
        together = together[rows]
    return Read(source, target, together, counts)
