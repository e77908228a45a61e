"""Run other filters as commands of another environment, because they need other versions.

docs/results/filtering.md has the commands that make this environment. bicleaner-hardrules pins
packages that no longer build, so it is installed without its pins. It runs without
identification of languages: that model would have to be downloaded.
"""

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering.noise import Pair
from benchmarks.filtering.systems import Missing, System, numbers, run

SCRIPT = Path(__file__).parent / "opusfilter_scores.py"
PACKAGES = ("opusfilter", "lingua-language-detector", "bicleaner-hardrules")
# Default filters of OpusFilter whose scores rank pairs; the others only find odd pairs.
RANKING = (
    "LengthRatioFilter, char",
    "TerminalPunctuationFilter",
    "NonZeroNumeralsFilter",
    "LongestCommonSubstringFilter",
    "SimilarityFilter",
    "AlphabetRatioFilter",
    "LinguaFilter",
)
NOT_GIVEN = "no --peers"


class Peers:
    """OpusFilter and bicleaner-hardrules in the environment of the interpreter ``python``."""

    def __init__(self, python: Path | None):
        self.python = python
        # All filters score a set in one run, because its language identification is slow.
        self._opusfilter = lru_cache(maxsize=None)(self._run_opusfilter)

    def table(self) -> dict[str, System]:
        found = {f"OpusFilter {name}": System(partial(self.opus_score, name)) for name in RANKING}
        return {
            **found,
            "OpusFilter, all default filters": System(self.opus_decision, decides=True),
            "bicleaner-hardrules, no language id": System(self.hardrules, decides=True),
        }

    def opus_score(self, name: str, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        found = self._opusfilter(tuple(pairs), languages)
        if name not in found:
            raise Missing(f"this OpusFilter has no {name} among its default filters")
        return np.array(found[name]["scores"])

    def opus_decision(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        """Return 1 for pairs that every default filter accepts, else 0."""
        found = self._opusfilter(tuple(pairs), languages)
        return np.min([one["accepted"] for one in found.values()], axis=0).astype(np.float64)

    def hardrules(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        """Return 1 for pairs that its rules keep, else 0. Rules that need other models are off."""
        command = hardrules_command(self._python(), languages, 1)
        return numbers(run([*command, "--score_only"], tsv(pairs)), len(pairs))

    def versions(self) -> dict[str, str]:
        """Return the versions of the filters in that environment."""
        if self.python is None:
            return {}
        program = """
import importlib.metadata as metadata, json
print(json.dumps({one.name: one.version for one in metadata.distributions()}))
"""
        found = json.loads(run([str(self.python), "-c", program]))
        return {name: found[name] for name in PACKAGES if name in found}

    def _run_opusfilter(self, pairs: tuple[Pair, ...], languages: str) -> dict[str, Any]:
        command = [str(self._python()), "-I", str(SCRIPT), *languages.split("-")]
        return {one["name"]: one for one in json.loads(run(command, tsv(pairs)))}

    def _python(self) -> Path:
        if self.python is None:
            raise Missing(NOT_GIVEN)
        return self.python


def hardrules_command(python: Path, languages: str, processes: int) -> list[str]:
    """Return a command that reads and writes pairs as TSV."""
    off = "--disable_lang_ident", "--disable_lm_filter", "--disable_porn_removal"
    source, target = languages.split("-")
    options = "-s", source, "-t", target, "-p", str(processes), "-q"
    return [str(python.parent / "bicleaner-hardrules"), "-", "-", *options, *off]


def tsv(pairs: Sequence[Pair]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)
