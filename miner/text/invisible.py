"""Invisible characters: dropped, or read as the spaces that text processors show."""

import re

from miner.expressions import expression

# Dropped characters: Unicode's Default_Ignorable_Code_Point (soft hyphen, zero-width space,
# byte-order mark, marks of direction, variation selectors, tags), marks of annotations and
# hieroglyphs, and ASCII controls except spaces.
_DROPPED = (
    "\x01-\x08\x0e-\x1b\x7f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Characters read as spaces: controls that end a line, page or field, and NUL; other controls above
# ASCII, mostly wrongly decoded punctuation of Windows-1252; the Braille blank; and the mark of an
# object, such as an image.
_BREAKS = "\x00\t-\r\x1c-\x1f\x85\u2028\u2029"
_SPACES = f"{_BREAKS}\x80-\x9f\u2800\ufffc"
BREAK, _SPACE, _NOTHING = (re.compile(f"[{some}]") for some in (_BREAKS, _SPACES, _DROPPED))
# Characters that need a closer look. One range covers all beyond the basic plane, because a search
# compares them one by one.
_ODD = re.compile(
    f"[{_SPACES}{_DROPPED.partition(chr(0x13430))[0]}\u200c\u200d\U00013430-\U000e0fff]"
)
# Joiners change the reading in the scripts from Arabic to Sinhala. There a joiner is kept behind a
# letter and a non-joiner between two letters. All others are dropped, for example in emoji.
NON_JOINER, JOINER = 0x200C, 0x200D
JOINED = range(0x620, 0xE00)
_JOINED = f"{chr(JOINED[0])}-{chr(JOINED[-1])}"
_LOOSE = expression(
    f"(?<![{_JOINED}\u200c\u200d])[\u200c\u200d]+|(?<=[\u200c\u200d])[\u200c\u200d]+"
)
_LAST = expression(f"\u200c(?![{_JOINED}])")


def visible(text: str) -> str:
    """Drop invisible characters; turn controls into spaces where text processors do.

    Joiners are kept where a script needs them. White space is neither merged nor stripped.
    """
    if text.isprintable() if text.isascii() else not _ODD.search(text):
        return text
    text = _NOTHING.sub("", _SPACE.sub(" ", text))
    return _LAST.sub("", _LOOSE.sub("", text))
