"""Directory of mined pairs: compressed parts of equal size, and a manifest."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from miner.mining.result import Mined
from miner.text.artifacts import MANIFEST, atomic_directory, write_manifest
from miner.text.output import StrPath

FORMAT = "bitext-miner pairs"
# Pairs per part.
PART = 1_000_000


def write_parts(
    mined: Mined,
    path: StrPath,
    *,
    ids: bool = False,
    bucc: bool = False,
    command: str | None = None,
) -> None:
    """Write the kept pairs to the directory ``path``: `pairs-00000.tsv.zst` and so on.

    A part has at most ``PART`` pairs; the best are in the first. `manifest.json` has the inputs and
    the parts with their sizes and SHA-256, the model, the threshold with its estimated precision,
    the version of this program and the ``command``. The directory is written as a whole; an older
    one is replaced. Raises ArtifactError, ResourceError and DependencyError (zstd).
    """
    pairs = mined.pairs
    with atomic_directory(path, marker=MANIFEST) as directory:
        places: dict[Path, dict[str, Any]] = {}
        for start in range(0, len(pairs), PART):
            part = pairs.take(slice(start, start + PART))
            file = directory / f"pairs-{start // PART:05}.{'bucc' if bucc else 'tsv'}.zst"
            part.write(file, ids=ids, bucc=bucc)
            places[file] = {"pairs": len(part)}
        describe(mined, directory / MANIFEST, places, command)


def describe(
    mined: Mined, path: StrPath, files: Mapping[Path, Mapping[str, Any]], command: str | None
) -> None:
    pairs, threshold = mined.pairs, mined.threshold
    sides = {"source": pairs.source, "target": pairs.target}
    facts = {
        "format": FORMAT,
        "command": command,
        "model": pairs.source.meta["model"],
        "inputs": {
            side: [vars(source) for source in index.sources] for side, index in sides.items()
        },
        "sentences": {side: len(index) for side, index in sides.items()},
        "candidates": len(mined.all_pairs),
        "pairs": len(pairs),
        "threshold": threshold if threshold is None or math.isfinite(threshold) else None,
        "precision": mined.precision,
    }
    write_manifest(path, files, facts)
