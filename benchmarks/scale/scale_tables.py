"""Tables of ``results/billion.json``, ``shards.json``, ``slurm.json`` and ``memory.json``."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import table


def billion(record: dict[str, Any]) -> list[str]:
    results = record["results"]
    plans, assumed = results["plans"], results["assumed"]
    rows = []
    for plan in plans:
        search = plan["kinds"]["search"]
        most = plan["kinds"][plan["most memory"]]
        longest = plan["kinds"][plan["longest task"]]
        rows.append(
            (
                f"{plan['lines'] / 1e6:.0f}M",
                f"{plan['tasks']:,}",
                f"{search['core-hours']:,.0f}",
                f"{plan['core-hours without search']:,.0f}",
                f"{plan['H100-hours']:,.0f}",
                f"{plan['moved TB']:,.0f} TB",
                f"{plan['at rest TB']:,.0f} TB",
                f"{search['GB of one']:,.1f} GB",
                f"{most['GB of one']:,.0f} GB ({plan['most memory']})",
                f"{longest['core-hours'] / longest['tasks']:,.1f} h ({plan['longest task']})",
            )
        )
    first = plans[0]
    kinds = [
        (
            f"`{kind}`",
            f"{row['tasks']:,}",
            f"{row['core-hours']:,.1f}",
            f"{row['read TB']:,.1f}",
            f"{row['written TB']:,.1f}",
            f"{row['GB of one']:,.1f}",
        )
        for kind, row in first["kinds"].items()
    ]
    return [
        f"A simulation: {results['sentences']:,} sentences a side, rates of one core of",
        "the machine below. The H100-hours are those of the search alone, and arithmetic: one",
        f"product of both sides at an assumed {assumed['H100 op/s'] / 1e12:,.0f} Top/s.",
        "To name what limits, a core is assumed to read and write",
        f"{assumed['B/s of a core'] / 1e6:,.0f} MB/s and an H100",
        f"{assumed['B/s of an H100'] / 1e9:,.0f} GB/s.",
        "",
        *table(
            (
                "shards", "tasks", "core-hours: search", "all else", "H100-hours: search",
                "moved", "at rest", "memory of a search", "most memory of a task",
                "longest task",
            ),
            rows,
        ),
        "",
        f"With shards of {first['lines'] / 1e6:.0f}M lines, the limit on cores is: "
        f"{first['bottleneck on cores']}. With the search on H100s it is the "
        f"{first['bottleneck on H100s']} there, and the {first['bottleneck beside H100s']} on the",
        "cores beside them. The tasks of such a plan:",
        "",
        *table(("task", "number", "core-hours", "TB read", "TB written", "GB of one"), kinds),
    ]  # fmt: skip


def overhead(record: dict[str, Any]) -> list[str]:
    results = record["results"]
    names = ("unsharded", "serial", "1 process", "2 processes")
    rows = [(name, f"{results[name]['cpu']:.1f}", f"{results[name]['wall']:.1f}") for name in names]
    return [
        f"{results['lines']:,} lines a side in {results['shards']} shards",
        f"({results['blocks']} blocks of the search), with one thread a process. Shards take",
        f"{results['overhead']:.1%} more CPU time than the search without them;",
        f"all outputs are {'equal' if results['equal'] else 'NOT equal'}.",
        f"Two processes are {results['speedup']:.2f} times as fast as one.",
        "",
        *table(("run", "CPU seconds", "seconds"), rows),
    ]


def slurm(record: dict[str, Any]) -> list[str]:
    results = record["results"]
    runs = [
        (
            run,
            f"{results[run]['seconds']:,.0f}",
            str(results[run]["faults"] or ""),
            str(results[run]["tasks given out again"] or ""),
            f"`{results[run]['sha256'][:12]}`",
        )
        for run in ("serial", "slurm", "with faults")
    ]
    asked = [
        (f"`{kind}`", str(row["jobs"]), row["memory"], str(row["minutes"]), str(row["peak MB"]))
        for kind, row in results["asked"].items()
    ]
    return [
        f"{results['lines']:,} lines a side in shards of half of them, on a Slurm of one node that",
        "the benchmark starts, with two jobs at a time. Three jobs of the search are lost on the",
        f"way: {', '.join(f'`{fault}`' for fault in results['faults'])}. Slurm itself repeats the",
        f"one that is requeued. All outputs are {'equal' if results['equal'] else 'NOT equal'}.",
        "The machine did other work at the same time, and a job takes seconds to start.",
        "",
        *table(("run", "seconds", "jobs lost", "tasks given out again", "SHA-256"), runs),
        "",
        "Memory and minutes that the jobs of each kind asked for:",
        "",
        *table(("task", "jobs", "memory", "minutes", "peak MB"), asked),
    ]


def memory(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    sections = record["sections"]
    text, mining = sections["text"]["results"], sections["mining"]["results"]
    small, large = mining["sizes"]
    rows: list[tuple[str, ...]] = [
        (f"`{kind}`", "", "", f"{peak:,}") for kind, peak in text["peak MB"].items()
    ]
    rows += [
        (f"`{kind}`", *(f"{peak:,}" for peak in pair), "")
        for kind, pair in mining["peak MB"].items()
    ]
    return [
        "Largest resident memory of a task of each kind, in MB, with pages of mapped files, by the",
        "lines of a shard. The first three are those of `miner index`, without token ids. The",
        f"others have {mining['targets']:,} targets and",
        f"`--memory {mining['memory']}`; with a million lines they are not measured, and the",
        "estimate of the plan (see the next table) is what Slurm is asked for. One process does",
        "all tasks of a mining, the smaller mining first.",
        "",
        *table(("task", f"{small:,}", f"{large:,}", f"{text['lines']:,}"), rows),
        "",
        *(f"{conditions(section)}\n" for section in sections.values()),
    ]
