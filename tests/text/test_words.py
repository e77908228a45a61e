"""miner.text.words: words with combining marks agree with Unicode."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.text.near_copies import _SYMBOLS, bare, plain
from miner.text.words import (
    JOINERS,
    MARKS,
    NO_WORD,
    SPACELESS,
    count_parts,
    count_tokens,
    folded,
    joined,
    spaced,
    tokens,
    words_without_spaces,
)

ALL = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
UPON = [c for c in ALL if unicodedata.category(c) in ("Mn", "Mc") and not "\ufe00" <= c <= "\ufe2f"]


def test_marks_are_those_of_unicode() -> None:
    assert list(MARKS) == UPON
    assert not re.search(r"\w", MARKS + JOINERS), "a mark would be a letter, too"


def test_joined_texts_have_spaces_where_their_script_has() -> None:
    assert joined(["Der Hund", "bellt.", "", "Ja"]) == "Der Hund bellt. Ja"
    assert joined(["東京へ", "行く", "。", "はい"]) == "東京へ行く。はい"
    assert joined(["ไป", "ไหน", "OK", "東京"]) == "ไปไหน OK 東京" and joined([]) == ""


def test_symbols_are_those_of_unicode() -> None:
    """Only some ranges of characters are looked through when the module is imported."""
    found = {
        one
        for one in map(chr, (*range(0x24, 0x10000), *range(0x1F000, 0x1FB00)))
        if unicodedata.category(one) in ("Sc", "Sm", "So") and not "\u2500" <= one <= "\u25ff"
    }
    assert (found | {"%", "‰"}) - {"|"} == _SYMBOLS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("हिन्दी में लिखता हूँ।", ["हिन्दी", "में", "लिखता", "हूँ", "।"]),
        ("தமிழ் மொழி, 3", ["தமிழ்", "மொழி", ",", "3"]),
        ("می‌خوانم", ["می‌خوانم"]),
        ("E\u0301te\u0301!", ["e\u0301te\u0301", "!"]),
        ("שָׁלוֹם־לך", ["שָׁלוֹם", "־", "לך"]),
        ("東京 no タワー", ["東", "京", "no", "タ", "ワ", "ー"]),
        ("ไทย a", ["ไ", "ท", "ย", "a"]),
        ("a ❤\ufe0f", ["a", "❤", "\ufe0f"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text(st.sampled_from("aé9 -.漢\u0301\u093f\u094d\u200c\u0e31हि") | st.sampled_from(ALL)))
def test_a_mark_stays_with_its_letter(text: str) -> None:
    found, low = tokens(text), text.lower()
    assert "".join(found) == "".join(re.findall(r"\S", low))
    starts, place = set(), 0
    for token in found:
        place = low.index(token[0], place)
        starts.add(place)
        place += len(token)
    spaceless = re.compile(f"[{SPACELESS}]")
    for place in range(1, len(low)):
        word = low[place - 1].isalnum() and not spaceless.match(low[place - 1])
        if word and low[place] in UPON and not spaceless.match(low[place]):
            assert place not in starts
            assert not NO_WORD.match(low[place])


@given(st.text(st.sampled_from(["ह", "क", " ", ".", "_", "A", *UPON]), max_size=9))
def test_marks_belong_to_the_form_that_duplicates_share(text: str) -> None:
    assert bare(text) == plain(text).encode()
    if any(c.isalnum() for c in text):
        kept = [c for c in folded(text) if c.isalnum() or c in MARKS]
        assert [c for c in plain(text) if c != " "] == kept


@given(st.text(st.sampled_from("a bé漢ก\u3000")))
def test_splitting_at_spaces(text: str) -> None:
    assert "".join(spaced(text)) == "".join(text.split())
    assert spaced(text) == re.sub("[漢ก]", r" \g<0> ", text).split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("I am - here", 4),
        ("ใช่", 1),
        ("ตำรวจกำลังค้นหาชายคนหนึ่งที่หนีออกจากเรือนจำ", 9),  # police are searching for a man who escaped
        ("នេះជាសៀវភៅរបស់ខ្ញុំ", 3),  # this is my book
        ("ဒါက ကျွန်တော့်စာအုပ်ပါ", 4),
        ("ཕོར་ལཱུཔ་འགོ་འབྱེད་མ་འབད།", 4),
        ("你好，世界！", 3),
        ("更新 Windows を再起動します。", 6),
    ],
)
def test_words_of_scripts_without_spaces_are_estimated(text: str, words: int) -> None:
    assert count_tokens(text) == words


def test_parts_with_words_of_scripts_without_spaces() -> None:
    for text, parts in [("Ja, gut.", 4), ("你好，世界！", 5), ("ใช่ ok", 2), ("", 0), ("་།", 0)]:
        assert count_parts(text, tokens(text)) == parts


@given(st.text(st.sampled_from("a é.9\u0e31漢カกкབ한")))
def test_counts_of_any_text(text: str) -> None:
    letters = {"漢": 1.5, "カ": 3, "ก": 4, "བ": 3.5}
    estimated = sum(1 / letters.get(letter, float("inf")) for letter in text)
    assert words_without_spaces(text) == pytest.approx(estimated)
    if not estimated and "\u0e31" not in text:
        assert count_tokens(text) == len(text.split())
    assert (count_tokens(text) > 0) or not any(map(str.isalnum, text))
