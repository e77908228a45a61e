"""Files of raw lines, and pieces of lines that are hard for readers."""

from pathlib import Path

from hypothesis import strategies as st

from miner.text.compression import codec


def put(path: Path, data: bytes) -> Path:
    """Write a file, compressed by its suffix."""
    library = codec(str(path))
    path.write_bytes(library.compress(data) if library else data)
    return path


def lines_of(data: bytes) -> list[bytes]:
    """Split at line feeds, as a plain reference."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


# Pieces of lines that are hard for readers, except text with carriage returns only, which is
# refused.
hard = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"\t", b"a", b"\xff", b"\xc3", "\u2028".encode(), b"\x85", b"\x0b", b"\r",
         b'{"source": "a", "target": "b"}', b"{", b"}", b'"', b"\xef\xbb\xbf", b" ", b"\x00"]
    ),
    max_size=40,
).map(b"".join).filter(lambda data: b"\n" in data or data.count(b"\r") < 2)  # fmt: skip
