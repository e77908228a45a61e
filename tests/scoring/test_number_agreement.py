"""Agreement of numbers: notations of all scripts, magnitudes, times, calendars, units."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.scoring.number_agreement import compare, same_in_other_digits

SAME = [
    # Separators, and digits of other scripts.
    ("1.000", "1,000"), ("12 500", "12,500"), ("1.234,56", "1,234.56"), ("1,00,000", "100,000"),
    ("١٢٣٤٫٥", "1,234.5"), ("१२५", "125"), ("๑๒๕", "125"), ("１２５．５", "125.5"), ("১২৫", "125"),
    (".5", "0.5"), ("2½", "2.5"), ("3 1/2", "3.5"), ("1/2", "0.5"), ("7,10", "7, 10"),
    # Words of magnitude.
    ("5 Mio. $", "$5m"), ("3,5 Mrd. Euro", "3.5 billion euros"), ("5 млн", "5 million"),
    ("5 тыс.", "5000"), ("15-ти миллионов", "15 million"), ("10 लाख", "1 million"),
    ("५ करोड़", "50 million"), ("1 करोड ७० लाख", "17 million"), ("30 พันล้าน", "30 billion"),
    ("2 triệu 500 nghìn", "2.5 million"), ("5 mil millones", "5 billion"),
    ("10,7 miles de millones", "10.7 billion"), ("٣٫٥ مليون", "3.5 million"),
    ("၃၅ သန်း", "35 million"), ("၂သိန်းကျော်", "200,000"), ("២,៥ លាន", "2.5 million"),
    ("5 ሺህ", "5000"), ("3 ሚሊዮን", "3 million"), ("೩ ದಶಲಕ್ಷ", "3 million"),
    ("3 മില്യൺ", "3 million"),
    ("5 ಬಿಲಿಯನ್", "5 billion"), ("૩ અબજ", "3 billion"), ("੩ ਅਰਬ", "3 billion"),
    ("3 мянга", "3000"), ("20 сая", "20 million"), ("5 miliwn", "5 million"),
    ("milioni 20", "20 million"), ("elfu 5", "5,000"), ("သိန်း ၅၀", "5 million"),
    ("3-5 Mio.", "3 to 5 million"), ("4割", "40%"), ("1800 Milliardäre", "1,800 billionaires"),
    # East Asia.
    ("2万5000", "25,000"), ("1億2000万", "120 million"), ("3억 5000만", "350,000,000"),
    ("2万5千", "25,000"), ("9000多万", "90 million"), ("5千克", "5 kg"), ("3만큼", "by 3"),
    ("二万五千", "25,000"), ("一九八四年", "1984"), ("三十五", "35"),
    # Digits of further scripts, and Ge'ez numerals.
    ("၂၅၀၀", "2,500"), ("២៥០០", "2500"), ("༢༥༠༠", "2500"), ("೨,೫೦೦", "2,500"), ("൨൫൦൦", "2500"),
    ("౨౫౦౦", "2500"), ("૨,૫૦૦", "2,500"), ("੨੫੦੦", "2500"), ("௨௫௦௦", "2500"), ("꯲꯵", "25"),
    ("፳፭፻", "2500"), ("፲፱፻፺፱", "1999"), ("፻፳፫፼፬፻፶፮", "1,230,456"),
    # Calendars.
    ("พ.ศ. 2562", "2019"), ("昭和55年", "1980"), ("昭和五十五年", "1980"), ("۱۳۵۷", "1978"),
    ("民國108年", "2019"), ("50er Jahre", "1950s"), ("18. Jahrhundert", "the 1700s"),
    # Times and dates.
    ("22h00", "10 pm"), ("22:00", "10 p.m."), ("8.30 Uhr", "8:30am"),
    ("오후 10시 30분", "10:30 pm"), ("下午3点", "15:00"), ("21 Uhr", "9 o'clock"),
    ("11시 34분", "1134 GMT"), ("2:1", "2–1"),
    ("2019年5月3日", "3 May 2019"), ("3.4.2010", "4/3/2010"), ("31.8.", "August 31"),
    # Signs, ranges, telephones, units, words.
    ("minus 5 Grad", "-5 degrees"), ("1932–1933", "1932–33"), ("2-300", "200 to 300"),
    ("75 bis 80 %", "75 % -80 %"), ("COVID-19", "Corona"), ("Artikel 2 Ziffer 1", "Article 2.1"),
    ("+49 30 1234567", "0049 30 1234-567"), ("180 °C", "350 °F"), ("73 m", "240 ft"),
    ("16 km", "10 miles"), ("35", "thirty-five"), ("Kapitel 14", "chapter XIV"),
    ("1984", "nineteen eighty-four"), ("5 %", "5 per cent"), ("5 מיליון", "5 million"),
    ("120 million", "מאה ועשרים מיליון"), ("24,000", "dudek kvar mil"),
    ("25000", "fünfundzwanzigtausend"),
    # Fractions and raised digits.
    ("¾", "0.75"), ("2½", "2 1/2"), ("5½", "5 and a half"), (",5", "0.5"), ("⅓", "1⁄3"),
    ("10⁶", "1,000,000"), ("10⁻³", "10^-3"), ("6,022·10²³", "6.022 × 10^23"), ("m²", "m2"),
    # Days of other calendars.
    ("۲۲ بهمن ۱۳۵۷", "11 February 1979"), ("ጥር 28", "February 5"), ("ሐምሌ 2011", "July 2019"),
    ("17-20 Uhr", "5-8 pm"), ("Joh 3,16", "John 3:16"),
    # Neighbouring units.
    ("1,80 m", "5'11\""), ("1500 m", "1.5 km"), ("5 kg", "5000 g"),
    ("2 Wochen", "14 days"), ("0,99 €", "99 cents"),
    ("90 Minuten", "1.5 hours"), ("1 Liter", "34 fl oz"), ("1 Liter", "34 fluid ounces"),
    ("12. März", "Mar. 12"), ("3 listopada", "3 October"), ("3 listopada", "3 November"),
    ("1er août 2010", "August 1, 2010"), ("5 de octubre", "October 5"), ("3. října", "3 October"),
    ("5 İyul 2020", "July 5, 2020"),
    ("5月3日", "May 3"), ("3.4.2010", "April 3, 2010"), ("siglo XIX", "19th century"),
    # Shares of a hundred, lengths of time, times in words, all day.
    ("0,5", "50 %"), ("30 %", "0.3"), ("3/4", "75%"), ("1,5", "150 per cent"),
    ("1h30", "90 minutes"), ("1h30", "1.5 hours"), ("2:30 Stunden", "2.5 hours"),
    ("1 Std. 30 Min.", "90 minutes"), ("2 h 15 min", "135 minutes"), ("3 часа", "180 minutes"),
    ("1,5 Stunden", "1 hour 30 minutes"), ("1時間30分", "90 minutes"), ("90 Tage", "3 months"),
    ("1 Jahr", "365 days"), ("60 年", "6 decades"), ("30年", "three decades"),
    ("午後１時半", "1:30 pm"), ("下午 5 点半", "5.30pm"), ("오후 1시 반", "1:30 pm"),
    ("sieben Uhr", "7:45"), ("19 Uhr", "seven"), ("9시 반", "nine-thirty"),
    ("24/7", "24 hours a day, seven days a week"), ("24/7", "at all hours"),
    ("五十一点六", "51.6"), ("十五点二亿", "1.52 billion"),
    # Numbers in words.
    ("21. Jahrhundert", "the twenty-first century"), ("Jahre 70", "the seventies"),
    ("2½ Stunden", "two and a half hours"), ("8 km", "five miles"), ("Kapitel 4", "Chapter IV"),
    ("25", "five times five"), ("Kapitel IV", "Chapter four"), ("3", "the one or the second"),
    ("200", "two hundred"), ("205", "two hundred and five"), ("5", "five thousand"),
    ("24", "two dozen"),
    ("12", "two dozen"), ("3", "to score three"), ("21", "the twenty-first century"),
    # Fractions in words.
    ("50 %", "half of them"), ("33 %", "a third of"), ("66 %", "two thirds are"),
    ("20 %", "one fifth of"),
    ("2/3", "two-thirds of"), ("3分の1", "a third of"), ("四分之三", "three quarters of"),
    # Units and money in many languages.
    ("30 Meilen", "48 km"), ("30 миль", "48 km"), ("20 nœuds", "37 km/h"), ("10 Zoll", "25.4 cm"),
    ("10坪", "33 m²"), ("10亩", "1.65 acres"), ("150 PS", "110 kW"), ("250 ml", "1 cup"),
    ("4370 mm", "4.37 meters"), ("166㎝", "1.66m"), ("75 cl", "750 ml"), ("5 kW", "5000 W"),
    ("1 Tonne", "1000 kg"), ("1 GB", "1024 MB"), ("3 jours", "72 hours"), ("80 senttiä", "€0.80"),
    ("50 центов", "0.50 euros"), ("100 Euro", "€100"), ("100元", "¥100"), ("NT$100", "100元"),
    ("5 Tage und 5 Stunden", "5 hours and 5 days"), ("60 години", "60 years"),
    ("14周岁", "14 years old"),
    ("300 אלפיות השנייה", "300 milliseconds"), ("1 800 miljardööriä", "1,800 billionaires"),
    # East Asian magnitudes with two decimals, full-width points, rates; digits between spaces.
    ("8.12亿", "812 million"), ("２.１８万", "21,800"), ("44．4亿", "4.44 billion"),
    ("4个亿", "400 million"),
    ("１割８分２厘", ".182"), ("3 0 分", "30 minutes"), ("911 事件", "September 11"),
    ("8 miljarder", "8 billion"), ("700 bini", "700 thousand"), ("6 bin 500", "6500"),
    ("12 billió", "12 trillion"), ("30 și 50 de mii", "30 to 50 thousand"),
    ("1,5·10⁹", "1.5 billion"),
    ("1900-talet", "the 20th century"), ("1800-luvulla", "the 19th century"),
    ("1950s", "20. století"),
    # Half hours, ranges of hours, signs in words, marks of lists.
    ("halb 8", "7:30"), ("в половине 8", "7:30"), ("half 8", "8:30"), ("16 óra 30", "4.30pm"),
    ("13-15", "1 and 3 pm"), ("-5 °C", "minus five degrees"),
    # Months.
    ("15 مارس 2020", "March 15, 2020"), ("15 मार्च", "March 15"), ("5 ธันวาคม", "December 5"),
    ("15 tháng 3 năm 2020", "March 15, 2020"), ("2020 m. kovo 15 d.", "15 March 2020"),
    ("十一月四号", "November 4"),
    # Prefixes and units of East Asia, tenths, times of one digit, periods of ten years, eras.
    ("10万米", "100k"), ("169.85亿米", "16.985 billion"), ("6200多兆焦", "6,200 MJ"),
    ("7成", "70%"), ("早上7时3分", "7:03 a.m."), ("5 点 9 分", "05:09"),
    ("2000年代", "the 00s"), ("00后", "2000's"), ("18 ч. 30 мин.", "6:30 p.m."),
    ("23（大正12）年", "1923 (Taisho 12)"), ("２９・６", "29.6"), ("地下1层", "layer -1"),
    # Halves, a word between, torn and rounded numbers, letters of other forms, far words.
    ("7 millones y medio", "7.5 million"), ("7 a půl milionu", "7.5 million"),
    ("2年半", "2.5 years"), ("1分半", "1.5 minutes"), ("7 buçuk milyon", "7.5 million"),
    ("4 slíbené miliardy", "the promised 4 thousand million"),
    ("42.000 millones", "42,000 euros million"),
    ("2, 8 mil. Kč", "2.8 million"), ("２．４万亿", "2. 4 trillion"), ("10万", "100, 000"),
    ("1993.03万", "19.93 million"), ("1 millo\u0301n", "1 million"), ("1 millón", "1 million"),
    ("10-ti miliard", "10 billion"),
    ("53 miliardářů", "53 billionaires"), ("1,5 εκατομμυρίου", "1.5 million"),
    ("7 тысячелетии", "7th millennium"), ("800 тыс.", "800 thou. tonnes"),
    ("10 horas", "1000 hours"), ("2024 milion", "2024"), ("60亿", "6 billon"),
    ("+ / - 3%", "+/-3%"), ("229 62 01", "229-6201"),
    # A year in the place of a day, a time or a name's number is added text.
    ("15 Minuten", "15 more minutes"), ("18 ans", "18 can drive"), ("5 céntimos", "5 euro cents"),
    ("R2年", "2020"), ("2 Dutzend", "24"), ("2-4 公顷", "5-10 acres"), ("1 mètre 55", "155 cm"),
    ("100 barrels", "16 000 Liter"), ("180 cm", "5 ft 11 in"), ("330 metrů", "1,000 feet"),
    ("14 Tir 1399", "4 July 2020"), ("5 Schawwal 1441", "28 May 2020"),
    ("3 Kislev 5780", "1 December 2019"),
    ("Elisabeth II", "Elizabeth II"),
    ("Elisabeth I. und Elisabeth II.", "Elizabeth I, Elizabeth II"),
    ("Weltkrieg II", "World War II and I"), ("1.5兆", "1.5 trillion"),
    ("1,5 billion", "1.5 trillion"),
    ("600-700万", "6-7 million"), ("600至850亿", "60 to 85 billion"), ("十四五", "14th"),
    ("150 Millionen Kilometer", "93 million miles"), ("3 Kilotonnen", "3000 metric tons"),
    ("100 złotych", "100 zlotys"), ("5 millóns", "5 million"), ("100 Franken", "100 francs"),
    ("5元", "5 yuan"), ("5元 (新加坡)", "5 dollars"), ("5 Pfund", "£5"),
    ("50 millas náuticas", "50 nautical miles"),
    ("1,6 Kilometer", "1,600 meters"), ("5 pies", "5 feet"),
    ("7月26日0时", "July 26, 2020"), ("iPhone7", "autumn 2016"),
]  # fmt: skip
OTHER = [
    ("3,5 kg", "35 kg"), ("125", "1250"), ("1.250", "125,000"), ("1.234,56", "12,345.6"),
    ("5 Millionen", "5 billion"), ("3 Millionen", "3"), ("5000000", "5"), ("2万5000", "250,000"),
    ("2万5千円", "2,500 yen"), ("4,55 mld", "4.55 million"), ("५ लाख", "5 million"),
    ("−5 °C", "5 °C"), ("-5", "5"), ("5 €", "$5"), ("5 %", "5 ‰"), ("10:30", "10:50"),
    ("22:00", "10 am"), ("22 Uhr", "10 am"), ("下午3点", "3 am"), ("3. Mai 2019", "3 May 2018"),
    ("19. Juni, 2014", "June 16, 2014"), ("2-300 mq", "2-3000 sq. mt."), ("昭和55年", "1981"),
    ("၂၅", "26"), ("៣ លាន", "3 billion"), ("5 ሺህ", "6,000"), ("milioni 20", "30 million"),
    ("3 Personen (04)", "(65)"), ("พ.ศ. 2562", "2018"), ("1932–1933", "1932–34"),
    ("73 m", "410 ft"), ("180 °C", "450 °F"), ("+49 30 1234567", "+49 30 1234568"),
    ("1 万亿美元", "$10 trillion"), ("1000 $", "$−1000"), ("19", "1900"),
    ("3. Mai 2019", "3 June 2019"), ("12. März", "April 12"), ("le 1er juin", "1 July"),
    ("3 мая 2019 года", "June 3, 2019"), ("5 de octubre", "5 November"), ("3. října", "3 May"),
    ("5月3日", "June 3"), ("12월 3일", "November 3"), ("2019-05-03", "3 June 2019"),
    ("03.05.2019", "June 3, 2019"), ("siglo XIX", "18th century"), ("XIX век", "XVIII century"),
    ("Ludwig XIV", "Louis XV"), ("½", "¼"), ("2½", "2¼"), ("10⁶", "10⁹"), ("m²", "m³"),
    ("5 km", "5 miles"), ("200 °C", "200 °F"), ("20 kg", "20 pounds"), ("1,80 m", "6'11\""),
    ("2 Wochen", "15 days"), ("45 cents", "−45-cent"), ("1,435 mm", "143,500 mm"), ("6", "600½"),
    ("سی دی 10 دلار", "100 dollars"), ("5 kg", "500 g"), ("3 Uhr", "300 p.m."),
    ("Joh 3,16", "John 3:17"), ("0,001", "0.01"),
    ("0,5", "5 %"), ("1/2", "25%"), ("1h30", "80 minutes"), ("1h30", "1.3 hours"),
    ("1 Std. 30 Min.", "100 minutes"), ("1 hour 30 minutes", "1 hour 50 minutes"),
    ("下午 5 点半", "5:50 pm"), ("24/7", "12/7"),
    ("25 Jahre", "thirty years"), ("3 Hunde", "four dogs"), ("35", "fifty-three"),
    ("Kap. IV", "Chapter 5"), ("Kapitel 4", "Chapter Five"), ("Kapitel 4", "Chapter VI"),
    ("Kapitel IV", "Chapter V"), ("Heinrich IV", "Henry V"), ("2000 Soldaten", "three thousand"),
    ("Artikel 2 Ziffer 1", "Article 2.3"), ("COVID-19: 24", "COVID-19: 25"), ("9" * 50, "9" * 49),
    ("5 Jahre", "50 years"), ("20 分", "2000 runs"), ("4.56%", "456%"), ("12,500ポンド", "£62,500"),
    ("Porsche 911", "Porsche 9110"), ("78 koní", "−78 hp"),
    ("100", "two hundred"), ("200", "two hundred and five"), ("20 Leute", "twenty-five"),
    ("24/7", "six days"), ("50 %", "a third of"), ("50 %", "a quarter of"), ("25 %", "half of"),
    ("10 %", "by a third."), ("1/3", "two thirds"), ("3分の2", "one third of"),
    ("3/4", "two-thirds of"),
    ("100 Euro", "$100"), ("100 €", "100 dollars"), ("100ドル", "100 yen"), ("100 рублей", "$100"),
    ("5 Liter", "5 gallons"), ("100公里", "100 miles"),
    ("20 Grad Celsius", "20 degrees Fahrenheit"),
    ("60 mph", "60 km/h"), ("5 MB", "5 GB"), ("10 ml", "10 l"), ("2 μg", "2 mg"),
    ("5 ha", "5 acres"), ("2019/20", "2019-2021"), ("令和2年5月1日", "May 1, 2021"),
    ("10 km", "62 miles"),
    ("100 000", "one million"), ("21 Hunde", "2100 dogs"), ("iPhone7", "iPhone 8"),
    ("1993.03万", "19.95 million"), ("2, 8 mil. Kč", "2.9 million"), ("10万米", "1,000k"),
    ("8成", "70%"), ("7时3分", "7:30"), ("5 Tage", "5 weeks"),
    ("Elisabeth II", "Elizabeth I"),
    ("1.5兆", "1.5 billion"), ("2 billones", "2 billion"), ("3.000", "three hundred"),
    ("5元", "5 dollars"),
    ("600-700万", "600-700 million"), ("150 Millionen Kilometer", "150 million miles"),
    ("505 εκατομμύρια χρόνια", "5050 million years"), ("61311万元", "RMB613.11 billion"),
    ("100 złotych", "100 euros"), ("5000 원", "5,000 yen"), ("100 Franken", "100 euros"),
    ("100 บาท", "100 dollars"), ("15 дни", "15 weeks"), ("5 jam", "5 days"),
    ("5 Pfund", "5 kg"), ("5 livres", "5 kilos"), ("3 pouces", "3 cm"), ("10 фунтов", "10 kg"),
    ("3 дня", "3 weeks"), ("5 Stunden", "5 minutes"), ("5年", "5 months"),
    ("3 jours", "3 hours"), ("5 kg", "5 g"), ("8.12亿", "81.2 million"), ("4370 mm", "4.37 cm"),
    ("15 مارس 2020", "April 15, 2020"), ("15 मार्च", "April 15"), ("5 ธันวาคม", "March 5"),
    ("15 tháng 3 năm 2020", "April 15, 2020"), ("15 במרץ 2020", "April 15, 2020"),
    ("2020 m. kovo 15 d.", "15 April 2020"), ("2020. gada 15. martā", "April 15, 2020"),
    ("১৫ মার্চ ২০২০", "April 15, 2020"), ("15. märts", "April 15"), ("五月三日", "June 3"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), SAME)
def test_the_same_number_in_other_notations(source: str, target: str) -> None:
    for pair in ((source, target), (f"Es sind {source} hier.", f"There are {target} here.")):
        assert not compare(*pair).contradicts
        assert not compare(*reversed(pair)).contradicts


@pytest.mark.parametrize(("source", "target"), OTHER)
def test_other_numbers_contradict(source: str, target: str) -> None:
    for pair in ((source, target), (f"Es sind {source} hier.", f"There are {target} here.")):
        assert compare(*pair).contradicts and compare(*pair).share == 0
        assert compare(*reversed(pair)).contradicts


def test_a_mark_of_a_list_is_no_sign() -> None:
    assert not compare("-22 Arten", "-Has 22 kinds").contradicts
    assert compare("-22 °C", "22 °C").contradicts


def test_numbers_of_one_side_are_missing_and_do_not_contradict() -> None:
    found = compare("Im Jahr 2018 lebten 18 Hunde hier.", "In 2018 dogs lived here.")
    assert not found.contradicts and found.shared == 1
    assert [one.digits for one in found.missing[0]] == ["18"] and not found.missing[1]
    assert compare("no digits", "nor here") == (0, ([], []), False, ())


SIGNS = "0123456789٠١٩०९๑０１ .,٫٬'’:/-–−~\u00a0\u202f%$€万億千百十만억조天三二〇kKmhH()#&x"
SIGNS += "½¼²⁶₂⁻^日年月XIV"
TEXT = st.lists(
    st.sampled_from([*SIGNS, " million", " Mio. ", " lakh", " pm ", " Uhr ", "พันล้าน", " ft", " °F"])
    | st.integers().map(str)
).map("".join)


@given(TEXT, TEXT)
def test_any_text_is_compared_alike_in_both_directions(source: str, target: str) -> None:
    found, back = compare(source, target), compare(target, source)
    assert found.contradicts == back.contradicts and found.share == back.share
    assert found.missing == back.missing[::-1]
    assert not compare(source, source).contradicts and compare(source, source).share == 1


@pytest.mark.parametrize(
    "part",
    ["1", "1,,", "1x", "1.000.", "1 000 ", "10.30 ", "2500 ", "1千1", "1tausend", "5 m m", "-"],
)
def test_time_grows_with_the_length(part: str) -> None:
    begun = time.process_time()
    compare(part * 20_000, "7 ft")
    assert time.process_time() - begun < 20


def test_numbers_of_other_digits_convert():
    alike = [("3/4 der Leute", "75% of the people"), ("1h30", "90 minutes"), ("180 °C", "350 °F")]
    assert all(same_in_other_digits(*one) and same_in_other_digits(*reversed(one)) for one in alike)
    others = [("75 Leute", "75 people"), ("180 °C", "450 °F"), ("Leute", "people"), ("3", "75%")]
    assert not any(same_in_other_digits(*one) for one in others)
