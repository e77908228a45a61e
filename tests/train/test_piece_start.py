"""miner_train.piece_start: initial embeddings from a teacher's vectors of pieces."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.files import write
from support.foreign import fake_directory, fake_library
from support.trainings import synthetic

from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.model import load
from miner.encoder.pieces import PieceTokenizer
from miner.errors import ArtifactError
from miner_train.config import TrainConfig
from miner_train.piece_start import start_from_teacher
from miner_train.pipeline import train_model
from miner_train.read import TextPair
from miner_train.vocabulary import train_vocabulary

CONFIG = TrainConfig(pieces=120, dimension=16, batch=64, epochs=1, rate=0.02, heldout=70)
NUMBERS = 12


class Teacher:
    """Encoder whose vectors depend on the letters of a text; it counts its calls."""

    name, fingerprint = "teacher", "letters"

    def __init__(self) -> None:
        self.asked = 0

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        self.asked += len(sentences)
        letters = np.random.default_rng(4).normal(size=(128, NUMBERS))
        return np.array(
            [3 + letters[[ord(one) % 128 for one in text]].sum(0) for text in sentences]
        )


@pytest.fixture(scope="module")
def tokenizer() -> PieceTokenizer:
    return PieceTokenizer(train_vocabulary(synthetic(400), CONFIG))


def test_directions_are_the_teachers_and_lengths_fall_with_frequency(
    tokenizer: PieceTokenizer, tmp_path: Path
) -> None:
    frequent, rare = np.flatnonzero(tokenizer.meaningful)[:2].tolist()
    ids = np.array([frequent] * 999 + [rare], dtype=np.int32)
    teacher = as_encoder(Teacher())
    found = start_from_teacher(teacher, tokenizer, ids, NUMBERS, tmp_path / "c")
    rows = np.flatnonzero(tokenizer.meaningful)
    length = np.linalg.norm(found[rows], axis=1)
    np.testing.assert_allclose(length[2:], 1, rtol=1e-5)
    assert length[0] == pytest.approx(1e-3 / (1e-3 + 0.999), rel=1e-4)
    assert length[1] == pytest.approx(0.5, rel=1e-4)
    assert np.isnan(found[~tokenizer.meaningful]).all()
    texts = [
        tokenizer.processor.id_to_piece(row).replace("▁", " ").strip() for row in rows.tolist()
    ]
    vectors = teacher.encode(texts)
    centred = vectors - vectors.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(
        found[rows] @ found[rows].T / np.outer(length, length), centred @ centred.T, atol=2e-3
    )  # the cache is float16


def test_dimensions_that_the_teacher_lacks_stay_random(
    tokenizer: PieceTokenizer, tmp_path: Path
) -> None:
    ids = np.zeros(1, dtype=np.int32)
    found = start_from_teacher(as_encoder(Teacher()), tokenizer, ids, NUMBERS + 4, tmp_path / "c")
    assert np.isnan(found[:, NUMBERS:]).all()
    assert np.isfinite(found[tokenizer.meaningful, :NUMBERS]).all()


def test_new_pieces_of_a_model_follow_a_linear_function(
    tokenizer: PieceTokenizer, tmp_path: Path
) -> None:
    rows = np.flatnonzero(tokenizer.meaningful)
    ids = np.zeros(1, dtype=np.int32)
    plain = start_from_teacher(as_encoder(Teacher()), tokenizer, ids, NUMBERS, tmp_path / "c")
    whole = plain @ np.random.default_rng(2).normal(size=(NUMBERS, 6)).astype(np.float32)
    known = whole.copy()
    known[rows[1::3]] = np.nan
    found = start_from_teacher(
        as_encoder(Teacher()), tokenizer, ids, 6, tmp_path / "c", known=known
    )
    np.testing.assert_array_equal(found[rows[0::3]], whole[rows[0::3]])
    new = rows[1::3]
    lengths = np.linalg.norm(found[new], axis=1) * np.linalg.norm(whole[new], axis=1)
    assert ((found[new] * whole[new]).sum(axis=1) / lengths).mean() > 0.95


def test_a_model_to_extend_has_a_sample_of_its_pieces_encoded(
    tokenizer: PieceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miner_train.piece_start.FITTED", 40)
    rows = np.flatnonzero(tokenizer.meaningful)
    ids = np.zeros(1, dtype=np.int32)
    plain = start_from_teacher(as_encoder(Teacher()), tokenizer, ids, NUMBERS, tmp_path / "all")
    known = plain @ np.random.default_rng(2).normal(size=(NUMBERS, 6)).astype(np.float32)
    whole, new = known.copy(), rows[1::5]
    known[new] = np.nan
    known[rows[0]] = 0  # a piece that no training met
    teacher = Teacher()
    start = start_from_teacher(as_encoder(teacher), tokenizer, ids, 6, tmp_path / "c", known=known)
    assert len(new) + 20 <= teacher.asked <= len(new) + 40
    old = np.setdiff1d(rows, new)
    np.testing.assert_array_equal(start[old], known[old])
    lengths = np.linalg.norm(start[new], axis=1) * np.linalg.norm(whole[new], axis=1)
    assert ((start[new] * whole[new]).sum(axis=1) / lengths).mean() > 0.9


def test_a_repeated_run_encodes_nothing_again(tokenizer: PieceTokenizer, tmp_path: Path) -> None:
    teacher, ids = Teacher(), np.zeros(1, dtype=np.int32)
    encoder = as_encoder(teacher)
    first = start_from_teacher(encoder, tokenizer, ids, 8, tmp_path / "c")
    asked = teacher.asked
    np.testing.assert_array_equal(
        start_from_teacher(encoder, tokenizer, ids, 8, tmp_path / "c"), first
    )
    assert teacher.asked == asked


def test_only_pieces_of_one_vocabulary_can_be_taught(tmp_path: Path) -> None:
    bitext = write(tmp_path / "de-en.tsv", zip(*synthetic(300), strict=True))
    config = dataclasses.replace(CONFIG, encoder="word")
    with pytest.raises(ArtifactError, match="--pieces-from teacher: is for the encoder 'sp'"):
        train_model([TextPair(str(bitext))], config, tmp_path / "m", teacher=as_encoder(Teacher()))


def test_command(miner, tiny_model, tmp_path, monkeypatch):
    fake_library(monkeypatch)
    bitext = write(tmp_path / "de-en.tsv", zip(*synthetic(400), strict=True))
    name = fake_directory(tmp_path / "st", tiny_model)
    run = ["train", "--bitext", bitext, "--pieces", 120, "--dimension", 40, "--epochs", 1]
    run += ["--batch", 64, "--no-verifier", "-o", tmp_path / "m"]
    code, _, err = miner(*run, "--pieces-from", name)
    assert code == 0, err
    assert load(tmp_path / "m").training["pieces from"]["name"] == "st"
    assert not list(tmp_path.glob(".m*"))
    code, _, err = miner(*run, "--pieces-from", f"hf:{tmp_path / 'none'}", "--overwrite")
    assert code == 1 and len(err.splitlines()) == 1 and "no such directory" in err
