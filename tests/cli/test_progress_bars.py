"""Progress of commands: bars on a terminal, lines elsewhere."""

import io
import os
import re
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from miner.cli import interrupts, progress_bars
from miner.cli.options import say
from miner.cli.progress_bars import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of an earlier run do not count as this run's speed."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("sentences") as report:
        report("searching", 500, 1000)
        time.sleep(0.12)
        report("searching", 1000, 1000)
    shown = sys.stderr.getvalue()
    assert "searching: 100%" in shown and "1000/1000" in shown
    rate = re.findall(r"([\d.]+) sentences/s", shown)[-1]
    assert 0 < float(rate) < 500 / 0.12 + 1


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of less than half a minute prints nothing."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress("sentences") as report:
        report("searching", 0, 10)
        report("searching", 10, 10)
    assert sys.stderr.getvalue() == ""


def test_a_log_shows_that_long_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10_000, 20))
    monkeypatch.setattr(progress_bars.time, "monotonic", lambda: next(now))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress("sentences") as report:
        for done in range(0, 5000, 1000):
            report("searching", done, 3_605_000)
    lines = sys.stderr.getvalue().splitlines()
    assert lines and all(re.match(r"\d\d:\d\d:\d\d searching: ", line) for line in lines)
    assert "of 3,605,000 sentences, " in lines[0] and lines[0].endswith(" left")


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restore the handlers of signals after the test."""
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    yield
    interrupts.catch()
    for one, handler in before.items():
        signal.signal(one, handler)


def test_an_ignored_interrupt_stays_ignored(handlers: None) -> None:
    """Shells ignore interrupts of background jobs in scripts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupts.catch()
    os.kill(os.getpid(), signal.SIGINT)
    interrupts.check()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_python_drops_is_raised_by_the_next_report(handlers, number) -> None:
    interrupts.catch()
    with Progress() as report:
        report("reading", 0, 4)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            report("reading", 1, 4)


def test_messages_are_wrapped_by_words_and_tables_are_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "threshold     kept  recall\nwarning: the corpus has near-copies"
    monkeypatch.delenv("COLUMNS", raising=False)
    say(text)
    monkeypatch.setenv("COLUMNS", "20")
    say(text)
    wrapped = "threshold     kept  recall\nwarning: the corpus\n  has near-copies"
    assert capsys.readouterr().err == f"{text}\n{wrapped}\n"
