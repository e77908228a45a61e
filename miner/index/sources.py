"""Files of a corpus with the counts of their records."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import CorpusError
from miner.index import columns
from miner.index.text_files import stamp
from miner.progress import Reporter
from miner.text.corpus import CorpusReader
from miner.text.file_digests import file_sha256


@dataclass(frozen=True)
class Source:
    """File of a corpus, with the counts of its records.

    ``records``: number of all records; ``empty`` and ``undecodable`` records have no sentence;
    ``replaced``: records with replaced bytes. ``own_ids``: the ids are not line numbers. Size in
    bytes and SHA-256 are None for streams, which can be read only once.
    """

    path: str
    records: int
    empty: int
    undecodable: int
    replaced: int
    own_ids: bool
    bytes: int | None
    sha256: str | None


def read_corpus(
    writer: columns.TextWriter,
    path: str | Path,
    reading: Mapping[str, Any],
    report: Reporter,
    number: int = 0,
) -> Source:
    """Write the sentences of a file to ``writer``, as rows of file ``number``.

    Raises CorpusError for a file that cannot be read, or that changes meanwhile.
    """
    reader = CorpusReader(path, **reading)
    regular = str(path) != "-" and Path(path).is_file()
    before = stamp(path) if regular else None
    own_ids = False
    for block in reader:
        own_ids |= writer.append(block.sentences, block.ids, block.lines, number)
        report(f"reading {path}", reader.lines, None)
    size, digest = (Path(path).stat().st_size, file_sha256(path)) if regular else (None, None)
    if regular and stamp(path) != before:
        raise CorpusError(f"{path}: changed while it was read; run again once it is complete")
    counts = (reader.lines, reader.empty, reader.undecodable, reader.replaced)
    return Source(str(path), *counts, own_ids, size, digest)
