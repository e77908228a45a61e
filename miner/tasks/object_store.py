"""Work directories in object stores, such as `s3://bucket/work`, by fsspec.

Tasks read and write files of a local cache. New results are uploaded; results that a task reads are
downloaded. An object store cannot rename: the files of a result get a unique name, and the record
`done.json` with this name is written last. A result exists when its record does. Uploads of a
killed worker stay without a record.
"""

import hashlib
import json
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from miner.errors import (
    ArtifactError,
    MinerError,
    MismatchError,
    ResourceError,
    resource_error,
    writing,
)
from miner.json_files import parsed
from miner.progress import Reporter, silent
from miner.tasks.assignment import Assignment, perform
from miner.tasks.identity import PLAN
from miner.tasks.record import AT, DONE, FAILED, PARTIAL, RUNNING, digest, record
from miner.tasks.task import STORES, Task
from miner.text import durable
from miner.text.file_digests import file_sha256
from miner.text.output import write_whole
from miner.text.remote import asking, file_system, named

# Patterns of the names of tasks, of the files of their results, and of folders of files.
_TASK = re.compile(r"[a-z]+(-[a-z]+)*/[a-z0-9-]+")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]*")
_FOLDER = re.compile(r"[0-9a-f]{32}")


class ObjectStore:
    """Work directory ``url`` in an object store, with its copy ``cache`` on this machine.

    The cache is in the directory of temporary files. It grows with the results that tasks here
    write and read.
    """

    def __init__(self, url: str):
        self.url = url.rstrip("/")
        with self._asking():
            # Other stores have no folders, and s3fs would create a bucket with a misspelt name.
            options = {"auto_mkdir": True} if url.startswith("file:") else {}
            self._fs, self._root = file_system(self.url, f"--work {url}", **options)
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:16]
        self.cache = Path(tempfile.gettempdir()) / f"bitext-miner-work-{digest}"
        self._records: dict[str, dict[str, Any]] = {}
        with writing(self.cache):
            self.cache.mkdir(mode=0o700, exist_ok=True)
            private = durable.is_private(self.cache)
        if not private:
            raise ResourceError(
                f"{self.cache}: other users can write to this cache of {self.url}; remove it, or "
                "set TMPDIR to a directory of your own"
            )

    # --- the process that submits tasks
    # -------------------------------------------------------------

    def pull(self) -> None:
        """Download the plan and the records of all results.

        Without a plan there, the cache is emptied, because the work directory was deleted.
        """
        self._records.clear()
        with self._asking():
            self._fs.invalidate_cache()
            paths = self._fs.glob(f"{self._root}/*/*/{DONE}")
        if not self.pull_plan():
            for path in self.cache.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                (self.cache / PLAN).unlink()
        names = ("/".join(path.split("/")[-3:-1]) for path in paths)
        self.fetch_records(name for name in names if _TASK.fullmatch(name))

    def pull_plan(self) -> bool:
        """Download the plan; return False if there is none."""
        content = self._read(PLAN)
        if content is None:
            return False
        path = self.cache / PLAN
        if not path.exists() or path.read_bytes() != content:
            write_whole(path, content)
        return True

    def push(self, name: str) -> None:
        """Upload a file of the cache; with the plan, remove the notes of a killed run."""
        self._write(name, (self.cache / name).read_bytes())
        if name != PLAN:
            return
        with suppress(FileNotFoundError), self._asking(missing=True):
            self._fs.rm(f"{self._root}/{RUNNING}", recursive=True)

    def stands(self, task: Task) -> bool:
        """Return True if the store has the task's result, from the same call."""
        return self._records.get(task.name, {}).get("fingerprint") == task.fingerprint

    def keep(self, name: str, content: Any) -> None:
        """Add the record of a result that a worker has uploaded.

        Raises ArtifactError for a record that no worker has written: others may write there.
        """
        if not _is_plain(name, content):
            raise ArtifactError(
                f"{self.url}/{name}/{DONE}: not the record of a task; delete it, and repeat the "
                "command to make the result again"
            )
        self._records[name] = content
        directory = self.cache / name
        with suppress(ArtifactError):
            if record(self.cache, name)["fingerprint"] == content["fingerprint"]:
                return
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
        write_whole(directory / DONE, json.dumps(content).encode())

    def pull_notes(self) -> None:
        """Download the notes on running and failed tasks."""
        for folder in (RUNNING, FAILED):
            shutil.rmtree(self.cache / folder, ignore_errors=True)
            (self.cache / folder).mkdir()
            with suppress(FileNotFoundError), self._asking(missing=True):
                for path in self._fs.ls(f"{self._root}/{folder}", detail=False, refresh=True):
                    file = self.cache / folder / path.rpartition("/")[2]
                    file.write_bytes(self._fs.cat_file(path))

    # --- workers ---------------------------------------------------------------------------------

    def perform(self, assignment: Assignment, report: Reporter = silent) -> dict[str, Any]:
        """Do a task as :func:`miner.tasks.assignment.perform` and upload its result."""
        task = assignment.task
        self.fetch_records([*task.inputs, task.name])
        if self.stands(task):
            return self._records[task.name]
        note = task.name.replace("/", " ")
        self._write(f"{RUNNING}/{note}", b"{}")
        try:
            local = perform(replace(assignment, durably=True), self.cache, report)
            uploaded = self._upload(task.name, local)
        except MinerError:
            with suppress(OSError, MinerError):
                self._write(f"{FAILED}/{note}", (self.cache / FAILED / note).read_bytes())
            raise
        finally:
            with suppress(Exception):
                self._fs.rm_file(f"{self._root}/{RUNNING}/{note}")
        self._records[task.name] = uploaded
        return uploaded

    def fetch_records(self, names: Iterable[str]) -> None:
        """Download records of results, unless this process has them."""
        for name in names:
            if name not in self._records:
                content = self._read(f"{name}/{DONE}")
                if content is not None:
                    entry = None
                    with suppress(ValueError):
                        entry = parsed(content)
                    self.keep(name, entry)

    def fetch_record(self, name: str, fingerprint: str) -> dict[str, Any]:
        """Download the record of a result unless it is cached; return it.

        Raises MismatchError if the store has a result of another call, because no lock separates
        two machines.
        """
        if fingerprint and self._records.get(name, {}).get("fingerprint") != fingerprint:
            self._records.pop(name, None)  # perhaps of an earlier run
        self.fetch_records([name])
        entry = record(self.cache, name)
        if fingerprint and entry["fingerprint"] != fingerprint:
            raise MismatchError(
                f"{self.url}/{name}: made by another run with other options or input; give each "
                "run at a time a --work of its own, and repeat the command"
            )
        return entry

    def fetch(self, name: str, fingerprint: str) -> Path:
        """Download a result's record and files; return its directory."""
        self.fetch_record(name, fingerprint)
        final = self.cache / name
        if name not in self._records or self._whole(name):
            return final
        entry = self._records[name]
        temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}{PARTIAL}")
        try:
            temporary.mkdir(parents=True)
            with self._asking(missing=True):
                for file in entry["files"]:
                    source = f"{self._root}/{name}/{entry[AT]}/{file}"
                    self._fs.get_file(source, str(temporary / file))
                    if file_sha256(temporary / file) != entry["sha256"][file]:
                        raise ArtifactError(
                            f"{self.url}/{name}: {file} was altered; delete {DONE} there, and "
                            "repeat the command to make it again"
                        )
            (temporary / DONE).write_text(json.dumps(entry), encoding="utf-8")
            durable.replace_directory(temporary, final)
        except FileNotFoundError as error:
            raise ArtifactError(
                f"{self.url}/{name}: a file of this result is missing ({error}); delete its "
                f"{DONE}, and repeat the command to make it again"
            ) from None
        except OSError as error:
            if not self._whole(name):  # unless another process of this machine was faster
                raise resource_error(error, final) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return final

    def _whole(self, name: str) -> bool:
        """Return True if the cached result matches the record and has all files."""
        try:
            if record(self.cache, name)["fingerprint"] != self._records[name]["fingerprint"]:
                return False
            sizes = self._records[name]["files"]
            return all((self.cache / name / file).stat().st_size == sizes[file] for file in sizes)
        except (ArtifactError, OSError):
            return False

    def _upload(self, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Upload a cached result; return its record with the folder of its files."""
        entry = entry | {AT: uuid.uuid4().hex}
        with self._asking():
            for file in entry["files"]:
                target = f"{self._root}/{name}/{entry[AT]}/{file}"
                self._fs.put_file(str(self.cache / name / file), target)
        self._write(f"{name}/{DONE}", json.dumps(entry).encode())
        return entry

    # --- objects ---------------------------------------------------------------------------------

    def _read(self, name: str) -> bytes | None:
        with self._asking():
            try:
                content: bytes = self._fs.cat_file(f"{self._root}/{name}")
                return content
            except FileNotFoundError:
                return None

    def _write(self, name: str, content: bytes) -> None:
        with self._asking():
            self._fs.pipe_file(f"{self._root}/{name}", content)

    def named(self) -> AbstractContextManager[None]:
        """Name the store instead of its cache in errors."""
        return named(self.url, str(self.cache))

    def _asking(self, *, missing: bool = False) -> AbstractContextManager[None]:
        """Convert the errors of the store's library to one line; see :func:`asking`."""
        said = "check its name and your credentials, and repeat the command"
        return asking(
            lambda why: ResourceError(
                f"{self.url}: the object store cannot be used ({why}); {said}"
            ),
            missing=missing,
        )


def open_store(url: str) -> ObjectStore:
    """Return the store of an address, cached by address. Raises DependencyError."""
    url = url.rstrip("/")
    store = STORES.get(url) or STORES.setdefault(url, ObjectStore(url))
    assert isinstance(store, ObjectStore)
    return store


def _is_plain(name: str, content: Any) -> bool:
    """Return True for a complete record of a task whose names stay below the work directory."""
    try:
        return (
            _TASK.fullmatch(name) is not None
            and _FOLDER.fullmatch(content[AT]) is not None
            and all(_FILE.fullmatch(file) for file in content["files"])
            and content["files"].keys() == content["sha256"].keys()
            and isinstance(content["fingerprint"], str)
            and content["digest"] == digest(content)
        )
    except (KeyError, TypeError, AttributeError):
        return False
