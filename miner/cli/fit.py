"""``miner fit``: verification for an encoder of another library."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from miner.cli import guard, options, training_text
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, opt
from miner.cli.training_text import ParallelText
from miner.encoder.loading import Loading, split_name
from miner.libraries import require
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import BitextFormat

# Estimated precision of mined pairs that serve as bitext.
PRECISION = 0.98


@click.command(cls=Command)
@training_text.parallel_text(sides=False)
def fit(
    text: ParallelText,
    layout: BitextFormat,
    without: Without,
    model: str = opt(
        "Encoder: hf:DIR_OR_NAME of sentence-transformers, or model2vec:DIR_OR_NAME.",
        required=True,
        metavar="NAME",
    ),
    mined: tuple[str, str] | None = opt(
        "Two texts, in place of --bitext: the pairs that the encoder itself finds in them with an "
        f"estimated precision of {PRECISION} are learned from.",
        nargs=2,
        metavar="SOURCE TARGET",
    ),
    labels: str | None = opt(
        "Answers of 'miner review', or a sheet of them, to which the quality is fitted.",
        metavar="FILE",
    ),
    languages: tuple[str | None, str | None] = options.languages(),
    pieces: int = opt("Size of the vocabulary.", default=32_000),
    comparer: bool = options.comparer(
        ", for which the encoder encodes many more sentences", default=False
    ),
    loading: Loading = options.loading(),
    device: str = options.device,
    threads: int | None = options.threads,
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    overwrite: bool = options.overwrite(),
) -> None:
    """Learn to verify the pairs of an encoder of another library.

    DIR becomes a model that refers to the encoder for its vectors, and has a vocabulary, lexicon,
    verifier, quality score and decoys of its own. It works wherever a model does: mine, search,
    score, filter, explain. Indexes that the encoder built stay valid. Give 10,000 translations
    or more, or two texts to mine them from.

    Examples:
      miner fit --model hf:encoders/LaBSE --bitext de-en.tsv.xz -o models/labse-de-en
      miner fit --model hf:encoders/e5 --bitext 'train/*-en/*.tsv.xz' -o models/e5
      miner fit --model model2vec:encoders/potion --mined news.de news.en -o models/potion
      miner fit --model hf:encoders/e5 --bitext web.tsv.gz --labels answers.jsonl -o models/e5
      miner mine news.de news.en --model models/labse-de-en -o pairs.tsv
    """
    if split_name(model) is None:
        raise click.UsageError(
            f"--model {model}: a model of this program is trained already; name an encoder of "
            "another library (hf:NAME)"
        )
    if text.empty != bool(mined):
        raise click.UsageError("give either --bitext or --mined, to learn from")
    if (languages[0] is None) != (languages[1] is None):
        raise click.UsageError("give both --source-lang and --target-lang, or neither")
    named = None if languages[0] is None else f"{languages[0]}-{languages[1]}".lower()
    guard.check([*text.files, *without.files, *(mined or ()), labels], {"-o": output})
    guard.check_directory(output, "a model", overwrite)
    require(["torch", "sklearn"], "a fit", "train")
    from miner.encoder.foreign_encoder import ForeignEncoder
    from miner.text.durable import scratch_directory
    from miner.text.sheet import read_labels
    from miner_train.fit_encoder import fit_encoder

    judged = {} if labels is None else read_labels(labels)
    with ExitStack() as stack:
        encoder = stack.enter_context(options.opened(model, threads, device, "source", loading))
        assert isinstance(encoder, ForeignEncoder)
        if mined:
            bitext = stack.enter_context(scratch_directory()) / "mined.tsv"
            pair_names = mined_bitext(encoder, mined, languages, threads, bitext)
            named = named or pair_names
            text, layout = replace(text, bitexts=(str(bitext),)), BitextFormat("2", "3")
        with Progress("pairs") as progress:
            fitted = fit_encoder(
                encoder,
                text.pairs(layout, named=named),
                output,
                pieces=pieces,
                without=without,
                comparer=comparer,
                labels=judged,
                report=progress.say,
            )
    say(f"{output}: {fitted.describe()}; fingerprint {fitted.fingerprint}")


def mined_bitext(
    encoder: object,
    texts: tuple[str, str],
    languages: tuple[str | None, str | None],
    threads: int | None,
    path: Path,
) -> str | None:
    """Mine bitext to learn from, and write it; return the names of its languages (``de-en``)."""
    from miner.knn.settings import SearchSettings
    from miner.mining.keep import Keep
    from miner.mining.mine import mine

    settings = SearchSettings(retrieval="intersection", languages=languages, threads=threads)
    with Progress("sentences") as report:
        result = mine(
            *texts,
            encoder=encoder,
            keep=Keep(target_precision=PRECISION),
            settings=settings,
            report=report,
        )
    result.pairs.write(path)
    say(
        f"no bitext was given: {len(result.pairs):,} pairs that the encoder finds itself, with an "
        f"estimated precision of {result.precision or 0:.3f}, are learned from"
    )
    codes = [identified.code for identified in result.search.languages]
    return "-".join(code for code in codes if code) if all(codes) else None
