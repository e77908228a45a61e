"""Examples of a page of documentation: its fenced blocks, run in order in one directory.

- ``sh``: commands, a line each; ``miner`` runs in this process, everything else in a shell.
- ``python``: a program, run in this process.
- ``toml``: the file ``filters.toml``.
- ``text`` right behind one of these: what it prints, standard output and error together.
- ``console``: a transcript of something that needs a network, other data or much time; not run.
"""

import contextlib
import difflib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from miner.cli import main
from support.commands import MINER as PROGRAM

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?")
MINER = shlex.join(PROGRAM)
# Maximum relative difference of equal numbers: processors round differently.
TOLERANCE = 2e-3


class Example(NamedTuple):
    """Fenced block of a page: language, content, and position of the content."""

    language: str
    content: str
    start: int


def blocks(text: str) -> list[Example]:
    """Return every fenced block of a page, in order."""
    return [Example(found[1], found[2], found.start(2)) for found in BLOCK.finditer(text)]


def commands(content: str) -> Iterator[str]:
    """Split a block into commands: without comments, continued lines joined."""
    for line in content.replace("\\\n", " ").splitlines():
        command = re.split(r"(?:^|\s)#", line)[0].strip()
        if command:
            yield command


def run(example: Example) -> str:
    """Run a block in the current directory and return what it prints.

    Raises AssertionError where a command fails.
    """
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        if example.language == "toml":
            Path("filters.toml").write_text(example.content, encoding="utf-8")
        elif example.language == "python":
            exec(compile(example.content, "example", "exec"), {"__name__": "__main__"})
        elif example.language == "sh":
            for line in commands(example.content):
                _command(line)
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def _command(line: str) -> None:
    if line.startswith("miner ") and not re.search(r"[|<>]", line):
        code = main(shlex.split(line)[1:])
    else:
        shell = f'miner() {{ {MINER} "$@"; }}\n{line}'
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        sys.stdout.write(done.stdout + done.stderr)
        code = done.returncode
    sys.stdout.flush()
    assert code == 0, (line, sys.stdout.buffer.getvalue().decode())  # type: ignore[attr-defined]


def difference(shown: str, printed: str) -> str:
    """Lines that differ between a page and what was printed, as a diff; empty for none.

    Numbers may differ in their last places; percentages, some of them of time, are not compared.
    """
    left, right = (text.rstrip().splitlines() for text in (shown, printed))
    same = len(left) == len(right) and all(map(_alike, left, right))
    return "" if same else "\n".join(difflib.unified_diff(left, right, "page", "printed", n=0))


def _alike(one: str, other: str) -> bool:
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
        return False
    for a, b in zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=True):
        if one[a.end() : a.end() + 1] == "%":
            continue
        x, y = (float(found[0].replace(",", "")) for found in (a, b))
        if abs(x - y) > TOLERANCE * max(abs(x), abs(y), 1e-3):
            return False
    return True


def run_page(text: str) -> tuple[str, list[str]]:
    """Run every example of a page in the current directory.

    Returns the page with the output that was printed, and the differences from the output that it
    shows.
    """
    found = blocks(text)
    differences, parts, end = [], [], 0
    for place, example in enumerate(found):
        if example.language not in ("sh", "python", "toml"):
            continue
        printed = run(example)
        behind = found[place + 1] if place + 1 < len(found) else None
        if behind is None or behind.language != "text":
            continue
        if text[example.start + len(example.content) : behind.start].strip("`\n") != "text":
            continue
        if change := difference(behind.content, printed):
            differences.append(f"{example.content}{change}")
            parts += [text[end : behind.start], printed.rstrip() + "\n"]
            end = behind.start + len(behind.content)
    return "".join([*parts, text[end:]]), differences
