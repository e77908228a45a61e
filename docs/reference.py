"""Write docs/cli.md, the help text of every command: part of `make docs`."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from miner.cli import cli

PAGE = Path(__file__).parent / "cli.md"
WIDTH = 96
HEAD = """\
# Command line

```console
miner COMMAND --help
```

The help text of every command, but for the options that all have.

Exit codes: 0 done, 1 the input is at fault, 2 the command line is at fault, 130 interrupted.
Results go to files or standard output; notes, tables and progress go to standard error.

```text
{usual}
```
"""


def commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Context]]:
    """Yield the full name of a command and its context, then those of its subcommands."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
        show_default=True,
    )
    yield context.command_path, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from commands(found, child, context)


def page() -> str:
    """Return docs/cli.md: one section and one block of text for each command."""
    helps = {path: context.get_help().rstrip() for path, context in commands(cli, "miner")}
    usual = re.findall(r"\n\n(Any command:\n.*?)(?=\n\n|\Z)", helps["miner mine"], re.S)[0]
    parts = [HEAD.format(usual=usual)]
    for path, text in helps.items():
        own = text.replace(f"\n\n{usual}", "")
        parts.append(f"## {path}\n\n```text\n{own}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
