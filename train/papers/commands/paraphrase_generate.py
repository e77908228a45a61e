"""``miner paraphrase train`` and ``generate``: a paraphrase generator, learned and applied."""

from pathlib import Path
from typing import Any

import click

from miner.cli import guard, options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, arg, configured, opt
from miner_train.papers.commands import paraphrase_options
from miner_train.papers.generation import Decoding, RankWeights
from miner_train.papers.generator_config import GeneratorConfig


@click.command(cls=Command)
def train(
    pairs_files: tuple[str, ...] = arg(nargs=-1, required=True, metavar="PAIRS..."),
    read_col: str | None = opt("Column of the sentences to read [2].", metavar="N|NAME"),
    write_col: str | None = opt("Column of the sentences to write [1].", metavar="N|NAME"),
    header: bool = options.header,
    output: str = opt(
        "Output directory of the generator.", "-o --output", required=True, metavar="DIR"
    ),
    overwrite: bool = options.overwrite("a generator"),
    restart: bool = opt("Discard an interrupted training of this DIR."),
    device: str = options.device,
    threads: int | None = options.threads,
    given: dict[str, Any] = Settings(GeneratorConfig, "given", dict)(),
) -> None:
    """Learn to write paraphrases from PAIRS, for example from 'miner paraphrase build' (P18).

    A small transformer reads the translation (column 2) and writes the reference (column 1), so
    that it learns to write human text. The epoch with the highest likelihood of held-out references
    is kept. Repeat the command of a stopped training to continue it.

    Examples:
      miner paraphrase train paraphrases.tsv -o models/generator
      miner paraphrase train a.tsv b.tsv --epochs 20 --dimension 512 --device cuda -o models/large
      miner paraphrase train pairs.tsv --read-col 1 --write-col 2 --keep-case -o models/generator
    """
    from miner.libraries import require
    from miner.text.bitext import read_bitext
    from miner.text.formats import BitextFormat

    guard.check(pairs_files, {"-o": output})
    guard.check_training(output, "a generator", overwrite, restart)
    config = configured(GeneratorConfig(), given)
    require(["torch"], "training", "train")
    from miner_train.papers.learn_generator import train_generator

    layout = BitextFormat(read_col or "2", write_col or "1", header)
    read: list[str] = []
    written: list[str] = []
    for path in pairs_files:
        pairs = read_bitext(path, None, layout)
        read += pairs.source
        written += pairs.target
    with Progress("batches") as progress:
        generator = train_generator(
            read,
            written,
            config,
            output,
            threads=threads,
            device=device,
            restart=restart,
            report=progress.say,
            progress=progress,
        )
    cost = generator.training["held-out cost"]
    say(f"{output}: a generator; held-out cost {cost:.3f} a piece")


@click.command(cls=Command)
@options.text_format("format", format={"help": "Format of FILE [by suffix]."})
@options.header
def generate(
    file: str = arg(),
    model: str = opt("Directory of the generator.", required=True, metavar="DIR"),
    column: str | None = opt("Column of the sentences.", metavar="N|NAME"),
    candidates: int = opt(
        "Candidates that the generator writes for each sentence.",
        type=click.IntRange(1, 100),
        default=8,
    ),
    best: int = paraphrase_options.best("Paraphrases per sentence, each a row."),
    decoding: Decoding = Settings(Decoding, "decoding")(),
    encoder: str = opt(
        "Encoder whose cosine ranks candidates, as --model of 'miner mine'.",
        default="default",
        metavar="DIR",
    ),
    references: str | None = opt(
        "Sentences for a trigram model that ranks candidates [the generator's cost].",
        metavar="FILE",
    ),
    weights: RankWeights = Settings(RankWeights, "weights")(),
    json_file: str | None = paraphrase_options.json_file,
    restart: bool = paraphrase_options.restart("candidates"),
    output: str = opt("Output TSV of paraphrases.", "-o --output", required=True, metavar="FILE"),
    device: str = options.device,
    threads: int | None = options.threads,
    **reading: Any,
) -> None:
    """Write paraphrases of the sentences of FILE.

    Writes sentence, paraphrase, cost, score, cosine and n-gram overlap, and with --references the
    perplexity. Candidates that copy their sentence are dropped, and a sentence without other
    candidates has no row. Prints mean overlap, BLEU and cosine. Repeat a stopped run to continue
    it.

    Examples:
      miner paraphrase generate --model models/generator news.en -o paraphrases.tsv
      miner paraphrase generate --model models/generator news.en --sample --best 3 -o p.tsv
      miner paraphrase generate --model m news.en --references news.en --novelty 1 -o p.tsv
      miner train --bitext paraphrases.tsv --recipe p18 -o models/english
    """
    from dataclasses import asdict

    from miner.device import resolve_device
    from miner.encoder.open_encoder import open_encoder
    from miner.filters.external_scores import spread
    from miner.scoring.trigram_lm import Trigrams
    from miner.text.corpus import CorpusReader
    from miner.text.output import open_output
    from miner.text.words import tokens
    from miner_train.papers import build as work
    from miner_train.papers.generator import Generator, Rewriter
    from miner_train.papers.rerank import means, rank, ranked_lines

    if best > candidates:
        raise click.UsageError(f"--best {best} of --candidates {candidates}; raise the latter")
    guard.check([file, model, references], {"-o": output, "--json": json_file})
    generator = Generator.load(model)
    reader = CorpusReader(file, column=column, **reading)
    sentences = [sentence for corpus in reader for sentence in corpus.sentences]
    checkpoint = Path(f"{output}.candidates")
    if restart:
        checkpoint.unlink(missing_ok=True)
    key = {"generator": generator.fingerprint, "decoding": asdict(decoding)}
    vectors = open_encoder(encoder, threads)
    language = None
    if references is not None:
        language = Trigrams.train(map(tokens, spread(Path(references), 40_000)), references)
    with Progress("sentences") as progress:
        parts = work.whole(
            len(sentences), lambda: Rewriter(generator, decoding, resolve_device(device), threads)
        )
        written = work.translate_all(sentences, parts, candidates, checkpoint, key, progress)
        ranked = [
            candidates_of[:best]
            for candidates_of in rank(sentences, written, vectors, weights, language, progress)
        ]
    with open_output(output) as out:
        out.writelines(ranked_lines(sentences, ranked))
    paraphrase_options.tell(means(sentences, ranked), json_file)
    checkpoint.unlink(missing_ok=True)
