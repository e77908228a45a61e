"""miner.errors: every message is one line, whatever another library says."""

import pickle

import pytest

from miner.errors import MinerError, UnreadableError, reason


@pytest.mark.parametrize("kind", [MinerError, *MinerError.__subclasses__(), UnreadableError])
def test_messages_are_one_line(kind: type[MinerError]) -> None:
    assert str(kind("a.txt: broken\r\nin\u2028line 2\n")) == "a.txt: broken in line 2"


def test_an_error_of_another_process_keeps_the_ways_out() -> None:
    found = pickle.loads(pickle.dumps(UnreadableError("a.txt, line 2", "skip")))
    assert (str(found), found.ways) == ("a.txt, line 2", "skip")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "No such file or directory"),
        (RuntimeError("\n  shapes differ:\n\tgiven (2, 3)"), "shapes differ"),
        (ValueError("ends here."), "ends here"),
        (ValueError("x" * 1000), "x" * 200),
        (EOFError(), "EOFError"),
        (OSError("\n"), "OSError"),
    ],
)
def test_the_reason_of_another_library(error: Exception, words: str) -> None:
    assert reason(error) == words
