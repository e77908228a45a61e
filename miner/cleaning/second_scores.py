"""Second opinion on the rows of a bitext: pairs of doubtful quality are read by another encoder.

A task per text chooses them, others encode their sentences, and the rows get the quality by both
opinions. Margins compare the doubtful pairs of the whole text in the same languages, so that no
score depends on how the text is cut.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from miner.cleaning.bitexts import Piece
from miner.cleaning.scorers import Scoring, repaired
from miner.cleaning.stages import SCORES
from miner.encoder.model_files import known_by
from miner.errors import ArtifactError
from miner.option_values import SIDES
from miner.scoring.languages import languages_by_row
from miner.scoring.logistic import log_odds
from miner.scoring.number_agreement import contradict
from miner.scoring.second_opinion import doubt_limit, in_doubt, of_both, standard_margins
from miner.scoring.second_reading import (
    Asked,
    Doubted,
    KeptText,
    SecondReader,
    joined,
    read_all,
    seconds_of,
)
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, fingerprint, hints
from miner.text.language_codes import ENGLISH, SEVERAL

# Name of the filter whose scores are qualities.
QUALITY = "quality"


class Rated(NamedTuple):
    """Text whose pieces a quality has scored, with the tasks that scored them."""

    pieces: list[Piece]
    scoring: Scoring
    tasks: list[Result]


def both_opinions(run: Run, texts: Sequence[Rated], reader: SecondReader) -> list[Rated]:
    """Register a second opinion on texts; return them with the scores by both.

    Waits for it, and reports the cost. Raises ArtifactError without a quality.
    """
    if not all(map(_columns, (text.scoring for text in texts))):
        raise ArtifactError(
            "a second opinion is about the quality, which is not among the scores; add quality"
        )
    sizes = [float(sum(piece.rows for piece in text.pieces)) for text in texts]
    doubts = [
        run.task("doubt", doubt, f"{number:04}", units=size, reader=reader, **text._asdict())
        for number, (text, size) in enumerate(zip(texts, sizes, strict=True))
    ]
    run.wait()
    combined, judges = [], []
    every: dict[str, list[Result]] = {}
    for number, (text, result) in enumerate(zip(texts, doubts, strict=True)):
        digest = fingerprint(doubt, {"pieces": text.pieces, "repair": text.scoring.repair})
        sides = {
            name: Doubted(KeptText(result, f"{name}.json", name), digest, model)
            for name, model in zip(SIDES, reader.models, strict=True)
        }
        vectors = read_all(run, result, sides, f"{number:04}-")
        every.update({f"{number} {name}": tasks for name, tasks in vectors.items()})
        size = float(result.value["pairs"])
        judged = run.task(
            "judge", judge, f"{number:04}", units=size, rows=size, doubts=result, vectors=vectors
        )
        calls = {
            piece.name: Call(
                {"rated": task, "first": piece.first - text.pieces[0].first}, float(piece.rows)
            )
            for piece, task in zip(text.pieces, text.tasks, strict=True)
        }
        judges.append(judged)
        columns = _columns(text.scoring)
        both = run.stage("both", combine, calls, judged=judged, columns=columns)
        combined.append(text._replace(tasks=both))
    run.wait()
    pairs, read = (sum(result.value[name] for result in doubts) for name in ("pairs", "sentences"))
    run.note(f"second opinion: {Asked(pairs, read, int(2 * sum(sizes)), seconds_of(every))}")
    if pairs and not any(result.value["judged"] for result in judges):
        run.note("warning: too few pairs are in doubt for a second opinion: it was not used")
    return combined


def _columns(scoring: Scoring) -> list[int]:
    """Return the positions of qualities among the scores."""
    return [column for column, step in enumerate(scoring.steps) if step.name == QUALITY]


@hints(seconds=1e-6, memory=2)
def doubt(
    job: Job, pieces: list[Piece], scoring: Scoring, tasks: list[Result], reader: SecondReader
) -> dict[str, Any]:
    """Choose the most doubtful rows of a text; keep their distinct sentences.

    At most ``reader.most`` rows. ``tasks`` have scored the pieces. Pairs with contradicting numbers
    are not doubtful.
    """
    qualities = [task.array("scores")["score"][:, _columns(scoring)] for task in tasks]
    limit = doubt_limit(
        np.concatenate([_most_doubtful(values) for values in qualities]), reader.most
    )
    texts: tuple[list[str], list[str]] = [], []
    rows: list[int] = []
    for piece, quality in zip(pieces, qualities, strict=True):
        near = np.abs(log_odds(quality)) < limit
        chosen = np.flatnonzero((in_doubt(quality) & near).any(axis=1))
        with piece.opened(scoring.columns) as opened:
            for row, block in zip(chosen.tolist(), opened.chosen(chosen), strict=True):
                seen = repaired(opened.layout.texts(block), scoring.repair)
                if not contradict(seen.source[0], seen.target[0]):
                    rows.append(piece.first - pieces[0].first + row)
                    texts[0].append(seen.source[0])
                    texts[1].append(seen.target[0])
    sentences = 0
    for name, side_texts in zip(SIDES, texts, strict=True):
        first: dict[str, int] = {}
        places = [first.setdefault(text, row) for text, row in zip(side_texts, rows, strict=True)]
        job.save(**{name: _numbers(first.values()), f"{name}-of": _numbers(places)})
        (job.out / f"{name}.json").write_text(json.dumps([*first]), encoding="utf-8")
        sentences += len(first)
    job.save(rows=_numbers(rows), group=_groups(scoring, texts))
    return {"pairs": len(rows), "sentences": sentences}


def _most_doubtful(quality: np.ndarray) -> np.ndarray:
    """Return the quality nearest to 0.5 of each row ``(n, columns)`` in doubt, ``(m,) float64``."""
    some = quality[in_doubt(quality).any(axis=1)]
    nearest = np.abs(np.where(in_doubt(some), some, np.inf) - 0.5).argmin(axis=1)
    return np.take_along_axis(some, nearest[:, None], axis=1)[:, 0]


def _numbers(values: Any) -> np.ndarray:
    return np.array([*values], dtype=np.int64)


def _groups(scoring: Scoring, texts: tuple[list[str], list[str]]) -> np.ndarray:
    """Number the pairs of languages of rows ``(m,) int64``: all 0 unless a side has several."""
    likely = scoring.context.likely
    if SEVERAL not in likely:
        return np.zeros(len(texts[0]), dtype=np.int64)
    known = {ENGLISH, *known_by(scoring.context.encoder)}
    source, target = (
        languages_by_row(side_texts, known) if code == SEVERAL else [code] * len(side_texts)
        for side_texts, code in zip(texts, likely, strict=True)
    )
    numbers: dict[tuple[str | None, str | None], int] = {}
    return _numbers(
        numbers.setdefault(both, len(numbers)) for both in zip(source, target, strict=True)
    )


@hints(seconds=1e-4, memory=8000)
def judge(job: Job, doubts: Result, vectors: dict[str, list[Result]]) -> dict[str, Any]:
    """Compute the margins of the doubtful rows, by groups; NaN if a group is too small."""
    source_vectors, target_vectors = joined(vectors).values()
    source, target = (
        np.searchsorted(doubts.array(name), doubts.array(f"{name}-of")) for name in SIDES
    )
    group = doubts.array("group")
    margin = np.full(len(group), np.nan)
    for number in np.unique(group).tolist():
        some = np.flatnonzero(group == number)
        sides = source_vectors, target_vectors, source[some], target[some]
        margin[some] = standard_margins(*sides, threads=job.threads, memory=job.memory)
    job.save(rows=np.asarray(doubts.array("rows")), margin=margin)
    return {"judged": int(np.count_nonzero(~np.isnan(margin)))}


@hints(seconds=1e-6, memory=20)
def combine(
    job: Job, rated: Result, first: int, judged: Result, columns: list[int]
) -> dict[str, Any]:
    """Copy the scores of a piece from row ``first`` on, with the quality by both opinions."""
    table = np.array(rated.array("scores"))
    rows, margin = judged.array("rows"), judged.array("margin")
    some = slice(*np.searchsorted(rows, (first, first + len(table))))
    for column in columns:
        quality = table["score"][rows[some] - first, column]
        table["score"][rows[some] - first, column] = of_both(quality, margin[some])
    np.save(job.out / SCORES, table)
    return {"seconds": rated.value["seconds"]}
