"""``miner negatives``: the hardest negatives by size of the mega-batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from miner.cli import filtering, options
from miner.cli.options import say
from miner.cli.settings_options import Command, opt
from miner.errors import CorpusError
from miner.text.formats import BitextFormat
from miner.text_table import aligned

if TYPE_CHECKING:
    from miner.text.bitext import Bitext
    from miner_train.examples import CosineStatistics, Hardest, Pairs

# Margin of the loss of the papers.
MARGIN = 0.4
# Sizes of a mega-batch in P18 and P19.
SIZES = (1, 20, 40, 120)


@click.command(cls=Command)
@click.argument("model")
@options.bitext
def negatives(
    model: str,
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    sizes: tuple[int, ...] = opt(
        "Batches pooled to choose negatives from; repeatable.",
        "--mega-batch --megabatch",
        type=click.IntRange(1),
        default=SIZES,
    ),
    batch: int = opt("Pairs of one batch.", type=click.IntRange(1), default=128),
    negatives_from: str = opt(
        "From the opposite column, or from both (one language in both).",
        type=click.Choice(["opposite", "either"]),
        default="opposite",
    ),
    examples: int = opt("Pairs to show.", type=click.IntRange(0), default=5),
    seed: int = opt("Decides which pairs.", type=click.IntRange(0), default=1),
    layout: BitextFormat = options.bitext_format(),
    threads: int | None = options.threads,
) -> None:
    """Show the hardest negatives that a training would choose, by size of the mega-batch.

    MODEL is a model directory, or 'default'. BITEXT is a tsv, jsonl or parquet file, or - for
    standard input; or give two aligned files, SOURCE and TARGET. A sample of pairs, as many as the
    largest mega-batch has, is divided into mega-batches of each size. Each sentence gets the
    nearest sentence of its mega-batch that is no translation, as 'miner train' chooses it. Pairs
    after the last whole mega-batch are left out.

    The larger the mega-batch, the nearer the negatives. Check that they are still wrong: among very
    many pairs, the nearest may be a good translation too.

    Examples:
      miner negatives default web.de-en.tsv.gz
      miner negatives models/de-en web.de web.en --mega-batch 1 --mega-batch 100
      miner negatives models/de-en web.de-en.tsv.gz --batch 2048 --mega-batch 4 --examples 20
      miner negatives models/english paraphrases.tsv --negatives-from either --seed 2
    """
    import numpy as np

    from miner.encoder.encoder import Encoder
    from miner.text.bitext import stream_bitext
    from miner.text.lines import display_name
    from miner_train.examples import draw, hardest

    file, *other = filtering.inputs(bitext, source, target)
    if other and (layout.source_column or layout.target_column):
        raise click.UsageError("--scol and --tcol are columns of BITEXT")
    columns = [*map(str, layout.columns(file))]
    if not other and columns[0] == columns[1]:
        raise click.UsageError(f"--scol and --tcol are both {columns[0]}")
    sides = [Encoder.load(model, threads, side="source")]
    separate = sides[0].side is not None
    sides.append(Encoder(sides[0].model, threads, side="target") if separate else sides[0])
    left_out: Counter[str] = Counter()
    blocks = stream_bitext(file, other[0] if other else None, layout)
    drawn = draw(counted(blocks, left_out), max(sizes) * batch, seed)
    left, right = sides[0].encode(drawn.source), sides[1].encode(drawn.target)
    known = np.flatnonzero(left.any(axis=1) & right.any(axis=1))
    pairs, left, right = drawn.take(known), left[known], right[known]
    name = " and ".join(map(display_name, [file, *other]))
    if len(pairs) < 2:
        raise CorpusError(
            f"{name}: {len(pairs)} pairs to choose from ({left_out['empty']} have an empty side, "
            f"{left_out['undecodable']} are not UTF-8, {len(drawn) - len(pairs)} have no unit that "
            "the model knows); give more, or check the columns"
        )
    # Sizes beyond the number of pairs are one mega-batch of all of them.
    wanted = sorted({min(size * batch, len(pairs)) for size in sizes})
    either = negatives_from == "either"
    found = [hardest(left, right, pairs, size, either) for size in wanted]
    if (found[-1].for_source < 0).all():
        raise CorpusError(
            f"{name}: no pair has a negative, since all share a sentence; give more pairs, or "
            "check the columns"
        )
    whole = {size * batch: str(size) for size in sizes}
    titles = {size: whole.get(size, "all") for size in wanted}
    click.echo(f"{len(pairs)} of {left_out['read']} pairs, in batches of {batch}")
    click.echo("\n".join(table(found, titles)))
    # A size that does not divide the number of pairs has fewer pairs.
    for row in range(min(examples, *map(len, found))):
        click.echo("\n".join(["", *example(row, pairs, found, titles)]))
    # The warning is about the opposite column: sentences of one column are near anyway.
    fewest = hardest(left, right, pairs, wanted[0], False) if either else found[0]
    for line in notes(sizes, batch, pairs, len(drawn), left_out, fewest):
        say(line)


def counted(blocks: Iterable[Bitext], left_out: Counter[str]) -> Iterator[Bitext]:
    """Yield the blocks, and count the rows read and left out."""
    for block in blocks:
        left_out.update(read=len(block), empty=block.empty, undecodable=block.undecodable)
        left_out.update(replaced=block.replaced)
        yield block


def table(found: Sequence[Hardest], titles: dict[int, str]) -> Iterator[str]:
    """Lines of the table of cosines by size of the mega-batch."""
    from miner_train.examples import statistics

    heads = ("mega-batch", "cosine of", "n", "mean", "25 %", "50 %", "75 %", "nearer", "violating")
    rows: list[tuple[str, ...]] = [heads]
    for one in found:
        lines = {
            "source and target": statistics(one.translation),
            "source and its negative": statistics(one.translation, one.against_source, MARGIN),
            "target and its negative": statistics(one.translation, one.against_target, MARGIN),
        }
        title = titles[one.size]
        for label, shown in lines.items():
            rows.append((title, label, *cells(shown)))
            title = ""
    yield from ("", *aligned(rows, left=2), "")
    yield "nearer: negatives that are nearer than the translation"
    yield (
        f"violating: negatives that the translation does not beat by {MARGIN}; the margin loss "
        "learns from them"
    )


def cells(shown: CosineStatistics | None) -> tuple[str, ...]:
    """Cells of a line of the table; empty where there is no cosine."""
    if shown is None:
        return "0", *[""] * 6
    shares = (shown.nearer, shown.violating)
    return (
        str(shown.n),
        *(f"{value:.3f}" for value in (shown.mean, *shown.quartiles)),
        *("" if share is None else f"{share:.1%}" for share in shares),
    )


def example(
    row: int, pairs: Pairs, found: Sequence[Hardest], titles: dict[int, str]
) -> Iterator[str]:
    """Lines of one pair, and its negatives by size of the mega-batch."""
    from miner.text.output import one_line

    texts = [*pairs.source, *pairs.target]
    yield f"line {pairs.lines[row]}"
    yield f"   source            {one_line(pairs.source[row])}"
    yield f"   target     {found[0].translation[row]:6.3f} {one_line(pairs.target[row])}"
    for head, rows, cosines in (
        ("for the source", "for_source", "against_source"),
        ("for the target", "for_target", "against_target"),
    ):
        yield f"   negatives {head}, by mega-batch"
        for one in found:
            negative, cosine = getattr(one, rows)[row], getattr(one, cosines)[row]
            shown = "none" if negative < 0 else f"{cosine:6.3f} {one_line(texts[negative])}"
            yield f"   {titles[one.size]:>10} {shown}"


def notes(
    sizes: Sequence[int],
    batch: int,
    pairs: Pairs,
    drawn: int,
    left_out: Counter[str],
    fewest: Hardest,
) -> Iterator[str]:
    """Warnings and counts. ``fewest`` are negatives in the smallest mega-batch, opposite column."""
    lost = (fewest.against_source > fewest.translation).mean()
    if lost > 0.5:
        yield (
            f"warning: {lost:.0%} of the sources have a negative nearer than the translation, "
            f"among {fewest.size} pairs: are both sides aligned line by line, and does the model "
            "know their languages?"
        )
    short = [str(size) for size in sorted(set(sizes)) if size * batch > len(pairs)]
    if short:
        yield (
            f"{len(pairs)} pairs are too few for mega-batches of {', '.join(short)}: 'all' is one "
            f"mega-batch of all of them"
        )
    unknown = drawn - len(pairs)
    for count, what in (
        (left_out["empty"], "left out, with an empty side"),
        (left_out["undecodable"], "left out, not UTF-8"),
        (unknown, "drawn and left out, with a side without a unit that the model knows"),
        (left_out["replaced"], "with bytes replaced"),
    ):
        if count:
            yield f"pairs {what}: {count}"
