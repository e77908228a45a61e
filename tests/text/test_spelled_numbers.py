"""Numbers in words of many languages, and what makes them uncertain."""

import pytest

from miner.scoring.number_agreement import compare, contradict
from miner.text.spelled_numbers import may_spell, spelled

SAME = [
    ("drei Hunde", "3 dogs"), ("тридцать пять лет", "35 years"), ("veinte y dos", "twenty-two"),
    ("三十人", "thirty people"), ("他六点来", "at six"), ("สามคน", "three people"),
    ("on beş", "15"), ("خمسة وعشرون", "25"), ("עשרים וחמש", "twenty-five"), ("بیست و پنج", "25"),
    ("drei Millionen", "3 million"), ("zwei Wochen", "14 days"), ("fünf Meilen", "8 km"),
    ("quinze jours", "two weeks"), ("halb vier", "half past three"), ("drei Uhr", "3 pm"),
    ("двадцать первое", "21"), ("vingt et un", "21"), ("quatre-vingt-dix", "90"),
    ("ba mươi", "30"),
    ("trzydzieści dwa", "32"), ("zwölf Eier", "a dozen eggs"), ("zwei Uhr", "14:00"),
    ("drei von zwei", "two and three"), ("sei still", "be quiet at 9"), ("zwei oder drei", "4"),
    ("ten nowy pięć", "5"), ("他三十五岁", "35"), ("tři sta", "300"), ("hat drei", "has three"),
    # Hundreds and words of magnitude, joined words, fractions and times of day.
    ("deux cents", "200"), ("deux cents", "2 cents"), ("dwa tysiące", "2,000"), ("dos mil", "2000"),
    ("medio millón", "500,000"), ("полтора миллиона", "1.5 million"), ("五千", "5,000"),
    ("fünfundzwanzig", "25"), ("zweihundert", "200"), ("duemila", "2,000"),
    ("quinientos", "500"),
    ("двести пять", "205"), ("mil quinientas vacas", "1,500"), ("sto dvacet tisíc", "120,000"),
    ("dua puluh lima", "25"), ("mười hai", "12"), ("dua belas", "12"), ("διακόσια", "200"),
    ("три тысячи двести", "3,200"), ("huszonöt", "25"),
    ("Viertel nach drei", "3:15"), ("tres menos cuarto", "2:45"), ("trois heures et quart", "3:15"),
    ("viertel acht", "a quarter past seven"), ("三点一刻", "3:15"), ("kwart over drie", "3:15"),
    ("treinta primos", "thirty second cousins"), ("six heures trente", "6:30"),
    ("šest až sedm tisíc", "6,000 to 7,000"), ("साढ़े दस", "10:30"),
    ("中2のとき", "eighth grade"), ("6月末", "in June, three leaders met"), ("三所", "two others"),
    ("nítján hundruð og eitt", "nineteen hundred and one"),
    ("3.000", "three thousand"), ("Ten dzwon o ósmej", "The bell at eight"),
    ("dece-cinque", "fifteen"), ("iki dešimties", "10"), ("kahekümne kolme", "23"),
]  # fmt: skip
OTHER = [
    ("drei Hunde", "4 dogs"), ("drei Hunde", "four dogs"), ("тридцать лет", "forty years"),
    ("三十岁", "40"), ("三十岁", "forty years old"), ("тридцать пять", "36"),
    ("两个人", "three people"),
    ("otuz kişi", "40 people"), ("tjugo hundar", "thirty dogs"), ("สามคน", "4 people"),
    ("trois chiens", "five dogs"), ("siete", "8"), ("dwadzieścia", "thirty"), ("vijftig", "60"),
    ("خمسة وعشرون", "26"), ("שלושים", "forty"), ("بیست و پنج", "26"), ("kolme", "four"),
    ("harminc", "40"), ("tiga orang", "four people"), ("bảy ngày", "eight days"),
    ("deux cents", "300"), ("trois cents", "200"), ("dwa tysiące", "3,000"),
    ("medio millón", "5 million"), ("pół miliona", "5 million"), ("五千", "50,000"),
    ("两万", "two thousand"), ("fünfundzwanzig", "52"),
    ("dreihundert", "200"), ("tremila", "2,000"),
    ("quinientos", "five thousand"), ("двести пять", "250"), ("три тысячи", "3 million"),
    ("dua puluh lima", "52"), ("mười hai", "20"), ("διακόσια", "300"), ("huszonöt", "52"),
    ("Viertel nach drei", "3:45"),
    ("tres menos cuarto", "3:15"), ("trois heures et quart", "3:45"),
    ("三点一刻", "3:45"), ("kwart over drie", "2:45"), ("halb vier", "4:30"), ("半 三百", "400"),
    ("तीन लोग", "four people"), ("двеста", "300"), ("пет кучета", "six dogs"),
    ("drei von zwei", "two of four"), ("hat sechs Romane", "three novels"), ("drei Uhr", "4 pm"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), SAME)
def test_equal_or_uncertain_numbers_agree(source: str, target: str) -> None:
    assert not compare(source, target).contradicts
    assert not compare(target, source).contradicts


@pytest.mark.parametrize(("source", "target"), OTHER)
def test_other_numbers_contradict(source: str, target: str) -> None:
    assert compare(source, target).contradicts and compare(source, target).share == 0
    assert contradict(source, target) and contradict(target, source)


def test_numbers_beside_parts_of_larger_ones_have_no_value() -> None:
    assert [one.values for one in spelled("dreißig und drei tausend")] == [()]
    assert [one.values for one in spelled("tři sta a půl")] == [()]
    assert not spelled("on dix sei") and not may_spell("on the way") and may_spell("drei Tage")
