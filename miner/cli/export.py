"""``miner export``: an encoder for sentence-transformers and model2vec."""

from pathlib import Path

import click

from miner.cli import guard, options
from miner.cli.options import say
from miner.cli.settings_options import Command, arg, opt


@click.command(cls=Command)
def export(
    model: str = arg(),
    output: str = opt("Output directory.", "-o --output", required=True, metavar="DIR"),
    dtype: str = opt(
        "Type of the table.", type=click.Choice(["float32", "float16"]), default="float32"
    ),
    licence: str | None = opt(
        "Licence of the training text for the model card, such as cc-by-4.0.", metavar="NAME"
    ),
    hub: bool = opt(
        "Add the whole model as DIR/bitext-miner, for a repository of Hugging Face that 'miner "
        "model get hf:USER/NAME' can read."
    ),
    overwrite: bool = options.overwrite("an export"),
) -> None:
    """Write the encoder of MODEL for sentence-transformers and model2vec; DIR serves both.

    MODEL is a model directory, or 'default', whose encoder is a mean of pieces. DIR gets the table
    of embeddings as safetensors, a tokenizer with the same ids, and a model card; the libraries
    need not be installed. The card has languages, licences and limits, and the metadata that model
    hubs read. Verification is not exported, because it is no part of an encoder; --hub adds the
    whole model.

    Examples:
      miner export default -o exported
      miner export models/de-en --licence cc-by-4.0 -o exported
      miner export models/de-en --hub -o repository
    """
    from miner.encoder import export as exporting
    from miner.encoder.model import load
    from miner.errors import ArtifactError

    guard.check([model], {"-o": output})
    directory = Path(output)
    if directory.exists() and not (overwrite and (directory / exporting.MARKER).is_file()):
        raise ArtifactError(f"-o {output}: exists; name another directory, or give --overwrite")
    loaded = load(model)
    exporting.export(loaded, directory, dtype, licence, hub)
    say(f"{output}: {loaded.describe()}, for sentence-transformers and model2vec")
