"""Hot loops and nothing else: each compiled by numba, each with a plain reference beside it.

Importing a module of this package loads numba, so callers do it where they first need it.
"""

import os
import tempfile
from pathlib import Path

# numba keeps compiled loops beside the source or below the home directory, and refuses to work
# where neither can be written, as in many containers. There they live as long as the process.
if "NUMBA_CACHE_DIR" not in os.environ:
    _places = (Path(__file__).parent, Path.home())
    if not any(os.access(place, os.W_OK) for place in _places):
        _cache = tempfile.TemporaryDirectory(prefix="miner-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = _cache.name


def compiled(module: str = "*") -> bool:
    """Whether an earlier run has left compiled loops, of one module here or of any.

    Where there is none beside the source, it takes as long as to import numba.
    """

    def there(place: Path) -> bool:
        return place.is_dir() and any(place.rglob(f"{module}.*.nbi"))

    if "NUMBA_CACHE_DIR" in os.environ:
        return there(Path(os.environ["NUMBA_CACHE_DIR"]))
    if there(Path(__file__).parent / "__pycache__"):
        return True
    from numba.misc.appdirs import AppDirs

    return there(Path(AppDirs("numba", appauthor=False).user_cache_dir))
