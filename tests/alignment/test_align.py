"""miner.align and its command: beads, ladders, folders, faulty documents, resumed runs."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from support.foreign import Counting, Knowing
from support.near_copies import NEAR

import miner
from miner import Keep, align
from miner.alignment import anchors as anchors_module
from miner.alignment.align_texts import align_texts
from miner.alignment.aligned import Aligned, Document, is_wrapped
from miner.alignment.ladder import read_ladder
from miner.alignment.settings import BeadSettings
from miner.encoder.encoder import Encoder
from miner.errors import CorpusError, ResourceError
from miner.evaluation.alignment import evaluate
from miner.evaluation.gold import read_gold
from miner.knn.settings import SearchSettings
from miner.mining.keep import KeepError
from miner.scoring import second_opinion

Texts = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def texts() -> Texts:
    """Return sixty pairs; target 3 translates sources 3 and 4, source 10 and target 20 are
    unmatched.
    """
    lines = [(NEAR / f"near.{name}").read_text("utf-8").splitlines() for name in ("de", "en")]
    gold = sorted(read_gold(NEAR / "near.gold"))[:60]
    source = [lines[0][int(one) - 1] for one, _ in gold]
    target = [lines[1][int(other) - 1] for _, other in gold]
    target[3:5] = [f"{target[3]} {target[4]}"]
    del target[9], source[20]
    return source, target


@pytest.fixture
def files(texts: Texts, tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.de", tmp_path / "a.en"
    for path, own in zip(paths, texts, strict=True):
        path.write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    return paths


def gold() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    beads = [((i,), (i,)) for i in range(3)] + [((3, 4), (3,))]
    beads += [((i,), (i - 1,)) for i in range(5, 10)] + [((10,), ())]
    beads += [((i,), (i - 2,)) for i in range(11, 20)] + [((), (18,))]
    return beads + [((i,), (i - 1,)) for i in range(20, 59)]


def test_documents_are_aligned(files, texts, tmp_path: Path) -> None:
    found = align(*files, beads=BeadSettings(unaligned=True))
    found.write(tmp_path / "a.ladder")
    beads = read_ladder(tmp_path / "a.ladder")
    assert [i for side, _ in beads for i in side] == list(range(59))
    assert [j for _, side in beads for j in side] == list(range(58))
    scores = evaluate([(beads, gold())])
    assert scores["strict"]["f1"] > 0.9 and scores["lax"]["f1"] > 0.95
    assert (
        found.precision is not None and abs(found.precision - scores["strict"]["precision"]) < 0.1
    )
    row = next(row for row in found if row["source_lines"] == "3,4")
    assert row["source"] == f"{texts[0][3]} {texts[0][4]}" and row["target"] == texts[1][3]
    assert row["target_lines"] == "3" and row["target_document"] == str(files[1])


def test_a_precision_may_be_asked_for(files) -> None:
    every, sure = align(*files), miner.align(*files, keep=Keep(target_precision=0.999))
    assert 0 < len(sure) < len(every) and sure.precision >= 0.999
    with pytest.raises(KeepError, match="would keep nothing"):
        align(*files, keep=Keep(threshold=2))


def test_sentences_of_beads_that_are_not_kept_are_unaligned(files, texts) -> None:
    """Every line occurs in exactly one row, whatever the threshold."""
    for threshold in (0.99, 1):
        settings = {"keep": Keep(threshold=threshold), "beads": BeadSettings(unaligned=True)}
        found = align(*files, **settings).columns()
        assert any(p == 0 for p in found["score"])
        for side, own in zip(("source", "target"), texts, strict=True):
            numbers = [n for cell in found[f"{side}_lines"] if cell for n in cell.split(",")]
            assert numbers == [str(n) for n in range(len(own))]


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl", "a.parquet", "a.tmx", "b.de"])
def test_score_and_filter_read_what_is_written(name, miner, texts, files, tmp_path: Path) -> None:
    output = [tmp_path / name, *([tmp_path / "b.en"] if name == "b.de" else [])]
    page = ["--report", tmp_path / "page.html"] if name == "a.tsv" else []
    code, _, err = miner("align", *files, "--lines", *page, "-o", *output)
    count = int(err.split(" beads written")[0])
    assert code == 0 and count > 50
    options = {"a.tsv": ["--scol", "2", "--tcol", "3"]}.get(name, [])
    given = ["--source", output[0], "--target", output[1]] if name == "b.de" else output
    for path in page[1:]:
        assert path.read_text("utf-8").count("<path") == count
    code, _, _ = miner("score", *given, *options, "-o", tmp_path / "scored.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text().splitlines()]
    assert code == 0 and len(rows) == count and all(row["quality"] is not None for row in rows)
    code, _, err = miner("filter", *given, *options, "-o", tmp_path / "clean.jsonl")
    kept = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text().splitlines()]
    assert code == 0 and len(kept) > 40
    if name == "b.de":
        ids = (tmp_path / "b.ids").read_text().splitlines()
        assert ids[3].split("\t")[1:] == [str(files[0]), "3,4", str(files[1]), "3"]
    else:
        names = ["column4", "column5"] if name == "a.tsv" else ["source_document", "source_lines"]
        path, line = (kept[0][key] for key in names)
        assert path == str(files[0]) and kept[0]["source"] == texts[0][int(line)]
    if name == "a.tmx":
        assert 'xml:lang="de"' in output[0].read_text("utf-8")


def test_pairs_of_documents_from_a_list(miner, files, tmp_path: Path) -> None:
    listed = tmp_path / "documents.tsv"
    listed.write_text("0.98\ta.de\ta.en\thttps://a\nx\ty\n", encoding="utf-8")
    code, _, err = miner("align", tmp_path, tmp_path, "--pairs", listed)
    assert code == 1 and f"{tmp_path / 'x'}: cannot be read" in err
    listed.write_text("0.98\ta.de\ta.en\nb\n", encoding="utf-8")
    code, _, err = miner("align", tmp_path, tmp_path, "--pairs", listed)
    assert code == 1 and "documents.tsv, line 2: no tab" in err
    listed.write_text("a.de\ta.en\na.de\ta.en\n", encoding="utf-8")
    code, out, _ = miner("align", tmp_path, tmp_path, "--pairs", listed, "--coarse")
    lines = out.splitlines()
    assert code == 0 and lines[: len(lines) // 2] == lines[len(lines) // 2 :]


def test_folders_by_name_and_a_repeated_run(miner, files, tmp_path: Path) -> None:
    folders = [tmp_path / "de", tmp_path / "en"]
    for folder, path in zip(folders, files, strict=True):
        folder.mkdir()
        for name in ("one", "two"):
            (folder / f"{name}{path.suffix}").write_bytes(path.read_bytes())
    (folders[0] / "alone.de").write_text("Allein.\n", encoding="utf-8")
    outputs = []
    for work in ([], ["--work", tmp_path / "work"], ["--work", tmp_path / "work"]):
        output = tmp_path / f"{len(outputs)}.tsv"
        code, _, err = miner("align", *folders, "--lines", *work, "-o", output)
        assert code == 0 and "alone.de: has no partner" in err
        outputs.append(output.read_text(encoding="utf-8"))
    assert outputs[0] == outputs[1] == outputs[2]
    names = {line.split("\t")[3].rpartition("/")[2] for line in outputs[0].splitlines()}
    assert names == {"one.de", "two.de"}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("", "one side has no text"),
        ("\n \n", "one side has no text"),
        ("reversed", "not in the order of the documents"),
        ("chapters", "not in the order of the documents"),
        ("a" * 6000, "a line has 6,000 characters"),
    ],
)
def test_odd_documents_give_a_line(source: str, fault: str, miner, files, texts, tmp_path) -> None:
    odd = tmp_path / "odd.de"
    order = {"reversed": range(59)[::-1], "chapters": [*range(30, 59), *range(15, 30), *range(15)]}
    lines = [texts[0][row] for row in order.get(source, [])] or [source]
    odd.write_text("\n".join(lines), encoding="utf-8")
    code, out, err = miner("align", odd, files[1], "--unaligned")
    assert code == 0 and fault in err
    assert sum(line.count("\t") == 2 for line in out.splitlines()) == len(out.splitlines()) > 0


def test_documents_that_no_model_reads_are_warned_of_once(miner, tmp_path: Path) -> None:
    for number in "12":
        (tmp_path / f"{number}.en").write_text("the dog sleeps.\n", "utf-8")
        (tmp_path / f"{number}.chr").write_text("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ.\n", "utf-8")
    code, _, err = miner("align", tmp_path / "*.en", tmp_path / "*.chr", "-o", tmp_path / "out")
    assert code == 0 and err.count("in no piece of the model") == 1, err
    assert "warning: the target: 100% of the letters" in err


def test_a_document_is_its_own_translation(miner, files, texts) -> None:
    code, out, err = miner("align", files[0], files[0])
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and len(rows) > 55 and all(row[1] == row[2] for row in rows)
    assert "0 source and 0 target sentences without a counterpart" in err
    assert "warning: both sides are in German (de): " in err


def test_languages_in_doubt_are_warned_of(miner, files, tmp_path: Path) -> None:
    output = tmp_path / "out.tsv"
    _, _, err = miner("align", *files, "-o", output)
    assert "warning" not in err
    _, _, err = miner("align", *files, "--source-lang", "fr", "-o", output)
    assert "warning: 100% of the source looks like German (de)" in err


def test_faulty_files(miner, files, tmp_path: Path) -> None:
    code, _, err = miner("align", files[0], tmp_path / "none.en")
    assert code == 1 and "none.en" in err
    (tmp_path / "bad.ladder").write_text("[0]:[0]\n0-1\n", encoding="utf-8")
    code, _, err = miner("evaluate", "align", tmp_path / "bad.ladder", tmp_path / "bad.ladder")
    assert code == 1 and "bad.ladder, line 2: no bead" in err
    with pytest.raises(CorpusError, match="each needs a partner"):
        align([files[0]], [files[1], files[1]])


def test_paragraphs_are_split_and_sentences_stay(files, texts, tmp_path: Path) -> None:
    pytest.importorskip("sentencex")
    joined = tmp_path / "paragraphs.de"
    parts = [texts[0][start : start + 5] for start in range(0, len(texts[0]), 5)]
    joined.write_text("".join(" ".join(part) + "\n" for part in parts), encoding="utf-8")
    expected = align(*files).columns()
    for source in (joined, files[0]):
        found = align(source, files[1], beads=BeadSettings(split=True)).columns()
        same = set(zip(found["source"], found["target"], strict=True)) & set(
            zip(expected["source"], expected["target"], strict=True)
        )
        assert len(same) > 0.9 * len(expected["source"])
    found = align(joined, files[1], beads=BeadSettings(split=True)).columns()
    assert set(found["source_lines"]) >= {str(n) for n in range(12)}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 20])
def test_unrelated_documents_claim_no_precision(size: int) -> None:
    """Unrelated documents get no precision; the same sentences beside translations do."""
    demo = Path(miner.__file__).parent / "demo"
    german, english, gold_lines = (
        (demo / f"demo.{name}").read_text("utf-8").split("\n") for name in ("de", "en", "gold")
    )
    gold = [line.split("\t") for line in gold_lines if line]
    pairs = [(german[int(a) - 1], english[int(b) - 1]) for a, b in gold]
    encoder = Encoder.load("default", threads=1)
    both = encoder, encoder.on_side("target")
    unrelated, related = [], []
    for start in range(0, 3 * size, size):
        source = [one for one, _ in pairs[start : start + size]]
        other = [one for _, one in pairs[start + 100 : start + 100 + size]]
        own = [one for _, one in pairs[start : start + size]]
        for target, found in ((other, unrelated), (own, related)):
            beads, _ = align_texts((source, target), both, SearchSettings(), ("de", "en"))
            sizes = beads.spans[:, [1, 3]] - beads.spans[:, [0, 2]]
            found += beads.probability[(sizes > 0).all(axis=1)].tolist()
    assert np.mean(unrelated or 0) <= 0.05
    assert np.mean(related) > 0.9


def test_a_ladder_of_hunalign(tmp_path: Path) -> None:
    """A rung is the start of a bead; the last rung marks the end of both texts."""
    (tmp_path / "rungs").write_text("0\t0\t0.3\n1\t1\t1.2\n3\t2\t-0.3\n3\t3\t0\n", "utf-8")
    assert read_ladder(tmp_path / "rungs") == [((0,), (0,)), ((1, 2), (1,)), ((), (2,))]
    (tmp_path / "rungs").write_text("0\t0\n2\t2\n1\t3\n", "utf-8")
    with pytest.raises(CorpusError, match="line 3: a rung before the last one"):
        read_ladder(tmp_path / "rungs")


def test_lines_of_a_fixed_width_are_joined(german: list[str]) -> None:
    wrapped, lines = [], []
    for number in range(0, 40, 4):
        own = textwrap.wrap(" ".join(german[number : number + 4]), 60)
        lines += range(len(lines) + number, len(lines) + number + len(own))
        wrapped += own
    assert is_wrapped(wrapped) and not is_wrapped(german)
    document = Document("book", wrapped, np.array(lines))
    assert [" ".join(german[:4])[:60] in text for text in document._paragraphs().texts][0]
    assert document.split("de").texts == german[:40]


def test_lines_of_a_script_without_spaces_are_joined_without_any() -> None:
    text = "私は昨日東京へ行きました。とても楽しかったので、また行きたいと思います。" * 30
    lines = [text[i : i + 31] for i in range(0, len(text), 31)]
    document = Document("book", lines, np.arange(len(lines)))
    assert document._paragraphs().texts == [text]
    assert len({*document.split("ja").texts}) == 2


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("mya", ["ကျွန်တော် ကျောင်းသွားသည်။", "သူ စာဖတ်နေသည်။", "မိုးရွာနေပြီ။"]),
        ("km", ["ខ្ញុំទៅសាលា។", "គាត់អានសៀវភៅ។", "តើអ្នកសុខសប្បាយទេ?", "ភ្លៀងហើយ។"]),
        ("bo", ["ང་སློབ་གྲྭར་འགྲོ་གི་ཡོད།", "ཁོང་དཔེ་ཆ་ཀློག་གི་འདུག།", "ཆར་པ་བབས་སོང་། །"]),
        ("dz", ["ང་སློབ་གྲྭ་ནང་འགྱོ་དོ།", "ཁོ་གིས་དཔེ་ཆ་ལྷག་དོ།"]),
        ("am-ET", ["እኔ ወደ ትምህርት ቤት እሄዳለሁ።", "ዝናብ ይዘንባል፧", "አዎ።"]),
        ("hye", ["Ես դպրոց եմ գնում։", "Նա գիրք է կարդում։"]),
        ("ka", ["მე სკოლაში მივდივარ.", "წვიმს?"]),
        ("kn", ["ನಾನು ಶಾಲೆಗೆ ಹೋಗುತ್ತೇನೆ.", "ಮಳೆ ಬರುತ್ತಿದೆ."]),
        ("ml", ["ഞാൻ സ്കൂളിൽ പോകുന്നു.", "മഴ പെയ്യുന്നു."]),
        ("te", ["నేను బడికి వెళ్తున్నాను.", "వర్షం పడుతోంది."]),
        ("gu", ["હું શાળાએ જાઉં છું.", "વરસાદ પડે છે."]),
        ("pa", ["ਮੈਂ ਸਕੂਲ ਜਾਂਦਾ ਹਾਂ।", "ਮੀਂਹ ਪੈ ਰਿਹਾ ਹੈ।"]),
        ("ta", ["நான் பள்ளிக்குச் செல்கிறேன்.", "மழை பெய்கிறது."]),
        ("ur", ["میں اسکول جاتا ہوں۔", "بارش ہو رہی ہے؟"]),
        ("hi", ["मैं स्कूल जाता हूँ।", "वह पढ़ता है॥", "हाँ।"]),
    ],
)
def test_marks_that_end_sentences_of_many_scripts(language: str, sentences: list[str]) -> None:
    document = Document("book", [" ".join(sentences)], np.array([4]))
    assert document.split(language).texts == sentences


def test_lines_of_a_fixed_width_that_end_with_vowel_signs() -> None:
    text = "मेरी बेटी की किताब घर की अलमारी में थी और मेरी माँ की साड़ी भी वही थी "
    assert is_wrapped(textwrap.wrap(text * 40, 50))


def test_a_threshold_that_keeps_nothing_is_an_error(miner, german_file, english_file, tmp_path):
    code, _, err = miner(
        "align", german_file, english_file, "--threshold", 2, "-o", tmp_path / "a.tsv"
    )
    assert code != 0 and "would keep nothing" in err and not (tmp_path / "a.tsv").exists()


def shortened(texts: Texts) -> Texts:
    """Leave out most words of each side, different ones."""
    source, target = texts
    return [" ".join(a.split()[::4]) for a in source], [" ".join(b.split()[1::4]) for b in target]


@pytest.fixture
def doubting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits of the second opinion, so that nearly all beads of a small text are in
    doubt.
    """
    monkeypatch.setattr(second_opinion, "BEAD_BAND", (1e-4, 0.9999))
    monkeypatch.setattr(second_opinion, "FEWEST", 5)


def put(place: Path, texts: Texts) -> tuple[str, str]:
    place.mkdir(parents=True, exist_ok=True)
    paths = place / "b.de", place / "b.en"
    for path, own in zip(paths, texts, strict=True):
        path.write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    return str(paths[0]), str(paths[1])


@pytest.fixture
def knowing(texts: Texts) -> Knowing:
    """Return an encoder that knows the right beads of the shortened text."""
    source, target = shortened(texts)
    found = [([source[i] for i in own], [target[j] for j in other]) for own, other in gold()]
    return Knowing([(" ".join(own), " ".join(other)) for own, other in found if own and other])


def test_constants_of_a_second_opinion_are_in_the_fingerprint(
    texts, knowing, doubting, tmp_path, monkeypatch
) -> None:
    paths = put(tmp_path, shortened(texts))
    given = {"second": knowing, "work": tmp_path / "work"}
    knowing.fingerprint = "one"
    before = align(*paths, **given)
    monkeypatch.setattr(second_opinion, "BEAD_BAND", (0.5, 0.6))
    after, alone = align(*paths, **given), align(*paths, second=knowing)
    assert np.array_equal(after.score, alone.score)
    assert not np.array_equal(after.score, before.score)


def test_a_second_opinion_reads_beads_in_doubt(texts, knowing, doubting, tmp_path) -> None:
    notes: list[str] = []
    paths = put(tmp_path, shortened(texts))
    every = BeadSettings(unaligned=True)
    alone = align(*paths, beads=every)
    both = align(*paths, beads=every, second=knowing, note=notes.append)
    score = [evaluate([(beads_of(one), gold())])["strict"]["f1"] for one in (alone, both)]
    assert score[1] > score[0]
    assert any(line.startswith("second opinion: ") for line in notes)
    again = align(
        [paths[0]] * 3, [paths[1]] * 3, beads=BeadSettings(unaligned=True), second=knowing
    )
    assert np.array_equal(again.score, np.tile(both.score, 3))
    align(*paths, second=knowing, second_pairs=15, note=notes.append)
    read, fewer = (int(line.split()[2]) for line in notes if line.startswith("second opinion: "))
    assert 0 < fewer <= 30 < read


def beads_of(found: Aligned) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(tuple(range(a, b)), tuple(range(c, d))) for a, b, c, d in found.spans.tolist()]


def test_few_beads_in_doubt_stay(files, knowing) -> None:
    alone, both = align(*files), align(*files, second=knowing)
    assert np.array_equal(both.score, alone.score) and np.array_equal(both.spans, alone.spans)


@pytest.mark.parametrize("fault", ["NaN", "rows", "dimensions"])
def test_a_faulty_second_encoder_is_a_line(texts, tiny_model, doubting, tmp_path, fault) -> None:
    paths = put(tmp_path, shortened(texts))
    with pytest.raises(ResourceError, match="second: encode returned ") as caught:
        align(*paths, second=Counting(tiny_model, 10, fault))
    assert "\n" not in str(caught.value)


def test_the_command_asks_a_second_opinion(texts, miner, doubting, tiny_model, tmp_path) -> None:
    paths = put(tmp_path, shortened(texts))
    alone = miner("align", *paths)
    code, out, err = miner("align", *paths, "--second", tiny_model)
    assert code == 0 and "second opinion: " in err and out != alone[1]
    code, out, err = miner("align", *paths, "--second", tiny_model, "--coarse")
    assert code != 0 and "leave out --coarse" in err and not out
    code, out, err = miner("align", *paths, "--second", "hf:gone/gone")
    assert code == 1 and "gone/gone" in err and not out


def test_anchors_of_long_documents_come_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors_module, "ALL", 1 << 16)
    monkeypatch.setattr(anchors_module, "SEGMENT", 1 << 12)
    generator = np.random.default_rng(5)
    source = generator.normal(size=(700, 32)).astype(np.float32)
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    found, (rough, _) = anchors_module.anchors(source, source, SearchSettings())
    assert rough < 110 and found.tolist() == [[row, row] for row in range(700)]
