"""Results of a filter run, and the stages that compare all pairs."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from miner.cleaning import comparing
from miner.cleaning.bitexts import Piece
from miner.cleaning.clean_sample import SampleBounds
from miner.cleaning.comparing import PieceScores, comparison_of
from miner.cleaning.config import FilterConfig
from miner.cleaning.decide import Cleaned, FunnelRow, choose
from miner.cleaning.funnel import FilterSummary, merged
from miner.cleaning.outputs import Outputs
from miner.cleaning.settings import Selection
from miner.filters.filter_types import GLOBAL
from miner.tasks.run import Call, Run
from miner.tasks.task import Result

# Pairs whose keys one task compares.
PARTITION = 1 << 20


def calls_of(
    pieces: Sequence[Piece], prefix: str = "", /, **of_each: Sequence[Any]
) -> dict[str, Call]:
    """Return a task for each piece; ``of_each``: arguments with one value per piece.

    The piece itself is an argument, unless its scores hold it.
    """
    calls = {}
    for number, piece in enumerate(pieces):
        arguments = {name: values[number] for name, values in of_each.items()}
        if "scores" not in arguments:
            arguments["piece"] = piece
        calls[f"{prefix}{piece.name}"] = Call(arguments, float(piece.rows), float(piece.rows))
    return calls


@dataclass
class Filtered:
    """Filtered text: the results of the tasks for each of its ``pieces``.

    ``header``: the first row is line 2. ``outputs``: the files written; ``warnings``: lines about
    the languages of the text; ``fitted``: bounds from a clean sample.
    """

    run: Run
    config: FilterConfig
    selection: Selection
    pieces: list[Piece]
    checked: list[Result]
    rated: list[Result]
    header: bool
    written: list[Result] = field(default_factory=list)
    outputs: Sequence[Outputs] = ()
    warnings: tuple[str, ...] = ()
    fitted: SampleBounds | None = None

    @property
    def summary(self) -> FilterSummary:
        parts = []
        for result in self.written:
            counts = result.value
            steps = tuple(FunnelRow(**stage) for stage in counts["stages"])
            parts.append(FilterSummary(**(counts | {"stages": steps})))
        labels = [step.label for step in self.config.steps]
        return merged(parts, [*labels, *(label for label, _ in self.selection.limits)])

    def compared(self, config: FilterConfig, prefix: str = "") -> list[PieceScores]:
        """Register the stages that compare all pairs; return the future scores of each piece.

        ``config`` may have other bounds of the same filters; a ``prefix`` then distinguishes the
        tasks.
        """
        run, pieces = self.run, self.pieces
        alone = [step for step in config.steps if step.filter.stage != GLOBAL]
        scores = [
            PieceScores(
                piece,
                dataclasses.replace(config, steps=tuple(alone)),
                self.checked[number],
                self.rated[number] if self.rated else None,
            )
            for number, piece in enumerate(pieces)
        ]
        total = sum(piece.rows for piece in pieces)
        for level, bounded in enumerate(config.stage(GLOBAL)):
            step, name = bounded.unbounded, f"{prefix}{level}"
            by = comparison_of(step, config).by
            count = max(1, -(-total // PARTITION)) if by == "best" else 1
            sent = run.stage(
                "send", comparing.send, calls_of(pieces, f"{name}-", scores=scores), step=step,
                partitions=count,
            )  # fmt: skip
            size = {"units": float(total), "rows": float(total) / count}
            if by == "place":
                results = [run.task("rank", comparing.rank_pairs, name, sent=sent, **size)]
            elif by == "all":
                arguments: dict[str, Any] = {
                    "pieces": pieces,
                    "step": step,
                    "config": scores[0].config,
                }
                results = [
                    run.task("together", comparing.together, name, sent=sent, **arguments, **size)
                ]
            else:
                parts = {
                    f"{name}-{number:04}": Call({"partition": number}, total / count, total / count)
                    for number in range(count)
                }
                results = run.stage("best", comparing.best, parts, sent=sent)
            calls = calls_of(pieces, f"{name}-", scores=scores, sent=sent, index=range(len(pieces)))
            values = run.stage(
                "compare", comparing.compare, calls, step=step, found=results, pieces=pieces,
                checked=self.checked, header=self.header,
            )  # fmt: skip
            scores = [
                dataclasses.replace(
                    piece_scores,
                    config=dataclasses.replace(config, steps=(*piece_scores.config.steps, bounded)),
                    compared=(*piece_scores.compared, value),
                )
                for piece_scores, value in zip(scores, values, strict=True)
            ]
        return scores

    def whole(self) -> Cleaned:
        """Return the decisions on all rows of the text, for a report."""
        cleaned = self._gathered(self.config, "")
        if self.selection.any:
            choose(cleaned, self.selection)
        return cleaned

    def unbounded(self) -> Cleaned:
        """Decide again without a bound on the ranking score, and without a selection.

        A threshold keeps the pairs of this result that reach it: of duplicates the best is kept, so
        a duplicate removed for a pair below the threshold is below it too. This does not hold for
        `relative` filters. Pairs that a cheap bound kept from the expensive filters pass them.
        """
        return self._gathered(self.config.with_bound(None), "free-")

    def _gathered(self, config: FilterConfig, prefix: str) -> Cleaned:
        scores = self.compared(config, prefix)
        gathered = self.run.task("gather", comparing.gather, f"{prefix}all", scores=scores)
        self.run.wait(last=True)
        return comparing.whole(gathered, config)
