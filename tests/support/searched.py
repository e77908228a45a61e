"""Searches with a checkpoint, killed and grown at will."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miner.knn.search_checkpoint import Checkpoint

from miner.knn import engines, knn_search
from miner.knn import search_checkpoint as checkpoints
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import VectorSet
from support.sides import nearest, realistic, side

N, M, D, K, BLOCK = 250, 300, 16, 3, 100
VECTORS = realistic(np.random.default_rng(31), 2 * N, 2 * M, D)
Searched = tuple[Neighbors, Neighbors]


class Searches:
    """Searches with a checkpoint at ``path``, written after every block."""

    def __init__(self, path: Path):
        self.path, self.notes, self.cells = path, [], []  # type: ignore[var-annotated]

    def sides(self, n: int, m: int) -> tuple[VectorSet, VectorSet]:
        """The first rows of two sides."""
        return side(VECTORS[0][:n]), side(VECTORS[1][:m])

    def __call__(
        self, n: int = N, m: int = M, *, kind: str = "int8", k: int = K, kill: int | None = None,
        keep: bool = True, sides: tuple[VectorSet, VectorSet] | None = None, **wishes: Any,
    ) -> Searched:  # fmt: skip
        """Search; ``kill`` interrupts the block after so many. Sets ``cells`` and ``notes``."""
        self.notes, self.cells = [], []
        reports = iter(range(-1, 1 << 20))

        def report(stage: str, done: int, total: int | None) -> None:
            if kill is not None and next(reports) >= kill:
                raise KeyboardInterrupt

        checkpoint = Checkpoint(self.path, keep=keep, note=self.notes.append)
        found = nearest(
            kind, *(sides or self.sides(n, m)), k, report=report, checkpoint=checkpoint, **wishes
        )
        checkpoint.close()
        return found

    def killed(self, n: int = N, m: int = M, *, kill: int, **wishes: Any) -> None:
        with pytest.raises(KeyboardInterrupt):
            self(n, m, kill=kill, **wishes)

    def scratch(self, n: int = N, m: int = M, kind: str = "int8", k: int = K) -> Searched:
        return nearest(kind, *self.sides(n, m), k)


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Searches:
    made = Searches(tmp_path / "checkpoint.h5")
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(knn_search, "BLOCK", BLOCK)
    for engine in (engines.Int8Engine, engines.Float32Engine, engines.FaissEngine):

        def merge(
            self: Any, rows: Any, s: int, columns: Any, t: int, lists: Any,
            original: Callable[..., None] = engine.merge,
        ) -> None:  # fmt: skip
            made.cells.append(
                np.prod([getattr(part, "count", None) or len(part) for part in (rows, columns)])
            )
            original(self, rows, s, columns, t, lists)

        monkeypatch.setattr(engine, "merge", merge)
    return made


def alone(path: Path) -> bool:
    """Check that the directory holds nothing beside the checkpoint."""
    return [entry.name for entry in path.parent.iterdir()] == [path.name]
