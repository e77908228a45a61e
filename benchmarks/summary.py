"""Table of docs/results.md: the main figures of the benchmarks, with links to their pages."""

from benchmarks import report
from benchmarks.markdown import table
from miner.text_table import count_of

# Job and unit of throughput of the sections of speed.json.
JOBS = {
    "encode": ("text to vectors", "sentences/s"),
    "search": ("4 nearest neighbours, both directions, 50,000 × 50,000", "queries/s"),
    "mine": ("two files to a file of pairs, 50,000 × 50,000", "sentences/s"),
    "filter": ("bitext to filtered bitext", "rows/s"),
}


def lines() -> list[str]:
    """Return the table of main figures: measured quantity, text, figure, page."""
    return table(("measured", "text", "result", "page"), [*_quality(), *_speed()])


def _quality() -> list[tuple[str, str, str, str]]:
    mined = [
        row
        for row in report.read("bucc.json")["results"]
        if (row["name"], row["settings"]["rank"]) == ("default", "probability")
    ]
    reached = [
        row["reached"]["precision"]
        for row in report.read("precision.json")["results"]
        if (row["asked"], row["share"]) == (0.95, "as it is")
    ]
    aligned = report.read("align.json")["sections"]["books"]["results"]["all"]["both stages"]
    laws = report.read("documents.json")["results"][0]
    filters = report.read("filtering.json")["sections"]["labelled"]["results"]["rows"]
    text = f"bucc-style {', '.join(row['pair'] for row in mined)}"
    return [
        ("F1 of mining", text, _joined([row["test"]["f1"] for row in mined]), _page("mining")),
        ("precision where 0.95 is asked for", text, _joined(reached), _page("precision")),
        (
            "F1 of aligned sentences, strict",
            "Text+Berg de-fr",
            _joined([aligned["strict"]["f1"]]),
            _page("precision"),
        ),
        (
            "recall of document pairs at precision 0.98",
            laws["set"],
            _joined([laws["recall at .98"]]),
            _page("documents"),
        ),
        *(
            (
                f"F1 of rows kept: {row['name']}",
                "commoncrawl fr-en, labelled",
                _joined([row["sets"]["commoncrawl"]["f1"]]),
                _page("filtering"),
            )
            for row in filters
            if row["decides"]
        ),
    ]


def _speed() -> list[tuple[str, str, str, str]]:
    rows = []
    for name, (job, unit) in JOBS.items():
        section = report.read("speed.json")["sections"][name]
        cpu, results = section["hardware"]["cpu"], section["results"]
        for row in results["rows"][:2]:
            measured, machine = (
                f"{job}: {row['name']}",
                f"{count_of(results['threads'], 'thread')}, {cpu}",
            )
            rows.append((measured, machine, f"{row['sentences/s']:,} {unit}", _page("speed")))
    return rows


def _joined(values: list[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def _page(name: str) -> str:
    return f"[{name}](results/{name}.md)"
