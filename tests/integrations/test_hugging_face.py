"""Hugging Face data sets are read and written as rows."""

import pytest

import miner


def test_data_sets_in_and_out(german, english, knowing_model, tmp_path):
    pytest.importorskip("datasets.arrow_dataset", reason="needs the extra integrations")
    import datasets

    rows = [
        {"source": one, "target": other, "url": str(n)}
        for n, (one, other) in enumerate(zip(german[:20], english[:20], strict=True))
    ]
    rows.append({"source": german[0], "target": german[0], "url": "copy"})
    given = datasets.Dataset.from_list(rows)
    means = {"languages": ("de", "en"), "model": knowing_model}
    clean = miner.filter(given, **means)
    back = datasets.Dataset.from_list(list(clean))
    assert back.column_names == ["source", "target", "url"] and "copy" not in back["url"]
    scores = miner.score(given["source"], given["target"], **means).columns()["quality"]
    scored = given.add_column("quality", scores)
    assert scored[0]["quality"] == scores[0] and len(scored) == len(rows)
    opus = [{"translation": {"de": one["source"], "en": one["target"]}} for one in rows]
    pairs = datasets.Dataset.from_list(opus)["translation"]
    found = miner.filter(((pair["de"], pair["en"]) for pair in pairs), **means)
    assert [row["source"] for row in found] == back["source"][:]
