"""``miner model``: list, describe, download and convert models."""

import click

from miner.cli import guard, options
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Group, arg, opt
from miner.encoder.architecture import DTYPES


@click.group(cls=Group)
def model() -> None:
    """List and describe models, download the model of a release, and convert models.

    Examples:
      miner model list
      miner model info
      miner model get https://example.org/releases/large.tar.gz -o models/large
    """


@model.command("list")
def list_(
    places: tuple[str, ...] = arg(metavar="[DIR]...", nargs=-1),
) -> None:
    """Print a table of the model that ships and of the models in each DIR.

    DIR is a model directory, or a directory of model directories.

    Examples:
      miner model list
      miner model list models
    """
    from miner.encoder.model_info import models_in, table

    click.echo("\n".join(table(models_in(places))))


@model.command()
def info(
    name: str = arg(metavar="[MODEL]", default="default"),
) -> None:
    """Print encoder, size, fingerprint, training text and metrics of MODEL, and its card.

    MODEL is a model directory [default: the model that ships]. The card is its README.md, with
    languages, licences and limits.

    Examples:
      miner model info
      miner model info models/de-en
    """
    from miner.encoder.model_info import facts

    click.echo("\n".join(facts(name)))


@model.command()
def get(
    address: str = arg(),
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    sha256: str | None = opt(
        "SHA-256 of the archive from its release; any other archive is refused.", metavar="HEX"
    ),
    overwrite: bool = options.overwrite(),
) -> None:
    """Download the model archive at ADDRESS and unpack it as DIR.

    ADDRESS ends in .tar.gz, .tgz, .tar.bz2, .tar.xz or .zip. Or it is a repository of Hugging Face
    that 'miner export --hub' made: hf:USER/NAME, or hf:USER/NAME@REVISION (extra: datasets). Repeat
    the command to resume an interrupted download. DIR appears only when every file has the checksum
    in the model's configuration. Without --sha256 the SHA-256 of the archive is printed for you to
    compare.

    Examples:
      miner model get https://example.org/releases/large.tar.gz -o models/large
      miner model get hf:user/large -o models/large
      miner mine news.de news.en --model models/large -o pairs.tsv
    """
    from miner.datasets.model_archive import HUB, get_model

    hub = address.startswith(HUB)
    if hub and sha256:
        raise click.UsageError("--sha256 is of an archive; name a commit: hf:USER/NAME@COMMIT")
    guard.check_directory(output, "a model", overwrite)
    with Progress("bytes") as report:
        downloaded, digest = get_model(
            address, output, sha256=sha256 and sha256.lower(), report=report
        )
    checked = "checksum verified" if sha256 else f"no checksum given; SHA-256 {digest}"
    click.echo(f"{output}: {downloaded.describe()}; {f'commit {digest}' if hub else checked}")


@model.command()
def convert(
    name: str = arg(metavar="MODEL"),
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    dtype: str = opt(
        "Type of the stored embeddings: " + "; ".join(map(": ".join, DTYPES.items())) + ".",
        type=click.Choice(list(DTYPES)),
        required=True,
    ),
    overwrite: bool = options.overwrite(),
) -> None:
    """Write MODEL with its embeddings stored in another type.

    Nothing is trained. The verifier stays fitted to the vectors of MODEL; 'miner train-verifier'
    fits it to those of DIR. An index of MODEL cannot be searched with DIR.

    Examples:
      miner model convert models/de-en --dtype int4 -o models/small
    """
    from miner.encoder.model import converted, load

    guard.check_directory(output, "a model", overwrite)
    saved = converted(load(name), dtype).save(output)
    click.echo(f"{output}: {saved.describe()}; fingerprint {saved.fingerprint}")
