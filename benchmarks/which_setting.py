"""The table of the page "Which setting?": commands, with time and precision from the results."""

from typing import Any

from benchmarks import report
from benchmarks.filtering.systems import PRECISE
from benchmarks.markdown import table
from miner.text_table import count_of

Row = tuple[str, str, str, str]
COLUMNS = "job and size", "command", "time, memory", "what to expect"


def lines() -> list[str]:
    """Return the tables of mining, filtering and alignment."""
    parts = {"Mine": mine(), "Filter": filters(), "Align": align()}
    found: list[str] = []
    for title, rows in parts.items():
        found += [f"**{title}**", "", *table(COLUMNS, rows), ""]
    return found


def mine() -> list[Row]:
    growth, hybrid = report.read("speed.json"), report.read("hybrid.json")
    usual = growth["sections"]["growth"]
    points = usual["results"]["rows"][0]["points"]
    command = "`miner mine a.de a.en -o pairs.tsv`"
    small, *_, big = points
    unmeasured = "not measured at this size"
    large = hybrid["sections"]["growth"]
    grown = next(one for one in large["results"]["rows"] if one["name"] == "hybrid")["points"][-1]
    likely = grown["recall"]
    engine = command.replace(" -o", " --engine hybrid -o")
    found = f"{likely['found']:,} of {likely['likely']:,} likely neighbours found"
    strict = command.replace(" -o", " --target-precision 0.98 -o")
    rare = f"{_lines(small)}, a pair in 400 lines"
    return [
        (_lines(small), command, _cost(small, usual), _kept()),
        (f"{_lines(small)}, strict", strict, "the same", _reached("as it is", 0.98)),
        (rare, command, "the same", _reached("thinned to a tenth", 0.95)),
        (_lines(big), command, _cost(big, usual), unmeasured),
        (_lines(grown), engine, _cost(grown, large), found),
    ]


def filters() -> list[Row]:
    speed = report.read("speed.json")["sections"]["filter"]
    labelled = report.read("filtering.json")["sections"]["labelled"]["results"]["rows"]

    def reached(command: str) -> str:
        decided = next(row["sets"] for row in labelled if row["name"] == command)
        return "; ".join(
            f"{name}: precision {of['precision']:.2f}, recall {of['recall']:.2f}"
            for name in ("paracrawl", "commoncrawl")
            for of in [decided[name]]
        )

    usual, rules = speed["results"]["rows"][:2]
    threads = count_of(speed["results"]["threads"], "thread")

    def cost(row: dict[str, Any]) -> str:
        return f"{row['sentences/s']:,.0f} rows/s by {threads}, {row['peak MiB']:,.0f} MiB"

    return [
        (
            "web crawl: as few right pairs lost as possible",
            "`miner filter web.tsv -o clean.tsv`",
            cost(usual),
            reached("miner filter"),
        ),
        (
            "web crawl, to train on",
            "`miner filter web.tsv --target-precision 0.9 -o clean.tsv`",
            "the same",
            reached(PRECISE),
        ),
        (
            "only damaged and odd rows",
            "`miner filter web.tsv --config filters.toml -o clean.tsv`, without `quality` there",
            cost(rules),
            "pairs that are no translations stay",
        ),
    ]


def align() -> list[Row]:
    sections = report.read("align.json")["sections"]
    books, laws = sections["books"]["results"]["all"], sections["laws"]["results"]["50%"]
    size = sections["size"]["results"]
    documents = report.read("documents.json")
    pages = documents["results"][0]
    strict = [one["both stages"]["strict"]["f1"] for one in (books, laws)]
    sure = books["both stages"]["at 0.95"]
    return [
        (
            "two documents, same order",
            "`miner align a.de a.en -o a.ladder`",
            f"{books['both stages']['cpu seconds'] / books['both stages']['lines'] * 1e3:.1f} CPU "
            "ms a line",
            f"strict F1 {strict[0]:.2f} (books), {strict[1]:.2f} (laws, half of the lines foreign)",
        ),
        (
            "only sure pairs of them",
            "`miner align a.de a.en --target-precision 0.95 -o a.tsv`",
            "the same",
            f"{sure['kept']:.0%} of the pairs kept, precision {sure['reached']:.2f} (books)",
        ),
        (
            f"{size['lines']:,} lines a side",
            "`miner align a.de a.en --coarse -o a.ladder`",
            f"{size['cpu seconds']:.0f} CPU s, {size['peak MiB']:,} MiB",
            f"strict F1 {books['first stage']['strict']['f1']:.2f} (books)",
        ),
        (
            f"{pages['documents']:,} documents a side, any order",
            "`miner align-documents de.jsonl en.jsonl --target-precision 0.95 -o pairs.tsv`",
            f"{pages['cpu seconds']:.0f} CPU s",
            f"precision {pages['precision asked 0.95']:.2f}, recall "
            f"{pages['recall asked 0.95']:.2f} (laws)",
        ),
    ]


def _lines(point: dict[str, Any]) -> str:
    return f"{point['a side']:,} lines a side"


def _cost(point: dict[str, Any], section: dict[str, Any]) -> str:
    cores, peak = section["hardware"]["cores"], point["peak MiB"]
    return f"{point['seconds']:,.0f} s on {cores} cores, {peak:,} MiB"


def _kept() -> str:
    """Return precision and recall of the default model's choice on the BUCC-style test splits."""
    rows = report.read("bucc.json")["results"]
    found = [
        f"{row['pair']}: precision {own['precision']:.2f}, recall {own['recall']:.2f}"
        for row in rows
        if row["name"] == "default" and (own := row.get("test, own choice"))
    ]
    return "; ".join(found)


def _reached(share: str, asked: float) -> str:
    rows = report.read("precision.json")["results"]
    found = [
        f"{row['pair']}: precision {row['reached']['precision']:.2f}, "
        f"recall {row['reached']['recall']:.2f}"
        for row in rows
        if row["share"] == share and row["asked"] == asked
    ]
    return "; ".join(found)
