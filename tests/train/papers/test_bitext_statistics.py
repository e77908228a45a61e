"""Statistics of a bitext, counted block by block."""

from collections import Counter

import numpy as np
import pytest

from miner_train.papers import bitext_statistics
from miner_train.papers.bitext_statistics import BitextStatistics


@pytest.mark.parametrize("idf", [False, True])
def test_processes_change_nothing(german, english, english_file, idf):
    from miner.text.corpus import CorpusReader

    size = len(german) // (bitext_statistics.ALONE + 2)  # more blocks than one process counts

    def counted(threads: int) -> BitextStatistics:
        blocks = (
            (
                np.arange(start, start + size),
                (german[start : start + size], english[start : start + size]),
                [(str(len(text)),) for text in english[start : start + size]],
            )
            for start in range(0, len(german) - size, size)
        )
        rarity = CorpusReader(english_file) if idf else None
        return bitext_statistics.count(
            *(blocks, ("source", "target"), ("length",), "text", Counter()),
            idf=rarity,
            keep=True,
            threads=threads,
        )

    alone, together = counted(1), counted(2)
    assert together.as_dict() == alone.as_dict()
    rows = list(bitext_statistics.sentence_rows(alone))
    assert list(bitext_statistics.sentence_rows(together)) == rows and len(rows) > size
