"""Evaluations of a model, below ``miner evaluate``: what the field measures, on its test sets."""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

import miner
from miner.cli import options
from miner.cli.progress_bars import Progress
from miner.errors import (
    ArtifactError,
    CorpusError,
    DependencyError,
    MinerError,
    MismatchError,
    NoTestSetError,
)
from miner.text.output import open_output, resource_error

if TYPE_CHECKING:
    from miner.evaluation.results import Outcome
    from miner.evaluation.subject import Foreign, Trained


@dataclass(frozen=True)
class LeftOut:
    """An evaluation that was not done, and why: of one model, or of all (None)."""

    evaluation: str
    error: MinerError
    model: str | None = None

    def __str__(self) -> str:
        of = "" if self.model is None else f" of {self.model}"
        return f"left out: {self.evaluation}{of}: {self.error}"

    def as_dict(self) -> dict[str, str | None]:
        return {"evaluation": self.evaluation, "model": self.model, "reason": str(self.error)}


NAMES = ("sts", "tatoeba", "bucc", "paraphrase", "noisy", "speed")

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Test sets, laid out as by 'miner data get'.",
)

common = options.several(
    click.option(
        "--model",
        default="default",
        show_default=True,
        metavar="DIR",
        help="Model directory; or one with the sentences of 'miner evaluate sentences' and "
        "vectors.npy (or .h5), a row for each, from any other tool.",
    ),
    data_option,
    click.option(
        "--against",
        metavar="DIR",
        help="Another model: also print its figures, and the differences with intervals and p.",
    ),
    click.option("--json", "json_file", metavar="FILE", help="Write all figures to FILE as JSON."),
    options.device,
    options.threads,
)


def evaluation(name: str, examples: str) -> Callable[[Any], click.Command]:
    """One evaluation as a command; the function below it holds its help alone."""

    def decorate(described: Any) -> click.Command:
        def command(**settings: Any) -> None:
            run((name,), **settings)

        lines = "\n".join(f"  {line}" for line in examples.splitlines())
        help = inspect.getdoc(described)
        return click.command(name, help=help, epilog=f"\b\nExamples:\n{lines}")(common(command))

    return decorate


@evaluation(
    "sts",
    "miner evaluate sts --data data\n"
    "miner evaluate sts --data data --model models/p19 --against default --json sts.json",
)
def sts() -> None:
    """Correlation of cosines with people's judgements (STS 2012 to 2017, STS-B, SICK-R).

    Reads DIR/sts/*.tsv ('score, tab, sentence, tab, sentence'). Means of a year, and of all years,
    are over data sets, unweighted; sets that are not there are named.
    """


@evaluation(
    "tatoeba",
    "miner evaluate tatoeba --data data --model models/de-en\n"
    "miner evaluate tatoeba --data data --model laser",
)
def tatoeba() -> None:
    """Share of sentences whose nearest one is their translation, each way.

    Reads DIR/tatoeba/XX-en.tsv. Nearest by cosine, and by ratio margin.
    """


@evaluation(
    "bucc",
    "miner data get bucc2018 -o data\n"
    "miner evaluate bucc --data data --model models/de-en --json bucc.json",
)
def bucc() -> None:
    """Mine translations hidden in two corpora, by the protocol of BUCC 2018.

    Reads DIR/bucc*/de-en/de-en.{training,test}.{de,en,gold}. The threshold is tuned on the training
    gold and applied to test. The other task that the mteb suite calls BUCC.v2 stands apart.
    """


@evaluation(
    "paraphrase",
    "miner evaluate paraphrase --data data\n"
    "miner evaluate paraphrase --data data --against models/p18 --json paraphrase.json",
)
def paraphrase() -> None:
    """Paraphrases or not: a small classifier on two vectors, and the cosine alone.

    Reads DIR/paraphrase/NAME.{train,dev,test}.tsv, of MSRPC or Opusparcus. Also prints the mean
    similarity of every grade that people gave. Needs scikit-learn.
    """


@evaluation(
    "noisy",
    "miner evaluate noisy --data data --model models/de-en\n"
    "miner evaluate noisy --data data --against models/p19",
)
def noisy() -> None:
    """Does a score put good pairs above bad ones, in labelled noisy bitext?

    Reads DIR/noisy/de-en.NAME-labelled.tsv, the label 1 or 0 in column 3.
    """


@evaluation(
    "speed",
    "miner evaluate speed --data data --model models/de-en\n"
    "miner evaluate speed --data data --threads 2",
)
def speed() -> None:
    """Sentences a second from text to vectors, and from pieces to vectors.

    On one thread and on all, on the English text of the other evaluations in DIR.
    """


@click.command(
    "all",
    epilog="""\b
Examples:
  miner evaluate all --data data
  miner evaluate all --data data --model models/de-en --against default --json all.json""",
)
@common
def every(**settings: Any) -> None:
    """All evaluations that DIR has text for, and one table of what counts."""
    run(NAMES, **settings)


@click.command(
    epilog="""\b
Examples:
  miner evaluate sentences --data data -o laser
  miner evaluate sentences --data data --task sts --task tatoeba -o laser
  miner evaluate all --data data --model laser"""
)
@data_option
@click.option(
    "--task",
    "names",
    multiple=True,
    type=click.Choice([name for name in NAMES if name != "speed"]),
    help="Of this evaluation alone; repeatable [all that DIR has].",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    help="A directory for sentences.txt; it is made if it is not there.",
)
def sentences(data: Path, names: tuple[str, ...], output: str) -> None:
    """Write the sentences of the evaluations, each once, for other tools to encode.

    Encode the lines of DIR/sentences.txt in their order, and put the vectors beside them as
    vectors.npy or vectors.h5: DIR is then a --model of every evaluation but speed.
    """
    from miner.evaluation import summary
    from miner.evaluation.subject import SENTENCES, vectors_in, write_sentences

    wanted = names or [name for name in NAMES if name != "speed"]
    tasks, left_out = _tasks(data, wanted, not names)
    place = Path(output)
    if there := vectors_in(place):
        raise ArtifactError(
            f"{place}: has {there[0]}, which new sentences would not fit; remove it, or choose "
            "another directory"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise resource_error(error, place) from error
    for one in left_out:
        click.echo(one, err=True)
    count = write_sentences(summary.sentences(data, tasks.values()), place / SENTENCES)
    click.echo(f"{place / SENTENCES}: {count:,} sentences of {', '.join(tasks)}", err=True)


def run(
    names: tuple[str, ...],
    model: str,
    data: Path,
    against: str | None,
    json_file: str | None,
    device: str,
    threads: int | None,
) -> None:
    """Evaluate and print: of one evaluation all figures, of several what counts of each."""
    from miner.evaluation import summary
    from miner.evaluation.bootstrap import DRAWS
    from miner.evaluation.subject import open_subject

    _writable(json_file)
    several = len(names) > 1
    tasks, left_out = _tasks(data, names, several)
    subjects = [open_subject(one, threads, device) for one in (model, against) if one is not None]
    found = [_evaluated(tasks, subject, data, several, left_out) for subject in subjects]
    for subject, outcomes in zip(subjects, found, strict=True):
        text = summary.summary(outcomes) if several else "\n".join(map(summary.text, outcomes))
        click.echo(f"{subject.name}\n\n{text}\n")
    if any(figure.interval for outcome in found[0] for figure in outcome.figures):
        click.echo(f"Intervals hold 95% of {DRAWS:,} draws of the test set (bootstrap).")
    differences = summary.apart(found[0], found[-1]) if against is not None else []
    if differences:
        heads = {
            (outcome.task, one.name, one.metric) for outcome in found[0] for one in outcome.headline
        }
        shown = [
            one for one in differences if not several or (one.task, one.name, one.metric) in heads
        ]
        click.echo(f"\n{model} less {against}, on the same draws:\n\n{summary.compared(shown)}")
        if single := summary.unpaired(found[0], found[-1]):
            click.echo(f"\nof one model alone: {', '.join(single)}")
    if left_out:
        click.echo("\n".join(["", *map(str, left_out)]))
    if json_file:
        record: dict[str, Any] = {
            "miner": miner.__version__,
            "data": str(data),
            "models": [summary.record(*one) for one in zip(subjects, found, strict=True)],
        }
        if left_out:
            record["left out"] = [one.as_dict() for one in left_out]
        if against is not None:
            record["differences"] = [one.as_dict() for one in differences]
        with open_output(json_file) as file:
            file.write(json.dumps(record, indent=1) + "\n")
    for one in left_out:
        if isinstance(one.error, CorpusError) and not isinstance(one.error, NoTestSetError):
            raise one.error
    if not any(outcome.figures for outcome in found[0]) and several:
        raise CorpusError(f"{data}: nothing could be evaluated; see above what is left out")


def _writable(path: str | None) -> None:
    """Find out before the work, not after it. Raises CorpusError."""
    if path is not None and not Path(path).parent.is_dir():
        raise CorpusError(f"{Path(path).parent}: no such directory; make it, or write elsewhere")


def _tasks(
    data: Path, names: Sequence[str], lenient: bool
) -> tuple[dict[str, ModuleType], list[LeftOut]]:
    """The evaluations by name. ``lenient``: those without text are left out."""
    from miner.evaluation.summary import TASKS

    if not data.is_dir():
        raise CorpusError(f"{data}: no such directory; 'miner data get' fetches public test sets")
    if not lenient:
        return {name: TASKS[name] for name in names}, []
    found, left_out = {}, []
    for name in names:
        try:
            TASKS[name].sets(data)
        except NoTestSetError as error:
            left_out.append(LeftOut(name, error))
        else:
            found[name] = TASKS[name]
    if not found:
        raise CorpusError(f"{data}: holds no test set; 'miner data list' says which can be had")
    return found, left_out


def _evaluated(
    tasks: dict[str, ModuleType],
    subject: "Trained | Foreign",
    data: Path,
    several: bool,
    left_out: list[LeftOut],
) -> "list[Outcome]":
    """What each evaluation found of one model.

    Of ``several``, what cannot be done with it goes to ``left_out``; a faulty file does not take
    the others along.
    """
    found = []
    with Progress("sets") as bar:
        for name, task in tasks.items():
            try:
                found.append(task.evaluate(subject, data, bar))
            except (DependencyError, MismatchError, CorpusError) as error:
                if not several:
                    raise
                left_out.append(LeftOut(name, error, subject.name))
    return found


COMMANDS = (sts, tatoeba, bucc, paraphrase, noisy, speed, every, sentences)
