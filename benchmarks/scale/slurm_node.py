"""Start Slurm on this machine alone: one node, its daemons as child processes, no systemd.

    python -m benchmarks.scale.slurm_node COMMAND ...

runs a command in whose environment `sbatch` and `squeue` find the cluster, and stops the daemons.
Needs the packages `slurm-wlm` and `munge` of Debian, and the rights of root. There is no database
of jobs, so that `sacct` does not answer, and there are no cgroups: the node looks every two seconds
for jobs that exceed their memory.
"""

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

DAEMONS = "munged", "slurmctld", "slurmd"
# Time limit for the start of the node, in seconds.
PATIENCE = 60.0
CONFIGURATION = """\
ClusterName=miner
SlurmctldHost={host}({address})
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=2
JobAcctGatherParams=OverMemoryKill
JobRequeue=1
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=5,bf_interval=5
NodeName={host} NodeAddr={address} CPUs={cores} RealMemory={megabytes} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class SlurmError(Exception):
    """Slurm is not installed, or did not start."""


@contextmanager
def slurm_node() -> Iterator[dict[str, str]]:
    """Start the daemons; yield the environment of commands that use them, and stop them.

    Raises SlurmError.
    """
    missing = [name for name in DAEMONS if _path(name) is None]
    if missing:
        raise SlurmError(f"no {missing[0]} here; run: apt-get install slurm-wlm munge")
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        place = Path(name)
        configuration = _configure(place)
        environment = os.environ | {"SLURM_CONF": str(configuration)}
        daemons: list[subprocess.Popen[bytes]] = []
        before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        try:
            for command in _commands(place, configuration):
                with open(place / f"{command[0]}.out", "wb") as log:
                    daemons.append(
                        subprocess.Popen(
                            [str(_path(command[0])), *command[1:]],
                            stdout=log, stderr=log, env=environment, start_new_session=True,
                        )
                    )  # fmt: skip
                if command[0] == "munged":
                    _wait((place / "munge.socket").exists, place, daemons)
            _wait(lambda: _idle(environment), place, daemons)
            yield environment
            subprocess.run(["scancel", "--me"], env=environment, check=False)
            _wait(lambda: not _jobs(environment), place, daemons)
        finally:
            for daemon in reversed(daemons):
                daemon.send_signal(signal.SIGTERM)
            for daemon in reversed(daemons):
                try:
                    daemon.wait(15)
                except subprocess.TimeoutExpired:
                    daemon.kill()
            signal.signal(signal.SIGTERM, before)


def _path(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _configure(place: Path) -> Path:
    """Write the key of munge and the configuration of Slurm."""
    for folder in ("state", "spool"):
        (place / folder).mkdir()
    key = place / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        ports = first.getsockname()[1], second.getsockname()[1]
    path = place / "slurm.conf"
    path.write_text(
        CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            address="127.0.0.1",
            controller=ports[0],
            daemon=ports[1],
            user="root",
            place=place,
            cores=os.cpu_count(),
            megabytes=psutil.virtual_memory().total >> 20,
        )
    )
    return path


def _commands(place: Path, configuration: Path) -> list[list[str]]:
    """Return the commands of the daemons, in the order in which they start."""
    munged = ["munged", "--foreground", "--force", f"--key-file={place}/munge.key"]
    munged += [f"--{name}-file={place}/munge.{name}" for name in ("pid", "log", "seed")]
    munged.append(f"--socket={place}/munge.socket")
    options = ["-D", "-f", str(configuration)]
    return [munged, ["slurmctld", *options], ["slurmd", *options]]


def _idle(environment: dict[str, str]) -> bool:
    command = ["sinfo", "--noheader", "--format=%t"]
    found = subprocess.run(command, env=environment, capture_output=True, check=False)
    return found.stdout.strip() == b"idle"


def _jobs(environment: dict[str, str]) -> bytes:
    command = ["squeue", "--noheader"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).stdout


def _wait(
    ready: Callable[[], bool], place: Path, daemons: Sequence[subprocess.Popen[bytes]]
) -> None:
    """Wait until ``ready()`` is True. Raises SlurmError with the daemons' last lines."""
    end = time.monotonic() + PATIENCE
    while not ready():
        dead = any(daemon.poll() is not None for daemon in daemons)
        if dead or time.monotonic() > end:
            logs = [*sorted(place.glob("*.out")), *sorted(place.glob("*.log"))]
            last = (log.read_text(errors="replace").strip().splitlines()[-3:] for log in logs)
            raise SlurmError("Slurm did not start: " + " | ".join(" ".join(part) for part in last))
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("name a command")
    try:
        with slurm_node() as environment:
            code = subprocess.run(arguments.command, env=environment, check=False).returncode
    except SlurmError as error:
        sys.exit(f"error: {error}")
    sys.exit(code)


if __name__ == "__main__":
    main()
