"""Tables of ``results/evaluations.json``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.markdown import conjoined, table
from benchmarks.models.published import values

YEARS = ("2012", "2013", "2014", "2015", "2016")
STSB, SICK, ALL = "stsb.en.test", "sick-r.test", "2012-2016"
# Published rows of STS by year and of STS-B, Pearson x 100: title, and places in published.tsv.
P18 = (("P18", "Table 7"), ("P18", "Table 9"))
CARD = "static-similarity-mrl-multilingual-v1"
PUBLISHED = {
    "word, trigram concatenated, 5M of the paraphrases (Wieting & Gimpel 2018)": (
        "Word, Trigram, concatenated (600)",
        P18,
    ),
    "word + trigram added, 5M of the paraphrases (Wieting & Gimpel 2018)": (
        "Word + Trigram, added (300)",
        P18,
    ),
    "InferSent, AllNLI (by Wieting & Gimpel 2018)": ("InferSent, AllNLI", P18),
    f"{CARD} (averages, d = 1024)": ("averages, d = 1,024", ((CARD, "STS tasks of mteb"),)),
}
NONE = "–"

# Metrics in the table of a comparison; the JSON has all.
COMPARED = (
    *("pearson", "both ways by margin", "f1 by margin", "f1 by probability"),
    *("accuracy by cosine", "auc by cosine", "auc by margin", "auc by quality"),
)

Found = dict[tuple[str, str], dict[str, Any]]
# Task, set, metric and factor, by column head.
Columns = Mapping[str, tuple[str, str, str, int]]


def metrics(row: dict[str, Any], task: str) -> Found:
    """Return the metrics of one model in one evaluation, by set and name."""
    every = row.get("evaluations", {}).get(task, {"figures": []})["figures"]
    return {(one["set"], one["metric"]): one for one in every}


def main_table(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the table of the main metrics, one row a model."""
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
    rows = _models(record)
    speeds = [NONE if (speed := rate(row)) is None else f"{speed:,.0f}" for row in rows]
    cells = [[*line, speed] for line, speed in zip(scored(rows, columns), speeds, strict=True)]
    lines = table(("model", *columns, "sentences/s"), cells)
    return [*lines, "", *KEY, "", conditions(record)]


KEY = [
    "In brackets: half width of the 95% bootstrap interval. BUCC: F1 on the bucc-style test split,",
    "by ratio margin, the threshold from the training split. Tatoeba: accuracy by ratio margin,",
    "mean of both directions. STS and SICK-R: Pearson × 100; STS 12–16 is the mean over data sets.",
    "MSRPC: accuracy by a threshold of the cosine. ParaCrawl, Common Crawl, subtitles: area under",
    "the ROC curve of labelled noisy bitext, by the cosine. Sentences/s: English text to vectors,",
    "all threads, one run; other tables have other runs, and the speed of the machine varies. A",
    "star: some sets of the mean are missing. The training text of the model that ships contains",
    "some sentences of these sets, counted below; the other models' text contains none.",
]


def scored(rows: Sequence[dict[str, Any]], columns: Columns) -> list[list[str]]:
    """Return the cells of a table: the name of each model and the metrics of ``columns``."""
    return [
        [
            row["name"],
            *(
                cell(metrics(row, task), name, metric, scale)
                for task, name, metric, scale in columns.values()
            ),
        ]
        for row in rows
    ]


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the tables of each evaluation."""
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
    return [*conjoined(parts), conditions(record)]


def published(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of STS by year, with published results."""
    names = {**dict(zip(YEARS, YEARS, strict=True)), "over all sets": ALL, "STS-B test": STSB}
    columns = {head: ("sts", name, "pearson", 100) for head, name in names.items()}
    papers = []
    for title, (row, places) in PUBLISHED.items():
        printed = {k: v for place in places for k, v in values(*place)[row].items()}
        papers.append(
            [f"*{title}*", *(printed.get(year, NONE) for year in YEARS), NONE, printed["STS-B"]]
        )
    missing = dict.fromkeys(
        line for row in rows for line in row["evaluations"].get("sts", {}).get("missing", [])
    )
    return [
        "Pearson × 100 by year, and published results in italics. A star: some sets of the mean",
        "are missing. The papers have all sets of each year, SMT of 2013 among them.",
        "",
        *table(("", *columns), [*scored(rows, columns), *papers]),
        "",
        *(f"Not measured: {line}." for line in missing),
    ]


def across(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the STS Benchmark in other languages and across languages."""
    names = ("de", "es", "fr", "ru", "en-de", "en-es", "en-fr", "en-ru")
    columns = {name: ("sts", f"stsb.{name}.test", "pearson", 100) for name in names}
    return [
        "STS Benchmark, test, machine-translated: both sentences translated, or only the second.",
        "Pearson × 100:",
        "",
        *table(("", *columns), scored(rows, columns)),
    ]


def retrieval(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of Tatoeba: a line for each model and language pair."""
    ways = ("cosine", "margin")
    cells = []
    for row in rows:
        found = metrics(row, "tatoeba")
        for pair in sorted({name for name, _ in found if "-" in name}):
            cells.append([row["name"], pair, *(_ways(found, pair, by) for by in ways)])
    lines = table(("", "", *ways), cells)
    return ["Tatoeba, accuracy into English / out of English:", "", *lines]


def shipped(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the retrieval of the model that ships, by language pair."""
    model = next(row for row in record["results"] if row["name"] == "default")
    found = metrics(model, "tatoeba")
    rows = [
        [name, *(cell(found, name, f"both ways by {by}", 1) for by in ("cosine", "margin"))]
        for name in dict.fromkeys(name for name, _ in found)
    ]
    lines = table(("set", "by cosine", "by margin"), rows)
    return [*lines, "", f"Model {model['fingerprint']}. {conditions(record)}"]


def paraphrases(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of MSRPC, with mean cosines by label."""
    columns = {
        name.replace("|", "\\|"): ("paraphrase", "msrpc", f"accuracy by {name}", 1)
        for name in ("majority", "cosine", "MLP (u, v)", "MLP (|u-v|, u*v)")
    }
    cells = zip(scored(rows, columns), map(_grades, rows), strict=True)
    return [
        "Paraphrase detection, MSRPC test. Accuracy by the majority class of the training set, by",
        "a threshold of the cosine, and by a perceptron with 200 hidden units (mean of 3 seeds) on",
        "both vectors (Sjöblom et al. 2018) or on their differences and products. Last columns:",
        "mean cosine of pairs by label.",
        "",
        *table(
            ("", *columns, "cosine of others", "of paraphrases"),
            ([*line, *grades] for line, grades in cells),
        ),
    ]


def noisy(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of labelled noisy bitext by each score."""
    sets = sorted({name for row in rows for name, _ in metrics(row, "noisy")})
    lines = table(
        ("", "score", *(f"{name}, AUC · AP" for name in sets)),
        (
            (
                row["name"],
                by,
                *(
                    " · ".join(
                        cell(metrics(row, "noisy"), name, f"{metric} by {by}", 1)
                        for metric in ("auc", "average precision")
                    )
                    for name in sets
                ),
            )
            for row in rows
            for by in ("cosine", "margin", "quality")
            if any(metric == f"auc by {by}" for _, metric in metrics(row, "noisy"))
        ),
    )
    return ["Labelled noisy bitext, area under the ROC curve · average precision:", "", *lines]


def top_one(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of the task that mteb calls BUCC.v2."""
    columns = {
        pair: ("bucc", f"bucc-style {pair} test, as mteb's BUCC.v2", "accuracy of top 1", 1)
        for pair in ("de-en", "fr-en")
    }
    return [
        "*Not mining:* the task that mteb calls BUCC.v2, top 1 by cosine among the gold sentences,",
        "here of the test split. Accuracy; the F1 is in the JSON.",
        "",
        *table(("", *columns), scored(rows, columns)),
    ]


def differences(row: dict[str, Any]) -> list[str]:
    """Return the table of a paired comparison of two models."""
    lines = table(
        ("", "", "difference", "95% of resamples", "p"),
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
        f"{row['name']}, on the same bootstrap resamples (the JSON has every STS set):",
        "",
        *lines,
    ]


def seen(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the table of test sentences in training text."""
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
        "Distinct test sentences of at least 13 letters and digits that occur in training text.",
        "Case and punctuation do not count. Sets without any are left out. The models of the",
        "recipes are trained without these and shorter test sentences. *Shipped* is the text of",
        "the model that ships; none was removed from it.",
        "",
        *lines,
        "",
        conditions(record),
    ]


def cell(found: Found, name: str, metric: str, scale: int) -> str:
    """Format a metric and half its interval, with a star if it is a mean of some sets only."""
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
    """Return the throughput from text to vectors on all threads, in sentences/s."""
    every = row.get("evaluations", {}).get("speed", {"figures": []})["figures"]
    rates = [one["value"] for one in every if one["metric"] == "sentences/s to vectors"]
    return rates[-1] if rates else None
