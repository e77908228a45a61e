"""miner.expressions: an expression is compiled once, when it is first used."""

import re

import pytest

from miner.expressions import expression


def test_an_expression_acts_as_a_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    whole = re.compile

    def counted(text: str, flags: int = 0) -> re.Pattern[str]:
        made.append(text)
        return whole(text, flags)

    monkeypatch.setattr("re.compile", counted)
    one = expression("a(b+)", re.IGNORECASE)
    assert one.pattern == "a(b+)" and not made
    found = one.search("xABb")
    assert found is not None and found[1] == "Bb"
    assert one.sub("-", "abc ab") == "-c -" and one.search("b") is None
    assert one.findall("ab abb") == ["b", "bb"] and one.flags & re.IGNORECASE
    assert len(made) == 4  # once for each attribute


def test_a_wrong_expression_raises_where_it_is_used() -> None:
    with pytest.raises(re.error):
        expression("(").search("")
