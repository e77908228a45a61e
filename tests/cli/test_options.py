"""What commands share: what is told of the first run."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from miner.cli import options


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_run_says_why_it_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    shown = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    options.announce()
    assert ("compiling loops for this machine" in shown.getvalue()) == terminal
    (tmp_path / "kernels_1").mkdir()
    (tmp_path / "kernels_1" / "pool.mean_pool-30.py311.nbi").touch()
    second = Terminal()
    monkeypatch.setattr(sys, "stderr", second)
    options.announce()
    assert second.getvalue() == ""
    options.announce("exact")
    assert "compiling" in second.getvalue(), "what a search needs is not there yet"


def test_compiled_loops_are_found_where_numba_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name that is looked for is that of a loop that every first run compiles."""
    code = (
        "import numpy as np; from miner import kernels; from miner.kernels import pool;"
        "before = kernels.compiled();"
        "pool.mean_pool(np.ones((2, 4), np.float32), np.ones(2, np.float32), np.zeros(1, np.int32),"
        "np.array([0, 1]), np.empty((1, 4), np.float32));"
        "print(before, kernels.compiled())"
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
