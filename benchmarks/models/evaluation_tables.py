"""The tables of ``results/evaluations.json``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

YEARS = ("2012", "2013", "2014", "2015", "2016")
STSB, SICK, ALL = "stsb.en.test", "sick-r.test", "2012-2016"
# Pearson x 100, as their papers and cards print them.
PUBLISHED = {
    "word+trigram, 51M paraphrases (Wieting & Gimpel 2018)": ((67.8, 62.8, 77.5, 80.3, 78.2), 79.9),
    "static-similarity-mrl-multilingual-v1 (averages, d = 1024)": (
        (78.6, 73.3, 75.6, 82.2, 77.9),
        80.9,
    ),
}
NONE = "–"

# Metrics that a comparison of two models shows; the result has all.
COMPARED = (
    *("pearson", "both ways by margin", "f1 by margin", "f1 by probability"),
    *("accuracy by cosine", "auc by cosine", "auc by margin", "auc by quality"),
)

Found = dict[tuple[str, str], dict[str, Any]]


def figures(row: dict[str, Any], task: str) -> Found:
    """The figures of one model in one evaluation, by set and metric."""
    every = row.get("evaluations", {}).get(task, {"figures": []})["figures"]
    return {(one["set"], one["metric"]): one for one in every}


def main_table(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """One row a model, one column for what counts of each evaluation."""
    rows = _models(record)
    columns = {
        "BUCC de-en": ("bucc", "bucc-style de-en", "f1 by margin", 1),
        "BUCC fr-en": ("bucc", "bucc-style fr-en", "f1 by margin", 1),
        "Tatoeba de-en": ("tatoeba", "de-en", "both ways by margin", 1),
        "Tatoeba fr-en": ("tatoeba", "fr-en", "both ways by margin", 1),
        "STS 12–16": ("sts", ALL, "pearson", 100),
        "STS-B": ("sts", STSB, "pearson", 100),
        "SICK-R": ("sts", SICK, "pearson", 100),
        "MSRPC": ("paraphrase", "msrpc", "accuracy by cosine", 1),
        "ParaCrawl": ("noisy", "de-en.paracrawl", "auc by cosine", 1),
        "Common Crawl": ("noisy", "fr-en.commoncrawl", "auc by cosine", 1),
        "subtitles": ("noisy", "fr-en.opensubs", "auc by cosine", 1),
    }
    lines = table(
        ("model", *columns, "sentences/s"),
        (
            (
                row["name"],
                *(
                    cell(figures(row, task), name, metric, scale)
                    for task, name, metric, scale in columns.values()
                ),
                NONE if rate(row) is None else f"{rate(row):,.0f}",
            )
            for row in rows
        ),
    )
    return [*lines, "", *KEY, "", conditions(record)]


KEY = [
    "In brackets the half width of the bootstrap's 95% interval. BUCC: F1 on the bucc-style test",
    "split, by ratio margin, the threshold from training; Tatoeba: accuracy by ratio margin, mean",
    "of both ways; STS and SICK-R: Pearson × 100, of STS 12–16 the mean over data sets; MSRPC:",
    "accuracy by a threshold of the cosine; ParaCrawl, Common Crawl, subtitles: area under the ROC",
    "curve of labelled noisy bitext, by the cosine; sentences/s: English text to vectors, all",
    "threads, in one run (not that of other tables: the machine's speed varies). A star: a",
    "mean over the sets that are there. The text of the model that ships has some sentences of",
    "these sets, which are counted below; that of the other models has none.",
]


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """All of them."""
    rows = _models(record)
    parts = [
        published(rows),
        across(rows),
        retrieval(rows),
        paraphrases(rows),
        noisy(rows),
        top_one(rows),
        *(differences(row) for row in record["results"] if "differences" in row),
    ]
    lines: list[str] = []
    for part in parts:
        lines += [*part, ""]
    return [*lines, conditions(record)]


def published(rows: Sequence[dict[str, Any]]) -> list[str]:
    """STS beside the papers' figures."""
    lines = table(
        ("", *YEARS, "over all sets", "STS-B test"),
        [
            *(
                (
                    row["name"],
                    *(cell(figures(row, "sts"), year, "pearson", 100) for year in YEARS),
                    cell(figures(row, "sts"), ALL, "pearson", 100),
                    cell(figures(row, "sts"), STSB, "pearson", 100),
                )
                for row in rows
            ),
            *(
                (
                    f"*{name}*",
                    *(f"{value:.1f}" for value in years),
                    NONE,
                    f"{benchmark:.1f}",
                )
                for name, (years, benchmark) in PUBLISHED.items()
            ),
        ],
    )
    missing = dict.fromkeys(
        line for row in rows for line in row["evaluations"].get("sts", {}).get("missing", [])
    )
    return [
        "Pearson × 100 by year, beside published ones (in italics). A star: a mean over the sets",
        "that are there.",
        "",
        *lines,
        "",
        *(f"Not measured: {line}." for line in missing),
    ]


def across(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The Benchmark in other languages, and across languages."""
    names = [
        f"stsb.{name}.test" for name in ("de", "es", "fr", "ru", "en-de", "en-es", "en-fr", "en-ru")
    ]
    lines = table(
        ("", *(name.split(".")[1] for name in names)),
        (
            (row["name"], *(cell(figures(row, "sts"), name, "pearson", 100) for name in names))
            for row in rows
        ),
    )
    return [
        "STS Benchmark, test, machine-translated: both sentences in one language, or the first in",
        "English and the second translated. Pearson × 100:",
        "",
        *lines,
    ]


def retrieval(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Tatoeba by pair, with and without margin."""
    pairs = sorted({name for row in rows for name, _ in figures(row, "tatoeba") if "-" in name})
    lines = table(
        ("", *(f"{pair}, {by}" for pair in pairs for by in ("cosine", "margin"))),
        (
            (
                row["name"],
                *(
                    _ways(figures(row, "tatoeba"), pair, by)
                    for pair in pairs
                    for by in ("cosine", "margin")
                ),
            )
            for row in rows
        ),
    )
    return ["Tatoeba, accuracy into English / out of English:", "", *lines]


def paraphrases(rows: Sequence[dict[str, Any]]) -> list[str]:
    """MSRPC, and similarities by grade."""
    by = ("majority", "cosine", "MLP (u, v)", "MLP (|u-v|, u*v)")
    lines = table(
        ("", *(name.replace("|", "\\|") for name in by), "cosine of others", "of paraphrases"),
        (
            (
                row["name"],
                *(
                    cell(figures(row, "paraphrase"), "msrpc", f"accuracy by {name}", 1)
                    for name in by
                ),
                *_grades(row),
            )
            for row in rows
        ),
    )
    return [
        "Paraphrase detection, MSRPC test: accuracy by the majority of the training set, by a",
        "threshold of the cosine, and by a perceptron with 200 hidden units on both vectors, side",
        "by side (Sjöblom et al. 2018) or their differences and products (mean of 3 seeds); and",
        "the mean cosine of pairs by label:",
        "",
        *lines,
    ]


def noisy(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Labelled bitext by each score."""
    sets = sorted({name for row in rows for name, _ in figures(row, "noisy")})
    lines = table(
        ("", "score", *(f"{name}, AUC · AP" for name in sets)),
        (
            (
                row["name"],
                by,
                *(
                    " · ".join(
                        cell(figures(row, "noisy"), name, f"{metric} by {by}", 1)
                        for metric in ("auc", "average precision")
                    )
                    for name in sets
                ),
            )
            for row in rows
            for by in ("cosine", "margin", "quality")
            if any(metric == f"auc by {by}" for _, metric in figures(row, "noisy"))
        ),
    )
    return ["Labelled noisy bitext, area under the ROC curve · average precision:", "", *lines]


def top_one(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The task that mteb calls BUCC.v2, in a table of its own."""
    pairs = [f"bucc-style {pair} test, as mteb's BUCC.v2" for pair in ("de-en", "fr-en")]
    lines = table(
        ("", *(pair.split()[1] for pair in pairs)),
        (
            (
                row["name"],
                *(cell(figures(row, "bucc"), pair, "accuracy of top 1", 1) for pair in pairs),
            )
            for row in rows
        ),
    )
    return [
        "*Not mining:* the task that the mteb suite calls BUCC.v2, top 1 by cosine among sentences",
        "of the gold alone, here of the test split. Accuracy; the F1 is in the JSON:",
        "",
        *lines,
    ]


def differences(row: dict[str, Any]) -> list[str]:
    """A paired comparison of two models."""
    lines = table(
        ("", "", "difference", "95% of draws", "p"),
        (
            (
                one["set"],
                one["metric"],
                f"{one['difference']:+.3f}",
                f"{one['interval'][0]:+.3f} to {one['interval'][1]:+.3f}",
                f"{one['p']:.3f}",
            )
            for one in row["differences"]
            if one["metric"] in COMPARED and one["set"].split(".")[0] not in YEARS
        ),
    )
    return [
        f"{row['name']}, on the same draws of the test sets (STS set by set is in the JSON):",
        "",
        *lines,
    ]


def seen(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Test sentences in the training text."""
    (found,) = (row["seen"] for row in record["results"] if "seen" in row)
    names = sorted({name for every in found.values() for name in every})
    lines = table(
        ("test set", *(f"in {text}" for text in found)),
        (
            (
                name,
                *(
                    f"{every[name]['seen']:,} of {every[name]['sentences']:,}"
                    if name in every
                    else "0"
                    for every in found.values()
                ),
            )
            for name in names
        ),
    )
    return [
        "Distinct test sentences of 13 letters and digits or more that stand in training text, in",
        "whatever case and punctuation. Sets without any are not named. The recipes' models are",
        "trained without these and shorter ones; *shipped* is the text of the model that ships,",
        "from which none was taken out:",
        "",
        *lines,
        "",
        conditions(record),
    ]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table of Markdown."""
    head = list(head)
    return [_line(head), _line(["---"] * len(head)), *map(_line, rows)]


def cell(found: Found, name: str, metric: str, scale: int) -> str:
    """A figure and the half width of its interval; with a star, if it is a mean of some sets."""
    one, star = found.get((name, metric)), ""
    if one is None:
        some = [key for key in found if key[0].startswith(f"{name}, ") and key[1] == metric]
        if not some:
            return NONE
        one, star = found[some[0]], "*"
    digits = 1 if scale == 100 else 3
    text = f"{scale * one['value']:.{digits}f}{star}"
    if "interval" in one:
        low, high = one["interval"]
        text += f" (±{scale * (high - low) / 2:.{digits}f})"
    return text


def _models(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in record["results"] if "evaluations" in row]


def _ways(found: Found, pair: str, by: str) -> str:
    ways = [found.get((pair, f"{way} by {by}")) for way in ("there", "back")]
    return NONE if None in ways else " / ".join(f"{one['value']:.3f}" for one in ways if one)


def _grades(row: dict[str, Any]) -> list[str]:
    grades = row["evaluations"]["paraphrase"]["mean similarity by grade"].get("msrpc", [])
    return [f"{one['mean']:.2f}" for one in grades]


def rate(row: dict[str, Any]) -> float | None:
    """Sentences a second from text to vectors, on all threads."""
    every = row.get("evaluations", {}).get("speed", {"figures": []})["figures"]
    rates = [one["value"] for one in every if one["metric"] == "sentences/s to vectors"]
    return rates[-1] if rates else None


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
