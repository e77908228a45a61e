"""miner.evaluation.speed: the sample of text, and the speeds that are measured."""

from pathlib import Path

import pytest
from support.evaluated_models import Recording, write_hidden
from support.files import write

from miner.errors import CorpusError
from miner.evaluation import speed
from miner.evaluation.evaluated_model import MinerModel


@pytest.fixture
def data(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    write(tmp_path / "tatoeba" / "de-en.tsv", zip(german, english, strict=True))
    write_hidden(tmp_path / "bucc", "de-en", "training", (german, english), [(0, 0)])
    rows = [(1, "one", "two"), (2, "one", "four")]
    write(tmp_path / "sts" / "a.tsv", rows)
    write(tmp_path / "sts" / "stsb.de.test.tsv", [(1, "eins", "zwei"), (2, "eins", "vier")])
    return tmp_path


def test_the_text_is_the_english_of_the_other_evaluations_once(data, english, monkeypatch):
    assert speed.sample(data) == [*dict.fromkeys([*english, "one", "two", "four"])]
    monkeypatch.setattr(speed, "SENTENCES", 5)
    assert speed.sample(data) == english[:5]


def test_metrics(data: Path, tiny_model: Path) -> None:
    result = speed.evaluate(MinerModel(str(tiny_model), threads=2), data)
    assert [(one.dataset, one.name) for one in result.metrics] == [
        (threads, metric)
        for threads in ("1 thread", "2 threads")
        for metric in ("sentences/s to vectors", "sentences/s pieces to vectors")
    ]
    for one in result.metrics:
        assert one.value > 0 and one.interval is None and one.items == len(speed.sample(data))
        rates = result.more["rounds"][f"{one.dataset}, {one.name}"]
        assert len(rates) == speed.ROUNDS and min(rates) <= one.value <= max(rates)
    assert [one.name for one in result.headline] == ["sentences/s to vectors"] * 2
    one_thread = speed.evaluate(MinerModel(str(tiny_model), threads=1), data)
    assert {one.dataset for one in one_thread.metrics} == {"1 thread"}


def test_slow_models_encode_less(data, tiny_model, monkeypatch):
    encoder = MinerModel(str(tiny_model), 1).encoder("en")
    text = speed.sample(data)
    assert speed.sentences_in_time(encoder, text) == len(text)
    monkeypatch.setattr(speed, "WARM_UP", 7)
    monkeypatch.setattr(speed, "SECONDS", 1e-9)
    assert speed.sentences_in_time(encoder, text) == 7


def test_nothing_is_measured_of_vectors_from_elsewhere(data: Path) -> None:
    result = speed.evaluate(Recording(), data)
    assert result.metrics == result.headline == ()
    assert result.missing == ("recording holds vectors without an encoder to time",)


def test_no_text(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(CorpusError, match="no sets .such as bucc or tatoeba"):
        speed.evaluate(MinerModel(str(tiny_model)), tmp_path)
    write_hidden(tmp_path, "de-en", "training", ([], [""]), [])
    with pytest.raises(CorpusError, match="no English sentence to encode in bucc"):
        speed.evaluate(MinerModel(str(tiny_model)), tmp_path)
