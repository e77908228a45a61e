"""Write the results tables of the READMEs from ``benchmarks/results/*.json``.

    python -m benchmarks.readme [--check]

Everything between ``<!-- results -->`` and ``<!-- /results -->``, and likewise ``encoders`` and
``filtering``, is replaced; ``--check`` only compares, and ends with 1 where a README is not what
the results say.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.encoders import tables as encoder_tables
from benchmarks.filtering import tables as filtering_tables
from benchmarks.speed import tables as speed_tables

README = Path(__file__).parent.parent / "README.md"
OURS = Path(__file__).parent / "README.md"
NAMES = {
    "p19": "P19 recipe, trained on the pair's text",
    "fast": "fast recipe, trained on the pair's text",
    "default": "the model that ships (5 languages, 1 model)",
}


def load(name: str) -> dict[str, Any]:
    return json.loads((report.RESULTS / name).read_text(encoding="utf-8"))


def conditions(record: dict[str, Any]) -> str:
    hardware, versions = record["hardware"], record["versions"]
    parts = [f"{hardware['cpu']}, {hardware['cores']} cores"]
    parts += [f"{name} {version}" for name, version in versions.items() if name != "bitext-miner"]
    return f"`{record['command']}` · {', '.join(parts)}"


def mining() -> list[str]:
    record = load("bucc.json")
    lines = [
        "Mining, BUCC protocol: threshold tuned on the training split, applied to test. Ranked by",
        "margin is the ratio margin with k = 4; by probability the second look with k = 8. *No",
        "gold* is what the tool keeps by itself, for an estimated precision of 0.95:",
        "",
        "| set | model | ranked by | threshold | precision | recall | **F1 on test** | no gold |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        test, own = row["test"], row.get("test, own choice")
        alone = "–" if own is None else f"F1 {own['f1']:.3f}, precision {own['precision']:.3f}"
        lines.append(
            f"| bucc-style {row['pair']} | {NAMES[row['name']]} | {row['settings']['rank']} "
            f"| {row['training']['threshold']:.3f} | {test['precision']:.3f} "
            f"| {test['recall']:.3f} | **{test['f1']:.3f}** | {alone} |"
        )
    return [*lines, "", conditions(record), ""]


def precision() -> list[str]:
    record = load("precision.json")
    lines = [
        "Precision asked for, and reached by the gold, on test; no gold was used to choose:",
        "",
        "| set | parallel share | asked | reached | recall | pairs kept |",
        "|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        reached = row["reached"]
        lines.append(
            f"| bucc-style {row['pair']} | {row['share']} | {row['asked']:.2f} "
            f"| {reached['precision']:.3f}{'' if row['within tolerance'] else ' (outside)'} "
            f"| {reached['recall']:.3f} | {reached['proposed']:,} |"
        )
    lines += [
        "",
        "*Outside*: off by more than 0.03, or 0.05 where fewer than 200 pairs are kept. The gold",
        "does not know every translation, so what it calls precision is a little less than it is.",
    ]
    return [*lines, "", conditions(record), ""]


def second_look() -> list[str]:
    record = load("secondlook.json")
    result = record["results"]
    source, target = result["sentences"]
    seconds = {name: statistics.median(values) for name, values in result["seconds"].items()}
    lines = [
        f"Cost on {source:,} × {target:,} sentences: the neighbour search (k = 8) takes "
        f"{seconds['search']:.1f} s, the",
        f"second look {result['second look, seconds']:.1f} s more "
        f"({result['candidates a minute'] / 1e6:.1f} million candidates a minute, tokenising "
        "included), and the",
        f"estimate with {result['decoys']:,} decoys {seconds['estimate']:.1f} s.",
    ]
    return [*lines, "", conditions(record), ""]


def training() -> list[str]:
    record = load("training.json")
    lines = [
        "Training throughput, the same batches, alternating in one run:",
        "",
        "| size | | pairs/s (median) | ours is faster by |",
        "|---|---|---|---|",
    ]
    for row in record["results"]:
        lines.append(
            f"| {row['size']} | {row['name']} | {row['pairs/s']:,} "
            f"| {row['ours is faster by']:.2f} × |"
        )
    return [*lines, "", conditions(record), ""]


def speed() -> list[str]:
    """Nothing while no section of it was measured."""
    if not (report.RESULTS / "speed.json").exists():
        return []
    return speed_tables.tables(load("speed.json"), conditions)


def tables() -> str:
    return "\n".join([*mining(), *precision(), *second_look(), *training(), *speed()])


def lines_of(name: str, lines: Callable[..., list[str]]) -> str:
    """What ``lines`` makes of a result; nothing while none was measured."""
    if not (report.RESULTS / name).exists():
        return ""
    return "".join(f"{line}\n" for line in lines(load(name), conditions))


def filled(text: str, name: str, content: str) -> str:
    """The text with ``content`` between its marks of that name."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, rest = text.split(start)
    _, after = rest.split(end)
    return f"{before}{start}{content}{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text, ours = (path.read_text(encoding="utf-8") for path in (README, OURS))
    main_table = lines_of("encoders.json", encoder_tables.main_table)
    ours = filled(ours, "encoders", lines_of("encoders.json", encoder_tables.tables))
    ours = filled(ours, "filtering", lines_of("filtering.json", filtering_tables.tables))
    wanted = {
        README: filled(filled(text, "results", tables()), "encoders", main_table),
        OURS: ours,
    }
    for path, content in wanted.items():
        if not arguments.check:
            path.write_text(content, encoding="utf-8")
        elif content != path.read_text(encoding="utf-8"):
            sys.exit(f"{path} is not what benchmarks/results say")


if __name__ == "__main__":
    main()
