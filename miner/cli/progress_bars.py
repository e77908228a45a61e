"""Progress on standard error: bars on a terminal, a line every half minute elsewhere.

``--verbose`` prints the time of each stage, and lines more often; ``--quiet`` prints no progress.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING

from miner.cli import interrupts
from miner.cli.run_options import volume

if TYPE_CHECKING:
    from tqdm import tqdm

# Seconds between two lines without a terminal, by verbosity.
EVERY = {0: 30.0, 1: 5.0}


class Progress:
    """Progress reporter (:data:`miner.progress.Reporter`) that shows each stage's rate and time
    left.

    unit: of the counts; ``bytes`` are shown with prefixes (kB, MB).
    """

    def __init__(self, unit: str = "lines") -> None:
        self.unit = unit
        self.stage: str | None = None
        self.bar: tqdm | None = None
        self.first = 0  # done by an earlier run, so not part of this run's speed
        self.begun = self.told = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stage; the next one starts another bar."""
        if self.bar is not None:
            self.bar.close()
        if self.stage is not None and volume() > 0:
            seconds = time.monotonic() - self.begun
            print(f"{stamp()} {self.stage}: {seconds:.1f} s", file=sys.stderr, flush=True)
        self.bar, self.stage = None, None

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        interrupts.check()
        terminal = sys.stderr.isatty()
        if stage != self.stage or done < self.first:
            self._begin(stage, done, total, terminal)
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        elif not terminal and time.monotonic() - self.told >= EVERY.get(volume(), math.inf):
            self.told = time.monotonic()
            print(self._line(done, total), file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        """Print a line that stays, above the bar."""
        if self.bar is not None:
            self.bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)

    def _begin(self, stage: str, done: int, total: int | None, terminal: bool) -> None:
        self.close()
        self.stage, self.first = stage, done
        self.begun = self.told = time.monotonic()
        if terminal and volume() >= 0:
            from tqdm import tqdm

            self.bar = tqdm(
                desc=stage,
                total=total,
                initial=done,
                unit="B" if self.unit == "bytes" else f" {self.unit}",
                unit_scale=self.unit == "bytes",
            )

    def _line(self, done: int, total: int | None) -> str:
        rate = (done - self.first) / (time.monotonic() - self.begun)
        text = f"{stamp()} {self.stage}: {done:,}" + ("" if total is None else f" of {total:,}")
        text += f" {self.unit}, {rate:,.0f}/s"
        if total is not None and rate:
            minutes, seconds = divmod(round(max(0, total - done) / rate), 60)
            text += f", {minutes // 60}:{minutes % 60:02}:{seconds:02} left"
        return text


def stamp() -> str:
    """Return the time of day, with which a line of progress begins."""
    return time.strftime("%H:%M:%S")
