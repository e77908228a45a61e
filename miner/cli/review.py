"""``miner review``: judge a sample of pairs, and learn how many of all are right."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from miner.cli import filter_options, guard, options
from miner.cli.options import say
from miner.cli.settings_options import Command, opt
from miner.text.answers import KINDS
from miner.text.formats import BITEXTS, BitextFormat
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.review.page import Unmatched
    from miner.review.review import Question, Review, ReviewSummary

# Keys in the terminal, with the answer and the kind of error of each.
KEYS = {"y": ("yes", ""), "n": ("no", ""), "p": ("partly", ""), "s": ("skip", "")}
KEYS |= {str(number): ("no", kind) for number, kind in enumerate(KINDS, 1)}
MORE_KEYS = (
    "y yes, n no, p partly, s skip, u undo, q quit; no, because of: 1 another number, "
    "2 another name, 3 machine translation, 4 a wrong language"
)
UNDO, QUIT = "u", "q\x03\x04"
# Default precision to report.
USUAL = 0.95


@click.command(cls=Command)
@options.bitext
def review(
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    rejects: str | None = opt(
        "Rows that 'miner filter' rejected, to be judged as well.", metavar="FILE"
    ),
    answers: str | None = opt(
        "File of answers [BITEXT.review.jsonl]; answers are appended.", metavar="FILE"
    ),
    judge: str | None = opt("Name of the judge [the user's name].", metavar="NAME"),
    count: int = opt(
        "Maximum number of questions.", default=100, type=click.IntRange(0), metavar="N"
    ),
    again: bool = opt(
        "Ask about pairs that have an answer: doubtful ones first, then pairs of other judges."
    ),
    web: bool = opt("Ask on a page in this machine's browser."),
    tsv: str | None = opt("Write the questions as a sheet to fill in.", metavar="FILE"),
    labels: str | None = opt("Read the answers of a filled-in sheet.", metavar="FILE"),
    model: str = options.model,
    languages: tuple[str | None, str | None] = options.languages(),
    score_col: str | None = opt(
        "Column of the score [detected from the first row].", metavar="N|NAME"
    ),
    layout: BitextFormat = options.bitext_format(format={"choices": dict.fromkeys(BITEXTS, "")}),
) -> None:
    """Judge a sample of BITEXT, and learn the precision at every threshold.

    BITEXT is a file of mined, aligned or scored pairs; or give two aligned files, SOURCE and
    TARGET. The most informative pairs come first. A key answers: y yes, n no, p partly right, s
    skip, u undo, q quit. Words without a counterpart are marked. Answers are kept beside BITEXT: a
    review that was stopped goes on, and 'miner mine', 'search' and 'filter' rank better with them
    (--labels). After 30 answers there are estimates, after 100 good ones. --count 0 only shows
    them.

    Examples:
      miner mine news.de news.en --threshold 0.003 -o pairs.tsv
      miner review pairs.tsv
      miner review pairs.tsv --web
      miner review pairs.tsv --tsv sheet.tsv
      miner review pairs.tsv --labels sheet.tsv --judge anna
      miner review pairs.tsv --judge ben --again
      miner review clean.de clean.en --rejects bad.tsv --count 50
    """
    from miner.review.population import origin_of
    from miner.review.review import Review

    first, *other_side = filter_options.inputs(bitext, source, target)
    target = other_side[0] if other_side else None
    if (tsv is not None) + (labels is not None) + web > 1:
        raise click.UsageError(
            "--tsv writes a sheet, --labels reads one and --web asks; do one after another"
        )
    guard.check([first, target, rejects, labels, answers], {"--tsv": tsv})
    guard.check([first, target, rejects, labels, tsv], {"--answers": answers})
    kept = origin_of(first, target, layout, score_col)
    rejected = None if rejects is None else origin_of(rejects, layout=layout, rejected=True)
    with Review.open(kept, answers, judge or "", rejected, again) as opened:
        if tsv is not None:
            guard.check_suffixes({"--tsv": tsv}, written="tsv")
            guard.check_writable([tsv])
            say(f"{count_of(opened.write_sheet(tsv, count), 'question')} written to {tsv}")
            return
        if labels is not None:
            new, foreign = opened.read_sheet(labels)
            say(f"{new} new answers read" + (f", {foreign} about other pairs" if foreign else ""))
        elif count and opened.next() is None:
            say("no answer is in doubt" if again else "every pair has an answer")
        elif count:
            unmatched = _unmatched(opened, model, languages)
            if web:
                _serve(opened, count, unmatched, Path(first).name)
            else:
                _ask(opened, count, unmatched)
        for line in described(opened.summary()):
            say(line)


def _serve(opened: Review, count: int, unmatched: Unmatched, name: str) -> None:
    """Serve the page until the judge finishes there, or presses Ctrl-C here."""
    from miner.review.page import Server

    with Server(opened, unmatched, name, count) as server:
        say(f"judge the pairs at {server.address} and finish there, or here by Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _ask(opened: Review, count: int, unmatched: Unmatched) -> None:
    """Ask in the terminal, or by lines of standard input."""
    say(MORE_KEYS)
    done, keys = 0, _keys()
    while done < count and (question := opened.next()) is not None:
        _show(question, done + 1, unmatched)
        key = next((key for key in keys if key in KEYS or key in UNDO + QUIT), QUIT)
        if key in QUIT:
            break
        if key == UNDO:
            done -= opened.undo() is not None
        else:
            opened.answer(question, *KEYS[key])
            done += 1


def _keys() -> Iterator[str]:
    """Yield keys, or the first letter of each line if the input is not a terminal."""
    if not sys.stdin.isatty():
        yield from (line.strip()[:1].lower() for line in sys.stdin if line.strip())
        return
    while True:
        try:
            key = click.getchar().lower()
        except (EOFError, KeyboardInterrupt):
            return
        yield key


def _show(question: Question, number: int, unmatched: Unmatched) -> None:
    from miner.scoring.highlight import marked

    texts = question.source, question.target
    style = ("\x1b[1;31m", "\x1b[0m") if sys.stdout.isatty() else ("[", "]")
    source, target = (
        marked(text, spans, *style) for text, spans in zip(texts, unmatched(*texts), strict=True)
    )
    why = f"  (rejected by {question.reason})" if question.reason else ""
    click.echo(f"\n{number:4}  {source}\n      {target}{why}")


def _unmatched(opened: Review, model: str, languages: tuple[str | None, str | None]) -> Unmatched:
    """Return the function that finds words without counterpart, or None if the model cannot."""
    from miner.encoder.open_encoder import open_encoder
    from miner.errors import ArtifactError, DependencyError
    from miner.scoring.highlight import unmatched
    from miner.scoring.languages import identify
    from miner.scoring.verifier import Verifier

    questions = opened.questions(50)
    sides = [question.source for question in questions], [question.target for question in questions]
    codes = [identify(*side).code for side in zip(sides, languages, strict=True)]
    try:
        verifier = Verifier(open_encoder(model, side="source"), (codes[0], codes[1]))
    except (ArtifactError, DependencyError) as error:
        say(f"no words are marked: {error}")
        return lambda source, target: ([], [])
    return partial(unmatched, verifier)


def described(summary: ReviewSummary) -> Iterator[str]:
    """Format the summary of a review for people."""
    line = f"{summary.answered:,} of {count_of(summary.pairs, 'pair')} judged"
    line += f", {summary.skipped} skipped" if summary.skipped else ""
    yield line + (f", {summary.doubtful} doubtful (--again)" if summary.doubtful else "")
    if summary.elsewhere:
        yield f"warning: {summary.elsewhere} answers are about pairs that are not here, and wait"
    if summary.missing:
        yield f"{summary.missing} more answers are needed for an estimate"
    if summary.lines:
        head = "threshold     kept  precision (90% interval)  recall (90% interval)"
        compared = any(line.estimate is not None for line in summary.lines)
        yield head + ("     without answers" if compared else "")
    for row in summary.lines:
        alone = "" if row.estimate is None else f"     {row.estimate:.3f}"
        yield (f"{row.threshold:9.6f} {row.kept:8d}  {row.precision!s:26}{row.recall!s:20}{alone}")
    if summary.lines:
        row = min(summary.lines, key=lambda row: abs(row.precision.value - USUAL))
        yield (
            f"{summary.ahead} more answers would narrow the precision at {row.threshold:g} from "
            f"{row.precision.low:.3f}-{row.precision.high:.3f} to about "
            f"{row.later.low:.3f}-{row.later.high:.3f}; recall is relative to these pairs"
        )
    for row in summary.lines:
        if row.estimate is not None and not row.precision.low <= row.estimate <= row.precision.high:
            yield (
                f"warning: the scores promise a precision of {row.estimate:.3f} at "
                f"{row.threshold:g}, the answers say {row.precision}; rank again with --labels"
            )
            break
    if summary.rejected:
        yield "rejected by           rows  judged  right (90% interval)"
        for name, rows, judged, share in summary.rejected:
            yield f"{name:20} {rows:5d}  {judged:6d}  {share if judged else '-'}"
    if summary.errors:
        yield "kind of error       judged  of all pairs"
        for kind, judged, about in summary.errors:
            yield f"{kind:20}{judged:6d}  about {about:,}"
    for left, right, common, kappa in summary.agreement:
        yield f"{left} and {right}: kappa {round(kappa, 2) + 0:.2f} on {common} pairs"
