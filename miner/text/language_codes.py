"""Codes of languages: the shortest one of each, its English name, and codes that stand for one."""

import re

# The one language that all language pairs of public sets share.
ENGLISH = "en"

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")

# A language's shortest code, then its others: ISO 639-3, ISO 639-2/B, obsolete ones, and the member
# of a macrolanguage that most of its text is in.
_NAMED = (
    "ab abk, af afr, am amh, an arg, ar ara arb, as asm, av ava, ay aym, az aze azj, ba bak, be "
    "bel, bg bul, bm bam, bn ben, bo bod tib, br bre, bs bos, ca cat, ce che, co cos, cs ces "
    "cze, cu chu, cv chv, cy cym wel, da dan, de deu ger, dv div, dz dzo, ee ewe, el ell gre, "
    "en eng, eo epo, es spa, et est ekk, eu eus baq, fa fas per pes, ff ful, fi fin, fo fao, fr "
    "fra fre, fy fry, ga gle, gd gla, gl glg, gn grn, gu guj, gv glv, ha hau, he heb iw, hi "
    "hin, hr hrv, ht hat, hu hun, hy hye arm, ia ina, id ind in, ie ile, ig ibo, io ido, is isl "
    "ice, it ita, ja jpn, jv jav, ka kat geo, ki kik, kk kaz, kl kal, km khm, kn kan, ko kor, "
    "ks kas, ku kur, kv kom, kw cor, ky kir, la lat, lb ltz, lg lug, li lim, ln lin, lo lao, lt "
    "lit, lv lav lvs, mg mlg plt, mi mri mao, mk mkd mac, ml mal, mn mon khk, mr mar, ms msa "
    "may zsm, mt mlt, my mya bur, nb nob, ne nep npi, nl nld dut, nn nno, no nor, ny nya, oc "
    "oci, om orm gaz, or ori ory, os oss, pa pan, pl pol, ps pus pbt, pt por, qu que, rm roh, "
    "rn run, ro ron rum mo, ru rus, rw kin, sa san, sc srd, sd snd, se sme, sg sag, sh hbs, si "
    "sin, sk slk slo, sl slv, sm smo, sn sna, so som, sq sqi alb als, sr srp, ss ssw, st sot, "
    "su sun, sv swe, sw swa swh, ta tam, te tel, tg tgk, th tha, ti tir, tk tuk, tl tgl, tn "
    "tsn, to ton, tr tur, ts tso, tt tat, tw twi, ty tah, ug uig, uk ukr, ur urd, uz uzb uzn, "
    "vi vie, vo vol, wa wln, wo wol, xh xho, yi yid ydd ji, yo yor, za zha, zh zho chi cmn, zu "
    "zul"
)
_SHORT = {other: short for short, *others in map(str.split, _NAMED.split(",")) for other in others}

# Codes of one language, or of varieties that identification distinguishes and users who name a
# file's language do not.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "ar ary arz",
        "bs hr sh sr",
        "el grc",
        "fa prs",
        "fil tl",
        "gn gug",
        "hbo he",
        "id ms",
        "ku sdh ckb kmr",
        "lv ltg",
        "nb nn no",
        "uz uzs",
        "wuu yue zh",
    )
)

# English names of the languages that users are told about; the code stands for others.
_NAMES = (
    "af Afrikaans, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, "
    "bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek, en English, "
    "eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, "
    "ga Irish, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, "
    "hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, "
    "kk Kazakh, km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, "
    "lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam, "
    "mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, nb Norwegian, ne Nepali, "
    "nl Dutch, nn Norwegian, no Norwegian, pa Punjabi, pl Polish, ps Pashto, pt Portuguese, "
    "ro Romanian, ru Russian, sh Serbo-Croatian, si Sinhala, sk Slovak, sl Slovenian, "
    "so Somali, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, "
    "th Thai, tl Tagalog, tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, "
    "xh Xhosa, yo Yoruba, zh Chinese, zu Zulu"
)
_ENGLISH = {code: name for code, name in map(str.split, _NAMES.split(","))}


def is_language(code: str) -> bool:
    """Check the form of a BCP-47 code; there need not be such a language."""
    return _LANGUAGE.fullmatch(code) is not None


def primary(language: str) -> str:
    """Shortest code of the language of a BCP-47 code: ``de`` for de-AT, DE_de, deu and ger."""
    code = language.replace("_", "-").split("-")[0].lower()
    return _SHORT.get(code, code)


def alike(language: str) -> frozenset[str]:
    """Languages that text of this one may be identified as, itself included."""
    code = primary(language)
    return next((group for group in _ALIKE if code in group), frozenset([code]))


def describe(language: str) -> str:
    """Name a language for people: ``German (de)``, or its code alone."""
    code = primary(language)
    return f"{_ENGLISH[code]} ({code})" if code in _ENGLISH else code
