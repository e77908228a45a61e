"""OpusFilter runs our filters from its configuration."""

import gzip
import json

import pytest
from support.files import write
from support.peers import peer, web_rows

from miner.integrations.batches import BatchFilters

CONFIGURATION = """
steps:
  - type: score
    parameters:
      inputs: [web.de, web.en]
      output: scores.jsonl.gz
      filters:
        - MinerQuality: {languages: [de, en]}
          module: miner.integrations.opusfilter
        - MinerRules: {languages: [de, en]}
          module: miner.integrations.opusfilter
  - type: filter
    parameters:
      inputs: [web.de, web.en]
      outputs: [kept.de, kept.en]
      n_jobs: 2
      filters: &filters
        - LengthFilter: {unit: word, min_length: 1, max_length: 100}
        - MinerRules: {languages: [de, en], filters: [identical, {name: numbers, minimum: 0.6}]}
          module: miner.integrations.opusfilter
        - MinerQuality: {languages: [de, en], threshold: 0.5}
          module: miner.integrations.opusfilter
  - type: filter
    parameters:
      inputs: [web.de, web.en]
      outputs: [bad.de, bad.en]
      filterfalse: true
      filters: *filters
"""


@pytest.mark.slow
def test_a_configuration_with_our_filters_runs(tmp_path):
    pytest.importorskip("opusfilter", reason="needs the extra integrations")
    rows = web_rows()
    for side, name in enumerate(("de", "en")):
        write(tmp_path / f"web.{name}", [row[side] for row in rows])
    (tmp_path / "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
    peer("opusfilter", "config.yaml", cwd=tmp_path)

    ours = BatchFilters(("de", "en"))
    with gzip.open(tmp_path / "scores.jsonl.gz", "rt", encoding="utf-8") as file:
        scores = [json.loads(line) for line in file]
    assert [one["MinerQuality"] for one in scores] == ours.qualities(rows)
    assert [one["MinerRules"] for one in scores] == [
        reason is None or reason.startswith("quality") for reason in ours.reasons(rows)
    ]

    kept, bad = (
        [
            tuple(row)
            for row in zip(
                *(_lines(tmp_path / f"{part}.{name}") for name in ("de", "en")), strict=True
            )
        ]
        for part in ("kept", "bad")
    )
    assert sorted([*kept, *bad]) == sorted(rows) and 50 < len(kept) < 0.9 * len(rows)
    filters = ["empty", "identical", {"name": "numbers", "minimum": 0.6}]
    strict = BatchFilters(("de", "en"), [*filters, {"name": "quality", "minimum": 0.5}])
    short = [row for row in rows if all(len(side.split()) <= 100 for side in row)]
    reasons = zip(short, strict.reasons(short), strict=True)
    assert kept == [row for row, reason in reasons if reason is None]


def _lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]
