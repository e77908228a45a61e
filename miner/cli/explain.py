"""``miner explain``: why two sentences score as translations, or do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from miner.cli import options
from miner.cli.option_types import SENTENCE
from miner.cli.settings_options import Command, arg, opt
from miner.encoder.loading import USUAL, Loading
from miner.option_values import SIDES

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder
    from miner.scoring.explain import Explanation, Token
    from miner.scoring.quality import Quality
    from miner.scoring.verifier import Verifier

# Names of the two probabilities.
QUALITY = "quality, the score of 'miner score' and 'miner filter'"
MINING = "probability by which mining ranks, before it compares rivals"


@click.command(cls=Command)
def explain(
    source: str = arg(type=SENTENCE),
    target: str = arg(type=SENTENCE),
    mining: bool = opt("Also explain the probability with which mining ranks the pair."),
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    languages: tuple[str | None, str | None] = options.languages(),
) -> None:
    """Show which tokens of two sentences match, and the terms of the quality of the pair.

    SOURCE and TARGET are the sentences, in quotes. The quality is the score of 'miner score' and
    'miner filter'. With a comparer in the model, a token's objection is its evidence against the
    pair, in log-odds; below 0 it is evidence for it. The token with the most surprising counterpart
    is marked (<-), with its usual counterparts. The probability of mining is based on the two
    sentences only; a search also compares rivals: does another sentence fit better?

    --second adds the margin of the pair by another encoder, and the quality by both opinions. The
    pair is compared with sentences of the model; 'miner score --second' compares it with the others
    in doubt of its text.

    Examples:
      miner explain "Der Zug kommt um 18 Uhr an." "The train arrives at 18."
      miner explain "Wir kaufen ein Haus." "We are selling our car." --mining --model models/de-en
      miner explain "Der Zug kommt an." "The train arrives." --second hf:encoders/LaBSE
    """
    from miner.encoder.open_encoder import open_encoder
    from miner.scoring.explain import explain as explain_pair
    from miner.scoring.language_notes import describe_both, unread
    from miner.scoring.languages import identify_pair
    from miner.scoring.quality import Quality, has_quality
    from miner.scoring.second_reading import open_second
    from miner.scoring.verifier import Verifier

    if second is None and loading != USUAL:
        raise click.UsageError("prompts and --runtime are for a second opinion: give --second")
    encoder = open_encoder(model, side="source")
    identified = identify_pair([source], [target], languages)
    verifier = Verifier(encoder, (identified[0].code, identified[1].code))
    options.say(describe_both(identified))
    for name, text in zip(SIDES, (source, target), strict=True):
        for doubt in unread(encoder, [text]):
            options.say(f"warning: the {name}: {doubt}")
    quality = Quality(verifier) if has_quality(encoder) else None
    shown = explain_pair(verifier, source, target, quality)
    lines = [*matches(shown), *(terms(shown, QUALITY) if quality else ())]
    if mining or quality is None:
        lines += terms(explain_pair(verifier, source, target), MINING)
    if second is not None:
        encoders = open_second(second, loading=loading)
        lines += second_lines(verifier, quality, encoders, source, target)
    lines += ["measured", *(f"  {value:9.3f}  {name}" for name, value in shown.features.items())]
    click.echo("\n".join(lines))


def second_lines(
    verifier: Verifier,
    quality: Quality | None,
    encoders: tuple[SentenceEncoder, SentenceEncoder],
    source: str,
    target: str,
) -> list[str]:
    """Lay out the margin by the second opinion, and the quality by both opinions."""
    from miner.scoring.explain import COMPANY, quality_of_both, second_margin

    margin = second_margin(verifier, encoders, source, target)
    lines = [
        f"second opinion, by {encoders[0].name}: margin {margin:+.2f}",
        f"  in spreads of cosines by chance, among {COMPANY} sentences of each side",
    ]
    if quality is not None:
        probability, read = quality_of_both(quality, source, target, margin)
        lines.append(
            f"quality by both opinions: {probability:.3f}{'' if read else ', beyond doubt'}"
        )
    return [*lines, ""]


def matches(explanation: Explanation) -> list[str]:
    """Format the tokens of both sentences, each with its best counterpart."""
    lines = []
    for name, tokens, others in (
        ("source", explanation.source, explanation.target),
        ("target", explanation.target, explanation.source),
    ):
        objecting = any(token.objection is not None for token in tokens)
        head = f"{name:12} best counterpart   similarity  translation"
        lines.append(f"{head}  objection" if objecting else head)
        for token in tokens:
            lines.append(f"  {token.text.strip() or '·':12} {_partner(token, others)}")
        lines.append("")
    return lines


def terms(explanation: Explanation, name: str) -> list[str]:
    """Format a probability and its terms."""
    ordered = sorted(explanation.parts.items(), key=lambda item: -abs(item[1]))
    return [
        f"{name}: {explanation.probability:.3f}",
        "  compared with a usual translation, in log-odds: + for, - against",
        *(f"  {part:+7.2f}  {group}" for group, part in ordered),
        "",
    ]


def _partner(token: Token, others: list[Token]) -> str:
    partner = "-"
    if token.partner is not None:
        partner = others[token.partner].text.strip() or "·"
    line = f"{partner:16}   {token.similarity:10.2f}  {token.probability:11.2f}"
    line += "" if token.objection is None else f"  {token.objection:9.2f}"
    return line if token.usual is None else f"{line}  <- usually {' or '.join(token.usual) or '-'}"
