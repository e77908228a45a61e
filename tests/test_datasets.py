"""miner.datasets and `miner data`: against a server of tiny archives in the official layouts."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import http.client
import io
import json
import tarfile
import threading
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from miner import datasets
from miner.cli import main
from miner.datasets import CATALOG, archive, catalog, download, read_annotated, read_ranked
from miner.errors import ArtifactError, CorpusError, DownloadError, MinerError, ResourceError

# --- a server -----------------------------------------------------------------------------------


@dataclass
class Served:
    """A file of the server. What it does wrong is said by the fields after ``etag``."""

    body: bytes
    etag: str | None = '"one"'
    kind: str = "application/octet-stream"
    ranges: bool = True
    cut: list[int] = field(default_factory=list)  # of the next answers, bytes before they break
    status: list[int] = field(default_factory=list)  # of the next answers
    shift: int = 0  # added to where a range begins
    more: bytes = b""  # comes behind a range
    sized: bool = True  # whether the length is told
    to: str = ""  # the address it has moved to


class Server:
    """What is served, by path, and what was asked for: (path, Range header or None)."""

    def __init__(self, address: str):
        self.address = address
        self.files: dict[str, Served] = {}
        self.asked: list[tuple[str, str | None]] = []

    def add(self, address: str, body: bytes, **more: object) -> Served:
        """Serve ``body`` at the path of a true address."""
        path = "/" + address.split("://")[1].split("/", 1)[1]
        self.files[path] = Served(body, **more)  # type: ignore[arg-type]
        return self.files[path]


class Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        state: Server = self.server.state
        wanted = self.headers.get("Range")
        state.asked.append((self.path, wanted))
        served = state.files.get(self.path)
        if served is None or served.status:
            self.send_error(404 if served is None else served.status.pop(0))
            return
        if served.to:
            self.send_response(302)
            self.send_header("Location", served.to)
            self.end_headers()
            return
        start = 0
        if wanted and served.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) + served.shift
            if start >= len(served.body):
                self.send_error(416)
                return
            self.send_response(206)
            end, total = len(served.body) - 1, len(served.body)
            self.send_header("Content-Range", f"bytes {start}-{end}/{total}")
        else:
            self.send_response(200)
        body = served.body[start:] + (served.more if start else b"")
        if served.sized:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", served.kind)
        if served.etag:
            self.send_header("ETag", served.etag)
        self.end_headers()
        self.wfile.write(body[: served.cut.pop(0)] if served.cut else body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    monkeypatch.setattr(download, "BLOCK", 1000)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state = Server(f"http://127.0.0.1:{running.server_port}")
        running.state = state  # type: ignore[attr-defined]
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield state
        running.shutdown()
        thread.join()


# --- archives -----------------------------------------------------------------------------------


def zipped(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def tarred(mode: str, members: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def bucc(split: str, gold: bool = True) -> bytes:
    start = f"bucc2018/de-en/de-en.{split}."
    members = {
        f"{start}de": "de-000000001\tEin Satz.\nde-000000002\tNoch einer.\n",
        f"{start}en": "en-000000001\tAnother.\nen-000000002\tA sentence.\nen-000000003\tMore.\n",
    }
    if gold:
        members[f"{start}gold"] = "de-000000001\ten-000000002\n"
    return tarred("w:bz2", members)


def sts(year: int, prefix: str = "STS", folder: str = "x") -> dict[str, str | bytes]:
    """An archive of a year: three pairs of each set, the second without gold."""
    members: dict[str, str | bytes] = {f"{folder}/00-readme.txt": "x\n"}
    members[f"__MACOSX/{folder}/._{prefix}.gs.OnWN.txt"] = b"\0\1"
    for name in catalog.STS_NAMES[year]:
        name = f"surprise.{name}" if year == 2012 and name in ("OnWN", "SMTnews") else name
        pairs = 'A "cat.\tThe cat".\tsource\nskip\tthis\nEin caf\xe9.\tA coffee.\n'
        members[f"{folder}/{prefix}.input.{name}.txt"] = pairs.encode("latin-1")
        members[f"{folder}/{prefix}.gs.{name}.txt"] = "4.5\r\n\r\n0\r\n"
    members[f"{folder}/{prefix}.gs.ALL.txt"] = "1\n"
    return members


def sts2017() -> tuple[bytes, bytes]:
    inputs = {f"STS2017.eval.v1.1/STS.input.{track}.txt": "a\tb\n" for track in catalog.STS_TRACKS}
    scores = {f"STS2017.gs/STS.gs.{track}.txt": "2.25\n" for track in catalog.STS_TRACKS}
    return zipped({**inputs}), zipped({**scores})


SICK_HEAD = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
SICK = SICK_HEAD + "".join(
    f"{number}\tOne {split}.\tTwo.\tNEUTRAL\t3.{number}\t{split}\n"
    for number, split in enumerate(("TRAIN", "TRIAL", "TEST", "TRAIN"))
)
MSRPC = (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    '1\t702876\t702977\tHe said "yes.\tHe agreed.\r\n0\t1\t2\tA.\tB.\r\n'
)
DEV = "en-N1\tThe cat.\tA cat.\t4.0\nen-N2\tThe cat.\tA dog.\t1.5\n"
RANKED = "de-1\tJa.\tJawohl.\t58.2\t4.5\t3\t5\nde-2\tNein.\tNö.\t12\t1\t1\t3\n"


def files_of(name: str, part: str) -> tuple[datasets.File, ...]:
    return CATALOG[name].parts[part]


def serve_all(server: Server) -> None:
    """Every set, one pair each."""
    for file, (split, gold) in zip(
        files_of("bucc2018", "de-en"),
        (("sample", True), ("training", True), ("test", False)),
        strict=True,
    ):
        server.add(file.address, bucc(split, gold))
    german, english = files_of("tatoeba", "de-en")
    server.add(german.address, "Hallo!\nEin\u2028Satz\tmit Tab.\n".encode())
    server.add(english.address, b"Hello!\nA sentence.\n")
    for year in catalog.STS_NAMES:
        (file,) = files_of(f"sts{year}", "all")
        prefix = "STS2016" if year == 2016 else "STS"
        server.add(file.address, zipped(sts(year, prefix)))
    for file, body in zip(files_of("sts2017", "all"), sts2017(), strict=True):
        server.add(file.address, body)
    row = "main-news\tMSRpar\t2012test\t7\t{}\tA man.\tA woman.\tMSR\tMSR\n"
    benchmark = {
        f"stsbenchmark/sts-{split}.csv": row.format(score)
        for split, score in (("train", "5.000"), ("dev", "2.5"), ("test", "0"))
    }
    server.add(files_of("stsb", "all")[0].address, tarred("w:gz", benchmark))
    server.add(files_of("sick-r", "all")[0].address, zipped({"SICK.txt": SICK, "readme.txt": "x"}))
    for file in files_of("msrpc", "all"):
        server.add(file.address, MSRPC.encode())
    opus = {f"opusparcus_v1/de/{split}/de-{split}.txt": DEV for split in ("dev", "test")}
    opus["opusparcus_v1/de/train/de-train.txt.bz2"] = "not read"
    server.add(files_of("opusparcus", "de")[0].address, zipped({**opus}))
    table = "Deutsch.\tGerman.\textra\n\t\nOhne.\t\nEiner allein\nZwei.\tTwo.\n"
    server.add(files_of("europarl", "de-en")[0].address, gzip.compress(table.encode()))
    sides = {"europarl-v7.es-en.en": "One.\n\nTwo.\n", "europarl-v7.es-en.es": "Uno.\n\nDos.\n"}
    server.add(files_of("europarl", "es-en")[0].address, tarred("w:gz", sides))
    server.add(files_of("news-commentary", "de-en")[0].address, gzip.compress(b"Eins\tOne\n"))
    news = gzip.compress("One\tОдин\n".encode())
    server.add(files_of("news-commentary", "ru-en")[0].address, news)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue without the true sizes and checksums, which the tiny files do not have."""
    for name, dataset in CATALOG.items():
        parts = {
            part: tuple(replace(file, size=None, sha256=None) for file in files)
            for part, files in dataset.parts.items()
        }
        monkeypatch.setitem(CATALOG, name, replace(dataset, parts=parts))


@pytest.fixture
def get(
    server: Server, unchecked: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., SimpleNamespace]:
    """`miner data get` from the server into ``tmp_path/data``."""

    def run(*arguments: str) -> SimpleNamespace:
        capfd.readouterr()
        output = str(tmp_path / "data")
        code = main(["data", "get", *arguments, "--from", server.address, "-o", output])
        return SimpleNamespace(code=code, **capfd.readouterr()._asdict())

    return run


# --- whole sets ---------------------------------------------------------------------------------


WRITTEN = {
    "bucc2018/de-en/de-en.training.gold": "de-000000001\ten-000000002\n",
    "bucc2018/de-en/de-en.test.de": "de-000000001\tEin Satz.\nde-000000002\tNoch einer.\n",
    "tatoeba/de-en.tsv": "Hallo!\tHello!\nEin\u2028Satz mit Tab.\tA sentence.\n",
    "sts/2012.OnWN.tsv": '4.5\tA "cat.\tThe cat".\n0\tEin café.\tA coffee.\n',
    "sts/2016.answer-answer.tsv": '4.5\tA "cat.\tThe cat".\n0\tEin café.\tA coffee.\n',
    "sts/2017.track4a.es-en.tsv": "2.25\ta\tb\n",
    "sts/stsb.en.train.tsv": "5.000\tA man.\tA woman.\n",
    "sts/sick-r.train.tsv": "3.0\tOne TRAIN.\tTwo.\n3.3\tOne TRAIN.\tTwo.\n",
    "sts/sick-r.dev.tsv": "3.1\tOne TRIAL.\tTwo.\n",
    "paraphrase/msrpc.test.tsv": '1\tHe said "yes.\tHe agreed.\n0\tA.\tB.\n',
    "paraphrase/opusparcus.de.dev.tsv": "4.0\tThe cat.\tA cat.\n1.5\tThe cat.\tA dog.\n",
    "train/de-en/europarl.tsv.gz": "Deutsch.\tGerman.\nZwei.\tTwo.\n",
    "train/es-en/europarl.tsv.gz": "Uno.\tOne.\nDos.\tTwo.\n",
    "train/de-en/news-commentary.tsv.gz": "Eins\tOne\n",
    "train/ru-en/news-commentary.tsv.gz": "Один\tOne\n",
}


def get_all(get: Callable[..., SimpleNamespace]) -> list[SimpleNamespace]:
    small = [name for name, dataset in CATALOG.items() if list(dataset.parts) == ["all"]]
    return [
        get("bucc2018", "tatoeba", *small, "--pair", "de-en"),
        get("opusparcus", "--pair", "de"),
        get("europarl", "--pair", "de-en", "--pair", "es-en"),
        get("news-commentary", "--pair", "de-en", "--pair", "ru-en"),
    ]


def test_every_set_is_got_and_converted(
    get: Callable[..., SimpleNamespace], server: Server, tmp_path: Path
) -> None:
    serve_all(server)
    done = get_all(get)
    assert [run.code for run in done] == [0] * 4, [run.err for run in done]
    into = tmp_path / "data"
    for path, expected in WRITTEN.items():
        body = (into / path).read_bytes()
        assert (gzip.decompress(body) if path.endswith(".gz") else body).decode() == expected, path
    out = "".join(run.out for run in done)
    assert "sts/2015.belief.tsv: 2 rows\n    left out, without a gold score: 1" in out
    assert "train/de-en/europarl.tsv.gz: 2 rows\n    left out, with an empty side: 3" in out
    assert "no checksum is known; SHA-256 " in out
    # Not there: the gold of test, members nobody asked for, and anything half-done.
    names = {str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()}
    assert not any("part" in name for name in names)
    assert "bucc2018/de-en/de-en.test.gold" not in names
    record = json.loads((into / "SOURCES.json").read_text())
    assert {name for entry in record.values() for part in entry["parts"].values()
            for name in part["written"]} == {
        name for name in names if not name.startswith(("downloads", "SOURCES"))
    }  # fmt: skip
    part = record["tatoeba"]["parts"]["de-en"]
    assert record["tatoeba"]["licence"] == "CC BY 2.0 FR (Tatoeba)"
    body = (into / "downloads/tatoeba.deu-eng.eng").read_bytes()
    assert part["files"][1] == {
        "address": CATALOG["tatoeba"].parts["de-en"][1].address,
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "verified": False,
    }

    server.asked.clear()
    again = get_all(get)
    assert [run.code for run in again] == [0] * 4 and not server.asked
    assert again[1].out.startswith("opusparcus de: licence CC BY-NC, already there\n")
    # A file that is gone is made again from the download; a download that is gone is not missed.
    (into / "paraphrase/opusparcus.de.dev.tsv").unlink()
    (into / "downloads/tatoeba.deu-eng.eng").unlink()
    assert get("opusparcus", "--pair", "de").code == get("tatoeba", "--pair", "de-en").code == 0
    assert not server.asked and (into / "paraphrase/opusparcus.de.dev.tsv").exists()


def test_converters_are_of_every_set() -> None:
    assert datasets.convert.CONVERTERS.keys() == CATALOG.keys()


# --- one download -------------------------------------------------------------------------------

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


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.asked]


def test_a_broken_connection_goes_on(
    fetch: Callable[..., bytes], server: Server, served: Served
) -> None:
    served.cut = [4321, 2000]
    seen: list[tuple[int, int]] = []
    assert fetch(report=lambda done, total: seen.append((done, total))) == BODY
    assert ranges(server) == [None, "bytes=4321-", "bytes=6321-"]
    assert seen[-1] == (len(BODY), len(BODY)) and (4321, len(BODY)) in seen


def test_a_later_run_goes_on(
    fetch: Callable[..., bytes], server: Server, served: Served, tmp_path: Path
) -> None:
    served.cut, served.status = [5000], []

    def stop(done: int, total: int) -> None:
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
        pytest.param(lambda served: setattr(served, "etag", '"two"'), id="another ETag"),
        pytest.param(lambda served: setattr(served, "shift", 7), id="another range"),
        pytest.param(lambda served: setattr(served, "more", b"x"), id="more than the range"),
        pytest.param(lambda served: setattr(served, "body", BODY[::-1] + b"x"), id="longer"),
        pytest.param(lambda served: setattr(served, "body", b"short"), id="shorter"),
    ],
)
def test_what_cannot_go_on_starts_anew(
    fetch: Callable[..., bytes],
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Served], None],
) -> None:
    monkeypatch.setattr(download, "TRIES", 1)
    served.cut = [4000, 0]
    with pytest.raises(DownloadError, match="4,000 bytes are kept: repeat the command"):
        fetch()
    served.cut = []
    fault(served)
    assert fetch() == served.body


def test_without_a_version_nothing_is_put_together(
    fetch: Callable[..., bytes], server: Server, served: Served
) -> None:
    served.etag, served.cut = None, [4000]
    assert fetch() == BODY
    assert ranges(server) == [None, "bytes=4000-", None]


def test_a_part_of_another_address_is_not_gone_on_with(
    fetch: Callable[..., bytes], server: Server, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "file.bin.part").write_bytes(b"foreign")
    note = {"address": "http://elsewhere", "length": len(BODY), "ETag": '"one"'}
    (tmp_path / "file.bin.part.json").write_text(json.dumps(note))
    assert fetch() == BODY and ranges(server) == [None]


def test_a_server_that_always_cuts_is_given_up(
    fetch: Callable[..., bytes], server: Server, served: Served
) -> None:
    served.ranges, served.cut = False, [4000] * 100
    with pytest.raises(DownloadError, match="ended after 4,000 of 10,240 bytes"):
        fetch()
    assert len(server.asked) == 1 + download.TRIES


def test_passing_faults_are_tried_again(
    fetch: Callable[..., bytes], server: Server, served: Served
) -> None:
    served.status = [503, 429]
    assert fetch() == BODY and len(server.asked) == 3


def test_a_file_that_is_there_is_only_checked(
    fetch: Callable[..., bytes], server: Server, tmp_path: Path
) -> None:
    (tmp_path / "file.bin").write_bytes(BODY)
    assert fetch(sha256=hashlib.sha256(BODY).hexdigest(), size=len(BODY)) == BODY
    assert not server.asked


def test_a_wrong_checksum_is_put_aside(
    fetch: Callable[..., bytes], served: Served, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError, match=f"file.bin.bad: has the SHA-256 .*, not {'0' * 64}"):
        fetch(sha256="0" * 64)
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin.bad"]
    (tmp_path / "file.bin").write_bytes(b"short")
    with pytest.raises(DownloadError, match="has 5 bytes, not 10,240"):
        fetch(size=len(BODY))


def test_another_length_is_not_downloaded(
    fetch: Callable[..., bytes], served: Served, tmp_path: Path
) -> None:
    with pytest.raises(DownloadError, match="has 10,240 bytes, 7 are known"):
        fetch(size=7)
    assert not list(tmp_path.iterdir())


def test_a_length_that_is_not_told(
    fetch: Callable[..., bytes],
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served.sized = False
    assert fetch(size=len(BODY)) == BODY
    (tmp_path / "file.bin").unlink()
    assert fetch() == BODY
    (tmp_path / "file.bin").unlink()
    with pytest.raises(DownloadError, match="sends more than the 5,000 bytes of this file"):
        fetch(size=5000)
    assert (tmp_path / "file.bin.part").stat().st_size <= 5000
    # Space for three blocks.
    free = iter([10**9, *[download.SPARE + 1000] * 3, download.SPARE + 999])
    usage = lambda path: SimpleNamespace(free=next(free))  # noqa: E731
    monkeypatch.setattr(download.shutil, "disk_usage", usage)
    with pytest.raises(ResourceError, match="bytes are needed and 67,109,863 are free"):
        fetch()
    assert (tmp_path / "file.bin.part").stat().st_size == 3000
    assert not (tmp_path / "file.bin").exists()


def test_redirects_stay_encrypted(
    server: Server, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Encryption is left out here: only the addresses say https.
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


def test_416_is_tried_again_once(
    fetch: Callable[..., bytes], server: Server, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_a_page_instead_of_a_file(
    server: Server, tmp_path: Path, name: str, body: bytes, kind: str
) -> None:
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


def test_silence_is_a_broken_connection(
    fetch: Callable[..., bytes], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(response: object) -> bytes:
        raise download._Broken("the connection broke (timed out)")

    monkeypatch.setattr(download, "_read", silent)
    with pytest.raises(DownloadError, match="timed out"):
        fetch()


def test_a_full_disk(
    fetch: Callable[..., bytes], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: SimpleNamespace(free=99))
    with pytest.raises(ResourceError, match="10,240 bytes are needed and 99 are free"):
        fetch()
    monkeypatch.undo()
    monkeypatch.setattr(download.os, "fsync", full)
    with pytest.raises(ResourceError, match="file.bin.*: cannot be written: no space left"):
        fetch()


# --- what is in an archive ----------------------------------------------------------------------


def fails(server: Server, tmp_path: Path, name: str, part: str, *bodies: bytes) -> str:
    """The message of getting a part that consists of these files; nothing is written."""
    dataset = CATALOG[name]
    for file, body in zip(dataset.parts[part], bodies, strict=True):
        server.add(file.address, body)
    with pytest.raises(MinerError) as caught:
        datasets.get(dataset, part, tmp_path / "data", mirror=server.address)
    assert isinstance(caught.value, CorpusError) and "\n" not in str(caught.value)
    assert not [
        path for path in (tmp_path / "data").rglob("*")
        if path.is_file() and "downloads" not in path.parts
    ]  # fmt: skip
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "part", "bodies", "message"),
    [
        ("stsb", "all", [tarred("w:gz", {"../sts-dev.csv": "x"})], "'../sts-dev.csv' leads out"),
        ("stsb", "all", [tarred("w:gz", {"/etc/x": "x"})], "'/etc/x' leads out of the archive"),
        ("sick-r", "all", [zipped({"..\\SICK.txt": "x"})], "leads out of the archive"),
        ("stsb", "all", [tarred("w:gz", {"sts-dev.csv": "x"})], "sts-dev.csv, line 1: 1 columns"),
        ("sick-r", "all", [zipped({"other.txt": "x"})], "holds no TRAIN"),
        ("sick-r", "all", [zipped({"SICK.txt": "pair_ID\tx\ty\tz\n"})], "names no column"),
        ("sick-r", "all", [zipped({"SICK.txt": SICK})[:150]], "damaged"),
        ("stsb", "all", [b"\x1f\x8b" + bytes(60)], "damaged"),
        ("europarl", "de-en", [gzip.compress(b"a\tb\n" * 99)[:-9]], "damaged"),
        ("sts2013", "all", [zipped({"STS.input.FNWN.txt": "a\tb\n"})], "holds no gs of FNWN"),
        (
            "sts2013",
            "all",
            [zipped(sts(2013) | {"x/STS.gs.OnWN.txt": "1\n2\n"})],
            "OnWN: 3 lines and 2, where line belongs to line",
        ),
        (
            "sts2013",
            "all",
            [zipped(sts(2013) | {"x/STS.gs.OnWN.txt": "1\n6\n2\n"})],
            "OnWN, line 2: score '6' is not from 0 to 5",
        ),
        (
            "bucc2018",
            "de-en",
            [bucc("sample"), bucc("training", gold=False), bucc("test", gold=False)],
            "training-gold.tar.bz2: holds no de-en.training.gold",
        ),
        ("bucc2018", "de-en", [bucc("sample")[:-200], b"BZh", b"BZh"], "damaged"),
        ("tatoeba", "de-en", [b"a\nb\n", b"a\n"], "2 lines and 1"),
        ("europarl", "es-en", [tarred("w:gz", {"x.es-en.es": "a\n"})], "ends in .es-en.en"),
        (
            "msrpc",
            "all",
            [b"1\t2\t3\t4\t5\n2\t1\t2\ta\tb\n", b""],
            "line 2: label '2' is not 0 or 1",
        ),
        (
            "opusparcus",
            "de",
            [zipped({"de-dev.txt": "1\ta\tb\t9\n"})],
            "de-dev.txt, line 1: grade 9 is not between 1 and 4",
        ),
    ],
)
def test_an_archive_that_is_not_what_it_should_be(
    server: Server,
    unchecked: None,
    tmp_path: Path,
    name: str,
    part: str,
    bodies: list[bytes],
    message: str,
) -> None:
    assert message in fails(server, tmp_path, name, part, *bodies)


def method(number: int) -> bytes:
    """A zip that says its member was compressed by the method ``number``."""
    body = bytearray(zipped({"SICK.txt": SICK}))
    start = body.index(b"PK\1\2")
    body[8:10] = body[start + 10 : start + 12] = number.to_bytes(2, "little")
    return bytes(body)


def test_what_cannot_be_unpacked_is_damaged(
    server: Server, unchecked: None, tmp_path: Path
) -> None:
    """Methods that zipfile does not know (9), and those whose bytes these are not."""
    for number in (9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        (tmp_path / "data/downloads/SICK.zip").unlink(missing_ok=True)
        assert "SICK.zip: damaged (" in fails(server, tmp_path, "sick-r", "all", method(number))


def test_errors_of_others_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / "set.zip").write_bytes(zipped({"a.txt": "x\n"}))
    with pytest.raises(ValueError, match="mine"), archive.members(tmp_path / "set.zip") as entries:
        for _, file in entries:
            for _ in file:
                raise ValueError("mine")


@pytest.mark.parametrize("suffix", ["zip", "tgz", "gz", "txt"])
def test_a_line_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(archive, "LONGEST", 100)
    path = tmp_path / f"set.{suffix}"

    def read(text: str) -> list[bytes]:
        members = {"a.txt": text}
        bodies = {"zip": zipped({**members}), "tgz": tarred("w:gz", members)}
        plain = text.encode() if suffix == "txt" else gzip.compress(text.encode())
        path.write_bytes(bodies.get(suffix, plain))
        with archive.members(path) as entries:
            return [line for _, file in entries for line in file]

    longest = "x" * 99 + "\n"
    assert read("x\n" + longest * 3 + "y") == [b"x\n", *[longest.encode()] * 3, b"y"]
    message = f"set.{suffix}, .*, line 2: has no end within 100 bytes"
    with pytest.raises(CorpusError, match=message):
        read("x\n" + "x" + longest)


def test_opusparcus_files(tmp_path: Path) -> None:
    (tmp_path / "en-dev.txt").write_text(DEV, encoding="utf-8")
    first, second = read_annotated(tmp_path / "en-dev.txt")
    assert first == ("en-N1", "The cat.", "A cat.", 4.0) and second.grade == 1.5
    ranked = tmp_path / "de-train.txt.bz2"
    ranked.write_bytes(bz2.compress(RANKED.encode()))
    pairs = list(read_ranked(ranked))
    assert pairs[0] == ("de-1", "Ja.", "Jawohl.", 58.2, 4.5, 3, 5)
    assert pairs[1].pmi == 12 and pairs[1].second == "Nö."
    with pytest.raises(CorpusError, match="line 1: 7 columns, not 4"):
        read_annotated(ranked)
    (tmp_path / "bad.txt").write_text("1\ta\tb\tgood\n")
    with pytest.raises(CorpusError, match="line 1: 'good' is not a number"):
        read_annotated(tmp_path / "bad.txt")
    (tmp_path / "bad.txt").write_bytes(b"1\t\xff\tb\t3\n")
    with pytest.raises(CorpusError, match="line 1: not UTF-8"):
        read_annotated(tmp_path / "bad.txt")


# --- the catalogue and the command ----------------------------------------------------------------


def test_the_catalogue_holds_together() -> None:
    names = [file.name for dataset in CATALOG.values() for file in dataset.files]
    assert len(names) == len(set(names)), "all lie in one directory"
    for name, dataset in CATALOG.items():
        assert name == dataset.name and dataset.parts and dataset.licence
        for file in dataset.files:
            assert file.address.startswith(("https://", "http://"))
            assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
    assert len(CATALOG["tatoeba"].parts) == 112
    assert list(CATALOG["bucc2018"].parts) == ["de-en", "fr-en", "ru-en", "zh-en"]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    for name, dataset in CATALOG.items():
        assert f"\n{name} " in out and dataset.licence in out and dataset.note in out
    assert main(["data", "list", "bucc2018"]) == 0
    out = capsys.readouterr().out
    for file in CATALOG["bucc2018"].files:
        assert file.address in out
    assert "bytes 2,529,652, sha256 8e16ba8b" in out and "bytes unknown, sha256 unknown" in out
    assert main(["data", "list", "nonsense"]) == 1
    assert "nonsense: no such data set; there are bucc2018" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wmt"], "wmt: no such data set; there are bucc2018, tatoeba"),
        (["bucc2018", "--pair", "xx-en"], "bucc2018: no pair xx-en; there are de-en, fr-en"),
        (["europarl"], "europarl: is large; choose with --pair from bg-en, cs-en"),
        (["stsb"], "answers 404 Not Found"),
    ],
)
def test_what_cannot_be_got(
    get: Callable[..., SimpleNamespace], arguments: list[str], message: str
) -> None:
    done = get(*arguments)
    assert done.code == 1 and done.out == "" and message in done.err
    assert done.err.startswith("miner: error: ") and done.err.count("\n") == 1


def test_a_verified_download(
    get: Callable[..., SimpleNamespace],
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve_all(server)
    body = zipped({"SICK.txt": SICK})
    sick = CATALOG["sick-r"]
    (file,) = sick.parts["all"]
    known = replace(file, size=len(body), sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setitem(CATALOG, "sick-r", replace(sick, parts={"all": (known,)}))
    served = server.add(file.address, body[:-1] + b"!")
    done = get("sick-r")
    assert done.code == 1 and "SICK.zip.bad: has the SHA-256" in done.err
    assert not (tmp_path / "data/sts").exists(), "never converted"
    served.body = body
    done = get("sick-r")
    assert done.code == 0 and "checksum verified" in done.out
    # Another checksum in a later catalogue: got again.
    monkeypatch.setitem(
        CATALOG, "sick-r", replace(sick, parts={"all": (replace(known, sha256="0" * 64),)})
    )
    assert get("sick-r").code == 1


def test_a_mirror_must_be_an_address(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="--from begins with https"):
        datasets.get(CATALOG["stsb"], "all", tmp_path, mirror="file:///tmp")


def test_a_record_that_is_none(get: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for text in ("{", "[]", '{"stsb": 3}', '{"stsb": {"parts": {"all": {}}}}'):
        (tmp_path / "data/SOURCES.json").write_text(text)
        done = get("stsb")
        assert done.code == 1 and "SOURCES.json: cannot be read as a record" in done.err
    with pytest.raises(ArtifactError):
        datasets.get(CATALOG["stsb"], "all", tmp_path / "data")
