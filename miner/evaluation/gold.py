"""Files of mined pairs and of gold pairs, and an explanation if none of them match."""

import math
import os
from collections.abc import Hashable, Iterable, Iterator

from miner.errors import CorpusError
from miner.evaluation.labelled_text import tab_rows
from miner.evaluation.metrics import Evaluation, IdPair, ScoredIds
from miner.text.bitext import number_in
from miner.text_table import quoted

# Share of the pairs from which a threshold counts as the lower end of the scores.
NEARLY = 0.98


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[float, str, str]]:
    """Read a file of ``score, source_id, target_id`` lines (tab-separated), in file order.

    Raises CorpusError with file and line where a line does not have three non-empty columns or its
    score is not a number.
    """
    pairs = []
    for line, (text, source, target) in _columns(path, ("score", "source_id", "target_id")):
        score = number_in(text)
        if math.isnan(score):
            raise CorpusError(
                f"{os.fspath(path)}, line {line}: the score {quoted(text, 40)} is not a number"
            )
        pairs.append((score, source, target))
    return pairs


def read_gold(path: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """Read a gold file of ``source_id, target_id`` lines (tab-separated); duplicates collapse.

    Raises CorpusError with file and line where a line does not have two non-empty columns.
    """
    return {(source, target) for _, (source, target) in _columns(path, ("source_id", "target_id"))}


def explain_mismatch(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> str | None:
    """Explain in one line why no pair is in the gold; None if nothing looks wrong.

    Detects the two usual mistakes: source and target are swapped, or the pairs (or the gold) hold
    text or other ids. A poor result with ids of the gold is not a mismatch.
    """
    proposed = {(source, target) for _, source, target in pairs}
    expected = frozenset(gold)
    if not proposed or not expected or not proposed.isdisjoint(expected):
        return None
    sources, targets = {s for s, _ in proposed}, {t for _, t in proposed}
    gold_sources, gold_targets = {s for s, _ in expected}, {t for _, t in expected}
    reversed_hits = sum((target, source) in expected for source, target in proposed)
    source_known = not sources.isdisjoint(gold_sources)
    target_known = not targets.isdisjoint(gold_targets)
    crossed = not (sources.isdisjoint(gold_targets) and targets.isdisjoint(gold_sources))
    if reversed_hits or (crossed and not source_known and not target_known):
        return (
            "no proposed pair is in the gold, but their ids are, the other way round "
            f"({reversed_hits} whole pairs): source and target look swapped"
        )
    for side, known, ids, gold_ids in (
        ("source", source_known, sources, gold_sources),
        ("target", target_known, targets, gold_targets),
    ):
        if not known:
            return (
                f"none of the {len(ids)} proposed {side} ids is in the gold "
                f"({_example(ids)}, where the gold has {_example(gold_ids)}): "
                "are the pairs text, or ids of another corpus?"
            )
    return None


def never_proposed(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> int:
    """Count the gold pairs with a source or a target that is in no proposed pair.

    They are misses at any threshold: the corpus lacks them, or they were cut off.
    """
    sides = [set(side) for side in zip(*((s, t) for _, s, t in pairs), strict=True)] or [set()] * 2
    return sum(source not in sides[0] or target not in sides[1] for source, target in set(gold))


def keeps_nearly_all(pairs: Iterable[ScoredIds], best: Evaluation) -> bool:
    """Return True if the best threshold is at the lower end of the scores.

    Pairs below, if they were cut off, might have raised F1 further.
    """
    number = len({(source, target) for _, source, target in pairs})
    return number > 0 and best.proposed >= NEARLY * number


def _columns(
    path: str | os.PathLike[str], names: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and columns of each non-empty line. Raises CorpusError for a wrong
    number of columns.
    """
    for line, columns in tab_rows(path):
        if len(columns) != len(names) or not all(columns):
            remedy = "; 'miner search --ids' writes such lines" if len(names) == 3 else ""
            text = quoted("\t".join(columns), 40)
            raise CorpusError(
                f"{os.fspath(path)}, line {line}: expected {len(names)} tab-separated columns "
                f"({', '.join(names)}), found {text}{remedy}"
            )
        yield line, columns


def _example(ids: set[Hashable]) -> str:
    """Return an example id; the smallest as text, so that the message is deterministic."""
    return quoted(min(map(str, ids)), 40)
