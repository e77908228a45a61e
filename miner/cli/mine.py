"""``miner mine``: two files of text to pairs, in one command."""

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard, options
from miner.cli.mined import Output, mining_arguments, read_keep
from miner.cli.options import say
from miner.cli.settings_options import Command
from miner.cli.sharding import Sharding, expanded, require_work
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.names import SIDES

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder
    from miner.index.index import Index

# File that marks a directory of --work as made by this command.
MARKER = "mine.json"


@click.command(
    cls=Command,
    epilog="""\b
Examples:
  miner mine news.de.zst news.en.gz -o pairs.tsv.gz
  miner mine news.de news.en --model models/de-en --target-precision 0.9 -o pairs.parquet
  miner mine news.de news.en --top-n 1000 --work work -o pairs.tsv
  miner mine news.de news.en --model hf:encoders/LaBSE -o pairs.tsv
  miner mine 'de/*.zst' 'en/*.zst' --work work --backend processes -o pairs/
  zcat crawl.de.gz | miner mine - crawl.en > pairs.tsv""",
)
@mining_arguments
def mine(
    source: str,
    target: str,
    model: str,
    loading: Loading,
    languages: tuple[str | None, str | None],
    settings: SearchSettings,
    keep: dict[str, Any],
    output: Output,
    work: str | None,
    factory: str,
    shards: Sharding | None,
    **reading: Any,
) -> None:
    """Mine translation pairs from the text files SOURCE and TARGET.

    Each is a file, a pattern such as 'de/*.zst', or - for standard input. -o DIR/ writes compressed
    parts and a manifest.

    Does 'miner index' twice and 'miner search' once. Unless an option says how many to keep, it
    keeps the pairs with an estimated precision of 0.95; with --rank margin and the default margin,
    retrieval and k, those above the model's own threshold, which is only a start. --threshold 0
    keeps all.
    """
    from miner.cli.index import describe
    from miner.cli.progress_bars import Progress
    from miner.knn.search_checkpoint import Checkpoint
    from miner.mining.mine import load_encoder
    from miner.mining.mine import mine as mine_texts
    from miner.text.locks import lock

    texts = expanded(source), expanded(target)
    if shards is not None:
        work = require_work(work, [*texts[0], *texts[1]])
        if factory != "flat":
            raise click.UsageError("--index makes compressed indexes, which shards do without")
    elif work is not None and "://" in work:
        raise click.UsageError(f"--work {work}: only shards work in an object store; add --backend")
    elif source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    settings = replace(settings, languages=languages)
    files = keep.get("decoys"), keep.get("decoy_vectors")
    arguments: dict[str, Any] = {"keep": read_keep(keep, output), "settings": settings, **reading}
    guard.check([*texts[0], *texts[1], model, *files], output.places)
    with ExitStack() as stack:
        if work is not None and shards is None:
            Path(work).mkdir(parents=True, exist_ok=True)  # the pairs may go there, too
            stack.enter_context(lock(Path(work) / MARKER))
        output.check()
        options.warn_of_columns((*texts[0], *texts[1]), reading["format"])
        arguments["encoder"] = encoder = load_encoder(model, settings, loading)
        checkpoint = None
        if shards is not None and work is not None:
            from miner.shards.mine_shards import mine_shards

            with Progress("tasks") as report:
                mined = mine_shards(
                    texts,
                    work,
                    workers=replace(shards, memory=settings.memory, threads=settings.threads),
                    shard_lines=shards.shard_lines,
                    report=report,
                    note=report.say,
                    done=lambda index: report.say(describe(index, index.path.name)),
                    **arguments,
                )
        else:
            if work is not None:
                _claim(Path(work), texts, encoder)
                checkpoint = Checkpoint(Path(work) / "search.h5", keep=True, note=say)
                stack.enter_context(checkpoint)
            indexes: list[Index] = []

            def done(index: "Index") -> None:
                say(describe(index, (source, target)[len(indexes)]))
                indexes.append(index)
                if len(indexes) == 2:
                    left, right = indexes
                    report.operations = 2.0 * left.distinct * right.distinct * left.dimension

            with Progress("sentences") as report:
                mined = mine_texts(
                    *texts,
                    checkpoint=checkpoint,
                    report=report,
                    note=say,
                    work=work,
                    factory=factory,
                    done=done,
                    **arguments,
                )
        output.write(mined, checkpoint)


def _claim(work: Path, texts: tuple[list[str], list[str]], encoder: "SentenceEncoder") -> None:
    """Refuse a directory with indexes that are not for this command to replace; mark a new one.

    Its indexes are replaced if an earlier run of the command marked the directory, or if they are
    of the same files and model. Raises UsageError.
    """
    from miner.index.index import META
    from miner.text.output import resource_error

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
