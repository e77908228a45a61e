"""``miner paraphrase``: paraphrases from bitext, by back-translation or by shared translations."""

from itertools import groupby
from pathlib import Path
from typing import Any

import click

from miner.cli import filter_options, guard, options, run_options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Group, arg, opt
from miner.tasks.workers import Workers
from miner.text.formats import BitextFormat
from miner_train.papers.commands import paraphrase_options
from miner_train.papers.commands.paraphrase_generate import generate, train
from miner_train.papers.commands.paraphrase_tune import tune


@click.group(cls=Group)
def paraphrase() -> None:
    """Make paraphrases: from bitext, or by a generator that is learned from paraphrases.

    Examples:
      miner paraphrase build de-en.tsv -o paraphrases.tsv
      miner paraphrase pivot de-en.tsv fr-en.tsv -o paraphrases.tsv
      miner paraphrase train paraphrases.tsv -o models/generator
      miner paraphrase lexicon paraphrases.tsv -o lexicon.tsv
      miner paraphrase tune paraphrases.tsv --by overlap1 --grades dev.tsv
    """


@paraphrase.command()
def build(
    bitext: str = arg(),
    layout: BitextFormat = paraphrase_options.columns("foreign sentences", "references"),
    translator: str = opt(
        "The built-in translator, or translations of any system in the bitext (column:N,M for "
        "several).",
        default="phrases",
        metavar="phrases|column:N",
    ),
    learn: str | None = opt(
        "Bitext to learn phrases from [each half of BITEXT for the other half].",
        metavar="FILE",
    ),
    cost_col: str | None = opt("Column with the cost of column:N.", metavar="N|NAME"),
    best: int = paraphrase_options.best("Translations per sentence, each a row."),
    config: str | None = opt(
        "Filters, in TOML as for 'miner filter'; the reference is the source, and column 3 the "
        "cost [at most 30 words, no copies, no duplicates].",
        metavar="FILE",
    ),
    rejected: str | None = opt("Rejected rows, with the filter and score of each.", metavar="FILE"),
    json_file: str | None = paraphrase_options.json_file,
    restart: bool = paraphrase_options.restart("translations"),
    output: str = opt("Output TSV of kept rows.", "-o --output", required=True, metavar="FILE"),
    threads: int | None = options.threads,
) -> None:
    """Pair the references of BITEXT with translations of its foreign side (P17, P18).

    Writes reference, translation and cost, a row for each translation that the filters keep. The
    built-in translator writes words in lower case; it never translates a sentence that it has
    learned from. Repeat a stopped run to continue it.

    Examples:
      miner paraphrase build de-en.tsv -o paraphrases.tsv
      miner paraphrase build de-en.tsv --learn other.de-en.tsv --best 5 -o paraphrases.tsv
      miner paraphrase build with-translations.tsv --translator column:3 -o paraphrases.tsv
      miner paraphrase build de-en.tsv --config bounds.toml --rejected out.tsv -o paraphrases.tsv
      miner train --bitext paraphrases.tsv --recipe p18 -o models/english
    """
    from miner.text.bitext import parse_scores, read_bitext
    from miner_train.papers import build as work

    by_column = translator.startswith("column:")
    if not (by_column or translator == "phrases"):
        raise click.UsageError(f"--translator {translator}: give phrases or column:N")
    if learn and by_column:
        raise click.UsageError("--learn is for the translator 'phrases'")
    if cost_col and not by_column:
        raise click.UsageError("--cost-col is for translations in a column (column:N)")
    guard.check(
        [bitext, learn, config], {"-o": output, "--rejected": rejected, "--json": json_file}
    )
    columns = translator.removeprefix("column:").split(",") if by_column else []
    pairs = read_bitext(bitext, None, layout, more=[*columns, *([cost_col] if cost_col else [])])
    checkpoint = Path(f"{output}.translations")
    if restart:
        checkpoint.unlink(missing_ok=True)
    if by_column:
        texts = [row[: len(columns)] for row in pairs.more]
        costs = None
        if cost_col:
            costs = parse_scores([row[-1] for row in pairs.more], bitext, pairs.lines).tolist()
        translations = [candidates[:best] for candidates in work.given_translations(texts, costs)]
    else:
        with Progress("sentences") as progress:
            parts = work.phrase_parts(pairs, learn, progress.say, progress)
            key = {"learn": learn}
            translations = work.translate_all(pairs.source, parts, best, checkpoint, key, progress)
    facts = _filtered(work.paired(pairs.target, translations), config, output, rejected, threads)
    record = {"translator": translator, "sentences": len(pairs), **facts}
    paraphrase_options.tell(facts["kept"], json_file, record)
    checkpoint.unlink(missing_ok=True)


def _filtered(
    lines: Any, config: str | None, output: str, rejected: str | None, threads: int | None
) -> dict[str, Any]:
    """Filter paraphrase pairs as ``miner filter`` does; print the funnel, return counts."""
    from miner.cleaning import funnel
    from miner.cleaning.config_file import read_config
    from miner.cleaning.pipeline import filter_text, text_run
    from miner.tasks.run import RunOptions
    from miner.text.bitext import read_bitext
    from miner.text.durable import scratch_directory
    from miner.text.output import open_output
    from miner_train.papers import build as work

    with scratch_directory() as directory, Progress() as report:
        raw, filters = directory / "pairs.tsv", directory / "filters.toml"
        with open_output(raw) as file:
            file.writelines(lines)
        filters.write_text(work.FILTERS, encoding="utf-8")
        context = filter_options.context((None, None), "default")
        filter_config = read_config(config or filters, context, run_options.from_file())
        outputs = {"kept": output} | ({} if rejected is None else {"rejected": rejected})
        options = RunOptions(workers=Workers(threads=threads), report=report)
        with text_run("filtering", [[str(raw)]], options=options) as (run, bitexts):
            summary = filter_text(run, bitexts, filter_config, outputs=[outputs]).summary
    say(funnel.table(summary))
    kept = read_bitext(output, None, BitextFormat(format="tsv"))
    both = list(zip(kept.source, kept.target, strict=True))
    return {"funnel": funnel.as_dict(summary), "kept": work.statistics(both)}


@paraphrase.command()
def pivot(
    bitexts: tuple[str, ...] = arg(nargs=-1, required=True, metavar="BITEXT..."),
    layout: BitextFormat = paraphrase_options.columns("foreign sentences", "sentences to pair"),
    least: int = opt(
        "Minimum number of common translations of a pair.", type=click.IntRange(1), default=1
    ),
    encoder: str | None = opt(
        "Write, in column 7, the probability that a pair is right, by the cosines of this "
        "encoder and shuffled pairs as decoys.",
        metavar="DIR",
    ),
    output: str = options.output("Output TSV of ranked pairs."),
    threads: int | None = options.threads,
) -> None:
    """Pair sentences that share translations in any BITEXT, as PPDB and Opusparcus do.

    Writes pointwise mutual information, both sentences, both conditional probabilities and the
    number of common translations, the best first. Text whose sentences have several translations,
    such as Tatoeba, gives many pairs. With --encoder the estimated share of right pairs is printed.

    Examples:
      miner paraphrase pivot de-en.tsv fr-en.tsv -o paraphrases.tsv
      miner paraphrase pivot de-en.tsv --least 2 -o sure.tsv
      miner paraphrase pivot de-en.tsv --encoder default -o p.tsv
      miner train --bitext p.tsv --scol 2 --tcol 3 --score-col 7 --clean 0.8 --recipe s18 -o m/en
    """
    from miner.text.bitext import read_bitext
    from miner.text.output import one_line, open_output
    from miner_train.papers.shared_translations import pivot_pairs

    guard.check(list(bitexts), {"-o": output})

    def rows() -> Any:
        for number, bitext in enumerate(bitexts):
            pairs = read_bitext(bitext, None, layout)
            # Sentences of different languages that look alike are not a common translation.
            for source, target in zip(pairs.source, pairs.target, strict=True):
                yield f"{number} {source}", target

    ranked = list(pivot_pairs(rows(), least))
    more = [""] * len(ranked)
    said = f"{len(ranked):,} pairs"
    if encoder is not None:
        from miner.encoder.open_encoder import open_encoder
        from miner_train.papers.shared_translations import probabilities

        both = [(pair.first, pair.second) for pair in ranked]
        right = probabilities(both, open_encoder(encoder, threads))
        more = [f"\t{probability:.4f}" for probability in right.tolist()]
        said += f", {right.mean():.1%} of them estimated to be right"
    with open_output(output) as file:
        for pair, last in zip(ranked, more, strict=True):
            cells = (f"{pair.pmi:.4f}", one_line(pair.first), one_line(pair.second))
            shares = f"{pair.forward:.4g}", f"{pair.backward:.4g}", str(pair.pivots)
            file.write("\t".join((*cells, *shares)) + last + "\n")
    say(said)


@paraphrase.command()
def lexicon(
    paraphrases: str = arg(),
    layout: BitextFormat = paraphrase_options.columns("first sentences", "second sentences"),
    best: int = paraphrase_options.best("Maximum paraphrases of each word.", usual=10),
    least: int = opt(
        "Minimum number of pairs with the two words on opposite sides.",
        type=click.IntRange(1),
        default=10,
    ),
    output: str = options.output("Output TSV of the lexicon."),
) -> None:
    """Write words and their paraphrases, from sentence pairs (P18).

    PARAPHRASES is a file of pairs, for example from 'miner paraphrase build'. Writes word,
    paraphrase, adjusted pointwise mutual information and count.

    Examples:
      miner paraphrase lexicon paraphrases.tsv -o lexicon.tsv
      miner paraphrase lexicon paraphrases.tsv --least 5 --best 3 -o lexicon.tsv
    """
    from miner.text.bitext import read_bitext
    from miner.text.output import open_output
    from miner_train.papers.paraphrase_lexicon import adjusted_pmi

    guard.check([paraphrases], {"-o": output})
    pairs = read_bitext(paraphrases, None, layout)
    ranked = adjusted_pmi(list(zip(pairs.source, pairs.target, strict=True)), least)
    rows = [
        f"{pair.word}\t{pair.other}\t{pair.score:.4f}\t{pair.count}\n"
        for _, paraphrases_of in groupby(ranked, key=lambda pair: pair.word)
        for pair in list(paraphrases_of)[:best]
    ]
    with open_output(output) as file:
        file.writelines(rows)
    say(f"{len(rows):,} pairs")


for command in (tune, train, generate):
    paraphrase.add_command(command)
