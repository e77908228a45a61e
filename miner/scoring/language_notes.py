"""Messages about the languages of two texts: the identified ones, and how well the model knows
them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage, find
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.option_values import SIDES
from miner.scoring.languages import NAMED, Identified
from miner.text.language_codes import ENGLISH, FORMS, alike, describe

# Share of letters without a piece from which the script counts as unknown; maximum sentences
# checked.
UNREAD, SAMPLE = 0.3, 200
# Share of shuffled pairs kept from which the quality is unreliable in a language.
LITTLE = 0.05
# Advice for a language that a model hardly knows, and for one that it does not know.
REMEDY = "train a model on text of it (miner train), or use another encoder (index --embeddings)"
EXTEND = "add it to the model (miner train --from), or use another encoder (index --embeddings)"


def describe_both(languages: Sequence[Identified]) -> str:
    """Describe the languages of source and target, or of the source only, in one line."""
    return ", ".join(
        f"{side}: {language}" for side, language in zip(SIDES, languages, strict=False)
    )


def doubts(
    languages: Sequence[Identified],
    known: Mapping[str, KnownLanguage],
    by_row: bool = False,
) -> Iterator[str]:
    """Yield warnings for text in an unexpected language or in several, and for weak languages.

    Weak are languages that the model knows badly or not at all. Two fair ones other than English
    are doubted together. ``known`` are the languages that the model records; there is no doubt if
    it records none. ``by_row``: each row is scored in its own languages if a text has several. Then
    the measured effect of the quality bound, if there is one, tells how well the model knows a
    language.
    """
    for side, language in zip(SIDES, languages, strict=False):
        forms = [there for there in language.shares if there[0] in FORMS]
        if forms and forms[0][1] >= NAMED and language.sure:
            form, share = forms[0]
            yield (
                f"{share:.0%} of the {side} looks like {describe(form)}, which the model does not "
                f"know: {FORMS[form][1]}"
            )
        elif language.contradicted:
            seen, share = language.shares[0]
            yield (
                f"{share:.0%} of the {side} looks like {describe(seen)}; give --{side}-lang "
                f"{seen}, or check the file"
            )
        elif (
            language.given is None
            and language.sure
            and sum(there >= NAMED for _, there in language.shares) > 1
        ):
            way = "most of it is taken for all; sort it by language first"
            if by_row and language.mixed:
                way = "each row counts by its own, which short rows do not tell"
            yield f"the {side} is in several languages, {language}: {way}, or give --{side}-lang"
    fair = []
    sure = (language for language in languages if language.sure and known)
    for code in dict.fromkeys(
        code for language in sure for code in language.several or (language.code,)
    ):
        if code is None:
            continue
        facts = find(known, code)
        if code in FORMS:
            continue  # warned of above
        if facts is None:
            yield f"the model was not trained on {describe(code)}; {EXTEND}"
        elif by_row and facts.wrong_kept is not None:
            if facts.wrong_kept >= LITTLE:
                yield (
                    f"the quality tells little in {describe(code)}: the bound that loses few right "
                    f"pairs keeps {facts.wrong_kept:.0%} of shuffled ones; --threshold keeps less"
                )
        elif facts.level == "weak":
            yield f"the model is weak in {describe(code)} ({_why(facts)}); {REMEDY}"
        elif facts.level == "fair" and code != ENGLISH:
            fair.append(describe(code))
    if len(fair) == 2:
        yield (
            f"the model is only fair in {' and '.join(fair)}, which it knows from text with "
            "English: it misses many translations, and estimates of precision are less sure"
        )


def little_known(
    languages: tuple[Identified, Identified], known: Mapping[str, KnownLanguage]
) -> list[str]:
    """Return the codes of languages that a model knows badly or not at all.

    Empty if the model records no languages.
    """
    codes = dict.fromkeys(
        language.code for language in languages if language.code and language.sure and known
    )
    facts = ((code, find(known, code)) for code in codes if code is not None)
    return [code for code, known_as in facts if known_as is None or known_as.level == "weak"]


def unread(encoder: SentenceEncoder | None, sentences: Iterable[str]) -> Iterator[str]:
    """Yield a warning if most letters of the text are in no piece of the encoder's vocabulary."""
    tokenizer = encoder.tokenizer if isinstance(encoder, Encoder) else None
    if not isinstance(tokenizer, PieceTokenizer):
        return
    # NFC, because parts of a Korean syllable are in no piece.
    texts = (normalize("NFC", sentence) for sentence in sentences)
    letters = Counter(letter for text in texts for letter in text if letter.isalpha())
    _, offsets = tokenizer(list(letters))
    missing = sum(
        count for count, known in zip(letters.values(), np.diff(offsets), strict=True) if not known
    )
    if missing > UNREAD * letters.total():
        yield (
            f"{missing / letters.total():.0%} of the letters are in no piece of the model, which "
            f"cannot read such text; {EXTEND}"
        )


def one_language(languages: tuple[Identified, Identified]) -> Iterator[str]:
    """Yield warnings for corpora in the same language, as a whole or in part."""
    if _alike(languages):
        yield (
            f"both sides are in {describe(languages[0].code or '')}: equal and similar sentences "
            "pair up, not translations; check the files (--source-lang, --target-lang if misjudged)"
        )
        return
    if all(language.contradicted for language in languages):
        return  # swapped sides: another warning covers them
    for side, language, other in zip(SIDES, languages, languages[::-1], strict=True):
        there = alike(other.code) if other.code else set()
        share = sum(share for code, share in language.shares if not there.isdisjoint(alike(code)))
        if share >= NAMED:
            yield (
                f"{share:.0%} of the {side} looks like {describe(other.code or '')}, the language "
                "of the other side: copies pair up; 'miner filter --scol 2 --tcol 3' removes them"
            )


def mismatched(languages: tuple[Identified, Identified]) -> bool:
    """Return True if both texts are in one language, or not in the languages that were set."""
    return any(language.contradicted for language in languages) or _alike(languages)


def _alike(languages: tuple[Identified, Identified]) -> bool:
    """Return True if both texts as a whole are in the same language."""
    source, target = (alike(language.code) if language.code else set() for language in languages)
    return not source.isdisjoint(target)


def _why(facts: KnownLanguage) -> str:
    """Describe the evidence for a low level."""
    pairs = f"{facts.pairs:,} training pairs"
    if not facts.accuracy:
        return f"only {pairs}"
    test, worst = min(facts.accuracy.items(), key=lambda item: item[1])
    return f"{pairs}; {worst:.0%} of {test} sentences find their translation"
