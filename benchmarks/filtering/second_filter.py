"""Share of right and of wrong pairs that the quality keeps, with and without a second opinion.

Tatoeba in languages that the model knows badly: right pairs, the same sources with a random target
(shuffled), and with their nearest other target (neighbours), by the bound of each language.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.filtering.quality_bounds import wrong_pairs
from benchmarks.markdown import table
from miner import Encoder, filter
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.evaluation.labelled_text import find_file
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH, describe

LANGUAGES = ("he", "fa", "th", "ar", "ta", "vi", "sr", "id", "el", "ko", "bn", "hi")
ROWS = 300
# Calibrated quality of a pair that is as likely right as wrong.
SURE = 0.5
KINDS = ("right", "shuffled", "neighbours")


def measured(
    encoder: Encoder, data: Path, language: str, second: SentenceEncoder | None
) -> dict[str, Any]:
    """Filter the pairs of a language; return the share of each kind that is kept, and the bound."""
    path = find_file(data / "tatoeba", f"{language}-{ENGLISH}.tsv")
    assert path is not None, f"no Tatoeba of {language}"
    read = read_bitext(str(path))
    right = read.source[:ROWS], read.target[:ROWS]
    kinds = {"right": right, **wrong_pairs(encoder, {language: right}, ROWS)}
    cells = [
        {"source": source, "target": target, "kind": kind}
        for kind in KINDS
        for source, target in zip(*kinds[kind], strict=True)
    ]
    notes: list[str] = []
    found = filter(
        cells,
        filters=["quality"],
        languages=(language, ENGLISH),
        second=second,
        all_scores=True,
        note=notes.append,
    )
    kept = [row["kind"] for row in found]
    quality = found.scores.columns()["quality"]
    sure = [row["kind"] for row, one in zip(cells, quality, strict=True) if one >= SURE]
    row = {
        "task": "filter",
        "language": language,
        "second": second and Path(second.name).name,
        "bound": float(found.summary.stages[0].bounds.split()[1]),
        "pairs": {kind: len(kinds[kind][0]) for kind in KINDS},
        "kept": {kind: kept.count(kind) for kind in KINDS},
        f"of {SURE} or more": {kind: sure.count(kind) for kind in KINDS},
    }
    if said := [note for note in notes if note.startswith("second opinion: ")]:
        row["read"] = said[0].partition(": ")[2]
    return row


def lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the languages: without and with a second opinion."""
    cells = []
    for language in LANGUAGES:
        both = [row for row in rows if row["language"] == language]
        alone, second = (
            next((row for row in both if bool(row["second"]) == asked), None)
            for asked in (False, True)
        )
        if alone and second:
            columns = (
                ("kept", "right", True),
                ("kept", "shuffled", False),
                ("kept", "neighbours", False),
                (f"of {SURE} or more", "right", True),
                (f"of {SURE} or more", "shuffled", False),
                (f"of {SURE} or more", "neighbours", False),
            )
            shares = (
                " → ".join(share(row, *column) for row in (alone, second)) for column in columns
            )
            cells.append((describe(language), f"{alone['bound']:g}", *shares))
    names = "right dropped", "shuffled kept", "neighbours kept"
    return table(("language", "bound", *names, *(f"{name} at {SURE}" for name in names)), cells)


def share(row: dict[str, Any], how: str, kind: str, dropped: bool) -> str:
    """Return the share of a kind of pairs that is kept, or dropped."""
    kept = row[how][kind] / row["pairs"][kind]
    return f"{1 - kept if dropped else kept:.1%}"
