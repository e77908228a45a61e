"""Sentences to measure speed on, and their vectors in any dimension."""

from pathlib import Path

import numpy as np

from miner import MinerError
from miner.text.bitext import read_bitext

SEED = 1


def sides(data: Path, pair: str) -> tuple[list[str], list[str]]:
    """Return the distinct sentences of each side of all training text of ``pair``, shuffled.

    Sides are shuffled separately, so the first n of both are not parallel: the number of
    translations among them grows with n, as in samples of a corpus.
    """
    files = sorted((data / "train" / pair).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / pair}: no training text (*.tsv, compressed or not)")
    distinct: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for file in files:
        bitext = read_bitext(file)
        distinct[0].update(dict.fromkeys(bitext.source))
        distinct[1].update(dict.fromkeys(bitext.target))
    generator = np.random.default_rng(SEED)
    source, target = (_shuffled(list(texts), generator) for texts in distinct)
    return source, target


def _shuffled(texts: list[str], generator: np.random.Generator) -> list[str]:
    return [texts[place] for place in generator.permutation(len(texts)).tolist()]


def write(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def read(path: str | Path, count: int) -> list[str]:
    """Read the first ``count`` lines of a file of :func:`write`."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line[:-1] for line, _ in zip(file, range(count), strict=False)]


def resized(vectors: tuple[np.ndarray, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of two sides in ``d`` dimensions, unit rows ``(n, d) float16``.

    Fewer dimensions: projected to the ``d`` principal components of both sides, not centred, which
    changes cosines least. More: embedded in a random subspace, which keeps all cosines.
    """
    old = vectors[0].shape[1]
    if d < old:
        moments = sum(side.T.astype(np.float64) @ side.astype(np.float64) for side in vectors)
        matrix = np.linalg.eigh(moments)[1][:, ::-1][:, :d]
    else:
        matrix = np.linalg.qr(np.random.default_rng(SEED).normal(size=(d, old)))[0].T
    source, target = (_unit(side @ matrix.astype(np.float32)) for side in vectors)
    return source, target


def _unit(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(norms, 1e-9)).astype(np.float16)
