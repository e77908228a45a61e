"""miner.align and its command: text to beads, ladders, folders, odd documents, resumed runs."""

from pathlib import Path

import pytest

import miner
from miner import align
from miner.alignment.ladder import read_ladder
from miner.errors import CorpusError
from miner.evaluation.alignment import evaluate
from miner.evaluation.gold import read_gold

DEMO = Path(miner.__file__).parent / "demo"
Texts = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def texts() -> Texts:
    """Sixty pairs of the demo; 3 and 4 are one target sentence, 10 has no target, 20 no source."""
    lines = [(DEMO / f"demo.{name}").read_text("utf-8").splitlines() for name in ("de", "en")]
    gold = sorted(read_gold(DEMO / "demo.gold"))[:60]
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
    found = align(*files)
    found.write(tmp_path / "a.ladder")
    beads = read_ladder(tmp_path / "a.ladder")
    assert [i for side, _ in beads for i in side] == list(range(59))
    assert [j for _, side in beads for j in side] == list(range(58))
    scores = evaluate([(beads, gold())])
    assert scores.strict.f1 > 0.9 and scores.lax.f1 > 0.95
    assert found.precision is not None and abs(found.precision - scores.strict.precision) < 0.1
    rows = {row[3]: row for row in found.pairs[0].rows()}
    assert rows["3,4"][1:] == (f"{texts[0][3]} {texts[0][4]}", texts[1][3], "3,4", "3")


def test_a_precision_may_be_asked_for(files) -> None:
    every, sure = align(*files), miner.align(*files, target_precision=0.999)
    assert 0 < len(sure) < len(every) and sure.precision >= 0.999
    assert len(align(*files, threshold=2)) == 0


def test_lines_without_text_keep_their_numbers(files, texts, tmp_path: Path) -> None:
    spaced = tmp_path / "spaced.de"
    spaced.write_text("".join(f"\n{line}\n" for line in texts[0]), encoding="utf-8")
    numbers = [
        [row[3] for row in align(one, files[1]).pairs[0].rows()] for one in (files[0], spaced)
    ]
    doubled = [",".join(str(2 * int(n) + 1) for n in cell.split(",")) for cell in numbers[0]]
    assert numbers[1] == doubled


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
        ("a" * 6000, "a line has 6,000 characters"),
    ],
)
def test_odd_documents_give_a_line(source: str, fault: str, miner, files, texts, tmp_path) -> None:
    odd = tmp_path / "odd.de"
    odd.write_text("\n".join(texts[0][::-1]) if source == "reversed" else source, encoding="utf-8")
    code, out, err = miner("align", odd, files[1], "--unaligned")
    assert code == 0 and fault in err
    assert sum(line.count("\t") == 2 for line in out.splitlines()) == len(out.splitlines()) > 0


def test_one_against_many_and_the_same_text_often(miner, files, tmp_path: Path) -> None:
    one, many = tmp_path / "one.de", tmp_path / "many.en"
    one.write_text("Alle Rechte vorbehalten.\n", encoding="utf-8")
    many.write_text("All rights reserved.\n" * 1000, encoding="utf-8")
    for source in (one, many):
        code, out, _ = miner("align", source, many, "--unaligned", "--coarse")
        assert code == 0
        assert sum(line.split("\t")[2].count("All rights") for line in out.splitlines()) == 1000


def test_faulty_files(miner, files, tmp_path: Path) -> None:
    code, _, err = miner("align", files[0], tmp_path / "none.en")
    assert code == 1 and "none.en" in err
    (tmp_path / "bad.ladder").write_text("[0]:[0]\n0-1\n", encoding="utf-8")
    code, _, err = miner("evaluate", "align", tmp_path / "bad.ladder", tmp_path / "bad.ladder")
    assert code == 1 and "bad.ladder, line 2: no bead" in err
    with pytest.raises(CorpusError, match="each needs a partner"):
        align([files[0]], [files[1], files[1]])
