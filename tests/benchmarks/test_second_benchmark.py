"""Tables of the second opinion, and adapters of other aligners."""

import numpy as np
import pytest
from support.foreign import Knowing

from benchmarks.alignment import aligner_peers
from benchmarks.alignment.alignment_quality import Document
from benchmarks.mining import second_choice
from miner.encoder.foreign_encoder import as_encoder
from miner.errors import DependencyError


def test_means_compare_the_same_tasks() -> None:
    def filtered(language: str, second: str | None, right: int) -> dict:
        kept = {"right": right, "shuffled": 0}
        names = {"task": "filter", "language": language, "second": second}
        return {**names, "pairs": {"right": 10, "shuffled": 10}, "of 0.5 or more": kept}

    rows = [filtered("he", None, 2), filtered("fa", None, 4), filtered("he", "a", 6)]
    rows += [{"pair": "de-en", "second": name, "f1": f1} for name, f1 in ((None, 0.5), ("a", 0.75))]
    assert second_choice.compared(rows, "a", "filter", ("he",)) == "0.200 → 0.600"
    assert second_choice.compared(rows, "a", "filter", ("he", "fa")) == "–"
    assert second_choice.compared(rows, "a", "mining", ("de-en",)) == "0.500 → 0.750"
    assert second_choice.compared(rows, "b", "mining", ("de-en",)) == "–"


@pytest.fixture
def document(german: list[str], english: list[str]) -> Document:
    """Return a text whose fourth target sentence is missing."""
    gold = [((row,), (row - (row > 3),) if row != 3 else ()) for row in range(20)]
    return Document((german[:20], english[:3] + english[4:20]), gold, ("de", "en"))


@pytest.mark.parametrize("name", aligner_peers.PEERS)
def test_peers_align_by_an_encoder_of_ours(name, document) -> None:
    pytest.importorskip(name)
    known = [
        (document.texts[0][source[0]], document.texts[1][target[0]])
        for source, target in document.gold
        if target
    ]
    align = getattr(aligner_peers, name)(as_encoder(Knowing(known)))
    row = aligner_peers.measured(align, [document])
    assert row["lines"] == 39 and row["strict"] > 0.8


def test_ours_counts_as_a_system(document, tiny_model) -> None:
    align = aligner_peers.ours(aligner_peers.Encoder.load(tiny_model))
    row = aligner_peers.measured(align, [document])
    assert row["lines"] == 39 and row["lax"] > 0.5 and np.isfinite(row["cpu ms a line"])


def test_a_peer_that_is_not_there_is_a_line() -> None:
    with pytest.raises(DependencyError, match="pip install a-package"):
        aligner_peers.peers.imported("no_such_module", "a-package")
