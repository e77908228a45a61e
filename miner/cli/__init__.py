"""The command line. Each file of this package holds one command: parse, call, print."""

import gc
import importlib
import io
import os
import select
import shlex
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import click

import miner
from miner.cli import interrupts
from miner.cli.settings_options import Group
from miner.errors import MinerError
from miner.machine import keep_libraries_to_quota

# Commands by heading, in the order of ``miner --help``. Each is the command of its name in the
# module of its name.
HEADINGS = {
    "Mine and clean": ("mine", "score", "filter", "split", "review", "explain"),
    "Align": ("align", "align-documents"),
    "Train": ("train", "fit", "distill", "train-verifier"),
    "Vectors": ("index", "encode", "search", "neighbors", "export"),
    "Evaluate": ("evaluate",),
    "Scale": ("plan", "status", "doctor"),
    "Data and models": ("data", "model", "integrations"),
}
COMMANDS = tuple(name for names in HEADINGS.values() for name in names)


class Lazy(Group):
    """Group whose commands are imported on first use."""

    def headings(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        return HEADINGS | {"Papers": self.further()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *self.further()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        name = cmd_name.replace("-", "_")
        return getattr(importlib.import_module(f"miner.cli.{name}"), name)


@click.group(
    cls=Lazy,
    prefix="",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(miner.__version__, prog_name="miner")
def cli() -> None:
    """Find and score translation pairs in text of two languages.

    Examples:
      miner mine news.de.zst news.en.gz -o pairs.tsv.gz
      miner train --source train.de --target train.en -o models/de-en
      miner doctor

    Every command has worked examples at the end of its own --help.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (0 done, 1 input at fault, 2 usage, 130 interrupted)."""
    interrupts.catch()
    gc.set_threshold(50_000)  # imports make many objects, all of which stay
    keep_libraries_to_quota()
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    _tolerate_no_reader_of_messages()
    if sys.stdin is None or sys.stdout is None:
        return _fail("standard input or output is closed; open it, or send it to /dev/null")
    try:
        cli.main(args=arguments, prog_name="miner", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return 2
    except click.exceptions.Exit as error:
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        words = sys.argv[1:] if arguments is None else arguments
        # Repeating the command with --restart would discard the checkpoint to continue from.
        command = shlex.join(word for word in words if word != "--restart")
        click.echo(f"\nminer: interrupted; to go on, repeat: miner {command}", err=True)
        return 130
    except (BrokenPipeError, SystemExit):  # click exits only for a broken pipe
        # Standard error never raises, so this is data that could not be written.
        if not _is_left(sys.stdout):
            return _fail("a pipe broke before all was written: its reader has ended")
        # The reader of our output has closed it. Buffered text must not raise at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _fail("out of memory; search with a smaller --memory, or split the corpus")
    except OSError as error:
        from miner.errors import resource_error

        if error.filename is not None or _is_of_standard_output(error):
            return _fail(str(resource_error(error, error.filename or "standard output")))
        return _fail(
            f"reading or writing failed: {error.strerror or error}; check the space and the "
            "permissions of the outputs and of the temporary directory, TMPDIR"
        )
    except MinerError as error:
        return _fail(str(error))
    return 0


class _Messages(io.FileIO):
    """Standard error that drops text once its reader has closed it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _tolerate_no_reader_of_messages() -> None:
    """Let a command continue if the reader of standard error ends, because its outputs may be
    files.
    """
    stream = sys.__stderr__
    if stream is None or sys.stderr is not stream or stream.isatty():
        return
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Messages(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )


def _is_left(stream: TextIO) -> bool:
    """Return whether a stream is a pipe without a reader; True if the system cannot tell."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors are always reported, even if no event is requested
    return bool(poll.poll(0))


def _is_of_standard_output(error: OSError) -> bool:
    """Return whether an error without a file name came from printing, or from the last flush.

    Other writers to standard output (:mod:`miner.text.output`) add the name.
    """
    frame = list(traceback.walk_tb(error.__traceback__))[-1][0]
    if frame.f_code is click.echo.__code__:
        return not frame.f_locals.get("err")
    return frame.f_code is main.__code__


def _fail(message: str) -> int:
    click.echo(f"miner: error: {message}", err=True)
    return 1
