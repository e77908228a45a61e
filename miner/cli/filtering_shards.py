"""``miner filter`` of many files by tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from miner.cli import filtering, guard, sharding
from miner.cli.progress_bars import Progress
from miner.cli.sharding import Sharding

# Options of one process, and what takes their place.
REFUSED = {
    "dry_run": "--dry-run tries filters on one file, without --backend",
    "checkpoint": "--work keeps the scores of shards; leave out --checkpoint",
}


def run(shards: Sharding, work: str | None, given: dict[str, Any]) -> None:
    """Filter by the tasks of a plan; ``given`` are the options of ``miner filter``."""
    from miner.cleaning import funnel
    from miner.cleaning.choice import Choice
    from miner.shards.bitext_files import BitextFiles
    from miner.shards.filter_shards import filter_shards
    from miner.shards.filtering_plan import Filters
    from miner.text.formats import BitextFormat
    from miner.text.output import open_output

    for name, reason in REFUSED.items():
        if given[name] is not None:
            raise click.UsageError(reason)
    page = given["page"]
    if page is not None and not page.endswith(".json"):
        raise click.UsageError(
            f"--report {page}: shards write counts, as FILE.json; a page needs one file"
        )
    bitexts = _bitexts(given)
    paths = [path for sides in bitexts for path in sides]
    work = sharding.require_work(work, paths)
    directories = {
        role: given[name]
        for role, name in (("kept", "output"), ("rejected", "rejected"), ("scores", "scores_jsonl"))
        if given[name] is not None
    }
    if directories.get("kept", "-") == "-":
        raise click.UsageError("shards write a file for each one of BITEXT: name a directory, -o")
    context = filtering.context(given["source_lang"], given["target_lang"], given["model"])
    filters = Filters(
        given["config"],
        *context.languages,
        context.model,
        given["threshold"],
        given["repair"],
        given["all_scores"] or "scores" in directories,
        Choice(given["top_n"], given["target_words"], given["target_precision"]),
    )
    plan = replace(filters, threshold=None).plan()
    filtering.refuse_choice(
        plan,
        filters.choice.any or filters.threshold is not None,
        given["target_precision"] is not None,
    )
    places = {"-o": given["output"], "--rejected": given["rejected"], "--report": page}
    places |= {"--scores-jsonl": given["scores_jsonl"], "--work": work}
    guard.check([*paths, given["config"], *map(str, plan.files())], places)
    guard.check_writable([page] if page is not None else [])
    filtering.warn(plan)
    names = ("scol", "tcol", "header", "format", "on_error")
    files = BitextFiles.of(bitexts, BitextFormat(*(given[name] for name in names)), shards.lines)
    text = filtering.identified(plan, (files.whole(number) for number in range(len(bitexts))))
    filtering.tell_missing(plan, given["config"], text)
    with Progress("tasks") as report:
        found = filter_shards(
            files,
            directories,
            work,
            filters,
            workers=shards.workers(threads=given["threads"]),
            report=report,
            note=report.say,
        )
    click.echo(funnel.table(found), err=True)
    if page is not None:
        with open_output(page) as file:
            file.write(json.dumps(funnel.as_dict(found), indent=2) + "\n")


def _bitexts(given: dict[str, Any]) -> list[list[str]]:
    """List the bitexts. Raises UsageError for arguments that name none."""
    source, target, files = given["source"], given["target"], given["files"]
    if source is None and target is None and len(files) == 1:
        return sharding.bitexts(files[0], None, None)
    if source is None or target is None or files:
        raise click.UsageError(
            "give one BITEXT, in quotes if it is a pattern, or --source and "
            "--target; -o is one directory"
        )
    return sharding.bitexts(None, source, target)
