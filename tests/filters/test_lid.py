"""The filter lid and ``miner filter --lid``, with a small fastText model of German and English."""

from pathlib import Path

import pytest
from support.files import write

import miner as api
from miner.errors import ArtifactError
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS

LID = FILTERS["lid"]


@pytest.fixture(scope="module")
def identifier(german: list[str], english: list[str], tmp_path_factory) -> Path:
    fasttext = pytest.importorskip("fasttext")
    place = tmp_path_factory.mktemp("lid")
    sides = (("deu_Latn", german), ("eng_Latn", english))
    lines = [f"__label__{code} {text}" for code, texts in sides for text in texts]
    write(place / "lines.txt", lines)
    # Each fastText thread initialises a tenth of the weights; with fewer threads some stay unset.
    how = {"minn": 2, "maxn": 3, "bucket": 5000, "dim": 10, "thread": 10, "epoch": 20}
    model = fasttext.train_supervised(str(place / "lines.txt"), verbose=0, **how)
    model.save_model(str(place / "lid.bin"))
    return place / "lid.bin"


def test_probabilities_of_the_own_language(identifier: Path, german, english) -> None:
    batch = Batch([german[0], english[0], german[1]], [english[0], english[1], f"{german[2]}\n"])
    for codes in (("de", "en"), ("de-AT", "eng")):
        found = LID.build({"file": identifier}, Context(*codes))(batch)
        assert (found >= 0.5).tolist() == [True, False, False] and found.max() <= 1.001
    with pytest.raises(ArtifactError, match=r"has no label of French \(fr\)"):
        LID.build({"file": identifier}, Context("fr", "en"))
    with pytest.raises(ArtifactError, match="not a fastText model"):
        LID.build({"file": Path(__file__)}, Context("de", "en"))


def test_it_replaces_the_filters_of_languages(identifier: Path, german, english, miner, tmp_path):
    rows = [*zip(german, english, strict=True), (english[1], english[0])]
    text = write(tmp_path / "rows.tsv", rows)
    common = ("filter", text, "--lid", identifier, "-o", tmp_path / "out.tsv", "--threshold", 0)
    given = ("--source-lang", "de", "--target-lang", "en")
    code, _, err = miner(*common, *given, "--rejected", tmp_path / "bad.tsv")
    assert code == 0 and "same_language" not in err, err
    bad = (tmp_path / "bad.tsv").read_text("utf-8")
    assert f"{english[1]}\t{english[0]}\tlid\t" in bad
    own = api.filter(text, lid=str(identifier), threshold=0, languages=("de", "en")).rejected
    assert [row["filter"] for row in own] == [line.split("\t")[2] for line in bad.splitlines()]
    text.write_text("a\tb\n", encoding="utf-8")
    code, _, err = miner(*common)
    assert code == 1 and "--lid: lid needs to know the languages" in err
