"""Write docs/cli.md, the help text of every command.

    python docs/reference.py [--check]

``--check`` only compares, and exits with 1 where the page is out of date.
"""

import re
import sys
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

The help text of every command, but for the options that all have. `make docs` writes this page.

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


def main() -> None:
    """Write the page, or check it."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE} is out of date: run 'make docs'")


if __name__ == "__main__":
    main()
