"""Verification in a search: ranks, features of right pairs, and refused settings."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ArtifactError, MismatchError, ResourceError
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.mine import search
from miner.scoring import verification
from miner.scoring.pair_features import TokenizedText, tokenize_text
from miner.scoring.verification import prepare_texts
from miner.scoring.verifier import FEATURES, Verifier


def test_more_targets_and_decoys_than_rows_count_are_refused() -> None:
    blocks: Any = SimpleNamespace(targets=2**31, spans=lambda size: [])
    with pytest.raises(ResourceError, match="^2,147,483,648 targets and decoys.*split the corpus$"):
        verification.candidate_logits(blocks, None, 1 << 30)  # type: ignore[arg-type]


def test_probability_ranks_where_there_is_a_verifier(verifying, indexes):
    pairs = search(*verifying)
    assert pairs.features is not None and pairs.features.shape == (len(pairs), len(FEATURES))
    assert ((pairs.score >= 0) & (pairs.score <= 1)).all()
    assert (np.diff(pairs.score) <= 0).all()
    right = sum(s == t for s, t in zip(pairs.source_row, pairs.target_row, strict=True))
    assert right > 50
    by_margin = search(*verifying, SearchSettings(rank="margin"))
    assert by_margin.features is None and by_margin.score[0] > 1
    assert search(*indexes).features is None  # this model has no verifier


def test_a_verifier_that_is_not_there(indexes, verifying, other_model):
    with pytest.raises(ArtifactError, match="carries no verifier"):
        search(*indexes, SearchSettings(rank="probability"))
    with pytest.raises(MismatchError, match="give the model that built it"):
        search(*verifying, SearchSettings(rank="probability"), encoder=Encoder.load(other_model))


def test_a_faulty_verifier_is_an_error(verifying_model: Path) -> None:
    encoder = Encoder.load(verifying_model)
    assert encoder.model.verifier is not None
    broken = dict(encoder.model.verifier)
    del broken["among"]
    encoder.model = dataclasses.replace(encoder.model, verifier=broken)
    with pytest.raises(ArtifactError, match="cannot be used"):
        Verifier(encoder)


def test_text_on_disk_is_prepared_alike(verifying: tuple[Index, Index]) -> None:
    texts = verifying[0].store.texts
    tokenizer = Encoder.load(verifying[0].model_name).tokenizer
    held, mapped = (prepare_texts(texts, tokenizer, 2, memory) for memory in (1 << 40, 0))
    whole = tokenize_text(tokenizer, texts.slice(0, len(texts)), 1)
    for field in dataclasses.fields(whole):
        wanted = getattr(whole, field.name)
        assert isinstance(getattr(mapped, field.name), np.memmap) or not len(wanted)
        for found in (held, mapped):
            assert getattr(found, field.name).dtype == wanted.dtype
            np.testing.assert_array_equal(getattr(found, field.name), wanted)


def test_a_search_tokenises_a_sentence_once(verifying, monkeypatch):
    prepared: list[str] = []

    def counted(tokenizer: Tokenizer, sentences: list[str], threads: int) -> TokenizedText:
        prepared.extend(sentences)
        return tokenize_text(tokenizer, sentences, threads)

    monkeypatch.setattr(verification, "tokenize_text", counted)
    search(*verifying)
    assert len(prepared) == len(verifying[0]) + len(verifying[1])
