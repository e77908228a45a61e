"""``miner stats``: statistics of a text, or of both sides of a bitext."""

from collections import Counter
from dataclasses import replace

import click

from miner.cli import filter_options, guard, options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, opt
from miner.text.formats import FORMATS, BitextFormat, file_format
from miner.text.output import open_output


@click.command(cls=Command)
@options.bitext
def stats(
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    layout: BitextFormat = options.bitext_format(
        format={"help": "Text format; default by suffix (.tsv .jsonl .parquet), else plain."},
    ),
    column: str | None = opt(
        "Column of a single text in BITEXT, instead of pairs.", metavar="N|NAME"
    ),
    score_cols: tuple[str, ...] = opt(
        "Column of BITEXT with a score, to correlate with the statistics of each sentence; "
        "repeatable.",
        "--score-col",
        metavar="N|NAME",
    ),
    idf: str | None = opt(
        "Text for counting the rarity of words, for example Wikipedia (Wieting et al. 2017); "
        "default: both sides together.",
        metavar="FILE",
    ),
    json_file: str | None = options.json_file("all statistics"),
    per_pair: str | None = opt(
        "Write the statistics of each sentence to FILE: a TSV with a header, one line a pair.",
        metavar="FILE",
    ),
    threads: int | None = options.threads,
) -> None:
    """Length, rare words, entropy and repetition of text.

    BITEXT is a TSV, JSONL or Parquet file, or one text, plain or in a --column, or - for standard
    input; or give two aligned files, SOURCE and TARGET. Tokens are words and punctuation marks, and
    characters of scripts without spaces, in lower case; lengths count the latter by the letters of
    a usual word. IDF is ln(sentences / sentences with the token), counted in one table for both
    sides: high for rare words. The entropy of a token, or of three in a row, is high for a rich
    vocabulary and grows with the text. A token of 3 characters or more, or a trigram, is repeated
    if it stands earlier in its sentence too. Surprisal is the mean of -log2 of the frequencies of a
    sentence's tokens.

    Pairs with an empty side are left out. --score-col prints Spearman's correlation of each score
    with the statistics of the sentences. --score-col and --per-pair keep 4 bytes a token in a
    temporary file (in TMPDIR).

    Examples:
      miner stats web.de-en.tsv.gz
      miner stats web.de-en.tsv.gz --scol 1 --tcol 2 --score-col 3 --score-col 4
      miner stats web.de web.en --json statistics.json
      miner stats reference.en translation.en --idf wikipedia.en
      miner stats references.en
      miner stats classified.tsv --column 1 --score-col 2
      zcat web.tsv.gz | miner stats - --format tsv --per-pair statistics.tsv.gz
    """
    origin, *aligned = filter_options.inputs(bitext, source, target)
    file, other = (None, aligned[0]) if aligned else (origin, None)
    scol, tcol, format = layout.source_column, layout.target_column, layout.format
    columns = [str(name) for name in (scol, tcol, column, *score_cols) if name is not None]
    if aligned and columns:
        raise click.UsageError("--scol, --tcol, --column and --score-col are columns of BITEXT")
    if column is not None and (scol or tcol):
        raise click.UsageError("--column is the only text of BITEXT; --scol and --tcol are two")
    if columns and format is not None and not FORMATS[format].sides:
        raise click.UsageError(f"a {format} file has no columns")
    guard.check([origin, *aligned, idf], {"--json": json_file, "--per-pair": per_pair})

    from miner.machine import thread_count
    from miner.text.bitext import stream_bitext
    from miner.text.corpus import CorpusReader
    from miner_train.papers import bitext_statistics as statistics

    left_out: Counter[str] = Counter()
    if file is not None and not columns and not FORMATS[file_format(file, format)].sides:
        names: tuple[str, ...] = ("text",)
        reader = CorpusReader(file, header=layout.header, format=format, on_error=layout.on_error)
        blocks = statistics.text_blocks(reader, left_out)
    else:
        names = ("text",) if column else ("source", "target")
        if column is not None:
            layout = replace(layout, source_column=column, target_column=column)
        if file is not None:
            given = [*map(str, layout.columns(file)[: len(names)]), *score_cols]
            if len({*given}) < len(given):
                raise click.UsageError(
                    f"text and scores are in columns {', '.join(given)}: one is given twice"
                )
        pairs = stream_bitext(origin, other, layout, more=score_cols)
        blocks = statistics.pair_blocks(pairs, len(names), left_out)
    keep = bool(score_cols or per_pair)
    with Progress() as bar:
        found = statistics.count(
            *(blocks, names, score_cols, origin, left_out),
            idf=None if idf is None else CorpusReader(idf),
            keep=keep,
            threads=thread_count(threads),
            report=bar,
        )
    record = found.as_dict()
    # If data goes to standard output, the table goes to standard error.
    click.echo("\n".join(statistics.table(record, names)), err="-" in (json_file, per_pair))
    for line in statistics.notes(found):
        say(line)
    if json_file:
        options.write_json(json_file, record, indent=2)
    if per_pair:
        with open_output(per_pair) as out:
            out.writelines(statistics.sentence_rows(found))
