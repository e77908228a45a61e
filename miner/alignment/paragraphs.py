"""Quality of rows with several sentences a side, by an alignment inside each row."""

from collections.abc import Iterator, Sequence

import numpy as np

from miner.alignment.align_texts import align_texts
from miner.alignment.aligned import sentences
from miner.alignment.beads import Weights
from miner.knn.settings import SearchSettings
from miner.scoring.quality import Quality
from miner.text.words import joined

# Texts of both sides of a bead; one text is empty if nothing matches.
BeadTexts = tuple[str, str]
_SETTINGS = SearchSettings(k=4, device="cpu", threads=1, memory=1 << 28)


class Paragraphs:
    """Quality function of paragraphs, by one for sentences.

    The score of a row with several sentences on a side is the geometric mean of the worst and the
    mean quality of its beads, 0 for a sentence without a counterpart; beads count by their length.
    Other rows have the quality itself.
    """

    def __init__(self, quality: Quality):
        encoder = quality.verifier.encoder
        self.quality, self.encoders = quality, (encoder, encoder.on_side("target"))
        self.weights = Weights.load()

    def score(self, source: Sequence[str], target: Sequence[str]) -> np.ndarray:
        """Return the quality of each row: ``(n,) float64``."""
        out = self.quality.score(source, target)
        for row, beads, values in self._rated(source, target):
            length = [len(left) + len(right) for left, right in beads]
            out[row] = np.sqrt(values.min() * np.average(values, weights=length))
        return out

    def worst(self, source: Sequence[str], target: Sequence[str]) -> dict[int, BeadTexts]:
        """Return the worst bead of each row that has several sentences, by row."""
        rated = self._rated(source, target)
        return {row: beads[int(values.argmin())] for row, beads, values in rated}

    def _rated(
        self, source: Sequence[str], target: Sequence[str]
    ) -> Iterator[tuple[int, list[BeadTexts], np.ndarray]]:
        """Yield the rows with several sentences, with their beads and the quality of each."""
        codes = self.quality.verifier.languages
        rows: list[tuple[int, list[BeadTexts]]] = []
        for row, texts in enumerate(zip(source, target, strict=True)):
            sides = [sentences(code or "en", text) for code, text in zip(codes, texts, strict=True)]
            if all(sides) and max(map(len, sides)) > 1:
                rows.append((row, self._aligned(sides[0], sides[1])))
        flat = [bead for _, beads in rows for bead in beads]
        values = np.zeros(len(flat))
        both = [position for position, bead in enumerate(flat) if all(bead)]
        if both:
            values[both] = self.quality.score(
                *zip(*(flat[position] for position in both), strict=True)
            )
        start = 0
        for row, beads in rows:
            yield row, beads, values[start : start + len(beads)]
            start += len(beads)

    def _aligned(self, source: list[str], target: list[str]) -> list[BeadTexts]:
        beads, _ = align_texts(
            (source, target),
            self.encoders,
            _SETTINGS,
            self.quality.verifier.languages,
            weights=self.weights,
        )
        spans = beads.spans.tolist()
        return [(joined(source[i:j]), joined(target[k:m])) for i, j, k, m in spans]
