"""``miner doctor``: versions, threads, memory and devices, and a pair scored as a test."""

import re

import click

import miner
from miner.cli.settings_options import Command
from miner.errors import DependencyError

LIBRARIES = ("numpy", "h5py", "sentencepiece", "torch", "pyarrow", "backports.zstd")
# Extras that only development of this program needs.
INTERNAL = ("bench", "dev")
# Test of the model that ships. It fills the cache of tables that every first run would compute.
PAIR = "Der Hund schläft.", "The dog is sleeping."
_REQUIRED = re.compile(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]")
_TESTED = re.compile(r"Programming Language :: Python :: (3\.\d+)")


@click.command(cls=Command)
@click.option("--gpu", is_flag=True, help="Search on the GPUs for a few seconds with each engine.")
def doctor(gpu: bool) -> None:
    """Print versions, devices and threads, which of them a search uses, and score a pair.

    The exit code is 1 if mining cannot work. Run it after an installation: the next command need
    not compute the tables of the model, which takes some seconds once.

    Examples:
      miner doctor
      miner doctor --gpu
      miner doctor | tee report.txt     (paste it into a bug report)
    """
    import math
    import os
    import platform

    from miner.encoder.encoder import Encoder
    from miner.index import faiss
    from miner.kernels.library import level, levels
    from miner.knn import engines
    from miner.libraries import install_line
    from miner.limits import cpu_quota, memory_left
    from miner.machine import free_memory, machine_memory, memory_budget, thread_count

    click.echo(f"bitext-miner   {miner.__version__}")
    click.echo(f"python         {platform.python_version()} on {platform.platform()}")
    tested = _tested_pythons()
    if tested and ".".join(platform.python_version_tuple()[:2]) not in tested:
        click.echo(f"warning: tested with Python {', '.join(tested)}; report what goes wrong here")
    for name in LIBRARIES:
        click.echo(f"{name:14} {_version(name)}")
    click.echo(f"{'instructions':14} {level()} of {', '.join(levels())}; MINER_CPU chooses another")
    distributions = faiss.faiss_distributions()
    click.echo(
        f"{'faiss':14} {', '.join(f'{name} {_version(name)}' for name in distributions) or 'none'}"
    )
    present, missing = _extras()
    click.echo(f"{'extras':14} {' '.join(present) or 'none'}")
    if missing:
        click.echo(f"{'not installed':14} {' '.join(missing)}: {install_line(extra='NAME')}")
    quota, limit = cpu_quota(), memory_left()[1]
    threads = f"{thread_count()} will be used of {os.cpu_count()}"
    click.echo(f"{'threads':14} {threads}" + (f"; CPU quota {quota:g}" * (quota < math.inf)))
    memory = min(machine_memory()[1], limit)
    click.echo(
        f"{'memory':14} {free_memory() / 2**30:.1f} of {memory / 2**30:.1f} GiB free; "
        f"a search takes at most {memory_budget() / 2**30:.1f}"
    )
    click.echo(f"{'GPUs':14} {_gpus(distributions)}")
    device = engines.search_device("auto", "fused")
    engine = (
        engines.choose_engine("fused", False, thread_count()).name
        if device == "cpu"
        else "torch or FAISS, the faster there"
    )
    if gpu:
        for line in _checked(thread_count()):
            click.echo(f"{'GPU check':14} {line}")
    click.echo(f"{'device':14} --device auto is {device}; the search works on {engine}")
    model = Encoder.load("default").model
    click.echo(f"{'default model':14} {model.fingerprint}: {model.describe()}")
    (row,) = miner.score([PAIR])
    click.echo(f"{'quality':14} {row['quality']:.3f} for {PAIR[0]!r}, {PAIR[1]!r}")
    click.echo("all is well: 'miner mine' will work")


def _gpus(distributions: list[str]) -> str:
    """Return how many GPUs a search may use. Raises DependencyError for a broken FAISS, not for
    a missing one.
    """
    from miner.index import faiss

    try:
        return f"{faiss.gpu_count()} usable by FAISS"
    except DependencyError:
        if distributions:
            raise
        return "none usable without FAISS, an extra that mining does not need"


def _tested_pythons() -> list[str]:
    """Return the versions that the package's classifiers name; none in a clone not installed."""
    from importlib import metadata

    try:
        named = metadata.metadata("bitext-miner").get_all("Classifier") or []
    except metadata.PackageNotFoundError:
        return []
    return [match[1] for match in map(_TESTED.fullmatch, named) if match]


def _checked(threads: int) -> list[str]:
    """Return a line for each engine that can use the GPUs: its speed, or its fault."""
    from miner.knn.gpu_check import try_engine, usable_engines
    from miner.knn.vector_set import random_sides

    lines = []
    for name in usable_engines("cuda"):
        trial = try_engine(name, "cuda", threads, random_sides())
        lines.append(f"{name}: {trial.fault or f'right, {trial.pairs:.2g} pairs a second'}")
    return lines or ["neither torch nor FAISS sees a GPU here"]


def _extras() -> tuple[list[str], list[str]]:
    """Return the extras of this package with all libraries installed, and the others."""
    from importlib import metadata

    try:
        required = metadata.requires("bitext-miner") or []
    except metadata.PackageNotFoundError:  # a clone that is not installed
        required = []
    present: dict[str, bool] = {}
    for match in filter(None, map(_REQUIRED.match, required)):
        installed = _version(match[1]) != "not installed"
        present[match[2]] = installed and present.get(match[2], True)
    names = [name for name in present if name not in INTERNAL]
    missing = [name for name in names if not present[name]]
    return [name for name in names if present[name]], missing


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
