"""Number words of the table, compared with the library that they came from."""

import pytest

from miner.text.spelled_numbers import spelled

LANGUAGES = "be cs de en es fi fr he hu it lt lv nl no pl pt ro ru sk sl sr sv uk"


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_base_forms_are_those_of_num2words(language: str) -> None:
    library = pytest.importorskip("num2words", reason="needs num2words")
    for number in (*range(3, 20), 30, 40, 50, 60, 70, 80, 90, 200, 300, 500):
        word = library.num2words(number, lang=language)
        read = spelled(word)
        assert not read or number in read[0].values or read[0].values == (), (word, read)


@pytest.mark.parametrize(
    ("words", "value"),
    [("vierundzwanzig", 24), ("quatre-vingt-dix", 90), ("двести пять", 205), ("kolmekymmentä", 30)],
)
def test_words_are_joined_to_numbers(words: str, value: int) -> None:
    assert spelled(words)[0].values == (value,)
