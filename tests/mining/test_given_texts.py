"""Texts in memory instead of files, and results that iterate, slice and become tables."""

import numpy as np
import pyarrow as pa
import pytest

import miner
from miner import Encoder, Index, Keep
from miner.errors import CorpusError


def written(found, place) -> bytes:
    found.all_pairs.write(place / "pairs.parquet")
    return (place / "pairs.parquet").read_bytes()


@pytest.fixture(scope="module")
def wanted(verifying, german_file, english_file):
    return miner.mine(german_file, str(english_file), encoder=verifying[0].model_name)


def test_texts_are_mined_as_a_file_of_the_same_lines(
    wanted, verifying, german_file, english_file, tmp_path
):
    german, english = (
        path.read_text(encoding="utf-8").split("\n")[:-1] for path in (german_file, english_file)
    )
    model, notes = verifying[0].model_name, []
    for sides in (
        (german, tuple(english)),
        (iter(german), (text for text in english)),
        (pa.array(german), pa.chunked_array([english[:5], english[5:]])),
        (np.array(german, dtype=object), english_file),
    ):
        found = miner.mine(*sides, encoder=model, note=notes.append)
        assert written(found, tmp_path) == written(wanted, tmp_path)
    assert not any("warning" in note for note in notes)
    missing = miner.mine([*german[:30], None, float("nan"), ""], english, encoder=model)
    assert missing.pairs.source.sources[0].empty == 3 and len(missing.pairs.source) == 30
    index = Index.build(Encoder.load(model), german, tmp_path / "index")
    assert index.sentences(np.arange(3)) == german[:3]


def test_what_is_no_text_is_told_by_its_place(verifying, german_file, tmp_path):
    model = verifying[0].model_name
    with pytest.raises(CorpusError, match=r"^target, text 2: is int, not text: 7$"):
        miner.mine(["eins"], ["one", 7], encoder=model)
    with pytest.raises(CorpusError, match=r"^source, text 1: is dict, not text"):
        miner.mine([{"text": "eins"}], ["one"], encoder=model)
    with pytest.raises(CorpusError, match="^source, line 2, .*half a surrogate pair"):
        miner.mine(["eins", "zw\ud800ei"], ["one"], encoder=model)
    with pytest.raises(TypeError, match="no setting of reading named 'threshold'"):
        miner.mine(["eins"], ["one"], encoder=model, threshold=0.5)
    with pytest.raises(ValueError, match="is a file and would be read as a text"):
        miner.mine([str(german_file)], ["one"], encoder=model)


def test_results_iterate_and_slice(wanted, verifying):
    rows = list(wanted)
    assert len(rows) == len(wanted) == len(wanted.pairs) > 20
    assert list(rows[0]) == ["score", "source", "target", "source_id", "target_id"]
    assert [row["score"] for row in rows] == wanted.pairs.score.tolist()
    assert (wanted[0], wanted[-1], list(wanted[2:4])) == (rows[0], rows[-1], rows[2:4])
    assert list(wanted.pairs[np.array([3, 1])]) == [rows[3], rows[1]]
    assert wanted[np.int64(2)] == rows[2]
    with pytest.raises(IndexError):
        wanted[len(rows)]
    nothing = miner.mine(*verifying, keep=Keep(top_n=0))
    assert list(nothing) == [] and nothing.to_arrow().num_rows == 0


def test_results_become_tables(verifying):
    wanted = miner.mine(*verifying)
    table = wanted.to_arrow()
    assert table.column("source").to_pylist() == [row["source"] for row in wanted]
    assert {"source_id", "margin_ratio", "q_value"} < set(table.column_names)
    page = wanted._repr_html_()
    assert page.count("<tr>") == 11 and f"{wanted.precision:.3f}" in page
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert isinstance(wanted.to_pandas(), pandas.DataFrame)
