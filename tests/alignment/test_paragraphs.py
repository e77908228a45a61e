"""Quality of rows with several sentences, and what it says of rejected ones."""

import numpy as np
import pytest

import miner
from miner import Encoder
from miner.alignment.paragraphs import Paragraphs
from miner.errors import ArtifactError
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier

pytest.importorskip("sentencex")
GERMAN = (
    "Der Hund schläft vor dem Haus.",
    "Sie hat gestern drei Briefe geschrieben.",
    "Das Brot war innen noch warm.",
)
ENGLISH = (
    "The dog sleeps in front of the house.",
    "She wrote three letters yesterday.",
    "The bread was still warm inside.",
)


@pytest.fixture(scope="module")
def quality() -> Quality:
    return Quality(Verifier(Encoder.load("default", 1), ("de", "en")))


def test_a_row_has_the_worst_and_the_mean_quality_of_its_sentences(quality):
    found = Paragraphs(quality)
    other = "My neighbour has been breeding pigeons for years."
    rows = [
        (" ".join(GERMAN), " ".join(ENGLISH)),
        (" ".join(GERMAN), f"{ENGLISH[0]} {ENGLISH[2]}"),
        (" ".join(GERMAN), f"{ENGLISH[0]} {other} {ENGLISH[2]}"),
        (GERMAN[1], ENGLISH[1]),
        ("", ENGLISH[1]),
    ]
    source, target = map(list, zip(*rows, strict=True))
    score, whole = found.score(source, target), quality.score(source, target)
    own = quality.score(GERMAN, ENGLISH)
    lengths = [len(one) + len(two) for one, two in zip(GERMAN, ENGLISH, strict=True)]
    assert score[0] == pytest.approx(np.sqrt(own.min() * np.average(own, weights=lengths)))
    assert score[1] == 0 and score[2] < 0.3 < 0.6 < score[0]
    # A row of one sentence, or without one, has the quality itself.
    assert np.array_equal(score[3:], whole[3:])
    worst = found.worst(source, target)
    assert worst[1] == (GERMAN[1], "") and GERMAN[1] in worst[2] and set(worst) == {0, 1, 2}
    # A row does not depend on the others.
    assert np.array_equal(found.score(source[::-1], target[::-1])[::-1], score)


def test_a_rejected_row_names_its_sentence(tmp_path):
    rows = [(" ".join(GERMAN), " ".join(ENGLISH)), (" ".join(GERMAN), " ".join(ENGLISH[::2]))]
    given = {"languages": ("de", "en"), "filters": ["quality"]}
    found = miner.filter(rows, paragraphs=True, **given)
    [rejected] = found.rejected
    assert len(found) == 1
    assert rejected["filter"] == f"quality: no counterpart ({GERMAN[1]!r})"
    scored = miner.score(
        rows, scores=[{"name": "quality", "paragraphs": True}], languages=("de", "en")
    )
    assert scored[1]["quality"] == 0 < scored[0]["quality"]
    with pytest.raises(ArtifactError, match="--paragraphs is for the quality"):
        miner.filter(rows, paragraphs=True, filters=["length"])
