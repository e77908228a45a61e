"""Filters by a model: cosine, quality and margin agree with miner.scoring."""

from pathlib import Path

import numpy as np
import pytest
from support.files import write

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, CorpusError
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS
from miner.scoring.quality import Quality
from miner.scoring.reference import Reference
from miner.scoring.verifier import Verifier


def scorer(name: str, context: Context, **settings):
    entry = FILTERS[name]
    chosen = {key: setting.default for key, setting in entry.settings.items()} | settings
    return entry.build(chosen, context)


@pytest.fixture
def batch(german: list[str], english: list[str]) -> Batch:
    """Return pairs, mismatched pairs, untranslated copies, and sentences without any piece."""
    wrong = english[5:] + english[:5]
    return Batch(
        [*german, *german[:20], german[0], "", "語", "語"],
        [*english, *wrong[:20], english[0], "a", english[3], ""],
    )


def test_cosine_and_quality_are_those_of_the_model(knowing_model: Path, batch: Batch) -> None:
    context = Context(model=str(knowing_model))
    encoder = Encoder.load(knowing_model, 1)
    cosine = scorer("cosine", context)(batch)
    expected = (encoder.encode(batch.source) * encoder.encode(batch.target)).sum(axis=1)
    np.testing.assert_allclose(cosine, expected, atol=1e-6)
    assert (cosine[-3:] == 0).all()
    quality = scorer("quality", context)(batch)
    np.testing.assert_array_equal(
        quality, Quality(Verifier(encoder)).score(batch.source, batch.target)
    )


def test_facts_alone(knowing_model: Path) -> None:
    rows = [
        ("Ich habe zwei Hunde.", "I have two dogs."),
        ("Ich habe zwei Hunde.", "I have nine dogs."),
        ("Das Geschäft ist montags geschlossen.", "The shop is open on Mondays."),
    ]
    batch = Batch([source for source, _ in rows], [target for _, target in rows])
    found = scorer("facts", Context("de", "en"))(batch)
    assert found[0] > 0.9 and (found[1:] < 0.1).all()
    without = Context("de", "en", model=str(knowing_model))
    assert (scorer("facts", without)(batch) == 1).all()


def test_margins_are_of_the_sample_or_of_a_file(tmp_path, tiny_model, batch, german, english):
    write(tmp_path / "reference.tsv", zip(german[:25], english[:25], strict=True))
    sample = german[:25], english[:25]
    score = scorer("margin", Context(model=str(tiny_model), sample=sample))
    expected = score(batch)
    encoder = Encoder.load(tiny_model, 1)
    vectors = [tuple(map(encoder.encode, texts)) for texts in (sample, batch.sides)]
    margins = Reference(sample, vectors[0], 4).margins(batch.sides, vectors[1], "ratio")
    np.testing.assert_allclose(expected, margins, atol=1e-5)
    # A pair's margin depends only on the pair and the reference.
    single = score(Batch(batch.source[65:66], batch.target[65:66]))
    np.testing.assert_array_equal(single.astype(np.float32), expected[65:66].astype(np.float32))
    assert len(score(Batch([], []))) == 0
    context = Context(model=str(tiny_model), directory=tmp_path)
    found = scorer("margin", context, reference="reference.tsv")(batch)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(CorpusError, match="missing.tsv: cannot be read"):
        scorer("margin", context, reference="missing.tsv")


def test_a_model_without_a_quality_function(tiny_model: Path) -> None:
    with pytest.raises(ArtifactError, match="cosine or margin|verifier"):
        scorer("quality", Context(model=str(tiny_model)))


def test_quality_is_fitted_to_labels(knowing_model: Path, batch: Batch, tmp_path: Path) -> None:
    """Answers that contradict the model win, at least on the judged pairs."""
    context = Context(model=str(knowing_model), directory=tmp_path)
    usual = scorer("quality", context)(batch)
    rows = range(0, 60, 2)
    lines = [
        f"{batch.source[row]}\t{batch.target[row]}\t{'no' if usual[row] > 0.5 else 'yes'}\n"
        for row in rows
    ]
    text = "source\ttarget\tanswer\n" + "".join(lines)
    (tmp_path / "labels.tsv").write_text(text, encoding="utf-8")
    fitted = scorer("quality", context, labels="labels.tsv")
    score = fitted(batch)
    assert usual[::2][:30].mean() > score[::2][:30].mean() + 0.1
    assert (score[usual == 0] == 0).all()
    one = Batch(batch.source[3:4], batch.target[3:4])
    assert fitted(one)[0] == score[3]
