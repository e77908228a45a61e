"""Tables of the translators trained on filtered text."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import conjoined, table

METRICS = ("chrF2", "BLEU")


def tables(record: dict[str, Any], conditions: Callable[..., str]) -> list[str]:
    """Return a table for each language pair and text, with its conditions."""
    parts = []
    for name, section in record["sections"].items():
        result = section["results"]
        setting, tests = result["setting"], result["tests"]
        how = f"a phrase-based translator, beam {setting.get('beam')}"
        if "updates" in setting:
            how = (
                f"{setting['updates']:,} updates of {setting['batch']:,} pieces, "
                f"{setting['layers']} layers a side, {setting['dimension']} units"
            )
        columns = ("filtered by", "seed", "pairs kept", "clean kept", "noise kept", *tests)
        rows = [row for row in result["rows"] if "kept" in row]
        parts += [
            [f"{name}: {result['pairs']:,} pairs; {how}."],
            table(columns, [cells(row, list(tests)) for row in rows]),
            [conditions(section)],
        ]
    return conjoined(parts)


def cells(row: dict[str, Any], tests: list[str]) -> list[str]:
    found = [row["system"], str(row["seed"]), f"{row['kept']:,}"]
    found += [f"{row[share]:.1%}" for share in ("clean kept", "noise kept")]
    return [*found, *(cell(row["scores"][name]) for name in tests)]


def cell(of: dict[str, Any]) -> str:
    """Return chrF with its interval, and BLEU; a star for a difference from ours."""
    chrf, bleu = (of[name] for name in METRICS)
    mark = "\\*" if chrf["p"] is not None and chrf["p"] < 0.05 else ""
    return f"{chrf['score']:.1f}{mark} ± {chrf['interval']:.1f} ({bleu['score']:.1f})"
