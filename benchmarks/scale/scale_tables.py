"""Tables of ``results/billion.json``, ``shards.json``, ``slurm.json`` and ``memory.json``."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import table


def billion(record: dict[str, Any]) -> list[str]:
    results = record["results"]
    plans, assumed = results["plans"], results["assumed"]
    first, hybrid = plans[0], results["hybrid plans"][0]
    return [
        f"A simulation: {results['sentences']:,} sentences a side, rates of one core of",
        "the machine below. The H100-hours cover the search alone, and are arithmetic: one",
        f"product of both sides at an assumed {assumed['H100 op/s'] / 1e12:,.0f} Top/s.",
        "",
        "The exhaustive engine:",
        "",
        *_plans(plans),
        "",
        "The hybrid engine, which runs on processors:",
        "",
        *_plans(results["hybrid plans"]),
        "",
        f"With shards of {hybrid['lines'] / 1e6:.0f}M lines, most time is taken by "
        f"`{hybrid['bottleneck on cores']}`. Tasks with shards of that size; `search` is from the",
        "exhaustive engine, in place of `centroids`, `assign`, `retrieve`, `hybrid` and `recall`:",
        "",
        *_kinds(hybrid["kinds"] | {"search": first["kinds"]["search"]}),
    ]


def _plans(plans: list[dict[str, Any]]) -> list[str]:
    """Lay out plans with shards of several sizes."""
    rows = []
    for plan in plans:
        block = plan["kinds"][plan["blocks"]]
        most = plan["kinds"][plan["most memory"]]
        longest = plan["kinds"][plan["longest task"]]
        rows.append(
            (
                f"{plan['lines'] / 1e6:.0f}M",
                f"{plan['tasks']:,}",
                f"{plan['core-hours'] - plan['core-hours without search']:,.0f}",
                f"{plan['core-hours without search']:,.0f}",
                *([f"{plan['H100-hours']:,.0f}"] if plan["blocks"] == "search" else []),
                f"{plan['at rest TB']:,.0f} TB",
                f"{block['GB of one']:,.1f} GB",
                f"{most['GB of one']:,.0f} GB ({plan['most memory']})",
                f"{longest['core-hours'] / longest['tasks']:,.1f} h ({plan['longest task']})",
            )
        )
    gpu = ["H100-hours: search"] if plans[0]["blocks"] == "search" else []
    return table(
        (
            "shards", "tasks", "core-hours: search", "all else", *gpu, "at rest",
            "memory of a block", "most memory of a task", "longest task",
        ),
        rows,
    )  # fmt: skip


def _kinds(kinds: dict[str, dict[str, float]]) -> list[str]:
    """Lay out the tasks of each kind of one plan."""
    rows = [
        (
            f"`{kind}`",
            f"{row['tasks']:,}",
            f"{row['core-hours']:,.1f}",
            f"{row['written TB']:,.1f}",
            f"{row['GB of one']:,.1f}",
        )
        for kind, row in kinds.items()
    ]
    return table(("task", "number", "core-hours", "TB written", "GB of one"), rows)


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
    sections = {name: section["results"] for name, section in record["sections"].items()}
    text, mining = sections["text"], sections["mining"]
    small, large = mining["sizes"]
    # Further columns: peak memory with larger shards, for the tasks that were measured with them.
    last = {f"{text['lines']:,}": text["peak MB"] | sections.get("million", {}).get("peak MB", {})}
    if "blocks" in sections:
        last["block of 1M × 1M"] = sections["blocks"]["peak MB"]
    rows = []
    for kind in dict.fromkeys(key for part in (*last.values(), mining["peak MB"]) for key in part):
        pair = [f"{peak:,}" for peak in mining["peak MB"].get(kind, ())] or ["", ""]
        more = [f"{peaks[kind]:,}" if kind in peaks else "" for peaks in last.values()]
        rows.append((f"`{kind}`", *pair, *more))
    words = [
        "Largest resident memory of a task of each kind, in MB, with pages of mapped files, by the",
        f"lines of a shard. The smaller shards have {mining['targets']:,} targets, decoys,",
        f"`--memory {mining['memory']}` and the exhaustive engine. Of a million lines,",
        f"`{'`, `'.join(text['peak MB'])}` show `miner index`, without token ids.",
    ]
    if "million" in sections:
        words.append(
            f"The others have {sections['million']['targets']:,} targets, no decoys and the hybrid "
            "engine."
        )
    else:
        words.append("The others are not measured at this size; the estimate of the plan (see the")
        words.append("next table) is what Slurm is asked for.")
    if "blocks" in sections:
        words.append("Blocks of a million by a million lines are stopped after")
        words.append(f"{sections['blocks']['watched seconds']:.0f} CPU seconds, when all that they")
        words.append("hold is allocated.")
    return [
        *words,
        "",
        *table(("task", f"{small:,}", f"{large:,}", *last), rows),
        "",
        *(f"{conditions(section)}\n" for section in record["sections"].values()),
    ]
