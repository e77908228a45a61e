"""Write the tables of README.md and docs/results/, and the plots, from ``results/*.json``.

    python -m benchmarks pages [--check]

Everything between ``<!-- NAME -->`` and ``<!-- /NAME -->`` is replaced by the tables of that name.
``--check`` only compares tables, and exits with 1 if a page differs from the results.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import plots, report, summary, which_setting
from benchmarks.alignment import aligner_peers, alignment_quality
from benchmarks.filtering import contrast, filter_tables, quality_bounds
from benchmarks.markdown import conjoined, filled, table
from benchmarks.mining import (
    between_languages,
    document_pairs,
    precision_reached,
    precision_sweep,
    review_labels,
    second_choice,
    second_opinion,
)
from benchmarks.models import (
    encoder_tables,
    evaluation_tables,
    experiment_tables,
    foreign,
    foreign_tables,
    language_tables,
    new_language,
    our_figures,
    paper_figures,
    peers,
    published,
    seeds,
)
from benchmarks.reliability import reliability_tables
from benchmarks.scale import scale_tables
from benchmarks.speed import hybrid_tables, speed_tables
from benchmarks.translation import translation_tables

ROOT = Path(__file__).parent.parent
FILLED = "evaluation", "languages", "papers", "results", "second-opinion", "which-setting"
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in FILLED),
    *sorted((ROOT / "docs" / "results").glob("*.md")),
]
NAMES = {
    "p19-tuned": "P19's objective (`p19-tuned`), trained on the pair's text",
    "fast": "fast recipe, trained on the pair's text",
    "former": "the model that shipped before (5 languages with English)",
}


def named(row: dict[str, Any]) -> str:
    """Return the name of a result's model; an earlier default model is marked."""
    if row["name"] != "default":
        return NAMES[row["name"]]
    return report.model_name(row["fingerprint"])


def conditions(record: dict[str, Any]) -> str:
    """Return the command of a result with machine and versions, one line per command."""
    rows = record["results"] if isinstance(record["results"], list) else []
    if sources := [row["measured"] for row in rows if "measured" in row]:
        lines = [conditions({**source, "results": None}) for source in sources]
        return "\n\n".join(dict.fromkeys(lines))
    hardware, versions = record["hardware"], record["versions"]
    parts = [f"{hardware['cpu']}, {hardware['cores']} cores"]
    parts += [f"{name} {version}" for name, version in versions.items() if name != "bitext-miner"]
    results = record["results"] if isinstance(record["results"], dict) else {}
    parts += [f"{peer} {version}" for peer, version in results.get("peers", {}).items()]
    spent = f" · {results['CPU seconds']:.0f} CPU seconds" if "CPU seconds" in results else ""
    return f"`{record['command']}` · {', '.join(parts)}{spent}"


def mining(record: dict[str, Any]) -> list[str]:
    rows = []
    for row in record["results"]:
        test, own = row["test"], row.get("test, own choice")
        rows.append(
            (
                f"bucc-style {row['pair']}",
                named(row),
                row["settings"]["rank"],
                f"{row['training']['threshold']:.3f}",
                *scores(test),
                f"F1 {own['f1']:.3f}, precision {own['precision']:.3f}" if own else "–",
            )
        )
    columns = "set", "model", "ranked by", "threshold", "precision", "recall", "**F1 on test**"
    return [
        "Protocol of BUCC 2018: the threshold is tuned on the training split and applied to the",
        "test split. *Margin*: ratio margin with k = 4. *Probability*: verification with k = 8.",
        "*No gold*: pairs that the tool keeps for an estimated precision of 0.95.",
        "",
        *table([*columns, "no gold"], rows),
    ]


def scores(result: dict[str, Any]) -> tuple[str, str, str]:
    """Return the cells of precision, recall and F1."""
    return f"{result['precision']:.3f}", f"{result['recall']:.3f}", f"**{result['f1']:.3f}**"


# Rows of the README's table: model, and score that ranks its pairs.
BEST = (("default", "probability"), ("fast", "probability"), ("p19-tuned", "margin"))


def best_mining() -> list[str]:
    """Return six rows of :func:`mining`: each model's best ranking on both language pairs."""
    found = {
        (row["pair"], row["name"], row["settings"]["rank"]): row
        for row in report.read("bucc.json")["results"]
    }
    rows = []
    for pair in ("de-en", "fr-en"):
        for name, rank in BEST:
            row = found[pair, name, rank]
            own = row.get("test, own choice")
            rows.append(
                (pair, named(row), *scores(row["test"]), f"{own['f1']:.3f}" if own else "–")
            )
    columns = "text", "model", "precision", "recall", "**F1**", "F1 with no gold at all"
    return table(columns, rows)


def sparse(record: dict[str, Any], conditions: Callable[..., str]) -> list[str]:
    rows, held = [], []
    for pair, section in record["sections"].items():
        groups: dict[tuple[int, bool, float], list[dict[str, Any]]] = {}
        for row in section["results"]:
            groups.setdefault((row["true pairs"], row["refit"], row["asked"]), []).append(row)
            if row["kept"]:
                low, high = row["intervals"][1]
                found = low <= row["right"] / max(row["true pairs"], 1) <= high
                held.append((row["inside"][0], found))
        for (true, refit, asked), some in groups.items():
            kept, right = (sum(row[name] for row in some) for name in ("kept", "right"))
            rows.append(
                (
                    pair,
                    ", ".join(f"{lines:,}" for lines in sorted({row["lines"] for row in some})),
                    f"{true:,}",
                    "yes" if refit else "no",
                    f"{asked:.2f}",
                    f"{right / kept:.3f}" if true and kept else "–",
                    f"{right / true / len(some):.3f}" if true else "–",
                    " ".join(f"{row['kept']:,}" for row in some),
                )
            )
    columns = "languages", "lines", "true pairs", "refit", "asked", "reached", "recall", "kept"
    inside = [sum(both[n] for both in held) for n in (0, 1)]
    return [
        *table(columns, rows),
        "",
        f"Of {len(held)} samples with pairs kept, {inside[0]} true precisions and {inside[1]} "
        "recalls of all true pairs are inside their intervals of 90%.",
        "",
        conditions(next(iter(record["sections"].values()))),
    ]


def verification(record: dict[str, Any]) -> list[str]:
    result = record["results"]
    source, target = result["sentences"]
    seconds = {name: statistics.median(values) for name, values in result["seconds"].items()}
    return [
        f"Time for {source:,} × {target:,} sentences: {seconds['search']:.1f} s for the neighbour "
        f"search (k = 8),",
        f"{result['verification, seconds']:.1f} s for verification "
        f"({result['candidates a minute'] / 1e6:.1f} million candidates/min, tokenising included),",
        f"{seconds['estimate']:.1f} s for the estimate of precision with {result['decoys']:,} "
        "decoys.",
    ]


def training(record: dict[str, Any]) -> list[str]:
    rows = (
        (
            row["size"],
            row["name"],
            f"{row['pairs/s']:,}",
            f"{row['ours is faster by']:.2f} ×",
        )
        for row in record["results"]
    )
    return [
        "Training throughput. All systems train on the same batches and alternate in one run.",
        "",
        *table(("size", "system", "pairs/s (median)", "speed-up of ours"), rows),
    ]


def simple(name: str, lines: Callable[[dict[str, Any]], list[str]]) -> Callable[[], list[str]]:
    """Return a section with the ``lines`` of a result, followed by its conditions."""

    def section() -> list[str]:
        record = report.read(name)
        return [*lines(record), "", conditions(record), ""]

    return section


def sections(
    record: dict[str, Any], made: Mapping[str, Callable[[dict[str, Any]], list[str]]]
) -> list[str]:
    """Return the lines of all measured sections; those of one run share their conditions."""
    there = {name: record["sections"][name] for name in made if name in record["sections"]}
    said = [*map(conditions, there.values()), ""]
    parts = []
    for number, (name, section) in enumerate(there.items()):
        parts.append(made[name](section["results"]))
        if said[number] != said[number + 1]:
            parts.append([said[number]])
    return conjoined(parts)


def sectioned(
    name: str, made: Mapping[str, Callable[[dict[str, Any]], list[str]]], key: Sequence[str] = ()
) -> Callable[[], list[str]]:
    """Return a section with all measured sections of a result, stored under ``key``."""
    return lambda: [*key, "", *sections(report.read(name), made)]


def part(
    name: str, lines: Callable[[dict[str, Any], Callable[..., str]], list[str]]
) -> Callable[[], list[str]]:
    """Return a section with the ``lines`` of a result; empty without the result."""

    def section() -> list[str]:
        if not (report.RESULTS / name).exists():
            return []
        return lines(report.read(name), conditions)

    return section


SECTIONS: dict[str, Callable[[], list[str]]] = {
    "best-mining": best_mining,
    "summary": summary.lines,
    "which-setting": which_setting.lines,
    "mining": simple("bucc.json", mining),
    "evaluations": part("evaluations.json", evaluation_tables.main_table),
    "evaluations-more": part("evaluations.json", evaluation_tables.tables),
    "tatoeba": part("evaluations.json", evaluation_tables.shipped),
    "seen": part("evaluations.json", evaluation_tables.seen),
    "precision": simple("precision.json", precision_reached.table),
    "aligners": part("aligners.json", aligner_peers.lines),
    "align": part("align.json", alignment_quality.tables),
    "sparse": part("sparse.json", sparse),
    "second-choice": second_choice.lines,
    **{
        f"second-{task}": part("second.json", partial(second_opinion.section, task=task))
        for task in ("mining", "filter", "align")
    },
    "sweep": part("sweep.json", precision_sweep.tables),
    "between": simple("between.json", between_languages.table),
    "review": part("review.json", review_labels.tables),
    "documents": simple("documents.json", lambda record: document_pairs.table(record["results"])),
    "verification": simple("verification.json", verification),
    "peers": part("peers.json", peers.lines),
    "training": simple("training.json", training),
    "bounds": simple("bounds.json", lambda record: quality_bounds.rows(record["results"])),
    "contrast": simple("contrast.json", lambda record: contrast.rows(record["results"])),
    "speed": sectioned("speed.json", speed_tables.SECTIONS),
    "hybrid": sectioned("hybrid.json", hybrid_tables.SECTIONS),
    "billion": simple("billion.json", scale_tables.billion),
    "shards": simple("shards.json", scale_tables.overhead),
    "slurm": simple("slurm.json", scale_tables.slurm),
    "memory": part("memory.json", scale_tables.memory),
    "languages": part("languages.json", language_tables.tables),
    "new-language": part("new-language.json", new_language.tables),
    "seeds": simple("seeds.json", seeds.seeds),
    "encoders": sectioned("encoders.json", encoder_tables.SECTIONS, encoder_tables.KEY),
    "foreign": sectioned("foreign.json", dict.fromkeys(foreign.PAIRS, foreign_tables.section)),
    "experiments": sectioned("experiments.json", experiment_tables.SECTIONS, experiment_tables.KEY),
    "papers": sectioned("papers.json", paper_figures.LINES),
    "filtering": sectioned("filtering.json", filter_tables.SECTIONS),
    "translation": part("translation.json", translation_tables.tables),
    "reliability": part("reliability.json", reliability_tables.tables),
    "gpu": part("gpu.json", speed_tables.gpus),
    **published.SECTIONS,
    **our_figures.SECTIONS,
}


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
            sys.exit(f"{path} differs from benchmarks/results: run python -m benchmarks pages")
    if not arguments.check:
        plots.draw()
