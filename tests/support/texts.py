"""Helpers of tests that read and write text: difficult text, compressions, pipes."""

import bz2
import gzip
import io
import lzma
import random
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pyarrow import parquet

from miner.text.corpus import CorpusReader

if sys.version_info >= (3, 14):
    import compression.zstd as zstd
else:
    from backports import zstd

COMPRESS: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
}
LINES = np.array([2, 5, 9])
PACKED = [suffix for suffix in COMPRESS if suffix]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)
ODD = ["\u2028b", "a\x0bb", "a\x0cb", "a\x85b", "a\rb", "\ra", "a\r", "\x1c", " a ", "\0", "\ufeff"]
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def put(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def drain(reader: CorpusReader) -> list[str]:
    return [sentence for block in reader for sentence in block.sentences]


def tallies(reader: CorpusReader) -> tuple[int, int, int, int]:
    return reader.lines, reader.empty, reader.undecodable, reader.replaced


@cache
def noise(suffix: str) -> bytes:
    """Return 20 000 incompressible lines, so that a cut falls inside the data."""
    rng = random.Random(7)
    text = b"".join(b"%x\n" % rng.getrandbits(400) for _ in range(20_000))
    if suffix == ".xz":
        return lzma.compress(text, preset=0)
    return bytes(COMPRESS[suffix](text))


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("a pipe cannot seek")


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes, kind: type[io.BytesIO] = io.BytesIO) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(kind(data)))


def table(path: Path, **columns: Any) -> Path:
    parquet.write_table(pa.table(columns), path, row_group_size=3)
    return path
