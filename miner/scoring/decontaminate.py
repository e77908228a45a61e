"""`Unwanted`: sentences of a file to exclude, matched exactly, nearly or by meaning."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError, strictly
from miner.option_values import SIDES
from miner.text.corpus import CorpusReader
from miner.text.formats import BitextFormat, file_format
from miner.text.lines import display_name
from miner.text.near_copies import band_keys, bare, key, plain, shared, shingles, signatures
from miner.text.rows import Rows
from miner.text.text_format import Column

# Rows read or compared at a time, and maximum lines, whose numbers a float32 can hold.
BLOCK, MOST = 4096, 1 << 24
# Names of text columns in formats with named columns.
_NAMES = (*SIDES, "text")


class Unwanted:
    """Sentences of a file to exclude, and the search for texts that match one of them.

    ``near``: minimum Jaccard similarity of shingles of near-copies; ``cosine``: minimum cosine of
    the vectors by ``encoder``. None disables a comparison. Raises CorpusError for a file that
    cannot be read or has no sentence.
    """

    def __init__(
        self,
        path: str | Path,
        near: float | None = None,
        cosine: float | None = None,
        encoder: SentenceEncoder | None = None,
    ):
        self.path, self.near, self.cosine = str(path), near, cosine
        first: dict[int, tuple[int, str]] = {}
        for line, text in texts_of(self.path):
            form = bare(text)
            if not form.replace(b" ", b"").isdigit():  # skip scores and ids
                first.setdefault(key(form), (line, text))
        if not first:
            raise CorpusError(f"{display_name(self.path)}: no sentence to leave out")
        self.line = np.array([line for line, _ in first.values()])
        if self.line[-1] >= MOST:
            raise CorpusError(f"{self.path}: has more than {MOST:,} lines; split it")
        self.keys = _Sorted(np.array(list(first), np.uint64))
        texts = [text for _, text in first.values()]
        if near is not None:
            self.shingles = [shingles(plain(text)) for text in texts]
            self.bands = [_Sorted(column) for column in _bands(self.shingles).T]
        self.encoders: list[SentenceEncoder] = []
        if encoder is not None:
            self.encoders = [encoder.on_side(side) for side in SIDES]
            both = self.encoders[: 1 if self.encoders[0] is self.encoders[1] else 2]
            # A sentence may be in the language of either side.
            self.vectors = np.concatenate([side_encoder.encode(texts) for side_encoder in both]).T

    def __len__(self) -> int:
        return len(self.line)

    def lines(self, texts: Sequence[str]) -> np.ndarray:
        """Return the line of the sentence that each text copies, exactly or nearly; 0 for none."""
        exact = self.keys.first(np.array([key(bare(text)) for text in texts], np.uint64))
        out = np.where(exact < 0, 0, self.line[exact])
        if self.near is not None:
            rest = np.flatnonzero(exact < 0)
            text_shingles = [shingles(plain(texts[row])) for row in rest.tolist()]
            out[rest] = self._near(text_shingles)
        return out

    def _near(self, text_shingles: list[list[str]]) -> np.ndarray:
        """Return the line of the nearest sentence of each set of shingles; 0 if none is near."""
        best, out = np.zeros(len(text_shingles)), np.zeros(len(text_shingles), np.int64)
        columns = zip(self.bands, _bands(text_shingles).T, strict=True)
        for row, other in {pair for band, column in columns for pair in band.pairs(column)}:
            share = shared(text_shingles[row], self.shingles[other])
            better = share > best[row] or (share == best[row] and self.line[other] < out[row])
            if share >= (self.near or 0) and better:
                best[row], out[row] = share, self.line[other]
        return out

    def lines_by_meaning(self, texts: Sequence[str], side: int) -> np.ndarray:
        """Return the line of the sentence that each text of a side translates or repeats, or 0."""
        vectors = np.asarray(self.encoders[side].encode(texts), np.float32)
        nearest = np.zeros(len(vectors), np.int64)
        best = np.full(len(vectors), np.nextafter(np.float32(self.cosine), np.float32(0)))
        for start in range(0, self.vectors.shape[1], BLOCK):
            cosines = vectors @ self.vectors[:, start : start + BLOCK]
            column = cosines.argmax(axis=1)
            value = cosines[np.arange(len(vectors)), column]
            better = value > best
            best[better] = value[better]
            nearest[better] = self.line[(start + column[better]) % len(self.line)]
        return nearest

    def hits(self, texts: Sequence[str], side: int) -> np.ndarray:
        """Return the line of the sentence that each text of a side matches; 0 for none."""
        out = np.zeros(len(texts), np.int64)
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            out[start : start + BLOCK] = self.lines(block)
            if self.encoders:
                more = self.lines_by_meaning(block, side)
                part = out[start : start + BLOCK]
                part[part == 0] = more[part == 0]
        return out


def texts_of(path: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each sentence of a file, from every column of a TSV or bitext.

    Raises CorpusError.
    """
    if file_format(path) in ("plain", "tsv"):
        with strictly():
            for block in CorpusReader(path, format="plain"):
                for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
                    yield from ((line, cell) for cell in text.split("\t") if cell.strip())
        return
    columns = [Column(name, required=False) for name in _NAMES]
    rows = Rows(path, None, BitextFormat(), columns=columns)
    for first, cells in rows.cells(BLOCK):
        texts, _ = rows.layout.parse(first, cells)
        for line, row in enumerate(zip(*texts, strict=True), first):
            yield from ((line, cell) for cell in row if cell.strip())


def _bands(sets: Sequence[Sequence[str]]) -> np.ndarray:
    return band_keys(signatures(sets))


class _Sorted:
    """Sorted keys ``(n,) uint64`` for lookups."""

    def __init__(self, keys: np.ndarray):
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]

    def first(self, keys: np.ndarray) -> np.ndarray:
        """Return the first position of each key, or -1: ``(m,) int64``."""
        position = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[position] == keys, self.order[position], -1)

    def pairs(self, keys: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yield the position of each key with each position where it occurs."""
        low, high = (np.searchsorted(self.keys, keys, side) for side in ("left", "right"))
        for row in np.flatnonzero(low < high).tolist():
            for position in range(low[row], high[row]):
                yield row, int(self.order[position])
