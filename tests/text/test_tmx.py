"""TMX: units read from files of other tools, written and read back, and faults told in one line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import QUICK, TEXT, put

from miner.errors import CorpusError
from miner.text.bitext import read_bitext
from miner.text.formats import FORMATS, BitextFormat
from miner.text.output import one_line
from miner.text.text_format import Column

UNITS = """<?xml version="1.0" encoding="{encoding}"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" datatype="xml"><prop type="x">header</prop></header><body>
<tu tuid="7"><prop type="url">http://a</prop><note>note</note>
  <tuv xml:lang="EN-US"><prop type="y">of a text</prop><seg>Press <bpt
   i="1">&lt;b&gt;</bpt><hi>Save</hi><ept i="1">&lt;/b&gt;<sub>no</sub></ept> &amp; go</seg></tuv>
  <tuv xml:lang="de"><seg>
    Drücken Sie „Speichern“
    und los
  </seg></tuv>
  <tuv xml:lang="de_AT"><seg>Speichern\u2028drücken</seg></tuv></tu>
<tu><tuv lang="de"><seg>Ja</seg></tuv><tuv lang="en"><seg>Yes</seg></tuv></tu>
<tu><tuv lang="en"><seg>Alone</seg></tuv></tu>
</body></tmx>
"""
ROWS = [
    ("Press Save & go", "Drücken Sie „Speichern“ und los"),
    ("Press Save & go", "Speichern\u2028drücken"),
    ("Yes", "Ja"),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_units_of_other_tools(tmp_path: Path, encoding: str) -> None:
    name = encoding.removesuffix("-sig").removesuffix("-be")
    text = UNITS.format(encoding=name).encode(encoding)
    path = put(tmp_path / "a.tmx", text if encoding != "utf-16-be" else b"\xfe\xff" + text)
    found = read_bitext(path, more=["id", "url"])
    assert list(zip(found.source, found.target, strict=True)) == ROWS and found.empty == 1
    assert found.more == [("7", "http://a")] * 2 + [("", "")]
    packed = put(tmp_path / "a.tmx.gz", gzip.compress(text))
    assert read_bitext(packed).source == found.source
    turned = read_bitext(path, None, BitextFormat("de", "en"))
    assert list(zip(turned.target, turned.source, strict=True)) == [ROWS[0], ROWS[2]]
    variant = read_bitext(path, None, BitextFormat("en", "de-AT"))
    assert variant.target == ["Drücken Sie „Speichern“ und los", "Speichern\u2028drücken", "Ja"]


@QUICK
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=5))
def test_what_is_written_reads_back(tmp_path: Path, texts: list[tuple[str, str, str]]) -> None:
    rows = [dict(zip(("source", "target", "id"), row, strict=True)) for row in texts]
    FORMATS["tmx"].write(rows, tmp_path / "a.tmx", ("de", "en"))
    found = FORMATS["tmx"].rows(str(tmp_path / "a.tmx"), [Column("source"), Column("target")])

    def held(text: str) -> str:
        kept = "".join(c if c >= " " else "\ufffd" for c in one_line(text))
        return kept.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd").strip()

    assert [(row["source"], row["target"]) for row in found] == [
        (held(source), held(target)) for source, target, _ in texts
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<tmx><body><tu>", "line 1: not XML (no element found); mend the line"),
        ("<tmx>\n<body></tu></tmx>", "line 2: not XML (mismatched tag)"),
        ("<html></html>", "line 1: begins with <html>, not <tmx>"),
        ('<!DOCTYPE tmx [<!ENTITY a "aaaa">]><tmx>&a;</tmx>', "line 1: declares the entity 'a'"),
        ("<tmx><tu><tuv><seg>a</seg></tuv></tu></tmx>", "a <tuv> without xml:lang"),
        (
            "<tmx><header srclang='de'/><tu><tuv lang='de'><seg>a</seg></tuv><tuv lang='en'><seg>b"
            "</seg></tuv><tuv lang='fr'><seg>c</seg></tuv></tu></tmx>",
            "line 1: several target languages (en, fr); choose one with --tcol",
        ),
    ],
)
def test_faults_are_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CorpusError) as error:
        read_bitext(put(tmp_path / "a.tmx", text))
    assert str(error.value).startswith(f"{tmp_path / 'a.tmx'}, line") and said in str(error.value)
    assert "\n" not in str(error.value)
