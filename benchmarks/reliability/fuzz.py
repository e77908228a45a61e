"""Mutated inputs for every reader: done, or refused in one line, in little time and memory.

The program is imported once, and each run is a fork of it, so that thousands of runs are cheap.
"""

import bz2
import gzip
import importlib
import io
import json
import lzma
import os
import pkgutil
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import miner
from benchmarks.reliability.commands import DEMO, LIMIT
from benchmarks.reliability.mutations import MUTATIONS, bomb, zstd
from miner.cli import main

# Maximum seconds of a run, and maximum bytes beyond the program's own memory.
SECONDS, MEMORY = 10.0, 1 << 30
# Exit codes of success, faulty input, and usage errors.
ALLOWED = (0, 1, 2)
LINES = 12
# Directory for temporary files and caches of a run, inside the run's directory.
TEMPORARY = ".tmp"


@dataclass(frozen=True)
class Reader:
    """Reader under test: files to mutate, one at a time, and the command that reads them."""

    name: str
    files: tuple[str, ...]
    line: str


READERS = (
    Reader("plain", ("text.txt",), "encode text.txt --model MODEL -o out.npy"),
    Reader("bucc", ("text.bucc",), "index text.bucc --format bucc --model MODEL -o out"),
    Reader("gzip", ("text.txt.gz",), "encode text.txt.gz --model MODEL -o out.npy"),
    Reader("bzip2", ("text.txt.bz2",), "encode text.txt.bz2 --model MODEL -o out.npy"),
    Reader("xz", ("text.txt.xz",), "encode text.txt.xz --model MODEL -o out.npy"),
    Reader("zstd", ("text.txt.zst",), "encode text.txt.zst --model MODEL -o out.npy"),
    Reader("tsv", ("pairs.tsv",), "stats pairs.tsv"),
    Reader("jsonl", ("pairs.jsonl",), "stats pairs.jsonl --scol source --tcol target"),
    Reader("parquet", ("text.parquet",), "encode text.parquet --model MODEL -o out.npy"),
    Reader("rules", ("rules.toml",), "filter pairs.tsv --config rules.toml -o out.tsv"),
    Reader(
        "filtered tsv",
        ("pairs.tsv",),
        "filter pairs.tsv --config rules.toml --on-error skip -o out.tsv --rejected bad.tsv"
        " --report run.json",
    ),
    Reader("npy", ("v.npy",), "index text.txt --embeddings v.npy -o out"),
    Reader("hdf5", ("v.h5",), "index text.txt --embeddings v.h5 -o out"),
    Reader("raw", ("v.f32",), "index text.txt --embeddings v.f32 --dim 8 -o out"),
    Reader("model", ("model/*",), "encode text.txt --model model -o out.npy"),
    Reader("index", ("a/*",), "search a b --rank margin -o out.tsv"),
    Reader(
        "work directory",
        ("searching/*.json", "searching/*/*/*"),
        "search a b --rank margin --work searching -o out.tsv",
    ),
    Reader("status", ("searching/*.json", "searching/*/*/*"), "status searching"),
    Reader(
        "mining work",
        ("mining/*.json", "mining/*/*/*"),
        "mine text.txt other.txt --model model --rank margin --work mining -o out.tsv",
    ),
    Reader(
        "hybrid work",
        ("hybrid/*.json", "hybrid/*/*/*"),
        "search a b --engine hybrid --rank margin --work hybrid -o out.tsv",
    ),
    Reader(
        "store",
        ("store/*.json", "store/*/*/*", "store/*/*/*/*"),
        "search a b --rank margin --work file://PLACE/store -o out.tsv",
    ),
    Reader(
        "filter work",
        ("state/*.json", "state/*/*/*"),
        "filter pairs.tsv --config rules.toml --work state -o out.tsv",
    ),
    Reader("gold", ("gold.tsv",), "evaluate mined scored.tsv gold.tsv"),
    Reader("scored", ("scored.tsv",), "evaluate mined scored.tsv gold.tsv"),
)

RULES = """source_lang = "de"
target_lang = "en"

[[filter]]
name = "length"
maximum = 40

[[filter]]
name = "duplicates"
"""


def write_seeds(place: Path, model: Path) -> None:
    """Write small valid inputs of every reader into ``place``; ``model`` is copied there."""
    place.mkdir(parents=True)
    german, english = (
        (DEMO / f"demo.{language}").read_text(encoding="utf-8").splitlines()[:LINES]
        for language in ("de", "en")
    )
    text = "".join(f"{line}\n" for line in german).encode()
    made = {
        "text.txt": text,
        "other.txt": "".join(f"{line}\n" for line in english).encode(),
        "text.bucc": "".join(f"de-{i}\t{line}\n" for i, line in enumerate(german)).encode(),
        "text.txt.gz": gzip.compress(text, mtime=0),
        "text.txt.bz2": bz2.compress(text),
        "text.txt.xz": lzma.compress(text),
        "text.txt.zst": zstd().compress(text),
        "rules.toml": RULES.encode(),
        "gold.tsv": b"de-1\ten-1\nde-2\ten-2\n",
        "scored.tsv": b"0.9\tde-1\ten-1\n0.5\tde-3\ten-2\n",
        "v.f32": np.random.default_rng(1).normal(size=(LINES, 8)).astype(np.float32).tobytes(),
    }
    pairs = list(zip(german, english, strict=True))
    made["pairs.tsv"] = "".join(f"{a}\t{b}\n" for a, b in pairs).encode()
    records = [json.dumps({"source": a, "target": b}, ensure_ascii=False) for a, b in pairs]
    made["pairs.jsonl"] = "".join(f"{record}\n" for record in records).encode()
    for name, data in made.items():
        (place / name).write_bytes(data)
    vectors = np.random.default_rng(2).normal(size=(LINES, 8)).astype(np.float32)
    np.save(place / "v.npy", vectors)
    with h5py.File(place / "v.h5", "w") as file:
        file["embeddings"] = vectors
    import pyarrow
    import pyarrow.parquet

    nulls = [text if row % 5 else None for row, text in enumerate(german)]
    pyarrow.parquet.write_table(pyarrow.table({"text": nulls}), place / "text.parquet")
    shutil.copytree(model, place / "model")


def build_seeds(place: Path) -> None:
    """Create the seeds that are artifacts, by the program itself. Raises RuntimeError."""
    for line in (
        "index text.txt --model model -o a",
        "index other.txt --model model -o b",
        "search a b --rank margin --work searching -o first.tsv",
        f"search a b --rank margin --work file://{place}/store -o first.tsv",
        "search a b --engine hybrid --rank margin --work hybrid -o first.tsv",
        "mine text.txt other.txt --model model --rank margin --work mining -o first.tsv",
        "filter pairs.tsv --config rules.toml --work state -o second.tsv",
    ):
        code, err, _, _ = forked(line.split(), place, LIMIT)
        if code:
            raise RuntimeError(f"{line}: {err}")
    shutil.rmtree(place / TEMPORARY)


def load_modules() -> None:
    """Import all modules of the program except integrations, once for all forks."""
    for module in pkgutil.walk_packages(miner.__path__, "miner."):
        if not module.name.startswith("miner.integrations."):
            importlib.import_module(module.name)


def warm(seeds: Path) -> None:
    """Load the compiled library once for all forks.

    Searches are not warmed, because threads do not survive a fork.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place, open(os.devnull, "w") as null:
        shutil.copytree(seeds, place, dirs_exist_ok=True)
        os.chdir(place)
        try:
            with redirect_stdout(null), redirect_stderr(null):
                for reader in READERS:
                    if not reader.line.startswith(("search", "mine")):
                        main(reader.line.replace("MODEL", "model").split())
        finally:
            os.chdir(here)
            for number, handler in handlers.items():
                signal.signal(number, handler)


# --- runs ---------------------------------------------------------------------------------------


def forked(
    arguments: list[str], place: Path, seconds: float = SECONDS
) -> tuple[int, str, float, int]:
    """Run the program in a fork; returns exit code, messages, seconds, and bytes of memory.

    A run that outlasts ``seconds`` is killed, with exit code -9. Memory is the growth of the
    resident set. A fork has less than its parent, by what is mapped from files.
    """
    messages, resident = place / ".stderr", place / ".resident"
    begun = time.monotonic()
    child = os.fork()
    if not child:
        code = 70
        try:
            resident.write_text(Path("/proc/self/statm").read_text().split()[1])
            os.chdir(place)
            tempfile.tempdir = str(place / TEMPORARY)
            os.makedirs(tempfile.tempdir, exist_ok=True)
            with open(messages, "wb") as log, open(os.devnull, "r+b") as null:
                os.dup2(null.fileno(), 0)
                os.dup2(null.fileno(), 1)
                os.dup2(log.fileno(), 2)
            sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = io.TextIOWrapper(open(2, "wb", 0, closefd=False), write_through=True)  # noqa: SIM115
            code = main(arguments)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    status, usage = _awaited(child, begun + seconds)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    err = messages.read_text(encoding="utf-8", errors="replace") if messages.exists() else ""
    before = int(resident.read_text()) * resource.getpagesize() >> 10 if resident.exists() else 0
    return code, err, time.monotonic() - begun, max(0, usage.ru_maxrss - before) << 10


def _awaited(child: int, deadline: float) -> tuple[int, Any]:
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            return status, usage
        time.sleep(0.002)


def verdict(code: int, err: str, memory: int) -> str | None:
    """Name the rule that a run broke; None if it broke none."""
    if code == -signal.SIGKILL:
        return "over time"
    if "Traceback" in err or code == 70:
        return "traceback"
    if code not in ALLOWED:
        return "exit code"
    if memory > MEMORY:
        return "over memory"
    errors = [line for line in err.splitlines() if line.startswith(("miner: error: ", "Error: "))]
    if code and len(errors) != 1:
        return "not one line"
    return None


def unaccounted(place: Path) -> str | None:
    """Compare the rows of a filter run with its counts; None where each row is kept or rejected.

    Every run that writes ``run.json`` is checked: lines in = kept + rejected, and the reasons of
    the report add up to the rejected ones.
    """
    try:
        counted = json.loads((place / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    data = {name: (place / name).read_bytes() for name in ("pairs.tsv", "out.tsv", "bad.tsv")}
    lines = {
        name: text.count(b"\n") + (text[-1:] not in (b"", b"\n")) for name, text in data.items()
    }
    removed = sum(found["removed"] for found in counted["filters"])
    expected = counted["rows"], counted["kept"], removed
    if expected == tuple(lines.values()):
        return None
    return f"report: rows, kept, removed {expected}; files: {tuple(lines.values())}"


def inputs(seeds: Path, reader: Reader) -> list[str]:
    """The files of a reader that are mutated, by name."""
    return [
        str(path.relative_to(seeds))
        for pattern in reader.files
        for path in sorted(seeds.glob(pattern))
        if path.is_file()
    ]


def cases(seeds: Path, count: int, seed: int) -> Iterator[tuple[Reader, str, bytes]]:
    """``count`` mutated files: reader, name, bytes; the first ones of compressed text are bombs."""
    generator = random.Random(seed)
    for reader in READERS:
        if reader.name in ("gzip", "bzip2", "xz", "zstd"):
            name = inputs(seeds, reader)[0]
            yield reader, name, bomb((seeds / name).read_bytes(), generator)
    for number in range(count):
        reader = READERS[number % len(READERS)]
        name = generator.choice(inputs(seeds, reader))
        data = (seeds / name).read_bytes()
        for _ in range(generator.choice((1, 1, 1, 2, 3))):
            data = generator.choice(MUTATIONS)(data, generator)
        yield reader, name, data


def campaign(root: Path, model: Path, count: int, seed: int) -> dict[str, Any]:
    """Run ``count`` mutated inputs; the counts of everything but exit codes should be 0."""
    root.mkdir(exist_ok=True)
    # Seeds are made in the directory of the runs: work directories store absolute paths.
    seeds, place = root / "seeds", root / "fuzz"
    write_seeds(place, model)
    load_modules()
    build_seeds(place)
    place.rename(seeds)
    warm(seeds)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    longest, largest = 0.0, 0
    kept = root / "failures"
    for number, (reader, name, data) in enumerate(cases(seeds, count, seed)):
        shutil.copytree(seeds, place)
        (place / name).write_bytes(data)
        line = reader.line.replace("MODEL", str(seeds / "model")).replace("PLACE", str(place))
        code, err, seconds, memory = forked(line.split(), place)
        longest, largest = max(longest, seconds), max(largest, memory)
        counts[f"exit code {code}"] += 1
        broken = verdict(code, err, memory)
        if any(root.rglob("evil*")):
            broken, err = "an evil name", "a file of that name"
        if code == 0 and (difference := unaccounted(place)):
            broken, err = "rows unaccounted for", difference
        if broken:
            counts[broken] += 1
            failures.append(f"case {number}, {reader.name}, {name}: {broken}: {err[-400:]}")
            kept.mkdir(exist_ok=True)
            (kept / f"{number}.{Path(name).name}").write_bytes(data)
        shutil.rmtree(place)
    return {
        **counts,
        "longest, s": round(longest, 2),
        "most memory, MB": largest >> 20,
        "failures": failures[:20],
    }
