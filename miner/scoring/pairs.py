"""Mined pairs: their columns, cuts by score, and files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.index.index import Index
from miner.libraries import library
from miner.option_values import SIDES, Languages
from miner.results import BLOCK, Results
from miner.scoring.verifier import FEATURES
from miner.text.formats import FORMATS, TABLES, check_suffix, check_written, file_format
from miner.text.output import open_output
from miner.text.write_bitext import write_bitext

IDS = ("source_id", "target_id")


@dataclass(frozen=True, eq=False)
class Pairs(Results):
    """Mined pairs, sorted by score descending, ties by source row, then target row.

    Columns of one length ``m``: ``score`` float64, to which thresholds apply; ``source_row`` and
    ``target_row`` int64; ``cosine`` float32 in [-1, 1]; ``margin_ratio`` float64; ``forward_rank``
    and ``backward_rank`` int16 (1 = nearest, 0 = not among the k nearest). ``source`` and
    ``target`` are the indexes of the rows. ``features (m, f) float32`` are
    :data:`miner.scoring.verifier.FEATURES` of verified pairs, else None. ``q_value (m,) float64``
    comes from :mod:`miner.precision.estimate`, else None: the least estimated false discovery
    rate of any threshold that keeps the pair. ``raw_score (m,) float64`` is the score by the
    model's own function, where ``score`` was calibrated on the corpus, else None. ``second (m,)
    float64`` are the log-odds that the second opinion added to the model's, NaN where it was not
    asked, and None without it. ``more`` are columns of text of the corpora, ``(m,) object`` each,
    that were asked for.
    """

    score: np.ndarray
    source_row: np.ndarray
    target_row: np.ndarray
    cosine: np.ndarray
    margin_ratio: np.ndarray
    forward_rank: np.ndarray
    backward_rank: np.ndarray
    source: Index
    target: Index
    features: np.ndarray | None = None
    q_value: np.ndarray | None = None
    raw_score: np.ndarray | None = None
    second: np.ndarray | None = None
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{len(self)} pairs of {self.source.path} and {self.target.path}>"

    def __len__(self) -> int:
        return len(self.score)

    def at_least(self, threshold: float) -> "Pairs":
        """Return the pairs with a score of at least ``threshold``."""
        return self.take(slice(0, self.count_at_least(threshold)))

    def count_at_least(self, threshold: float) -> int:
        """Return the number of pairs that :meth:`at_least` returns."""
        return int(np.count_nonzero(self.score >= threshold))

    def top(self, n: int) -> "Pairs":
        """Return the ``n`` best pairs, or all if there are fewer."""
        return self.take(slice(0, max(0, n)))

    def take(self, keep: slice | np.ndarray) -> "Pairs":
        """Return the pairs at these positions."""
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, column in columns.items():
            if isinstance(column, np.ndarray):
                columns[name] = column[keep]
        columns["more"] = {name: column[keep] for name, column in self.more.items()}
        return Pairs(**columns)

    def ids(self) -> Iterator[tuple[float, str, str]]:
        """Yield (score, source id, target id) of each pair, for :mod:`miner.evaluation`."""
        return self._cells(["score", *IDS])

    def texts(self) -> Iterator[tuple[float, str, str]]:
        """Yield ``(score, source sentence, target sentence)`` of every pair."""
        return self._cells(["score", *SIDES])

    def write(
        self,
        path: str | Path,
        target: str | Path | None = None,
        *,
        ids: bool = False,
        bucc: bool = False,
        languages: Languages = (None, None),
    ) -> None:
        """Write the pairs: Parquet for ``.parquet``, JSON for ``.jsonl``, else tab-separated lines.

        With ``target``, sources go to ``path`` and targets there, one a line, and with ``ids``
        both ids to a file `.ids` beside. Units of ``.tmx`` have the ``languages``, and with
        ``ids`` both ids as properties. Columns of `more` come last, beside two files in `.ids`.

        Lines are ``score, source, target``, with ``ids`` ``score, source id, target id``, with
        ``bucc`` ``source id, target id``; JSON objects have these as keys. ``-`` is standard
        output, compression goes by suffix.
        The file appears whole or not at all. Scores are written with all their digits. Raises
        ValueError for the suffix of another format, and :class:`~miner.errors.ResourceError` where
        it cannot be written.
        """
        check_suffix(str(path), TABLES)
        if str(path).endswith(".parquet"):
            self._write_parquet(path)
            return
        kind = file_format(str(path))
        if bucc:
            check_written(str(path), "tsv")
            kind, names = "tsv", [*IDS]
        elif target is not None or kind == "tmx":
            names = ["source", "target", "score", *(IDS if ids else ()), *self.more]
        else:
            names = ["score", *(IDS if ids else SIDES), *self.more]
        names = list(dict.fromkeys(names))
        rows = (dict(zip(names, cells, strict=True)) for cells in self._cells(names))
        if target is not None:
            write_bitext(rows, [str(path), str(target)], ids=names[3:])
        else:
            FORMATS[kind].write(rows, path, languages)

    def _cells(self, names: Sequence[str]) -> Iterator[Any]:
        for part in self._blocks():
            yield from zip(*(part._column(name) for name in names), strict=True)

    def _column(self, name: str) -> list[Any]:
        """Return the cells of a column: score, a text, an id, or a carried one."""
        if name in self.more:
            return list(self.more[name].tolist())
        if name == "score":
            return list(self.score.tolist())
        side, _, is_id = name.partition("_")
        index: Index = getattr(self, side)
        rows = getattr(self, f"{side}_row")
        return index.ids(rows) if is_id else index.sentences(rows)

    def _blocks(self) -> Iterator["Pairs"]:
        for start in range(0, len(self), BLOCK):
            yield self.take(slice(start, start + BLOCK))

    def columns(self) -> dict[str, Any]:
        """Return score, texts and ids, and the columns that were carried."""
        texts = {name: self._column(name) for name in ("source", "target", *IDS)}
        return {"score": self.score, **texts, **{name: self._column(name) for name in self.more}}

    def every_column(self) -> dict[str, Any]:
        """Return all columns, features by name."""
        ranks = "forward_rank", "backward_rank"
        names = ("margin_ratio", "cosine", *ranks, "q_value", "raw_score", "second")
        optional = {name: getattr(self, name) for name in names}
        columns = self.columns() | {
            name: column for name, column in optional.items() if column is not None
        }
        if self.features is not None:
            columns |= dict(zip(FEATURES, self.features.T, strict=True))
        return columns

    def _write_parquet(self, path: str | Path) -> None:
        parquet = library("pyarrow.parquet", f"{path}: writing Parquet", "parquet")
        schema = self.take(slice(0)).to_arrow().schema
        with open_output(path, binary=True) as file, parquet.ParquetWriter(file, schema) as writer:
            for part in self._blocks():
                writer.write_table(part.to_arrow())


def each_duplicate(pairs: Pairs) -> Pairs:
    """Pair the i-th duplicate of each source with the i-th of its target, while both have one.

    Duplicates share a plain form (:func:`miner.text.words.plain_form`). Ties of the score are
    broken by source row, then target row.
    """
    sources, targets = _duplicates(pairs.source), _duplicates(pairs.target)
    position, source_row, target_row = [], [], []
    firsts = pairs.source.store.first[pairs.source_row], pairs.target.store.first[pairs.target_row]
    rows = zip(pairs.source_row.tolist(), pairs.target_row.tolist(), strict=True)
    groups = zip(*(first.tolist() for first in firsts), strict=True)
    for number, ((s, t), (left, right)) in enumerate(zip(rows, groups, strict=True)):
        for source, target in zip(sources.get(left, (s,)), targets.get(right, (t,)), strict=False):
            position.append(number)
            source_row.append(source)
            target_row.append(target)
    repeated = replace(
        pairs.take(np.array(position, dtype=np.int64)),
        source_row=np.array(source_row, dtype=np.int64),
        target_row=np.array(target_row, dtype=np.int64),
    )
    order = np.lexsort((repeated.target_row, repeated.source_row, -repeated.score))
    return repeated.take(order)


def _duplicates(index: Index) -> dict[int, list[int]]:
    """Return the rows of every sentence with duplicates, by its first row."""
    first = np.asarray(index.store.first)
    duplicates: dict[int, list[int]] = {}
    for row in np.flatnonzero(first != np.arange(len(first))).tolist():
        duplicates.setdefault(int(first[row]), [int(first[row])]).append(row)
    return duplicates
