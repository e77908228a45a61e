"""Bounds of filters from a sample of clean rows, and bounds for some files only."""

import numpy as np
import pytest

import miner
from miner import MinerError
from miner.cleaning.clean_sample import fit_bounds, to_fit
from miner.cleaning.config_file import any_config
from miner.errors import ArtifactError, CorpusError
from miner.filters.filter_types import Context

FILTERS = [
    *("length", "quality", {"name": "letters", "minimum": 0.9}),
    *({"name": "cost", "column": "3"}, "duplicates"),
]


def test_a_bound_drops_its_share_of_the_sample_and_no_more():
    config = any_config(FILTERS, Context("de", "en"))
    assert [step.label for step in to_fit(config)] == ["length", "cost", "quality"]
    generator = np.random.default_rng(3)
    # Discrete scores have ties, which a bound keeps or drops together.
    length = generator.integers(1, 40, 500).astype(float)
    quality = generator.integers(1, 30, 500) / 30
    cost = np.where(generator.random(500) < 0.5, 1 / 3, np.inf)
    found, shown = fit_bounds(config, np.stack([length, cost, quality], axis=1), 0.02)
    by = {step.label: step for step in found.steps}
    assert by["length"].minimum is None and by["letters"].minimum == 0.9
    for values, bad in (
        (length, length > by["length"].maximum),
        (-quality, quality < by["quality"].minimum),
    ):
        assert bad.mean() <= 0.02
        assert (values >= values[~bad].max()).mean() > 0.02  # a stricter bound drops more
    assert by["cost"].maximum is None and not by["quality"].usual
    assert shown.rows == 500 and shown.filters[0].default == "<= 200"
    assert 0 < shown.dropped <= 0.04 and "quality  >= 0.1" in str(shown)
    with pytest.raises(CorpusError, match="500 row.*give 1,000 rows or more"):
        fit_bounds(config, np.zeros((500, 3)), 0.001)


def test_a_filter_follows_the_sample(german, english, tmp_path, miner_command, knowing_model):
    pairs = list(zip(german, english, strict=True))
    clean = tmp_path / "clean.tsv"
    clean.write_text("".join(f"{s}\t{t}\n" for s, t in pairs[:50]), encoding="utf-8")
    longest = max(len(side.split()) for pair in pairs[:50] for side in pair)
    rows = [*pairs[:50], (" ".join(["Haus"] * 150), " ".join(["house"] * 150))]
    found = miner.filter(rows, filters=["length"], like=clean, like_share=0.02)
    assert len(miner.filter(rows, filters=["length"])) == 51
    assert [row["filter"] for row in found.rejected][-1] == "length" and len(found) >= 48
    assert found.fitted.rows == 50 and float(found.fitted.filters[0].bounds[3:]) <= longest + 20
    web = tmp_path / "web.tsv"
    web.write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    shown = miner_command(
        "filter", web, "--like", clean, "--like-share", 0.02, "--model", knowing_model,
        "-o", tmp_path / "kept.tsv",
    )  # fmt: skip
    assert "bounds from 50 clean rows" in shown and "sample dropped" in shown
    with pytest.raises(ValueError, match="is a share of the rows of 'like'"):
        miner.filter(rows, filters=["length"], like_share=0.02)
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(MinerError, match="a clean sample of 0 rows"):
        miner.filter(rows, filters=["length"], like=tmp_path / "empty.tsv")
    with pytest.raises(MinerError, match="no.tsv"):
        miner.filter(rows, filters=["length"], like=tmp_path / "no.tsv")


def test_bounds_for_some_files(german, english, tmp_path, miner_command):
    for name in ("cc", "news"):
        lines = (f"{s}\t{t}\n" for s, t in zip(german[:20], english[:20], strict=True))
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    config = tmp_path / "filters.toml"
    config.write_text(
        '[[filter]]\nname = "length"\n[[filter]]\nname = "length"\nlabel = "of cc"\n'
        'only = "cc*"\nmaximum = 1\n'
    )
    out = tmp_path / "out"
    shown = miner_command("filter", str(tmp_path / "*.tsv"), "--config", config, "-o", f"{out}/")
    assert (out / "cc.tsv").read_text() == ""
    assert (out / "news.tsv").read_text() == (tmp_path / "news.tsv").read_text()
    assert "<= 1, cc*" in shown
    scored = tmp_path / "scored.tsv"
    miner_command("score", tmp_path / "cc.tsv", "--config", config, "-o", scored)
    assert scored.read_text().split("\n")[0].count("\t") == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "length", "only": 1}, "only must be a pattern"),
        ({"name": "duplicates", "only": "cc*"}, "compares rows of all files"),
    ],
)
def test_a_wrong_pattern_is_refused(table, message):
    with pytest.raises(ArtifactError, match=message):
        any_config([table], Context())


def test_a_filter_for_some_files_does_not_rank():
    tables = [{"name": "quality", "label": "own", "only": "cc*"}, "length"]
    assert any_config(tables, Context()).ranking is None
