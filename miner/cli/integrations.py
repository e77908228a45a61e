"""``miner integrations``: filters for other pipelines, and conversion of their configurations."""

from pathlib import Path

import click

from miner.cli.options import say
from miner.cli.settings_options import Command, Group, arg, opt


@click.group(cls=Group)
def integrations() -> None:
    """Install our filters in other pipelines, and convert their configurations.

    OpusFilter, datatrove and mteb import our filters by name and need no installation.

    Examples:
      miner integrations opuscleaner filters
      miner integrations convert opusfilter.yaml > filters.toml
    """


@integrations.command(cls=Command)
def opuscleaner(
    directory: str = arg(metavar="DIR"),
    overwrite: bool = opt("Replace existing descriptions in DIR."),
) -> None:
    """Write descriptions of our filters for OpusCleaner to DIR.

    OpusCleaner reads the folder 'filters' where it is started, and shows the filters miner_quality
    and miner_rules. Both run 'miner', which must be on the path. The rules are listed in
    miner_rules.toml, for you to change.

    Examples:
      miner integrations opuscleaner filters
    """
    from miner.integrations.opuscleaner import install

    for path in install(Path(directory), overwrite):
        say(f"{path}: written")


@integrations.command(cls=Command)
def convert(configuration: str = arg(metavar="FILE")) -> None:
    """Print a configuration of OpusFilter (YAML) or OpusCleaner (JSON) as TOML for 'miner filter'.

    FILE may also be passed to 'miner filter' as --config. Standard error lists filters without a
    counterpart, and differences.

    Examples:
      miner integrations convert opusfilter.yaml > filters.toml
      miner integrations convert web.filters.json > filters.toml
    """
    from miner.cleaning.peer_configs import as_toml, peer_config

    click.echo(as_toml(peer_config(configuration, say)), nl=False)
