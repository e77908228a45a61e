"""Tables of ``results/experiments.json``."""

from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

from benchmarks import report
from benchmarks.markdown import conjoined, head, line, table
from benchmarks.models.language_experiments import correlations
from miner_train.papers.bitext_statistics import OF_SENTENCES, OF_TEXT
from miner_train.papers.language_overlap import Correlation

HEADS = {
    "sources": "Sources of French and English at a fixed number of pairs",
    "filters": "Pairs that filters choose from a pool, at a fixed number of pairs",
    "deciles": "Tenths of a pool by the cosine of a pair, 1 the lowest",
    "scale": "Metrics against the number of training pairs; each sample contains the smaller ones",
    "languages": "Foreign languages beside the same English sentences",
    "every-language": "Every foreign language with text, on as many pairs each",
    "crossed-recipes": "P19's recipe and the fast one at equal dimension, vocabulary and dropout",
    "embedding-starts": "Starts of the embeddings, on translations of French and English",
    "paper-recipes": "The recipes of the papers as published, on the same text",
    "back-translation": "Bitext and its back-translation by the built-in translator, equal pairs",
    "translations": "Tenths of back-translations by score, 1 the lowest",
    "filter-bounds": "P17's recipe on back-translated pairs within bounds, of German and English",
    "generated-paraphrases": "Bitext with paraphrases of its English side by a small generator",
    "shuffled-pairs": "S18's recipe on English paraphrases by pivoting, a part of them shuffled",
    "megabatches": "P18's recipe on English paraphrases, with negatives from some mini-batches",
    "blstm-parts": "P19's BLSTM on translations of French and English, in 3 passes",
}
# Metrics by their names in the JSON: head of the column and factor.
METRICS = {
    "bucc": ("BUCC F1", 1),
    "tatoeba": ("Tatoeba", 1),
    "sts 12-16": ("STS 12–16", 100),
    "sts-b": ("STS-B", 100),
    "bucc training": ("F1 on training", 1),
    "sts-b dev": ("STS-B dev", 100),
    "sts 2017": ("STS 2017", 100),
    "msrpc": ("MSRPC", 1),
}
FIRST = {
    "sources": "source",
    "filters": "filter",
    "deciles": "tenth",
    "scale": "pairs",
    "languages": "language",
    "every-language": "language",
    "crossed-recipes": "recipe",
    "embedding-starts": "start",
    "paper-recipes": "recipe",
    "back-translation": "text",
    "translations": "tenth",
    "filter-bounds": "bounds",
    "generated-paraphrases": "text",
    "shuffled-pairs": "shuffled",
    "megabatches": "mini-batches",
    "blstm-parts": "recipe",
}
KEY = [
    "All rows use `p19-tuned` in 5 passes, unless they name a recipe. Text has at most 30 words a",
    "side. BUCC F1: bucc-style fr-en test split, by ratio margin, the threshold from the",
    "training split. Tatoeba: accuracy of both directions, by margin. STS 12–16: mean of",
    "Pearson × 100 over the data sets of those years. STS-B: its English test set. In brackets:",
    "95% bootstrap interval over the test items. Rows of several seeds have the mean, and in",
    "brackets the lowest and the highest; others have one seed. F1 on training: the best threshold",
    "of the training split, tuned on itself. Times leave out evaluations.",
]


def section(name: str, results: dict[str, Any]) -> list[str]:
    """Return the heading of a section and a table for each group."""
    parts = [[f"{HEADS[name]}:"]]
    for group in dict.fromkeys(row["group"] for row in results["rows"]):
        rows = over_seeds([row for row in results["rows"] if row["group"] == group])
        parts.append(_table(FIRST[name], group, rows))
        absent = results.get("left out", {}).get(group)
        if absent:
            names = ", ".join(f"{one} ({count:,})" for one, count in absent.items())
            parts.append([f"Too small: {names}."])
        parts += [[_spearman(*part)] for part in correlations(group, rows).items()]
    if "described" in results:
        parts += _described(results["described"])
    parts += [
        [
            f"The translator of {languages}, {own['sentences']:,} sentences in lower case: BLEU "
            f"{own['BLEU']:.1f}, chrF {own['chrF']:.1f}."
        ]
        for languages, own in results.get("translator BLEU", {}).items()
    ]
    if "default" in results:
        parts.append([f"The default model of the scores: {report.model_name(results['default'])}."])
    return conjoined([*parts, *_written(results), *_training(results)])[:-1]


def _described(found: dict[str, Any]) -> list[list[str]]:
    """Return tables of back-translations: ranks, ranges of score, statistics, classifiers."""

    def numbers(row: dict[str, float]) -> list[str]:
        return [f"{row['count']:,}", f"{row['overlap']:.3f}", f"{row['cost']:.2f}"]

    columns = "translations", "3-gram overlap", "mean cost"
    places = [[f"{rank}.", *numbers(row)] for rank, row in enumerate(found["ranks"], 1)]
    ranges = [[f"from {row['from']:g}", *numbers(row)] for row in found["ranges"]]
    record, sides = found["statistics"], ("reference", "translation")
    texts = [
        [label, *(form.format(record[side][field]) for side in sides)]
        for field, (label, form) in OF_TEXT.items()
        if field in record[sides[0]]  # older results lack it
    ]
    correlated = record["spearman"]["P(reference)"]["translation"]
    related = [
        f"{name} {correlated[key]:+.2f}"
        for key, name in OF_SENTENCES.items()
        if correlated[key] is not None
    ]
    judged = [
        [name, *(f"{own[f'test accuracy{of}']:.3f}" for of in ("", " of good", " of bad"))]
        for name, own in found["accuracy"].items()
    ]
    tested = next(iter(found["accuracy"].values()))["test sentences"]
    return [
        table(("of one sentence", *columns), places),
        table(("paraphrase score", *columns), ranges),
        table(("", "references", "first translations"), texts),
        table((f"classifier, {tested:,} sentences", "accuracy", *sides), judged),
        [
            "Spearman of a translation's probability of being a reference, by the average, with "
            f"{', '.join(related)}."
        ],
    ]


def _written(results: dict[str, Any]) -> list[list[str]]:
    """Return a line with means over generated paraphrases, if there are any."""
    if "means" not in results:
        return []
    means = results["means"]
    names = (*(f"{n}-gram overlap" for n in (1, 2, 3)), "BLEU", "cosine")
    figures = ", ".join(f"{name} {means[name]:.2f}" for name in names)
    return [[f"The {means['pairs']:,.0f} generated paraphrases, means: {figures}."]]


def _training(results: dict[str, Any]) -> list[list[str]]:
    """Return a line with the CPU time of a section, if it was recorded."""
    rows = results["rows"]
    seconds = [row["training CPU seconds"] for row in rows if row.get("training CPU seconds")]
    if len(seconds) < len(rows):
        return []
    parts = [f"{len(rows)} trainings {sum(seconds) / 60:.1f} CPU minutes"]
    parts += [
        f"the translator of {languages} {spent / 60:.1f}"
        for languages, spent in results.get("translator CPU seconds", {}).items()
    ]
    if spent := results.get("generator CPU seconds"):
        parts.append(f"the generator {spent / 60:.1f}")
    return [[f"Time: {', '.join(parts)}."]]


def over_seeds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join rows that differ in their seed: means, with ranges instead of intervals."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row)
    joined = []
    for same in found.values():
        measured = [row for row in same if "figures" in row]
        if "seed" not in same[0] or not measured:
            joined.append(same[0])
            continue
        if len(measured) == 1:
            joined.append({**measured[0], "seeds": 1})
            continue
        figures = {}
        for name in measured[0]["figures"]:
            values = [row["figures"][name]["value"] for row in measured]
            figures[name] = {"value": mean(values), "interval": [min(values), max(values)]}
        seconds = mean(row["training CPU seconds"] for row in measured)
        many = {"figures": figures, "seeds": len(measured), "training CPU seconds": seconds}
        joined.append({**measured[0], **many})
    return joined


def _table(first: str, group: str, rows: list[dict[str, Any]]) -> list[str]:
    shown = [name for name in METRICS if any(name in row.get("figures", {}) for row in rows)]
    more = {head: cell for head, (key, cell) in _MORE.items() if any(key in row for row in rows)}
    # In the section "scale" the first column is the number of pairs.
    counted = any(row["name"] != f"{row['pairs']:,}" for row in rows)
    heads = [
        f"{first}: {group}",
        *(["pairs"] if counted else []),
        *more,
        *(METRICS[name][0] for name in shown),
    ]
    lines = head(heads)
    for row in rows:
        cells = [row["name"], *([f"{row['pairs']:,}"] if counted else [])]
        if "failed" in row:
            cells += [row["failed"], *[""] * (len(heads) - len(cells) - 1)]
        else:
            cells += [cell(row) for cell in more.values()]
            cells += [_cell(row["figures"].get(name), METRICS[name][1]) for name in shown]
        lines.append(line(cells))
    return lines


def _cosines(row: dict[str, Any], name: str = "cosines") -> str:
    low, high = row[name]
    return f"{low:.2f} to {high:.2f}"


def _spent(row: dict[str, Any]) -> str:
    return f"{row['seeds']}, {row['training CPU seconds']:.0f}"


# Optional columns by title: the key that a row needs, and the function that formats its cell.
_MORE: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "cosines": ("cosines", _cosines),
    "scores": ("scores", partial(_cosines, name="scores")),
    "pairs within": ("within", lambda row: f"{row['within']:,}"),
    "seeds, CPU s of one": ("seeds", _spent),
    "overlap": ("overlap", lambda row: f"{row['overlap']['share']:.3f}"),
}


def _cell(metric: dict[str, Any] | None, times: int) -> str:
    """Format a metric with its interval."""
    if metric is None:
        return "–"
    places = 3 if times == 1 else 1
    value, low, high = (
        f"{number * times:.{places}f}" for number in (metric["value"], *metric["interval"])
    )
    return f"{value} ({low}–{high})"


def _spearman(part: str, columns: dict[str, Correlation]) -> str:
    """Format the correlations with STS 12–16 over the languages of a group, or of its ``part``."""
    parts = []
    for name, one in columns.items():
        if one.languages:
            value = "undefined" if one.value is None else f"{one.value:+.2f}"
            parts.append(f"{name} {value} ({one.languages} languages)")
    return f"Spearman with STS 12–16{part}: {', '.join(parts)}."


SECTIONS = {name: partial(section, name) for name in HEADS}
