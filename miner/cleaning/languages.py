"""Languages of a text to filter or score: identification and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from miner.cleaning.bitexts import BitextFiles, languages_of
from miner.cleaning.config import FilterConfig, with_languages
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.loading import split_name
from miner.encoder.model_files import known_by
from miner.filters import language, scripts
from miner.scoring.language_notes import describe_both, doubts
from miner.scoring.languages import Identified
from miner.text.text_format import Note

# Bitexts of a pattern, evenly spread, that must agree in their languages.
AGREEING = 16


def identified(
    config: FilterConfig, bitexts: Sequence[BitextFiles], note: Note
) -> tuple[FilterConfig, tuple[str, ...]]:
    """Identify the languages of a text; return the filters for them, and warnings.

    The default filters that need the languages are added if the text, or all of several bitexts, is
    clearly in the same ones. Raises the errors of `Rows`.
    """
    codes = config.context.languages
    languages = languages_of(bitexts, codes)
    warnings = tuple(_doubts(config, languages))
    for warning in warnings:
        note(f"warning: {warning}")
    if not config.default or all(codes):
        return config, warnings
    some = bitexts[:: -(-len(bitexts) // AGREEING)] if len(bitexts) > 1 else []
    if len({tuple(side.code for side in languages_of([bitext], codes)) for bitext in some}) <= 1:
        config = with_languages(config, *languages)
    if all(config.context.languages):
        note(describe_both(languages[:1] if config.mono else languages))
    else:
        if not all(language.sure for language in languages):
            why = "there is too little text to tell them"
        elif any(language.mixed for language in languages):
            why = "the text is in several"
        else:
            why = "the text leaves them open"
        note(
            f"filters that need the languages are left out, as {why} ({describe_both(languages)}); "
            "give --source-lang and --target-lang"
        )
    return config, warnings


def _doubts(config: FilterConfig, languages: tuple[Identified, Identified]) -> Iterator[str]:
    """Yield warnings about the languages of a text, such as a language that the quality model
    knows badly.
    """
    known: Mapping[str, KnownLanguage] = {}
    quality = any(step.name == "quality" for step in config.steps)
    if quality and split_name(config.context.encoder) is None:
        known = known_by(config.context.encoder)
    yield from doubts(languages[:1] if config.mono else languages, known, by_row=True)


def unknown_languages(config: FilterConfig) -> list[str]:
    """Return the languages that the filters `language` or `script` of a run do not know."""
    telling = {"language": language.known, "script": scripts.known}
    known = [telling[step.name] for step in config.steps if step.name in telling]
    codes = dict.fromkeys(code for code in config.context.languages if code)
    return [code for code in codes if not all(knows(code) for knows in known)]
