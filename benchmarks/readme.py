"""Write the results tables of the README from ``benchmarks/results/*.json``.

    python -m benchmarks.readme [--check]

Everything between ``<!-- results -->`` and ``<!-- /results -->`` is replaced; ``--check`` only
compares, and ends with 1 where the README is not what the results say.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import report

README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- results -->\n", "<!-- /results -->\n"
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
        "Mining, BUCC protocol (ratio margin, k = 4, threshold tuned on the training split):",
        "",
        "| set | model | threshold | precision | recall | **F1 on test** | F1 on training |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        test, training = row["test"], row["training"]
        lines.append(
            f"| bucc-style {row['pair']} | {NAMES[row['name']]} | {training['threshold']:.3f} "
            f"| {test['precision']:.3f} | {test['recall']:.3f} | **{test['f1']:.3f}** "
            f"| {training['f1']:.3f} |"
        )
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


def tables() -> str:
    return "\n".join([*mining(), *training()])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    wanted = f"{before}{START}{tables()}{END}{after}"
    if arguments.check:
        sys.exit(0 if text == wanted else "README.md is not what benchmarks/results say")
    README.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
