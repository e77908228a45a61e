"""``miner mine``: two files of text to pairs, in one command."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard, options, sharding
from miner.cli.mined import Output, mining_arguments, say, take_keep, take_settings
from miner.cli.sharding import Sharding, expanded, take_sharding
from miner.encoder.loading import Loading
from miner.names import SIDES

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder
    from miner.index.index import Index

# File that marks a directory of --work as made by this command.
MARKER = "mine.json"


@click.command(
    epilog="""\b
Examples:
  miner mine news.de.zst news.en.gz -o pairs.tsv.gz
  miner mine news.de news.en --model models/de-en --target-precision 0.9 -o pairs.parquet
  miner mine news.de news.en --top-n 1000 --work work -o pairs.tsv
  miner mine news.de news.en --model hf:encoders/LaBSE -o pairs.tsv
  miner mine 'de/*.zst' 'en/*.zst' --work work --backend processes -o pairs/
  zcat crawl.de.gz | miner mine - crawl.en > pairs.tsv"""
)
@mining_arguments
def mine(
    source: str,
    target: str,
    model: str,
    loading: Loading,
    work: str | None,
    factory: str,
    **given: Any,
) -> None:
    """Mine translation pairs from the text files SOURCE and TARGET.

    Each is a file, a pattern such as 'de/*.zst', or - for standard input. -o DIR/ writes compressed
    parts and a manifest.

    Does 'miner index' twice and 'miner search' once. Unless an option says how many to keep, it
    keeps the pairs with an estimated precision of 0.95; with --rank margin and the default margin,
    retrieval and k, those above the model's own threshold, which is only a start. --threshold 0
    keeps all.
    """
    shards = take_sharding(given)
    texts = expanded(source), expanded(target)
    if shards is not None:
        _mine_shards(texts, (model, loading), work, factory, shards, given)
        return
    if work is not None and "://" in work:
        raise click.UsageError(f"--work {work}: only shards work in an object store; add --backend")
    from miner.cli.index import describe
    from miner.cli.progress_bars import Progress
    from miner.knn.search_checkpoint import Checkpoint
    from miner.mining.keep import KeepError
    from miner.mining.mine import load_encoder
    from miner.mining.mine import mine as mine_texts
    from miner.text.locks import lock

    if source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    indexes: list[Index] = []

    def done(index: "Index") -> None:
        say(describe(index, (source, target)[len(indexes)]))
        indexes.append(index)
        if len(indexes) == 2:
            left, right = indexes
            report.operations = 2.0 * left.distinct * right.distinct * left.dimension

    try:
        decoys, embeddings = given["decoys"], given["decoy_embeddings"]
        settings, keep = take_settings(given), take_keep(given)
        output = Output.take(given)
        places = {"-o": output.output, "--report": output.page}
        guard.check([*texts[0], *texts[1], model, decoys, embeddings], places)
        with ExitStack() as stack:
            if work is not None:
                Path(work).mkdir(parents=True, exist_ok=True)  # the pairs may go there, too
                stack.enter_context(lock(Path(work) / MARKER))
            output.check()
            options.warn_of_columns((*texts[0], *texts[1]), given["format"])
            encoder = load_encoder(model, settings, loading)
            checkpoint = None
            if work is not None:
                _claim(Path(work), texts, encoder)
                checkpoint = Checkpoint(Path(work) / "search.h5", keep=True, note=say)
                stack.enter_context(checkpoint)
            with Progress("sentences") as report:
                mined = mine_texts(
                    *texts,
                    keep=keep,
                    settings=settings,
                    encoder=encoder,
                    checkpoint=checkpoint,
                    report=report,
                    note=say,
                    work=work,
                    factory=factory,
                    done=done,
                    **given,
                )
            output.write(mined, checkpoint)
    except KeepError as error:
        raise click.UsageError(str(error)) from None


def _mine_shards(
    texts: tuple[list[str], list[str]],
    model: tuple[str, Loading],
    work: str | None,
    factory: str,
    shards: "Sharding",
    given: dict[str, Any],
) -> None:
    """Mine by the tasks of a plan."""
    from miner.cli.index import describe
    from miner.cli.progress_bars import Progress
    from miner.mining.keep import KeepError
    from miner.mining.mine import load_encoder
    from miner.shards.mine_shards import mine_shards

    work = sharding.require_work(work, [*texts[0], *texts[1]])
    if factory != "flat":
        raise click.UsageError("--index makes compressed indexes, which shards do without")
    try:
        decoys = given["decoys"]
        settings, keep = take_settings(given), take_keep(given)
        output = Output.take(given)
        places = {"-o": output.output, "--report": output.page}
        guard.check([*texts[0], *texts[1], model[0], decoys], places)
        output.check()
        options.warn_of_columns((*texts[0], *texts[1]), given["format"])
        encoder = load_encoder(model[0], settings, model[1])
        with Progress("tasks") as report:
            mined = mine_shards(
                texts,
                work,
                encoder=encoder,
                keep=keep,
                settings=settings,
                workers=shards.workers(settings.memory, settings.threads),
                shard_lines=shards.lines,
                report=report,
                note=report.say,
                done=lambda index: report.say(describe(index, index.path.name)),
                **given,
            )
        output.write(mined, None)
    except KeepError as error:
        raise click.UsageError(str(error)) from None


def _claim(work: Path, texts: tuple[list[str], list[str]], encoder: "SentenceEncoder") -> None:
    """Refuse a directory with indexes that are not for this command to replace; mark a new one.

    Its indexes are replaced if an earlier run of the command marked the directory, or if they are
    of the same files and model. Raises UsageError.
    """
    from miner.errors import resource_error
    from miner.index.index import META

    marker = work / MARKER
    found = [side for side in SIDES if (work / side / META).exists()]
    if not found:
        try:
            marker.write_text(json.dumps({"format": "bitext-miner mining directory"}) + "\n")
        except OSError as error:
            raise resource_error(error, marker) from error
    if marker.exists():
        return
    for side, text in zip(SIDES, texts, strict=True):
        if side in found and not _is_of(work / side, text, encoder):
            raise click.UsageError(
                f"--work {work}: {work / side} is an index of other text or of another model, and "
                "this command has no --overwrite; name another --work"
            )


def _is_of(place: Path, text: list[str], encoder: "SentenceEncoder") -> bool:
    """Return True for an index of these files, which may have changed since, by this model."""
    from miner.errors import ArtifactError
    from miner.index.index import Index

    try:
        index = Index.open(place)
    except ArtifactError:
        return False
    if text == ["-"] or index.fingerprint != encoder.fingerprint:
        return False
    files = [Path(source.path).resolve() for source in index.sources]
    return files == [Path(path).resolve() for path in text]
