"""miner.parallel: ordered results, bounded memory, no leftover thread or process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from miner import parallel
from miner.errors import ArtifactError, CorpusError, ResourceError
from miner.parallel import (
    AHEAD,
    in_order,
    in_ranges,
    loop_threads,
    processes,
    submit,
    use_loop_threads,
)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_results_come_in_order(threads: int, n: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3 == 0))  # the first of three finishes last
        return item * item

    assert list(in_order(work, range(n), threads)) == [item * item for item in range(n)]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_items_are_drawn_as_results_are_taken(threads: int) -> None:
    drawn = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for item in range(1000):
            drawn += 1
            yield item

    for taken, _ in enumerate(in_order(str, items(), threads), start=1):
        assert drawn <= taken + threads * AHEAD


def test_items_are_drawn_in_the_callers_thread_and_work_is_done_in_others() -> None:
    here = threading.get_ident()
    drawn_in: set[int] = set()

    def items() -> Iterator[int]:
        for item in range(20):
            drawn_in.add(threading.get_ident())
            yield item

    worked_in = set(in_order(lambda _: threading.get_ident(), items(), 3))
    assert drawn_in == {here} and here not in worked_in
    assert set(in_order(lambda _: threading.get_ident(), items(), 1)) == {here}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [0, 4, 5, 23])
def test_ranges_make_up_all_items(threads: int, count: int) -> None:
    calls = []
    before = use_loop_threads(threads)
    in_ranges(lambda first, last: calls.append((first, last)), count, 5)
    assert use_loop_threads(before) == threads
    assert [i for first, last in sorted(calls) for i in range(first, last)] == [*range(count)]
    assert threads == 1 or max(last - first for first, last in calls) <= 5


def test_threads_of_loops_are_set_for_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "thread_count", lambda: 3)
    before = use_loop_threads(None)  # an earlier search may have set it
    assert loop_threads() == 3
    use_loop_threads(7)
    assert (loop_threads(), *in_order(lambda _: loop_threads(), [0, 1], 2)) == (7, 3, 3)
    use_loop_threads(before)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("guilty", ["items", "function"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_exceptions_are_raised_and_no_thread_stays(threads, guilty, error):
    def items() -> Iterator[int]:
        yield from range(30)
        if guilty == "items":
            raise error("here")
        yield from range(30)

    def work(item: int) -> int:
        if guilty == "function" and item == 17:
            raise error("here")
        return item

    before = threading.active_count()
    with pytest.raises(error, match="here"):
        list(in_order(work, items(), threads))
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 3])
def test_closed_early_it_stops(threads: int) -> None:
    started = []

    def work(item: int) -> int:
        started.append(item)
        time.sleep(0.01)
        return item

    before = threading.active_count()
    results = in_order(work, range(1000), threads)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before
    assert len(started) <= 1 + threads * AHEAD + 1


_base = 0


def prepare(base: int) -> None:
    global _base
    if base < 0:
        raise CorpusError("references.txt: cannot be read")
    _base = base


def work(item: int) -> tuple[int, int]:
    if item == 17:
        raise ArtifactError("item 17: is at fault")
    if item == 18:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.002 * (item % 3 == 0))
    return _base + item, os.getpid()


def test_one_process_is_this_one() -> None:
    with processes(1, prepare, 5) as pool:
        assert list(pool.in_order(work, range(4))) == [(5 + i, os.getpid()) for i in range(4)]
    with pytest.raises(CorpusError, match="references"), processes(1, prepare, -1):
        pass


def test_processes_give_results_in_order_and_errors_as_they_are() -> None:
    """One pool serves all checks, because processes start slowly."""
    drawn = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for item in range(17):
            drawn += 1
            yield item

    with processes(2, prepare, 100) as pool:
        results = []
        for taken, result in enumerate(pool.in_order(work, items()), start=1):
            results.append(result)
            assert drawn <= taken + 2 * AHEAD
        assert [value for value, _ in results] == list(range(100, 117))
        assert os.getpid() not in {process for _, process in results}
        with pytest.raises(ArtifactError, match="^item 17: is at fault$"):
            list(pool.in_order(work, [1, 17, 2]))
        assert [value for value, _ in pool.in_order(work, [3])] == [103]
    assert not multiprocessing.active_children()


def test_exceptions_of_prepare_are_raised(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(CorpusError, match="^references.txt: cannot be read$"),
        processes(2, prepare, -1) as pool,
    ):
        list(pool.in_order(work, range(3)))
    assert capfd.readouterr().err == ""
    assert not multiprocessing.active_children()


def test_a_process_that_is_killed() -> None:
    with (
        pytest.raises(ResourceError, match="fewer --threads"),
        processes(2, prepare, 0) as pool,
    ):
        list(pool.in_order(work, [1, 18, 2]))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_script_without_a_guard_and_its_end(tmp_path: Path, how: signal.Signals) -> None:
    """Processes do not run the script again, and end with it silently."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import test_parallel\n"
        "from miner.parallel import processes\n"
        "print('begun', flush=True)\n"
        "with processes(2, test_parallel.prepare, 0) as pool:\n"
        "    for value, process in pool.in_order(test_parallel.slow, range(100)):\n"
        "        print(process, flush=True)\n",
        encoding="utf-8",
    )
    running = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert running.stdout is not None and running.stdout.readline() == "begun\n"
    if how == signal.SIGINT:  # as by a terminal, to all processes while they start
        time.sleep(0.4)
        os.killpg(running.pid, how)
    else:
        process = int(running.stdout.readline())
        running.kill()
    out, err = running.communicate(timeout=60)
    assert "begun" not in out
    if how == signal.SIGINT:
        assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
        return
    assert "Traceback" not in err
    deadline = time.monotonic() + 30
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def slow(item: int) -> tuple[int, int]:
    time.sleep(0.1)
    return item, os.getpid()


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


class Pool(Executor):
    """Executor whose submission takes as long as starting a process."""

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        time.sleep(0.01)
        return Future()


def test_the_script_is_back_after_threads_have_submitted() -> None:
    script = sys.modules["__main__"]
    threads = [threading.Thread(target=submit, args=(Pool(), str, 0)) for _ in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.004)
    for thread in threads:
        thread.join()
    assert sys.modules["__main__"] is script


def test_the_script_is_back_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    script, mask = sys.modules["__main__"], signal.pthread_sigmask
    before = mask(signal.SIG_BLOCK, ())

    def interrupted(how: int, signals: Any) -> Any:
        found = mask(how, signals)
        if signal.SIGINT in signals:  # an interrupt just before
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        submit(Pool(), str, 0)
    assert sys.modules["__main__"] is script and mask(signal.SIG_BLOCK, ()) == before
