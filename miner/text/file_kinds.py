"""Detection of files that are not lines of text, by their first bytes, with hints."""

import codecs
import re

# Bytes read at the head of a file.
HEAD = 4096
_OFFICE = "save it as plain text in UTF-8"
_TABLE = "export it as tab-separated text in UTF-8"
_PANDOC = "make text of it, as by 'pandoc FILE --to plain --wrap none -o FILE.txt'"
_UTF16 = "convert it with iconv -f UTF-16 -t UTF-8"
# First bytes, file kind, and hint.
_BINARY = (
    (b"%PDF-", "a PDF", "make text of it, as by 'pdftotext FILE'"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old document of Word, Excel or PowerPoint", _OFFICE),
    (b"PAR1", "Parquet", "give --format parquet, or name it .parquet"),
    (b"ARROW1", "Arrow", "write it as Parquet"),
    (b"\x89HDF\r\n", "HDF5, such as vectors", "give the text that belongs to it"),
    (b"\x93NUMPY", "a NumPy array", "give the text that belongs to it"),
    (b"SQLite format 3\0", "a database of SQLite", _TABLE),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it"),
    (b"\x89PNG\r\n", "an image", "recognise its text first"),
    (b"\xff\xd8\xff", "an image", "recognise its text first"),
    (b"GIF8", "an image", "recognise its text first"),
    (b"\xde\x12\x04\x95", "a catalogue of gettext (.mo)", "make TMX of it, as by po2tmx"),
    (b"\x7fELF", "a program", "give a file of text"),
)
# Name among the first entries of a zip, file kind, and hint.
_ZIPPED = (
    (b"application/vnd.oasis.opendocument.spreadsheet", "a spreadsheet (.ods)", _TABLE),
    (b"application/vnd.oasis.opendocument", "a document of LibreOffice", _OFFICE),
    (b"application/epub", "an e-book (.epub)", _PANDOC),
    (b"xl/", "a spreadsheet (.xlsx)", _TABLE),
    (b"ppt/", "slides (.pptx)", _OFFICE),
    (b"word/", "a Word document (.docx)", _OFFICE),
    (b"[Content_Types].xml", "a document of Word or Excel", _OFFICE),
)
# Byte patterns of wide encodings, and of text formats that are not lines of sentences.
_WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"),
    (codecs.BOM_UTF32_BE, "UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16", _UTF16),
    (codecs.BOM_UTF16_BE, "UTF-16", _UTF16),
)
_MARKUP = (
    (
        rb"<!doctype\s+html|<html[\s>]",
        "a web page (HTML)",
        _PANDOC.replace("FILE", "-f html FILE", 1),
    ),
    (rb"\[\s*\{\s*\"", "a JSON array", "make lines of it, as by 'jq -c .[] FILE > FILE.jsonl'"),
    (rb"\{\\rtf[0-9]", "a document in RTF", _PANDOC),
    (rb"(<\?xml[^>]*>\s*)?(<!doctype\s+tmx[^>]*>\s*)?<tmx[\s>]", "TMX", "give --format tmx"),
    (rb"<\?xml\s", "XML", "give --format tmx or xces, or make text of it"),
)


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a binary file and a hint; None for text."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        found = (one[1:] for one in _ZIPPED if one[0] in head)
        return next(found, ("a zip", "unpack it; a zip of OPUS must be named .zip"))
    if head[257:262] == b"ustar":
        return "a tar archive", "unpack it"
    return next((one[1:] for one in _BINARY if head.startswith(one[0])), None)


def foreign_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a file that is not lines of text, and a hint; None for lines."""
    found = next((one[1:] for one in _WIDE if head.startswith(one[0])), None)
    if found or (found := binary_kind(head)):
        return found
    wide = len(head) >= 16 and max(head[side::2].count(0) for side in (0, 1)) > len(head) // 3
    if wide and min(head[side::2].count(0) for side in (0, 1)) < len(head) // 10:
        little = head[1::2].count(0) > head[::2].count(0)
        return "UTF-16 without a mark", _UTF16.replace("-16 ", f"-16{'LE' if little else 'BE'} ")
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return next((one[1:] for one in _MARKUP if re.match(one[0], text, re.IGNORECASE)), None)
