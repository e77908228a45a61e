"""miner.datasets.download from a server with typical faults."""

import errno
import hashlib
import http.client
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.downloads import Served, Server

from miner.datasets import download
from miner.errors import DownloadError, ResourceError

BODY = bytes(range(256)) * 40
ADDRESS = "https://example.org/some/file.bin"


@pytest.fixture
def served(server: Server) -> Served:
    return server.add(ADDRESS, BODY)


@pytest.fixture
def fetch(server: Server, tmp_path: Path) -> Callable[..., bytes]:
    def run(**more: object) -> bytes:
        path = tmp_path / "file.bin"
        address = server.address + "/some/file.bin"
        found = download.fetch(address, path, **more)  # type: ignore[arg-type]
        assert found == hashlib.sha256(path.read_bytes()).hexdigest()
        assert [entry.name for entry in tmp_path.iterdir()] == ["file.bin"]
        return path.read_bytes()

    return run


def another_version(served: Served) -> None:
    """Serve another version of equal length, which differs in the ETag only."""
    served.body, served.etag = BODY[::-1], '"two"'


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.asked]


def test_a_broken_connection_is_resumed(fetch, server, served):
    served.cut = [4321, 2000]
    seen: list[tuple[int, int]] = []
    assert fetch(report=lambda name, done, total: seen.append((done, total))) == BODY
    assert ranges(server) == [None, "bytes=4321-", "bytes=6321-"]
    assert seen[-1] == (len(BODY), len(BODY)) and (4321, len(BODY)) in seen


def test_a_later_run_resumes(fetch, server, served, tmp_path):
    served.cut, served.status = [5000], []

    def stop(name: str, done: int, total: int | None) -> None:
        if done > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(report=stop)
    kept = (tmp_path / "file.bin.part").stat().st_size
    assert 0 < kept < len(BODY) and (tmp_path / "file.bin.part.json").exists()
    served.cut = []
    assert fetch() == BODY
    assert ranges(server) == [None, f"bytes={kept}-"]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda served: setattr(served, "ranges", False), id="ignores Range"),
        pytest.param(lambda served: another_version(served), id="another ETag"),
        pytest.param(lambda served: setattr(served, "shift", 7), id="another range"),
        pytest.param(lambda served: setattr(served, "more", b"x"), id="more than the range"),
        pytest.param(lambda served: setattr(served, "body", BODY[::-1] + b"x"), id="longer"),
        pytest.param(lambda served: setattr(served, "body", b"short"), id="shorter"),
    ],
)
def test_a_part_of_another_version_is_downloaded_again(fetch, served, monkeypatch, fault):
    monkeypatch.setattr(download, "TRIES", 1)
    served.cut = [4000, 0]
    with pytest.raises(DownloadError, match="4,000 bytes are kept: repeat the command"):
        fetch()
    served.cut = []
    fault(served)
    assert fetch() == served.body


def test_without_a_validator_nothing_is_resumed(fetch, server, served):
    served.etag, served.cut = None, [4000]
    assert fetch() == BODY
    assert ranges(server) == [None, "bytes=4000-", None]


def test_a_part_of_another_address_is_not_resumed(fetch, server, served, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"foreign")
    note = {"address": "http://elsewhere", "length": len(BODY), "ETag": '"one"'}
    (tmp_path / "file.bin.part.json").write_text(json.dumps(note))
    assert fetch() == BODY and ranges(server) == [None]


def test_a_server_that_always_cuts_is_given_up(fetch, server, served):
    served.ranges, served.cut = False, [4000] * 100
    with pytest.raises(DownloadError, match="ended after 4,000 of 10,240 bytes"):
        fetch()
    assert len(server.asked) == 1 + download.TRIES


def test_temporary_faults_are_tried_again(fetch, server, served):
    served.status = [503, 429]
    assert fetch() == BODY and len(server.asked) == 3


def test_an_existing_file_is_only_checked(fetch, server, tmp_path):
    (tmp_path / "file.bin").write_bytes(BODY)
    assert fetch(sha256=hashlib.sha256(BODY).hexdigest(), size=len(BODY)) == BODY
    assert not server.asked


def test_a_file_with_a_wrong_checksum_is_renamed(fetch, served, tmp_path):
    with pytest.raises(DownloadError, match=f"file.bin.bad: has the SHA-256 .*, not {'0' * 64}"):
        fetch(sha256="0" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin.bad"]
    (tmp_path / "file.bin").write_bytes(b"short")
    with pytest.raises(DownloadError, match="has 5 bytes, not 10,240"):
        fetch(size=len(BODY))


def test_another_length_is_not_downloaded(fetch, served, tmp_path):
    with pytest.raises(DownloadError, match="has 10,240 bytes, 7 are known"):
        fetch(size=7)
    assert not list(tmp_path.iterdir())


def test_a_length_that_is_not_sent(fetch, served, tmp_path, monkeypatch):
    served.sized = False
    assert fetch(size=len(BODY)) == BODY
    (tmp_path / "file.bin").unlink()
    assert fetch() == BODY
    (tmp_path / "file.bin").unlink()
    with pytest.raises(DownloadError, match="sends more than the 5,000 bytes of this file"):
        fetch(size=5000)
    assert (tmp_path / "file.bin.part").stat().st_size <= 5000
    # The disk has space for three blocks.
    free = iter([10**9, *[download.SPARE + 1000] * 3, download.SPARE + 999])
    usage = lambda path: SimpleNamespace(free=next(free))  # noqa: E731
    monkeypatch.setattr(download.shutil, "disk_usage", usage)
    with pytest.raises(ResourceError, match="bytes are needed and 67,109,863 are free"):
        fetch()
    assert (tmp_path / "file.bin.part").stat().st_size == 3000
    assert not (tmp_path / "file.bin").exists()


def test_redirects_stay_encrypted(server, served, tmp_path, monkeypatch):
    # The test server does not encrypt; only addresses say https.
    connection = http.client.HTTPConnection
    monkeypatch.setattr(
        urllib.request.HTTPSHandler, "https_open", lambda self, req: self.do_open(connection, req)
    )
    there, secure = server.address, server.address.replace("http:", "https:")
    for start, to in ((there, ""), (there, there), (there, secure), (secure, ""), (secure, secure)):
        server.add("http://x/old", b"", to=f"{to}/some/file.bin")
        download.fetch(f"{start}/old", tmp_path / "file.bin")
        assert (tmp_path / "file.bin").read_bytes() == BODY
        (tmp_path / "file.bin").unlink()
    server.asked.clear()
    server.add("http://x/old", b"", to=f"{there}/some/file.bin")
    with pytest.raises(DownloadError, match="/old: the server points to http:.*not encrypted"):
        download.fetch(f"{secure}/old", tmp_path / "file.bin")
    assert server.asked == [("/old", None)] and not list(tmp_path.iterdir())


def test_404_is_not_tried_again(fetch: Callable[..., bytes], server: Server) -> None:
    with pytest.raises(DownloadError, match="answers 404 Not Found; look for the file at its home"):
        fetch()
    assert len(server.asked) == 1


def test_416_is_tried_again_once(fetch, server, served, monkeypatch):
    monkeypatch.setattr(download, "TRIES", 1)
    served.cut = [4000, 0]
    with pytest.raises(DownloadError, match="4,000 bytes are kept"):
        fetch()
    server.asked.clear()
    served.status = [416] * 9
    with pytest.raises(DownloadError, match="the server answers 416"):
        fetch()
    assert ranges(server) == ["bytes=4000-", None]


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("set.zip", b"\n<!DOCTYPE html><html>Log in</html>", "application/zip"),
        ("set.tgz", b"Please log in", "text/html"),
        ("set.txt", b"<HTML>gone", "text/plain"),
        ("set.tar.bz2", b"{}", "application/json"),
    ],
)
def test_a_page_instead_of_a_file(server, tmp_path, name, body, kind):
    server.add(f"http://x/{name}", body, kind=kind)
    what = "something else" if "json" in kind else "a web page"
    with pytest.raises(DownloadError, match=f"the server sent {what} instead of {name}"):
        download.fetch(f"{server.address}/{name}", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_no_network_and_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    with pytest.raises(DownloadError, match=r"cannot be reached \(.*refused\); 0 bytes are kept"):
        download.fetch("http://127.0.0.1:1/x", tmp_path / "x")
    with pytest.raises(DownloadError, match="not an address"):
        download.fetch("nonsense", tmp_path / "x")


def test_a_full_disk(fetch, served, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: SimpleNamespace(free=99))
    with pytest.raises(ResourceError, match="10,240 bytes are needed and 99 are free"):
        fetch()
    monkeypatch.undo()
    monkeypatch.setattr(download.os, "fsync", full)
    with pytest.raises(ResourceError, match="file.bin.*: cannot be written: no space left"):
        fetch()
