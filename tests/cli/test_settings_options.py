"""miner.cli.settings_options: options generated from the fields of settings."""

from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from miner.cleaning.settings import Selection
from miner.cli import cli
from miner.cli.settings_options import Command, SettingOption, Settings
from miner.config_fields import SettingsError, check, no_option, option, settings
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.tasks.workers import Workers
from miner.text.formats import BitextFormat
from miner_train.config import TrainConfig
from miner_train.papers.classifier_config import ClassifierConfig
from miner_train.papers.generator_config import GeneratorConfig

# Settings of each kind, and a command with an option per field.
COMMANDS = {
    SearchSettings: ["search"],
    Keep: ["mine"],
    Loading: ["encode"],
    Workers: ["mine"],
    BitextFormat: ["score"],
    Selection: ["filter"],
    TrainConfig: ["train"],
    ClassifierConfig: ["train-classifier"],
    GeneratorConfig: ["paraphrase", "train"],
}


def generated(path: list[str]) -> list[SettingOption]:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return [one for one in command.params if isinstance(one, SettingOption)]


@pytest.mark.parametrize("kind", COMMANDS)
def test_every_field_has_an_option_or_a_reason(kind: type) -> None:
    options = {one.field: one for one in generated(COMMANDS[kind])}
    for name, own in settings(kind).items():
        assert bool(own.help) != bool(own.reason), name
        if own.help:
            assert name in options and options[name].help, name
            assert len(own.help) > 10 and own.help[0] == own.help[0].strip(), name


@dataclass(frozen=True)
class Example:
    size: int = option(3, "Size of the example.", option="-s --size", within="[1, 9]")
    share: float | None = option(None, "Share of the example.", kind="share")
    kind: str = option("first", "Kind of the example.", choices=("first", "second"))
    quick: bool = option(True, "Do it quickly.", off="--no-quick")
    exact: bool = option(False, "Do it exactly.")
    hidden: tuple[int, ...] = no_option((), "it is for Python")

    def __post_init__(self) -> None:
        check(self)
        if self.exact and self.quick:
            raise SettingsError("exact and quick contradict each other")


@click.command(cls=Command)
@Settings(Example, "example")()
@Settings(Example, "given", dict)("kind", kind={"option": "--other-kind"})
@Settings(Example, "")("size", size={"option": "--other-size", "help": "Another size."})
def command(example: Example, given: dict[str, str], size: int) -> None:
    click.echo(f"{example} {given} {size}")


def test_values() -> None:
    run = CliRunner().invoke
    assert run(command, []).stdout == f"{Example()} {{}} 3\n"
    made = Example(2, 0.5, "first", quick=False, exact=True)
    given = ["-s", "2", "--share", "0.5", "--no-quick", "--exact", "--other-size", "4"]
    assert run(command, given).stdout == f"{made} {{}} 4\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--size", "0"], "not in the range"),
        (["--share", "2"], "not between 0 and 1"),
        (["--kind", "third"], "'third' is not one of 'first', 'second'"),
        (["--exact"], "contradict each other"),
    ],
)
def test_wrong_values_are_errors_of_usage(given: list[str], said: str) -> None:
    found = CliRunner().invoke(command, given)
    assert found.exit_code == 2 and said in found.stderr and "Usage:" in found.stderr


def test_help() -> None:
    text = " ".join(CliRunner().invoke(cli, ["mine", "--help"]).stdout.split())
    order = ["Options:", "Output: -o,", "How much to keep:", "--backend", "Foreign encoders:"]
    assert sorted(order, key=text.index) == order
    text = " ".join(CliRunner().invoke(command, ["--help"]).stdout.split())
    assert "-s, --size INTEGER RANGE Size of the example. [default: 3; 1<=x<=9]" in text
    assert "--quick / --no-quick Do it quickly. [default: quick]" in text
    assert "--kind [first|second] Kind of the example. [default: first]" in text
    assert "--share SHARE Share of the example. --" in text and "hidden" not in text


def commands(group: click.Command) -> Iterator[click.Command]:
    yield group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for found in (group.get_command(context, name) for name in group.list_commands(context)):
            assert found is not None
            yield from commands(found)


def test_an_option_without_its_value_is_an_error() -> None:
    """An option at the end of the line without its value is not ignored."""
    tried = []
    for command in commands(cli):
        for one in command.params:
            if isinstance(one, click.Option) and not one.is_flag:
                parser = command.make_parser(click.Context(command))
                with pytest.raises(click.BadOptionUsage, match=r"requires \S+ argument"):
                    parser.parse_args([one.opts[-1]])
                tried.append((command.name, one.opts[-1]))
    assert ("filter", "--dry-run") in tried and ("mine", "--top-n") in tried
