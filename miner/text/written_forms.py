"""Forms of writing that have codes of their own: Hindi in Latin letters, Burmese in Zawgyi.

Models know the usual form alone. Identification of languages takes Latin Hindi for any language,
and Zawgyi, an encoding of fonts with the same characters in another order, for Burmese.
"""

import re

from miner.text.language_codes import LATIN_HINDI, ZAWGYI

# Zawgyi has the virama before other letters than consonants, where it hides an inherent vowel, and
# the vowel sign and the medial that are seen left of a consonant stand before it. Neither is looked
# for at the ends, as a text may be cut there.
_ZAWGYI = re.compile(
    "\u1039[^\u1000-\u1021\u105a-\u105d]|[^\u1000-\u109f\u200b-\u200d][\u1031\u103b]"
)

# Frequent words of Hindi and Urdu, and others of them that some language has, too.
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
# Share of a sentence's words from which on it is Hindi, and the least number of them.
_SHARE, _FEWEST = 0.3, 2
_WORD = re.compile("[a-z]+")


def written_form(text: str) -> str | None:
    """Return the code of a text in one of these forms, a key of ``FORMS``; None for any other."""
    if not text.isascii():
        return ZAWGYI if _ZAWGYI.search(text) else None
    words = _WORD.findall(text.lower())
    count = sum(word in _WORDS for word in words)
    if count < max(_FEWEST, _SHARE * len(words)) or _HINDI.isdisjoint(words):
        return None
    return LATIN_HINDI
