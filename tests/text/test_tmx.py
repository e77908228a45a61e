"""TMX: units of other tools are read and written; faults are one line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.texts import QUICK, TEXT, put

from miner import filter as filter_rows
from miner.errors import CorpusError, UnreadableError
from miner.text import xml_parser
from miner.text.bitext import read_bitext
from miner.text.formats import FORMATS, BitextFormat
from miner.text.output import one_line
from miner.text.text_format import Column, RawText
from miner.text.write_bitext import write_bitext

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
    text = RawText(str(tmp_path / "a.tmx"))
    found = FORMATS["tmx"].rows(text, [Column("source"), Column("target")])

    def held(text: str) -> str:
        kept = "".join(c for c in one_line(text) if c >= " ")
        return kept.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd").strip()

    assert [(row["source"], row["target"]) for row in found] == [
        (held(source), held(target)) for source, target, _ in texts
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<tmx><body><tu>", "line 1: not XML (no element found); mend the line"),
        ("<tmx>\n<body></tu></tmx>", "line 2: not XML (mismatched tag)"),
        ('<?xml version="1.0" encoding="hex"?><tmx/>', "line 1: declares the encoding 'hex'"),
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


def file(path: Path, *units: str, srclang: str = "de", head: str = "") -> Path:
    return put(
        path, f"{head}<tmx><header srclang='{srclang}'/>\n<body>\n{''.join(units)}</body></tmx>"
    )


def unit(*texts: str, own: str = "") -> str:
    """Return a unit of texts (``de:Hund``) on one line."""
    pairs = [text.split(":") for text in texts]
    tuvs = [f"<tuv xml:lang='{code}'><seg>{text}</seg></tuv>" for code, text in pairs]
    return f"<tu{own and f' srclang={own!r}'}>{''.join(tuvs)}</tu>\n"


def pairs(path: Path, *columns: str | None, on_error: str = "fail") -> list[tuple[str, str]]:
    found = read_bitext(path, None, BitextFormat(*columns, on_error=on_error))
    return list(zip(found.source, found.target, strict=True))


TURNED = [unit("de:Hund", "en:dog"), unit("en:cat", "de:Katze")]
DE_EN = [("Hund", "dog"), ("Katze", "cat")]


@pytest.mark.parametrize("srclang", ["de", "deu", "de-CH", "*all*"])
def test_the_source_of_a_unit_is_the_other_language(tmp_path: Path, srclang: str) -> None:
    path = file(tmp_path / "a.tmx", *TURNED, srclang=srclang)
    for columns in ((), (None, "en"), ("de",), ("ger", "en-GB")):
        assert pairs(path, *columns) == DE_EN
    for columns in ((None, "de"), ("en",), ("eng", "de_AT")):
        assert pairs(path, *columns) == [(target, source) for source, target in DE_EN]


def test_a_unit_names_its_source(tmp_path: Path) -> None:
    units = [unit("en:dog", "de:Hund", own="de"), unit("en:cat", "de:Katze", own="de")]
    for srclang in ("*all*", "en"):
        assert pairs(file(tmp_path / "a.tmx", *units, srclang=srclang)) == DE_EN
    mixed = file(tmp_path / "b.tmx", units[0], unit("en:cat", "de:Katze", own="en"))
    with pytest.raises(CorpusError, match="line 4: several target languages .de, en.; .*--tcol"):
        pairs(mixed)
    assert pairs(mixed, None, "en") == DE_EN


def test_codes_of_one_language(tmp_path: Path) -> None:
    chinese = [
        unit("eng:dog", "zh-Hans:A"),
        unit("en-GB:cat", "zh-CN:B"),
        unit("EN_us:ox", "cmn:C"),
    ]
    path = file(tmp_path / "a.tmx", *chinese, srclang="en-US")
    expected = [("dog", "A"), ("cat", "B"), ("ox", "C")]
    assert pairs(path) == pairs(path, "en", "zh") == pairs(path, None, "zho") == expected
    variants = file(tmp_path / "b.tmx", unit("en-GB:colour", "en-US:color"), srclang="en-US")
    assert pairs(variants) == pairs(variants, None, "en-GB") == [("color", "colour")]
    assert pairs(variants, "en-GB", "en-US") == [("colour", "color")]
    both = file(tmp_path / "c.tmx", unit("en:bus", "pt-PT:autocarro", "pt-BR:ônibus"), srclang="en")
    assert pairs(both, "en", "pt-BR") == [("bus", "ônibus")]


@pytest.mark.parametrize(
    ("srclang", "columns", "said"),
    [
        ("de", (None, "fr"), "no unit has a text in 'fr' (--tcol); there are: de, en"),
        ("de", ("fr",), "no unit has a text in 'fr' (--scol); there are: de, en"),
        ("de", ("german", "en"), "no unit has a text in 'german' (--scol); there are: de, en"),
        ("de", ("1", "2"), "no unit has a text in '1' (--scol); there are: de, en"),
        ("de", ("de", "de"), "no unit has a text in 'de' (--tcol) beside its source"),
        (
            "fr",
            (),
            "no unit has a text in 'fr', the source language of the file; there are: de, en",
        ),
    ],
)
def test_languages_that_no_unit_has(
    tmp_path: Path, srclang: str, columns: tuple[str | None, ...], said: str
) -> None:
    path = file(tmp_path / "a.tmx", *TURNED, srclang=srclang)
    with pytest.raises(CorpusError) as error:
        pairs(path, *columns)
    assert said in str(error.value)


def test_several_languages_are_chosen_among(tmp_path: Path) -> None:
    path = file(tmp_path / "a.tmx", unit("de:Hund", "en:dog", "fr:chien"), srclang="*all*")
    with pytest.raises(CorpusError, match="line 3: several source languages .de, en.; .*--scol"):
        pairs(path, None, "fr")
    assert pairs(path, "en", "fr") == [("dog", "chien")]
    alone = file(tmp_path / "b.tmx", unit("de:Hund"), unit("de:Katze"))
    with pytest.raises(CorpusError, match="no unit has texts in two languages; there are: de"):
        pairs(alone)


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("Save<ph/>Cancel", "Save Cancel"),
        ("Save<ph>{0}</ph><it pos='end'/>Cancel", "Save Cancel"),
        ("Save<x/>Cancel", "Save Cancel"),
        ("Save <ph/>Cancel<ph/>", "Save Cancel"),
        ("<ph/>Sa<bpt i='1'>&lt;b></bpt>ve<ept i='1'/>", "Save"),
        ("a<bpt i='1'>(<sub>b</sub></bpt><ph/>c<ut>d</ut>e<hi>f</hi>", "a cef"),
        ("<![CDATA[R&D]]>&nbsp;<!-- c -->&#65;", "R&D\xa0A"),
    ],
)
def test_codes_and_placeholders(tmp_path: Path, segment: str, text: str) -> None:
    assert pairs(file(tmp_path / "a.tmx", unit(f"de:{segment}", "en:b"))) == [(text, "b")]


def test_texts_without_a_segment(tmp_path: Path) -> None:
    source = "<tuv xml:lang='de'><prop type='a'>no</prop>Hund <note>no</note>ja</tuv>"
    target = "<tuv xml:lang='en'>\n<prop type='a'>no</prop>\n<seg>dog</seg>\n</tuv>"
    assert pairs(file(tmp_path / "a.tmx", f"<tu>{source}{target}</tu>")) == [("Hund ja", "dog")]


def test_upper_case_and_namespaces(tmp_path: Path) -> None:
    text = file(tmp_path / "a.tmx", *TURNED).read_text(encoding="utf-8")
    assert pairs(put(tmp_path / "b.tmx", text.upper())) == [("HUND", "DOG"), ("KATZE", "CAT")]
    spaced = text.replace("<tmx", "<t:tmx xmlns:t='x'").replace("</tmx", "</t:tmx")
    assert pairs(put(tmp_path / "c.tmx", spaced)) == DE_EN


@pytest.mark.parametrize("encoding", ["windows-1252", "gb18030", "utf-32"])
def test_declared_encodings(tmp_path: Path, encoding: str) -> None:
    head = f"<?xml version='1.0' encoding='{encoding}'?>"
    path = file(tmp_path / "a.tmx", unit("de:à", "en:b"), head=head)
    put(path, path.read_text(encoding="utf-8").encode(encoding))
    assert pairs(path) == [("à", "b")]


def test_a_wide_encoding_that_is_only_declared(tmp_path: Path) -> None:
    head = "<?xml version='1.0' encoding='UTF-16'?>"
    assert pairs(file(tmp_path / "a.tmx", unit("de:ä", "en:b"), head=head)) == [("ä", "b")]


BAD = [
    (b"\xe4", "line 4, in the unit of line 3: 0xE4 is not UTF-8", "H\ufffdnd"),
    (b"\x0b", "line 4, in the unit of line 3: U+000B is no character", "H\ufffdnd"),
    (b"&#x1F;", "line 4, in the unit of line 3: &#x1F; stands for no character", "H\ufffdnd"),
    (b"&", "line 4: not XML (not well-formed (invalid token))", None),
    (b"<br>", "line 4: not XML (mismatched tag)", None),
]


@pytest.mark.parametrize(("bad", "said", "replaced"), BAD)
def test_faulty_units(tmp_path: Path, bad: bytes, said: str, replaced: str | None) -> None:
    broken = "<tu tuid='1'><tuv xml:lang='de'>\n<seg>HBADnd</seg></tuv></tu>\n"
    broken = broken.replace("</tu>", "<tuv xml:lang='en'><seg>x</seg></tuv></tu>")
    text = file(tmp_path / "a.tmx", broken, *TURNED).read_bytes()
    path = put(tmp_path / "a.tmx", text.replace(b"BAD", bad))
    with pytest.raises(UnreadableError) as error:
        pairs(path)
    assert said in str(error.value)
    notes: list[str] = []
    skip = BitextFormat(on_error="skip")
    found = filter_rows(path, filters=["length"], layout=skip, note=notes.append)
    assert [(row["source"], row["target"]) for row in found] == DE_EN
    assert [(row["filter"], row["id"]) for row in found.rejected] == [("unreadable", "1")]
    assert len(notes) == 1 and "1 faulty unit left out" in notes[0] and said in notes[0]
    left_out = read_bitext(path, None, skip)
    assert (left_out.records, left_out.undecodable) == (3, 1)
    if replaced is None:
        with pytest.raises(UnreadableError, match="not XML"):
            pairs(path, on_error="replace")
        return
    assert pairs(path, on_error="replace") == [(replaced, "x"), *DE_EN]
    assert read_bitext(path, None, BitextFormat(on_error="replace")).replaced == 1


@pytest.mark.parametrize("on_error", ["replace", "skip"])
def test_scored_units_have_no_half_of_a_pair(miner, tmp_path: Path, on_error: str) -> None:
    path = file(tmp_path / "a.tmx", unit("de:HBADnd", "en:x"), *TURNED)
    put(path, path.read_bytes().replace(b"BAD", b"\xe4"))
    code, out, _ = miner("score", path, "--score", "length", "--on-error", on_error)
    assert code == 0 and "\\ud" not in out and '"source": "H\ufffdnd"' in out


def test_faults_outside_the_wanted_texts_are_none(tmp_path: Path) -> None:
    odd = unit("de:Hund<ph>&#1;</ph>", "en:dog", "fr:\x01")
    path = file(tmp_path / "a.tmx", "<!-- \x01 -->", odd, srclang="de")
    assert pairs(path, None, "en") == [("Hund", "dog")]


@settings(QUICK, max_examples=200)
@given(st.data())
def test_a_damaged_file_has_good_rows_or_an_error_in_one_line(
    tmp_path: Path, data: st.DataObject
) -> None:
    text = UNITS.format(encoding="utf-8").encode()
    place = data.draw(st.integers(0, len(text)))
    mend = data.draw(st.sampled_from([b"", b"\xff", b"&", b"<", b">", b"\0", b"</tu>", b"<!--"]))
    path = put(
        tmp_path / "a.tmx", text[:place] + mend + text[place + data.draw(st.integers(0, 9)) :]
    )
    for on_error in ("fail", "replace", "skip"):
        try:
            pairs(path, on_error=on_error)
        except CorpusError as error:
            assert "\n" not in str(error)


def test_references_and_units_cut_by_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units = [unit("de:a&#x1F;&amp;", "en:&#66;"), unit("de:&", "en:b"), *TURNED]
    path = file(tmp_path / "a.tmx", *units)
    for size in (1, 3, 7):
        monkeypatch.setattr(xml_parser, "_PART", size)
        assert pairs(path, on_error="skip") == DE_EN


def test_codes_of_units_are_codes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did you mean Japanese"):
        write_bitext([{"source": "a", "target": "b"}], [str(tmp_path / "a.tmx")], ("jp", "en"))
