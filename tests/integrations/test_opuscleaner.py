"""OpusCleaner runs our filters and can parse their descriptions."""

import json

import pytest
from support.files import write
from support.peers import peer, web_rows

from miner.config_fields import read_toml
from miner.filters.registry import RULES
from miner.integrations.batches import BatchFilters

LANGUAGES = {"SRCLANG": "de", "TGTLANG": "en"}


def test_descriptions_are_written_once(miner, tmp_path):
    place = tmp_path / "filters"
    assert miner("integrations", "opuscleaner", place)[2].count(": written") == 3
    rules = read_toml(place / "miner_rules.toml")
    assert [one["name"] for one in rules["filter"]] == [*RULES]
    for name in ("quality", "rules"):
        found = json.loads((place / f"miner_{name}.json").read_text(encoding="utf-8"))
        assert all(f"${one}" in found["command"].replace("{", "") for one in found["parameters"])
    (place / "miner_rules.toml").write_text("mine", encoding="utf-8")
    code, _, message = miner("integrations", "opuscleaner", place)
    assert code == 1 and "miner_rules.toml: exists; give --overwrite" in message
    assert (place / "miner_rules.toml").read_text(encoding="utf-8") == "mine"
    assert miner("integrations", "opuscleaner", place, "--overwrite")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--parallel", "2", "--batch-size", "100"]])
def test_opuscleaner_runs_our_filters(more, miner, tmp_path):
    rows = web_rows()
    for side, name in enumerate(("de", "en")):
        write(tmp_path / f"web.{name}.gz", [row[side] for row in rows])
    miner("integrations", "opuscleaner", tmp_path / "filters")
    quality = {"THRESHOLD": 0.5, "MODEL": "default", **LANGUAGES}
    steps = {"max_length": {"MINLENGTH": 0, "MAXLENGTH": 100}, "miner_rules": LANGUAGES}
    steps["miner_quality"] = quality
    filters = [{"filter": name, "parameters": own} for name, own in steps.items()]
    pipeline = {"version": 1, "files": ["web.de.gz", "web.en.gz"], "filters": filters}
    (tmp_path / "web.filters.json").write_text(json.dumps(pipeline), encoding="utf-8")
    peer("opuscleaner-clean", *more, "-o", "clean.tsv", "web.filters.json", cwd=tmp_path)

    written = (tmp_path / "clean.tsv").read_text(encoding="utf-8").split("\n")[:-1]
    strict = BatchFilters(("de", "en"), [*RULES, {"name": "quality", "minimum": 0.5}])
    short = [row for row in rows if all(len(side.split()) <= 100 for side in row)]
    reasons = zip(short, strict.reasons(short), strict=True)
    kept = ["\t".join(row) for row, reason in reasons if reason is None]
    assert written == kept and len(kept) > 50
