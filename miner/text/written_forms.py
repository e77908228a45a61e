"""Written forms with their own codes: Hindi in Latin letters, Burmese in Zawgyi.

Models know only the usual form. Identification takes Latin Hindi for any language, and Zawgyi, a
font encoding with the same characters in another order, for Burmese.
"""

import re

from miner.text.language_codes import LATIN_HINDI, ZAWGYI

# Zawgyi writes a virama before letters other than consonants, to hide the inherent vowel, and
# writes before the consonant the vowel sign and the medial that are displayed left of it. The ends
# of a text are not searched, because it may be cut there.
_ZAWGYI = re.compile(
    "\u1039[^\u1000-\u1021\u105a-\u105d]|[^\u1000-\u109f\u200b-\u200d][\u1031\u103b]"
)

# Frequent words of Hindi and Urdu: unambiguous ones, and ones that other languages share.
_CERTAIN = (
    "hai hain nahi nahin mein raha rahe rahi kiya karna karte karta mujhe mujhse tumhara tumhare "
    "tumhari aap aapka aapke aapki kyun kyon kaise kahan yahan wahan yeh woh bhi lekin magar liye "
    "saath kuch bahut bohot accha achha achhi gaya gayi diya wali abhi phir kisi apna apne apni "
    "uska uske uski iska iske iski maine usne unhone humne tumhe mera meri humein hamein hamara "
    "hamare chahiye chahte hoti hote hoon agar toh sabhi bata batao dekho karenge jata jaate sakta "
    "sakte sakti"
)
_SHARED = (
    "kar ke ki ka ko se ne par jab tab jo tum sab hun mere tha thi aur kya koi hota hume karo wale "
    "wala"
)
_HINDI = frozenset(_CERTAIN.split())
_WORDS = _HINDI | frozenset(_SHARED.split())
# Minimum share of Hindi words in a Hindi sentence, and minimum number of them.
_SHARE, _FEWEST = 0.3, 2
_WORD = re.compile("[a-z]+")


def written_form(text: str) -> str | None:
    """Return the code of a text's written form, a key of ``FORMS``; None for the usual form."""
    if not text.isascii():
        return ZAWGYI if _ZAWGYI.search(text) else None
    words = _WORD.findall(text.lower())
    count = sum(word in _WORDS for word in words)
    if count < max(_FEWEST, _SHARE * len(words)) or _HINDI.isdisjoint(words):
        return None
    return LATIN_HINDI
