"""Systems to compare: functions from pairs and their languages to scores.

A system returns ``(n,)`` numbers, higher for better pairs. A system that decides returns 1 for the
pairs it keeps and 0 for others. One that is not installed, or does not work, raises `Missing`.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.filtering.noise import Pair
from benchmarks.report import PROGRAM
from miner import Encoder, MinerError
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.scoring.margin import margin_score, neighborhood_mean
from miner.scoring.verifier import Verifier

# Function of n pairs and their languages ("de-en") that returns their scores, (n,).
Score = Callable[[Sequence[Pair], str], np.ndarray]
NEIGHBOURS = 4
# Maximum seconds of a command on one set.
LIMIT = 3_600
MINER = shlex.join(PROGRAM)


class Missing(MinerError):
    """A system is not installed or does not work; the message has the reason."""


@dataclass(frozen=True)
class System:
    """Row of the tables. ``decides``: the system gives decisions instead of scores."""

    score: Score
    decides: bool = False


class Baselines:
    """Single features of a pair, by the model that ships."""

    def __init__(self, threads: int):
        self.encoder = Encoder.load("default", threads)
        self.verifier = Verifier(self.encoder)

    def table(self) -> dict[str, System]:
        return {
            "length ratio": System(length_ratio),
            "cosine": System(self.cosine),
            "ratio margin": System(self.margin),
            "second look, alone": System(self.pair_features),
        }

    def cosine(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        source, target = (self.encoder.encode(side) for side in sides(pairs))
        return np.einsum("nd,nd->n", source, target)

    def margin(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        """Ratio margin (A19), with neighbours among the distinct sentences of the set itself."""
        texts = sides(pairs)
        distinct = [list(dict.fromkeys(side)) for side in texts]
        rows = []
        for side, once in zip(texts, distinct, strict=True):
            number = {text: row for row, text in enumerate(once)}
            rows.append([number[text] for text in side])
        vectors = [self.encoder.encode(side) for side in distinct]
        # Sentences without a known piece have zero vectors and are left out of the search.
        source, target = (VectorSet(side, np.flatnonzero(side.any(axis=1))) for side in vectors)
        settings = SearchSettings(
            k=NEIGHBOURS, exact=True, device="cpu", threads=self.encoder.threads
        )
        near = nearest_both(source, target, settings)
        forward, backward = (
            neighborhood_mean(found)[row] for found, row in zip(near, rows, strict=True)
        )
        cosine = np.einsum("nd,nd->n", vectors[0][rows[0]], vectors[1][rows[1]])
        return margin_score(cosine, forward, backward)

    def pair_features(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        """Return the logit of the verifier's pair features, without context features."""
        source, target = (self.verifier.tokenize_text(side) for side in sides(pairs))
        rows = np.arange(len(pairs))
        return self.verifier.pair_function.logit(
            self.verifier.tokens.pair_features(source, target, rows, rows)
        )


def length_ratio(pairs: Sequence[Pair], languages: str) -> np.ndarray:
    """Return the length ratio in characters, shorter by longer side, 0 to 1."""
    lengths = np.array([[len(side) for side in pair] for pair in pairs]).reshape(-1, 2)
    return lengths.min(axis=1) / np.maximum(lengths.max(axis=1), 1)


# Cut at an estimated precision.
PRECISE = "miner filter --target-precision 0.9"


class Ours:
    """``miner score`` and ``miner filter`` as commands, with default settings but ``options``."""

    def __init__(self, command: str, options: Sequence[str] = ()):
        self.command, self.options = shlex.split(command), options

    def table(self) -> dict[str, System]:
        precise = Ours(shlex.join(self.command), PRECISE.split()[2:])
        return {
            "miner score": System(self.score),
            "miner filter": System(self.filter, decides=True),
            PRECISE: System(precise.filter, decides=True),
        }

    def score(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        with tempfile.TemporaryDirectory(prefix="score-") as work:
            path = write(Path(work) / "pairs.tsv", pairs)
            columns = "--scol", "1", "--tcol", "2", "--score-only"
            return numbers(self._run("score", path, languages, *columns), len(pairs))

    def filter(self, pairs: Sequence[Pair], languages: str) -> np.ndarray:
        with tempfile.TemporaryDirectory(prefix="filter-") as work:
            path = write(Path(work) / "pairs.tsv", pairs)
            clean = Path(work) / "clean.tsv"
            self._run("filter", path, languages, "--scol", "1", "--tcol", "2", "-o", str(clean))
            return listed(clean.read_text(encoding="utf-8"), len(pairs))

    def _run(self, name: str, path: Path, languages: str, *options: str) -> str:
        source, target = languages.split("-")
        between = "--source-lang", source, "--target-lang", target
        return run([*self.command, name, str(path), *between, *self.options, *options])


def run(command: Sequence[str], given: str | None = None) -> str:
    """Return the output of a command. Raises `Missing` with the last line of its error."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT,
        )
    except FileNotFoundError:
        raise Missing(f"no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"took more than {LIMIT} s") from None
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    return done.stdout


def write(path: Path, pairs: Sequence[Pair]) -> Path:
    """Write source, target and number of each pair as TSV."""
    lines = (f"{source}\t{target}\t{row}\n" for row, (source, target) in enumerate(pairs))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def numbers(text: str, count: int) -> np.ndarray:
    """Parse one number a line, as many as there are pairs."""
    values = np.array([float(line) for line in text.splitlines()])
    if len(values) != count:
        raise Missing(f"it gave {len(values)} scores for {count} pairs")
    if np.isnan(values).any():
        raise Missing("a score is not a number")
    return values


def listed(text: str, count: int) -> np.ndarray:
    """Return 1 for pairs whose line of :func:`write` is in the text, else 0."""
    rows = [int(line.split("\t")[2]) for line in text.removesuffix("\n").split("\n") if line]
    kept = np.zeros(count)
    kept[rows] = 1
    return kept


def sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [source for source, _ in pairs], [target for _, target in pairs]
