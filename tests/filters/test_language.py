"""The filters language and same_language, and their language codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.filters import language, registry
from miner.filters.filter_types import Batch, Context
from miner.kernels.naive_bayes import naive_bayes
from miner.scoring.language_identifier import identifier

FILTERS = {name: registry.FILTERS[name] for name in language.FILTERS if name != "lid"}
SENTENCES = {
    "de": "Der Zug nach Hamburg hat heute leider eine halbe Stunde Verspätung.",
    "en": "The train to Hamburg is unfortunately half an hour late today.",
    "fr": "Le train pour Hambourg a malheureusement une demi-heure de retard.",
    "es": "El tren a Hamburgo lleva hoy por desgracia media hora de retraso.",
    "cs": "Vlak do Hamburku má dnes bohužel půl hodiny zpoždění.",
    "ru": "Поезд в Гамбург сегодня, к сожалению, опаздывает на полчаса.",
    "uk": "Потяг до Гамбурга сьогодні, на жаль, запізнюється на півгодини.",
    "ar": "القطار المتجه إلى هامبورغ متأخر اليوم نصف ساعة للأسف.",
    "fa": "متأسفانه قطار هامبورگ امروز نیم ساعت تأخیر دارد.",
    "hi": "हैम्बर्ग जाने वाली ट्रेन आज दुर्भाग्य से आधा घंटा देर से चल रही है।",
    "zh": "很遗憾，开往汉堡的火车今天晚点半个小时。",
    "ja": "残念ながら、ハンブルク行きの電車は今日三十分遅れています。",
    "ko": "안타깝게도 함부르크행 기차는 오늘 삼십 분 늦습니다.",
    "th": "น่าเสียดายที่รถไฟไปฮัมบูร์กวันนี้ล่าช้าครึ่งชั่วโมง",
    "tr": "Hamburg treni ne yazık ki bugün yarım saat gecikmeli.",
    "fi": "Juna Hampuriin on tänään valitettavasti puoli tuntia myöhässä.",
}
SHORT = [
    ("de", "Ja.", "Yes."), ("de", "Danke!", "Thanks!"), ("de", "Tom rennt.", "Tom runs."),
    ("fr", "Quel dommage !", "What a pity!"), ("es", "No sé.", "I don't know."),
    ("cs", "Nevím.", "I don't know."), ("ru", "Спасибо.", "Thank you."), ("zh", "你好。", "Hello."),
    ("zh", "東京大學", "University of Tokyo"), ("ja", "東京都", "Tokyo"), ("ja", "はい。", "Yes."),
    ("ko", "네.", "Yes."), ("ar", "نعم.", "Yes."), ("hi", "हाँ।", "Yes."), ("th", "ใช่", "Yes."),
    ("de", "Microsoft Windows Server 2019", "Microsoft Windows Server 2019"),
    ("ru", "Adobe Photoshop", "Adobe Photoshop"), ("de", "", ""), ("de", "1999", "1999"),
]  # fmt: skip


LISTS = [
    ("de", "Achat, Amethyst, Aquamarin, Bernstein, Diamant, Granat, Jade, Lapislazuli, Malachit, "
     "Onyx, Opal, Rubin, Saphir, Smaragd, Topas, Turmalin",
     "Agate, amethyst, aquamarine, amber, diamond, garnet, jade, lapis lazuli, malachite, onyx, "
     "opal, ruby, sapphire, emerald, topaz, tourmaline"),
    ("cs", "sodík, draslík, vápník, hořčík, titan, vanad, chrom, mangan, nikl, kobalt, zinek",
     "sodium, potassium, calcium, magnesium, titanium, vanadium, chromium, manganese, nickel, "
     "cobalt, zinc"),
    ("nl", "Peter, Johanna, Maria, Willem, Sofie, Hendrik, Cornelia, Jacobus, Elisabeth, Antonius",
     "Peter, Joan, Mary, William, Sophie, Henry, Cornelia, James, Elizabeth, Anthony"),
    ("de", "Apfel, Birne, Kirsche, Pflaume, Banane, Orange, Zitrone, Mango, Ananas, Papaya, Kiwi",
     "apple, pear, cherry, plum, banana, orange, lemon, mango, pineapple, papaya, kiwi"),
    ("nl", "natrium, kalium, calcium, magnesium", "sodium, potassium, calcium, magnesium"),
    ("de", "Calcium, Phosphor, Kalium, Vitamin B", "Calcium, phosphorus, potassium, vitamin B"),
]  # fmt: skip
# Text in close languages, or in characters that languages share.
CLOSE = [
    ("hi", "निर्धारित प्रक्रियाएँ", "Scheduled processes"), ("hi", "स्वतः निजता चुनें", "Choose privacy"),
    ("hi", "मेटाडेटा संपादित करें", "Edit metadata"),
    ("nb", "Folket svarte: Du er besatt; hvem står dig efter livet?", "Who wants to kill you?"),
    ("sr", "Сачувајте безбедност на интернету", "Keeping safe on the internet"),
    ("ta", "1977 - ஆசீர்வாதம் (மலையாளம்)", "1977 - Blessing"), ("el", "Ψόφα θνητέ!", "Perish now!"),
    ("ja", "東京都立産業技術高等専門学校", "Tokyo Metropolitan College of Industrial Technology"),
    ("ja", "科学的記数法", "Scientific notation"), ("ja", "新宿駅前", "Shinjuku station"),
    ("ja", "（宮本圭一郎）", "(Miyamoto Keiichiro)"), ("he", "ז׳ואן דה נובה", "Juan De Nova"),
    ("ko", "바알라와 이임과 에셈과", "Baalah, Iim, Ezem,"),
    ("zh", "大學入學考試", "University entrance exam"), ("zh", "东京大学", "University of Tokyo"),
]  # fmt: skip


def naive_bayes_reference(texts, move, row, out, table, prior):
    """Scores by :func:`miner.kernels.naive_bayes.naive_bayes`, for a list of bytes objects."""
    scores = np.empty((len(texts), len(prior)), dtype=np.float32)
    for i, text in enumerate(texts):
        state, found = 0, []
        for byte in text:
            state = move[row[state] * 256 + byte]
            if out[state] >= 0:
                found.append(out[state])
        features, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        scores[i] = np.log1p(counts) @ table[features].astype(np.float64) + prior
    return scores


def scores(name: str, pairs: list[tuple[str, str]], languages: tuple[str, str]) -> np.ndarray:
    batch = Batch(*(list(side) for side in zip(*pairs, strict=True)))
    return FILTERS[name].build({}, Context(*languages))(batch)


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_in_its_language_and_no_other(code: str) -> None:
    pairs = [(sentence, SENTENCES["en"]) for sentence in SENTENCES.values()]
    found = scores("language", pairs, (code, "en"))
    maximum = FILTERS["language"].maximum
    assert maximum is not None
    assert [other for other, score in zip(SENTENCES, found, strict=True) if score <= maximum] == [
        code
    ]


@pytest.mark.parametrize(("code", "source", "target"), [*SHORT, *LISTS, *CLOSE])
def test_text_that_tells_little_stays(code: str, source: str, target: str) -> None:
    for name in FILTERS:
        (score,) = scores(name, [(source, target)], (code, "en"))
        assert score <= FILTERS[name].maximum


def test_a_sentence_in_another_language_has_words_that_are_no_names() -> None:
    pairs = [("犬は庭で大きな声で吠えています。", "Der Hund bellt laut im Garten hinter dem Haus.")]
    (score,) = scores("language", pairs, ("ja", "en"))
    assert score > FILTERS["language"].maximum


def test_characters_of_one_language_only_are_evidence() -> None:
    pairs = [
        ("我们明天去北京开会", "We'll meet in Beijing."),
        ("中华人民共和国宪法", "Constitution"),
    ]
    assert (scores("language", pairs, ("ja", "en")) > 12).all()
    assert (scores("language", pairs, ("zh", "en")) == 0).all()
    kana = [("その会議は来週の月曜日に東京で開かれる予定です。", "The meeting is next Monday.")]
    assert scores("language", kana, ("zh", "en"))[0] > 12
    names = [("Cailleadh Séamas Mhicí Sheáin anuraidh.", "Séamas Mhicí Sheáin died last year.")]
    assert scores("same_language", names, ("ga", "en"))[0] == 0
    titles = [("東京都", "东京都"), ("新宿駅前", "新宿站前"), ("日本国憲法", "日本国宪法")]
    for languages in ((None, None), ("ja", "zh")):
        found = FILTERS["same_language"].build({}, Context(*languages))
        assert (found(Batch(*zip(*titles, strict=True))) == 0).all()


def test_close_languages_differ_in_longer_text() -> None:
    czech = (
        "Vlak do Hamburku má dnes bohužel půl hodiny zpoždění, protože řidič zaspal a nikdo se ho "
        "nepokusil vzbudit."
    )
    assert scores("language", [(czech, SENTENCES["en"])], ("sk", "en"))[0] > 12
    assert scores("language", [(czech, SENTENCES["en"])], ("cs", "en"))[0] == 0


def test_either_side_counts() -> None:
    de, en, fr = SENTENCES["de"], SENTENCES["en"], SENTENCES["fr"]
    found = scores("language", [(de, en), (fr, en), (de, fr), (en, de)], ("de", "en"))
    assert found[0] == 0 and (found[1:] > 20).all()


def test_codes() -> None:
    pairs = [("Toget til Hamburg er dessverre en halv time forsinket i dag.", SENTENCES["en"])]
    for code in ("no", "nb", "nb-NO", "NN"):
        assert scores("language", pairs, (code, "en-GB"))[0] < 12
    assert scores("language", pairs, ("tlh", "en"))[0] == 0, "no language of the model"
    assert scores("language", pairs, ("de", "en"))[0] > 12


def test_both_sides_in_the_same_language() -> None:
    pairs = [
        (SENTENCES["en"], "Trains to Hamburg leave from another platform this evening."),
        (SENTENCES["de"], SENTENCES["en"]),
        ("Bratislava", "Bratislava"),
    ]
    found = FILTERS["same_language"].build({}, Context())(Batch(*zip(*pairs, strict=True)))
    assert found[0] > 12 and found[1] == 0 and found[2] < 12


@pytest.mark.parametrize(
    "codes",
    ["en en", "en-GB eng", "nb nn", "id ms", "hr sr", "pt-BR pt-PT", "zh-Hans zh-Hant", "tlh tlh"],
)
def test_sides_that_are_meant_to_be_alike(codes: str) -> None:
    source, target = codes.split()
    pairs = [(SENTENCES["en"], "Trains to Hamburg leave from another platform this evening.")]
    assert scores("same_language", pairs, ("de", "en"))[0] > 12
    assert scores("same_language", pairs, (source, target)).tolist() == [0]


def test_scores_are_those_of_the_library() -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    library = LanguageIdentifier.from_model_file(MODEL_FILE)
    texts = [*SENTENCES.values(), "e\u0301te\u0301", "ALLES IN GROSSBUCHSTABEN"]
    for text, row in zip(texts, identifier().evidence(texts).scores, strict=True):
        theirs = dict(library.rank(text))
        for label in set(identifier().labels):
            ours = row[identifier().labels == label].max()
            assert ours == pytest.approx(theirs[label], abs=0.05)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=40), max_size=20), st.integers(0, 2**32))
def test_kernel_is_its_reference(texts: list[str], seed: int) -> None:
    generator = np.random.default_rng(seed)
    states, rows, features, languages = 6, 4, 9, 5
    arrays = (
        generator.integers(0, states, rows * 256).astype(np.uint32),
        generator.integers(0, rows, states).astype(np.uint16),
        generator.integers(-1, features, states).astype(np.int32),
        generator.normal(size=(features, languages)).astype(np.float32),
        generator.normal(size=languages).astype(np.float32),
    )
    data = [text.encode("utf-8", "replace") for text in texts]
    offsets = np.cumsum([0, *map(len, data)])
    ours = naive_bayes(np.frombuffer(b"".join(data), np.uint8), offsets, *arrays)
    assert ours.shape == (len(texts), languages)
    np.testing.assert_allclose(ours, naive_bayes_reference(data, *arrays), rtol=1e-4, atol=1e-4)


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_scores_of_any_text(pairs: list[tuple[str, str]]) -> None:
    swapped = [(target, source) for source, target in pairs]
    for name in FILTERS:
        found = scores(name, pairs, ("zh", "ar"))
        assert np.isfinite(found).all() and (found >= 0).all()
        np.testing.assert_array_equal(found, scores(name, swapped, ("ar", "zh")))
        alone = [scores(name, [pair], ("zh", "ar"))[0] for pair in pairs]
        np.testing.assert_array_equal(found, alone)
