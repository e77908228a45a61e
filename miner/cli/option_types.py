"""Types of the values of options."""

import math
from collections.abc import Sequence
from typing import Any

import click

from miner.machine import parse_size
from miner.names import canonical


class Size(click.ParamType):
    """Number of bytes: 512M, 8G."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return parse_size(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a size; write for example 512M or 8G", param, ctx)


class Count(click.ParamType):
    """Whole number such as 5000, 200k or 5M, of at least ``least``."""

    name = "count"

    def __init__(self, least: int = 0):
        self.least = least

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        text = str(value).strip()
        factor = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}.get(text[-1:].lower(), 1)
        try:
            number = float(text[:-1] if factor > 1 else text) * factor
        except ValueError:
            number = -1.0
        if not self.least <= number < 1e18 or number != int(number):
            self.fail(f"{value!r} is not a count; write for example 5000, 200k or 5M", param, ctx)
        return int(number)


class Number(click.ParamType):
    """Finite real number."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class Share(Number):
    """Real number between 0 and 1, both excluded."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = super().convert(value, param, ctx)
        if not 0 < number < 1:
            self.fail(f"{value} is not between 0 and 1; write for example 0.95", param, ctx)
        return number


class Sentence(click.ParamType):
    """Text in UTF-8."""

    name = "sentence"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8", param, ctx)
        return value


class Language(click.ParamType):
    """BCP-47 code of a language."""

    name = "code"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from miner.text.language_codes import is_language

        if not is_language(str(value)):
            self.fail(f"{value!r} is no language code, such as de, en or zh-Hant", param, ctx)
        return str(value)


class Name(click.ParamType):
    """One of several names, or its short form."""

    name = "name"

    def __init__(self, choices: Sequence[str]):
        self.choices = choices

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            return canonical(value, self.choices)
        except ValueError as error:
            self.fail(str(error), param, ctx)


# Types of options whose fields' types do not tell them, by the words of ``Setting.kind``.
KINDS: dict[str, click.ParamType] = {
    "text": click.STRING,
    "size": Size(),
    "count": Count(),
    "positive count": Count(1),
    "number": Number(),
    "share": Share(),
    "language": Language(),
}
