"""``miner explain``: why two sentences score as translations, or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from miner.cli import options
from miner.cli.option_types import SENTENCE
from miner.cli.settings_options import Command

if TYPE_CHECKING:
    from miner.scoring.explain import Explanation, Token


@click.command(cls=Command)
@click.argument("model")
@click.argument("source", type=SENTENCE)
@click.argument("target", type=SENTENCE)
@options.languages()
def explain(model: str, source: str, target: str, languages: tuple[str | None, str | None]) -> None:
    """Show which tokens of two sentences match, and the evidence for and against a translation.

    SOURCE and TARGET are the sentences, in quotes; MODEL is a model directory, or 'default'. The
    probability comes from the two sentences alone. A search also compares rivals: does another
    sentence fit better? Of a model with a comparer, the objection is how much a token speaks
    against the pair, in log-odds; below 0 it speaks for it.

    Examples:
      miner explain default "Der Zug kommt um 18 Uhr an." "The train arrives at 18."
      miner explain models/de-en "Wir kaufen ein Haus." "We are selling our car."
    """
    from miner.encoder.open_encoder import open_encoder
    from miner.scoring.explain import explain as explain_pair
    from miner.scoring.language_notes import describe_both
    from miner.scoring.languages import identify
    from miner.scoring.verifier import Verifier

    encoder = open_encoder(model, side="source")
    found = identify([source], languages[0]), identify([target], languages[1])
    verifier = Verifier(encoder, (found[0].code, found[1].code))
    options.say(describe_both(found))
    click.echo(describe(explain_pair(verifier, source, target)))


def describe(found: Explanation) -> str:
    """Lay out an explanation as text."""
    lines = []
    for name, tokens, others in (
        ("source", found.source, found.target),
        ("target", found.target, found.source),
    ):
        objecting = any(token.objection is not None for token in tokens)
        head = f"{name:12} best counterpart   similarity  translation"
        lines.append(f"{head}  objection" if objecting else head)
        for token in tokens:
            lines.append(f"  {token.text.strip() or '·':12} {_partner(token, others)}")
        lines.append("")
    lines.append("compared with a usual translation, in log-odds: + for, - against")
    for group, part in sorted(found.parts.items(), key=lambda item: -abs(item[1])):
        lines.append(f"  {part:+7.2f}  {group}")
    lines += ["", "measured"]
    lines += [f"  {value:9.3f}  {name}" for name, value in found.features.items()]
    lines += [
        "",
        f"cosine of the two vectors       {found.cosine:.3f}",
        f"probability of a translation    {found.probability:.3f}  (without context features)",
    ]
    return "\n".join(lines)


def _partner(token: Token, others: list[Token]) -> str:
    partner = "-"
    if token.partner is not None:
        partner = others[token.partner].text.strip() or "·"
    line = f"{partner:16}   {token.similarity:10.2f}  {token.probability:11.2f}"
    return line if token.objection is None else f"{line}  {token.objection:9.2f}"
