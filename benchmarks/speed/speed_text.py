"""The sentences that speed is measured on, and vectors of them in any dimension."""

from pathlib import Path

import numpy as np

from miner import MinerError
from miner.text.bitext import read_bitext

SEED = 1


def sides(data: Path, pair: str) -> tuple[list[str], list[str]]:
    """The distinct sentences of each side of all training text of ``pair``, each side shuffled.

    The two orders are unlike, so the first n of both sides are no parallel text: how many have
    their translation among them grows with n, as it would when a corpus is sampled.
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
    """The first ``count`` lines of what :func:`write` wrote."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [line[:-1] for line, _ in zip(file, range(count), strict=False)]


def resized(vectors: tuple[np.ndarray, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors ``(n, d) float16`` of two sides, made of theirs in another dimension.

    Fewer dimensions: onto the ``d`` principal directions of both sides together, not centred, so
    that cosines stay as near as they can. More: into a random subspace, which keeps all cosines.
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
