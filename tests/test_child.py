"""miner.child: values, exceptions, signals and time limits of calls in a child process."""

import os
import sys
import time

import pytest

from miner.child import ChildError, call

HERE = "test_child"


def double(number: int) -> int:
    print("a library's chatter")
    return 2 * number


def fails() -> None:
    raise ValueError("the reason\nand more")


def aborts() -> None:
    sys.stderr.write("terminate called\n  what():  CUDA error 35 the driver is too old\n(core)\n")
    sys.stderr.flush()
    os.abort()


def sleeps() -> None:
    time.sleep(60)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(os.path.dirname(__file__))


def test_the_value_comes_back() -> None:
    assert call(f"{HERE}:double", 120, number=21) == 42


@pytest.mark.parametrize(
    ("function", "seconds", "said"),
    [
        ("fails", 120, "^the reason$"),
        ("aborts", 120, r"^its process was ended by SIGABRT \(CUDA error 35 the driver is too old"),
        ("sleeps", 1, "^no answer in 1 seconds$"),
    ],
)
def test_faults_are_one_line(function: str, seconds: float, said: str) -> None:
    with pytest.raises(ChildError, match=said):
        call(f"{HERE}:{function}", seconds)
