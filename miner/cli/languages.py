"""``miner evaluate languages``: which foreign language helps, and what goes with it."""

import json
from collections.abc import Mapping, Sequence

import click

from miner.analysis.language_overlap import (
    Column,
    Correlation,
    Overlap,
    choice,
    overlap,
    read_distances,
    read_scores,
)
from miner.encoder.encoder import Encoder
from miner.errors import CorpusError
from miner.text.bitext import read_bitext
from miner.text.output import open_output
from miner.text_table import aligned

OVERLAP = "overlap"


class Named(click.ParamType):
    """LANG=PLACE: a language's code, and a file or directory."""

    name = "named"

    def convert(self, value: object, param: object, ctx: object) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        language, equals, place = str(value).partition("=")
        if not (language and equals and place):
            self.fail(f"{value!r} is not LANG=PLACE, such as de=models/de-en")
        return language, place


@click.command(
    epilog="""\b
Examples:
  miner evaluate languages scores.tsv --distances benchmarks/experiments/distances.tsv
  miner evaluate languages scores.tsv --model de=models/de-en --text de=de-en.tsv.gz
  miner evaluate languages scores.tsv --model de=m/de --text de=de.tsv --json found.json"""
)
@click.argument("scores")
@click.option(
    "--distances",
    metavar="FILE",
    help="A table 'language, tab, name, tab, name ...' with figures of each language.",
)
@click.option(
    "--model",
    "models",
    type=Named(),
    metavar="LANG=DIR",
    multiple=True,
    help="The model of a language, whose pieces are counted in --text; repeatable.",
)
@click.option(
    "--text",
    "texts",
    type=Named(),
    metavar="LANG=FILE",
    multiple=True,
    help="A bitext in TSV of that language and the other, such as English; repeatable.",
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE as JSON.")
def languages(
    scores: str,
    distances: str | None,
    models: Sequence[tuple[str, str]],
    texts: Sequence[tuple[str, str]],
    json_file: str | None,
) -> None:
    """What goes with a high score of a language: shared pieces, near relations?

    SCORES is 'language, tab, score': of one model for each, say, on the same English sentences.
    Prints them beside the columns of --distances and the overlap of pieces, that is, of the pieces
    that either side of --text uses the share that both use; and Spearman's correlation of each
    column with the scores. Lines that start with # are notes.
    """
    if dict(models).keys() != dict(texts).keys():
        raise click.UsageError("give --model and --text for the same languages")
    if len(dict(models)) < len(models) or len(dict(texts)) < len(texts):
        raise click.UsageError("a language has --model or --text twice; give one of each")
    known = read_scores(scores)
    if not known:
        raise CorpusError(f"{scores}: holds no score; give lines of 'language, tab, score'")
    unknown = [language for language, _ in models if language not in known]
    if unknown:
        raise CorpusError(f"{scores}: has no score of {unknown[0]}, which --model names; add it")
    columns = {} if distances is None else read_distances(distances)
    if models and OVERLAP in columns:
        raise CorpusError(f"{distances}: has a column {OVERLAP!r}, as --model has; rename it")
    pieces = {name: measured(place, dict(texts)[name]) for name, place in models}
    if pieces:
        columns[OVERLAP] = {name: one.share for name, one in pieces.items()}
    found = choice(known, columns)
    click.echo("\n".join(table(known, columns, found)))
    if json_file:
        record = {
            "scores": known,
            "columns": columns,
            "pieces": {
                name: {"source": one.source, "target": one.target, "both": one.both}
                for name, one in pieces.items()
            },
            "spearman": {
                name: {"value": one.value, "languages": one.languages}
                for name, one in found.items()
            },
        }
        with open_output(json_file) as file:
            file.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def measured(model: str, text: str) -> Overlap:
    """The overlap of a bitext's sides, in the pieces of a model."""
    encoder = Encoder.load(model, side="source")
    bitext = read_bitext(text)
    return overlap(encoder.tokenizer, bitext.source, bitext.target)


def table(
    scores: Column, columns: Mapping[str, Column], found: Mapping[str, Correlation]
) -> list[str]:
    """A line for each language, from the best, and below them the correlations."""
    rows = [["language", "score", *columns]]
    for language in sorted(scores, key=lambda one: (-scores[one], one)):
        values = [column.get(language) for column in columns.values()]
        rows.append([language, *map(shown, (scores[language], *values))])
    if not columns:
        return aligned(rows)
    rows.append(["Spearman", "", *(shown(found[name].value) for name in columns)])
    rows.append(["languages", "", *(str(found[name].languages) for name in columns)])
    lines = aligned(rows)
    return [*lines[:-2], "", *lines[-2:]]


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
