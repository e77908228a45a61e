"""Signals that stop a command: Ctrl-C, and SIGTERM, which schedulers send before they kill."""

import signal
import threading

_received = False


def catch() -> None:
    """Make SIGINT and SIGTERM raise KeyboardInterrupt in the main thread.

    Python drops an exception that a signal raises inside certain callbacks (h5py has some), so the
    signal is also recorded, and :func:`check` raises again. SIGINT stays ignored if the shell
    ignores it: in a background job of a script, Ctrl-C concerns only the script.
    """
    global _received
    _received = False

    def note(signum: int, frame: object) -> None:
        global _received
        _received = True
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, note)
        signal.signal(signal.SIGTERM, note)


def check() -> None:
    """Raise KeyboardInterrupt if a signal has arrived since :func:`catch`."""
    if _received:
        raise KeyboardInterrupt
