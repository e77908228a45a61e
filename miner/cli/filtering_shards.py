"""``miner filter`` of many files by tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from miner.cli import filtering, guard, sharding
from miner.cli.options import say, write_json
from miner.cli.progress_bars import Progress

if TYPE_CHECKING:
    from miner.cleaning.funnel import Summary

# Options of one process, and what takes their place.
REFUSED = {
    "dry_run": "--dry-run tries filters on one file, without --backend",
    "checkpoint": "--work keeps the scores of shards; leave out --checkpoint",
}


def run(patterns: list[str], given: dict[str, Any]) -> None:
    """Filter by the tasks of a plan; ``given`` are the parameters of ``miner filter``."""
    from miner.shards.bitext_files import BitextFiles
    from miner.shards.filter_shards import filter_shards
    from miner.shards.filtering_plan import Filters

    for name, reason in REFUSED.items():
        if given[name] is not None:
            raise click.UsageError(reason)
    outputs, choice, shards = given["outputs"], given["choice"], given["shards"]
    if outputs.page is not None and not outputs.as_json:
        raise click.UsageError(
            f"--report {outputs.page}: shards write counts, as FILE.json; a page needs one file"
        )
    bitexts = sharding.bitexts(patterns)
    paths = [path for sides in bitexts for path in sides]
    work = sharding.require_work(given["work"], paths)
    roles = ("kept", "rejected", "scores")
    directories = {role: place for role in roles if (place := getattr(outputs, role)) is not None}
    if directories.get("kept", "-") == "-":
        raise click.UsageError("shards write a file for each one of BITEXT: name a directory, -o")
    context = filtering.context(given["languages"], given["model"])
    filters = Filters(
        given["config"],
        *context.languages,
        context.model,
        given["threshold"],
        given["repair"],
        given["all_scores"] or "scores" in directories,
        choice,
    )
    plan = replace(filters, threshold=None).plan()
    filtering.refuse_choice(plan, choice, filters.threshold)
    places = {"-o": outputs.kept, "--rejected": outputs.rejected, "--report": outputs.page}
    places |= {"--scores-jsonl": outputs.scores, "--work": work}
    guard.check([*paths, given["config"], *map(str, plan.files())], places)
    guard.check_writable([outputs.page] if outputs.page is not None else [])
    filtering.warn(plan)
    files = BitextFiles.of(bitexts, given["layout"], shards.shard_lines)
    text = filtering.identified(plan, (files.whole(number) for number in range(len(bitexts))))
    filtering.tell_missing(plan, given["config"], text)
    with Progress("tasks") as report:
        found = filter_shards(
            files,
            directories,
            work,
            filters,
            workers=replace(shards, threads=given["threads"]),
            report=report,
            note=report.say,
        )
    tell(found, outputs.page)


def tell(found: Summary, page: str | None) -> None:
    """Print the funnel, and write its counts to ``page`` as JSON."""
    from miner.cleaning import funnel

    say(funnel.table(found))
    if page is not None:
        write_json(page, funnel.as_dict(found), indent=2)
