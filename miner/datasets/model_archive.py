"""Download of models: check and unpack the archive of a release, or copy a repository."""

import hashlib
import re
import shutil
import urllib.parse
from pathlib import Path

from miner.datasets.archive import TAR, unpack
from miner.datasets.download import fetch
from miner.encoder.export import HUB_FOLDER
from miner.encoder.model import Model, load
from miner.encoder.model_files import CONFIG
from miner.errors import ArtifactError, DownloadError, reason, writing
from miner.libraries import library
from miner.progress import Reporter, silent
from miner.text.artifacts import atomic_directory, replaceable
from miner.text.output import StrPath

SUFFIXES = (*TAR, ".zip")
# Scheme of a repository of Hugging Face: hf:USER/NAME, or hf:USER/NAME@REVISION.
HUB = "hf:"
_REPOSITORY = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([^@\s]+))?")


def get_model(
    address: str, output: StrPath, *, sha256: str | None = None, report: Reporter = silent
) -> tuple[Model, str]:
    """Download a model archive, or the model of a repository, as the directory ``output``.

    The directory appears only when the archive is complete, its SHA-256 (if passed) is right, and
    the model loads, which compares every file with its checksum in ``config.json``. An older model
    there is replaced. The same call resumes an interrupted download. Returns the model and the
    SHA-256 of the archive, or the commit of the repository.

    Raises DownloadError (address, network, checksum), DependencyError for a repository without the
    library that reads them, CorpusError (a damaged archive, or a member that leads out of it),
    ArtifactError (not a sound model, or ``output`` is none) and ResourceError.
    """
    if address.startswith(HUB):
        return _of_repository(address, output)
    path = urllib.parse.urlsplit(address).path
    suffix = next((ending for ending in SUFFIXES if path.endswith(ending)), None)
    if suffix is None:
        raise DownloadError(
            f"{address}: not a model archive; its name ends in {', '.join(SUFFIXES)}"
        )
    directory = replaceable(output, CONFIG)
    # The archive left by a failure must not be mistaken for that of another address.
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    archive = directory.with_name(f"{directory.name}.download-{digest}{suffix}")
    with writing(archive.parent):
        archive.parent.mkdir(parents=True, exist_ok=True)
    version = fetch(address, archive, sha256=sha256, report=report)
    with atomic_directory(directory, CONFIG) as work:
        unpack(archive, work)
        try:
            load(work)
        except ArtifactError as error:
            reason = str(error).replace(str(work), str(archive))
            raise ArtifactError(f"{reason}; {address} holds no sound model") from error
    archive.unlink()
    return load(directory), version


def _of_repository(address: str, output: StrPath) -> tuple[Model, str]:
    """Copy a model from a repository written by ``miner export --hub``."""
    match = _REPOSITORY.fullmatch(address)
    if match is None:
        raise DownloadError(f"{address}: is not hf:USER/NAME, nor hf:USER/NAME@REVISION")
    directory = replaceable(output, CONFIG)
    hub = library("huggingface_hub", address, "datasets")
    try:
        files = [f"{HUB_FOLDER}/*"]
        there = hub.snapshot_download(match[1], revision=match[2], allow_patterns=files)
    except Exception as error:  # huggingface_hub lets exceptions of two other libraries through
        raise DownloadError(f"{address}: cannot be downloaded: {reason(error)}") from None
    folder = Path(there) / HUB_FOLDER
    if not (folder / CONFIG).is_file():
        raise ArtifactError(
            f"{address}: has no {HUB_FOLDER}/{CONFIG}, which 'miner export --hub' writes; an "
            f"encoder of sentence-transformers is --model {address} itself"
        )
    with atomic_directory(directory, CONFIG) as work:
        shutil.copytree(folder, work, dirs_exist_ok=True)
        try:
            load(work)
        except ArtifactError as error:
            why = str(error).replace(str(work), HUB_FOLDER)
            raise ArtifactError(f"{address}: {why}") from error
    return load(directory), Path(there).name
