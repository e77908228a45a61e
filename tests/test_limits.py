"""miner.limits and miner.machine: threads and memory within cgroups and resource limits."""

import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from miner import machine
from miner.errors import ResourceError
from miner.limits import address_space_left, cpu_quota, memory_left

MIB = 1 << 20
V2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
# cgroup v1 mounts of a container, whose own groups are the roots.
V1 = (
    "33 31 0:29 /docker/7f /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 /docker/7f /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def groups(root: Path, mounts: str, own: str, files: dict[str, str | int]) -> Path:
    """Write the files of a machine below ``root``, those of cgroups below sys/fs/cgroup."""
    for name, text in {"mountinfo": mounts, "cgroup": own}.items():
        path = root / "proc/self" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return root


@pytest.mark.parametrize(
    ("mounts", "own", "files", "quota"),
    [
        (V2, "0::/", {"cpu.max": "200000 100000"}, 2),
        (V2, "0::/", {"cpu.max": "max 100000"}, math.inf),
        (V2, "0::/", {}, math.inf),
        # The minimum over all ancestors.
        (
            V2,
            "0::/user/job/step",
            {
                "user/cpu.max": "150000 100000",
                "user/job/cpu.max": "max 100000",
                "user/job/step/cpu.max": "400000 100000",
                "user/other/cpu.max": "10000 100000",
            },
            1.5,
        ),
        # The process's group is above the root of its namespace.
        (V2, "0::/../../job", {"cpu.max": "300000 100000"}, 3),
        (
            V1,
            "4:memory:/docker/7f\n3:cpu,cpuacct:/docker/7f/inner\n0::/",
            {
                "cpu,cpuacct/cpu.cfs_quota_us": -1,
                "cpu,cpuacct/cpu.cfs_period_us": 100000,
                "cpu,cpuacct/inner/cpu.cfs_quota_us": 25000,
                "cpu,cpuacct/inner/cpu.cfs_period_us": 50000,
            },
            0.5,
        ),
    ],
)
def test_cpu_quota(
    tmp_path: Path, mounts: str, own: str, files: dict[str, str | int], quota: float
) -> None:
    assert cpu_quota(groups(tmp_path, mounts, own, files)) == quota


@pytest.mark.parametrize(
    ("mounts", "own", "files", "left", "limit"),
    [
        (V2, "0::/", {"memory.max": "max", "memory.current": 5 * MIB}, math.inf, math.inf),
        (V2, "0::/", {"memory.max": 9 * MIB, "memory.current": 5 * MIB}, 4 * MIB, 9 * MIB),
        (
            V2,
            "0::/job/step",
            {
                "job/memory.max": 90 * MIB,
                "job/memory.current": 80 * MIB,
                # Page cache counts as free.
                "job/memory.stat": f"anon {9 * MIB}\nactive_file {20 * MIB}\n"
                f"inactive_file {10 * MIB}\nslab_reclaimable {2 * MIB}",
                "job/step/memory.max": "max",
                "job/step/memory.high": 60 * MIB,
                "job/step/memory.current": 1 * MIB,
            },
            42 * MIB,
            60 * MIB,
        ),
        (V2, "0::/", {"memory.max": 9 * MIB, "memory.current": 10 * MIB}, 0, 9 * MIB),
        (
            V1,
            "4:memory:/docker/7f\n0::/",
            {
                "memory/memory.limit_in_bytes": 9223372036854771712,
                "memory/memory.usage_in_bytes": 30 * MIB,
                "memory/memory.stat": f"total_inactive_file {10 * MIB}\n"
                f"total_active_file {5 * MIB}\nhierarchical_memory_limit {200 * MIB}",
            },
            185 * MIB,
            200 * MIB,
        ),
        (
            V1,
            "4:memory:/docker/7f\n",
            {"memory/memory.limit_in_bytes": 9223372036854771712},
            math.inf,
            math.inf,
        ),
    ],
)
def test_memory_of_groups(
    tmp_path: Path,
    mounts: str,
    own: str,
    files: dict[str, str | int],
    left: float,
    limit: float,
) -> None:
    assert memory_left(groups(tmp_path, mounts, own, files)) == (left, limit)


def test_a_machine_without_proc_has_no_limits(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == math.inf and memory_left(tmp_path) == (math.inf, math.inf)


def test_threads_and_memory_are_the_least_of_all_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups(
        tmp_path,
        V2,
        "0::/",
        {"cpu.max": "250000 100000", "memory.max": 900 * MIB, "memory.current": 100 * MIB},
    )
    monkeypatch.setattr(machine, "cpu_quota", lambda: cpu_quota(tmp_path))
    monkeypatch.setattr(machine, "memory_left", lambda: memory_left(tmp_path))
    monkeypatch.setattr(machine, "machine_memory", lambda: (64 << 30, 64 << 30))
    monkeypatch.setattr(machine, "_cores", lambda: 64)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    machine._usable_cores.cache_clear()
    try:
        assert machine.thread_count() == 3 and machine.thread_count(9) == 9
        assert machine.thread_count(999) == 12
        assert machine.memory_budget() == 400 * MIB and machine.memory_budget("2G") == 2 << 30
        machine.keep_libraries_to_quota()
        assert os.environ["OPENBLAS_NUM_THREADS"] == "3" and os.environ["MKL_NUM_THREADS"] == "5"
        monkeypatch.setattr(machine, "_cores", lambda: 2)
        machine._usable_cores.cache_clear()
        assert machine.thread_count() == 2
    finally:
        machine._usable_cores.cache_clear()


def test_the_address_space_may_be_limited() -> None:
    script = (
        "import resource; from miner.limits import address_space_left; print(address_space_left());"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, -1)); print(address_space_left())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    before, after = map(float, run.stdout.split())
    assert before == address_space_left() and (1 << 30) < after < (2 << 30)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc/meminfo")
def test_the_memory_is_that_of_psutil() -> None:
    free, total = machine.machine_memory()
    expected = psutil.virtual_memory()
    assert total == expected.total
    assert free == pytest.approx(expected.available, abs=total / 4)


def test_without_proc_the_system_tells_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """psutil raises an error about /proc/meminfo, a file that no user named."""

    def hidden() -> SimpleNamespace:
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    total = machine.machine_memory()[1]
    monkeypatch.setattr(machine, "_MEMINFO", Path("/proc/hidden"))
    monkeypatch.setattr("psutil.virtual_memory", hidden)
    free, found = machine.machine_memory()
    assert 0 < free < found and found == pytest.approx(total, rel=0.05)
    monkeypatch.setattr(machine.os, "sysconf", lambda name: [].index(name))
    with pytest.raises(ResourceError, match="free memory .* is not known .*--memory"):
        machine.memory_budget()
