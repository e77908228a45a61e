"""miner.encoder.one_script: Serbian in Latin letters and digits 0 to 9."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.encoder.one_script import in_one_script


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Љубав и џеп: ево ђака, њој ћу рећи.", "Ljubav i džep: evo đaka, njoj ću reći."),
        ("Фијакер жури, шеф чека; хоћу цвет.", "Fijaker žuri, šef čeka; hoću cvet."),
        # No letter that Serbian alone has: it may be another language.
        ("Мама дома", "Мама дома"),
        ("Он живёт в Москве", "Он живёт в Москве"),
        ("٣٤٥ و ۶۷", "345 و 67"),
        ("१२ ১৩ ௧௪ ๑๕ １６", "12 13 14 15 16"),
        ("Straße x² ½", "Straße x² ½"),
    ],
)
def test_reads_in_one_script(text: str, read: str) -> None:
    assert in_one_script([text]) == [read]


@given(st.text(alphabet="abčšđžljnj АБаб 12", max_size=20))
def test_other_text_stays(text: str) -> None:
    assert in_one_script([text]) == [text]
