"""Tasks: calls of functions that write one directory each, whole or not at all.

The result of task ``search/0003-0007`` is the directory of that name below the work directory. It
is written under a temporary name and renamed when it is complete. Its ``done.json`` holds the
task's fingerprint: a digest of the function's name, of exactly the arguments that it is called
with, and of the fingerprints of the results among them. A task whose result stands under the same
fingerprint is not done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from miner.errors import ArtifactError, resource_error
from miner.names import VERSION
from miner.progress import Reporter, silent
from miner.text import durable
from miner.text.output import atomic_file

DONE = "done.json"
# File of the arrays of a result; its record has their types, shapes and places there.
ARRAYS = "arrays.bin"
# Field of a record in an object store that names the folder of the result's files.
AT = "at"
# Each begins at a multiple of so many bytes.
ALIGNED = 64
# Directories of the work directory for files about tasks: one for each that runs, or has failed.
RUNNING, FAILED = "running", "failed"
# Mark of a temporary directory.
PARTIAL = ".partial"
# Memory of a process with the libraries and the model that ships, in bytes.
BASE = 500 << 20
# Where Linux tells one start of the machine from another.
_BOOT = Path("/proc/sys/kernel/random/boot_id")

Function = Callable[..., dict[str, Any] | None]


class Store(Protocol):
    """Protocol of work directories in object stores: results are brought to this machine."""

    def fetch(self, name: str, fingerprint: str) -> Path:
        """Bring a result here unless it is; return its directory."""
        ...

    def fetch_record(self, name: str, fingerprint: str) -> dict[str, Any]:
        """Bring the record of a result here unless it is; return it."""
        ...


# Stores that this process has opened, by their addresses.
STORES: dict[str, Store] = {}


@dataclass(frozen=True)
class Result:
    """Result of the task ``name`` of the work directory ``work``, a path or an address.

    Among the arguments of another task it makes that one wait, and its fingerprint is part of the
    other's. With an empty ``fingerprint`` it only says where the files are.
    """

    work: str
    name: str
    fingerprint: str

    @property
    def path(self) -> Path:
        """The directory of the result; fetched where it is in an object store."""
        if self.work in STORES:
            return STORES[self.work].fetch(self.name, self.fingerprint)
        return Path(self.work) / self.name

    @property
    def value(self) -> dict[str, Any]:
        """The value that the task's function returned. Raises ArtifactError."""
        found: dict[str, Any] = self.record["result"]
        return found

    @property
    def record(self) -> dict[str, Any]:
        """The record of the task: its value, times, memory. Raises ArtifactError."""
        if self.work in STORES:
            return STORES[self.work].fetch_record(self.name, self.fingerprint)
        return record(Path(self.work), self.name)

    def array(self, name: str) -> np.ndarray:
        """Map an array of the result into memory; its pages are copied if they are written to."""
        path = self.path
        made = os.stat(path / DONE)
        if name not in (places := _places(path, made.st_ino, made.st_mtime_ns)):
            return load(path / f"{name}.npy")
        dtype, shape, start, end = places[name]
        found = _mapped(path / ARRAYS, made.st_ino, made.st_mtime_ns)
        return found[start:end].view(dtype).reshape(shape)

    def place(self) -> Result:
        """Return the same result as a place only, so that its content decides nothing.

        What is read there must be named by other arguments, such as a digest.
        """
        return replace(self, fingerprint="")


@dataclass(frozen=True)
class Task:
    """Call of a top-level ``function`` with ``arguments`` that can be pickled.

    Arguments are results, JSON values, and dataclasses of those. A field with ``decides=False`` in
    its metadata is no part of the fingerprint.

    ``name`` is the kind of task, a slash and its number. ``units`` measures its duration, ``rows``
    its memory: :func:`hints` says in what.
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
    content = [VERSION, _name(function), _canonical(dict(arguments))]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Hints:
    """Cost of a task beyond a process with the libraries and the model that ships.

    ``seconds`` of one core for each unit of the task, rounded up; ``memory`` in bytes for each of
    its rows; ``searches``: it also takes the memory that a search may.
    """

    seconds: float = 0.0
    memory: float = 0.0
    searches: bool = False


def hints(
    seconds: float = 0.0, memory: float = 0.0, *, searches: bool = False
) -> Callable[[Function], Function]:
    """Decorate a task's function with its :class:`Hints`, which a scheduler is told."""

    def decorate(function: Function) -> Function:
        function.hints = Hints(seconds, memory, searches)  # type: ignore[attr-defined]
        return function

    return decorate


def hints_of(function: Function) -> Hints:
    """Return the hints of a task's function; none by default."""
    found: Hints = getattr(function, "hints", Hints())
    return found


def memory_of(function: Function, rows: float) -> float:
    """Return the memory of a task of so many rows in bytes, without blocks of a search."""
    return BASE + hints_of(function).memory * rows


@dataclass(frozen=True)
class Job:
    """One task at work: the directory ``out`` for its files, and its means.

    ``memory`` are the bytes that it may allocate for blocks, ``threads`` the threads to use.
    ``before`` is the directory of an earlier result of the task, by other arguments, if any.
    ``report`` counts what is done of it, where anybody listens.
    """

    out: Path
    memory: int
    threads: int
    before: Path | None = None
    report: Reporter = silent
    # Place of each array in the file of all.
    places: dict[str, Any] = field(default_factory=dict)

    def save(self, **arrays: np.ndarray) -> None:
        """Write arrays to the one file of all, for :meth:`Result.array`: a task may have many."""
        for name, array in arrays.items():
            self.join(name.replace("_", "-"), [array])

    def join(self, name: str, parts: Iterable[np.ndarray]) -> None:
        """Write the rows of all ``parts``, at least one, as one array of the file of all."""
        with open(self.out / ARRAYS, "ab") as file:
            file.write(bytes(-file.tell() % ALIGNED))
            start, rows = file.tell(), 0
            for part in parts:
                file.write(np.require(part, requirements="C").data)
                rows += len(part)
            shape = rows, *part.shape[1:]
            kind = np.lib.format.dtype_to_descr(part.dtype)
            self.places[name] = kind, shape, start, file.tell()


def perform(
    work: Path,
    task: Task,
    *,
    memory: int,
    threads: int,
    durably: bool,
    report: Reporter = silent,
) -> dict[str, Any]:
    """Do a task unless its result stands; return its record, with the value as its ``result``.

    ``durably``: the result survives a power cut. An exception is noted in the work directory and
    raised. Raises ResourceError where nothing can be written.
    """
    if stands(work, task):
        return record(work, task.name)
    final = work / task.name
    temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}{PARTIAL}")
    running = work / RUNNING / task.name.replace("/", " ")
    failed = work / FAILED / task.name.replace("/", " ")
    begun, busy = time.time(), time.process_time()
    reset_peak()
    try:
        temporary.mkdir(parents=True)
        if durably:
            _note(running, {"host": socket.gethostname(), "pid": os.getpid(), "since": begun})
        before = final if _is_whole(work, task.name) else None
        job = Job(temporary, memory, threads, before, report)
        value = task.function(job, **task.arguments) or {}
        files = sorted(temporary.iterdir())
        found = {
            "fingerprint": task.fingerprint,
            "files": {path.name: path.stat().st_size for path in files},
            "changed": {path.name: path.stat().st_mtime_ns for path in files},
            "sha256": {path.name: sha256(path) for path in files if durably},
            "seconds": time.time() - begun,
            "core seconds": time.process_time() - busy,
            "ended": time.time(),
            "peak": peak_memory(),
            "host": socket.gethostname(),
            "boot": None if durably else boot(),
            "units": task.units,
            "result": value,
            "arrays": job.places,
        }
        found["digest"] = digest(found)
        (temporary / DONE).write_text(json.dumps(found), encoding="utf-8")
        if durably:
            durable.replace_directory(temporary, final)
        else:
            shutil.rmtree(final, ignore_errors=True)
            temporary.rename(final)
        with suppress(OSError):
            failed.unlink()
        return found
    except OSError as error:
        problem = resource_error(error, error.filename or final)
        _note(failed, {"error": str(problem), "host": socket.gethostname(), "at": time.time()})
        raise problem from error
    except Exception as error:
        words = f"{error}" or type(error).__name__
        _note(failed, {"error": words, "host": socket.gethostname(), "at": time.time()})
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            running.unlink()


def record(work: Path, name: str) -> dict[str, Any]:
    """Read the record of a finished task. Raises ArtifactError if it is not there, or altered."""
    try:
        found: dict[str, Any] = json.loads((work / name / DONE).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("digest") != digest(found):
            raise ValueError("its digest differs")
        return found
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{work / name}: the result of a task is missing or damaged ({error}); repeat the "
            "command to make it again"
        ) from None


def digest(found: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record, but for its digest and its place in an object store."""
    content = {key: value for key, value in found.items() if key not in ("digest", AT)}
    as_read = json.loads(json.dumps(content))
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stands(work: Path, task: Task) -> bool:
    """Return True if the task's result is there, whole, and of the same call.

    A result that was not made durably does not outlive a restart of the machine.
    """
    with suppress(ArtifactError, KeyError):
        return record(work, task.name)["fingerprint"] == task.fingerprint and _is_whole(
            work, task.name
        )
    return False


def _is_whole(work: Path, name: str) -> bool:
    """Return True if a result has all its files, and is not from before a restart unsynced.

    Files of a durable result that were written to since are compared with their SHA-256.
    """
    try:
        found = record(work, name)
        return found["boot"] in (None, boot()) and all(
            _is_same(work / name / file, found) for file in found["files"]
        )
    except (ArtifactError, OSError, KeyError, TypeError):
        return False


def _is_same(path: Path, found: Mapping[str, Any]) -> bool:
    stat, name = path.stat(), path.name
    return stat.st_size == found["files"][name] and (
        stat.st_mtime_ns == found["changed"][name]
        or found["sha256"].get(name) in (None, sha256(path))
    )


def load(path: Path) -> np.ndarray:
    """Map an array into memory. Its pages are copied if they are written to, the file is not.

    A read-only array would be another type to numba, which compiles loops for each.
    """
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    assert isinstance(array, np.ndarray)
    return array


@lru_cache(maxsize=64)
def _places(path: Path, *made: int) -> dict[str, Any]:
    """Read the places of the arrays of a result: type, shape, start and end of each.

    ``made`` tells one record from another that had its place.
    """
    found = json.loads((path / DONE).read_text(encoding="utf-8"))["arrays"]
    return {name: (_dtype(kind), *others) for name, (kind, *others) in found.items()}


def _dtype(kind: Any) -> np.dtype:
    """Return the type that JSON has made lists of."""
    if isinstance(kind, str):
        return np.dtype(kind)
    return np.dtype([(name, part, *map(tuple, shape)) for name, part, *shape in kind])


@lru_cache(maxsize=64)
def _mapped(path: Path, *made: int) -> np.ndarray:
    """Map the file of the arrays of a result."""
    return np.memmap(path, np.uint8, "c") if path.stat().st_size else np.empty(0, np.uint8)


@lru_cache
def boot() -> str:
    """Return the id of this start of the machine; empty where the system does not tell."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def notes(work: Path, folder: str) -> dict[str, dict[str, Any]]:
    """Read the files about running or failed tasks: what they say, by the name of the task."""
    found = {}
    with suppress(OSError):
        for path in sorted((work / folder).iterdir()):
            with suppress(OSError, ValueError):
                if not path.name.startswith("."):
                    content = json.loads(path.read_text(encoding="utf-8"))
                    found[path.name.replace(" ", "/")] = content
    return found


def remove_leftovers(work: Path) -> None:
    """Remove leftovers of killed tasks; only while nobody works in the directory."""
    shutil.rmtree(work / RUNNING, ignore_errors=True)
    for path in work.glob(f"*/.*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)


def reset_peak() -> None:
    """Let :func:`peak_memory` count from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(process: int | str = "self") -> int:
    """Return the largest resident memory of a process so far, in bytes; 0 if unknown."""
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def _note(path: Path, content: dict[str, Any]) -> None:
    """Write a file about a task, as far as that is possible."""
    with suppress(Exception):
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _canonical(value: Any) -> Any:
    """Return an argument as JSON can write it, or raise TypeError."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Result):
        return {"result": value.fingerprint}
    if is_dataclass(value) and not isinstance(value, type):
        own = (field for field in fields(value) if field.metadata.get("decides", True))
        return {field.name: _canonical(getattr(value, field.name)) for field in own}
    if isinstance(value, Mapping):
        return {str(key): _canonical(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be an argument of a task")


def _results(value: Any) -> Iterator[str]:
    """Yield the names of the results in an argument."""
    if isinstance(value, Result):
        yield value.name
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _results(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _results(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _results(one)
