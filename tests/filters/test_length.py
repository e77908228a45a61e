"""Length filters, in scripts of low and high density."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.filters.filter_types import Batch, Context
from miner.filters.length import CHARACTERS_A_WORD, width
from miner.filters.registry import FILTERS
from miner.text.words import words_without_spaces

RATIO = FILTERS["length_ratio"]
# Article 29 of the Universal Declaration of Human Rights in English, Chinese and Thai.
ENGLISH = (
    "In the exercise of his rights and freedoms, everyone shall be subject only to such "
    "limitations as are determined by law solely for the purpose of securing due recognition and "
    "respect for the rights and freedoms of others and of meeting the just requirements of "
    "morality, public order and the general welfare in a democratic society."
)
CHINESE = (
    "人人在行使他的权利和自由时，只受法律所确定的限制，确定此种限制的唯一目的在于保证对旁人的权利和自由"
    "给予应有的承认和尊重，并在一个民主的社会中适应道德、公共秩序和普遍福利的正当需要。"
)
THAI = (
    "ในการใช้สิทธิและอิสรภาพแห่งตน ทุกคนต้องอยู่ภายใต้เพียงเช่นข้อจำกัดซึ่งได้กำหนดโดยกฎหมายเท่านั้น "
    "เพื่อวัตถุประสงค์ของการได้มาซึ่งการยอมรับและการเคารพสิทธิและอิสรภาพอันควรของผู้อื่น "
    "และเพื่อให้สอดคล้องกับข้อกำหนดอันยุติธรรมของศีลธรรม ความสงบเรียบร้อยของประชาชน"
    "และสวัสดิการทั่วไปในสังคมประชาธิปไตย"
)


def ratio(source: str, target: str, slack: float = 15.0) -> float:
    (score,) = RATIO.build({"slack": slack}, Context())(Batch([source], [target]))
    return float(score)


@pytest.mark.parametrize("text", [CHINESE, THAI])
def test_scripts_without_spaces(text: str) -> None:
    assert ratio(text, ENGLISH) == ratio(ENGLISH, text) < 1.5
    assert ratio(text, ENGLISH * 4) > 3 and ratio(text * 4, ENGLISH) > 3


def test_ratio_by_hand() -> None:
    assert ratio("abcd", "漢字かなの", 0) == pytest.approx(7 / 3 * CHARACTERS_A_WORD / 4)
    assert ratio("abcd", "дé", 0) == 2 and ratio("a", "a" * 33) == 3
    assert ratio("", "", 0) == 1 and ratio("a", "", 0) == float("inf")


@given(st.text(st.sampled_from("aé漢かカ한ก々，\u0e31")))
def test_width_is_its_reference(text: str) -> None:
    others = sum(c not in "漢かカก々\u0e31" for c in text)
    assert width(text) == others + CHARACTERS_A_WORD * words_without_spaces(text)


@pytest.mark.parametrize("text", [CHINESE, THAI])
def test_length_counts_words_in_all_scripts(text: str) -> None:
    length = FILTERS["length"]
    score = length.build({"of": "longer"}, Context())
    english, other = score(Batch([ENGLISH, text], ["x", "x"]))
    assert english == 56 and abs(other - english) < 12
