"""One file over HTTP: resumed where it stopped, checked, and under its name only when it is whole.

While it grows it is called ``NAME.part``. Beside it ``NAME.part.json`` keeps what the server said
of it (address, length, ETag, Last-Modified), so that a later attempt goes on only with the same
file (RFC 9110, sections 8.8 and 14).
"""

from __future__ import annotations

import hashlib
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

from miner.errors import DownloadError, ResourceError
from miner.progress import Reporter, silent
from miner.text.output import MAGIC as COMPRESSED
from miner.text.output import one_line, open_output, resource_error

BLOCK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
TRIES = 4  # attempts in a row that bring nothing
SPARE = 1 << 26  # bytes of disk that a file of unknown length leaves free
PAUSE = 1.0  # seconds before the second attempt; doubles with each
AGENT = "bitext-miner"
# First bytes by suffix. An error page with status 200 has others.
MAGIC = {".zip": b"PK", ".tgz": b"\x1f\x8b", **COMPRESSED}
WEB_PAGE = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)


class _Broken(Exception):
    """A connection that ended early or a server with a passing fault: worth another attempt."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Goes where a server points to, but never from an encrypted connection to another."""

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
                f"{req.full_url}: the server points to {one_line(newurl)}, which is not encrypted; "
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
    """Make ``path`` the file at ``address`` and give its SHA-256, as hexadecimal digits.

    A file that is there already is only checked. size, in bytes, and sha256 are compared where
    they are given; a file with another checksum is renamed to ``NAME.bad``. ``report`` is called
    with the name of the file, bytes done and in all.

    No more is written than size, and where no length is known, than the disk has room for.

    Raises DownloadError (address, network, a redirect from https to anything else, web page,
    length, checksum) and ResourceError (disk).
    """
    try:
        if not path.exists():
            _download(address, path, size, report)
        return _checked(address, path, size, sha256)
    except OSError as error:  # of the disk; those of the network are no longer here
        raise resource_error(error, path) from error


def _download(address: str, path: Path, size: int | None, report: Reporter) -> None:
    """Attempts, until the file is whole or several in a row have brought nothing new."""
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
    os.replace(part, path)
    note.unlink(missing_ok=True)


def _attempt(address: str, part: Path, note: Path, size: int | None, report: Reporter) -> None:
    """One request for what is missing. Raises _Broken, DownloadError and, of the disk, OSError."""
    before = _read_note(note, address)
    done = part.stat().st_size if part.exists() and before else 0
    if done and done == before.get("length"):
        return
    response = _open(address, done)
    if done and not _continues(response, done, before):
        done = 0
        if response.status == 206:  # a part, of another file than that on disk
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
    """Write what comes after the ``done`` bytes that are there."""
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
        part.unlink(missing_ok=True)  # first, or the note would vouch for bytes of another file
        with open_output(note) as file:
            json.dump({"address": address, "length": total, **validators}, file)
    _require(part, 0 if total is None else total - done)
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
                _require(part, len(block) + SPARE)
            out.write(block)
            done += len(block)
            report(part.name.removesuffix(".part"), done, total)
            block = _read(response)
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        raise _Broken(f"the connection ended after {done:,} of {total:,} bytes")


def _require(part: Path, needed: int) -> None:
    """Raises ResourceError where so many bytes are not free."""
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise ResourceError(
            f"{part.parent}: {needed:,} bytes are needed and {free:,} are free; free some there or "
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
        if error.code == 416 and start:  # the file has become shorter than what is there
            return _open(address, 0)
        if error.code == 429 or error.code >= 500:
            raise _Broken(f"the server answers {error.code} {error.reason}") from error
        raise DownloadError(
            f"{address}: the server answers {error.code} {error.reason}; look for the file at its "
            "home page, or give a mirror with --from"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _Broken(f"cannot be reached ({_words(reason)})") from error
    except ValueError as error:
        raise DownloadError(f"{address}: not an address; it begins with https:// or http://") from (
            error
        )


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(f"the connection broke ({_words(error)})") from error


def _continues(response: http.client.HTTPResponse, done: int, before: Mapping[str, object]) -> bool:
    """Whether the answer is the rest of the very file that was begun."""
    found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("Content-Range", ""))
    if response.status != 206 or not found or int(found[1]) != done:
        return False
    if _length(response) not in (None, int(found[3]) - done):
        return False
    # Without anything to tell versions by, two halves may be of two files.
    told = [name for name in ("ETag", "Last-Modified") if before.get(name)]
    same = all(response.headers.get(name) == before[name] for name in told)
    return bool(told) and same and int(found[3]) == before.get("length")


def _refuse_page(address: str, response: http.client.HTTPResponse, start: bytes, name: str) -> None:
    """A page that says "not found" or "please log in" comes with status 200 at times."""
    magic = next((magic for suffix, magic in MAGIC.items() if name.endswith(suffix)), b"")
    page = WEB_PAGE.match(start) or response.headers.get_content_type() == "text/html"
    if (page and not (magic and start.startswith(magic))) or not start.startswith(magic):
        what = "a web page" if page else "something else"
        raise DownloadError(
            f"{address}: the server sent {what} instead of {name}; look for the file at its home "
            "page, or give a mirror with --from"
        )


def _checked(address: str, path: Path, size: int | None, sha256: str | None) -> str:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    length = path.stat().st_size
    wrong = ""
    if size is not None and length != size:
        wrong = f"has {length:,} bytes, not {size:,}"
    elif sha256 is not None and found != sha256:
        wrong = f"has the SHA-256 {found}, not {sha256}"
    if not wrong:
        return found
    bad = path.with_name(f"{path.name}.bad")
    os.replace(path, bad)
    raise DownloadError(
        f"{bad}: {wrong}; it came damaged or is another file: repeat the command to get it again "
        f"from {address}"
    )


def _length(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _read_note(note: Path, address: str) -> dict[str, Any]:
    """What was noted of the part that is there; nothing, if that is of another address."""
    with suppress(OSError, ValueError):
        found = json.loads(note.read_text(encoding="utf-8"))
        if isinstance(found, dict) and found.get("address") == address:
            return found
    return {}


def _words(reason: object) -> str:
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return one_line(text) or type(reason).__name__
