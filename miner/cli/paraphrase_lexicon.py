"""``miner paraphrase lexicon``: words and their paraphrases."""

from itertools import groupby

import click

from miner.cli import guard, options, paraphrase_options
from miner.cli.options import say
from miner.cli.settings_options import Command, arg, opt
from miner.text.formats import BitextFormat


@click.command(cls=Command)
def lexicon(
    paraphrases: str = arg(),
    layout: BitextFormat = paraphrase_options.columns("first sentences", "second sentences"),
    best: int = paraphrase_options.best("Paraphrases of each word, the best ones.", usual=10),
    least: int = opt(
        "How often two words stand on opposite sides, at least.",
        type=click.IntRange(1),
        default=10,
    ),
    output: str = options.output("The lexicon, a TSV."),
) -> None:
    """Write words and their paraphrases, from sentence pairs (P18).

    PARAPHRASES is a file of pairs, for example by 'miner paraphrase build'. Writes word,
    paraphrase, adjusted pointwise mutual information and count.

    Examples:
      miner paraphrase lexicon paraphrases.tsv -o lexicon.tsv
      miner paraphrase lexicon paraphrases.tsv --least 5 --best 3 -o lexicon.tsv
    """
    from miner.papers.paraphrase_lexicon import adjusted_pmi
    from miner.text.bitext import read_bitext
    from miner.text.output import open_output

    guard.check([paraphrases], {"-o": output})
    pairs = read_bitext(paraphrases, None, layout)
    found = adjusted_pmi(list(zip(pairs.source, pairs.target, strict=True)), least)
    rows = [
        f"{pair.word}\t{pair.other}\t{pair.score:.4f}\t{pair.count}\n"
        for _, own in groupby(found, key=lambda pair: pair.word)
        for pair in list(own)[:best]
    ]
    with open_output(output) as file:
        file.writelines(rows)
    say(f"{len(rows):,} pairs")
