"""Crash consistency: what a power cut at any moment leaves must be resumed or refused.

strace records the writes, syncs and renames of a command. A model of a file system then makes the
directory as it may be found after a cut behind a sample of them, in three ways:

- ``lost``: names are as they were made, unsynced bytes are gone
- ``zeroed``: names are as they were made, unsynced bytes are zeros
- ``unnamed``: as ``lost``, and names made since the last sync of their directory are undone

The command is run again on each. It must end as an undisturbed run or be refused by name.
"""

import copy
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.reliability import commands
from benchmarks.reliability.commands import Command
from miner.tasks.record import boot

TRACED = (
    "open,openat,creat,write,pwrite64,writev,lseek,ftruncate,fsync,fdatasync,rename,renameat,"
    "renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,mmap"
)
WAYS = ("lost", "zeroed", "unnamed")
# Maximum bytes of a write that strace prints.
LONGEST = 1 << 26
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
DESCRIPTOR = re.compile(r"^(\d+)<([^>]*)>")


@dataclass
class Inode:
    """File: current bytes, and bytes at the last sync."""

    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


@dataclass
class Disk:
    """Files by path; ``named`` holds the paths as of the last sync of their directories."""

    files: dict[str, Inode] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    named: dict[str, Inode] = field(default_factory=dict)
    # Directories renamed since the last sync of their parent: parent, old, new, files by new path.
    renamed: list[tuple[str, str, str, dict[str, Inode]]] = field(default_factory=list)

    def sync(self, path: str) -> None:
        """Sync a file's bytes, or the names in a directory."""
        if path in self.files:
            inode = self.files[path]
            inode.synced = bytes(inode.now)
            return
        for renaming in [one for one in self.renamed if one[0] == path]:
            _, old, new, inner = renaming
            self.named = {
                name: inode
                for name, inode in self.named.items()
                if not name.startswith((old + "/", new + "/"))
            } | inner
            self.renamed.remove(renaming)
        inside = {name for name in {*self.files, *self.named} if os.path.dirname(name) == path}
        for name in inside:
            if name in self.files:
                self.named[name] = self.files[name]
            else:
                self.named.pop(name, None)

    def rename(self, old: str, new: str, exchange: bool = False) -> None:
        """Rename a file or a directory with all in it."""

        def moved(path: str) -> str:
            for one, other in ((old, new), (new, old)) if exchange else ((old, new),):
                if path == one or path.startswith(one + "/"):
                    return other + path[len(one) :]
            return path

        if not exchange:  # a file at the new path is replaced
            self.files = {
                path: inode
                for path, inode in self.files.items()
                if path != new and not path.startswith(new + "/")
            }
        self.files = {moved(path): inode for path, inode in self.files.items()}
        self.folders = {moved(path) for path in self.folders}
        # The name of a renamed directory is found once its parent is synced, with the names in it
        # that were synced before.
        inner = {
            moved(path): inode
            for path, inode in self.named.items()
            if path.startswith((old + "/", new + "/") if exchange else old + "/")
        }
        if inner:
            self.renamed.append((os.path.dirname(new), old, new, inner))

    def found(self, way: str) -> dict[str, bytes]:
        """Return the files as found after a cut."""
        files = self.named if way == "unnamed" else self.files
        made = {}
        for path, inode in files.items():
            if way != "zeroed":
                made[path] = inode.synced
                continue
            known = inode.synced[: len(inode.now)].ljust(len(inode.now), b"\0")
            made[path] = bytes(a if a == b else 0 for a, b in zip(known, inode.now, strict=True))
        return made


def record(command: Command, place: Path, log: Path) -> list[str]:
    """Run a command under strace; returns the lines of its log."""
    traced = [
        "strace", "-f", "-y", "-xx", "-s", str(LONGEST), "-e", f"trace={TRACED}", "-o", str(log),
        *commands.PROGRAM, *command.arguments,
    ]  # fmt: skip
    done = subprocess.run(
        traced, cwd=place, env=commands.environment(), capture_output=True, text=True,
        errors="replace",
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{command.name} failed under strace: {done.stderr[-300:]}")
    return joined(log.read_text(encoding="ascii", errors="replace").splitlines())


def joined(lines: list[str]) -> list[str]:
    """Join calls that strace prints in two lines because another thread came between."""
    waiting: dict[str, str] = {}
    whole = []
    for line in lines:
        pid = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            waiting[pid] = line.removesuffix("<unfinished ...>").rstrip()
        elif "resumed>" in line and pid in waiting:
            whole.append(waiting.pop(pid) + line.split("resumed>", 1)[1])
        else:
            whole.append(line)
    return whole


def replay(lines: list[str], place: Path, before: Disk) -> Iterator[tuple[str, Disk]]:
    """Apply the calls of a log one by one; yield each call's name and the resulting disk."""
    disk = before
    offsets: dict[tuple[str, str], int] = {}  # by descriptor and path
    root = str(place)
    for line in lines:
        match = CALL.match(line)
        if not match or match[3].startswith("-"):
            continue
        name, text, result = match[1], match[2], match[3]
        strings = [unescaped(found) for found in STRING.findall(text)]
        if name in ("open", "openat", "creat"):
            path = absolute(strings[0], root)
            if inside(path, root) and ("O_CREAT" in text or "O_TRUNC" in text):
                inode = disk.files.setdefault(path, Inode())
                if "O_TRUNC" in text:
                    inode.now = bytearray()
            start = len(disk.files[path].now) if path in disk.files and "O_APPEND" in text else 0
            offsets[result, path] = start
            if not (inside(path, root) and "O_CREAT" in text):
                continue
        elif name in ("rename", "renameat", "renameat2"):
            old, new = (absolute(found, root) for found in strings[:2])
            if not inside(new, root):
                continue
            disk.rename(old, new, "RENAME_EXCHANGE" in text)
        elif name in ("unlink", "unlinkat", "rmdir"):
            path = absolute(strings[0], root) if strings else ""
            at = DESCRIPTOR.match(text)
            if strings and not strings[0].startswith("/") and at:
                path = os.path.join(unescaped(at[2]), strings[0])
            if not inside(path, root):
                continue
            disk.files.pop(path, None)
            disk.folders.discard(path)
        elif name in ("mkdir", "mkdirat"):
            path = absolute(strings[0], root)
            if not inside(path, root):
                continue
            disk.folders.add(path)
        else:
            at = DESCRIPTOR.match(text)
            if not at:
                continue
            number, path = at[1], unescaped(at[2])
            if not inside(path, root):
                continue
            if name in ("fsync", "fdatasync"):
                disk.sync(path)
            elif path not in disk.files:
                continue
            elif name == "mmap":
                if "MAP_SHARED" in text and "PROT_WRITE" in text:
                    raise RuntimeError(f"{path} is written through a memory map, which hides it")
                continue
            elif name == "lseek":
                offsets[number, path] = int(result)
                continue
            elif name == "ftruncate":
                size = int(text.rsplit(",", 1)[1])
                inode = disk.files[path]
                inode.now = inode.now[:size].ljust(size, b"\0")
            else:
                data = b"".join(raw(found) for found in STRING.findall(text))[: int(result)]
                where = offsets.get((number, path), 0)
                if name == "pwrite64":
                    where = int(text.rsplit(",", 1)[1])
                else:
                    offsets[number, path] = where + len(data)
                now = disk.files[path].now
                if len(now) < where:
                    now.extend(bytes(where - len(now)))
                now[where : where + len(data)] = data
        yield name, disk


def check(command: Command, root: Path, most: int) -> dict[str, Any]:
    """Cut a command's run after at most ``most`` of its calls, and repeat it on each result."""
    place = root / f"{command.name}-crash"
    commands.prepare(command, place)
    before = loaded(place)
    lines = record(command, place, root / f"{command.name}.strace")
    wanted = commands.digest(place, command.outputs)
    calls = [name for name, _ in replay(lines, place, copy.deepcopy(before))]
    # Every sync, rename and removal, and as many of the writes as the limit allows.
    telling = [i for i, name in enumerate(calls) if name not in ("write", "pwrite64", "writev")]
    chosen = set(telling[:: -(-len(telling) // most)] if len(telling) > most else telling)
    spare = most - len(chosen)
    if spare > 0:
        chosen.update(range(0, len(calls), max(1, len(calls) // spare)))
    counts: Counter[str] = Counter(calls=len(calls), cuts=0, equal=0, refused=0)
    failures: list[str] = []
    seen: set[int] = set()
    for number, (name, disk) in enumerate(replay(lines, place, before)):
        if number not in chosen:
            continue
        for way in WAYS:
            found = disk.found(way)
            key = hash(tuple(sorted(found.items())))
            if key in seen:
                continue
            seen.add(key)
            laid(place, disk, found)
            done = commands.run(command, place)
            counts["cuts"] += 1
            if done.code == 0 and commands.digest(place, command.outputs) == wanted:
                counts["equal"] += 1
            elif done.refused or done.code == 2:
                counts["refused"] += 1
            else:
                counts["wrong"] += 1
                failures.append(
                    f"behind call {number} ({name}), {way}: exit code {done.code} {done.err[-300:]}"
                )
    return {**counts, "failures": failures[:5]}


def loaded(place: Path) -> Disk:
    """The files below ``place``, all synced."""
    disk = Disk()
    for path in place.rglob("*"):
        if path.is_dir():
            disk.folders.add(str(path))
        else:
            data = path.read_bytes()
            disk.files[str(path)] = disk.named[str(path)] = Inode(bytearray(data), data)
    return disk


def laid(place: Path, disk: Disk, files: dict[str, bytes]) -> None:
    """Make ``place`` hold these files, and nothing else, as after a restart of the machine."""
    start = boot().encode()
    shutil.rmtree(place)
    place.mkdir()
    for folder in disk.folders:
        os.makedirs(folder, exist_ok=True)
    for path, data in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Unsynced results name the machine start in which they were written.
        Path(path).write_bytes(data.replace(start, b"0" * len(start)) if start else data)


def raw(escaped: str) -> bytes:
    """Decode a string as ``strace -xx`` prints it."""
    return bytes.fromhex(escaped.replace("\\x", ""))


def unescaped(text: str) -> str:
    return raw(text).decode("utf-8", "replace") if text.startswith("\\x") else text


def absolute(path: str, root: str) -> str:
    return os.path.normpath(os.path.join(root, path))


def inside(path: str, root: str) -> bool:
    return path.startswith(root + "/") or path == root
