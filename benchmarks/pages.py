"""Write the tables of the README and of RESULTS.md, and its plots, from ``results/*.json``.

    python -m benchmarks pages [--check]

Everything between ``<!-- NAME -->`` and ``<!-- /NAME -->`` is replaced by the tables of that name.
``--check`` only compares tables, and ends with 1 where a page is not what the results say.
"""

import argparse
import re
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import plots, report
from benchmarks.filtering import filter_tables as filtering_tables
from benchmarks.models import encoder_tables, evaluation_tables, experiment_tables
from benchmarks.speed import speed_tables

PAGES = Path(__file__).parent.parent / "README.md", Path(__file__).parent / "RESULTS.md"
NAMES = {
    "p19": "P19 recipe, trained on the pair's text",
    "fast": "fast recipe, trained on the pair's text",
    "default": "the model that ships (5 languages, 1 model)",
}


def conditions(record: dict[str, Any]) -> str:
    hardware, versions = record["hardware"], record["versions"]
    parts = [f"{hardware['cpu']}, {hardware['cores']} cores"]
    parts += [f"{name} {version}" for name, version in versions.items() if name != "bitext-miner"]
    return f"`{record['command']}` · {', '.join(parts)}"


def mining() -> list[str]:
    record = report.read("bucc.json")
    lines = [
        "Mining, BUCC protocol: threshold tuned on the training split, applied to test. Ranked by",
        "margin is the ratio margin with k = 4; by probability the verification with k = 8. *No",
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
    record = report.read("precision.json")
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
    record = report.read("secondlook.json")
    result = record["results"]
    source, target = result["sentences"]
    seconds = {name: statistics.median(values) for name, values in result["seconds"].items()}
    lines = [
        f"Cost on {source:,} × {target:,} sentences: the neighbour search (k = 8) takes "
        f"{seconds['search']:.1f} s, the",
        f"verification {result['second look, seconds']:.1f} s more "
        f"({result['candidates a minute'] / 1e6:.1f} million candidates a minute, tokenising "
        "included), and the",
        f"estimate with {result['decoys']:,} decoys {seconds['estimate']:.1f} s.",
    ]
    return [*lines, "", conditions(record), ""]


def training() -> list[str]:
    record = report.read("training.json")
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


def part(
    name: str, lines: Callable[[dict[str, Any], Callable[..., str]], list[str]]
) -> Callable[[], list[str]]:
    """Return a section that makes ``lines`` of a result; it is empty while there is no result."""

    def section() -> list[str]:
        if not (report.RESULTS / name).exists():
            return []
        return lines(report.read(name), conditions)

    return section


def encoding() -> list[str]:
    """Throughput of encoding, for the README."""
    record = report.read("speed.json")["sections"]["encode"]
    return [*speed_tables.encode(record["results"]), "", conditions(record)]


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "mining": mining,
    "evaluations": part("evaluations.json", evaluation_tables.main_table),
    "evaluations-more": part("evaluations.json", evaluation_tables.tables),
    "seen": part("evaluations.json", evaluation_tables.seen),
    "precision": precision,
    "secondlook": second_look,
    "training": training,
    "speed": part("speed.json", speed_tables.tables),
    "encoding": encoding,
    "encoders": part("encoders.json", encoder_tables.tables),
    "experiments": part("experiments.json", experiment_tables.tables),
    "filtering": part("filtering.json", filtering_tables.tables),
}


def filled(text: str, sections: Mapping[str, Callable[[], list[str]]]) -> str:
    """Return the text with the tables of each section between the marks of its name."""

    def content(marked: re.Match[str]) -> str:
        lines = "\n".join(sections[marked[1]]()).strip("\n")
        inside = f"{lines}\n" if lines else ""
        return f"<!-- {marked[1]} -->\n{inside}<!-- /{marked[1]} -->\n"

    return re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->\n", content, text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        content = filled(text, SECTIONS)
        if not arguments.check:
            path.write_text(content, encoding="utf-8")
        elif content != text:
            sys.exit(f"{path} is not what benchmarks/results say")
    if not arguments.check:
        plots.draw()
