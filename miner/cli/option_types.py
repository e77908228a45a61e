"""Types of the values of options."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import click

from miner.machine import parse_size
from miner.option_values import canonical, device_name


class Parsed(click.ParamType):
    """Type of a text that ``parse`` reads, which raises ValueError with a message for the user."""

    def __init__(self, name: str, parse: Callable[[str], Any]):
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a size; write for example 512M or 8G") from None


def _count(text: str, least: int = 0) -> int:
    digits = text.strip()
    factor = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}.get(digits[-1:].lower(), 1)
    try:
        number = float(digits[:-1] if factor > 1 else digits) * factor
    except ValueError:
        number = -1.0
    if not least <= number < 1e18 or number != int(number):
        raise ValueError(f"{text!r} is not a count; write for example 5000, 200k or 5M")
    return int(number)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number


def _share(text: str) -> float:
    number = _number(text)
    if not 0 < number < 1:
        raise ValueError(f"{text} is not between 0 and 1; write for example 0.95")
    return number


def _sentence(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} is not UTF-8") from None
    return text


def _language(text: str) -> str:
    from miner.text.language_codes import language_code

    return language_code(text)


def name_of(choices: Sequence[str]) -> Parsed:
    """Type of an option with a choice of names or short forms."""
    return Parsed("name", lambda text: canonical(text, choices))


SIZE = Parsed("size", _size)
# Type of counts: 5000, 200k or 5M.
COUNT = Parsed("count", _count)
POSITIVE_COUNT = Parsed("count", lambda text: _count(text, least=1))
NUMBER = Parsed("number", _number)
SENTENCE = Parsed("sentence", _sentence)
# Types by ``FieldOption.kind``, for options whose field's type does not determine them.
DEVICE = Parsed("auto|cpu|cuda|cuda:N", device_name)
KINDS: dict[str, click.ParamType] = {
    "text": click.STRING,
    "size": SIZE,
    "count": COUNT,
    "positive count": POSITIVE_COUNT,
    "number": NUMBER,
    "share": Parsed("share", _share),
    "language": Parsed("code", _language),
    "device": DEVICE,
}
