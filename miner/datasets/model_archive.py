"""Model archives: download, check and unpack the model directory of a release."""

import hashlib
import urllib.parse

from miner.datasets.archive import TAR, unpack
from miner.datasets.download import fetch
from miner.encoder.model import Model, load
from miner.encoder.model_files import CONFIG
from miner.errors import ArtifactError, DownloadError, writing
from miner.progress import Reporter, silent
from miner.text.artifacts import atomic_directory, replaceable
from miner.text.output import StrPath

SUFFIXES = (*TAR, ".zip")


def get_model(
    address: str, output: StrPath, *, sha256: str | None = None, report: Reporter = silent
) -> tuple[Model, str]:
    """Download a model archive and unpack it as the directory ``output``.

    The directory appears only when the archive is complete, its SHA-256 (if given) is right, and
    the model loads, which compares every file with its checksum in ``config.json``. An older model
    there is replaced. An interrupted download is resumed by the same call. Returns the model and
    the SHA-256 of the archive.

    Raises DownloadError (address, network, checksum), CorpusError (a damaged archive, or a member
    that leads out of it), ArtifactError (not a sound model, or ``output`` is none) and
    ResourceError.
    """
    path = urllib.parse.urlsplit(address).path
    suffix = next((one for one in SUFFIXES if path.endswith(one)), None)
    if suffix is None:
        raise DownloadError(
            f"{address}: not a model archive; its name ends in {', '.join(SUFFIXES)}"
        )
    directory = replaceable(output, CONFIG)
    # An archive that stays after a failure must not be taken for another address's.
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    archive = directory.with_name(f"{directory.name}.download-{digest}{suffix}")
    with writing(archive.parent):
        archive.parent.mkdir(parents=True, exist_ok=True)
    found = fetch(address, archive, sha256=sha256, report=report)
    with atomic_directory(directory, CONFIG) as work:
        unpack(archive, work)
        try:
            load(work)
        except ArtifactError as error:
            reason = str(error).replace(str(work), str(archive))
            raise ArtifactError(f"{reason}; {address} holds no sound model") from error
    archive.unlink()
    return load(directory), found
