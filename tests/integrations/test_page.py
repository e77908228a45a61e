"""Configurations and programs of docs/integrations.md run as they are there, on rows of a crawl."""

import gzip
import json
import re

import pytest
from support.examples import blocks
from support.files import write
from support.peers import ROOT, peer, web_rows

from miner.filters.registry import RULES
from miner.integrations.batches import BatchFilters

LANGUAGES = ("de", "en")
PAGE = ROOT / "docs" / "integrations.md"


def example(language, word):
    """Return the first block of the page in a language with this word."""
    found = blocks(PAGE.read_text(encoding="utf-8"))
    return next(one.content for one in found if one.language == language and word in one.content)


@pytest.fixture
def rows(tmp_path):
    found = web_rows()
    parts = tmp_path / "data/train-parts"
    for side, name in enumerate(LANGUAGES):
        lines = [row[side] for row in found]
        write(tmp_path / f"web.{name}", lines)
        write(parts / f"web.{name}.gz", lines)
    (tmp_path / "web").mkdir()
    lines = (json.dumps(dict(zip(("source", "target"), row, strict=True))) for row in found)
    (tmp_path / "web/rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return found


def kept(rows, *filters):
    reasons = BatchFilters(LANGUAGES, *filters).reasons(rows)
    return [row for row, reason in zip(rows, reasons, strict=True) if reason is None]


STRICT = [*RULES, {"name": "quality", "minimum": 0.5}]


@pytest.mark.slow
def test_opuscleaner(miner, rows, tmp_path):
    miner("integrations", "opuscleaner", tmp_path / "filters")
    pipeline = tmp_path / "data/train-parts/web.filters.json"
    pipeline.write_text(example("json", "miner_rules"), encoding="utf-8")
    command = re.search(r"\$ (opuscleaner-clean .*)", PAGE.read_text(encoding="utf-8"))[1]
    peer(*command.split(), cwd=tmp_path)
    wanted = ["\t".join(row) for row in kept(rows, STRICT)]
    assert (tmp_path / "clean.tsv").read_text(encoding="utf-8").split("\n")[:-1] == wanted


@pytest.mark.slow
def test_opusfilter(rows, tmp_path):
    pytest.importorskip("opusfilter", reason="needs the extra integrations")
    (tmp_path / "config.yaml").write_text(example("yaml", "MinerRules"), encoding="utf-8")
    peer("opusfilter", "config.yaml", cwd=tmp_path)
    for side, name in enumerate(LANGUAGES):
        found = (tmp_path / f"clean.{name}").read_text(encoding="utf-8").split("\n")[:-1]
        assert found == [row[side] for row in kept(rows, STRICT)]


@pytest.mark.slow
def test_datatrove(rows, tmp_path):
    pytest.importorskip("datatrove", reason="needs the extra integrations")
    (tmp_path / "program.py").write_text(example("py", "datatrove"), encoding="utf-8")
    peer("python", "program.py", cwd=tmp_path)
    found = []
    for path in sorted((tmp_path / "clean").iterdir()):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    wanted = kept(rows)
    assert [(one["text"], one["metadata"]["target"]) for one in found] == wanted
    assert [one["metadata"]["quality"] for one in found] == BatchFilters(LANGUAGES).qualities(
        wanted
    )
