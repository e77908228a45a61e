"""Options that benchmarks share, and the record of command, versions and machine of a result."""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from miner import MinerError

RESULTS = Path(__file__).parent / "results"
# Program of this environment.
PROGRAM = (sys.executable, "-c", "import sys; from miner.cli import main; sys.exit(main())")
LIBRARIES = ("bitext-miner", "numpy", "sentencepiece", "torch", "faiss-cpu", "faiss-gpu")


def parser(
    doc: str | None,
    result: str,
    models: str | None = None,
    sections: Iterable[str] = (),
    quick: bool = False,
    model: bool = False,
) -> argparse.ArgumentParser:
    """Return a parser with the options that benchmarks have in common.

    result: file name in ``results``. models: default directory of trained models. sections: names
    that ``--only`` takes. quick, model: add ``--quick``, and ``--model`` of one model.
    """
    options = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    options.add_argument("--data", type=Path, required=True, help="directory of the data sets")
    if models is not None:
        options.add_argument("--models", type=Path, default=Path(models), help="trained models")
    if model:
        options.add_argument("--model", default="default", help="model directory [default]")
    names = list(sections)
    if names:
        options.add_argument("--only", nargs="+", choices=names, default=names, help="[all]")
    if quick:
        options.add_argument(
            "--quick", action="store_true", help="small, to test the code; writes with --json only"
        )
    options.add_argument("--json", type=Path, default=RESULTS / result, help="file of the results")
    return options


def destination(arguments: argparse.Namespace) -> Path | None:
    """Return the file to write to. None: a quick run does not replace committed results."""
    return None if arguments.quick and arguments.json.parent == RESULTS else arguments.json


def model_name(fingerprint: str) -> str:
    """Name a default model of the results: the model that ships, or an earlier one."""
    place = RESULTS.parent.parent / "miner" / "models" / "default" / "config.json"
    config = json.loads(place.read_text(encoding="utf-8"))
    if fingerprint != config["fingerprint"]:
        return f"an earlier model that shipped ({fingerprint})"
    return f"the model that ships ({len(config['languages']) - 1} languages with English)"


def write(path: Path, name: str, results: Any) -> None:
    """Write ``results`` with the command, versions and hardware that they come from."""
    _write(path, {"benchmark": name, **record(results)})


def finish(arguments: argparse.Namespace, name: str, results: dict[str, Any]) -> None:
    """Print ``results`` and write them, unless the run is a quick one."""
    for key, value in results.items():
        print(f"{key}: {value}")
    path = destination(arguments)
    if path is not None:
        write(path, name, results)


def read(name: str) -> dict[str, Any]:
    """Return a file of ``results``."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def merge(
    path: Path | None, name: str, section: str, results: Any, libraries: Sequence[str] = ()
) -> None:
    """Write one of several sections like :func:`write`, and keep the others of the file.

    ``libraries`` are named with their versions, in addition to those of every benchmark. Does
    nothing if ``path`` is None.
    """
    if path is not None:
        old = json.loads(path.read_text(encoding="utf-8"))["sections"] if path.exists() else {}
        new = {**old, section: record(results, libraries)}
        _write(path, {"benchmark": name, "sections": new})


def replace(
    path: Path,
    name: str,
    rows: Sequence[dict[str, Any]],
    key: Callable[[dict[str, Any]], Any],
) -> None:
    """Write ``rows`` like :func:`write`, and keep the rows of the file with another ``key``.

    Every row has the command, versions and hardware that it comes from, under ``measured``.
    """
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"results": []}
    present = record([])
    del present["results"]
    new = [{**row, "measured": present} for row in rows]
    keys = [key(row) for row in new]
    kept = [row for row in old["results"] if key(row) not in keys]
    _write(path, {"benchmark": name, **record([*new, *kept])})


def record(results: Any, libraries: Sequence[str] = ()) -> dict[str, Any]:
    """Return ``results`` with the command, versions and hardware that they come from."""
    return {
        "command": " ".join(sys.argv),
        "versions": versions(libraries),
        "hardware": hardware(),
        "results": results,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}", file=sys.stderr)


def versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python and of the installed libraries that affect results."""
    found = {"python": platform.python_version()}
    for name in (*LIBRARIES, *more):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Return processor, cores in use and memory."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory GiB": round(pages / 2**30, 1),
    }


def run(main: Callable[[], None]) -> None:
    """Run a benchmark; an error of the engine is one line and exit code 1."""
    try:
        main()
    except MinerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
