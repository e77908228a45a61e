"""Whole filter runs: each row is kept or rejected unchanged, in order, for the right reason."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of, filters, parts, written  # noqa: F401 (fixture)
from support.raw_lines import hard, lines_of, put

from miner.cleaning import funnel, pipeline, scorers, stages, write
from miner.cleaning.bitexts import bitexts_of, cut_all, sample
from miner.cleaning.settings import Selection
from miner.errors import CorpusError
from miner.filters.filter_types import Context
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.formats import USUAL_FORMAT, BitextFormat

WORDS = {"name": "length", "of": "shorter", "minimum": 1}


def merged(found, kept: list, rejected: list) -> list:
    """Merge kept and rejected rows by the decisions; no row may be left over."""
    queues = iter(kept), iter(rejected)
    out = [next(queues[int(reason >= 0)]) for reason in found.removed]
    assert not list(queues[0]) and not list(queues[1])
    return out


@settings(max_examples=25)
@given(hard, st.sampled_from(["skip", "replace"]), st.booleans())
def test_a_tsv_is_kept_and_rejected(tmp_path_factory, data, on_error, header) -> None:
    path = put(tmp_path_factory.getbasetemp() / "clean.tsv", data)
    try:
        found = cleaned(path, config_of(WORDS), BitextFormat(on_error=on_error, header=header))
    except CorpusError as error:  # rows without the columns cannot be replaced
        assert on_error == "replace" and "column 2 is asked for" in str(error)
        return
    [kept], rejected = parts(found)
    expected = lines_of(data)
    if header and expected:
        head = expected.pop(0)
        assert kept.pop(0) == head and rejected.pop(0) == head + b"\tfilter\tvalue"
    if on_error == "replace":
        expected = [line.decode("utf-8", "replace").encode() for line in expected]
    assert len(kept) + len(rejected) == len(expected) == found.count
    reasons = [line.rsplit(b"\t", 2)[1:] for line in rejected]
    assert all(reason in ([b"length", b"0"], [b"unreadable", b"1"]) for reason in reasons)
    lines = [line.rsplit(b"\t", 2)[0] for line in rejected]
    assert merged(found, kept, lines) == expected


@settings(max_examples=20)
@given(hard, hard, st.integers(1, 2))
def test_two_files_are_kept_and_rejected(tmp_path_factory, left, right, outputs) -> None:
    sides = lines_of(left), lines_of(right)
    pairs = list(zip(*sides, strict=False))
    paths = [
        put(
            tmp_path_factory.getbasetemp() / f"clean.{side}",
            b"".join(p[side] + b"\n" for p in pairs),
        )
        for side in range(2)
    ]
    # Carriage returns at line ends do not count.
    pairs = list(zip(*(lines_of(path.read_bytes()) for path in paths), strict=True))
    reading = BitextFormat(on_error="skip")
    found = cleaned(tuple(paths), config_of(WORDS), reading, kept=outputs)
    kept, rejected = parts(found)
    flat = [tuple(line.replace(b"\t", b" ") for line in pair) for pair in pairs]
    if outputs == 2:  # unchanged lines with their tabs
        both = list(zip(*kept, strict=True))
        assert both == [pairs[row] for row in np.flatnonzero(found.kept).tolist()]
        both = [tuple(line.replace(b"\t", b" ") for line in pair) for pair in both]
    else:
        both = [tuple(line.split(b"\t")) for line in kept[0]]
    assert merged(found, both, [tuple(line.split(b"\t")[:2]) for line in rejected]) == flat


rows_of_json = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"source": st.text(), "target": st.text()},
            optional={"filter": st.integers(), "n": st.floats(allow_nan=False), "ä": st.none()},
        ).map(lambda record: json.dumps(record).encode()),
        st.sampled_from([b"", b"{", b"[[1, 2]]", b'{"source": "\\ud800", "target": "a"}', b"\xff"]),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(rows_of_json)
def test_json_is_kept_and_rejected(tmp_path_factory, lines) -> None:
    data = b"".join(line + b"\n" for line in lines)
    path = put(tmp_path_factory.getbasetemp() / "clean.jsonl", data)
    reading = BitextFormat(source_column="source", target_column="target", on_error="skip")
    found = cleaned(path, config_of(WORDS), reading)
    [kept], rejected = parts(found)
    for line, out in zip(lines, merged(found, kept, rejected), strict=True):
        if out != line:
            record = json.loads(out)
            # A row that already has these keys keeps them.
            label = record.get("filter_2", record["filter"])
            assert label in ("length", "unreadable")
            assert out.startswith(line[:-1]) or record["line"] == line.decode("utf-8", "replace")


def test_what_is_repaired_is_written(tmp_path: Path) -> None:
    lines = ["1\tschÃ¶n\tnice\t schÃ¶n \r", "2\tgut\tgood\tÃ¶", ""]
    path = put(tmp_path / "a.tsv", "\n".join([*lines, ""]).encode())
    reading = BitextFormat(source_column=2, target_column=3)
    found = cleaned(path, config_of(WORDS, repair=True), reading)
    [kept], rejected = parts(found)
    # Columns that are not texts of the pair do not change.
    assert [line.decode() for line in kept] == ["1\tschön\tnice\t schÃ¶n ", lines[1]]
    assert rejected == [b"\tlength\t0"] and vars(found)["summary"].repaired == 1
    assert "1 rows were repaired" in funnel.table(vars(found)["summary"])


@pytest.fixture
def noisy(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    """Return pairs, mismatched pairs, duplicates, untranslated copies, and pairs with an empty
    side.
    """
    pairs = list(zip(german, english, strict=True))
    wrong = list(zip(german, english[7:] + english[:7], strict=True))
    copied = [(text, text) for text in german[:9]]
    lines = [f"{s}\t{t}" for s, t in pairs + wrong[:30] + pairs[:20] + copied] + ["", "a\t"]
    return put(tmp_path / "noisy.tsv", "".join(f"{line}\n" for line in lines).encode())


TABLES = (
    {"name": "length", "of": "shorter", "minimum": 1},
    {"name": "quality", "minimum": 0.2},
    {"name": "margin", "minimum": 0.5},
    {"name": "duplicates", "of": "either"},
)


@pytest.mark.parametrize(
    ("size", "lines", "threads", "all_scores"),
    [(7, 50, 1, False), (60, 50, 1, True), (16, 70, 2, False)],
)
def test_blocks_pieces_and_processes_do_not_matter(
    noisy, knowing_model, monkeypatch, size, lines, threads, all_scores
):
    config = config_of(*TABLES, context=Context("de", "en", model=str(knowing_model)))
    expected = cleaned(noisy, config, lines=1000, all_scores=all_scores)
    assert 40 < expected.kept.sum() < 70 and expected.kept[:60].mean() > 0.8
    for module, name in ((stages, "ROWS"), (write, "ROWS"), (stages, "ALONE")):
        monkeypatch.setattr(module, name, size)
    found = cleaned(noisy, config, lines=lines, threads=threads, all_scores=all_scores)
    np.testing.assert_array_equal(found.removed, expected.removed)
    for label in ("length", "quality", "margin", "duplicates"):
        np.testing.assert_array_equal(found.scores(label), expected.scores(label))
    assert written(found) == written(expected)
    same = [
        [dataclasses.replace(one, seconds=0) for one in run.stages] for run in (found, expected)
    ]
    assert same[0] == same[1]
    precision = [vars(run)["summary"].precision for run in (found, expected)]
    assert precision[0] == precision[1] and 0.2 < precision[0] < 1


def test_an_empty_text(tmp_path: Path, knowing_model: Path) -> None:
    config = config_of(*TABLES, {"name": "near_duplicates"}, {"name": "decile", "of": "quality"},
                   context=Context(model=str(knowing_model)))  # fmt: skip
    found = cleaned(put(tmp_path / "a.tsv", b""), config, selection=Selection(3, 5, 0.5))
    assert found.count == 0 and written(found) == ([b""], b"")
    assert funnel.table(vars(found)["summary"]).startswith(
        "0 rows: 0 kept (-), 0 rejected; 0 words kept"
    )
    assert vars(found)["summary"].precision is None


@given(st.integers(0, 12), st.integers(0, 9), st.integers(0, 15), st.booleans())
def test_a_sample_is_spread_evenly(tmp_path_factory, count, other, size, header) -> None:
    place = tmp_path_factory.getbasetemp()
    numbers, files = iter(range(count + other)), []
    for name, own in (("a.tsv", count), ("b.tsv", other)):
        lines = [b"s\tt"] * header + [b"%d\tx" % next(numbers) for _ in range(own)]
        files.append([str(put(place / name, b"".join(line + b"\n" for line in lines)))])
    text = bitexts_of(files, BitextFormat(header=header), place)
    copies, rows, total = sample(text, size, place / "sample")
    assert (rows, total) == (min(size, count + other), count + other)
    chosen = []
    for copy, own in zip(copies, (count, other), strict=True):
        found = lines_of(Path(copy.files[0].path).read_bytes())
        assert found[:header] == [b"s\tt"] * header
        chosen += [int(line.split(b"\t")[0]) for line in found[header:]]
        assert len(found) - header <= own
    assert len(chosen) == rows and chosen == sorted(set(chosen))
    if size > 1 and total:
        assert chosen[0] == 0 and chosen[-1] == total - 1


def test_a_sample_names_the_line_that_is_at_fault(tmp_path: Path) -> None:
    files = [[str(put(tmp_path / "a.tsv", b"a\tb\n" * 9 + b"a\n"))]]
    with pytest.raises(CorpusError, match=r"a\.tsv, line 10: column 2"):
        sample(bitexts_of(files, USUAL_FORMAT, tmp_path), 3, tmp_path / "sample")
    skipping = bitexts_of(files, BitextFormat(on_error="skip"), tmp_path)
    assert sample(skipping, 3, tmp_path / "sample")[1] == 3


@pytest.mark.parametrize(
    ("sizes", "rows"), [((3,), [0, 8]), ((2, 4), [0, 2, 5, 8]), ((0, 2), range(9))]
)
def test_margins_compare_with_pairs_of_the_text(tmp_path: Path, sizes, rows) -> None:
    """The reference sample has the largest size that a filter asks for, without empty sides."""
    lines = [f"s{row}\tt{row}\n" if row != 4 else "s4\t \n" for row in range(9)]
    text = put(tmp_path / "a.tsv", "".join(lines).encode())
    margins = [{"name": "margin", "label": f"{size}", "pairs": size} for size in sizes]
    options = RunOptions(workers=Workers(shard_lines=4))
    with pipeline.text_run("filtering", [[str(text)]], options=options) as (run, bitexts):
        _, [pieces] = cut_all(run, bitexts)
        sampled = pipeline._sample(run, config_of(WORDS, *margins), pieces)
        run.wait()
        kept = [row for row in rows if row != 4]
        expected = [f"s{row}" for row in kept], [f"t{row}" for row in kept]
        assert len(sampled) == 3 and scorers._texts(sampled) == expected
        config = config_of(WORDS, {"name": "margin", "reference": "pairs.tsv"})
        assert pipeline._sample(run, config, pieces) == []
