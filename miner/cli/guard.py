"""Checks that no output of a command replaces an input, another output or an artifact."""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import click

from miner.json_files import read_json

# Marker file of each kind of directory, and its name in messages. The first existing file decides.
ARTIFACTS = {
    "classifier.npz": "a classifier",
    "generator.npz": "a generator",
    "config.json": "a model",
    "meta.json": "an index",
    "state.json": "a checkpoint",
}
FORMAT = "bitext-miner"


def artifact(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of artifact that a directory is (``an index``); None for anything else."""
    directory = Path(path)
    for name, words in ARTIFACTS.items():
        if (directory / name).is_file():
            description = directory / ("config.json" if name.endswith(".npz") else name)
            try:
                content = read_json(description)
            except (OSError, ValueError):
                return None
            known = isinstance(content, dict) and str(content.get("format", "")).startswith(FORMAT)
            return words if known else None
    return None


def beside(output: str) -> str | None:
    """Return the path next to which a stopped run keeps its results, or None.

    None stands for standard output, devices and pipes.
    """
    return output.rstrip("/") if _replaced(output) else None


def check(inputs: Iterable[str | None], outputs: Mapping[str, str | None]) -> None:
    """Refuse outputs that would destroy something, by a UsageError that names both places.

    inputs: files or directories that the command reads; ``-`` and None count for nothing.
    outputs: by the option that names each, files or directories that it writes; likewise. They may
        not be, contain or lie inside of each other or an input, nor lie inside of an artifact.
    """
    named = {option: path for option, path in outputs.items() if path and _replaced(path)}
    places = {option: Path(path).resolve() for option, path in named.items()}
    for other, option in permutations(places, 2):
        if places[option] == places[other]:
            raise click.UsageError(
                f"{other} and {option} are both {named[option]}; name two places"
            )
        if places[other] in places[option].parents:
            raise click.UsageError(
                f"{option} {named[option]} lies inside {other} {named[other]}; name another place"
            )
    read = [(path, Path(path).resolve()) for path in inputs if path and path != "-"]
    for option, resolved in places.items():
        for path, corpus in read:
            inside = corpus.is_dir() and resolved.is_relative_to(corpus)
            if (
                resolved == corpus
                or inside
                or (resolved.is_dir() and corpus.is_relative_to(resolved))
            ):
                raise click.UsageError(
                    f"{option} {named[option]} would replace the input {path}; name another place"
                )
        for parent in resolved.parents:
            if words := artifact(parent):
                raise click.UsageError(
                    f"{option} {named[option]} lies inside {words}, {parent}; name another place"
                )


def check_writable(outputs: Iterable[str | None]) -> None:
    """Refuse, before any work, text outputs that cannot be created; None is ignored.

    Raises UsageError if two are standard output, ResourceError for a directory and for a file in a
    missing directory, and DependencyError if the library that compresses it is missing.
    """
    from miner.errors import resource_error
    from miner.text.compression import codec

    paths = [path for path in outputs if path is not None]
    if paths.count("-") > 1:
        raise click.UsageError("- is given for two outputs; name a file for one of them")
    for path in paths:
        resolved = os.path.realpath(path)
        if path != "-" and not (os.path.exists(path) or os.path.isdir(os.path.dirname(resolved))):
            raise resource_error(FileNotFoundError(errno.ENOENT, ""), path)
        if path != "-" and os.path.isdir(resolved):
            raise resource_error(IsADirectoryError(errno.EISDIR, ""), path)
        codec(path)


def check_suffixes(
    outputs: Mapping[str, str | None], tables: Sequence[str] = (), written: str | None = None
) -> None:
    """Refuse text outputs, by option, whose suffix promises another format.

    Raises UsageError by the rules of :func:`miner.text.formats.check_suffix` and, if the format
    ``written`` is known, of :func:`miner.text.formats.check_written`.
    """
    from miner.text import formats

    for option, path in outputs.items():
        try:
            formats.check_suffix(path or "", tables)
            if written is not None:
                formats.check_written(path or "", written)
        except ValueError as error:
            raise click.UsageError(f"{option} {error}") from None


def check_directory(path: str, kind: str, overwrite: bool) -> None:
    """Refuse an output directory that the user has not allowed to replace.

    kind: the kind that the command writes, a value of :data:`ARTIFACTS`. Raises UsageError if
    ``path`` is an artifact of another kind, of the same kind without ``overwrite``, or anything
    else that is not an empty directory.
    """
    directory = Path(path)
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    existing = artifact(directory)
    if existing is None:
        raise click.UsageError(
            f"-o {path} exists and is not {kind}; name another place, or remove it"
        )
    if existing != kind:
        raise click.UsageError(f"-o {path} is {existing}, not {kind}; name another place")
    if not overwrite:
        raise click.UsageError(f"-o {path} is {kind} already; replace it with --overwrite")


def check_training(output: str, kind: str, overwrite: bool, restart: bool) -> None:
    """Refuse ``output`` like :func:`check_directory`, unless the training continues from a
    checkpoint.

    Removes a stale lock.
    """
    from miner.text.locks import remove_abandoned

    checkpoint = Path(output).with_name(f".{Path(output).name}.training")
    remove_abandoned(checkpoint)
    if restart or not checkpoint.is_dir():
        check_directory(output, kind, overwrite)


def _replaced(path: str) -> bool:
    """Return True if writing to ``path`` replaces anything: not for standard output, devices and
    pipes.
    """
    return path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path))
