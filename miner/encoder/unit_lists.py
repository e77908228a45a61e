"""Helpers of all tokenizers: lines of a vocabulary, code points of texts, filters of token ids."""

from collections.abc import Sequence

import numpy as np

from miner.errors import ArtifactError
from miner.ragged import offsets_of


def vocabulary_lines(vocabulary: bytes, name: str) -> list[str]:
    """Split a vocabulary (UTF-8, one unit a line) into its units; line ``i`` has token id ``i``.

    Raises :class:`~miner.errors.ArtifactError`, naming the file ``name``, if a line is empty or
    repeated, or if there is none.
    """
    remedy = "copy or train the model again"
    try:
        lines = vocabulary.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{name}: byte {error.start} is not UTF-8; {remedy}") from None
    if lines == [""]:
        raise ArtifactError(f"{name}: no units in it; {remedy}")
    seen: dict[str, int] = {}
    for line, text in enumerate(lines, 1):
        if not text:
            raise ArtifactError(f"{name}, line {line}: empty; {remedy}")
        if seen.setdefault(text, line) != line:
            raise ArtifactError(
                f"{name}, line {line}: {text!r} is in line {seen[text]} already; {remedy}"
            )
    return lines


def code_points(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of all texts, ``(t,) uint32``, and ``offsets (n + 1,) int64``."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return codes, offsets_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))


def keep_ids(
    ids: np.ndarray, offsets: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Filter a ragged array of token ids by ``keep (t,) bool``; return ids and offsets."""
    if keep.all():
        return ids, offsets
    # Entry i of offsets_of(keep) is the number of kept ids before id i.
    return ids[keep], offsets_of(keep)[offsets]
