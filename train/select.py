"""Which pairs of a bitext to train on, and what its further columns say of them."""

from collections.abc import Sequence

import numpy as np

from miner.errors import CorpusError
from miner.records import display_name


def labels(column: Sequence[str], origin: str, lines: np.ndarray) -> np.ndarray:
    """A column that says which pairs are translations or paraphrases (S18): ``(n,) bool``.

    1 is a pair and 0 is none, and nothing else will do: a score is not a label before somebody
    chooses a threshold.
    """
    values = {"1": True, "0": False, "1.0": True, "0.0": False}
    out = np.empty(len(column), dtype=bool)
    for i, text in enumerate(column):
        found = values.get(text.strip())
        if found is None:
            raise CorpusError(
                f"{display_name(origin)}, line {lines[i]}: the label {text!r} is neither 1 nor 0; "
                "mend the line or choose another column"
            )
        out[i] = found
    return out


def cut(count: int, share: float, scores: np.ndarray | None = None) -> np.ndarray:
    """Rows of the best ``share`` of ``count`` pairs, ascending: ``(m,) int64``.

    The best have the highest ``scores (n,)``, and of equal ones the first; without scores the text
    is taken to be ranked already, as that of S18 is, and the first are the best. At least one row
    is kept of any.
    """
    keep = min(count, max(1, round(count * share)))
    if scores is None:
        return np.arange(keep)
    return np.sort(np.argsort(-scores, kind="stable")[:keep])


def draw(count: int, sample: int, seed: int) -> np.ndarray:
    """``sample`` rows of ``count`` by chance, ascending: ``(m,) int64``.

    All rows where there are no more, or where ``sample`` is 0.
    """
    if sample == 0 or sample >= count:
        return np.arange(count)
    generator = np.random.default_rng([seed, 7])
    return np.sort(generator.choice(count, size=sample, replace=False))
