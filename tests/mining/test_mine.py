"""miner.mine: pairs, estimate and cut in one call, on text files and indexes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support.near_copies import NEAR

import miner
from miner import Keep, SearchSettings
from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.mining.keep import KeepError
from miner.mining.result import CAUTIOUS


def test_a_model_without_a_quality_function_ranks_by_its_own_scoring() -> None:
    model = Encoder.load("default").model
    assert model.verifier is not None
    verifier = {name: part for name, part in model.verifier.items() if name != "quality"}
    encoder = Encoder(dataclasses.replace(model, verifier=verifier))
    found = miner.mine(NEAR / "near.de", NEAR / "near.en", encoder=encoder)
    assert found.precision is not None and "no quality function" in " ".join(found.notes)


def test_how_much_is_kept(verifying: tuple[Index, Index]) -> None:
    everything = miner.mine(*verifying, keep=Keep(default_precision=None))
    assert len(everything.pairs) == len(everything.all_pairs) and everything.threshold is None
    assert [row.kept for row in everything.table()] == sorted(
        row.kept for row in everything.table()
    )
    best = miner.mine(*verifying, keep=Keep(top_n=7, estimate=False))
    assert len(best.pairs) == 7 and best.estimate is None and best.precision is None
    assert [row.precision for row in best.table()] == [None] * len(best.table()) != []
    n = len(best.all_pairs)
    shares = {max(1, round(n * share)) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)}
    assert [row.kept for row in best.table()] == sorted(shares)
    cautious = miner.mine(*verifying, keep=Keep(estimate=False))
    assert cautious.threshold == CAUTIOUS and cautious.pairs.score.min() >= CAUTIOUS
    nothing = miner.mine(*verifying, keep=Keep(top_n=0, estimate=False))
    assert not len(nothing.pairs) and "nothing was mined" in nothing.warnings[-1]


def test_the_default_threshold_of_a_model_is_for_its_own_settings(verifying):
    encoder = Encoder.load(verifying[0].model_name)
    for settings, applied in (
        (SearchSettings(rank="margin"), encoder.model.threshold),
        (SearchSettings(rank="margin", k=3), None),
    ):
        found = miner.mine(*verifying, settings=settings, encoder=encoder)
        assert found.threshold == applied
        assert any("the model's default" in note for note in found.notes) == (applied is not None)


def test_choices_that_the_scores_cannot_serve(verifying: tuple[Index, Index]) -> None:
    with pytest.raises(KeepError, match="encodes decoys itself"):
        miner.mine(*verifying, keep=Keep(decoys=["a"], decoy_vectors=np.ones((1, 32))))
    with pytest.raises(KeepError, match="0 or more, not -1"):
        Keep(top_n=-1)
    with pytest.raises(KeepError, match="between 0 and 1, not 7"):
        Keep(default_precision=7)
    with pytest.raises(KeepError, match="no function to fit again .drop --no-refit or --rank"):
        miner.mine(*verifying, settings=SearchSettings(rank="margin"), keep=Keep(refit=False))
    with pytest.raises(TypeError, match="both"):
        miner.mine(verifying[0], "text.en")


def test_hints(verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch) -> None:
    def said(longest: int, *indexes: Index) -> list[bool]:
        monkeypatch.setattr("miner.mining.result.HEADING", longest)
        notes = miner.mine(*indexes, keep=Keep(threshold=0.5)).notes
        return [any(words in note for note in notes) for words in ("equal lines", "shorter than")]

    monkeypatch.setattr("miner.mining.result.FEWEST", 20)
    assert said(1000, *verifying) == [True, True]
    assert said(10, *verifying) == [True, False]
    monkeypatch.setattr(verifying[1].store, "line", verifying[1].store.line[::-1])
    assert said(10, *verifying) == [False, False]
    monkeypatch.setattr("miner.mining.result.FEWEST", 100)
    assert said(1000, *verifying) == [False, False]


def test_pairs_with_sentences_of_other_files(
    verifying: tuple[Index, Index], english: list[str], tmp_path: Path
) -> None:
    everything = miner.mine(*verifying, keep=Keep(default_precision=None))
    test = tmp_path / "test.en"
    test.write_text(f"{english[4]}\nnothing\n{english[9].upper()}\n", encoding="utf-8")
    found = miner.mine(
        *verifying, keep=Keep(default_precision=None), without=miner.Without([str(test)])
    )
    assert found.left_out is not None and f"{test} (2)" in " ".join(found.notes)
    assert sorted(found.left_out.line.tolist()) == [1, 3]
    gone = {row["target"] for row in found.left_out.rows()}
    assert gone == {english[4], english[9]}
    assert len(found.pairs) == len(everything.pairs) - 2
    assert not gone & {pair["target"] for pair in found.pairs}


@pytest.mark.parametrize("rank", ["probability", "margin"])
def test_copies_are_no_translations(german: list[str], english: list[str], rank: str) -> None:
    """Sides that differ only in case, punctuation, digits and invisible characters are copies."""
    copied = [german[0].upper(), f"- {german[1]} 7!", german[2].replace("e", "e\u00ad"), "2020"]
    sides = [*german, "2020"], [*english, *copied]
    found = {}
    for copies in ("drop", "keep"):
        settings = SearchSettings(rank=rank, copies=copies, languages=("de", "en"))
        mined = miner.mine(*sides, keep=Keep(threshold=-1.0), settings=settings)
        found[copies] = {(pair["source"], pair["target"]) for pair in mined}
        told = [note for note in mined.notes if note.startswith("3 targets with the letters")]
        assert len(told) == (copies == "drop")
    pairs = set(zip(german, copied[:3], strict=False))
    assert not pairs & found["drop"] and pairs & found["keep"]
    assert ("2020", "2020") in found["drop"], "languages share numbers"
    settings = SearchSettings(rank=rank, languages=("de", "de"))
    same = miner.mine(*sides, keep=Keep(threshold=-1.0), settings=settings)
    assert pairs & {(pair["source"], pair["target"]) for pair in same}


def test_warnings_reach_the_result(german: list[str]) -> None:
    noted: list[str] = []
    found = miner.mine(german * 2, german, note=noted.append)
    told = [line.removeprefix("warning: ") for line in noted if line.startswith("warning: ")]
    assert told and list(found.warnings[: found.told]) == told
    assert any("both sides are in German" in line for line in told)
