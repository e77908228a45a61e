"""Write the tables of README.md and docs/results.md, and the plots, from ``results/*.json``.

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

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "README.md", ROOT / "docs" / "results.md"
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
        "Protocol of BUCC 2018: the threshold is tuned on the training split, and applied to the",
        "test split. *Margin* is the ratio margin with k = 4, *probability* verification, k = 8.",
        "*No gold*: pairs that the tool keeps for an estimated precision of 0.95.",
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


# Rows of the README's table: a model, and the score that ranks its pairs.
BEST = (("default", "probability"), ("fast", "probability"), ("p19", "margin"))


def best_mining() -> list[str]:
    """Six rows of :func:`mining`: the best ranking of each model on both language pairs."""
    rows = {
        (row["pair"], row["name"], row["settings"]["rank"]): row
        for row in report.read("bucc.json")["results"]
    }
    lines = [
        "| text | model | precision | recall | **F1** | F1 with no gold at all |",
        "|---|---|---|---|---|---|",
    ]
    for pair in ("de-en", "fr-en"):
        for name, rank in BEST:
            test = rows[pair, name, rank]["test"]
            own = rows[pair, name, rank].get("test, own choice")
            lines.append(
                f"| {pair} | {NAMES[name]} | {test['precision']:.3f} | {test['recall']:.3f} "
                f"| **{test['f1']:.3f}** | {'–' if own is None else format(own['f1'], '.3f')} |"
            )
    return lines


def precision() -> list[str]:
    record = report.read("precision.json")
    lines = [
        "Precision asked for, and precision by the gold on the test split. No gold was used to",
        "choose the threshold.",
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
        "*Outside*: more than 0.03 from what was asked, or 0.05 for fewer than 200 pairs kept. The",
        "gold lacks some translations, so the true precision is a little higher.",
    ]
    return [*lines, "", conditions(record), ""]


def verification() -> list[str]:
    record = report.read("secondlook.json")
    result = record["results"]
    source, target = result["sentences"]
    seconds = {name: statistics.median(values) for name, values in result["seconds"].items()}
    lines = [
        f"Time for {source:,} × {target:,} sentences: {seconds['search']:.1f} s for the neighbour "
        f"search (k = 8),",
        f"{result['second look, seconds']:.1f} s for verification "
        f"({result['candidates a minute'] / 1e6:.1f} million candidates/min, tokenising included),",
        f"{seconds['estimate']:.1f} s for the estimate of precision with {result['decoys']:,} "
        "decoys.",
    ]
    return [*lines, "", conditions(record), ""]


def training() -> list[str]:
    record = report.read("training.json")
    lines = [
        "Training throughput. All systems train on the same batches, taking turns in one run.",
        "",
        "| size | system | pairs/s (median) | speed-up of ours |",
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


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "best-mining": best_mining,
    "mining": mining,
    "evaluations": part("evaluations.json", evaluation_tables.main_table),
    "evaluations-more": part("evaluations.json", evaluation_tables.tables),
    "seen": part("evaluations.json", evaluation_tables.seen),
    "precision": precision,
    "verification": verification,
    "training": training,
    "speed": part("speed.json", speed_tables.tables),
    "encoders": part("encoders.json", encoder_tables.tables),
    "experiments": part("experiments.json", experiment_tables.tables),
    "filtering": part("filtering.json", filtering_tables.tables),
}


def filled(text: str, sections: Mapping[str, Callable[[], list[str]]]) -> str:
    """Return the text with the tables of every section between the marks of its name."""

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
