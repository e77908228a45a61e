"""English words that corruptions exchange: antonyms, number words, pronouns, tenses, modifiers.

The tables are written for this project. No package in good repair ships the data of WordNet without
a download, and a contrast case needs common, unambiguous words more than rare ones.
"""


def words(text: str) -> tuple[str, ...]:
    """Split a table of words."""
    return tuple(text.split())


# Each line has pairs of opposites. Words of several meanings with other opposites are left out.
_OPPOSITES = """
accept/reject accepted/rejected accepts/rejects acceptable/unacceptable agree/disagree
agreed/disagreed agrees/disagrees agreement/disagreement allow/forbid allowed/forbidden
allows/forbids always/never advantage/disadvantage advantages/disadvantages after/before
ancient/modern appear/disappear appeared/disappeared arrival/departure arrive/depart
arrived/departed attack/defend attacked/defended available/unavailable aware/unaware begin/end
beginning/ending begins/ends began/ended best/worst better/worse big/small bigger/smaller
biggest/smallest buy/sell bought/sold buys/sells buying/selling buyer/seller buyers/sellers
certain/uncertain cheap/expensive cheaper/dearer clean/dirty cold/hot colder/hotter common/rare
complete/incomplete connect/disconnect connected/disconnected continue/stop continued/stopped
correct/wrong correctly/wrongly create/destroy created/destroyed day/night deep/shallow
difficult/easy domestic/foreign early/late earlier/later easily/hardly empty/full enable/disable
enabled/disabled enables/disables enemy/friend enemies/friends everything/nothing everyone/nobody
everybody/nobody everywhere/nowhere excluding/including exclude/include excluded/included
excludes/includes export/import exports/imports exported/imported external/internal fail/succeed
failed/succeeded failure/success fall/rise falling/rising fell/rose falls/rises false/true
fast/slow faster/slower few/many fewer/more first/last forget/remember forgot/remembered gain/lose
gained/lost gains/losses give/take gave/took given/taken good/bad happy/unhappy love/hate
loved/hated healthy/sick heavy/light heavier/lighter high/low higher/lower highest/lowest hide/show
hidden/visible horizontal/vertical huge/tiny important/unimportant improve/worsen improved/worsened
increase/decrease increased/decreased increases/decreases increasing/decreasing inside/outside
inner/outer join/quit joined/quit known/unknown large/small larger/smaller largest/smallest
legal/illegal likely/unlikely long/short longer/shorter longest/shortest lucky/unlucky major/minor
majority/minority male/female maximum/minimum maximal/minimal necessary/unnecessary new/old
newer/older newest/oldest north/south northern/southern eastern/western east/west often/rarely
old/young older/younger oldest/youngest open/closed opened/closed opening/closing opens/closes
optional/mandatory peace/war permanent/temporary permit/prohibit permitted/prohibited poor/rich
positive/negative possible/impossible private/public probable/improbable profit/loss profits/losses
protect/endanger quickly/slowly quick/slow quiet/loud raise/lower raised/lowered read/write
real/fake receive/send received/sent receives/sends recent/distant regular/irregular remain/change
remained/changed rural/urban safe/dangerous same/different save/waste separate/joint
similar/different simple/complicated start/stop started/stopped starts/stops starting/stopping
strength/weakness strong/weak stronger/weaker support/oppose supported/opposed supports/opposes
supporter/opponent supporters/opponents sufficient/insufficient summer/winter teach/learn
thick/thin tight/loose together/apart top/bottom upper/lower upward/downward useful/useless
usual/unusual usually/rarely valid/invalid victory/defeat warm/cool warmer/cooler wet/dry
wide/narrow wider/narrower win/lose wins/loses won/lost winner/loser winners/losers within/beyond
above/below increasingly/decreasingly both/neither everyday/rare add/remove added/removed
adds/removes adding/removing allowing/forbidding alive/dead born/dead build/demolish
built/demolished birth/death buried/exhumed guilty/innocent lend/borrow lock/unlock locked/unlocked
morning/evening
"""


def _both_ways(lines: str) -> dict[str, str]:
    """Parse pairs ``a/b``; the first opposite of a word is the one it is exchanged for."""
    table: dict[str, str] = {}
    for pair in lines.split():
        first, second = pair.split("/")
        table.setdefault(first, second)
        table.setdefault(second, first)
    return table


# "With", "all" and "under" mean too much to be exchanged in the other direction.
ANTONYMS = {**_both_ways(_OPPOSITES), "without": "with", "all": "no", "every": "no", "most": "few"}

# Number words that are exchanged within their row. "One" and "second" are often no numbers.
NUMBER_WORDS = (
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    ("hundred", "thousand", "million", "billion", "trillion"),
    ("hundreds", "thousands", "millions", "billions"),
    ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    ("twice", "thrice"),
)

MONTHS = words(
    "January February March April May June July August September October November December"
)
WEEKDAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")

# "her" is "his" before a noun and "him" elsewhere.
GENDERS = _both_ways(
    """
he/she his/her him/her himself/herself he's/she's he'd/she'd he'll/she'll man/woman men/women
boy/girl boys/girls father/mother fathers/mothers son/daughter sons/daughters brother/sister
brothers/sisters husband/wife husbands/wives king/queen prince/princess actor/actress uncle/aunt
nephew/niece gentleman/lady gentlemen/ladies grandfather/grandmother boyfriend/girlfriend
mr/mrs chairman/chairwoman spokesman/spokeswoman businessman/businesswoman waiter/waitress
widower/widow grandson/granddaughter dad/mum
"""
)

# Verbs whose other tense fits the same subject, in both directions or in one.
_TENSES = "is/was are/were has/had does/did doesn't/didn't isn't/wasn't aren't/weren't"
_PAST = """
says/said goes/went comes/came takes/took gives/gave makes/made gets/got knows/knew thinks/thought
sees/saw finds/found wants/wanted shows/showed becomes/became begins/began brings/brought
believes/believed holds/held keeps/kept leads/led lives/lived looks/looked means/meant needs/needed
plays/played remains/remained runs/ran seems/seemed stands/stood tells/told uses/used works/worked
writes/wrote wins/won loses/lost includes/included provides/provided contains/contained
said/says became/becomes am/was can/could
"""
TENSES = _both_ways(_TENSES) | dict(pair.split("/") for pair in words(_PAST))

# Verbs that "not" can follow.
AUXILIARIES = frozenset(
    words("is are was were am will would can could should must might shall may")
)
# Negated forms, and the same without negation.
CONTRACTIONS = {
    "can't": "can",
    "won't": "will",
    "shan't": "shall",
    "cannot": "can",
}

# Words beside which "not" would be a double negation.
NEGATIVE = frozenset(words("no nor none nothing nobody neither nowhere hardly without"))

# Adjectives that many nouns take and whose absence changes no grammar.
MODIFIERS = words(
    "new former large small young private public local foreign special unknown famous empty red "
    "blue secret black white cheap expensive German French American national modern medical "
    "religious political technical historic military industrial second broken free strange"
)
DETERMINERS = frozenset(words("the a an his their its our your my"))
# Words after a determiner that a modifier cannot precede.
NO_NOUN = frozenset(
    words(
        """
of and or but is are was were has have had will would can could not to in on at by for with from as
that this same first last only most more one other very such own
"""
    )
)

# Words after "her" that show that it is an object.
AFTER_OBJECT = frozenset(
    words(
        """
a an and are as at because before but by for from had has he how if in into is it not of on or over
so than that the their there they this to under until up was we were what when where which while
who why will with would you she i again away back down home off out too yesterday today tomorrow
now then once
"""
    )
)

# Capitalised words that are no names wherever they stand.
NO_NAMES = frozenset(words("I I'm I've I'll I'd Mr Mrs Ms Dr Prof OK")) | {*MONTHS, *WEEKDAYS}
