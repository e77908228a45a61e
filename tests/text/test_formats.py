"""Tests of miner.text.formats: suffixes of outputs."""

import pytest

from miner.text.formats import check_suffix

GOOD = """- out dir.csv/out .hidden a.txt a.tsv a.TSV a.tsv.gz a.jsonl.zst a.ndjson a.bucc.xz a.gz
clean.de clean.en.gz clean.zh-Hant clean.pt_BR part.01 clean.2026-11-22 pairs.parquet"""
BAD = """a.csv a.CSV a.tmx a.tmx.gz a.xlsx a.zip a.tar.gz a.html a.json a.clean a.7z a.lz4
a.parquet.gz a.npy a.h5"""


@pytest.mark.parametrize("name", [*GOOD.split(), *BAD.split()])
def test_suffixes_of_outputs(name: str) -> None:
    if name in GOOD.split():
        check_suffix(name, (".parquet",))
        return
    with pytest.raises(ValueError, match=r"\.txt \.tsv .* \.parquet, .* \.gz \.bz2"):
        check_suffix(name, (".parquet",))


def test_tables_are_known_only_to_commands_that_write_them() -> None:
    with pytest.raises(ValueError, match=r"\.parquet is not written"):
        check_suffix("a.parquet")
