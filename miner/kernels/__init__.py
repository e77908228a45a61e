"""Hot loops, compiled by numba. Tests compare each with a plain reference.

Importing a module of this package loads numba, so callers import it in function bodies.
"""

import os
import tempfile
from pathlib import Path

# numba caches compiled loops beside the source or below the home directory, and fails where neither
# can be written, as in many containers. There the cache lives as long as the process.
if "NUMBA_CACHE_DIR" not in os.environ:
    _places = (Path(__file__).parent, Path.home())
    if not any(os.access(place, os.W_OK) for place in _places):
        _cache = tempfile.TemporaryDirectory(prefix="miner-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = _cache.name


def compiled(module: str = "*") -> bool:
    """Return True if numba's cache holds compiled loops of ``module``, or of any module here.

    Imports numba if the cache is not beside the source.
    """

    def cached(place: Path) -> bool:
        return place.is_dir() and any(place.rglob(f"{module}.*.nbi"))

    if "NUMBA_CACHE_DIR" in os.environ:
        return cached(Path(os.environ["NUMBA_CACHE_DIR"]))
    if cached(Path(__file__).parent / "__pycache__"):
        return True
    from numba.misc.appdirs import AppDirs

    return cached(Path(AppDirs("numba", appauthor=False).user_cache_dir))
