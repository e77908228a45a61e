"""Calls in a child process, for libraries that may abort: a fault ends only the child.

python -m miner.child MODULE:FUNCTION JSON     (what the parent runs)
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from typing import Any

from miner.errors import ResourceError, reason

# Words that identify the line of an error in the output of C++ libraries that abort.
_TELLING = ("what():", "details:", "error", "failed")


class ChildError(ResourceError):
    """Fault of a call in a child process. The message is only the reason."""


def call(function: str, seconds: float, **arguments: Any) -> Any:
    """Return the JSON value of ``module:name(**arguments)``, called in a child process.

    ``arguments`` are JSON values. The child gets this process's import path and environment.
    Raises :class:`ChildError` if the call raises, is killed by a signal, or takes longer than
    ``seconds``.
    """
    command = [sys.executable, "-m", "miner.child", function, json.dumps(arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        ended = subprocess.run(
            command, capture_output=True, env=environment, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise ChildError(f"no answer in {seconds:g} seconds") from None
    except OSError as error:
        raise ChildError(f"no process can be started ({reason(error)})") from None
    said = ended.stderr.decode(errors="replace")
    if ended.returncode == 0:
        return json.loads(ended.stdout.splitlines()[-1])
    why = _telling_line(said)
    if ended.returncode < 0:
        raise ChildError(f"its process was ended by {_signal(-ended.returncode)} ({why})")
    raise ChildError(why)


def _telling_line(said: str) -> str:
    """Return the last line of an error output that describes an error, without its prefix."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in _TELLING)]
    line = next(reversed(telling or lines), "no message")
    for prefix in _TELLING[:2]:
        line = line.rpartition(prefix)[2].strip()
    return reason(line)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def main() -> None:
    """Call the function named by the first argument; print its value, or the error's line."""
    module, _, name = sys.argv[1].partition(":")
    try:
        value = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    except Exception as error:
        print(reason(error), file=sys.stderr)
        sys.exit(1)
    print(json.dumps(value))


if __name__ == "__main__":
    main()
