"""Download of one file over HTTP: resumed, checked, and renamed to its name when complete.

An incomplete file is called ``NAME.part``. Beside it ``NAME.part.json`` keeps the validators that
the server sent (address, length, ETag, Last-Modified), so that a later attempt resumes only the
same file (RFC 9110, sections 8.8 and 14). The library pooch does not replace this module: it
neither resumes downloads nor checks the free disk space, and accepts an error page as the file.
"""

import http.client
import json
import os
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from miner.errors import DownloadError, ResourceError, reason, writing
from miner.json_files import read_json
from miner.progress import Reporter, silent
from miner.text import durable
from miner.text.compression import MAGIC as COMPRESSED
from miner.text.file_digests import file_sha256
from miner.text.output import open_output

BLOCK = 1 << 18
TIMEOUT = 30.0  # seconds to wait for a byte
TRIES = 4  # attempts in a row without progress
SPARE = 1 << 26  # bytes of disk space to leave free with a file of unknown length
PAUSE = 1.0  # seconds before the second attempt; doubles with each
AGENT = "bitext-miner"
# First bytes of files by suffix, to detect an error page sent with status 200.
MAGIC = {".zip": b"PK", ".tgz": b"\x1f\x8b", **COMPRESSED}
WEB_PAGE = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)


class _Broken(Exception):
    """Broken connection or temporary server error: worth another attempt."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirect handler that never leaves an encrypted connection for an unencrypted one."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            fp.close()
            raise DownloadError(
                f"{req.full_url}: the server points to {newurl}, which is not encrypted; "
                "look for the file at its home page, or give a mirror with --from"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(
    address: str,
    path: Path,
    *,
    size: int | None = None,
    sha256: str | None = None,
    report: Reporter = silent,
) -> str:
    """Download ``address`` to ``path``; return the SHA-256 of the file in hexadecimal digits.

    An existing file is only checked. size, in bytes, and sha256 are compared if set; a file with
    another checksum is renamed to ``NAME.bad``. ``report`` is called with the name of the file, the
    bytes done and their total.

    Never writes more than ``size`` bytes or, if no length is known, than the disk has room for.

    Raises DownloadError (address, network, a redirect from https to anything else, web page,
    length, checksum) and ResourceError (disk).
    """
    with writing(path):  # disk errors; network errors are handled below
        if not path.exists():
            _download(address, path, size, report)
        return _checked(address, path, size, sha256)


def _download(address: str, path: Path, size: int | None, report: Reporter) -> None:
    """Repeat attempts until the file is complete, or several in a row make no progress."""
    part, note = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.json")
    best, failures = 0, 0
    while True:
        try:
            _attempt(address, part, note, size, report)
            break
        except _Broken as error:
            done = part.stat().st_size if part.exists() else 0
            failures = 0 if done > best else failures + 1
            best = max(best, done)
            if failures == TRIES:
                raise DownloadError(
                    f"{address}: {error}; {done:,} bytes are kept: repeat the command to go on, or "
                    "give a mirror with --from"
                ) from error
            time.sleep(PAUSE * 2 ** max(failures - 1, 0))
    durable.replace(part, path)
    note.unlink(missing_ok=True)


def _attempt(address: str, part: Path, note: Path, size: int | None, report: Reporter) -> None:
    """Request the missing bytes once. Raises _Broken, DownloadError and, for the disk, OSError."""
    before = _read_note(note, address)
    done = part.stat().st_size if part.exists() and before else 0
    if done and done == before.get("length"):
        return
    response = _open(address, done)
    if done and not _continues(response, done, before):
        done = 0
        if response.status == 206:  # the response continues another version of the file
            response.close()
            response = _open(address, 0)
    with response:
        _receive(address, response, part, note, done, size, report)


def _receive(
    address: str,
    response: http.client.HTTPResponse,
    part: Path,
    note: Path,
    done: int,
    size: int | None,
    report: Reporter,
) -> None:
    """Append the response to the ``done`` bytes on disk."""
    length = _length(response)
    total = None if length is None else done + length
    block = _read(response)
    if not done:
        _refuse_page(address, response, block, part.name.removesuffix(".part"))
    if size is not None and total is not None and size != total:
        raise DownloadError(
            f"{address}: the server has {total:,} bytes, {size:,} are known of this file; it has "
            "changed or is another: look at its home page"
        )
    if not done:
        validators = {name: response.headers.get(name) for name in ("ETag", "Last-Modified")}
        part.unlink(missing_ok=True)  # first, or the note would describe bytes of another file
        with open_output(note) as file:
            json.dump({"address": address, "length": total, **validators}, file)
    require_space(part.parent, 0 if total is None else total - done)
    most = size if total is None else total
    with part.open("ab" if done else "wb") as out:
        report(part.name.removesuffix(".part"), done, total)
        while block:
            if most is not None and done + len(block) > most:
                raise DownloadError(
                    f"{address}: the server sends more than the {most:,} bytes of this file; it "
                    "has changed or is another: look at its home page"
                )
            if most is None:
                require_space(part.parent, len(block) + SPARE)
            out.write(block)
            done += len(block)
            report(part.name.removesuffix(".part"), done, total)
            block = _read(response)
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        raise _Broken(f"the connection ended after {done:,} of {total:,} bytes")


def require_space(directory: Path, needed: int) -> None:
    """Raise ResourceError where the disk of ``directory`` has less than ``needed`` bytes free."""
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise ResourceError(
            f"{directory}: {needed:,} bytes are needed and {free:,} are free; free some there or "
            "choose another -o"
        )


def _open(address: str, start: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(address, headers=headers)
        opener = urllib.request.build_opener(_Redirects)
        return opener.open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:  # the file is now shorter than the part on disk
            return _open(address, 0)
        if error.code == 429 or error.code >= 500:
            raise _Broken(f"the server answers {error.code} {error.reason}") from error
        raise DownloadError(
            f"{address}: the server answers {error.code} {error.reason}; look for the file at its "
            "home page, or give a mirror with --from"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", error)
        raise _Broken(f"cannot be reached ({reason(cause)})") from error
    except ValueError as error:
        raise DownloadError(f"{address}: not an address; it begins with https:// or http://") from (
            error
        )


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(f"the connection broke ({reason(error)})") from error


def _continues(response: http.client.HTTPResponse, done: int, before: Mapping[str, object]) -> bool:
    """Return True if the response continues the same version of the file."""
    content_range = re.fullmatch(
        r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", "")
    )
    if response.status != 206 or not content_range or int(content_range[1]) != done:
        return False
    if _length(response) not in (None, int(content_range[3]) - done):
        return False
    # Without a validator the two parts may belong to different versions.
    validators = [name for name in ("ETag", "Last-Modified") if before.get(name)]
    same = all(response.headers.get(name) == before[name] for name in validators)
    return bool(validators) and same and int(content_range[3]) == before.get("length")


def _refuse_page(address: str, response: http.client.HTTPResponse, start: bytes, name: str) -> None:
    """Raise DownloadError for a web page ("not found", "please log in") sent with status 200."""
    magic = next((magic for suffix, magic in MAGIC.items() if name.endswith(suffix)), b"")
    page = WEB_PAGE.match(start) or response.headers.get_content_type() == "text/html"
    if (page and not (magic and start.startswith(magic))) or not start.startswith(magic):
        what = "a web page" if page else "something else"
        raise DownloadError(
            f"{address}: the server sent {what} instead of {name}; look for the file at its home "
            "page, or give a mirror with --from"
        )


def _checked(address: str, path: Path, size: int | None, sha256: str | None) -> str:
    digest = file_sha256(path)
    length = path.stat().st_size
    wrong = ""
    if size is not None and length != size:
        wrong = f"has {length:,} bytes, not {size:,}"
    elif sha256 is not None and digest != sha256:
        wrong = f"has the SHA-256 {digest}, not {sha256}"
    if not wrong:
        return digest
    bad = path.with_name(f"{path.name}.bad")
    os.replace(path, bad)
    raise DownloadError(
        f"{bad}: {wrong}; it arrived damaged or is another file: repeat the command to download it "
        f"again from {address}"
    )


def _length(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _read_note(note: Path, address: str) -> dict[str, Any]:
    """Read the validators of the part on disk; empty if it belongs to another address."""
    with suppress(OSError, ValueError):
        validators = read_json(note)
        if isinstance(validators, dict) and validators.get("address") == address:
            return validators
    return {}
