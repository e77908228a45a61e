"""The encoding filter: text whose bytes were once decoded wrongly, and its repair by ftfy.

ftfy finds the text that it can repair: UTF-8 that was decoded as Windows-1252 or a similar
encoding, once or several times. Characters that were lost (U+FFFD) cannot be repaired.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from miner.filters.filter_types import Filter, each

# Replaced bytes, a byte order mark inside the text, control characters, characters that Unicode
# never assigns, and lone surrogates.
_BROKEN = re.compile(
    "[\ufffd\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)
# A text that ftfy changes has one of a few characters, or two adjacent ones outside of ASCII, the
# second no letter of a non-Latin script. Most text has neither, and ftfy is slow to find out. A
# test compares this with ftfy's own expression.
_SUSPICIOUS = re.compile(
    "[\x80-\x9fÂÃŒœ]|[^\x00-\x7f][\xa0-\u0385\u0402\u0490\u0491\u2000-\u2fff\uf8ff\ufb01\ufb02\ufffd]"
)


def broken(source: str, target: str) -> float:
    """1 if a side has characters that no text should have, or if ftfy would repair it."""
    repair = repairer()
    for text in (source, target):
        if text.isascii() and text.isprintable():
            continue
        if _BROKEN.search(text) or repair(text) != text:
            return 1.0
    return 0.0


@lru_cache(maxsize=1)
def repairer() -> Callable[[str], str]:
    """Return a function that decodes wrongly decoded parts of a text, and changes nothing else.

    Quotes, ligatures, widths, entities, control characters, line breaks and normal forms stay.
    """
    import ftfy  # here, as it loads slowly

    # `fix_encoding` uses only the settings about encodings.
    config = ftfy.TextFixerConfig(explain=False)

    def one(text: str) -> str:
        if text.isascii() or not _SUSPICIOUS.search(text):
            return text
        return ftfy.fix_encoding(text, config)

    return one


FILTERS = (
    Filter(
        "encoding",
        "1 for text that was decoded wrongly or has lost characters (U+FFFD) or control characters",
        "broken encoding",
        "lower",
        each(broken),
        maximum=0,
        default=True,
        whole=True,
        libraries=("ftfy",),
        paper="Speer 2019, ftfy",
    ),
)
