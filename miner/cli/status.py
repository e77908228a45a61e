"""`miner status`: progress and errors of a run."""

import click

from miner.cli.settings_options import Command, arg


@click.command(cls=Command)
def status(
    directory: str = arg(metavar="DIR"),
) -> None:
    """Show the tasks of a run in its work directory DIR.

    Lists them by kind: done, done by the last run, running and failed, with their mean time and
    largest memory; then the rate, the time left with the workers that run now, and the last error
    of each failed task.

    Examples:
      miner status work
    """
    from miner.tasks.status import status as read_status
    from miner.text_table import aligned, count_of

    state = read_status(directory)
    rows: list[tuple[str, ...]] = [
        ("tasks", "done", "new", "running", "failed", "mean time", "peak memory")
    ]
    for kind in state.kinds:
        done, running, failed = f"{kind.done:,} of {kind.total:,}", kind.running, kind.failed
        seconds = f"{kind.seconds:.1f} s" if kind.done else ""
        peak = f"{kind.peak >> 20:,} MB" if kind.peak else ""
        counts = (str(count or "") for count in (kind.new, running, failed))
        rows.append((kind.name, done, *counts, seconds, peak))
    click.echo("\n".join(aligned(rows)))
    finished = sum(kind.done for kind in state.kinds)
    total = sum(kind.total for kind in state.kinds)
    line = f"{finished:,} of {total:,} tasks done"
    if not state.known:
        line += "; further ones depend on those"
    elif finished < total:
        line += f", {60 * state.rate:.1f} a minute"
        if state.left is None:
            line += "; no worker runs: repeat the command that began it"
        else:
            hours, minutes = divmod(round(state.left / 60), 60)
            left = f"{hours}:{minutes:02} hours" if hours else count_of(minutes, "minute")
            line += f", {left if state.left >= 60 else 'less than a minute'} left"
    click.echo(line)
    for name, error in state.errors.items():
        click.echo(f"failed: {name}: {error}")
