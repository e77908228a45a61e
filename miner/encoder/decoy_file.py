"""Decoys of a model: sentences by language, in one compressed file.

A line is the ISO 639 code of the language, a tab and the sentence; the code is empty where the
language is unknown.
"""

import lzma
from collections.abc import Mapping, Sequence

from miner.errors import ArtifactError
from miner.text.language_codes import alike
from miner.text.output import one_line

# Text compresses a little better without the alignment to four bytes that programs have.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}]
# Most bytes of text, and of memory to unpack it.
LARGEST = 1 << 28


def pack(decoys: Mapping[str, Sequence[str]]) -> bytes:
    """Serialise sentences by language. They are sorted, since like lines compress better."""
    lines = (
        f"{language}\t{one_line(sentence)}\n"
        for language in sorted(decoys)
        for sentence in sorted(decoys[language])
    )
    return lzma.compress("".join(lines).encode("utf-8"), filters=_FILTERS)


def unpack(data: bytes, name: str) -> dict[str, list[str]]:
    """Read :func:`pack`. Raises ArtifactError, naming the file ``name``."""
    try:
        unpacker = lzma.LZMADecompressor(memlimit=LARGEST)
        text = unpacker.decompress(data, LARGEST).decode("utf-8")
        if not unpacker.eof:
            raise ValueError(f"cut short, or more than {LARGEST >> 20} MB unpacked")
        decoys: dict[str, list[str]] = {}
        for line in text.split("\n")[:-1]:
            language, sentence = line.split("\t")
            decoys.setdefault(language, []).append(sentence)
        return decoys
    except (lzma.LZMAError, EOFError, ValueError) as error:
        raise ArtifactError(f"{name}: no decoys ({error}); copy the model again") from None


def in_language(decoys: Mapping[str, Sequence[str]], language: str | None) -> list[str]:
    """Choose the decoys that may be in a language (ISO 639): its own and those without a code.

    All of them for None.
    """
    wanted = None if language is None else {"", *alike(language)}
    return [
        sentence
        for code, sentences in decoys.items()
        if wanted is None or code in wanted
        for sentence in sentences
    ]
