"""Text whose bytes were once read in a wrong encoding, and what repairs it.

What ftfy finds is what it can put right: UTF-8 that was read as Windows-1252 and the like, once or
several times. What is lost, and stands as U+FFFD, nobody can.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from miner.errors import DependencyError
from miner.filters.filter_types import Context, Filter, Scorer, each

# Replaced bytes, a byte order mark inside of the text, control characters, what Unicode promises
# never to assign, and surrogates on their own.
_BROKEN = re.compile(
    "[\ufffd\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)
# What ftfy calls bad holds one of a few characters, or two beyond ASCII side by side of which the
# second is no letter of a script of its own. Most text has neither, and ftfy is slow to say so. A
# test holds this against ftfy's own expression.
_SUSPICIOUS = re.compile(
    "[\x80-\x9fÂÃŒœ]|[^\x00-\x7f][\xa0-\u0385\u0402\u0490\u0491\u2000-\u2fff\uf8ff\ufb01\ufb02\ufffd]"
)


def broken(source: str, target: str) -> float:
    """1 where a side has characters that no text has, or reads otherwise once it is repaired."""
    repair = repairer()
    for text in (source, target):
        if text.isascii() and text.isprintable():
            continue
        if _BROKEN.search(text) or repair(text) != text:
            return 1.0
    return 0.0


def repair(text: str) -> str:
    """``text`` with wrongly decoded parts decoded rightly; all else stays as it is.

    Quotes, ligatures, widths, entities, control characters, line breaks and the form of accents
    are not touched. Raises :class:`~miner.errors.DependencyError` without ftfy.
    """
    return repairer()(text)


@lru_cache(maxsize=1)
def repairer() -> Callable[[str], str]:
    """:func:`repair`, ready to be called often."""
    try:
        import ftfy
    except ImportError:
        raise DependencyError(
            'broken encoding is found with ftfy; run: pip install "bitext-miner[filter]"'
        ) from None
    # `fix_encoding` heeds the settings of encodings alone.
    config = ftfy.TextFixerConfig(explain=False)

    def one(text: str) -> str:
        if text.isascii() or not _SUSPICIOUS.search(text):
            return text
        return ftfy.fix_encoding(text, config)

    return one


def _encoding(settings: Mapping[str, Any], context: Context) -> Scorer:
    repairer()  # which says what is missing before any work
    return each(broken)(settings, context)


FILTERS = (
    Filter(
        "encoding",
        "1 for text that was decoded wrongly, has lost characters (U+FFFD), or has control "
        "characters",
        "broken encoding",
        "lower",
        _encoding,
        maximum=0,
        default=True,
        whole=True,
        paper="Speer 2019, ftfy",
    ),
)
