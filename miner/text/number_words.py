"""Words and signs beside digits, in the languages of the model and further ones."""

import re
from pathlib import Path
from unicodedata import normalize

from miner.expressions import expression


def table(name: str) -> list[str]:
    """Return the lines of a table beside this module."""
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


# Power of ten of each magnitude word behind a number. 0: ambiguous (5 m, 5 mil).
_MAGNITUDES = (
    ((2,), r"hundreds?|hundert|सौ|শত|ร้อย|trăm|ratus|ရာ|រយ|መቶ"),
    ((2, 0), r"cents?|cem|sto|ста"),
    (
        (3,),
        r"thousands?|thou(?=\.)|miles(?= de mil)|mil(?= mil)|tausend\w*|tsd|duizend\w*|tusen\w*"
        r"|tusind\w*|milliers|milhares|milers|tysi(?!ącl)\w+|tisíc(?!ilet)\w*|tisoč\w*|tisuć\w*|hiljad\w*|tuhat\w*|tuhan\w*|ezer\w*|tūkst\w*"
        r"|тысяч(?!елет)\w*|тыс|тисяч(?!оліт)\w*|тис|хиляд\w*|хиљад\w*|хилјад\w*|χιλιάδ\w*|آلاف|[أا]لف"
        r"|ألفًا|هزار|ہزار|אלפי(?!ות)\w*|אלף|हज़ार|हज़ार|हजार|হাজার|ஆயிரம்|వేల|ಸಾವಿರ|ആയിരം|હજાર|ਹਜ਼ਾਰ"
        r"|พัน|nghìn|ngàn|ngan|ribu|rb|mijë|þúsund\w*|հազար\w*|ათას\w*|мың|мянга\w*|ҳазор\w*|duisend|tûzen"
        r"|ထောင်|ពាន់(?!លាន)|ሺህ?",
    ),
    ((6, 3, 0), r"mil(?=\.)"),
    ((3, 0), r"mil"),
    ((3, 0), r"k|к|mille|mila|mie|mii|bin|bini|bine|binin|binler\w*|tuh|tis|tys|хил|χιλ|t|'000"),
    ((4,), r"หมื่น|vạn|သောင်း|ម៉ឺន|មុឺន"),
    ((5,), r"lakhs?|lacs?|लाख|লাখ|লক্ষ|லட்சம்|லட்ச\w*|แสน|లక్షల?|ಲಕ್ಷ|ലക്ഷം|લાખ|ਲੱਖ|لاکھ|သိန်း|សែន"),
    (
        (6,),
        r"milli?ones|mill?i[oóò]\u0301?n\w*|mill(?:ó|o\u0301)n|milió\w*|millió\w*|milyon\w*|miljo\w+|miljoen\w*|miljon\w*"
        r"|mili[jy]un\w*|milijon\w*|milh\w+|milioane|mio|mln|mlj|milj|миллион\w*|млн|мільйон\w*"
        r"|мільён\w*|милион\w*|εκατομμ[υύ]ρ[ιί]\w*|εκατ|ملايين|مليون|ملیون|میلیون|ملین|מיליונ?[ןי]|मिलियन"
        r"|মিলিয়ন|மில்லியன்|మిలియన్|ล้าน|triệu|juta|jt|միլիոն\w*|მილიონ\w*|სმ|million\w*|milljón\w*"
        r"|сая|[mf]iliwn|milliún|milioi|milyun|milliun\w*|သန်း|លាន|ሚሊዮን|ಮಿಲಿಯನ್|ದಶಲಕ್ಷ|ദശലക്ഷം|മില്യൺ|മില്യണ്\w*"
        r"|મિલિયન|ਮਿਲੀਅਨ|दशलक्ष",
    ),
    ((6, 0), r"megaton\w*|m|mn|mm|mi|mill|м|мил|tr"),
    ((7,), r"crores?|करोड़|करोड़|करोड|কোটি|கோடி|కోట్ల?|ಕೋಟಿ|കോടി|કરોડ|ਕਰੋੜ|کروڑ|ကုဋေ"),
    (
        (9,),
        r"bn|bln|mil[lj]?i?[aá]rd\w*|miljar\w*|milja[ar]d\w*|milij[ae]rd\w*|milyar\w*|miliar|milliárd\w*"
        r"|mld|mrd|bilh\w+|миллиард\w*|млрд|мільярд\w*|мільярд\w*|милиард\w*|милијард\w*|мрд"
        r"|δισεκατομμ\w+|δισ|مليار\w*|بليون|میلیارد|ارب|מיליארד\w*|बिलियन|अरब|বিলিয়ন|பில்லியன்|tỷ|tỉ"
        r"|միլիարդ\w*|მილიარდ\w*|milljarð\w*|тэрбум|biliwn|ពាន់លាន|ប៊ីលាន|ቢሊዮን|బిలియన్|ಬಿಲಿಯನ್|ബില്യൺ"
        r"|બિલિયન|અબજ|ਬਿਲੀਅਨ|ਅਰਬ|अब्ज",
    ),
    ((9, 0), r"gigaton\w*|b|б|md|mia|g|mmd"),
    ((9, 12), r"billions?|billon|bili?jun\w*|biljun\w*"),
    (
        (12,),
        r"bill[ij]?(?:ó|o\u0301)n|billones|billion(?:en|er)|biljo\w+|bilión\w*|billió\w*|bilion\w*|bilyon\w*",
    ),
    (
        (12,),
        r"triliun|trilyon\w*|trilh\w+|триллион\w*|трлн|трильйон\w*|трилион\w*|τρισεκατομμ\w+|τρισ|tln"
        r"|تريليون|تریلیون|טריליון|ट्रिलियन",
    ),
    ((12, 0), r"tn|т"),
    ((12, 18), r"trill?i[oó]\w*"),
    ((15,), r"quadrillions?|billiard\w*"),
)
# Scripts written without spaces between words.
_JOINED = "\u0e00-\u0e7f\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3"
_LETTER = r"[^\W\d_]"
# Text between a number and its magnitude word: 15-ти миллионов, 200多万.
_BLANK = r"(?:-?(?:[а-я]{1,2}|ti) | de (?=mi[il]))?[ \u00a0\u202f-]?"

# Endings of words for people, such as millionaire, which are no magnitudes.
_PEOPLE = (
    rf"(?!{_LETTER}{{0,20}}(?:naire|nair|n[äæ]r|ard[äæáa][rř]|нер|рдер|nari|naio|yarder|yoner|nää"
    r"|döör))"
)


def _magnitudes() -> str:
    groups = (f"(?P<m{i}>{words})" for i, (_, words) in enumerate(_MAGNITUDES))
    return "|".join(groups).replace(r"\w", _LETTER)


MAGNITUDE = expression(
    rf"{_BLANK}{_PEOPLE}(?:{_magnitudes()})(?:(?<=[{_JOINED}])|(?!{_LETTER}))(?:\.(?= ?\S))?",
    re.IGNORECASE,
)
# A word of a thousand or more without digits before it, perhaps at the end of a compound.
LARGE_WORD = expression(
    r"(?<!\d)(?<!\d[ \u00a0\u202f-])(?:"
    + "|".join(
        rf"(?:{words})(?!{_LETTER})"
        if powers == (3,)
        else rf"(?<!{_LETTER})(?:{words})(?!{_LETTER})"
        for powers, words in _MAGNITUDES
        if powers[0] >= 3 and (0 not in powers or words in ("mil", r"mil(?=\.)"))
    ).replace(r"\w", _LETTER)
    + rf"|(?<!{_LETTER})(?:mille|mila|mie|mii|bin|tuh|min)(?!{_LETTER}))",
    re.IGNORECASE,
)
POWERS = {f"m{i}": powers for i, (powers, _) in enumerate(_MAGNITUDES)}

# Time of day: 10:30, 10.30, 10h30, 10 Uhr 30; 10 pm, 22 Uhr. The last group is am or pm.
_HALF = r"(?P<half>[ap]\.? ?m(?![^\W\d_])\.?)"
_HALF2 = _HALF.replace("half", "half2")
_HOUR = r" ?(?:h|o.?clock|uhr|часов|год|giờ|時|时|点|點|시|ώρα|klo|óra|น\.|ч\.?(?= \d\d мин))"
CLOCK = expression(
    rf"(?P<hour>\d\d?)(?:(?:[:：.]|{_HOUR} ?)(?P<minute>[0-5]\d|\d(?= ?[分분]))(?!\d)"
    rf"(?:[:：][0-5]\d(?![\d]))?(?:[ \u00a0\u202f]?{_HALF})?|[ \u00a0\u202f]?{_HALF2}"
    rf"|{_HOUR}(?:(?<=[{_JOINED}])|(?![^\W\d_])))",
    re.IGNORECASE | re.ASCII,
)
# Fractions of one character, as numerators and denominators.
FRACTIONS = {
    sign: (int(parts[0]), int(parts[1]))
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
    for parts in [normalize("NFKC", sign).split("⁄")]
}
# Signs, and first two letters of words, behind a number that may change its value. A word of one
# letter must be followed by a non-letter.
MARKS = frozenset("个：:十百千万萬億亿兆십백천만억조多余餘割成時时点點시") | FRACTIONS.keys()
FOLLOWING = {word[:2] for _, words in _MAGNITUDES for word in words.split("|")}
FOLLOWING |= {
    "أل",
    "ال",
    "h",
    "o'",
    "o’",
    "uh",
    "ча",
    "го",
    "gi",
    "ώρ",
    "kl",
    "น.",
    "ч.",
    "am",
    "pm",
}
FOLLOWING |= {"de", "ór", "a", "p", "ти", "х", "ми", "го"}
# Words for am and pm before the hour.
BEFORE_NOON = "오전", "午前", "上午", "早上", "凌晨", "새벽"
AFTER_NOON = "오후", "午後", "下午", "晚上", "저녁", "傍晚"

# Words for half an hour before the hour: halb 8 is 7:30; half 8 is 8:30 in English.
HALF_BEFORE = expression(
    r"(?<!\w)(?:halb|(half)|halv|hálf|puoli|fél|půl|pol|pola|wpół do|pool|в пол|в половине) \Z",
    re.IGNORECASE,
)

# Half of a unit behind a number: 7 and a half, 7 millones y medio, 2年半.
_HALVES = (
    r"half|halb\w*|halv\w*|halve|media|medio|meia|meio|demie?|mezz[oa]|půl|pol[au]?|polov\w+|pół"
    r"|полов\w+|пол|μισ[όήά]|puoli|jumătate|mig|mitja"
)
HALF_BEHIND = expression(
    rf"(?:[ \u00a0](?:and|und|y|e|et|a|i|og|och|en|и|і|та|με|și|ja) "
    rf"(?:an? |un[ae]? |ein\w{{0,2}} |een |en )?(?:{_HALVES})|[ -](?:buçuk|yarım|yarim|دو نیم)"
    rf"|و ?نیم| ونصف| וחצי)(?![^\W\d_])"
    r"|(?:[个個]|か|ヶ|ヵ)?(?:年|月|時間|小时|小時|分[钟鐘間]?|日|天|倍|년|시간|개월|배|万|億|亿)?"
    r" ?[半반]",
    re.IGNORECASE,
)

# Magnitude words that precede the number: milioni 20.
_FIRST = {"elfu": 3, "laki": 5, "milioni": 6, "bilioni": 9, "kuma": 3, "miliyoona": 6}
_FIRST |= {"biliyoona": 9, "ထောင်": 3, "သောင်း": 4, "သိန်း": 5, "သန်း": 6, "ས་ཡ་": 6, "འབུམ་": 5}
MAGNITUDE_BEFORE = expression(rf"(?<!{_LETTER})({'|'.join(_FIRST)}) ?\Z", re.IGNORECASE)
FIRST = {word.lower(): power for word, power in _FIRST.items()}

# First year of each era minus 1, and words before a year of another calendar.
ERAS = {
    "明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911,
    "民国": 1911,
}  # fmt: skip

LETTER_ERAS = {"M": 1867, "T": 1911, "S": 1925, "H": 1988, "R": 2018}

# Months of calendars whose days are others than ours: Iran's, Islam's, the Jews' and Ethiopia's.
OTHER_MONTH = expression(
    r"(?<!\w)(?:فروردین|اردیبهشت|خرداد|مرداد|شهریور|آبان|بهمن|اسفند|محرم|ربیع"
    r"|ربيع|جمادی|جمادى|رجب|شعبان|رمضان|شوال|[בל]?(?:תשרי|חשוון|כסלו|טבת|שבט|אדר|ניסן|אייר|סיוון"
    r"|תמוז|אלול)|መስከረም|ጥቅምት|ኅዳር|ህዳር|ታኅሣሥ|ታህሳስ|ጥር|የካቲት|መጋቢት|ሚያዝያ|ግንቦት|ሰኔ|ሐምሌ|ሀምሌ"
    r"|ነሐሴ|ነሀሴ)(?!\w)"
)

# Pattern of texts that may spell a negative number.
MINUS = expression(
    r"\b(?:minus|mínus|mínusz|miinus|mīnus|minusz|negativ|below|under|moins|menos|meno|sous|sotto"
    r"|bajo|abaixo|unter|onder|pod|poniżej|sub|sota|alle|alatt|fagypont|null?|nul|nula|nol|zero"
    r"|zéro|ujemn|eksi|reduc|less|decreas|weniger|redu|réd|dimin|сниж|уменьш|sníž|zmniejsz|giảm"
    r"|dưới|âm|di bawah|минус|мінус|ниже|нижче|под|отрицат|πλην|μείον|κάτω|αρνητικ)"
    r"|マイナス|氷点下|負|负|零下|地下|지하|降|减|減|低|마이너스|감소|영하|음수|מינוס|מתחת|سالب|ناقص|تحت|منفی"
    r"|زیر|माइनस|ऋण|शून्य|মাইনাস|ঋণ|মিনাস|மைனஸ்|எதிர்|ลบ|ต่ำกว่า",
    re.IGNORECASE,
)

# Currencies of signs.
SIGNS = {"$": "dollar", "€": "euro", "£": "pound", "₽": "rouble", "₹": "rupee"}

# Signs of currencies and percent, mapped to one form each.
SYMBOLS = {sign: sign for sign in "$€£¥₹₩₽₪₫฿₴₺%‰"}
SYMBOLS |= {"円": "¥", "￥": "¥", "＄": "$", "％": "%", "٪": "%", "원": "₩", "₤": "£"}

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january",
            "feb february",
            "mar march",
            "apr april",
            "may",
            "jun june",
            "jul july",
            "aug august",
            "sep sept september",
            "oct october",
            "nov november",
            "dec december",
        ),
        start=1,
    )
    for name in names.split()
}
# Names of the months in other languages, as they stand beside a day or a year, a month a line.
FOREIGN_MONTHS: dict[str, set[int]] = {}
for _number, _names in enumerate(table("months.tsv"), start=1):
    for _name in _names.split():
        FOREIGN_MONTHS.setdefault(_name, set()).add(_number)
# A word where one of them may stand. An expression of all names would take longer to compile than
# most commands to read their text.
_WORD = r"[\w\u0900-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e]+"
BESIDE_DATE = expression(
    rf"(?<=\d)(?:\. gada(?: \d\d?\.)?|\.|er|º|-?го| ?m\.)? (?:de )?({_WORD})"
    rf"|(?<!\w)({_WORD})(?= (?:de )?\d{{4}})",
    re.IGNORECASE,
)
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
# English number words: those to add, and those that multiply the value before them.
ENGLISH = {word: i for words in (_UNITS, _ORDINALS) for i, word in enumerate(words.split())}
ENGLISH |= {word: 10 * i for i, word in enumerate(_TENS.split(), start=2)}
ENGLISH |= {
    f"{word[:-1]}{end}": 10 * i
    for i, word in enumerate(_TENS.split(), start=2)
    for end in ("ieth", "ies")
}
ENGLISH |= {"once": 1, "twice": 2, "both": 2, "couple": 2, "pair": 2, "single": 1, "double": 2}
ENGLISH |= {"triple": 3, "thrice": 3, "quarter": 4, "decade": 10, "century": 100, "score": 20}
TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
TIMES |= {"dozen": 12}
TIMES |= {f"{word}{end}": times for word, times in TIMES.items() for end in ("s", "th")}
_WORD = "|".join(sorted({*ENGLISH, *TIMES}, key=len, reverse=True))
# Number words that are often part of an idiom, or stand for a number of any size.
_LOOSE = (
    "zero one once first second third twice both couple pair single double triple thrice quarter "
    "decade century score"
)
LOOSE_WORDS = {*_LOOSE.split(), *TIMES}
ENGLISH_WORDS = expression(rf"\b(?:{_WORD})(?:(?:[ -]| and )(?:{_WORD}))*\b", re.IGNORECASE)
# English fractions, with numerator and denominator, where they are no ordinals: a third of, by
# two-thirds, half the.
PARTS = {"half": 2, "quarter": 4, "fourth": 4, "third": 3, "fifth": 5, "sixth": 6, "seventh": 7}
PARTS |= {"eighth": 8, "ninth": 9, "tenth": 10, "twentieth": 20, "hundredth": 100}
PARTS |= {f"{word}s": part for word, part in PARTS.items() if part > 2}
ABOVE = {"a": 1, "an": 1} | {word: i for i, word in enumerate(_UNITS.split()[1:10], start=1)}
FRACTION = expression(
    rf"(?<!and )\b(?:(?:({'|'.join(ABOVE)})[ -])({'|'.join(PARTS)})|half)"
    r"(?:(?<=[dhr]s)|(?= of\b(?! an hour)| the\b| (?:is|are|was|were|do|did|have|had)\b|[.,;:!?)]"
    r"|\W*\Z))",
    re.IGNORECASE,
)
# Fractions in digits: 3/4, 4分の3, 四分之三.
_HAN = "一二三四五六七八九十"
DIGIT_FRACTION = expression(
    r"(?<![\d/.,])(\d\d?) ?[/⁄] ?(\d\d?)(?![\d/⁄]|[.,]\d)"
    rf"|([\d{_HAN}]{{1,2}})分[の之]([\d{_HAN}]{{1,2}})"
)
MONTH = expression(rf"\b(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b", re.IGNORECASE)
ROMAN = expression(r"\b(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b")
