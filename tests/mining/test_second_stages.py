"""Second opinion in mining: equal results for any parts, no sentence read twice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.foreign import Counting, Knowing
from support.mined_corpus import MEANS, Corpus, Tasks, same

from miner.encoder.foreign_encoder import PROBES
from miner.errors import ResourceError
from miner.knn.settings import SearchSettings
from miner.mining import matched, second_stages
from miner.mining.keep import Keep, KeepError
from miner.mining.mine import mine
from miner.mining.result import Mined
from miner.scoring import second_opinion, second_reading
from miner.scoring.logistic import log_odds
from miner.scoring.second_opinion import constants
from miner.tasks.workers import Workers


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapt the limits to a small corpus: all candidates are in doubt, parts are short."""
    monkeypatch.setattr(second_reading, "SPAN", 16)
    monkeypatch.setattr(second_reading, "TOGETHER", 5)


@pytest.fixture
def second(verifying_model: Path) -> Counting:
    return Counting(verifying_model)


@pytest.fixture(scope="module")
def expected(corpus: Corpus, verifying_model: Path) -> Mined:
    found = corpus.whole(second=Counting(verifying_model))
    assert found.search.second is not None and found.search.second.pairs > 20
    assert found.estimate is not None
    return found


@pytest.mark.parametrize("lines", [1000, 17])
def test_parts_of_any_size(corpus, second, expected, tmp_path, lines):
    found = corpus.mine(tmp_path / "work", lines, second=second)
    assert same(replaced(found), replaced(expected), tmp_path / "compared")
    assert len(second.read) == len(set(second.read)) + 1  # one call probes the dimension


def replaced(found: Mined) -> Mined:
    """Remove the line with the seconds."""
    assert any(line.startswith("second opinion: ") for line in found.notes)
    notes = tuple(line for line in found.notes if not line.startswith("second opinion: "))
    return replace(found, notes=notes)


def test_processes_open_it_by_its_name(corpus, verifying_model, tmp_path):
    place = str(verifying_model)
    here = corpus.mine(tmp_path / "here", second=place)
    there = corpus.mine(tmp_path / "there", workers=Workers("processes", 2), second=place)
    assert same(replaced(there), replaced(here), tmp_path / "compared")


def test_nothing_is_read_twice(corpus, second, tmp_path):
    work = tmp_path / "work"
    corpus.mine(work)
    tasks = Tasks(work)
    found = corpus.mine(work, second=second)
    assert tasks.kinds().keys() == {
        "doubt", "second", "opinions", "second-match", "second-features",
    }  # fmt: skip
    count = len(second.read)
    for keep in (Keep(threshold=0.3), Keep(target_precision=0.9, refit=False)):
        corpus.mine(work, second=second, keep=keep)
        assert not tasks.new()
    assert found.search.second is not None
    fewer = corpus.mine(work, second=second, second_pairs=found.search.second.pairs // 2)
    assert fewer.search.second is not None
    assert 0 < fewer.search.second.pairs <= found.search.second.pairs // 2
    assert fewer.search.second.sentences < found.search.second.sentences
    corpus.mine(work, second=second)  # candidates outside of the smaller band
    again = set(second.read[count:])
    assert len(again) < found.search.second.sentences
    assert corpus.mine(work).search.second is None


@pytest.mark.parametrize("name", ["DOUBTFUL", "NEAREST", "MINING", "UNREAD"])
def test_another_constant_decides_anew(corpus, second, tmp_path, monkeypatch, name):
    corpus.mine(tmp_path / "work", second=second)
    tasks, before = Tasks(tmp_path / "work"), len(second.read)
    new = second_opinion.Weighing(0.5, 1.0) if name == "MINING" else 2 * constants()[name]
    for module in (second_opinion, second_stages, matched):
        monkeypatch.setattr(module, name, new, raising=module is second_opinion)
    found, read = corpus.mine(tmp_path / "work", second=second), len(second.read)
    kinds = {"doubt", "second", "opinions", "second-match", "second-features"}
    scores = {"score", "match", "knock-out"} if name == "DOUBTFUL" else set()
    assert tasks.kinds().keys() == kinds | scores
    assert same(replaced(found), replaced(corpus.mine(second=second)), tmp_path / "compared")
    assert set(second.read[before:read]) <= set(PROBES)


def test_the_most_doubtful_pairs_are_read(corpus, second):
    alone = corpus.whole(keep=Keep(threshold=0, estimate=False)).all_pairs
    known = dict(zip([(a, b) for _, a, b in alone.texts()], log_odds(alone.score), strict=True))
    found = corpus.whole(keep=Keep(threshold=0, estimate=False), second=second, second_pairs=25)
    assert found.search.second.pairs <= 25
    pairs = found.all_pairs
    both = zip([(a, b) for _, a, b in pairs.texts()], pairs.score, pairs.second, strict=True)
    doubt = [(abs(known[text]), score, added) for text, score, added in both if text in known]
    read = [one for one, _, added in doubt if not np.isnan(added)]
    sure = [(one, score) for one, score, added in doubt if np.isnan(added) and score > 0.5]
    assert read and sure and max(read) <= min(one for one, _ in sure)
    # Pairs outside of the band keep their scores.
    assert all(np.isclose(log_odds(np.array(score)), one) for one, score in sure)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("NaN", "second: encode returned NaN or infinity for "),
        ("rows", "one row for each"),
        ("dimensions", "31 dimensions, and 32 before"),
    ],
)
def test_a_faulty_encoder_costs_nothing_but_a_line(corpus, verifying_model, tmp_path, fault, said):
    beside = tmp_path / "pairs.tsv"
    workers = Workers(memory=MEANS, threads=1, shard_lines=25)

    def attempt(encoder: Any) -> Mined:
        return mine(
            *corpus.sides, encoder=corpus.encoder, second=encoder, beside=beside, workers=workers
        )

    bad = Counting(verifying_model, 40, fault)
    bad.fingerprint = "one"  # type: ignore[attr-defined]
    with pytest.raises(ResourceError, match=said) as caught:
        attempt(bad)
    assert "\n" not in str(caught.value)
    tasks = Tasks(Path(f"{beside}.work"))
    done = set(tasks.new()) | {"second"}
    assert tasks.work.exists() and done
    good = Counting(verifying_model)
    good.fingerprint = "one"  # type: ignore[attr-defined]
    found = attempt(good)
    assert found.search.second is not None
    # parts finished before the fault are kept
    assert len(good.read) - 1 < found.search.second.sentences


def test_both_opinions_count(corpus, german, english):
    right = list(zip(german, english, strict=True))
    alone = corpus.whole(keep=Keep(threshold=0))
    agreeing = corpus.whole(keep=Keep(threshold=0), second=Knowing(right))
    moved = [(left, english[(place + 7) % len(english)]) for place, left in enumerate(german)]
    against = corpus.whole(keep=Keep(threshold=0), second=Knowing(moved))

    def mean(found: Mined) -> float:
        pairs = found.all_pairs
        assert pairs.raw_score is not None
        wanted = set(right)
        texts = [(left, other) for _, left, other in pairs.texts()]
        known = [
            score for score, text in zip(pairs.raw_score, texts, strict=True) if text in wanted
        ]
        return float(np.mean(known))

    assert mean(against) < mean(alone) < mean(agreeing)
    assert alone.all_pairs.second is None
    added = agreeing.all_pairs.second
    assert added is not None and np.nanmean(added) > 0
    assert "second" in agreeing.all_pairs.every_column()


def test_too_few_sentences_say_nothing(corpus, second, monkeypatch):
    monkeypatch.setattr(second_opinion, "FEWEST", 1000)
    found = corpus.whole(second=second, keep=Keep(threshold=0, estimate=False))
    assert found.all_pairs.second is not None and np.isnan(found.all_pairs.second).all()
    assert any("too few sentences" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"second_pairs": 5}, "--second MODEL"),
        ({"second": Knowing([]), "settings": SearchSettings(rank="margin")}, "verifier"),
    ],
)
def test_choices_that_contradict_each_other(corpus, more, said):
    with pytest.raises(KeepError, match=said):
        corpus.whole(**more)
