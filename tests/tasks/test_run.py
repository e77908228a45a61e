"""The runner: repeated tasks, interrupted runs, and refused work directories."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.mined_corpus import Tasks
from support.stages import Named, Numbers, add, die, pipeline, read, refuse, total

from miner.errors import ArtifactError, CorpusError, DependencyError, MismatchError, ResourceError
from miner.tasks import record as records
from miner.tasks.assignment import Assignment
from miner.tasks.execute import execute
from miner.tasks.identity import PLAN
from miner.tasks.record import DONE, FAILED, RUNNING, notes, record
from miner.tasks.run import ATTEMPTS, Call, Run, RunOptions, open_run
from miner.tasks.status import status
from miner.tasks.task import ARRAYS, Job, Result, Task
from miner.tasks.workers import Workers
from miner.text.locks import lock

USUAL = Numbers()
SERIAL, TWO = Workers(threads=1), Workers("processes", 2, threads=1)
EVERYTHING = {"read": 3, "add": 3, "total": 1}


@contextmanager
def opened(
    work: Path | str | None,
    workers: Workers = SERIAL,
    name: str = "adding",
    identity: Mapping[str, Any] = {"numbers": 3},
    stamps: Mapping[str, Any] | None = None,
    **more: Any,
) -> Iterator[Run]:
    with open_run(RunOptions(work, workers=workers, **more), name, identity, stamps) as run:
        yield run


def add_up(work: Path | None, numbers: Numbers = USUAL, **more: Any) -> int:
    with opened(work, **more) as run:
        return pipeline(run, numbers)


@pytest.mark.parametrize(
    ("change", "result", "redone", "workers"),
    [
        ({}, 36, {}, SERIAL),
        ({"label": "other"}, 36, {}, SERIAL),
        ({"scale": 2}, 72, {"total": 1}, SERIAL),
        ({"more": 20}, 66, {"add": 3, "total": 1}, SERIAL),
        ({"more": 20}, 66, {"add": 3, "total": 1}, TWO),
        ({"values": (1, 5, 3)}, 39, {"add": 1, "read": 1, "total": 1}, SERIAL),
        ({"values": (1, 5, 3)}, 39, {"add": 1, "read": 1, "total": 1}, TWO),
        ({"values": (1, 2, 3, 4)}, 50, {"add": 1, "read": 1, "total": 1}, SERIAL),
        ({"values": (1, 2)}, 23, {"total": 1}, SERIAL),
    ],
    ids=str,
)
def test_a_changed_argument_redoes_what_depends_on_it(tmp_path, change, result, redone, workers):
    """Which tasks are redone does not depend on the workers."""
    work = tmp_path / "work"
    done = Tasks(work)
    assert add_up(work, workers=workers) == 36 and done.kinds() == EVERYTHING
    assert add_up(work, replace(Numbers(), **change), workers=workers) == result
    assert done.kinds() == redone


def test_the_result_of_other_arguments_is_at_hand(tmp_path: Path) -> None:
    """`Job.before` is an earlier result of the same task, which can save work."""
    for more, before in ((10, None), (20, 11), (30, 21)):
        add_up(tmp_path, Numbers(more=more))
        assert record(tmp_path, "add/0")["result"] == {"value": 1 + more, "before": before}


@dataclass(frozen=True)
class Held:
    """Result in the fingerprint's place: the task waits for it, but it is not fingerprinted."""

    result: Result = field(metadata={"decides": False})


def test_a_field_that_decides_nothing_is_waited_for(tmp_path: Path) -> None:
    one, other = (Result(str(tmp_path), "read/0", fingerprint) for fingerprint in "ab")
    first, second = (Task("add/0", add, {"one": found, "more": 1}) for found in (one, other))
    assert first.fingerprint != second.fingerprint
    first, second = (Task("add/0", add, {"one": Held(found), "more": 1}) for found in (one, other))
    assert first.fingerprint == second.fingerprint and first.inputs == ["read/0"]
    assert Task("add/0", total, first.arguments).fingerprint != first.fingerprint
    with pytest.raises(TypeError, match="set cannot be an argument"):
        Task("add/0", add, {"more": {1}})


@pytest.mark.parametrize(
    "damage",
    [
        *("file cut", "file gone", "file altered"),
        *("record gone", "record cut", "record altered", "[]", "[" * 100_000),
    ],
    ids=lambda damage: damage[:20],
)
def test_a_damaged_result_is_made_again(tmp_path: Path, damage: str) -> None:
    """Results computed from it are kept."""
    add_up(tmp_path)
    done, place = Tasks(tmp_path), tmp_path / "add" / "1"
    name = ARRAYS if damage.startswith("file") else DONE
    content = (place / name).read_bytes()
    if damage.endswith("gone"):
        (place / name).unlink()
    elif damage.endswith("altered"):
        (place / name).write_bytes(content.replace(b"\x0c", b"\x0d").replace(b" 12", b" 13"))
        assert (place / name).read_bytes() != content
    else:
        (place / name).write_bytes(damage.encode() if "[" in damage else content[:-1])
    assert add_up(tmp_path) == 36 and done.new() == ["add/1"]
    assert (place / ARRAYS).exists()


def test_results_that_no_power_cut_outlives(tmp_path, monkeypatch):
    """Work beside an output is not synced, so it does not count after a restart of the machine."""

    def stopped(**where: Path | None) -> dict[str, int]:
        with pytest.raises(KeyboardInterrupt), opened(**where) as run:  # type: ignore[arg-type]
            done = Tasks(run.work)
            pipeline(run)
            raise KeyboardInterrupt
        return done.kinds()

    durable, fast = {"work": tmp_path / "work"}, {"work": None, "beside": tmp_path / "out"}
    assert stopped(**durable) == stopped(**fast) == EVERYTHING
    assert stopped(**durable) == stopped(**fast) == {}
    monkeypatch.setattr(records, "boot", lambda: "another")
    assert stopped(**durable) == {} and stopped(**fast) == EVERYTHING


def test_status(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.stage("read", read, {str(i): Call({"value": Named(i, "")}) for i in range(3)})
        run.wait()
        found = status(tmp_path)
        assert not found.known and [(kind.name, kind.done) for kind in found.kinds] == [("read", 3)]
        run.task("refused", refuse, words="no such thing")
        with pytest.raises(CorpusError):
            run.wait(last=True)
    found = status(tmp_path)
    assert found.known and found.left is None and found.rate > 0
    assert found.errors == {"refused/all": "no such thing"}
    reading, refused = found.kinds
    assert (reading.total, reading.done, refused.done, refused.failed) == (3, 3, 0, 1)
    assert reading.seconds > 0 and reading.peak > 1 << 20
    # Another run there has different tasks.
    (tmp_path / "read" / "2" / DONE).unlink()
    add_up(tmp_path)
    assert [kind.total for kind in status(tmp_path).kinds] == [3, 3, 1]
    with pytest.raises(ArtifactError, match="not the plan of a work directory"):
        status(tmp_path / "read")


def test_a_fault_of_a_task(tmp_path: Path) -> None:
    """It is raised with its message when running tasks have ended, and noted until it is fixed."""
    with opened(tmp_path, TWO) as run, pytest.raises(CorpusError, match="^no such thing$"):
        run.task("refused", refuse, words="no such thing")
        run.task("read", read, "0", value=Named(1, ""))
        run.wait()
    assert notes(tmp_path, FAILED)["refused/all"]["error"] == "no such thing"
    assert not notes(tmp_path, RUNNING)
    assert not list((tmp_path / "refused").iterdir()) and (tmp_path / "read" / "0").is_dir()
    with opened(tmp_path) as run:
        run.task("refused", read, value=Named(1, ""))
        run.wait()
    assert not notes(tmp_path, FAILED)


def test_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Job, "save", full)
        with pytest.raises(ResourceError, match=r"read/0: cannot be written: no space left; free"):
            add_up(tmp_path)
    assert "no space left" in status(tmp_path).errors["read/0"]
    assert not list(tmp_path.glob("*/.*.partial")) and add_up(tmp_path) == 36


def test_a_worker_that_dies_once(tmp_path: Path) -> None:
    said: list[str] = []
    before = set(psutil.Process().children(recursive=True))
    with opened(tmp_path, TWO, note=said.append) as run:
        found = run.task("deadly", die, once=str(tmp_path / "read.died"))
        assert pipeline(run) == 36
        assert found.value == {"value": 1}
    assert "deadly/all: its worker died; trying again" in said
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [child for child in left if "spawn_main" in " ".join(child.cmdline())]


def test_a_worker_that_always_dies(tmp_path: Path) -> None:
    said: list[str] = []
    with opened(tmp_path, TWO, note=said.append) as run:
        run.task("deadly", die)
        with pytest.raises(ResourceError, match="deadly/all: its worker was killed 3 times, prob"):
            run.wait()
    assert len(said) == ATTEMPTS - 1
    # A later run removes the leftovers.
    assert list(tmp_path.glob("*/.*.partial")) and notes(tmp_path, RUNNING)
    assert add_up(tmp_path) == 36
    assert not list(tmp_path.glob("*/.*.partial")) and not notes(tmp_path, RUNNING)


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    task = Task("read/0", read, {"value": Named(1, "")})
    found = execute(Assignment(str(tmp_path), task, 1, 1, durably=True, version="0.0.1"))
    assert "the task was given by 0.0.1; install one version" in found["error"]


def test_a_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with opened(None) as run:
        assert run.work.parent == tmp_path and pipeline(run) == 36
    assert not list(tmp_path.iterdir())


def test_a_directory_beside_an_output(tmp_path: Path) -> None:
    """It is kept after an interrupt or lack of resources, and removed after success or a fault."""
    out, place = tmp_path / "out.tsv", tmp_path / "out.tsv.work"
    add_up(None, beside=out)
    assert not place.exists()
    for error, stays in ((KeyboardInterrupt(), True), (ResourceError("full"), True),
                         (CorpusError("wrong"), False)):  # fmt: skip
        with pytest.raises(type(error)), opened(None, beside=out) as run:
            pipeline(run)
            raise error
        assert place.exists() == stays
    with pytest.raises(KeyboardInterrupt), opened(None, beside=out) as run:
        pipeline(run)
        raise KeyboardInterrupt
    done = Tasks(place)
    with pytest.raises(KeyboardInterrupt), opened(None, beside=out) as run:
        assert pipeline(run, Numbers(scale=3)) == 108 and done.new() == ["total/all"]
        raise KeyboardInterrupt
    # Leftovers of another run are removed silently, because nobody named the directory.
    with opened(None, beside=out, identity={"numbers": 4}) as run:
        assert not (place / "read").exists() and pipeline(run) == 36
    assert not place.exists()


@pytest.mark.parametrize("kind", ["directory", "file"])
@pytest.mark.parametrize("named", [True, False])
def test_a_directory_of_somebody_else(tmp_path: Path, kind: str, named: bool) -> None:
    place = tmp_path / "out.work"
    if kind == "file":
        place.write_text("years of work")
    else:
        place.mkdir()
        (place / "thesis.tex").write_text("years of work")
    given = (place, None) if named else (None, tmp_path / "out")
    said = r"out\.work: exists and is no work directory"
    with pytest.raises(ArtifactError, match=said), opened(given[0], beside=given[1]):
        pass
    assert place.is_file() or [path.name for path in place.iterdir()] == ["thesis.tex"]


def test_what_a_directory_is_for(tmp_path: Path) -> None:
    work, path = tmp_path / "work", tmp_path / "input"
    path.touch()
    identity, stamps = {"source files": ["a"], "--shard-lines": 25}, {str(path): (0, 1)}
    with opened(work, identity=identity, stamps=stamps) as run:
        pipeline(run)
    done = Tasks(work)

    def refused(name: str = "adding", **changes: Any) -> str:
        given = {"identity": identity, "stamps": stamps} | changes
        errors = MismatchError, CorpusError, ArtifactError
        with pytest.raises(errors) as caught, opened(work, name=name, **given):
            pass
        assert str(work) in str(caught.value)
        return str(caught.value)

    assert "its plan is of adding; name another --work" in refused("filtering")
    assert "its plan has other --shard-lines" in refused(identity=identity | {"--shard-lines": 30})
    assert "its plan has other source files" in refused(identity=identity | {"source files": []})
    said = refused(stamps={str(path): (0, 2)})
    assert said.startswith(f"{path}: changed since the plan in {work} was made; restore it, or")
    plan = json.loads((work / PLAN).read_text())
    (work / PLAN).write_text(json.dumps(plan | {"version": "0.0.1"}))
    assert "made by bitext-miner 0.0.1" in refused()
    for content in ("{}", "[]", "", '{"format": "another"}'):
        (work / PLAN).write_text(content)
        assert "not the plan of a work directory" in refused()
    assert not done.new() and record(work, "total/all")["result"] == {"value": 36}


def test_two_runs_exclude_each_other(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with lock(work), pytest.raises(ResourceError, match=f"held by process {os.getpid()} on"):
        add_up(work)
    with opened(work), pytest.raises(ResourceError, match="held by process"):
        add_up(work)
    assert add_up(work) == 36


@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_other_machines_need_a_directory(tmp_path: Path, name: str) -> None:
    for given in ({"work": None}, {"work": None, "beside": tmp_path / "out"}):
        with pytest.raises(ResourceError, match=f"--backend {name}: name a --work directory"):
            add_up(**given, workers=Workers(name))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_a_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for module in ("ray", "submitit"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(DependencyError, match=rf"--backend {name} .*bitext-miner\[{name}\]"):
        add_up(tmp_path / "work", workers=Workers(name))


def test_a_lost_result_is_said(tmp_path: Path) -> None:
    add_up(tmp_path)
    shutil.rmtree(tmp_path / "add")
    with pytest.raises(ArtifactError, match="the result of a task is missing.*repeat the command"):
        record(tmp_path, "add/0")
