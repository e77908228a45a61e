"""``miner model``: list, info and get, with local servers."""

import hashlib
import io
import json
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.downloads import Server, tarred, zipped

from miner.encoder.model import load

Miner = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def files(tiny_model: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in tiny_model.iterdir()}


def get(miner: Miner, server: Server, into: Path, *more: object, name: str = "m.tar.gz") -> tuple:
    """Run ``miner model get`` on a file of the server."""
    return miner("model", "get", f"{server.address}/{name}", "-o", into, *more)


@pytest.mark.parametrize("folder", ["", "large/", "./large/"])
@pytest.mark.parametrize("name", ["m.tar.gz", "m.tar.xz", "m.zip"])
def test_a_model_is_downloaded(miner, server, tmp_path, tiny_model, files, name, folder):
    mode = f"w:{name.rpartition('.')[2]}"
    members = {folder + path: content for path, content in files.items()}
    body = zipped(members) if name == "m.zip" else tarred(mode, members)
    server.add(f"http://x/{name}", body)
    into = tmp_path / "models" / "large"
    digest = hashlib.sha256(body).hexdigest()
    code, out, err = get(miner, server, into, "--sha256", digest.upper(), name=name)
    assert (code, err) == (0, "")
    assert out == f"{into}: {load(tiny_model).describe()}; checksum verified\n"
    assert {path.name: path.read_bytes() for path in into.iterdir()} == files
    assert [path.name for path in into.parent.iterdir()] == ["large"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["../escaped"], "'../escaped' leads out of the archive"),
        (["/tmp/escaped"], "'/tmp/escaped' leads out of the archive"),
        (["a/../../escaped"], "leads out of the archive"),
        (["one/a", "other/b"], "'other/b' is not a file of its one folder"),
        (["one/two/a"], "is not a file of its one folder"),
        (["one/a", "one/a"], "is not a file of its one folder"),
    ],
)
@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_lead_elsewhere_are_refused(miner, server, tmp_path, names, message, kind):
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w") as zipped:
            for name in names:
                zipped.writestr(name, b"x")
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for name in names:
                tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    server.add(f"http://x/m.{kind}", out.getvalue())
    place = tmp_path / "models" / "large"
    code, _, err = get(miner, server, place, name=f"m.{kind}")
    assert code == 1 and message in err and err.count("\n") == 1
    (archive,) = place.parent.iterdir()
    assert archive.name.startswith("large.download-")
    assert not (tmp_path / "escaped").exists() and not (tmp_path / "models/escaped").exists()


def test_an_archive_without_a_sound_model(miner, server, tmp_path, files):
    whole = tarred("w:gz", files)
    altered = tarred("w:gz", {**files, "weights.npy": files["weights.npy"][:-1] + b"!"})
    bodies = {
        "cut": (whole[: len(whole) // 2], "damaged ("),
        "altered": (altered, "weights.npy: does not match"),
        "empty": (tarred("w:gz", {}), "not a model directory"),
    }
    for name, (body, message) in bodies.items():
        server.add(f"http://x/{name}.tar.gz", body)
        code, _, err = get(miner, server, tmp_path / name, name=f"{name}.tar.gz")
        assert code == 1 and message in err and err.count("\n") == 1, name
        assert not (tmp_path / name).exists()


def test_addresses_that_are_refused(miner: Miner, server: Server, tmp_path: Path) -> None:
    code, _, err = get(miner, server, tmp_path / "large", name="model.bin")
    assert code == 1 and "not a model archive; its name ends in .tgz" in err
    code, _, err = get(miner, server, tmp_path / "large")
    assert code == 1 and "answers 404" in err
    assert not list(tmp_path.iterdir())


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def repository(miner: Miner, tiny_model: Path, tmp_path: Path) -> Path:
    """A directory of ``miner export --hub``, named like the snapshot of a commit."""
    place = tmp_path / COMMIT
    assert miner("export", tiny_model, "--hub", "-o", place)[0] == 0
    return place


@pytest.fixture
def library(repository: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Stand in for huggingface_hub, and return the recorded calls."""
    asked: list[tuple[object, ...]] = []

    def snapshot(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, *allow_patterns))
        if name == "user/none":
            raise OSError("404 Client Error: Repository Not Found\nfor url: x")
        return str(repository)

    module = SimpleNamespace(snapshot_download=snapshot)
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)  # type: ignore[arg-type]
    return asked


def test_a_model_comes_from_a_repository(miner, library, repository, tiny_model, tmp_path):
    into = tmp_path / "models" / "tiny"
    code, out, _ = miner("model", "get", "hf:user/tiny@v1", "-o", into)
    assert code == 0 and out == f"{into}: {load(tiny_model).describe()}; commit {COMMIT}\n"
    assert library == [("user/tiny", "v1", "bitext-miner/*")]
    assert load(into).fingerprint == load(tiny_model).fingerprint
    code, _, err = miner("model", "get", "hf:user/tiny", "-o", into)
    assert code == 2 and "--overwrite" in err
    assert miner("model", "get", "hf:user/tiny", "-o", into, "--overwrite")[0] == 0


def test_repositories_that_are_refused(miner, library, repository, tmp_path):
    into = tmp_path / "out"
    for address, message in (
        ("hf:tiny", "is not hf:USER/NAME"),
        ("hf:a/b/c", "is not hf:USER/NAME"),
        ("hf:user/none", "cannot be downloaded: 404 Client Error: Repository Not Found"),
    ):
        code, _, err = miner("model", "get", address, "-o", into)
        assert code == 1 and f"{address}: {message}" in err and err.count("\n") == 1
    assert miner("model", "get", "hf:user/tiny", "--sha256", "0", "-o", into)[0] == 2
    (repository / "bitext-miner" / "sp.model").write_bytes(b"x")
    code, _, err = miner("model", "get", "hf:user/tiny", "-o", into)
    assert code == 1 and "hf:user/tiny: bitext-miner/sp.model" in err
    (repository / "bitext-miner" / "config.json").unlink()
    code, _, err = miner("model", "get", "hf:user/tiny", "-o", into)
    assert code == 1 and "has no bitext-miner/config.json" in err
    assert not into.exists()


@pytest.fixture
def hub(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve one repository by the protocol of the hub, for the real library."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra datasets")
    files = {str(p.relative_to(repository)): p for p in repository.rglob("*") if p.is_file()}

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, _, name = self.path.partition(f"/resolve/{COMMIT}/")
            if name in files:
                body = files[name].read_bytes()
            elif "/api/models/user/tiny/" in self.path:
                rows = [
                    {"type": "file", "path": name, "size": one.stat().st_size, "oid": name}
                    for name, one in files.items()
                ]
                names = [{"rfilename": name} for name in files]
                info = {"id": "user/tiny", "sha": COMMIT, "siblings": names}
                body = json.dumps(rows if "/tree/" in self.path else info).encode()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    yield
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_the_library_of_the_hub_downloads_a_model(hub, miner, tiny_model, tmp_path):
    into = tmp_path / "out"
    code, out, err = miner("model", "get", "hf:user/tiny", "-o", into)
    assert code == 0, err
    assert out.endswith(f"commit {COMMIT}\n")
    assert load(into).fingerprint == load(tiny_model).fingerprint
    assert miner("model", "get", "hf:user/other", "-o", tmp_path / "other")[0] == 1


def test_list(miner: Miner, tmp_path: Path, files: dict[str, bytes]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for file, body in files.items():
            (tmp_path / name / file).write_bytes(body)
    (tmp_path / "two" / "weights.npy").write_bytes(b"cut")
    (tmp_path / "other").mkdir()
    code, out, err = miner("model", "list", tmp_path)
    lines = out.splitlines()
    assert (code, err) == (0, "") and len(lines) == 4
    assert lines[1].startswith("default ") and load("default").fingerprint in lines[1]
    assert (
        lines[2].startswith(str(tmp_path / "one")) and load(tmp_path / "one").describe() in lines[2]
    )
    assert lines[3].startswith(f"left out: {tmp_path / 'two' / 'weights.npy'}: does not match")
    assert miner("model", "list", tmp_path / "one")[1].splitlines() == lines[:3]
    code, out, err = miner("model", "list", tmp_path / "nowhere")
    assert (code, out) == (1, "") and "nowhere: no such directory" in err


def test_info(miner: Miner, tiny_model: Path) -> None:
    code, out, err = miner("model", "info")
    model = load("default")
    assert (code, err) == (0, "")
    head = out.partition("\n\n")[0]
    assert model.fingerprint in head and model.describe() in head
    # Texts of one name are summed, and the largest are named.
    assert f"{model.training['pairs']:,} pairs: tatoeba 718,030; small-4 495,924; " in head
    names = {one["name"] for one in model.training["text"]}
    assert f"; {len(names) - 8} more" in head
    assert f"{model.training['held-out mining F1']:.3f}" in head
    assert model.path is not None
    assert out.endswith("\n\n" + (model.path / "README.md").read_text(encoding="utf-8"))
    french = next(line for line in out.splitlines() if line.startswith("French (fr)"))
    assert " ".join(french.split()[-6:]) == "canada-laws 55%, tatoeba 24%, php 9%"
    code, out, _ = miner("model", "info", tiny_model)
    config = json.loads((tiny_model / "config.json").read_text())
    assert (
        code == 0 and config["fingerprint"] in out and f"no card (README.md) in {tiny_model}" in out
    )
    code, out, err = miner("model", "info", tiny_model / "nowhere")
    assert (code, out) == (1, "") and "no such model directory" in err


def test_a_model_is_converted(miner: Miner, tiny_model: Path, tmp_path: Path) -> None:
    into = tmp_path / "small"
    code, out, err = miner("model", "convert", tiny_model, "--dtype", "int4", "-o", into)
    model = load(into)
    assert (code, err) == (0, "") and model.parts[0].dtype == "int4"
    assert out == f"{into}: {model.describe()}; fingerprint {model.fingerprint}\n"
    assert model.fingerprint != load(tiny_model).fingerprint
    code, out, err = miner("model", "convert", tiny_model, "--dtype", "int8", "-o", into)
    assert (code, out) == (2, "") and "replace it with --overwrite" in err
    code, out, err = miner("model", "convert", tmp_path, "--dtype", "int8", "-o", tmp_path / "x")
    assert (code, out) == (1, "") and "not a model directory" in err
