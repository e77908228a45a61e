"""Tasks: calls of functions that write one result directory each, as a whole.

The result of task ``search/0003-0007`` is the directory of that name below the work directory. It
is written under a temporary name and renamed when it is complete. Its ``done.json`` holds the
task's fingerprint: a digest of the function's name, of its exact arguments, and of the fingerprints
of the results among them. A task whose result has the same fingerprint is not repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from miner.json_files import read_json
from miner.option_values import VERSION
from miner.progress import Reporter, silent
from miner.tasks.record import DONE, record

# File of the arrays of a result; the record has their types, shapes and positions.
ARRAYS = "arrays.bin"
# Alignment of each array in bytes.
ALIGNED = 64
# Bytes of memory of a process with the libraries and the shipped model.
BASE = 500 << 20

Function = Callable[..., dict[str, Any] | None]


class ObjectStore(Protocol):
    """Protocol of work directories in object stores: results are downloaded to this machine."""

    def fetch(self, name: str, fingerprint: str) -> Path:
        """Download a result unless it is cached; return its directory."""
        ...

    def fetch_record(self, name: str, fingerprint: str) -> dict[str, Any]:
        """Download the record of a result unless it is cached; return it."""
        ...


# Stores opened by this process, by address.
STORES: dict[str, ObjectStore] = {}


@dataclass(frozen=True)
class Result:
    """Result of the task ``name`` of the work directory ``work``, a path or an address.

    A task that has it as an argument waits for it, and includes its fingerprint. With an empty
    ``fingerprint`` it is only a reference to the files.
    """

    work: str
    name: str
    fingerprint: str

    @property
    def path(self) -> Path:
        """Directory of the result, downloaded if it is in an object store."""
        if self.work in STORES:
            return STORES[self.work].fetch(self.name, self.fingerprint)
        return Path(self.work) / self.name

    @property
    def value(self) -> dict[str, Any]:
        """Value returned by the task's function. Raises ArtifactError."""
        value: dict[str, Any] = self.record["result"]
        return value

    @property
    def record(self) -> dict[str, Any]:
        """Record of the task: its value, times, memory. Raises ArtifactError."""
        if self.work in STORES:
            return STORES[self.work].fetch_record(self.name, self.fingerprint)
        return record(Path(self.work), self.name)

    def array(self, name: str) -> np.ndarray:
        """Map an array of the result into memory; pages are copied on write."""
        path = self.path
        status = os.stat(path / DONE)
        if name not in (places := _places(path, status.st_ino, status.st_mtime_ns)):
            return load(path / f"{name}.npy")
        dtype, shape, start, end = places[name]
        buffer = _mapped(path / ARRAYS, status.st_ino, status.st_mtime_ns)
        return buffer[start:end].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Task:
    """Call of a top-level ``function`` with ``arguments`` that can be pickled.

    Arguments are results, JSON values, and dataclasses of these. A field with ``decides=False`` in
    its metadata does not enter the fingerprint.

    ``name``: kind of task, a slash and its number. ``units`` measures its duration, ``rows`` its
    memory; :func:`hints` has the cost per unit and per row.
    """

    name: str
    function: Function
    arguments: Mapping[str, Any]
    units: float = 1.0
    rows: float = 0.0
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingerprint", fingerprint(self.function, self.arguments))

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]

    @property
    def inputs(self) -> list[str]:
        """Names of the tasks whose results are among the arguments."""
        return list(dict.fromkeys(_results(dict(self.arguments))))


def fingerprint(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Return a digest of a call: of the function's name and the content of its arguments."""
    name = f"{function.__module__}.{function.__qualname__}"
    content = [VERSION, name, _canonical(dict(arguments))]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Hints:
    """Cost of a task beyond a process with the libraries and the shipped model.

    ``seconds`` of one core per unit of the task, rounded up; ``memory`` in bytes per row;
    ``searches``: it also uses the memory of a search. ``gpu``: it uses a GPU if requested.
    """

    seconds: float = 0.0
    memory: float = 0.0
    searches: bool = False
    gpu: bool = False


def hints(
    seconds: float = 0.0, memory: float = 0.0, *, searches: bool = False, gpu: bool = False
) -> Callable[[Function], Function]:
    """Decorate a task's function with its :class:`Hints` for schedulers."""

    def decorate(function: Function) -> Function:
        function.hints = Hints(seconds, memory, searches, gpu)  # type: ignore[attr-defined]
        return function

    return decorate


def hints_of(function: Function) -> Hints:
    """Return the hints of a task's function; none by default."""
    hints: Hints = getattr(function, "hints", Hints())
    return hints


def memory_of(function: Function, rows: float) -> float:
    """Return the memory in bytes of a task with ``rows``, without blocks of a search."""
    return BASE + hints_of(function).memory * rows


@dataclass(frozen=True)
class Job:
    """Running task: the directory ``out`` for its files, and its resources.

    ``memory``: bytes that it may allocate for blocks; ``threads``: threads to use. ``before``:
    directory of an earlier result of the task with other arguments, if any. ``report`` receives its
    progress.
    """

    out: Path
    memory: int
    threads: int
    before: Path | None = None
    report: Reporter = silent
    # Position of each array in the common file.
    places: dict[str, Any] = field(default_factory=dict)

    def save(self, **arrays: np.ndarray) -> None:
        """Append arrays to the common file, for :meth:`Result.array`; a task may have many."""
        for name, array in arrays.items():
            self.join(name.replace("_", "-"), [array])

    def join(self, name: str, parts: Iterable[np.ndarray]) -> None:
        """Write the rows of all ``parts``, at least one, as a single array of the common file."""
        with open(self.out / ARRAYS, "ab") as file:
            file.write(bytes(-file.tell() % ALIGNED))
            start, rows = file.tell(), 0
            for part in parts:
                file.write(np.require(part, requirements="C").data)
                rows += len(part)
            shape = rows, *part.shape[1:]
            kind = np.lib.format.dtype_to_descr(part.dtype)
            self.places[name] = kind, shape, start, file.tell()


def load(path: Path) -> np.ndarray:
    """Map an array into memory; pages are copied on write, and the file is not changed."""
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    assert isinstance(array, np.ndarray)
    return array


@lru_cache(maxsize=64)
def _places(path: Path, *made: int) -> dict[str, Any]:
    """Read the positions of the arrays of a result: type, shape, start and end of each.

    ``made`` distinguishes records that had the same path.
    """
    arrays = read_json(path / DONE)["arrays"]
    return {name: (_dtype(kind), *others) for name, (kind, *others) in arrays.items()}


def _dtype(kind: Any) -> np.dtype:
    """Return the dtype that JSON turned into lists."""
    if isinstance(kind, str):
        return np.dtype(kind)
    return np.dtype([(name, part, *map(tuple, shape)) for name, part, *shape in kind])


@lru_cache(maxsize=64)
def _mapped(path: Path, *made: int) -> np.ndarray:
    """Map the file of the arrays of a result."""
    return np.memmap(path, np.uint8, "c") if path.stat().st_size else np.empty(0, np.uint8)


def _canonical(value: Any) -> Any:
    """Convert an argument to JSON values. Raises TypeError."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Result):
        return {"result": value.fingerprint}
    if is_dataclass(value) and not isinstance(value, type):
        deciding = (field for field in fields(value) if field.metadata.get("decides", True))
        return {field.name: _canonical(getattr(value, field.name)) for field in deciding}
    if isinstance(value, Mapping):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be an argument of a task")


def _results(value: Any) -> Iterator[str]:
    if isinstance(value, Result):
        yield value.name
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _results(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _results(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _results(item)
