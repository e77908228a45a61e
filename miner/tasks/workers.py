"""Workers of a run: where its tasks are done, and by what means."""

from __future__ import annotations

from dataclasses import dataclass

from miner.machine import memory_budget, thread_count

# Memory of a task elsewhere, where this machine's says nothing.
MEMORY = 2 << 30


@dataclass(frozen=True)
class Workers:
    """Where tasks run.

    ``backend`` is one of :data:`miner.names.BACKENDS`. ``workers`` is the number of tasks at a time
    [all cores], ``address`` that of a Ray cluster. ``memory`` and ``threads`` are those of a task:
    by default this machine's are divided among the workers; one thread, and 2 GB, elsewhere.
    ``shard_lines`` are the sentences, or rows, of a part [as many as suit the memory].
    """

    backend: str = "serial"
    workers: int | None = None
    address: str | None = None
    memory: int | None = None
    threads: int | None = None
    shard_lines: int | None = None

    @property
    def count(self) -> int:
        return 1 if self.backend == "serial" else self.workers or thread_count()

    @property
    def means(self) -> dict[str, int]:
        """Memory and threads of a task."""
        here = self.backend in ("serial", "processes")
        threads = max(1, thread_count() // self.count) if here else 1
        memory = memory_budget() // self.count if here else MEMORY
        return {
            "memory": memory if self.memory is None else memory_budget(self.memory),
            "threads": self.threads or threads,
        }
