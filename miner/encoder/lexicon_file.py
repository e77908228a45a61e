"""File format of a model's lexicons: a few bits for each translation.

A zip archive of compressed arrays that ``numpy.load`` opens. Each direction has five byte arrays,
``FROM-TO.NAME``:

- ``tokens``: the token ids that occur in the text of FROM, ascending;
- ``counts``: the number of sentences with each of them;
- ``rows``: the number of translations of each of them;
- ``pieces``: their translations, ascending, as indices among the tokens of TO-FROM;
- ``probabilities``: the probability of each translation.

Ascending integers are stored as differences. Differences and ``rows`` are varints: seven bits a
byte, lowest first. Counts and probabilities are bytes on logarithmic scales: a probability is off
by 1.2% at most, and a count by 4.2%. ``size`` is the number of token ids. A table is decoded when
it is first used.
"""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from miner.arrays import open_npz
from miner.encoder.lexicons import LEAST, Direction, Lexicons, TranslationTable
from miner.errors import ArtifactError, reason
from miner.ragged import offsets_of

# Names of the arrays of a direction.
NAMES = ("tokens", "counts", "rows", "pieces", "probabilities")
# Scales of the byte codes: probability exp(-code * PROBABILITY), count exp(code * COUNT).
PROBABILITY = -np.log(LEAST) / 255
COUNT = np.log(1e9) / 255


def to_bytes(lexicons: Lexicons) -> bytes:
    """Serialise lexicons; equal tables give equal bytes. Lexicons of a file return its bytes."""
    if isinstance(lexicons.tables, _Stored):
        return lexicons.tables.data
    arrays = {"size": np.array(lexicons.size)}
    occurring = {pair: np.flatnonzero(table.count) for pair, table in lexicons.tables.items()}
    for pair, table in sorted(lexicons.tables.items()):
        tokens = occurring[pair]
        lengths = np.diff(table.offsets)
        positions = np.searchsorted(occurring[pair[::-1]], table.pieces)
        steps = np.diff(positions, prepend=0)
        # The first translation of each token is not a difference.
        first = table.offsets[:-1][lengths > 0]
        steps[first] = positions[first]
        count = np.log(np.maximum(table.count[tokens], 1)) / COUNT
        columns = (
            _varints(np.diff(tokens, prepend=0)),
            np.rint(count).clip(0, 255).astype(np.uint8),
            _varints(lengths[tokens]),
            _varints(steps),
            np.rint(-np.log(table.probability) / PROBABILITY).clip(0, 255).astype(np.uint8),
        )
        for name, column in zip(NAMES, columns, strict=True):
            arrays["-".join(pair) + "." + name] = column
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            # Fixed date, so that equal tables give equal bytes.
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(member, content.getvalue(), zipfile.ZIP_LZMA)
    return out.getvalue()


def _varints(values: np.ndarray) -> np.ndarray:
    """Encode ``(n,)`` integers from 0 to 2**32 as varints; all bytes of a number but the last
    exceed 127.
    """
    rest = values.astype(np.uint64)
    digits = np.stack([rest >> np.uint64(7 * i) for i in range(5)], axis=1)
    used = np.arange(5) < np.maximum((digits > 0).sum(axis=1), 1)[:, None]
    more = np.zeros_like(used)
    more[:, :-1] = used[:, 1:]
    return ((digits & np.uint64(127)).astype(np.uint8) | (more.astype(np.uint8) << 7))[used]


def _integers(codes: np.ndarray) -> np.ndarray:
    """Decode :func:`_varints` to ``(n,) int64``. Raises ValueError for other bytes."""
    last = np.flatnonzero(codes < 128)
    if not len(codes):
        return np.empty(0, np.int64)
    if not len(last) or last[-1] != len(codes) - 1:
        raise ValueError("an integer is cut off")
    start = np.concatenate([[0], last[:-1] + 1])
    digit = np.arange(len(codes)) - np.repeat(start, last - start + 1)
    if digit.max() > 4:
        raise ValueError("an integer is too long")
    return np.add.reduceat((codes & 127).astype(np.int64) << (7 * digit), start)


def from_bytes(data: bytes, name: str, digest: str = "") -> Lexicons:
    """Read :func:`to_bytes` from the file ``name``; its SHA-256 ``digest`` is optional.

    Raises ArtifactError for invalid data; a damaged table may raise it on first use.
    """
    try:
        tables = _Stored(data, name)
        return Lexicons(tables, digest, tables.size)
    except Exception as error:  # zipfile, lzma and numpy raise nearly anything
        raise _damaged(name, error) from None


class _Stored(Mapping[Direction, TranslationTable]):
    """Tables of an archive, decoded on first use."""

    def __init__(self, data: bytes, name: str):
        archive = open_npz(io.BytesIO(data))
        self.data, self.archive, self.name = data, archive, name
        self.size = int(archive["size"])
        counts = Counter(key.rpartition(".")[0] for key in archive if "." in key)
        if set(counts.values()) != {len(NAMES)}:
            raise ValueError("a direction lacks an array")
        self.pairs = sorted((a, b) for a, _, b in (key.partition("-") for key in counts))
        self._known = frozenset(self.pairs)
        self._decoded: dict[Direction, TranslationTable] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, pair: object) -> bool:
        return pair in self._known

    def __iter__(self) -> Iterator[Direction]:
        return iter(self.pairs)

    def __getitem__(self, pair: Direction) -> TranslationTable:
        if pair not in self._known:
            raise KeyError(pair)
        if pair not in self._decoded:
            try:
                self._decoded[pair] = self._table(pair)
            except Exception as error:  # see from_bytes
                raise _damaged(self.name, error) from None
        return self._decoded[pair]

    def _read(self, pair: Direction, name: str) -> np.ndarray:
        array: np.ndarray = self.archive["-".join(pair) + "." + name]
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError("an array of other numbers than bytes")
        return array

    def _tokens(self, pair: Direction) -> np.ndarray:
        return np.cumsum(_integers(self._read(pair, "tokens")))

    def _table(self, pair: Direction) -> TranslationTable:
        tokens, others = self._tokens(pair), self._tokens(pair[::-1])
        count = np.zeros(self.size, dtype=np.float32)
        count[tokens] = np.exp(self._read(pair, "counts") * COUNT)
        lengths = np.zeros(self.size, dtype=np.int64)
        lengths[tokens] = _integers(self._read(pair, "rows"))
        offsets = offsets_of(lengths)
        steps = _integers(self._read(pair, "pieces"))
        if offsets[-1] != len(steps):
            raise ValueError("rows and pieces contradict each other")
        total = np.cumsum(steps)
        # Sum of all rows above each row.
        before = np.concatenate([[0], total])[offsets[:-1]]
        pieces = others[total - np.repeat(before, lengths)]
        probability = np.exp(-PROBABILITY * self._read(pair, "probabilities"))
        return TranslationTable(
            offsets, pieces.astype(np.int32), probability.astype(np.float32), count
        )


def _damaged(name: str, error: Exception) -> ArtifactError:
    if isinstance(error, ArtifactError):
        return error
    return ArtifactError(f"{name}: not a lexicon ({reason(error)}); copy the model again")
