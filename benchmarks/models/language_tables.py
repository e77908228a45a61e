"""Tables of `results/languages.json`."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from miner.text.language_codes import ENGLISH, describe

TESTS = ("Tatoeba", "news", "games")
# Facts about the default filter, if measured, and their columns.
FILTERING = {"right_dropped": "right pairs dropped", "wrong_kept": "wrong pairs kept"}
# Recommended use of each level of a language.
GOOD_FOR = {
    "good": "mining and filtering",
    "fair": "mining with verification; read a sample",
    "weak": "little: train on more text, or use another encoder",
}
# Texts of the model that ships, by kind.
KINDS = {
    "machine-translated": "mdn-mt",
    "everyday": "tatoeba tatoeba-test tatoeba-pivot tatoeba-decks tatoeba-test-latin "
    "tatoeba-decks-latin chat cocoa-mt",
    "interface": "mozilla firefox thunderbird godot-editor dspace kolibri chromium libreoffice-ui "
    "homeassistant homeassistant-frontend matrix-react-sdk indico inaturalist subversion "
    "mozilla-www-ftl",
    "law": "canada-laws mozilla-legal",
    "verse": "bible bible-pd bible-cc",
    "stories": "storybooks cataclysm-dda cataclysm-dda-br renpy",
    "prose": "globalvoices xquad mt-geneval mlqe-pe-postedit indian-wikipedia korean-news un-sdg "
    "privacyguides bitcoin-org monero-site mozilla-org mozilla-www opensource-guide ethereum "
    "scratch-www",
    "documentation": "php gnome gnome-docs gnome-help django djangogirls react react-dev "
    "react-legacy rust rust-book comprehensive-rust python python-docs kubernetes postgresql "
    "msdocs-project-operations tldr jupyterlab libreoffice-help libreoffice-help-br vue-docs "
    "astro-docs hf-course d2l-vn",
    "small sources": "small small-4",
}
OTHER = "other"
# Kinds with a smaller share of a language's text are not named.
NAMED = 0.05


def rows(results: dict[str, Any]) -> list[str]:
    """Return the table of all languages, by training pairs, most first."""
    languages = results["languages"]
    mined = mining(results["fingerprint"])
    measured = any(one.get("wrong_kept") is not None for one in languages.values())
    filtering = FILTERING if measured else {}
    lines = []
    for code in sorted(languages, key=lambda code: (-languages[code]["pairs"], code)):
        one = languages[code]
        if code == ENGLISH:
            continue
        figures = (
            f"{one['accuracy'][name]:.3f}" if name in one["accuracy"] else "–" for name in TESTS
        )
        lines.append(
            (
                describe(code),
                f"{one['pairs']:,}",
                kinds(one["text"]),
                *figures,
                f"{mined[code]:.3f}" if code in mined else "–",
                *("–" if one.get(name) is None else f"{one[name]:.1%}" for name in filtering),
                f"{one['level']}: {GOOD_FOR[one['level']]}",
            )
        )
    columns = (
        "language",
        "pairs",
        "kinds of text",
        *TESTS,
        "mining F1",
        *filtering.values(),
        "good for",
    )
    return table(columns, lines)


def kinds(text: dict[str, int]) -> str:
    """Name the kinds of a language's text with their shares, the largest first."""
    kind_of = {name: kind for kind, names in KINDS.items() for name in names.split()}
    found: Counter[str] = Counter()
    for name, pairs in text.items():
        found[kind_of.get(name, OTHER)] += pairs
    named = [(kind, pairs / found.total()) for kind, pairs in found.most_common()]
    return ", ".join(f"{kind} {share:.0%}" for kind, share in named if share >= NAMED)


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
