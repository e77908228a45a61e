"""Options that benchmarks share, and the record of command, versions and machine of a result."""

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from miner import MinerError

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("bitext-miner", "numpy", "numba", "sentencepiece", "torch", "faiss-cpu", "faiss-gpu")


def parser(doc: str | None, result: str, models: bool = False) -> argparse.ArgumentParser:
    """The options that benchmarks have in common; ``result`` names the file in ``results``."""
    options = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    options.add_argument("--data", type=Path, required=True)
    if models:
        options.add_argument("--models", type=Path, default=Path("models/bench"))
    options.add_argument("--json", type=Path, default=RESULTS / result)
    return options


def write(path: Path, name: str, results: Any) -> None:
    """Write ``results`` with what is needed to judge and repeat them."""
    _write(path, {"benchmark": name, **record(results)})


def read(name: str) -> dict[str, Any]:
    """A result in ``results``, as it was written."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def merge(path: Path, name: str, section: str, results: Any, libraries: Sequence[str]) -> None:
    """As :func:`write`, for one of several sections; the others stay as the file has them.

    ``libraries`` are named with their versions, beside those that all benchmarks name.
    """
    old = json.loads(path.read_text(encoding="utf-8"))["sections"] if path.exists() else {}
    new = {**old, section: record(results, libraries)}
    _write(path, {"benchmark": name, "sections": new})


def record(results: Any, libraries: Sequence[str] = ()) -> dict[str, Any]:
    """``results`` with the command, versions and hardware that they come from."""
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
    """Versions of what decides the figures."""
    found = {"python": platform.python_version()}
    for name in (*LIBRARIES, *more):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Processor, cores in use, memory."""
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
    """Run a benchmark's main; an error of the engine is one line and exit code 1."""
    try:
        main()
    except MinerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
