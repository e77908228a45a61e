"""Write what the documentation takes from the code: docs/cli.md, and the tree of files.

    python docs/reference.py [--check]

The command line's reference is the help text of every command. The tree in docs/architecture.md is
the first line of every module's docstring. ``--check`` only compares, and exits with 1 where a page
is out of date.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from miner.cli import cli

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGE, ARCHITECTURE = DOCS / "cli.md", DOCS / "architecture.md"
WIDTH = 96
HEAD = """\
# Command line

```console
miner COMMAND --help
```

The help text of every command, in full. `make docs` writes this page.

Exit codes: 0 done, 1 the input is at fault, 2 the command line is at fault, 130 interrupted.
Results go to files or standard output; notes, tables and progress go to standard error.
"""
# Folders in the order in which data passes them.
FOLDERS = {
    "miner": "used everywhere: errors, threads, memory, device, progress",
    "miner/text": "files of text, in and out",
    "miner/encoder": "text to unit vectors",
    "miner/kernels": "hot loops",
    "miner/index": "a corpus and its vectors on disk",
    "miner/knn": "nearest neighbours, both directions",
    "miner/scoring": "is this pair a translation",
    "miner/mining": "two indexes to pairs",
    "miner/shards": "mining as tasks that many machines share",
    "miner/filters": "one family of filters a file",
    "miner/cleaning": "a run of filters over a bitext",
    "miner/datasets": "public data sets",
    "miner/evaluation": "metrics and test sets of the field",
    "miner/analysis": "statistics, nearest sentences",
    "miner/reports": "HTML pages",
    "miner/papers": "paraphrases, SentEval, overlap of languages: only for the papers' experiments",
    "miner/cli": "one command a file: parse, call, print",
    "train": "training: text to a model directory",
    "train/encoders": "encoders under training",
    "train/papers": "classifier, paraphrase generator, bounds of filters",
    "benchmarks": "the runner, tables and plots",
    "benchmarks/mining": "quality of mining",
    "benchmarks/models": "encoders, evaluations, training text",
    "benchmarks/filtering": "quality and throughput of filters",
    "benchmarks/reliability": "kills, power cuts, faulty inputs, full disks",
    "benchmarks/scale": "shards: overhead, memory, many workers",
    "benchmarks/speed": "throughput beside other systems",
}


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
    )
    yield context.command_path, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from commands(found, child, context)


def page() -> str:
    """Return docs/cli.md: one section and one block of text for each command."""
    parts = [HEAD]
    for path, context in commands(cli, "miner"):
        parts.append(f"## {path}\n\n```text\n{context.get_help().rstrip()}\n```\n")
    return "\n".join(parts)


def tree() -> str:
    """Return the tree of Python files as Markdown: a table for each folder."""
    parts = []
    tops = [path for top in ("miner", "train", "benchmarks") for path in (ROOT / top).rglob("*.py")]
    others = {str(path.parent.relative_to(ROOT)) for path in tops} - set(FOLDERS)
    for folder, content in (FOLDERS | dict.fromkeys(sorted(others), "other")).items():
        rows = [f"### {folder}: {content}\n", "| file | content |", "|---|---|"]
        for path in sorted((ROOT / folder).glob("*.py")):
            if path.name not in ("__init__.py", "__main__.py"):
                rows.append(f"| `{path.relative_to(ROOT)}` | {_summary(path)} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _summary(path: Path) -> str:
    """Return the first line of a module's docstring, as Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    line = text.partition("\n")[0].rstrip(".").replace("``", "`").replace("|", "\\|")
    return re.sub(r":\w+:`([^`]*)`", r"`\1`", line)


def architecture() -> str:
    """Return docs/architecture.md with the tree of today."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    marked = f"<!-- tree -->\n\n{tree()}\n<!-- /tree -->"
    return re.sub(r"<!-- tree -->.*<!-- /tree -->", lambda _: marked, text, flags=re.DOTALL)


def main() -> None:
    """Write the pages, or check them."""
    for path, content in ((PAGE, page()), (ARCHITECTURE, architecture())):
        if "--check" not in sys.argv[1:]:
            path.write_text(content, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != content:
            sys.exit(f"{path} is out of date: run 'make docs'")


if __name__ == "__main__":
    main()
