"""``miner paraphrase lexicon``: words and their paraphrases, from sentence pairs or a model."""

from itertools import groupby
from pathlib import Path

import click

from miner.cli import guard, options, paraphrase_options
from miner.cli.options import say
from miner.cli.settings_options import Command, arg, opt
from miner.text.formats import BitextFormat


@click.command(cls=Command)
def lexicon(
    source: str = arg(metavar="PARAPHRASES|MODEL"),
    layout: BitextFormat = paraphrase_options.columns("first sentences", "second sentences"),
    best: int = paraphrase_options.best("Paraphrases of each word, the best ones.", usual=10),
    least: int = opt(
        "Of PARAPHRASES: how often two words stand on opposite sides, at least.",
        type=click.IntRange(1),
        default=10,
    ),
    first: int = opt(
        "Of a MODEL: how many of its most frequent pieces or words to compare.",
        type=click.IntRange(2),
        default=10_000,
    ),
    output: str = options.output("The lexicon, a TSV."),
) -> None:
    """Write words and their paraphrases, from sentence pairs or from the embeddings of a model.

    PARAPHRASES|MODEL is a file of pairs, for example by 'miner paraphrase build', or a model's
    directory or 'default'. Pairs give word, paraphrase, adjusted pointwise mutual information and
    count (P18). A model gives piece or word, neighbour and cosine; neighbours in a model of several
    languages may be translations.

    Examples:
      miner paraphrase lexicon paraphrases.tsv -o lexicon.tsv
      miner paraphrase lexicon paraphrases.tsv --least 5 --best 3 -o lexicon.tsv
      miner paraphrase lexicon default --first 2000 -o near.tsv
    """
    from miner.text.output import open_output

    guard.check([source], {"-o": output})
    if source == "default" or Path(source).is_dir():
        from miner.encoder.model import load
        from miner.papers.paraphrase_lexicon import nearest_types

        rows = [
            f"{pair.word}\t{pair.other}\t{pair.score:.4f}\n"
            for pair in nearest_types(load(source), best, first)
        ]
    else:
        from miner.papers.paraphrase_lexicon import adjusted_pmi
        from miner.text.bitext import read_bitext

        pairs = read_bitext(source, None, layout)
        found = adjusted_pmi(list(zip(pairs.source, pairs.target, strict=True)), least)
        rows = [
            f"{pair.word}\t{pair.other}\t{pair.score:.4f}\t{pair.count}\n"
            for _, own in groupby(found, key=lambda pair: pair.word)
            for pair in list(own)[:best]
        ]
    with open_output(output) as file:
        file.writelines(rows)
    say(f"{len(rows):,} pairs")
