"""OPUS files: zips of Moses files, and XCES alignments with their documents."""

import gzip
from pathlib import Path

import pytest
from support.downloads import zipped
from support.raw_lines import put

from miner import filter as filter_rows
from miner.errors import CorpusError, UnreadableError
from miner.text.bitext import read_bitext
from miner.text.formats import BitextFormat

PAIRS = [("Es regnet.", "It rains."), ("Ja\u2028nein?", "Yes no?"), ("", "Alone."), ("Zwei", "Two")]
IDS = "de/1.xml.gz\ten/1.xml.gz\t1 2\t1"


def moses(path: Path, **more: str | bytes) -> Path:
    source, target = ("".join(f"{pair[side]}\n" for pair in PAIRS) for side in (0, 1))
    sides = {"de": source, "en": target} | more
    members = {f"X.v1.de-en.{name}": text for name, text in sides.items()}
    return put(path, zipped({"LICENSE": "free"} | members))


def pairs_of(path: Path, *columns: str) -> list[tuple[str, str]]:
    found = read_bitext(path, None, BitextFormat(*columns))
    return list(zip(found.source, found.target, strict=True))


def test_a_zip_of_moses_files(tmp_path: Path) -> None:
    path = moses(tmp_path / "de-en.txt.zip", ids=f"{IDS}\n" * len(PAIRS))
    expected = [pair for pair in PAIRS if all(pair)]
    assert pairs_of(path) == pairs_of(path, "de", "en") == expected
    assert pairs_of(path, "en", "de") == [(target, source) for source, target in expected]
    rows = filter_rows(path, filters=["length"])
    assert [(row["source"], row["target"]) for row in rows] == PAIRS
    facts = {"document1": "de/1.xml.gz", "document2": "en/1.xml.gz", "ids1": "1 2", "ids2": "1"}
    assert {name: rows[0][name] for name in facts} == facts
    with pytest.raises(CorpusError, match="no language 'fr'; there are: de, en"):
        pairs_of(path, "fr", "en")


def test_a_zip_made_on_macos_and_one_with_a_bad_byte(tmp_path: Path) -> None:
    sides = {"X.de-en.de": b"Hund\nKa\xe4tze\n", "X.de-en.en": b"\xef\xbb\xbfdog\ncat\n"}
    own = {f"__MACOSX/._{name}": b"\0\5\x16" for name in sides} | {"._X.de-en.en": b"\0"}
    path = put(tmp_path / "a.zip", zipped(own | sides))
    with pytest.raises(UnreadableError, match=r"X\.de-en\.de, line 2, byte offset 2: 0xE4"):
        pairs_of(path)
    found = [read_bitext(path, None, BitextFormat(on_error=one)) for one in ("skip", "replace")]
    assert [one.source for one in found] == [["Hund"], ["Hund", "Ka\ufffdtze"]]
    assert (found[0].undecodable, found[1].replaced, found[1].target) == (1, 1, ["dog", "cat"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"en": "one\n"}, r"de-en\.de has more lines than the other side, which has 1"),
        ({"en": b"\xff\n" * 4}, r"X\.v1\.de-en\.en, line 1, byte offset 0: 0xFF is not UTF-8"),
    ],
)
def test_faulty_zips(more: dict, said: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=said):
        pairs_of(moses(tmp_path / "a.zip", **more))
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:-30])
    with pytest.raises(CorpusError, match="not a sound zip"):
        pairs_of(tmp_path / "b.zip")
    both = put(tmp_path / "c.zip", zipped({"A.de-en.de": "a", "B.de-en.en": "b"}))
    with pytest.raises(CorpusError, match="not the two of a pair"):
        pairs_of(both)


ALIGNED = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" "">
<cesAlign version="1.0">
<linkGrp targType="s" fromDoc="de/a.xml.gz" toDoc="en/a.xml.gz">
<link id="1" xtargets="s1;s1 s2" certainty="0.9" />
<link id="2" xtargets="s2;" />
</linkGrp>
<linkGrp targType="s" fromDoc="de/b.xml.gz" toDoc="en/b.xml.gz"><link xtargets="s1;s1"/></linkGrp>
</cesAlign>
"""


@pytest.fixture
def aligned(tmp_path: Path) -> Path:
    """Write an alignment of two document pairs, of words and of text, plain and compressed."""
    documents = {
        "de/a.xml": "<t><s id='s1'><w>Es</w> <w>regnet</w><w>.</w></s><s id='s2'>Rest</s></t>",
        "en/a.xml": "<text><p><s id='s1'> It\n rains. </s><s id='s2'>Yes &amp; no.</s></p></text>",
        "de/b.xml": "<text><s id='s1'>Zwei</s></text>",
        "en/b.xml": "<text><s id='s1'>Two</s></text>",
    }
    for name, text in documents.items():
        place = tmp_path / "OPUS/xml" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("de"):
            place.with_name(f"{place.name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            place.write_text(text, encoding="utf-8")
    path = tmp_path / "OPUS/de-en.xml.gz"
    path.write_bytes(gzip.compress(ALIGNED.encode()))
    return path


def test_an_xces_alignment(aligned: Path) -> None:
    expected = [("Es regnet .", "It rains. Yes & no."), ("Zwei", "Two")]
    assert pairs_of(aligned) == expected
    assert pairs_of(aligned, "en", "de") == [(target, source) for source, target in expected]
    rows = filter_rows(aligned, filters=["length"])
    ids = [(row["ids1"], row["ids2"]) for row in rows]
    assert ids == [("s1", "s1 s2"), ("s2", ""), ("s1", "s1")]
    assert rows[0]["certainty"] == "0.9" and rows[2]["document2"] == "en/b.xml.gz"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("en/b.xml.gz", "en/c.xml.gz", r"line 8: en/c\.xml\.gz: not there"),
        ("en/b.xml.gz", "../../b.xml", "not below the folder"),
        ('"s1;s1"', '"s1;s9"', r"line 8: en/b\.xml\.gz: no sentence 's9'"),
        ('"s1;s1"', '"s1"', "a link without two sides"),
        ("</linkGrp>", "", "line [0-9]+: not XML"),
        ("cesAlign", "html", "begins with <html>, not <cesAlign>"),
        ('EN" ""', 'EN" "" [<!ENTITY a "b">]', "declares the entity 'a'"),
    ],
)
def test_faulty_alignments(old: str, new: str, said: str, aligned: Path) -> None:
    aligned.write_bytes(gzip.compress(ALIGNED.replace(old, new).encode()))
    with pytest.raises(CorpusError, match=said):
        pairs_of(aligned)


FAULTS = [
    ("de/b.xml.gz", None, "de/b.xml.gz: not there"),
    ("de/b.xml.gz", b"<text><s id='s1'>Zw", "de/b.xml.gz, line 1: not XML"),
    ("de/b.xml.gz", b"<text><s id='s2'>Zwei</s></text>", "de/b.xml.gz: no sentence 's1'"),
    ("de/b.xml.gz", b"<text>\n<s id='s1'>Zw\xe4i</s></text>", "de/b.xml.gz, line 2: 0xE4 is not"),
    ("en/b.xml", b"<text><s id='s1'>T\0o</s></text>", "en/b.xml, line 1: U+0000 is no character"),
]


@pytest.mark.parametrize(("name", "content", "said"), FAULTS)
def test_faulty_documents(name: str, content: bytes | None, said: str, aligned: Path) -> None:
    place = aligned.parent / "xml" / name
    place.unlink()
    if content is not None:
        place.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(UnreadableError) as error:
        pairs_of(aligned)
    assert said in str(error.value)
    skip = BitextFormat(on_error="skip")
    found = read_bitext(aligned, None, skip)
    assert (found.source, found.records, found.undecodable) == (["Es regnet ."], 3, 1)
    notes: list[str] = []
    rejected = filter_rows(aligned, filters=["length"], layout=skip, note=notes.append).rejected
    assert [(row["filter"], row["document1"]) for row in rejected] == [
        ("unreadable", "de/b.xml.gz")
    ]
    assert len(notes) == 1 and "1 faulty unit left out" in notes[0] and said in notes[0]
    replace = BitextFormat(on_error="replace")
    if " is no" in said:
        found = read_bitext(aligned, None, replace)
        assert "\ufffd" in found.source[-1] + found.target[-1] and found.replaced == 1
    else:
        with pytest.raises(UnreadableError):
            read_bitext(aligned, None, replace)


def test_codes_of_one_language(aligned: Path, tmp_path: Path) -> None:
    assert pairs_of(aligned, "eng", "de-AT")[1] == ("Two", "Zwei")
    assert pairs_of(moses(tmp_path / "a.zip"), "en-US", "deu")[0] == PAIRS[0][::-1]
    with pytest.raises(CorpusError, match="'de' would be both sides; there are: de, en"):
        pairs_of(aligned, "de", "deu")


def test_neither_is_one_side_or_an_output(aligned: Path, miner, tmp_path: Path) -> None:
    code, _, err = miner("mine", aligned, aligned)
    assert code == 1 and "a xces file is a bitext, not one side" in err
    pairs = tmp_path / "a.tsv"
    pairs.write_text("a\tb\n", encoding="utf-8")
    for name in ("out.zip", "out.xml"):
        code, _, err = miner("score", pairs, "-o", tmp_path / name)
        assert code == 2 and "is not written" in err
