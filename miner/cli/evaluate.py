"""``miner evaluate``: how good is it."""

import json

import click

from miner.cli.evaluations import COMMANDS
from miner.cli.languages import languages
from miner.cli.options import Number
from miner.errors import CorpusError
from miner.evaluation.metrics import best_threshold, explain_mismatch, read_gold, read_pairs
from miner.evaluation.metrics import evaluate as evaluate_pairs
from miner.text.output import open_output


@click.group(
    epilog="""\b
Examples:
  miner evaluate mined pairs.tsv de-en.training.gold
  miner evaluate all --data data --model models/de-en
  miner evaluate sts --data data --against models/p19"""
)
def evaluate() -> None:
    """Measure mined pairs against a gold standard, or a model on public test sets."""


@evaluate.command(
    epilog="""\b
Examples:
  miner search work/de work/en --ids -o pairs.tsv
  miner evaluate mined pairs.tsv de-en.training.gold
  miner evaluate mined pairs.tsv de-en.test.gold --threshold 1.2 --json result.json"""
)
@click.argument("pairs")
@click.argument("gold")
@click.option(
    "--threshold", type=Number(), help="Evaluate at this threshold too, e.g. one tuned elsewhere."
)
@click.option("--json", "json_file", metavar="FILE", help="Write the figures to FILE as JSON.")
def mined(pairs: str, gold: str, threshold: float | None, json_file: str | None) -> None:
    """Precision, recall and F1 of PAIRS (score, source id, target id) against GOLD.

    GOLD is 'source id, tab, target id'. Write PAIRS by 'miner search --ids', without a threshold,
    so that the best one can be found. The best threshold is the one that maximises F1 on this
    very GOLD: report it as tuned, and take it to other data with --threshold.
    """
    scored, expected = read_pairs(pairs), read_gold(gold)
    if not expected:
        raise CorpusError(f"{gold}: holds no pair; nothing can be evaluated against it")
    best = best_threshold(scored, expected)
    results = {"pairs as given": evaluate_pairs(scored, expected)}
    if threshold is not None:
        results["at --threshold"] = evaluate_pairs(scored, expected, threshold)
    results["best threshold"] = best
    click.echo("                  threshold  precision   recall       F1      kept  correct")
    for name, result in results.items():
        cut = "all" if result.threshold is None else f"{result.threshold:.4f}"
        click.echo(
            f"{name:16} {cut:>10} {result.precision:10.2%} {result.recall:8.2%} {result.f1:8.2%}"
            f" {result.proposed:9d} {result.correct:8d}"
        )
    click.echo(f"gold pairs: {len(expected)}")
    if warning := explain_mismatch(scored, expected):
        click.echo(f"warning: {warning}", err=True)
    if json_file:
        record = {name: result.as_dict() for name, result in results.items()}
        with open_output(json_file) as file:
            file.write(json.dumps(record, indent=2) + "\n")


for command in (*COMMANDS, languages):
    evaluate.add_command(command)
