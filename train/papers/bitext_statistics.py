"""Statistics of a text or of both sides of a bitext: counting from files, table and record."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.parallel import processes
from miner.progress import Reporter, silent
from miner.text.bitext import Bitext, parse_scores
from miner.text.corpus import CorpusReader
from miner.text.lines import display_name
from miner.text.output import one_line
from miner.text_table import aligned
from miner_train.papers.text_statistics import (
    RATIOS,
    SENTENCE_STATISTICS,
    Counted,
    Rarity,
    TextCounter,
    TextStatistics,
    correlations,
)

# Label and format of each field of `TextStatistics`.
OF_TEXT = {
    "sentences": ("sentences", "{:,d}"),
    "tokens": ("tokens", "{:,d}"),
    "types": ("types (distinct tokens)", "{:,d}"),
    "mean_tokens": ("mean length, tokens", "{:.2f}"),
    "deviation_tokens": ("standard deviation", "{:.2f}"),
    "mean_characters": ("mean length, characters", "{:.2f}"),
    "deviation_characters": ("standard deviation", "{:.2f}"),
    "idf": ("mean IDF", "{:.3f}"),
    "entropy": ("entropy of tokens, bits", "{:.3f}"),
    "trigram_entropy": ("entropy of trigrams, bits", "{:.3f}"),
    "repetition": ("repeated tokens", "{:.2%}"),
    "trigram_repetition": ("repeated trigrams", "{:.2%}"),
}
# Label of each of `SENTENCE_STATISTICS`.
OF_SENTENCES = {
    "tokens": "length, tokens",
    "characters": "length, characters",
    "idf": "mean IDF",
    "surprisal": "mean surprisal",
    "repetition": "repeated tokens",
    "trigram_repetition": "repeated trigrams",
}
LEFT_OUT = {
    "empty": "left out, empty or with an empty side",
    "undecodable": "left out, not UTF-8",
    "replaced": "counted with bytes replaced",
}

# Blocks of a text up to which starting further processes costs more time than it saves.
ALONE = 4

# Line numbers (n,), texts of each side, and score cells of each line.
Block = tuple[np.ndarray, tuple[Sequence[str], ...], Sequence[tuple[str, ...]]]


@dataclass(frozen=True)
class BitextStatistics:
    """Statistics of the sides of a bitext; a single text has one side, "text".

    sides: statistics by the name of the side
    lines: ``(n,) int64``, line number of each sentence or pair
    scores: ``(n,) float64`` by score column
    sentences: statistics of each sentence ``(6, n) float32`` by side; empty if not kept
    left_out: numbers of lines by reason, the keys of `LEFT_OUT`
    """

    sides: dict[str, TextStatistics]
    lines: np.ndarray
    scores: dict[str, np.ndarray]
    sentences: dict[str, np.ndarray]
    left_out: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics and their correlations with the scores, ready for JSON."""
        record: dict[str, Any] = {name: side.as_dict() for name, side in self.sides.items()}
        if len(self.sides) == 2:
            source, target = self.sides.values()
            record["target_to_source"] = target.compared_with(source)
        record["spearman"] = {
            column: {name: correlations(score, values) for name, values in self.sentences.items()}
            for column, score in self.scores.items()
        }
        record["left_out"] = {reason: self.left_out[reason] for reason in ("empty", "undecodable")}
        return record


def text_blocks(reader: CorpusReader, left_out: Counter[str]) -> Iterator[Block]:
    """Yield the sentences of a single text; count the skipped ones."""
    for block in reader:
        yield block.lines, (block.sentences,), []
    left_out.update(empty=reader.empty, undecodable=reader.undecodable, replaced=reader.replaced)


def pair_blocks(pairs: Iterable[Bitext], sides: int, left_out: Counter[str]) -> Iterator[Block]:
    """Yield the first ``sides`` sides of a bitext; count the skipped rows."""
    for block in pairs:
        left_out.update(empty=block.empty, undecodable=block.undecodable, replaced=block.replaced)
        yield block.lines, (block.source, block.target)[:sides], block.more


def count(
    blocks: Iterable[Block],
    names: Sequence[str],
    score_columns: Sequence[str],
    origin: str,
    left_out: Counter[str],
    *,
    idf: CorpusReader | None = None,
    keep: bool = False,
    threads: int = 1,
    report: Reporter = silent,
) -> BitextStatistics:
    """Count all blocks, whose sides have these names.

    idf: text that the rarity of words is counted in; by default all sides together.
    score_columns: names of the score cells. origin: file to name in errors. left_out: the counter
    that the blocks fill. keep: also compute the statistics of each sentence. threads: processes
    that count the blocks of a large text; the result is the same. Raises CorpusError for a score
    that is not a number, and for a text without sentences.
    """
    lines = [np.zeros(0, dtype=np.int64)]
    scores = {column: [np.zeros(0)] for column in score_columns}
    counters = {name: TextCounter(keep) for name in names}
    done = 0
    for (numbers, _, cells), sides in _counted(blocks, threads):
        for position, column in enumerate(score_columns):
            values = [row[position] for row in cells]
            scores[column].append(parse_scores(values, origin, numbers))
        for counter, side in zip(counters.values(), sides, strict=True):
            counter.add(side)
        lines.append(numbers)
        done += len(numbers)
        report("counting", done, None)
    if not done:
        raise CorpusError(
            f"{display_name(origin)}: nothing to count ({left_out['empty']} lines are empty, "
            f"or a side of them, {left_out['undecodable']} not UTF-8); check the file and its "
            "columns"
        )
    counted = list(counters.values())
    if idf is not None:
        counted = [TextCounter()]
        for _, (side,) in _counted(text_blocks(idf, Counter()), threads):
            counted[0].add(side)
    rarity = Rarity(*counted)
    kept = counters.items() if keep else ()
    return BitextStatistics(
        {name: counter.statistics(rarity) for name, counter in counters.items()},
        np.concatenate(lines),
        {column: np.concatenate(parts) for column, parts in scores.items()},
        {name: counter.sentence_statistics(rarity) for name, counter in kept},
        left_out,
    )


def _counted(blocks: Iterable[Block], threads: int) -> Iterator[tuple[Block, list[Counted]]]:
    blocks = iter(blocks)
    head = list(islice(blocks, ALONE + 1))
    waiting: deque[Block] = deque()

    def sides() -> Iterator[tuple[Sequence[str], ...]]:
        for block in chain(head, blocks):
            waiting.append(block)
            yield block[1]

    with processes(threads if len(head) > ALONE else 1, silent) as pool:
        for counted in pool.in_order(_count_sides, sides()):
            yield waiting.popleft(), counted


def _count_sides(texts: tuple[Sequence[str], ...]) -> list[Counted]:
    return [Counted.of(side) for side in texts]


def table(record: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Lines of a table of the record of `BitextStatistics`: statistics, then correlations."""
    compared = record.get("target_to_source", {})
    rows = [["", *names, *(["target to source"] if compared else [])]]
    for field, (label, form) in OF_TEXT.items():
        cells = [_cell(form, record[name][field]) for name in names]
        if compared:
            cells.append(_comparison(field, form, compared[field]))
        rows.append([label, *cells])
    lines = aligned(rows)
    for column, by_side in record["spearman"].items():
        rows = [[f"Spearman, column {column}", *names]]
        for field, label in OF_SENTENCES.items():
            rows.append([label, *(_cell("{:+.3f}", by_side[name][field]) for name in names)])
        lines += ["", *aligned(rows)]
    return lines


def notes(statistics: BitextStatistics) -> Iterator[str]:
    """Yield lines about skipped rows and estimated values."""
    for reason, text in LEFT_OUT.items():
        if statistics.left_out[reason]:
            yield f"lines {text}: {statistics.left_out[reason]}"
    for name, side in statistics.sides.items():
        if side.counted < 1:
            yield (
                f"the entropy of trigrams in the {name} is an estimate, from "
                f"1 in {1 / side.counted:.0f} of its rare trigrams"
            )


def sentence_rows(found: BitextStatistics) -> Iterator[str]:
    """Yield the lines of a TSV file with the statistics of each sentence or pair, with a header."""
    heads = ["line", *(f"score_{one_line(column)}" for column in found.scores)]
    columns: list[Iterator[str]] = [map(str, found.lines.tolist())]
    columns += [map(repr, score.tolist()) for score in found.scores.values()]
    for name, statistics in found.sentences.items():
        prefix = "" if len(found.sentences) == 1 else f"{name}_"
        heads += [prefix + field for field in SENTENCE_STATISTICS]
        columns += [(f"{value:.6g}" for value in row.tolist()) for row in statistics]
    yield "\t".join(heads) + "\n"
    for cells in zip(*columns, strict=True):
        yield "\t".join(cells) + "\n"


def _cell(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)


def _comparison(field: str, form: str, value: float | None) -> str:
    """Format a ratio, or a difference in the format of its field."""
    if field in RATIOS:
        return _cell("x {:.3f}", value)
    return _cell(form.replace(":", ":+z"), value).replace("%", " points")
