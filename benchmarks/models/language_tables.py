"""Tables of `results/languages.json`."""

from collections.abc import Callable
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from miner.encoder.known_languages import GOOD_FOR
from miner.text.language_codes import ENGLISH, describe

TESTS = ("Tatoeba", "news", "games")
# Texts of a language that are named, the largest first.
NAMED = 4


def rows(results: dict[str, Any]) -> list[str]:
    """Return the table of all languages, those with most training pairs first."""
    languages = results["languages"]
    mined = mining(results["fingerprint"])
    lines = []
    for code in sorted(languages, key=lambda code: (-languages[code]["pairs"], code)):
        one = languages[code]
        if code == ENGLISH:
            continue
        text = sorted(one["text"], key=lambda name: (-one["text"][name], name))
        more = f" and {len(text) - NAMED} more" if len(text) > NAMED else ""
        figures = (
            f"{one['accuracy'][name]:.3f}" if name in one["accuracy"] else "–" for name in TESTS
        )
        lines.append(
            (
                describe(code),
                f"{one['pairs']:,}",
                ", ".join(text[:NAMED]) + more,
                *figures,
                f"{mined[code]:.3f}" if code in mined else "–",
                f"{one['level']}: {GOOD_FOR[one['level']]}",
            )
        )
    columns = "language", "pairs", "largest texts", *TESTS, "mining F1", "good for"
    return table(columns, lines)


def mining(fingerprint: str) -> dict[str, float]:
    """Return F1 on the test split of the BUCC-style sets by language, as far as measured."""
    path = report.RESULTS / "bucc.json"
    found = report.read(path.name)["results"] if path.exists() else []
    return {
        row["pair"].split("-")[0]: row["test"]["f1"]
        for row in found
        if row.get("fingerprint") == fingerprint
        and row["settings"]["rank"] == "probability"
        and row["name"] == "default"
    }


def tables(record: dict[str, Any], conditions: Callable[..., str]) -> list[str]:
    """Return the section of docs/results.md."""
    return [
        "Retrieval accuracy: the share of sentences whose nearest sentence of the other side by",
        "ratio margin is their translation, mean of both directions. News and games are no text of",
        "the model's training. *Mining F1*: test split of the BUCC-style",
        "set, ranked by probability.",
        "",
        *rows(record["results"]),
        "",
        conditions(record),
        "",
    ]
