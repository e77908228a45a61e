"""Workers of a run: where its tasks run, and with which resources."""

from dataclasses import dataclass

from miner.config_fields import no_option, option
from miner.machine import memory_budget, thread_count
from miner.option_values import BACKENDS

# Bytes of memory per task on other machines, which this machine's memory does not determine.
MEMORY = 2 << 30


@dataclass(frozen=True)
class Workers:
    """Where tasks run.

    ``backend`` is one of :data:`miner.option_values.BACKENDS`. ``workers`` is the number of tasks
    at a time [all cores], ``address`` names a Ray cluster. ``memory``, ``threads``: per task, by
    default this machine's are divided among the workers; one thread, and 2 GB, elsewhere. ``gpu``:
    on a cluster, tasks that can use a GPU ask for one.
    ``shard_lines`` are the sentences, or rows, of a part [as many as suit the memory].
    """

    backend: str = option(
        "serial",
        "Backend that runs tasks: one by one in this process, in processes of this machine, on "
        "a Ray cluster (extra: ray), or in Slurm job arrays (extra: slurm). Never changes the "
        "result.",
        choices=BACKENDS,
        quiet=True,
    )
    workers: int | None = option(
        None,
        "Concurrent tasks [all cores]; with processes, --memory and --threads apply to each.",
        within="[1, inf)",
        metavar="N",
    )
    address: str | None = option(None, "Ray cluster: auto, or HOST:PORT [one on this machine].")
    memory: int | None = no_option(None, "--memory is a setting of the search")
    threads: int | None = no_option(None, "--threads is an option of the command")
    gpu: bool = no_option(False, "--device is a setting of the search")
    shard_lines: int | None = option(
        None,
        "Sentences per part of the work, such as 200k [chosen by memory]. Never changes the "
        "result.",
        kind="positive count",
        metavar="N",
        quiet=True,
    )

    @property
    def count(self) -> int:
        return 1 if self.backend == "serial" else self.workers or thread_count()

    @property
    def here(self) -> bool:
        """True if tasks run on this machine."""
        return self.backend in ("serial", "processes")

    @property
    def means(self) -> dict[str, int]:
        """Memory and threads per task."""
        if self.here:
            threads = thread_count(self.threads or max(1, thread_count() // self.count))
        else:
            threads = self.threads or 1
        memory = memory_budget() // self.count if self.here else MEMORY
        return {
            "memory": memory if self.memory is None else memory_budget(self.memory),
            "threads": threads,
        }
