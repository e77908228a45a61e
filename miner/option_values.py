"""Choices of options, and their validation. Imports almost nothing, so that help texts load
fast.
"""

import re
from collections.abc import Sequence

VERSION = "0.1.0"
ON_ERROR = ("fail", "replace", "skip")
SIDES = ("source", "target")
ENGINES = ("auto", "fused", "hybrid", "faiss")
MARGINS = ("absolute", "distance", "ratio")
RETRIEVALS = ("forward", "backward", "intersection", "max")
DUPLICATES = ("first", "each")
COPIES = ("drop", "keep")
RANKS = ("probability", "margin")
BACKENDS = ("serial", "processes", "ray", "slurm")
# Keys at the top of a file of filters.
# Suffixes of configurations of OpusFilter and OpusCleaner.
PEER_CONFIGS = (".yaml", ".yml", ".json")
CONFIG_KEYS = ("source_lang", "target_lang", "model", "rank", "repair", "filter")

# Language codes of source and target; None where unset.
Languages = tuple[str | None, str | None]

ALIASES = {"fwd": "forward", "bwd": "backward", "intersect": "intersection"}


def canonical(name: str, choices: Sequence[str]) -> str:
    """Return the member of ``choices`` that ``name`` means (``fwd`` is ``forward``, and so on).

    Raises ValueError, listing the choices, for any other name.
    """
    full = ALIASES.get(name, name)
    if full not in choices:
        raise ValueError(f"unknown name {name!r}: choose one of {', '.join(choices)}")
    return full


def device_name(name: str) -> str:
    """Validate the name of a device (auto, cpu, cuda or cuda:N) and return it. Raises
    ValueError.
    """
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError(f"{name!r} is not one of auto, cpu, cuda, cuda:N")
    return name
