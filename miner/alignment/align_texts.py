"""Alignment of the sentences of two documents in memory, and warnings about them."""

from collections.abc import Sequence
from dataclasses import replace

from miner.alignment.aligned import is_wrapped
from miner.alignment.beads import Beads, Weights, decode
from miner.alignment.fine import likely
from miner.alignment.lattice import Lattice, LatticeSide
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.knn.settings import SearchSettings
from miner.option_values import SIDES, Languages
from miner.scoring.languages import Identified, identify, sample
from miner.scoring.quality import Quality, has_quality
from miner.scoring.verifier import verifier_of
from miner.text.language_codes import language_pair

# Minimum share of likely pairs in document order, and minimum number of pairs to decide.
ORDERED, FEWEST = 0.6, 20
# Characters from which a line is hardly a single sentence.
LONG = 5000


def align_texts(
    texts: tuple[Sequence[str], Sequence[str]],
    encoders: tuple[SentenceEncoder, SentenceEncoder],
    settings: SearchSettings,
    languages: Languages = (None, None),
    *,
    coarse: bool = False,
    weights: Weights | None = None,
    second: tuple[SentenceEncoder, SentenceEncoder] | None = None,
    second_pairs: int | None = None,
) -> tuple[Beads, list[str]]:
    """Align the sentences of two documents; return the beads, and warnings about them.

    ``second`` are the encoders of both sides for a second opinion, on at most ``second_pairs``
    beads.
    """
    weights = Weights.load() if weights is None else weights
    sides = [
        LatticeSide.of(side_texts, encoder)
        for side_texts, encoder in zip(texts, encoders, strict=True)
    ]
    lattice = Lattice.of(sides[0], sides[1], settings)
    scores = lattice.scores(weights.coarse)
    doubts = _doubts(texts, lattice)
    if not coarse and all(texts):
        if not has_quality(encoders[0]):
            doubts.append(f"{encoders[0].name} has no quality function: aligned by vectors alone")
        else:
            quality = Quality(verifier_of(encoders[0], codes_of(texts, languages)))
            likely_beads = likely(lattice, scores, texts, quality)
            scores = likely_beads.scores(weights.fine, len(scores))
            read = 0
            if second is not None:
                scores, read = likely_beads.second(
                    scores, lattice.band, texts, second, settings, second_pairs
                )
            aligned = replace(decode(scores, lattice.band), read=read)
            return likely_beads.doubted(aligned, lattice.band), doubts
    return decode(scores, lattice.band), doubts


def codes_of(texts: Sequence[Sequence[str]], languages: Languages) -> tuple[str | None, str | None]:
    """Return the language codes of both sides, identified from a sample unless set."""
    source, target = identified(texts, languages)
    return source.code, target.code


def identified(
    texts: Sequence[Sequence[str]], languages: Languages
) -> tuple[Identified, Identified]:
    """Identify the languages of both sides from samples; ``languages`` set by the user stay."""
    source, target = (
        identify([side_texts[row] for row in sample(len(side_texts))], language)
        for side_texts, language in zip(texts, language_pair(languages), strict=True)
    )
    return source, target


def _doubts(texts: Sequence[Sequence[str]], lattice: Lattice) -> list[str]:
    """Return lines about documents that cannot be aligned well."""
    if not all(texts):
        return ["one side has no text; nothing is aligned"]
    doubts = [
        f"the lines of the {side} have a fixed width, and are no sentences; give --split"
        for side, side_texts in zip(SIDES, texts, strict=True)
        if is_wrapped(side_texts)
    ]
    ordered, every = lattice.likely
    if every >= FEWEST and ordered < ORDERED * every:
        doubts.append(
            f"{every - ordered} of {every} likely pairs are not in the order of the documents; an "
            "alignment cannot follow, 'miner mine' finds them"
        )
    longest = max(max(map(len, side_texts)) for side_texts in texts)
    if longest > LONG:
        doubts.append(f"a line has {longest:,} characters; give a sentence a line, or --split")
    return doubts
