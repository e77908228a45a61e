"""Split of a bitext into training, development and test rows without common text or documents."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import temporary_array
from miner.cleaning.bitexts import BitextFiles, bitexts_of, languages_of
from miner.cleaning.settings import Split
from miner.errors import CorpusError
from miner.progress import Reporter, silent
from miner.text.artifacts import MANIFEST, atomic_directory, replaceable, write_manifest
from miner.text.compression import packing
from miner.text.durable import scratch_directory
from miner.text.formats import USUAL_FORMAT, BitextFormat, file_format
from miner.text.layout import UNREADABLE, Raw
from miner.text.near_copies import (
    HASHES,
    band_keys,
    bare,
    encoded,
    key,
    plain,
    shingles,
    signatures,
)
from miner.text.output import open_output
from miner.text.text_format import is_blank
from miner.text.write_bitext import write_bitext
from miner.text_table import count_of

FORMAT = "bitext-miner split"
# Names of the parts by number.
PARTS = ("train", "dev", "test")
ROWS = 4096
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def split(
    files: str | Path | Sequence[str | Path],
    output: str | Path,
    settings: Split = Split(),
    layout: BitextFormat = USUAL_FORMAT,
    *,
    command: str | None = None,
    report: Reporter = silent,
) -> dict[str, int]:
    """Split a bitext, one file or two, into the directory ``output``; return the rows of each part.

    Files are named train, dev and test with the suffixes of the input, beside `manifest.json`. Rows
    are unchanged and in order. No sentence, near-copy or document is in two parts. A hash of its
    text decides the part of a row: with shares, rows keep their part when text is added; with
    numbers of rows, some rows of a part may move to training.

    Raises ArtifactError for a directory of something else, CorpusError and ResourceError.
    """
    files = [files] if isinstance(files, str | Path) else files
    replaceable(output, MANIFEST)  # refuse now rather than after the work
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        (bitext,) = bitexts_of([[str(file) for file in files]], layout, scratch)
        part, groups = _parts(bitext, settings, report)
        directory = stack.enter_context(atomic_directory(output, marker=MANIFEST))
        for number, name in enumerate(PARTS):
            _write(bitext, part == number, [f"{directory}/{name}{end}" for end in _names(files)])
        counts = {name: int((part == number).sum()) for number, name in enumerate(PARTS)}
        facts: dict[str, Any] = {"command": command, "inputs": [str(file) for file in files]}
        facts |= {"settings": vars(settings), "rows": counts, "groups": groups}
        written: dict[Path, dict[str, Any]] = {path: {} for path in sorted(directory.iterdir())}
        write_manifest(directory / MANIFEST, written, {"format": FORMAT, **facts})
    return counts


def _parts(bitext: BitextFiles, settings: Split, report: Reporter) -> tuple[np.ndarray, int]:
    """Return the part of each row, ``(n,) int8``, and the number of groups.

    A row without text on a side is grouped with the rows that share the text of its other side, and
    does not count. Groups of only such rows are for training.
    """
    with bitext.opened() as rows:
        count = rows.counted()
    keys = np.zeros((2 + (settings.documents is not None), count), np.uint64)
    near = settings.near < 1
    signed = temporary_array((2, count if near else 0, HASHES), np.uint32)
    filled = np.zeros((len(keys), count), bool)
    more = [] if settings.documents is None else [settings.documents]
    done = 0
    with bitext.opened(more, count) as rows:
        for block in rows.blocks(ROWS):
            texts, part = rows.layout.texts(block), slice(done, done + len(block))
            for side, side_texts in enumerate((texts.source, texts.target)):
                keys[side, part] = [key(bare(text)) for text in side_texts]
                if near:
                    signed[side, part] = signatures([shingles(plain(text)) for text in side_texts])
                filled[side, part] = [not is_blank(text) for text in side_texts]
            if settings.documents is not None:
                # A different kind of key, so that a document never equals a sentence.
                keys[2, part] = [key(b"\0" + encoded(name)) for (name,) in texts.more]
                filled[2, part] = [not is_blank(name) for (name,) in texts.more]
            filled[:, part] &= texts.state != UNREADABLE
            done += len(block)
            report("reading", done, count)
    known = np.flatnonzero(filled[:2].any(axis=0))
    filled = filled[:, known]
    groups = _Groups(len(known))
    groups.join_equal(keys[:, known], filled)
    for side, side_signatures in enumerate(signed if near else ()):
        groups.join_near(side_signatures[known], np.flatnonzero(filled[side]), settings.near)
    label = groups.labels()
    both = filled[:2].all(axis=0)
    source, target = keys[:2, known[both]]
    hashes = _scattered(source * _MIX[0] ^ _scattered(target + np.uint64(settings.seed)))
    names, chosen = _chosen(hashes, label[both], (settings.dev, settings.test))
    out = np.zeros(count, np.int8)
    counted = np.isin(label, names)
    out[known[counted]] = chosen[np.searchsorted(names, label[counted])]
    return out, len(names)


def _scattered(value: np.ndarray) -> np.ndarray:
    value = (value ^ (value >> np.uint64(30))) * _MIX[1]
    return np.asarray(value ^ (value >> np.uint64(27)))


def _chosen(
    hashes: np.ndarray, label: np.ndarray, sizes: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and parts of groups: the smallest hashes are for test, the greatest for dev.

    ``sizes`` are of dev and test. A group that is larger than the room in its part is for training,
    so that a part may lack a few rows. Raises CorpusError if it lacks a tenth.
    """
    names, group, count = np.unique(label, return_inverse=True, return_counts=True)
    least = np.full(len(names), np.iinfo(np.uint64).max)
    np.minimum.at(least, group, hashes)
    scattered = _scattered(least)  # the minimum of many hashes is small, so they are hashed again
    order = np.argsort(scattered, kind="stable")
    part = np.zeros(len(names), np.int8)
    for number, ordered in ((2, order), (1, order[::-1])):
        size = sizes[number - 1]
        left = wanted = int(size if size >= 1 else size * len(label))
        if not size:
            continue
        if size < 1:  # the bound is the same for any text
            edge = size if number == 2 else 1 - size
            ordered = order[(scattered[order] / 2.0**64 < edge) == (number == 2)]
        for index in ordered[part[ordered] == 0].tolist():
            if size < 1 and count[index] <= max(wanted, 1):
                part[index] = number
            elif size >= 1 and count[index] <= left:
                part[index], left = number, left - int(count[index])
        if left and size >= 1:
            raise CorpusError(
                f"no {count_of(wanted, 'row')} for {PARTS[number]}: {count_of(len(label), 'row')} "
                f"with text on both sides; up to {count.max(initial=0):,} stay together; "
                "ask for fewer"
            )
    return names, part


class _Groups:
    """Groups of rows, joined pair by pair (union-find)."""

    def __init__(self, count: int):
        self.parent = list(range(count))

    def find(self, row: int) -> int:
        parent = self.parent
        while parent[row] != row:
            parent[row] = row = parent[parent[row]]
        return row

    def join(self, one: int, other: int) -> None:
        one, other = self.find(one), self.find(other)
        self.parent[max(one, other)] = min(one, other)

    def join_equal(self, keys: np.ndarray, filled: np.ndarray) -> None:
        """Join rows with a common key ``(columns, n) uint64``, in any columns.

        ``filled (columns, n) bool`` marks the keys of text; other keys are ignored.
        """
        count = keys.shape[1]
        places = np.flatnonzero(filled)
        for run in _runs(keys.ravel()[places]):
            rows = (places[run] % count).tolist()
            for left, right in zip(rows, rows[1:], strict=False):
                self.join(left, right)

    def join_near(self, signed: np.ndarray, rows: np.ndarray, near: float) -> None:
        """Join ``rows`` whose signatures agree in a band and in the share ``near``.

        ``signed (n, HASHES)`` are the signatures of all rows.
        """
        for column in band_keys(signed[rows]).T:
            for run in _runs(column):
                rest = rows[run]
                while len(rest) > 1:
                    alike = (signed[rest] == signed[rest[0]]).mean(axis=1) >= near
                    for row in rest[alike].tolist():
                        self.join(int(rest[0]), row)
                    rest = rest[~alike]

    def labels(self) -> np.ndarray:
        """Return the first row of each row's group."""
        return np.array([self.find(row) for row in range(len(self.parent))], np.int64)


def _runs(keys: np.ndarray) -> Iterator[list[int]]:
    """Yield the positions of each key that occurs several times."""
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    starts, ends = np.append(0, edges), np.append(edges, len(keys))
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        yield order[start:end].tolist()


def _names(files: Sequence[str | Path]) -> list[str]:
    """Return the suffixes of the parts of each file: format and compression."""
    suffixes = []
    for path in map(str, files):
        end = packing(path)
        suffixes.append((Path(path.removesuffix(end)).suffix or ".tsv") + end)
    if len(set(suffixes)) < len(suffixes):
        return [f".{Path(file).name}" for file in files]
    return suffixes


def _write(bitext: BitextFiles, chosen: np.ndarray, paths: Sequence[str]) -> None:
    """Write the rows of a mask, unchanged, or in the format that they were converted from."""

    def raws() -> Iterator[Raw]:
        done = 0
        for block in rows.blocks(ROWS):
            kept = np.flatnonzero(chosen[done : done + len(block)]).tolist()
            yield from (block.raw[row] for row in kept)
            done += len(block)

    with bitext.opened(count=len(chosen)) as rows, ExitStack() as stack:
        if file_format(paths[0]) not in ("plain", bitext.native):
            languages = [side.code for side in languages_of([bitext])]
            named = map(rows.layout.named, raws())
            write_bitext(named, paths, (languages[0], languages[1]))
            return
        outputs = [stack.enter_context(open_output(path, binary=True)) for path in paths]
        if rows.head is not None:
            outputs[0].write(rows.head + b"\n")
        for raw in raws():
            for output, line in zip(outputs, raw, strict=True):
                output.write(line + b"\n")
