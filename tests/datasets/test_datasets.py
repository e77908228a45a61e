"""miner.datasets and `miner data`, with a server of tiny archives in the official layouts."""

import bz2
import gzip
import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.downloads import SICK, Server, bucc, serve_all, sts, tarred, zipped

from miner import datasets
from miner.cli import main
from miner.datasets import CATALOG, archive
from miner.errors import ArtifactError, CorpusError, DownloadError, MinerError

WRITTEN = {
    "bucc2018/de-en/de-en.training.gold": "de-000000001\ten-000000002\n",
    "bucc2018/de-en/de-en.test.de": "de-000000001\tEin Satz.\nde-000000002\tNoch einer.\n",
    "tatoeba/de-en.tsv": "Hallo!\tHello!\nEin Satz mit Tab.\tA sentence.\n",
    "sts/2012.OnWN.tsv": '4.5\tA "cat.\tThe cat".\n0\tEin café.\tA coffee.\n',
    "sts/2016.answer-answer.tsv": '4.5\tA "cat.\tThe cat".\n0\tEin café.\tA coffee.\n',
    "sts/2017.track4a.es-en.tsv": "2.25\ta\tb\n",
    "sts/stsb.en.train.tsv": "5.000\tA man.\tA woman.\n",
    "sts/sick-r.train.tsv": "3.0\tOne TRAIN.\tTwo.\n3.3\tOne TRAIN.\tTwo.\n",
    "sts/sick-r.dev.tsv": "3.1\tOne TRIAL.\tTwo.\n",
    "paraphrase/msrpc.test.tsv": '1\tHe said "yes.\tHe agreed.\n0\tA.\tB.\n',
    "sts/pit-2015.train.tsv": "4\tone tweet\tsame tweet\n0\tone tweet\tno tweet\n",
    "sts/pit-2015.test.tsv": "3\tone tweet\tsame tweet\n5\tone tweet\tno tweet\n",
    "paraphrase/pit-2015.dev.tsv": "1\tone tweet\tsame tweet\n0\tone tweet\tno tweet\n",
    "paraphrase/pit-2015.test.tsv": "1\tone tweet\tno tweet\n",
    "paraphrase/opusparcus.de.dev.tsv": "4.0\tThe cat.\tA cat.\n1.5\tThe cat.\tA dog.\n",
    "senteval/SUBJ/subj.objective": "subj.objective text\n",
    "senteval/SST/fine/sentiment-dev": "A line.\t1\n",
    "senteval/TREC/TREC_10.label": "A line.\t1\n",
    "senteval/SICK/SICK_trial.txt": "header\n",
    "train/paraphrases/opusparcus.de.tsv.gz": "8.5\tSatz 1.\tZeile 1.\n7.5\tSatz 2.\tZeile 2.\n",
    "train/paraphrases/ppdb.tsv.gz": "3.5\tthe cat\ta cat\n",
    "train/paraphrases/simpwiki.tsv.gz": "A cat is feline.\tA cat is an animal.\nSo.\tSo.\n",
}


def get_all(get: Callable[..., SimpleNamespace]) -> list[SimpleNamespace]:
    small = [name for name, dataset in CATALOG.items() if list(dataset.parts) == ["all"]]
    return [
        get("bucc2018", "tatoeba", *small, "--pair", "de-en"),
        get("opusparcus", "--pair", "de"),
    ]


def test_every_set_is_got_and_converted(get, server, tmp_path):
    serve_all(server)
    done = get_all(get)
    assert [run.code for run in done] == [0] * 2, [run.err for run in done]
    into = tmp_path / "data"
    for path, expected in WRITTEN.items():
        body = (into / path).read_bytes()
        assert (gzip.decompress(body) if path.endswith(".gz") else body).decode() == expected, path
    out = "".join(run.out for run in done)
    assert "sts/2015.belief.tsv: 2 rows\n    left out, without a gold score: 1" in out
    assert "simpwiki.tsv.gz: 2 rows\n    left out, with an empty side: 1" in out
    assert "no checksum is known; SHA-256 " in out
    # Test gold, unlisted members and temporary files are absent.
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
    assert [run.code for run in again] == [0] * 2 and not server.asked
    assert again[1].out.startswith("opusparcus de: licence CC BY-NC, already there\n")
    # A missing file is converted again from its download; a missing download is not needed.
    (into / "paraphrase/opusparcus.de.dev.tsv").unlink()
    (into / "downloads/tatoeba.deu-eng.eng").unlink()
    assert get("opusparcus", "--pair", "de").code == get("tatoeba", "--pair", "de-en").code == 0
    assert not server.asked and (into / "paraphrase/opusparcus.de.dev.tsv").exists()


def test_every_set_has_a_converter() -> None:
    assert datasets.convert.CONVERTERS.keys() == CATALOG.keys()


def fails(server: Server, tmp_path: Path, name: str, part: str, *bodies: bytes) -> str:
    """Return the error message for these downloads; check that nothing is written."""
    dataset = CATALOG[name]
    for file, body in zip(dataset.parts[part], bodies, strict=True):
        server.add(file.address, body)
    with pytest.raises(MinerError) as caught:
        datasets.get(dataset, part, tmp_path / "data", mirror=server.address)
    assert isinstance(caught.value, CorpusError)
    assert not [
        path for path in (tmp_path / "data").rglob("*")
        if path.is_file() and "downloads" not in path.parts
    ]  # fmt: skip
    return str(caught.value)


def opusparcus(kind: str, line: str) -> bytes:
    return zipped({f"de-{kind}.txt": line})


def stopped(number: int, **lines: str) -> bytes:
    """Return a year's archive with other lines in files of this name."""
    return zipped(sts(number) | {f"x/STS.gs.{name}.txt": text for name, text in lines.items()})


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("stsb", tarred("w:gz", {"../sts-dev.csv": "x"}), "'../sts-dev.csv' leads out of the arch"),
        ("stsb", tarred("w:gz", {"/etc/x": "x"}), "'/etc/x' leads out of the archive"),
        ("sick-r", zipped({"..\\SICK.txt": "x"}), "leads out of the archive"),
        ("stsb", tarred("w:gz", {"sts-dev.csv": "x"}), "sts-dev.csv, line 1: 1 columns"),
        ("sick-r", zipped({"other.txt": "x"}), "holds no TRAIN"),
        ("sick-r", zipped({"SICK.txt": "pair_ID\tx\ty\tz\n"}), "names no column"),
        ("sick-r", zipped({"SICK.txt": SICK})[:150], "damaged"),
        ("stsb", b"\x1f\x8b" + bytes(60), "damaged"),
        ("ppdb", gzip.compress(b"[X] ||| a ||| b ||| PPDB2.0Score=1\n" * 99)[:-9], "damaged"),
        ("pit-2015", zipped({"dev.data": "1\tx\ta\tb\t4\tt\tt\n"}), "'4' is no grade"),
        ("pit-2015", zipped({"x.data": "x"}), "holds no"),
        ("ppdb", gzip.compress(b"[X] ||| a ||| b ||| Score=1"), "line 1: no PPDB2.0Score"),
        ("simpwiki", tarred("w:gz", {"normal.aligned": "x"}), "no simple.aligned"),
        ("sts2013", zipped({"STS.input.FNWN.txt": "a\tb\n"}), "holds no gs of FNWN"),
        ("sts2013", stopped(2013, OnWN="1\n2\n"), "OnWN: 3 lines and 2, which should be aligned"),
        ("sts2013", stopped(2013, OnWN="1\n6\n2\n"), "OnWN, line 2: score '6' is not from 0 to 5"),
        ("bucc2018", [bucc("sample"), bucc("training", gold=False), bucc("test", gold=False)],
         "training-gold.tar.bz2: holds no de-en.training.gold"),
        ("bucc2018", [bucc("sample")[:-200], b"BZh", b"BZh"], "damaged"),
        ("tatoeba", [b"a\nb\n", b"a\n"], "2 lines and 1"),
        ("msrpc", [b"1\t2\t3\t4\t5\n2\t1\t2\ta\tb\n", b""], "line 2: label '2' is not 0 or 1"),
        ("opusparcus", opusparcus("dev", "1\ta\tb\t9\n"),
         "de-dev.txt, line 1: grade 9 is not between 1 and 4"),
        ("opusparcus", opusparcus("dev", "1\ta\tb\t2\n2\ta\tb\tgood\n"),
         "de-dev.txt, line 2: grade good is not between 1 and 4"),
        ("opusparcus", opusparcus("dev", "1\ta\tb\t58.2\t4.5\t3\t5\n"),
         "de-dev.txt, line 1: 7 columns, not 4"),
        ("opusparcus", zipped({"de-train.txt.bz2": bz2.compress(b"1\ta\tb\t2.5\n")}),
         "de-train.txt.bz2, line 1: 4 columns, not 7"),
        ("opusparcus", zipped({"de-train.txt.bz2": bz2.compress(b"1\ta\tb\t5\t1\t1\t1\n")[:-9]}),
         "damaged"),
    ],
    ids=lambda value: "body" if isinstance(value, bytes) else None,  # the time is packed, too
)  # fmt: skip
def test_an_archive_that_is_not_what_it_should_be(server, unchecked, tmp_path, name, body, message):
    part = next(one for one in ("all", "de-en", "de") if one in CATALOG[name].parts)
    bodies = body if isinstance(body, list) else [body]
    assert message in fails(server, tmp_path, name, part, *bodies)


def method(number: int) -> bytes:
    """Return a zip whose header names the compression method ``number``."""
    body = bytearray(zipped({"SICK.txt": SICK}))
    start = body.index(b"PK\1\2")
    body[8:10] = body[start + 10 : start + 12] = number.to_bytes(2, "little")
    return bytes(body)


def test_an_archive_that_cannot_be_unpacked_is_damaged(server, unchecked, tmp_path):
    """With method 9, unknown to zipfile, and with bytes that contradict the method."""
    for number in (9, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        (tmp_path / "data/downloads/SICK.zip").unlink(missing_ok=True)
        assert "SICK.zip: damaged (" in fails(server, tmp_path, "sick-r", "all", method(number))


@pytest.mark.parametrize("suffix", ["zip", "tgz", "gz", "txt"])
def test_a_line_without_an_end(tmp_path, monkeypatch, suffix):
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


def test_the_catalogue_holds_together() -> None:
    names = [file.name for dataset in CATALOG.values() for file in dataset.files]
    assert len(names) == len(set(names)), "all are saved in one directory"
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
        (["opusparcus"], "opusparcus: is large; choose with --pair from de, en"),
        (["stsb"], "answers 404 Not Found"),
    ],
)
def test_sets_and_pairs_that_are_refused(get, arguments, message):
    done = get(*arguments)
    assert done.code == 1 and done.out == "" and message in done.err
    assert done.err.startswith("miner: error: ") and done.err.count("\n") == 1


def test_a_verified_download(get, server, tmp_path, monkeypatch):
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
    # When the catalogue's checksum changes, the file is downloaded again.
    monkeypatch.setitem(
        CATALOG, "sick-r", replace(sick, parts={"all": (replace(known, sha256="0" * 64),)})
    )
    assert get("sick-r").code == 1


def test_a_mirror_must_be_an_address(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="--from begins with https"):
        datasets.get(CATALOG["stsb"], "all", tmp_path, mirror="file:///tmp")


def test_a_record_that_cannot_be_read(get: Callable[..., SimpleNamespace], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for text in ("{", "[]", '{"stsb": 3}', '{"stsb": {"parts": {"all": {}}}}'):
        (tmp_path / "data/SOURCES.json").write_text(text)
        done = get("stsb")
        assert done.code == 1 and "SOURCES.json: cannot be read as a record" in done.err
    with pytest.raises(ArtifactError):
        datasets.get(CATALOG["stsb"], "all", tmp_path / "data")
