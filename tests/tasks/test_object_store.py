"""Work directories in object stores, by fsspec: equal results, resumed runs, faults."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miner.shards.object_store import ObjectStore, open_store
from miner.shards.status import status
from miner.shards.task import DONE, Task
from miner.shards.workers import Workers
from support.sharded import Corpus, same

from miner.errors import ArtifactError, CorpusError, DependencyError, ResourceError
from miner.knn.settings import SearchSettings
from miner.mining.mine import Mined
from miner.shards import object_store, work
from miner.shards import run_tasks as runner
from miner.text.lines import read_lines
from miner.text.patterns import matching

fsspec = pytest.importorskip("fsspec")
MARGIN = SearchSettings(rank="margin")


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(object_store, "_stores", {})
    yield
    fsspec.filesystem("memory").store.clear()


def forget(url: str) -> None:
    """Let the next run be that of another machine."""
    shutil.rmtree(open_store(url).cache)
    object_store._stores.clear()


def uploaded(corpus: Corpus, store: Any, url: str) -> tuple[list[str], list[str]]:
    """Copy the texts of a corpus into a store; return their addresses."""
    sides: tuple[list[str], list[str]] = ([], [])
    for addresses, paths in zip(sides, corpus.texts, strict=True):
        for path in paths:
            addresses.append(f"{url}/{Path(path).name}")
            store.pipe_file(addresses[-1], Path(path).read_bytes())
    return sides


def named(found: Mined, corpus: Corpus) -> Mined:
    """Give the texts of a result, which ids name, their local names."""
    pairs = found.all_pairs
    left, right = corpus.texts
    sides = pairs.source.with_names(left), pairs.target.with_names(right)
    return replace(found, all_pairs=replace(pairs, source=sides[0], target=sides[1]))


def test_equal_and_resumed(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, expected = "memory://work", corpus.whole(MARGIN)

    def stop(stage: str, done: int, total: int | None) -> None:
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus.shards(url, settings=MARGIN, report=stop)
    forget(url)
    counts: list[int] = []
    found = corpus.shards(
        url, settings=MARGIN, report=lambda stage, done, total: counts.append(done)
    )
    assert same(found, expected, tmp_path / "first")
    assert 12 in counts and 3 not in counts
    shown = status(url)
    assert shown.known and not shown.errors
    assert [kind.done for kind in shown.kinds] == [kind.total for kind in shown.kinds]
    # Another machine has nothing to do, and fetches what it needs.
    forget(url)
    given: list[Task] = []
    monkeypatch.setattr(runner, "Order", lambda work, task, *rest: given.append(task))
    assert same(corpus.shards(url, settings=MARGIN), expected, tmp_path / "second")
    assert not given


def test_each_task_on_a_machine_of_its_own(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fresh(url: str) -> ObjectStore:
        monkeypatch.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir=tmp_path))
        store = ObjectStore(url)
        object_store._stores[store.cache] = store
        return store

    monkeypatch.setattr(work, "open_store", fresh)
    found = corpus.shards("memory://fresh", 40, settings=MARGIN)
    assert same(found, corpus.whole(MARGIN), tmp_path / "compared")


def test_records_are_written_last(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "memory://last"
    written: list[str] = []
    store = open_store(url)
    pipe, put = store._fs.pipe_file, store._fs.put_file
    monkeypatch.setattr(
        store._fs, "pipe_file", lambda path, *rest: (written.append(path), pipe(path, *rest))
    )
    monkeypatch.setattr(
        store._fs, "put_file", lambda local, path: (written.append(path), put(local, path))
    )
    corpus.shards(url, 1000, settings=MARGIN)
    own = [path for path in written if "/search/0000-0000/" in path]
    assert len(own) == 3 and own[-1].endswith(DONE)
    at = json.loads(store._fs.cat_file(own[-1]))["at"]
    assert all(f"/{at}/" in path for path in own[:-1])
    # A file that is gone is named; its result is made again without its record.
    forget(url)
    store._fs.rm_file(next(path for path in own if path.endswith("forward.npy")))
    store._fs.rm_file(next(path for path in written if "merge/source" in path and DONE in path))
    with pytest.raises(ArtifactError, match=r"memory://last/search/0000-0000: .* is missing"):
        corpus.shards(url, 1000, settings=MARGIN)
    store._fs.rm_file(own[-1])
    forget(url)
    assert len(corpus.shards(url, 1000, settings=MARGIN).all_pairs)


def test_processes(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    url = f"file://{tmp_path}/store"
    found = corpus.shards(url, 1000, Workers("processes", 2), settings=MARGIN)
    assert same(found, corpus.whole(MARGIN), tmp_path / "compared")


def test_texts_in_a_store(corpus: Corpus, tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    texts = uploaded(corpus, store, "memory://texts")
    assert matching("memory://texts/*.en") == [f"memory:///texts/{name}.en" for name in "ab"]
    remote, work = replace(corpus, texts=texts), tmp_path / "work"
    found = remote.shards(work, 1000, settings=MARGIN)
    assert same(named(found, corpus), corpus.whole(MARGIN), tmp_path / "compared")
    assert [source.path for source in found.pairs.source.sources] == texts[0]
    store.pipe_file("/texts/a.de", b"Der Hund bellt.\n")
    with pytest.raises(CorpusError, match=r"memory://texts/a\.de: changed since the plan in"):
        remote.shards(work, 1000, settings=MARGIN)
    store.pipe_file("/texts/a.de", b"\xff\n")
    with pytest.raises(CorpusError, match=r"^memory://texts/a\.de, line 1, .*is not UTF-8"):
        remote.shards(tmp_path / "other", 1000, settings=MARGIN)
    store.rm_file("/texts/a.de")
    with pytest.raises(CorpusError, match=r"memory://texts/a\.de: cannot be read \("):
        remote.shards(work, 1000, settings=MARGIN)
    with pytest.raises(CorpusError, match="no file has such a name"):
        matching("memory://texts/*.fr")
    with pytest.raises(CorpusError, match="only mine, index and encode by shards read from"):
        next(read_lines("memory://texts/b.de"))


def test_what_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="--backend slurm needs a directory that all nodes"):
        corpus.shards("memory://slurm", workers=Workers("slurm"))
    with pytest.raises(ResourceError, match=r"nothing://x: the object store cannot be used"):
        corpus.shards("nothing://x")
    path = tmp_path / "more.de"
    path.write_text("Der Hund bellt.\n", encoding="utf-8")
    grown = Corpus(([*corpus.texts[0], str(path)], corpus.texts[1]), corpus.encoder)
    grown.shards("memory://plan", 1000, settings=MARGIN)
    os.utime(path, (1, 1))
    with pytest.raises(CorpusError, match=r"changed since the plan in memory://plan was made"):
        grown.shards("memory://plan", 1000, settings=MARGIN)


def test_missing_extra(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(DependencyError, match=r"--work s3://b/w needs s3fs.*bitext-miner\[s3\]"):
        corpus.shards("s3://b/w")


def test_s3(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    server: Any = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        environment = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
            "TMPDIR": str(tmp_path),
        }  # fmt: skip
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ResourceError, match="s3://none/work: the object store cannot be used"):
            corpus.shards("s3://none/work", 1000, settings=MARGIN)
        object_store._stores.clear()
        fsspec.filesystem("s3").mkdir("bucket")
        url = "s3://bucket/work"
        texts = uploaded(corpus, fsspec.filesystem("s3"), "s3://bucket/texts")
        assert [*matching("s3://bucket/texts/*.de")] == texts[0]
        remote = replace(corpus, texts=texts)
        found = remote.shards(url, 1000, Workers("processes", 2), settings=MARGIN)
        assert same(named(found, corpus), corpus.whole(MARGIN), tmp_path / "compared")
        forget(url)
        assert same(remote.shards(url, 1000, settings=MARGIN), found, tmp_path / "again")
    finally:
        server.stop()
