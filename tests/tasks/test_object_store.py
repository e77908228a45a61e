"""Work directories in object stores, by fsspec: equal results, resumed runs, faults."""

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
from support.mined_corpus import Corpus, same
from support.stages import Named, Numbers, add, pipeline, read

from miner.errors import ArtifactError, CorpusError, DependencyError, MismatchError, ResourceError
from miner.knn.settings import SearchSettings
from miner.mining.result import Mined
from miner.tasks import backends, object_store
from miner.tasks.execute import execute as execute_order
from miner.tasks.object_store import open_store
from miner.tasks.record import DONE, digest
from miner.tasks.run import RunOptions, open_run
from miner.tasks.status import status
from miner.tasks.workers import Workers
from miner.text.lines import read_lines
from miner.text.patterns import matching

fsspec = pytest.importorskip("fsspec")
MARGIN = SearchSettings(rank="margin")
USUAL = Numbers()


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    object_store.STORES.clear()
    yield
    fsspec.filesystem("memory").store.clear()


def forget(url: str) -> None:
    """Clear the caches, as on another machine."""
    shutil.rmtree(open_store(url).cache)
    object_store.STORES.clear()


def add_up(url: str, numbers: Numbers = USUAL) -> int:
    with open_run(RunOptions(url), "adding", {"numbers": 3}) as run:
        return pipeline(run, numbers)


def uploaded(corpus: Corpus, store: Any, url: str) -> tuple[list[str], list[str]]:
    """Upload the texts of a corpus; return their addresses."""
    sides: tuple[list[str], list[str]] = ([], [])
    for addresses, paths in zip(sides, corpus.texts, strict=True):
        for path in paths:
            addresses.append(f"{url}/{Path(path).name}")
            store.pipe_file(addresses[-1], Path(path).read_bytes())
    return sides


def named(found: Mined, corpus: Corpus) -> Mined:
    """Replace addresses in ids by local names."""
    pairs = found.all_pairs
    left, right = corpus.texts
    sides = pairs.source.with_names(left), pairs.target.with_names(right)
    return replace(found, all_pairs=replace(pairs, source=sides[0], target=sides[1]))


def records(url: str) -> dict[str, bytes]:
    """Return the records of all results in a store of memory."""
    return {path: store.getvalue() for path, store in fsspec.filesystem("memory").store.items()
            if path.startswith(url.removeprefix("memory:/")) and path.endswith(DONE)}  # fmt: skip


def test_equal_and_resumed(corpus: Corpus, tmp_path: Path) -> None:
    url, expected = "memory://work", corpus.whole(settings=MARGIN)

    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "searching":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus.mine(url, settings=MARGIN, report=stop)
    forget(url)
    before = records(url)
    assert not status(url).known and len(before) > 10
    assert same(corpus.mine(url, settings=MARGIN), expected, tmp_path / "first")
    assert before.items() < records(url).items()
    shown = status(url)
    assert shown.known and not shown.errors
    assert [kind.done for kind in shown.kinds] == [kind.total for kind in shown.kinds]
    # Another machine has no tasks left, and downloads the files that it needs.
    forget(url)
    before = records(url)
    assert same(corpus.mine(url, settings=MARGIN), expected, tmp_path / "second")
    assert records(url) == before


def test_each_task_on_a_machine_of_its_own(corpus, tmp_path, monkeypatch):
    def execute(*given: Any) -> dict[str, Any]:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir=tmp_path))
            before = dict(object_store.STORES)
            object_store.STORES.clear()
            try:
                return execute_order(*given)
            finally:
                object_store.STORES.clear()
                object_store.STORES.update(before)

    monkeypatch.setattr(backends, "execute", execute)
    found = corpus.mine("memory://fresh", 40)
    assert same(found, corpus.whole(), tmp_path / "compared")


def test_records_are_written_last(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert add_up(url) == 36
    own = [path for path in written if "/add/1/" in path]
    assert len(own) == 2 and own[-1].endswith(DONE)
    assert f"/{json.loads(store._fs.cat_file(own[-1]))['at']}/" in own[0]
    # An altered file is named.
    forget(url)
    whole = store._fs.cat_file(own[0])
    store._fs.pipe_file(own[0], bytes(len(whole)))
    with pytest.raises(
        ArtifactError, match=r"last/add/1: arrays.bin was altered; delete done.json"
    ):
        add_up(url, Numbers(scale=3))
    # A missing file is named; the result is made again if its record is missing.
    forget(url)
    store._fs.rm_file(own[0])
    with pytest.raises(ArtifactError, match=r"memory://last/add/1: .* is missing.*delete its done"):
        add_up(url, Numbers(scale=2))
    store._fs.rm_file(own[-1])
    forget(url)
    assert add_up(url, Numbers(scale=2)) == 72


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../../../evil.npy": 1}},
        {"files": {"/tmp/evil.npy": 1}},
        {"files": {".ssh": 1}},
        {"files": 3},
        {"at": "../../../evil"},
        {"at": None},
        {"fingerprint": None},
        {"sha256": {}},
        {"digest": "altered"},
        None,
    ],
    ids=str,
)
def test_a_record_with_evil_names(tmp_path: Path, change: dict[str, Any] | None) -> None:
    """Others may write to a bucket: names in a record must not lead out of the cache."""
    url, path = "memory://evil", "/evil/add/1/done.json"
    assert add_up(url) == 36
    store = fsspec.filesystem("memory")
    altered = json.loads(store.cat_file(path)) | (change or {})
    altered["digest"] = altered["digest"] if "digest" in (change or {}) else digest(altered)
    store.pipe_file(path, json.dumps(altered).encode() if change else b"[[")
    store.pipe_file("/evil/..add/1/done.json", b"{}")  # not a task's name: unchanged
    forget(url)
    with pytest.raises(ArtifactError, match="memory://evil/add/1/done.json: not the record of a"):
        add_up(url)
    assert not list(tmp_path.rglob("*evil*"))
    with pytest.raises(ArtifactError, match="not the record of a task"):
        open_store(url).keep("../x", {"at": "0" * 32, "files": {}, "fingerprint": ""})
    store.rm_file(path)
    assert add_up(url) == 36


def test_two_machines_with_other_options(tmp_path: Path) -> None:
    """There is no lock between them: a result with other options is refused, never read."""
    url = "memory://both"
    with open_run(RunOptions(url), "adding", {"numbers": 3}) as run:
        one = run.task("read", read, "0", value=Named(1, ""))
        run.wait()
        ours = dict(object_store.STORES)
        object_store.STORES.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir=tmp_path))
            add_up(url, Numbers(values=(9, 9, 9)))
        object_store.STORES.clear()
        object_store.STORES.update(ours)
        for store in ours.values():
            store._records.clear()  # as in a new worker
        run.task("add", add, "0", one=one, more=10)
        with pytest.raises(MismatchError, match=r"both/read/0: made by another run with other"):
            run.wait()


@pytest.mark.parametrize("fault", ["a link", "others may write", "of another user"])
def test_a_cache_of_somebody_else(tmp_path: Path, fault: str) -> None:
    """Its name can be guessed in a directory of temporary files that everybody may write to."""
    url = "memory://cache"
    cache = open_store(url).cache
    object_store.STORES.clear()
    if fault == "a link":
        cache.rmdir()
        (tmp_path / "theirs").mkdir()
        cache.symlink_to(tmp_path / "theirs")
    elif fault == "others may write":
        cache.chmod(0o777)
    elif os.getuid():
        pytest.skip("only root can give a directory away")
    else:
        os.chown(cache, 1, -1)
    with pytest.raises(ResourceError, match="other users can write to this cache of memory://c"):
        add_up(url)
    assert not list(tmp_path.rglob("plan.json"))


def test_texts_in_a_store(corpus: Corpus, tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    texts = uploaded(corpus, store, "memory://texts")
    assert matching("memory://texts/*.en") == [f"memory:///texts/{name}.en" for name in "ab"]
    remote, work = replace(corpus, texts=texts), tmp_path / "work"
    found = remote.mine(work, 1000, settings=MARGIN)
    assert same(named(found, corpus), corpus.whole(settings=MARGIN), tmp_path / "compared")
    assert [source.path for source in found.pairs.source.sources] == texts[0]
    store.pipe_file("/texts/a.de", b"Der Hund bellt.\n")
    with pytest.raises(CorpusError, match=r"memory://texts/a\.de: changed since the plan in"):
        remote.mine(work, 1000, settings=MARGIN)
    store.pipe_file("/texts/a.de", b"\xff\n")
    with pytest.raises(CorpusError, match=r"^memory://texts/a\.de, line 1, .*is not UTF-8"):
        remote.mine(tmp_path / "other", 1000, settings=MARGIN)
    store.rm_file("/texts/a.de")
    with pytest.raises(CorpusError, match=r"memory://texts/a\.de: cannot be read \("):
        remote.mine(work, 1000, settings=MARGIN)
    with pytest.raises(CorpusError, match="no file has such a name"):
        matching("memory://texts/*.fr")
    assert next(read_lines("memory://texts/b.de")) == store.cat_file("/texts/b.de").split(b"\n")[0]


def test_what_is_refused(corpus: Corpus) -> None:
    with pytest.raises(ResourceError, match="--backend slurm needs a directory that all nodes"):
        corpus.mine("memory://slurm", workers=Workers("slurm"))
    with pytest.raises(ResourceError, match=r"nothing://x: the object store cannot be used"):
        add_up("nothing://x")
    add_up("memory://plan")
    other = open_run(RunOptions("memory://plan"), "filtering", {})
    with pytest.raises(MismatchError, match="^memory://plan: its plan is of adding"), other:
        pass
    first, second = (
        open_run(RunOptions("memory://plan"), "adding", {"numbers": 3}) for _ in range(2)
    )
    with first, pytest.raises(ResourceError, match="held by process"), second:
        pass


def test_missing_extra(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(DependencyError, match=r"--work s3://b/w needs s3fs.*bitext-miner\[s3\]"):
        corpus.mine("s3://b/w")


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
            corpus.mine("s3://none/work", 1000, settings=MARGIN)
        object_store.STORES.clear()
        fsspec.filesystem("s3").mkdir("bucket")
        url = "s3://bucket/work"
        texts = uploaded(corpus, fsspec.filesystem("s3"), "s3://bucket/texts")
        assert [*matching("s3://bucket/texts/*.de")] == texts[0]
        remote = replace(corpus, texts=texts)
        found = remote.mine(url, 1000, Workers("processes", 2), settings=MARGIN)
        assert same(named(found, corpus), corpus.whole(settings=MARGIN), tmp_path / "compared")
        forget(url)
        assert same(remote.mine(url, 1000, settings=MARGIN), found, tmp_path / "again")
    finally:
        server.stop()
