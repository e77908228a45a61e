"""Decoys of a model: sentences by language, in one file.

The zip archive has a member for each language, so that a single language can be unpacked:
``CODE.txt.xz`` for an ISO 639 code, ``.txt.xz`` for unknown language, one sentence a line.
"""

import io
import lzma
import zipfile
from collections.abc import Iterable, Mapping, Sequence

from miner.errors import ArtifactError
from miner.text.language_codes import alike
from miner.text.output import one_line

SUFFIX = ".txt.xz"
# Text compresses a little better without the alignment to four bytes that programs have.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}]
# Maximum bytes of a language's text, and of memory to unpack it.
LARGEST = 1 << 28


def pack(decoys: Mapping[str, Sequence[str]]) -> bytes:
    """Serialise sentences by language, sorted, because similar lines compress better."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for language in sorted(decoys):
            text = "".join(f"{one_line(sentence)}\n" for sentence in sorted(decoys[language]))
            # Fixed date, so that equal sentences give equal bytes.
            member = zipfile.ZipInfo(language + SUFFIX, (1980, 1, 1, 0, 0, 0))
            archive.writestr(member, lzma.compress(text.encode("utf-8"), filters=_FILTERS))
    return out.getvalue()


def unpack(data: bytes, name: str, language: str | None = None) -> dict[str, list[str]]:
    """Read :func:`pack`: the sentences that may be in ``language``, or all of them.

    Raises ArtifactError, naming the file ``name``.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {member.filename.removesuffix(SUFFIX): member for member in archive.filelist}
            if any(member.file_size > len(data) for member in members.values()):
                raise ValueError("a member is larger than the file")
            wanted = _wanted(members, language)
            return {code: _sentences(archive.read(members[code])) for code in wanted}
    except (lzma.LZMAError, zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise ArtifactError(f"{name}: no decoys ({error}); copy the model again") from None


def _sentences(data: bytes) -> list[str]:
    """Unpack the sentences of one language. Raises LZMAError or ValueError."""
    unpacker = lzma.LZMADecompressor(memlimit=LARGEST)
    text = unpacker.decompress(data, LARGEST).decode("utf-8")
    if not unpacker.eof:
        raise ValueError(f"cut short, or more than {LARGEST >> 20} MB unpacked")
    return text.split("\n")[:-1]


def in_language(decoys: Mapping[str, Sequence[str]], language: str | None) -> list[str]:
    """Select the decoys that may be in a language (ISO 639): with its code or without any.

    None selects all of them.
    """
    return [sentence for code in _wanted(decoys, language) for sentence in decoys[code]]


def _wanted(codes: Iterable[str], language: str | None) -> list[str]:
    wanted = None if language is None else {"", *alike(language)}
    return [code for code in codes if wanted is None or code in wanted]
