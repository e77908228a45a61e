"""Regular expressions that are compiled on first use: few commands need the large ones."""

import re
from typing import Any, cast


class _Expression:
    """Stand-in for a compiled expression; keeps each of its attributes from the first use on."""

    def __init__(self, text: str, flags: int):
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, attribute)
        return attribute


def expression(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return the expression ``re.compile(text, flags)``, to be compiled on first use."""
    return cast("re.Pattern[str]", _Expression(text, flags))
