"""Splits of a bitext: parts share no sentence, near-copy or document; hashes keep rows in place."""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files import write

import miner as api
from miner.cleaning.settings import Split
from miner.cleaning.split import PARTS, _Groups, split
from miner.errors import ArtifactError, CorpusError
from miner.text.bitext import read_bitext
from miner.text.formats import BitextFormat
from miner.text.near_copies import plain
from miner.text.write_bitext import write_bitext

WORDS = [*map("".join, product("bdfklmnrst", "aeiou", "bdfklmnrst"))]


def rows(count: int, seed: int = 5) -> list[tuple[str, str, str]]:
    """Return rows of few words, with repeats, near-copies and documents."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(count):
        sides = [
            " ".join(generator.choice(WORDS, int(generator.integers(2, 12)))) for _ in range(2)
        ]
        if number % 5 == 0 and found:
            other = found[int(generator.integers(len(found)))]
            sides[0] = other[0].upper() + ("!" if number % 2 else "")
        if number % 7 == 0:
            sides[1] = ""
        found.append((sides[0], sides[1], f"page{number // 3}"))
    return found


def parts_of(directory: Path, suffix: str = ".tsv") -> dict[str, list[str]]:
    return {
        name: (directory / f"{name}{suffix}").read_text("utf-8").split("\n")[:-1] for name in PARTS
    }


def test_nothing_is_in_two_parts(tmp_path: Path) -> None:
    text = rows(400)
    path = write(tmp_path / "web.tsv", text)
    settings = Split(dev=40, test=30, documents="3")
    counts = split([path], tmp_path / "out", settings)
    found = parts_of(tmp_path / "out")
    assert counts == {name: len(lines) for name, lines in found.items()}
    both = {name: sum("\t\t" not in line for line in lines) for name, lines in found.items()}
    assert (both["dev"], both["test"]) == (40, 30)
    assert sorted(line for lines in found.values() for line in lines) == sorted(
        map("\t".join, text)
    )
    order = {"\t".join(row): number for number, row in enumerate(text)}
    assert all(lines == sorted(lines, key=order.get) for lines in found.values())
    where: dict[str, set[str]] = {}
    for name, lines in found.items():
        for line in lines:
            source, target, page = line.split("\t")
            for one in filter(None, (plain(source), plain(target), page)):
                where.setdefault(one, set()).add(name)
    assert {len(names) for names in where.values()} == {1}
    assert both["test"] < counts["test"], "rows with an empty side stay with others"
    assert any(count > 1 for count in Counter(row[0] for row in text).values())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["rows"] == counts and len(manifest["parts"]) == 3


@pytest.mark.parametrize(("dev", "test"), [(0, 0), (0, 7), (7, 0), (0, 0.2), (0.2, 0)])
def test_a_part_of_no_rows_is_empty(tmp_path: Path, dev: float, test: float) -> None:
    counts = split([write(tmp_path / "web.tsv", rows(90))], tmp_path / "out", Split(dev, test))
    assert (counts["dev"] > 0, counts["test"] > 0) == (dev > 0, test > 0) and counts["train"] > 45


@pytest.mark.parametrize("near", [0.7, 1])
def test_rows_with_an_empty_side_follow_their_text(tmp_path: Path, near: float) -> None:
    """Invisible characters do not matter, and an empty side joins no rows."""
    text = [(f"satz {n} {n * 7919}", f"sentence {n} {n * 104729}", "") for n in range(300)]
    text += [(f"sa\u00adtz {n} {n * 7919}.", "\u200b" if n % 2 else "", "") for n in range(300)]
    text += [("", f"sentence\x0b{n} {n * 104729}", "") for n in range(300)]
    counts = split([write(tmp_path / "web.tsv", text)], tmp_path / "out", Split(50, 50, near))
    assert counts == {"train": 600, "dev": 150, "test": 150}
    where: dict[str, set[str]] = {}
    for name, lines in parts_of(tmp_path / "out").items():
        for line in lines:
            for one in filter(None, map(plain, line.split("\t")[:2])):
                where.setdefault(one, set()).add(name)
    assert {len(names) for names in where.values()} == {1}


def test_near_copies_stay_together(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    letters = list("abcdefghijklmnopqrstuvwxyz ")
    long = ["".join(generator.choice(letters, 80)) for _ in range(60)]
    text = [
        (f"{one}x{copy}", f"{n} {copy} other {one[::-1]}", "")
        for n, one in enumerate(long)
        for copy in range(2)
    ]
    path = write(tmp_path / "web.tsv", text)
    api.split(path, tmp_path / "near", api.Split(dev=0.2, test=0.2))
    split([path], tmp_path / "equal", Split(dev=0.2, test=0.2, near=1))
    apart = []
    for name in ("near", "equal"):
        where = {
            line.split("\t")[0]: part
            for part, lines in parts_of(tmp_path / name).items()
            for line in lines
        }
        apart.append(sum(where[f"{one}x0"] != where[f"{one}x1"] for one in long))
    assert apart[0] == 0 < apart[1]


def test_rows_stay_when_text_is_added(tmp_path: Path) -> None:
    """When text is added, rows of dev and test stay or move to training."""
    text = [(f"satz {n} {n * 7919}", f"sentence {n} {n * 104729}", "") for n in range(600)]
    for sizes, stays in (((0.2, 0.1), True), ((60, 60), False)):
        settings = Split(*sizes, near=1)
        before, after = (
            {line: part for part, lines in parts_of(tmp_path / name).items() for line in lines}
            for name, some in (("few", text[:400]), ("all", text))
            if split([write(tmp_path / "web.tsv", some)], tmp_path / name, settings)
        )
        moved = {(before[line], after[line]) for line in before if before[line] != after[line]}
        assert moved == (set() if stays else {("dev", "train"), ("test", "train")})
    other = Split(0.2, 0.1, near=1, seed=2)
    split([tmp_path / "web.tsv"], tmp_path / "seed", other)
    assert parts_of(tmp_path / "seed")["test"] != parts_of(tmp_path / "all")["test"]


@pytest.mark.parametrize("suffix", [".jsonl", ".tmx", ".parquet", ".tsv.gz"])
def test_formats_stay(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"web{suffix}"
    given = [{"source": s, "target": t, "page": p} for s, t, p in rows(60) if t]
    write_bitext(given, [str(path)], ("de", "en"))
    split([path], tmp_path / "out", Split(dev=5, test=5))
    found = [read_bitext(tmp_path / "out" / f"{name}{suffix}") for name in PARTS]
    assert [len(one) for one in found[1:]] == [5, 5]
    pairs = [(s, t) for one in found for s, t in zip(one.source, one.target, strict=True)]
    assert sorted(pairs) == sorted((row["source"], row["target"]) for row in given)


def test_two_files_and_headers(tmp_path: Path) -> None:
    text = [row for row in rows(60) if row[1]]
    for side, name in enumerate(("a.txt", "b.txt")):
        write(tmp_path / name, [row[side] for row in text])
    split([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out", Split(dev=5, test=5))
    found = read_bitext(tmp_path / "out/test.a.txt", tmp_path / "out/test.b.txt")
    assert set(zip(found.source, found.target, strict=True)) <= {row[:2] for row in text}
    table = write(tmp_path / "web.tsv", [("source", "target", "page"), *text])
    layout = BitextFormat("source", "target", header=True)
    split([table], tmp_path / "headed", Split(dev=5, test=5, documents="page"), layout)
    assert {lines[0] for lines in parts_of(tmp_path / "headed").values()} == {
        "source\ttarget\tpage"
    }


def test_what_cannot_be_split(tmp_path: Path) -> None:
    path = write(tmp_path / "web.tsv", rows(60))
    with pytest.raises(CorpusError, match=r"no 2,000 rows for test: 51 rows with text"):
        split([path], tmp_path / "out", Split(dev=0))
    assert not (tmp_path / "out").exists()
    with pytest.raises(ArtifactError, match="exists and is not one of ours"):
        split([path], tmp_path, Split(dev=1, test=1))
    with pytest.raises(ValueError, match="dev = -1 is no number of rows"):
        Split(dev=-1)
    with pytest.raises(ValueError, match="dev = 1.5 is no number of rows, and no share below 1"):
        Split(dev=1.5)
    with pytest.raises(ValueError, match="leave nothing for training"):
        Split(dev=0.5, test=0.5)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(4, 10)), max_size=12))
def test_groups_are_connected_components(pairs: list[tuple[int, int]]) -> None:
    groups = _Groups(len(pairs))
    keys = np.array(pairs, np.uint64).reshape(-1, 2).T
    groups.join_equal(keys, keys != 5)
    filled = [{*one} - {5} for one in pairs]
    expected = list(range(len(pairs)))
    for _ in pairs:
        for i, one in enumerate(filled):
            own = [expected[j] for j, other in enumerate(filled) if one & other]
            expected[i] = min([*own, expected[i]])
    assert groups.labels().tolist() == expected
