"""Second opinion on a bitext: independent of pieces, limited to rows in doubt, read once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.foreign import Counting, Knowing
from support.mined_corpus import Tasks

import miner
from miner.cleaning import second_scores
from miner.config_fields import SettingsError
from miner.encoder.foreign_encoder import PROBES
from miner.errors import ArtifactError, ResourceError
from miner.scoring import second_opinion, second_reading
from miner.scoring.logistic import log_odds
from miner.tasks.workers import Workers

Pairs = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adapt the limits to a small text: most rows are in doubt, parts are short, margins are
    compared in full.
    """
    monkeypatch.setattr(second_opinion, "QUALITY", second_opinion.Weighing(1.0, 0.0))
    monkeypatch.setattr(second_opinion, "BAND", (0.001, 0.9999))
    monkeypatch.setattr(second_reading, "SPAN", 16)
    monkeypatch.setattr(second_reading, "TOGETHER", 5)


@pytest.fixture
def pairs(german: list[str], english: list[str]) -> Pairs:
    """Right pairs and wrong ones, with repeated sentences."""
    right = list(zip(german, english, strict=True))
    return right + [(german[i], english[(i + 3) % len(english)]) for i in range(len(german))]


@pytest.fixture
def scored(knowing_model: Path):
    def run(pairs: Any, **more: Any) -> np.ndarray:
        options = {"languages": ("de", "en"), "model": knowing_model, **more}
        return np.array([row["quality"] for row in miner.score(pairs, **options)])

    return run


@pytest.mark.parametrize("lines", [11, 64, 1000])
def test_parts_of_any_size(scored, pairs, verifying_model, lines):
    notes: list[str] = []
    second = Counting(verifying_model)
    whole = scored(pairs, second=Counting(verifying_model))
    parts = scored(pairs, second=second, workers=Workers(shard_lines=lines), note=notes.append)
    assert np.array_equal(parts, whole) and not np.array_equal(whole, scored(pairs))
    assert len(second.read) == len(set(second.read)) + 1  # one call probes the dimension
    [said] = (note for note in notes if note.startswith("second opinion: "))
    assert "pairs in doubt" in said and "% of all" in said


def test_both_opinions_count(scored, pairs, german):
    right, wrong = slice(0, len(german)), slice(len(german), None)
    alone = scored(pairs)
    agreeing, against = (scored(pairs, second=Knowing(pairs[part])) for part in (right, wrong))
    assert against[right].mean() < alone[right].mean() < agreeing[right].mean()
    assert agreeing[wrong].mean() < alone[wrong].mean() < against[wrong].mean()


def test_rows_beyond_doubt_keep_their_quality(scored, pairs, monkeypatch):
    alone = scored(pairs)
    low, high = np.quantile(alone, [0.2, 0.8])
    monkeypatch.setattr(second_opinion, "BAND", (low, high))
    second = Knowing(pairs)
    found = scored(pairs, second=second)
    sure = (alone < low) | (alone > high)
    assert sure.any() and np.array_equal(found[sure], alone[sure])
    assert (found[~sure] != alone[~sure]).all()


def test_the_most_doubtful_rows_are_read(scored, pairs):
    alone, every = scored(pairs), scored(pairs, second=Knowing(pairs))
    found = scored(pairs, second=Knowing(pairs), second_pairs=60)
    doubt = np.abs(log_odds(alone))
    read = found != alone
    # Pairs tied with the 61st in doubt are not read.
    assert 20 < read.sum() <= 60 and doubt[read].max() <= np.sort(doubt)[60]
    assert doubt[~read & (every != alone)].min() >= doubt[read].max()
    with pytest.raises(SettingsError, match="for a second opinion"):
        scored(pairs, second_pairs=60)


def test_numbers_that_contradict_stay(scored, pairs):
    changed = [(f"{source} 13:00.", f"{target} 9 am.") for source, target in pairs[:25]]
    alone = scored(changed + pairs)[:25]
    assert np.array_equal(scored(changed + pairs, second=Knowing(changed + pairs))[:25], alone)


def test_nothing_is_read_twice(scored, pairs, verifying_model, tmp_path):
    work, second = tmp_path / "work", Counting(verifying_model)
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    alone = scored(str(path), work=work)
    tasks = Tasks(work)
    found = scored(str(path), work=work, second=second)
    assert tasks.kinds().keys() == {"doubt", "second", "judge", "both", "write"}
    read = len(second.read)
    assert np.array_equal(scored(str(path), work=work, second=second), found)
    assert set(second.read[read:]) <= set(PROBES) and not tasks.new()
    assert np.array_equal(scored(str(path), work=work), alone)


@pytest.mark.parametrize(
    ("name", "new"),
    [("BAND", (0.2, 0.9)), ("QUALITY", second_opinion.Weighing(0.5, 0.1)), ("NEAREST", 2)],
)
def test_another_constant_decides_anew(
    scored, pairs, verifying_model, tmp_path, monkeypatch, name, new
):
    work, second = tmp_path / "work", Counting(verifying_model)
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    before, read = scored(str(path), work=work, second=second), len(second.read)
    monkeypatch.setattr(second_opinion, name, new)
    found = scored(str(path), work=work, second=second)
    assert not np.array_equal(found, before)
    # A sentence is known by its first row in doubt, which depends on the band.
    assert name == "BAND" or set(second.read[read:]) <= set(PROBES)
    assert np.array_equal(found, scored(pairs, second=Counting(verifying_model)))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("NaN", "second: encode returned NaN or infinity for "),
        ("rows", "one row for each"),
        ("dimensions", "31 dimensions, and 32 before"),
    ],
)
def test_a_faulty_encoder_is_a_line(scored, pairs, verifying_model, tmp_path, fault, said):
    bad = Counting(verifying_model, 40, fault)
    bad.fingerprint = "one"  # type: ignore[attr-defined]
    with pytest.raises(ResourceError, match=said) as caught:
        scored(pairs, second=bad, work=tmp_path / "work")
    assert "\n" not in str(caught.value)
    good = Counting(verifying_model)
    good.fingerprint = "one"  # type: ignore[attr-defined]
    assert np.array_equal(
        scored(pairs, second=good, work=tmp_path / "work"), scored(pairs, second=good)
    )


def test_too_few_rows_say_nothing(scored, pairs, verifying_model):
    notes: list[str] = []
    few = pairs[:10]
    found = scored(few, second=Counting(verifying_model), note=notes.append)
    assert np.array_equal(found, scored(few))
    assert any("too few pairs are in doubt" in note for note in notes)
    assert not len(scored([], second=Counting(verifying_model)))


def test_languages_are_compared_among_themselves(scored, pairs, german, monkeypatch):
    """The quality of a row does not depend on rows in other languages."""
    monkeypatch.setattr(second_scores, "known_by", lambda model: {"de": None, "fr": None})
    right = pairs[: len(german)]
    cats = [f"Le chat numéro {i} est très beau, monsieur le maire." for i in range(len(right))]
    french = list(zip(cats, (target for _, target in right), strict=True))
    knowing = Knowing(right + french)
    options = {"languages": None, "second": knowing}
    mixed = scored([*right, *french], languages=None)[: len(right)]
    assert np.array_equal(mixed, scored(right))
    alone = scored(right, **options)
    assert np.array_equal(scored([*right, *french], **options)[: len(right)], alone)
    monkeypatch.setattr(second_scores, "known_by", lambda model: {})
    assert not np.allclose(scored([*right, *french], **options)[: len(right)], alone)


def test_without_a_quality(scored, pairs, verifying_model, knowing_model):
    second = Counting(verifying_model)
    with pytest.raises(ArtifactError, match="about the quality"):
        miner.score(pairs, scores=["cosine"], model=knowing_model, second=second)


def test_filters_decide_by_both_opinions(scored, pairs, knowing_model, verifying_model, tmp_path):
    """Filters keep the rows whose combined score reaches the bound, for any pieces."""
    second = Counting(verifying_model)
    options = {"languages": ("de", "en"), "model": knowing_model, "second": second}
    bound = float(np.median(scored(pairs, second=second)))
    filters = [{"name": "quality", "minimum": bound}]
    scores = scored(pairs, second=second)
    wanted = [pair for pair, one in zip(pairs, scores, strict=True) if one >= bound]
    for lines in (17, 1000):
        found = miner.filter(pairs, filters=filters, **options, workers=Workers(shard_lines=lines))
        assert [(row["source"], row["target"]) for row in found] == wanted
    assert wanted and len(wanted) < len(pairs)


def test_rows_that_cheap_filters_reject_are_not_read(pairs, knowing_model, verifying_model):
    second = Counting(verifying_model)
    filters = [{"name": "length", "maximum": 5}, "quality"]
    options = {"languages": ("de", "en"), "model": knowing_model, "second": second}
    found = miner.filter(pairs, filters=filters, **options)
    long = [row for row in found.rejected if row["filter"].startswith("length")]
    left = [row["source"] for row in [*found, *found.rejected] if row not in long]
    long_alone = {row["source"] for row in long} - set(left)
    assert long_alone and not long_alone & set(second.read) and set(left) & set(second.read)


def test_another_bound_reads_nothing_again(pairs, knowing_model, verifying_model, tmp_path):
    second, path = Counting(verifying_model), tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    options = {"languages": ("de", "en"), "model": knowing_model, "second": second}
    sizes = []
    for bound in (0.2, 0.8):
        filters = [{"name": "quality", "minimum": bound}]
        sizes.append(len(miner.filter(str(path), filters=filters, work=tmp_path / "w", **options)))
        read = set(second.read)
        second.read.clear()
    assert read <= set(PROBES) and sizes[0] > sizes[1]


def test_filters_without_a_quality(pairs, verifying_model):
    with pytest.raises(ArtifactError, match="about the quality"):
        miner.filter(pairs, filters=["length"], second=Counting(verifying_model))
