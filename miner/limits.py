"""CPU and memory limits of this process that the machine's totals do not show.

Containers and batch systems set them on control groups (cgroup v1 or v2), some batch systems by
resource limits. Groups are nested: the lowest limit applies.
"""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

ROOT = Path("/")
# Files of a limit and of the usage, in bytes, and the counts of memory.stat that the kernel
# reclaims when memory is short: of cgroup version 2, then of version 1.
_MEMORY = (
    (("memory.max", "memory.high"), "memory.current", "active_file inactive_file slab_reclaimable"),
    (("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_active_file total_inactive_file"),
)
# Bytes from which a limit counts as none: cgroup version 1 cannot express "unlimited".
_NO_LIMIT = 1 << 60
# Key of the parent groups' limit, because a container with version 1 may not see their files.
_ABOVE = "hierarchical_memory_limit"


def cpu_quota(root: Path = ROOT) -> float:
    """Return the CPU seconds a second that control groups allow; infinity without a limit.

    ``root`` is the directory that holds ``proc`` and the mounted groups.
    """
    quotas = [math.inf]
    for group in _groups("cpu", root):
        for first, second in (("cpu.max", ""), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            words = _words(group / first) + (_words(group / second) if second else [])
            with suppress(ValueError):
                quota, period = map(int, words)  # fails for "max"
                if quota > 0 and period > 0:  # -1 means no limit
                    quotas.append(quota / period)
    return min(quotas)


def memory_left(root: Path = ROOT) -> tuple[float, float]:
    """Return the bytes that control groups allow this process, and the lowest limit.

    Both are infinite without a limit. Cached files count as free, as for the whole machine.
    """
    left = limit = math.inf
    for group in _groups("memory", root):
        stat = dict(line.split() for line in _lines(group / "memory.stat") if line.count(" ") == 1)
        for limits, used, reclaimed in _MEMORY:
            words = [word for name in limits for word in _words(group / name)]
            words += [stat[_ABOVE]] if words and _ABOVE in stat else []
            allowed = min((float(word) for word in words if word.isdigit()), default=math.inf)
            allowed = allowed if allowed < _NO_LIMIT else math.inf
            usage = sum(float(word) for word in _words(group / used) if word.isdigit())
            usage -= sum(float(stat.get(name, 0)) for name in reclaimed.split())
            limit, left = min(limit, allowed), min(left, max(0.0, allowed - max(0.0, usage)))
    return left, limit


def address_space_left() -> float:
    """Return the bytes that ``ulimit -v`` and ``-d`` allow this process to map; infinity without
    a limit.
    """
    if sys.platform != "linux":  # other systems do not enforce them
        return math.inf
    import resource

    left = math.inf
    words = _words(ROOT / "proc/self/statm")
    for kind, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(words[column]) * os.sysconf("SC_PAGE_SIZE") if words else 0
            left = min(left, max(0, limit - used))
    return left


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the directories of this process's groups and their parents, as far as visible."""
    paths: dict[str, str] = {}
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)  # version 2 names no controller
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        mount, kind = before.split(), after.split()
        if kind[:1] == ["cgroup2"]:
            group_path = paths.get("")
        elif kind[:1] == ["cgroup"] and controller in kind[-1].split(","):
            group_path = paths.get(controller)
        else:
            continue
        if group_path is None:
            continue
        # A container may see its group as the top, through a mount or a namespace.
        top, names = (PurePosixPath(directory).parts[1:] for directory in (mount[3], group_path))
        group = root / mount[4].lstrip("/")
        yield group
        if names[: len(top)] == top and ".." not in names:
            for name in names[len(top) :]:
                group /= name
                yield group


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # no limit, or hidden
        return []


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]
