"""``miner stats``: what the text is like, one side against the other."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click
import numpy as np

from miner.analysis.text_statistics import RATIOS, SENTENCE, Figures, Side, correlations
from miner.cli import options
from miner.cli.progress_bars import Progress
from miner.errors import CorpusError
from miner.names import FORMATS
from miner.text.bitext import Bitext, parse_scores, stream_bitext
from miner.text.bitext_format import BitextFormat
from miner.text.corpus import Reader
from miner.text.lines import display_name
from miner.text.output import one_line, open_output

# Fields of `Figures` and figures of sentences, as they are printed.
FIGURES = {
    "sentences": ("sentences", "{:,d}"),
    "tokens": ("tokens", "{:,d}"),
    "types": ("types (distinct tokens)", "{:,d}"),
    "mean_tokens": ("mean length, tokens", "{:.2f}"),
    "mean_characters": ("mean length, characters", "{:.2f}"),
    "idf": ("mean IDF", "{:.3f}"),
    "entropy": ("entropy of tokens, bits", "{:.3f}"),
    "trigram_entropy": ("entropy of trigrams, bits", "{:.3f}"),
    "repetition": ("repeated tokens", "{:.2%}"),
    "trigram_repetition": ("repeated trigrams", "{:.2%}"),
}
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
# Widths of the table.
LABEL, CELL = 26, 18
# Formats that hold one text.
ONE_SIDED = ("plain", "bucc")

# The lines' numbers, the texts of either side, and the further columns.
Block = tuple[np.ndarray, tuple[Sequence[str], ...], Sequence[tuple[str, ...]]]


@click.command(
    epilog="""\b
Examples:
  miner stats web.de-en.tsv.gz
  miner stats web.de-en.tsv.gz --scol 1 --tcol 2 --score-col 3 --score-col 4
  miner stats --source web.de --target web.en --json figures.json
  miner stats references.en
  miner stats classified.tsv --column 1 --score-col 2
  zcat web.tsv.gz | miner stats - --format tsv --per-pair figures.tsv.gz"""
)
@click.argument("file", required=False)
@click.option("--source", metavar="FILE", help="One side, where each side has a file of its own.")
@click.option("--target", metavar="FILE", help="The other side, line by line.")
@click.option("--scol", metavar="N|NAME", help="Column of FILE with the source [1].")
@click.option("--tcol", metavar="N|NAME", help="Column of FILE with the target [2].")
@click.option("--column", metavar="N|NAME", help="Column of FILE with its only text, instead.")
@click.option(
    "--score-col",
    "score_cols",
    metavar="N|NAME",
    multiple=True,
    help="Column of FILE with a score, to correlate with the figures of each sentence; repeatable.",
)
@options.header
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="Text format; default by suffix (.tsv .jsonl .parquet), else plain.",
)
@options.on_error()
@click.option("--json", "json_file", metavar="FILE", help="Write all figures to FILE as JSON.")
@click.option(
    "--per-pair",
    metavar="FILE",
    help="Write the figures of each sentence to FILE: a TSV with a header, one line a pair.",
)
def stats(
    file: str | None,
    source: str | None,
    target: str | None,
    scol: str | None,
    tcol: str | None,
    column: str | None,
    score_cols: tuple[str, ...],
    header: bool,
    format: str | None,
    on_error: str,
    json_file: str | None,
    per_pair: str | None,
) -> None:
    """Length, rare words, entropy and repetition of the text in FILE.

    FILE is a bitext in TSV, JSONL or Parquet, or one text, plain or in a --column; - is standard
    input. Tokens are words and marks, and characters of scripts without spaces; case does not
    count. IDF is ln(sentences / sentences with the token), by each side's own counts; a high mean
    means rare words. Entropy is that of a token, or of three in a row: high for a rich vocabulary,
    and higher the longer the text. Repeated are tokens of 3 characters or more that stand earlier
    in their sentence too, and trigrams likewise.

    Pairs without a sentence on either side are left out. With --score-col, Spearman's correlation
    of each score with the figures of the sentences, surprisal being a sentence's share of the
    entropy: its mean of -log2 of the frequency of its tokens. Scores and --per-pair keep 4 bytes a
    token in a temporary file meanwhile (TMPDIR says where).
    """
    if (file is None) == (source is None) or (source is None) != (target is None):
        raise click.UsageError("give one FILE, or --source and --target")
    columns = [name for name in (scol, tcol, column, *score_cols) if name is not None]
    if source is not None and columns:
        raise click.UsageError("--scol, --tcol, --column and --score-col are columns of FILE")
    if column is not None and (scol or tcol):
        raise click.UsageError("--column is the only text of FILE; --scol and --tcol are two")
    if columns and format in ("plain", "bucc"):
        raise click.UsageError(f"a {format} file has no columns")
    options.spare([name for name in (file, source, target) if name], json_file, per_pair)

    origin = str(file or source)
    left_out: Counter[str] = Counter()
    if file is not None and not columns and Reader(file, format=format).format in ONE_SIDED:
        names: tuple[str, ...] = ("text",)
        reader = Reader(file, header=header, format=format, on_error=on_error)
        blocks = of_text(reader, left_out)
    else:
        names = ("text",) if column else ("source", "target")
        layout = BitextFormat(column or scol, column or tcol, header, format, on_error)
        if file is not None:
            given = [*map(str, layout.columns(file)[: len(names)]), *score_cols]
            if len({*given}) < len(given):
                raise click.UsageError(
                    f"text and scores are in columns {', '.join(given)}: one is given twice"
                )
        pairs = stream_bitext(origin, target, layout, more=score_cols)
        blocks = of_pairs(pairs, len(names), left_out)
    with ExitStack() as stack:
        keep = bool(score_cols or per_pair)
        sides = {name: stack.enter_context(Side(keep)) for name in names}
        lines, scores = count(blocks, sides, score_cols, origin)
        figures = {name: side.figures() for name, side in sides.items()}
        sentences = {name: side.sentences() for name, side in sides.items()} if keep else {}
    if not len(lines):
        name = display_name(origin)
        raise CorpusError(
            f"{name}: nothing to count ({left_out['empty']} lines are empty, or a side "
            f"of them, {left_out['undecodable']} not UTF-8); check the file and its columns"
        )
    record: dict[str, Any] = {name: found.as_dict() for name, found in figures.items()}
    if len(names) == 2:
        record["target_to_source"] = figures["target"].against(figures["source"])
    record["spearman"] = {
        column: {name: correlations(score, found) for name, found in sentences.items()}
        for column, score in scores.items()
    }
    record["left_out"] = {what: left_out[what] for what in ("empty", "undecodable")}
    # The table makes way for data that goes to standard output.
    click.echo("\n".join(table(names, record)), err="-" in (json_file, per_pair))
    for line in notes(figures, left_out):
        click.echo(line, err=True)
    if json_file:
        with open_output(json_file) as out:
            out.write(json.dumps(record, indent=2) + "\n")
    if per_pair:
        with open_output(per_pair) as out:
            out.writelines(rows(lines, scores, sentences))


def of_text(reader: Reader, left_out: Counter[str]) -> Iterator[Block]:
    """The sentences of one text."""
    for block in reader:
        yield block.lines, (block.sentences,), []
    left_out.update(empty=reader.empty, undecodable=reader.undecodable, replaced=reader.replaced)


def of_pairs(pairs: Iterable[Bitext], sides: int, left_out: Counter[str]) -> Iterator[Block]:
    """The pairs of a bitext; of one side, its only text stands for the other too."""
    for block in pairs:
        left_out.update(empty=block.empty, undecodable=block.undecodable, replaced=block.replaced)
        yield block.lines, (block.source, block.target)[:sides], block.more


def count(
    blocks: Iterable[Block], sides: Mapping[str, Side], score_cols: Sequence[str], origin: str
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Add all blocks to the sides: the lines, and the scores by column."""
    lines = [np.zeros(0, dtype=np.int64)]
    scores = {column: [np.zeros(0)] for column in score_cols}
    with Progress(loops=None) as report:
        done = 0
        for numbers, texts, more in blocks:
            for place, column in enumerate(score_cols):
                values = [row[place] for row in more]
                scores[column].append(parse_scores(values, origin, numbers))
            for side, text in zip(sides.values(), texts, strict=True):
                side.add(text)
            lines.append(numbers)
            done += len(numbers)
            report("counting", done, None)
    return np.concatenate(lines), {name: np.concatenate(parts) for name, parts in scores.items()}


def table(names: Sequence[str], record: Mapping[str, Any]) -> Iterator[str]:
    """Lines for people: figures side by side, then correlations."""
    compared = record.get("target_to_source", {})
    yield row_of("", [*names, *(["target to source"] if compared else [])])
    for field, (label, form) in FIGURES.items():
        cells = [cell(form, record[name][field]) for name in names]
        if compared:
            cells.append(comparison(field, form, compared[field]))
        yield row_of(label, cells)
    for column, found in record["spearman"].items():
        yield ""
        yield row_of(f"Spearman, column {column}", names)
        for field, label in OF_SENTENCES.items():
            yield row_of(label, [cell("{:+.3f}", found[name][field]) for name in names])


def row_of(label: str, cells: Sequence[str]) -> str:
    return f"{label:<{LABEL}}" + "".join(f"{text:>{CELL}}" for text in cells)


def cell(form: str, value: float | None) -> str:
    return "-" if value is None else form.format(value)


def comparison(field: str, form: str, value: float | None) -> str:
    if field in RATIOS:
        return cell("x {:.3f}", value)
    return cell(form.replace(":", ":+z"), value).replace("%", " points")


def notes(figures: Mapping[str, Figures], left_out: Mapping[str, int]) -> Iterator[str]:
    """What else is to be said."""
    for what, says in LEFT_OUT.items():
        if left_out[what]:
            yield f"lines {says}: {left_out[what]}"
    for name, found in figures.items():
        if found.counted < 1:
            yield (
                f"the entropy of trigrams in the {name} is an estimate, from "
                f"1 in {1 / found.counted:.0f} of its rare trigrams"
            )


def rows(
    lines: np.ndarray, scores: Mapping[str, np.ndarray], sentences: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """The file of figures of each sentence."""
    heads = ["line", *(f"score_{one_line(column)}" for column in scores)]
    columns: list[Iterator[str]] = [map(str, lines.tolist())]
    columns += [map(repr, score.tolist()) for score in scores.values()]
    for name, found in sentences.items():
        prefix = "" if len(sentences) == 1 else f"{name}_"
        heads += [prefix + field for field in SENTENCE]
        columns += [(f"{value:.6g}" for value in figure.tolist()) for figure in found]
    yield "\t".join(heads) + "\n"
    for cells in zip(*columns, strict=True):
        yield "\t".join(cells) + "\n"
