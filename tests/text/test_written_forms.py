"""miner.text.written_forms: Hindi in Latin letters, Burmese in Zawgyi, and other text."""

import pytest

from miner.text.written_forms import written_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Main kal bazaar gaya tha aur maine kuch sabziyan kharidi.", "hi-Latn"),
        ("Aap kaise hain?", "hi-Latn"),
        ("YEH BAHUT ACCHA HAI", "hi-Latn"),
        ("Sarkar ne kisanon ke liye nayi yojana shuru ki hai.", "hi-Latn"),
        # A single such word, or words of other languages.
        ("Hai poucos erros, se é que hai algún.", None),
        ("Hai să ne uităm.", None),
        ("Se hai domande importanti, abbiamo le risposte.", None),
        ("Hun tok tog til par ki sab", None),
        ("The main mera account is here, my friend", None),
        ("मैं कल बाज़ार गया था।", None),
        ("", None),
        # Zawgyi, and the same text in Unicode.
        ("ကၽြန္ေတာ္ ေက်ာင္းသြားသည္။", "my-Qaag"),
        ("ကျွန်တော် ကျောင်းသွားသည်။", None),
        ("သူ စာဖတ္ေနသည္။", "my-Qaag"),
        ("သူ စာဖတ်နေသည်။", None),
        ("၂၀၁၉ ျမန္မာ", "my-Qaag"),
        ("၂၀၁၉ မြန်မာ", None),
        # Stacked consonants; a truncated sentence; Shan.
        ("ဗုဒ္ဓဘာသာ အင်္ဂလိပ် ဥက္ကဋ္ဌ", None),
        ("ေန သတ္", None),
        ("ၵႂၢမ်းတႆး ၶဝ်ႈ", None),
    ],
)
def test_forms(text: str, form: str | None) -> None:
    assert written_form(text) == form
