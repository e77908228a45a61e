"""Language facts and decoys of a model: stored in files, and queried."""

import dataclasses
import io
import json
import lzma
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.encoder.decoy_file import in_language, pack, unpack
from miner.encoder.known_languages import (
    KnownLanguage,
    as_dict,
    find,
    quality_bound,
    quality_map,
    read,
)
from miner.encoder.model import load
from miner.errors import ArtifactError
from miner.text.output import one_line

CODES = st.sampled_from(["", "de", "en", "zh"])


def test_levels() -> None:
    assert [KnownLanguage(n).level for n in (10**6, 50_000, 10)] == ["good", "fair", "weak"]
    assert KnownLanguage(10, {}, {"Tatoeba": 0.99, "news": 0.91}).level == "good"
    assert KnownLanguage(10**6, {}, {"Tatoeba": 0.99, "news": 0.8}).level == "fair"
    assert KnownLanguage(10**6, {}, {"Tatoeba": 0.3}).level == "weak"


def test_facts_travel_with_the_model(tiny_model: Path, tmp_path: Path) -> None:
    facts = {"de": KnownLanguage(7, {"web": 7}, {"news": 0.5}), "no": KnownLanguage(3)}
    model = dataclasses.replace(load(tiny_model), languages=facts).save(tmp_path / "model")
    assert model.languages == facts and not load(tiny_model).languages
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["languages"]["de"]["level"] == "weak"
    assert find(facts, "deu") == facts["de"] and find(facts, "nb") == facts["no"]
    assert find(facts, "fr") is None
    # Among close languages the one that the user named counts.
    both = {"hr": KnownLanguage(1), "sr": KnownLanguage(2)}
    assert find(both, "sr") == both["sr"] and find(both, "bs") == both["hr"]


@pytest.mark.parametrize("record", [7, ["de"], {"de": 7}, {"de": {"pairs": 7, "text": {}}}])
def test_faulty_facts(record: object) -> None:
    with pytest.raises(ArtifactError, match="'languages' cannot be read"):
        read(record, "config.json")


@given(
    st.dictionaries(
        st.sampled_from(["de", "en"]),
        st.builds(
            KnownLanguage,
            st.integers(0),
            st.dictionaries(st.text(), st.integers(0)),
            st.dictionaries(st.text(), st.floats(0, 1)),
        ),
    )
)
def test_facts_read_back_the_same(facts: dict[str, KnownLanguage]) -> None:
    assert read(json.loads(json.dumps(as_dict(facts))), "x") == facts
    assert read(None, "x") == {}


# Each example allocates LZMA's largest dictionary.
@settings(max_examples=12)
@given(st.dictionaries(CODES, st.lists(st.text(), min_size=1)))
def test_decoys_read_back_the_same(decoys: dict[str, list[str]]) -> None:
    found = unpack(pack(decoys), "x")
    assert {code: sorted(texts) for code, texts in found.items()} == {
        code: sorted(map(one_line, texts)) for code, texts in decoys.items()
    }


def test_decoys_in_a_language() -> None:
    decoys = {"de": ["eins"], "zh": ["一"], "": ["?"]}
    assert in_language(decoys, None) == ["eins", "一", "?"]
    assert in_language(decoys, "de") == ["eins", "?"] and in_language(decoys, "fr") == ["?"]
    assert in_language(decoys, "yue") == ["一", "?"]
    assert unpack(pack(decoys), "x", "yue") == {"": ["?"], "zh": ["一"]}


def test_faulty_decoys() -> None:
    for member in (b"", b"x", lzma.compress(b"\xff\n"), lzma.compress(b"eins\n")[:-1]):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as writer:
            writer.writestr("de.txt.xz", member)
        for data in (member, archive.getvalue()):
            with pytest.raises(ArtifactError, match="no decoys"):
                unpack(data, "decoys.zip")


def test_the_least_bound_of_a_text_counts() -> None:
    known = {
        "he": KnownLanguage(9, quality_bound=0.002),
        "de": KnownLanguage(9, quality_bound=0.03),
        "en": KnownLanguage(9),
    }
    assert quality_bound(known, ("de", "en")) == 0.03
    assert quality_bound(known, ("he", "de")) == 0.002
    assert quality_bound(known, ("iw", None)) == 0.002
    assert quality_bound(known, ("fr", "en")) is None
    assert read(as_dict(known), "it") == known


def test_the_lines_of_two_languages_add_up() -> None:
    known = {
        "he": KnownLanguage(9, quality_map=(1.5, 0.6)),
        "fi": KnownLanguage(9, quality_map=(0.5, 1.0)),
        "en": KnownLanguage(9),
    }
    assert quality_map(known, ("iw", "en")) == (1.5, 0.6)
    assert quality_map(known, ("he", "fi")) == quality_map(known, ("fi", "he")) == (2.0, 0.8)
    assert quality_map(known, ("en", None)) == (0.0, 1.0)
    assert read(as_dict(known), "it") == known
    for line in ([1], "ab", [0, 0], [0, -1], [float("nan"), 1], 3):
        record = as_dict(known)
        record["he"]["quality_map"] = line
        with pytest.raises(ArtifactError, match="it: its 'languages' cannot be read"):
            read(record, "it")
