"""The command line in this process or a child process, and checks of error messages."""

import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from miner.cli import main
from miner.index.index import Index

MINER = [sys.executable, "-c", "import sys; from miner.cli import main; sys.exit(main())"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Miner:
    """Runner of commands in this process, in a separate directory, with the small model."""

    def __init__(self, capfd: pytest.CaptureFixture[str], place: Path, model: Path):
        self.capfd, self.place, self.model = capfd, place, model

    def __call__(self, *arguments: object) -> Done:
        self.capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Done(code, *self.capfd.readouterr())

    def elsewhere(self, *arguments: object, largest: int | None = None) -> Done:
        """Run in a child process whose files may not grow beyond ``largest`` bytes."""
        environment, limit = os.environ.copy(), None
        if largest is not None:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"  # caches would exceed the limit, too

            def limit() -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        done = subprocess.run(
            [*MINER, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.place,
            env=environment,
            preexec_fn=limit,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def index(self, corpus: object, output: str, *more: object) -> Done:
        return self("index", corpus, "--model", self.model, "--threads", 2, "-o", output, *more)

    def mine(self, source: object, target: object, *more: object) -> Done:
        return self("mine", source, target, "--model", self.model, "--device", "cpu",
                    "--threads", 2, *more)  # fmt: skip

    def search(self, *arguments: object) -> Done:
        return self("search", *arguments, "--device", "cpu", "--threads", 2)

    def entries(self) -> list[str]:
        return sorted(entry.name for entry in self.place.iterdir())


def write(name: str, *lines: str) -> Path:
    path = Path(name)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def fault(done: Done, *words: object) -> None:
    """Assert exit code 1 and a last line with these words, and no other complaint."""
    assert done.code == 1, done
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[-1].startswith("miner: error: "), done.err
    assert len([line for line in lines if "error" in line.lower()]) == 1, done.err
    assert "Traceback" not in done.err
    for word in words:
        assert str(word) in lines[-1]


def only(done: Done, *words: object) -> None:
    """Assert a fault, and no other line of output."""
    fault(done, *words)
    assert len(done.err.splitlines()) == 1, done.err


@pytest.fixture
def miner(capfd, tmp_path, tiny_model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Miner(capfd, tmp_path, tiny_model)


@pytest.fixture
def ready(miner: Miner, indexes: tuple[Index, Index]) -> Miner:
    """Return a runner in a directory with the indexes ``de`` and ``en``."""
    for index in indexes:
        shutil.copytree(index.path, miner.place / index.path.name)
    return miner


def many(path: Path, n: int) -> Path:
    """Return ``n`` distinct lines of words that the small model knows."""
    generator = random.Random(1)
    words = ["hund", "bellt", "keller", "und", "die", "katze", "schläft", "klavier", "am", "dem"]
    lines = [" ".join(generator.choices(words, k=8)) + f" {i}" for i in range(n)]
    return write(str(path), *lines)


def right(table: str) -> int:
    """Count pairs of equal line numbers in a table of ids."""
    rows = [line.split("\t") for line in table.splitlines()]
    return sum(row[1] == row[2] for row in rows)
