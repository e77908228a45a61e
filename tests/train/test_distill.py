"""Distillation: the student learns its teacher's vectors, resumes, and refuses unfit text."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files import write
from support.foreign import fake_directory, fake_library
from support.trainings import sentences, synthetic

import miner_train.learn_verifier
from miner.encoder.encoder import Encoder
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.model import load
from miner.errors import ArtifactError, CorpusError
from miner_train import teacher_vectors
from miner_train.config import TrainConfig
from miner_train.data import PairData
from miner_train.distill import Lessons, distill
from miner_train.objectives import TEACHING, taught_batch
from miner_train.read import TextPair
from miner_train.teacher_vectors import Axes, cached_vectors

CONFIG = TrainConfig(pieces=120, dimension=16, batch=64, epochs=4, rate=0.02, heldout=70)
NUMBERS = 24


class Teacher:
    """Encoder of words: the mean of their vectors, equal for translations in a dictionary."""

    name = "teacher"

    def __init__(self, seed: int = 1):
        self.fingerprint = f"seed {seed}"
        self.asked: list[str] = []
        self.ends = 1 << 30
        source, target = synthetic(200)
        words = [" ".join(side).split() for side in (source, target)]
        self.meaning = dict(zip(words[1], words[0], strict=True))
        self.seed = seed

    def vector(self, word: str) -> np.ndarray:
        meaning = self.meaning.get(word, word)
        digest = hashlib.sha256(f"{self.seed} {meaning}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=NUMBERS)

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        self.asked += sentences
        if len(self.asked) > self.ends:
            raise KeyboardInterrupt
        # Far from the origin, like vectors of many transformers.
        return np.array([2 + sum(map(self.vector, one.split())) for one in sentences])


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write sentences in two languages, and a bitext."""
    place = tmp_path_factory.mktemp("text")
    source, target = synthetic(1400)
    lines = [*source[:350], *target[350:700]]
    rows = zip(source[700:], target[700:], strict=True)
    return write(place / "mono", lines), write(place / "de-en.tsv", rows)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 9), st.integers(1, 5))
def test_the_objective_is_its_formula(seed: int, n: int, words: int, translated: int) -> None:
    generator = np.random.default_rng(seed)
    teacher = generator.normal(size=(2 * n, 6)).astype(np.float32)
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    side = sentences([generator.integers(0, 9, size=words).tolist() for _ in range(n)])
    numbers, same = np.arange(2 * n), np.arange(n) < translated
    none = np.full(n, -1, np.int16), np.zeros(n, bool)
    pool = PairData(side, side, numbers[:n], numbers[n:], same, *none)
    batch, loss = taught_batch(CONFIG, pool, teacher)
    assert len(batch) == 2 * n
    vectors = generator.normal(size=(2 * n, 6)).astype(np.float32)
    value, gradient = loss(vectors)
    own = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wanted = TEACHING * (1 - (own * teacher).sum(axis=1).mean())
    if (m := int(same.sum())) > 1:
        cosine = own[:n][same].astype(np.float64) @ own[n:][same].T
        logits = CONFIG.scale * (cosine - CONFIG.margin * np.eye(m))
        for one in (logits, logits.T):
            across = np.log(np.exp(one).sum(axis=1)) - one.diagonal()
            wanted += across.mean() / 2 * m / n
    assert value == pytest.approx(wanted, rel=1e-3, abs=1e-4)
    assert gradient.shape == vectors.shape


def test_axes_keep_what_differs() -> None:
    generator = np.random.default_rng(2)
    flat = generator.normal(size=(300, 4)) @ generator.normal(size=(4, 9)) + 5
    parts = [flat[:100].astype(np.float16), flat[100:].astype(np.float16)]
    reduced = Axes.of(parts, 4).reduce(np.concatenate(parts))
    centred = np.concatenate(parts).astype(np.float64)
    centred -= centred.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(reduced @ reduced.T, centred @ centred.T, atol=0.02)


def test_learned_from_sentences(texts: tuple[Path, Path], tmp_path: Path) -> None:
    """Without bitext the student finds translations through the teacher."""
    said: list[str] = []
    teacher = as_encoder(Teacher())
    distill(teacher, Lessons([str(texts[0])]), CONFIG, tmp_path / "m", report=said.append)
    model = load(tmp_path / "m")
    assert model.verifier is None and model.training["cosine with the teacher"] > 0.75
    assert model.training["teacher"]["name"] == "teacher"
    assert any("cosine with the teacher" in line and "best so far" in line for line in said)
    source, target = map(Encoder(model).encode, synthetic(60, seed=9))
    assert ((source @ target.T).argmax(axis=1) == np.arange(60)).mean() > 0.7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


@pytest.mark.slow
def test_a_killed_run_goes_on(texts, tmp_path, monkeypatch):
    monkeypatch.setattr(teacher_vectors, "PART", 100)
    monkeypatch.setattr(miner_train.learn_verifier, "ENOUGH", 50)
    lessons = Lessons([str(texts[0])], [TextPair(str(texts[1]))])
    config = dataclasses.replace(CONFIG, epochs=2)
    said: list[str] = []
    whole = distill(
        as_encoder(Teacher()), lessons, config, tmp_path / "a", comparer=False, report=said.append
    )
    assert whole.verifier is not None and set(whole.languages) == {"de", "en"}
    assert any("held-out mining F1 of the teacher" in line for line in said)
    killed, second = Teacher(), Teacher()
    killed.ends = 750
    with pytest.raises(KeyboardInterrupt):
        distill(as_encoder(killed), lessons, config, tmp_path / "b", comparer=False)
    again = distill(as_encoder(second), lessons, config, tmp_path / "b", comparer=False)
    assert again.fingerprint == whole.fingerprint
    asked = [one for one in second.asked if " " in one]
    assert 0 < len(set(asked) & set(killed.asked)) <= 101  # includes a probe
    assert len({*asked, *killed.asked}) > 1900


def test_vectors_of_others_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher_vectors, "PART", 10)
    text, place = synthetic(25)[0], tmp_path / "cache"
    teacher, other = as_encoder(Teacher()), as_encoder(Teacher(2))
    parts = cached_vectors(teacher, text, place)
    assert [part.shape for part in parts] == [(10, NUMBERS), (10, NUMBERS), (5, NUMBERS)]
    np.testing.assert_allclose(np.concatenate(parts), teacher.encode(text), atol=2e-3)
    with pytest.raises(ArtifactError, match=r"seed 1\), not of teacher \(seed 2\)"):
        cached_vectors(other, text, place)
    with pytest.raises(ArtifactError, match="another text"):
        cached_vectors(teacher, text[1:], place)
    np.save(place / "000001.npy", np.zeros((3, NUMBERS), np.float16))
    with pytest.raises(ArtifactError, match="damaged"):
        cached_vectors(teacher, text, place)
    (place / "key.json").write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match="cannot be read"):
        cached_vectors(teacher, text, place)
    assert len(cached_vectors(other, text, place, restart=True)) == 3
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").touch()
    with pytest.raises(ArtifactError, match="not one of ours"):
        cached_vectors(teacher, text, tmp_path / "mine", restart=True)


def test_what_cannot_be_learned(texts: tuple[Path, Path], tmp_path: Path) -> None:
    teacher = as_encoder(Teacher())
    wide = dataclasses.replace(CONFIG, dimension=NUMBERS + 1)
    with pytest.raises(ArtifactError, match="24 dimensions; a student cannot have 25"):
        distill(teacher, Lessons([str(texts[0])]), wide, tmp_path / "m")
    (tmp_path / "empty").write_text("\n\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="only 0 sentences"):
        distill(teacher, Lessons([str(tmp_path / "empty")]), CONFIG, tmp_path / "m")


def test_command(miner, texts, tiny_model, tmp_path, monkeypatch):
    fake_library(monkeypatch)
    name = fake_directory(tmp_path / "st", tiny_model)
    run = ["distill", "--teacher", name, "-o", tmp_path / "m", "--pieces", 120, "--epochs", 1]
    code, _, err = miner(*run, "--text", texts[0], "--cache", tmp_path / "c")
    assert code == 0, err
    assert f"{name}: licence apache-2.0" in err and "32 dimensions" in err
    assert load(tmp_path / "m").training["teacher"]["name"] == name
    assert f"student of {name}" in " ".join(miner("model", "info", tmp_path / "m")[1].split())
    mining = ["mine", texts[0], texts[0], "--model", tmp_path / "m", "-o", tmp_path / "p.tsv"]
    assert miner(*mining)[0] == 0
    again = [*run, "--overwrite", "--text", texts[0], "--cache", tmp_path / "c"]
    assert miner(*again, "--seed", 2)[0] == 0
    code, _, err = miner(*again, "--source-prompt", "query: ")
    assert code == 1 and "not of" in err and "--cache" in err
    code, _, err = miner(*run)
    assert code == 2 and "give --text, --bitext or both" in err
    code, _, err = miner(*run[:2], tmp_path, *run[3:], "--text", texts[0])
    assert code == 1 and len(err.splitlines()) == 1
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    code, _, err = miner(*run, "--text", texts[0], "--overwrite")
    assert code == 1 and "bitext-miner[hf]" in err
