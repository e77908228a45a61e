"""Named faults of a pair: a number, a negation or a word; and where they are shown."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.model import load
from miner.filters import crosslingual
from miner.kernels.aligned import BINS, PER_NAT
from miner.scoring.comparer import SURPRISE
from miner.scoring.explain import match
from miner.scoring.facts import LEAST, LEAST_OF_FEW
from miner.scoring.named_faults import FaultNames
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier

PAIRS = {
    ("Ein alter Mann kaufte das Schloss.", "An old man bought the castle."): "",
    ("Der Hund schläft im alten Schloss.", "The dog is sleeping in it."): 'missing: "schloss"',
    ("Der Hund schläft.", "The dog is sleeping yesterday."): 'added: "yesterday"',
    ("Der Hund schläft nicht.", "The dog is sleeping."): "negation: nicht | –",
    ("Der Hund ist müde.", "The dog is not tired."): "negation: – | not",
    ("Der Zug kommt um 18 Uhr an.", "The train arrives at 11 o'clock."): "number",
    ("Der Hund schläft.", ""): "",
    ("", ""): "",
}


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    """Return the default model, for which every poor match is surprising."""
    model = load()
    nats = np.linspace(24, -13, BINS).clip(0, 15)
    table = np.tile(nats * PER_NAT, (len(model.comparer["units"]), 1))
    comparer = {**model.comparer, SURPRISE: table.astype(np.uint8)}
    quality = {**dict(model.verifier or {})["quality"]}
    for key, value in (("weight", -2.0), ("mean", 0.5)):
        quality[key] = {**quality[key], "surprise": value}
    verifying = {**dict(model.verifier or {}), "quality": quality}
    changed = dataclasses.replace(model, comparer=comparer, verifier=verifying)
    return Verifier(Encoder(changed, 1), ("de", "en"))


def test_a_fault_is_named_where_it_is_known(verifier: Verifier) -> None:
    source, target = zip(*PAIRS, strict=True)
    assert [fault.name for fault in FaultNames(verifier)(source, target)] == list(PAIRS.values())
    at = list(PAIRS.values()).index("number")
    assert FaultNames(verifier)(source, target)[at] == ("number", 0, "18 Uhr", ())
    # Without English on a side, negations are unknown.
    other = FaultNames(verifier.of(("de", "fr")))
    (fault,) = other(["Der Hund schläft nicht."], ["Le chien dort."])
    assert fault[:3] == ('missing: "nicht"', 0, "nicht")


def test_the_token_that_sinks_a_pair_has_its_usual_counterparts(verifier: Verifier) -> None:
    for (source, target), name in PAIRS.items():
        tokens = [token for side in match(verifier, source, target) for token in side]
        sinking = [token for token in tokens if token.usual is not None]
        assert len(sinking) == (bool(name) and bool(target))
        if "schloss" in name:
            assert sinking[0].text.strip() == "schloss" and "castle" in (sinking[0].usual or ())


def filtered(pairs: list[tuple[str, str]], verifier: Verifier, place: Path, miner: Any) -> Any:
    """Reject all pairs for their quality; return the reasons and the report."""
    verifier.encoder.model.save(place / "model")
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (place / "a.tsv").write_text(rows, encoding="utf-8")
    (place / "rules.toml").write_text('[[filter]]\nname = "quality"\nminimum = 1\n', "utf-8")
    code, _, err = miner(
        "filter", place / "a.tsv", "--config", place / "rules.toml", "--model", place / "model",
        "-o", place / "kept.tsv", "--rejected", place / "bad.tsv",
        "--report", place / "page.html", "--source-lang", "de", "--target-lang", "en",
    )  # fmt: skip
    assert code == 0, err
    lines = (place / "bad.tsv").read_text(encoding="utf-8").splitlines()
    page = (place / "page.html").read_text(encoding="utf-8")
    return [line.split("\t")[2] for line in lines], page


def test_the_fault_of_a_rejected_row_is_written(verifier: Verifier, tmp_path: Path, miner) -> None:
    reasons, page = filtered([pair for pair in PAIRS if pair[1]], verifier, tmp_path, miner)
    names = [f"quality: {name}" if name else "quality" for (_, t), name in PAIRS.items() if t]
    assert reasons == names
    assert ": negation" in page and ": missing: &#34;schloss&#34;" in page
    assert re.search(r'alten <mark title="usually [^"]*castle[^"]*">Schloss</mark>', page)


def test_the_mark_is_on_the_word_itself(verifier: Verifier, tmp_path: Path, miner) -> None:
    pairs = [
        ("Im Jahr 2018 lebten 18 Hunde hier.", "In 2018 dogs lived here."),
        ("Es sind 1.518 und 18.", "There are 1,518."),
        # A letter that is longer in lower case.
        ("İİİ: der Hund schläft im alten Schloss.", "İİİ: the dog is sleeping in it."),
    ]
    _, page = filtered(pairs, verifier, tmp_path, miner)
    assert "Im Jahr 2018 lebten <mark>18</mark> Hunde" in page
    assert "1.518 und <mark>18</mark>." in page
    assert re.search("alten <mark[^>]*>Schloss</mark>", page)


def test_the_fault_of_a_long_text_is_the_same_in_the_report(
    verifier, tmp_path, miner, monkeypatch
) -> None:
    monkeypatch.setattr(crosslingual, "UNRELATED", 0)  # for any quality
    tail = " Der Hund schläft." * 30, " The dog is sleeping." * 30
    long = ("Im alten Schloss." + tail[0], "In it." + tail[1])
    (reason,), page = filtered([long], verifier, tmp_path, miner)
    name = reason.removeprefix("quality: ").replace('"', "&#34;")
    assert "&#34;" in name and f": {name}" in page and ": number" not in page
    # Its length is not a number of the text.
    assert f"… ({len(long[0])} characters)" in page


def test_common_words_are_no_reasons(verifier: Verifier) -> None:
    """Shuffled pairs name no function word, but may name a negation."""
    faults = FaultNames(verifier)
    common = [
        piece.strip("▁")
        for piece, tells in zip(faults.tokenizer.spellings(), faults.telling, strict=True)
        if not tells
    ]
    assert {"a", "for", "the", "of", "und", "der", "die"} <= set(common)
    assert not {"nicht", "not", "schloss", "castle"} & set(common)


def test_names_in_another_script_are_no_reasons(verifier: Verifier) -> None:
    """A transliterated word is no reason; a different name is."""
    faults = FaultNames(verifier.of(("he", "en")))
    source = ["הוא אמר לטום", "טום ישן.", "טום אוהב כלבים."]
    found = faults(source, ["He told Tom.", "Tom is sleeping.", "London likes dogs."])
    assert all("tom" not in one.name for one in found[:2])
    assert found[2].name in ('missing: "טום"', 'added: "london"')
    # A name whose counterparts are also names.
    faults = FaultNames(verifier.of(("ko", "en")))
    (found,) = faults(["톰은 학교에 갔다."], ["Tom went to the market."])
    assert found.name and "tom" not in found.name


def test_a_reason_is_a_word_with_its_vowel_signs(verifier: Verifier) -> None:
    faults = FaultNames(verifier.of(("hi", "en")))
    (found,) = faults(["टॉम बोस्टन में रहता है।"], ["Tom lives there."])
    assert found.word in ("टॉम", "बोस्टन")


def test_a_turned_fact_lowers_the_quality_and_another_notation_does_not() -> None:
    encoder = Encoder(load(), 1)
    quality = Quality(Verifier(encoder, ("de", "en")))
    right = [
        ("Er hat das nicht gewusst.", "He did not know that."),
        ("Der Film dauert 1h30.", "The film lasts 90 minutes."),
        ("3/4 der Leute kamen.", "75% of the people came."),
    ]
    turned = [("Er hat das nicht gewusst.", "He knew that.")]
    scores = quality.score(*zip(*right, *turned, strict=True))
    assert (scores[:3] > 0.3).all()
    assert scores[3] < 0.1
    # Facts of a language with few pairs are doubted.
    found = [Verifier(encoder, (code, "en")).facts for code in ("de", "sk")]
    assert [one and one.least for one in found] == [LEAST, LEAST_OF_FEW]


def test_other_forms_of_a_number_and_idioms_are_no_contradictions() -> None:
    quality = Quality(Verifier(Encoder(load(), 1), ("de", "en")))
    pairs = [
        ("Sprachen ab der fünften Klasse.", "Languages from year five."),
        ("Kinder ab dem vollendeten zweiten Lebensjahr.", "Children from the age of two."),
        ("Spätestens sechs Monate danach zahlte er.", "He paid no later than six months after."),
        ("Sie bekommen ein Viertel des Preises zurück.", "They get a quarter of the fare back."),
        ("Die Schule hat 800 Schüler.", "The school has eight hundred students."),
        ("Das ist schön, oder?", "That is beautiful, isn't it?"),
        ("Das Spiel ist ungerecht.", "The game is unfair."),
        ("Das Urteil kommt frühestens Mitte Mai.", "A verdict will not come before mid-May."),
    ]
    turned = [
        ("Sprachen ab der fünften Klasse.", "Languages from year seven."),
        ("Die Schule hat 800 Schüler.", "The school has nine hundred students."),
        ("Ich liebe dich.", "You love you."),
        ("Du hast meinen Schlüssel verloren.", "You lost your key."),
    ]
    scores = quality.score(*zip(*pairs, *turned, strict=True))
    assert (scores[: len(pairs)] > 0.1).all()
    assert (scores[len(pairs) :] < 0.1).all()
