"""Test server with tiny archives in the official layouts of public sets, and its fixtures."""

import bz2
import gzip
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from miner import datasets
from miner.cli import main
from miner.datasets import CATALOG, catalog, convert, download


@dataclass
class Served:
    """File of the server. Fields after ``etag`` make its answers faulty."""

    body: bytes
    etag: str | None = '"one"'
    kind: str = "application/octet-stream"
    ranges: bool = True
    cut: list[int] = field(
        default_factory=list
    )  # bytes sent before the connection breaks, one for each of the next answers
    status: list[int] = field(default_factory=list)  # statuses of the next answers
    shift: int = 0  # added to the start of a range
    more: bytes = b""  # appended to a range
    sized: bool = True  # send the length
    to: str = ""  # redirect to this address


class Server:
    """Files of the server by path, and its requests: (path, Range header or None)."""

    def __init__(self, address: str):
        self.address = address
        self.files: dict[str, Served] = {}
        self.asked: list[tuple[str, str | None]] = []

    def add(self, address: str, body: bytes, **more: object) -> Served:
        """Serve ``body`` at the path of an official address."""
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


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def tarred(mode: str, members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            body = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
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
    """Return the members of a year's archive: three pairs of each set, the second without gold."""
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
PIT = (
    "17\tA topic\tone tweet\tsame tweet\t(4, 1)\tone/O\tsame/O\n"
    "17\tA topic\tone tweet\tno tweet\t(0, 5)\tone/O\tno/O\n"
)
DEV = "en-N1\tThe cat.\tA cat.\t4.0\nen-N2\tThe cat.\tA dog.\t1.5\n"


def files_of(name: str, part: str) -> tuple[datasets.File, ...]:
    return CATALOG[name].parts[part]


def serve_all(server: Server) -> None:
    """Serve one pair of every set."""
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
    tweets = {f"pit/data/{split}.data": PIT for split in ("train", "dev")}
    tweets |= {"pit/data/test.data": PIT.replace("(4, 1)", "3").replace("(0, 5)", "5")}
    server.add(files_of("pit-2015", "all")[0].address, zipped({**tweets}))
    opus: dict[str, str | bytes] = {
        f"opusparcus_v1/de/{split}/de-{split}.txt": DEV for split in ("dev", "test")
    }
    small = {f"data/{name}": f"{name} text\n" for name in convert.SMALL}
    server.add(files_of("senteval-small", "all")[0].address, zipped({**small}))
    for set_name in ("sst", "trec"):
        for file in files_of(set_name, "all"):
            server.add(file.address, b"A line.\t1\n")
    names = "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"
    for file, name in zip(files_of("sick-e", "all"), names, strict=True):
        server.add(file.address, zipped({"readme.txt": "x", name: "header\n"}))
    # Two streams, as parallel compressors write.
    ranked = [f"de-N{n}\tSatz {n}.\tZeile {n}.\t{9 - n}.5\t0.1\t3\t4\n".encode() for n in (1, 2)]
    opus["opusparcus_v1/de/train/de-train.txt.bz2"] = b"".join(map(bz2.compress, ranked))
    server.add(files_of("opusparcus", "de")[0].address, zipped({**opus}))
    phrases = "[NP] ||| the cat ||| a cat ||| PPDB2.0Score=3.5 Abstract=0 ||| 0-0 ||| Equivalence"
    server.add(files_of("ppdb", "all")[0].address, gzip.compress(phrases.encode()))
    wiki = {
        f"v2/{side}.aligned": f"Cat\t0\tA cat is {what}.\nDog\t1\tSo.\nOwl\t2\t\n"
        for side, what in (("normal", "feline"), ("simple", "an animal"))
    }
    server.add(files_of("simpwiki", "all")[0].address, tarred("w:gz", wiki))


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove sizes and checksums from the catalogue, which do not fit the tiny files."""
    for name, dataset in CATALOG.items():
        parts = {
            part: tuple(replace(file, size=None, sha256=None) for file in files)
            for part, files in dataset.parts.items()
        }
        monkeypatch.setitem(CATALOG, name, replace(dataset, parts=parts))


@pytest.fixture
def get(server, unchecked, tmp_path, capfd):
    """Run `miner data get` from the server into ``tmp_path/data``."""

    def run(*arguments: str) -> SimpleNamespace:
        capfd.readouterr()
        output = str(tmp_path / "data")
        code = main(["data", "get", *arguments, "--from", server.address, "-o", output])
        return SimpleNamespace(code=code, **capfd.readouterr()._asdict())

    return run
