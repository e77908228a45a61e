"""``miner search``: two index directories to pairs."""

from contextlib import nullcontext
from typing import Any

import click

from miner.cli import guard, loading_options, options
from miner.cli.mined import Output, say, take_keep, take_settings
from miner.encoder.loading import Loading


@click.command(
    epilog="""\b
Examples:
  miner search work/de work/en --target-precision 0.95 --report report.html -o pairs.tsv
  miner search work/de work/en --threshold 0.1 -o pairs.parquet
  miner search work/de work/en --threshold 1.15 -k 4 --margin ratio --retrieval max -o pairs.tsv
  miner search work/de work/en --top-n 100000 --ids -o scored-ids.tsv
  miner search work/de work/en --target-precision 0.9 --decoys other.en --bucc > mined.tsv
  miner search work/de work/en --checkpoint search.h5 -o pairs.tsv"""
)
@click.argument("source")
@click.argument("target")
@options.keeping
@options.estimating
@click.option(
    "--model",
    metavar="DIR",
    help="Where the model is now that built the indexes [where it was].",
)
@loading_options.loading
@options.languages
@options.mining
@options.machine
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Keep the neighbour lists in FILE: a stopped search continues from there, and after "
    "'miner index --add' only new sentences are searched [OUTPUT.checkpoint.h5, removed at the "
    "end].",
)
@options.threads
@options.output
def search(
    source: str,
    target: str,
    model: str | None,
    loading: Loading,
    checkpoint: str | None,
    **given: Any,
) -> None:
    """Mine translation pairs from the indexes SOURCE and TARGET.

    Pairs are written best first. Every candidate is verified, and its score is the calibrated
    probability of being a translation; for indexes of other vectors, and with --rank margin, it is
    the margin. All pairs are written unless an option says how many to keep. After the search the
    precision at every threshold is estimated with decoys, sentences that cannot be translations:
    --target-precision keeps the pairs that reach it, and a table shows other thresholds.
    """
    from miner.cli.progress_bars import Progress
    from miner.index.index import Index
    from miner.knn.search_checkpoint import Checkpoint
    from miner.mining.keep import KeepError
    from miner.mining.mine import load_encoder, mine

    try:
        decoys, embeddings = given["decoys"], given["decoy_embeddings"]
        settings, keep = take_settings(given), take_keep(given, default_precision=None)
        output = Output.take(given)
        places = {"-o": output.output, "--report": output.page, "--checkpoint": checkpoint}
        guard.check([source, target, model, decoys, embeddings], places)
        output.check()
        indexes = Index.open(source), Index.open(target)
        encoder = None
        if model is not None and settings.rank != "margin":
            encoder = load_encoder(model, settings, loading)
        state = None
        if checkpoint is not None:
            state = Checkpoint(checkpoint, keep=True, note=say)
        elif output.is_file:
            state = Checkpoint(f"{output.output}.checkpoint.h5", keep=False, note=say)
        operations = 2.0 * indexes[0].distinct * indexes[1].distinct * indexes[0].dimension
        with state or nullcontext():
            with Progress("sentences", loops="exact", operations=operations) as report:
                mined = mine(
                    *indexes,
                    keep=keep,
                    settings=settings,
                    encoder=encoder,
                    checkpoint=state,
                    report=report,
                    note=say,
                )
            output.write(mined, state)
    except KeepError as error:
        raise click.UsageError(str(error)) from None
