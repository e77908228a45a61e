"""Text as filters and statistics see it: tokens, letters, scripts.

Scripts that are written without spaces have no words to split at: each of their characters is a
token, so that a length or an overlap means about the same for every language.
"""

import re

# Han, kana, Thai, Lao, Myanmar, Khmer and what belongs to them.
SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_SPACELESS = re.compile(f"[{SPACELESS}]")
_TOKEN = re.compile(rf"[{SPACELESS}]|[^\W{SPACELESS}]+|[^\w\s]")
_LENGTH = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")


def tokens(text: str) -> list[str]:
    """Words, marks and, of scripts without spaces, characters; in lower case."""
    return _TOKEN.findall(text.lower())


def count_tokens(text: str) -> int:
    """What stands between spaces and, of scripts without them, characters."""
    if text.isascii() or not _SPACELESS.search(text):
        return len(text.split())
    return len(_LENGTH.findall(text))
