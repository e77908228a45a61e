"""datatrove runs our steps in two tasks."""

import gzip
import json

import pytest
from support.peers import web_rows

from miner.errors import CorpusError
from miner.integrations.batches import BatchFilters

LANGUAGES = ("de", "en")


@pytest.mark.slow
def test_pairs_are_filtered_and_scored_by_two_tasks(tmp_path):
    pytest.importorskip("datatrove", reason="needs the extra integrations")
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from miner.integrations.datatrove import PairFilter, PairScorer

    rows = web_rows()
    halves = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    (tmp_path / "in").mkdir()
    for number, half in enumerate(halves):
        lines = (json.dumps({"source": one, "target": other}) + "\n" for one, other in half)
        (tmp_path / "in" / f"{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    LocalPipelineExecutor(
        [
            JsonlReader(str(tmp_path / "in"), text_key="source"),
            PairFilter(LANGUAGES, exclusion_writer=JsonlWriter(str(tmp_path / "bad"))),
            PairScorer(LANGUAGES),
            JsonlWriter(str(tmp_path / "out")),
        ],
        tasks=2,
        workers=2,
        logging_dir=str(tmp_path / "logs"),
    ).run()

    ours = BatchFilters(LANGUAGES)
    for number, half in enumerate(halves):
        reasons = ours.reasons(half)
        kept = [row for row, reason in zip(half, reasons, strict=True) if reason is None]
        found = _documents(tmp_path / "out" / f"{number:05}.jsonl.gz")
        assert [(one["text"], one["metadata"]["target"]) for one in found] == kept
        assert [one["metadata"]["quality"] for one in found] == ours.qualities(kept)
        bad = _documents(tmp_path / "bad" / f"{number:05}.jsonl.gz")
        # datatrove skips documents without text.
        wanted = [
            reason.partition(":")[0]
            for (source, _), reason in zip(half, reasons, strict=True)
            if reason and source
        ]
        assert [one["metadata"]["filter_reason"] for one in bad] == wanted
    stats = json.loads((tmp_path / "logs" / "stats.json").read_text(encoding="utf-8"))
    counts = next(one["stats"] for one in stats if "bitext-miner filter" in one["name"])
    assert counts["total"] == len(rows) - 1 and "dropped_quality" in counts


def test_a_document_without_its_target_is_an_error():
    pytest.importorskip("datatrove", reason="needs the extra integrations")
    from datatrove.data import Document

    from miner.integrations.datatrove import PairScorer

    documents = [Document("Der Hund schläft.", "a/7", metadata={"translation": "The dog."})]
    with pytest.raises(CorpusError, match="document a/7: .* 'target'"):
        list(PairScorer(LANGUAGES).run(iter(documents)))


def _documents(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
