"""Filters of OpusCleaner: descriptions of our commands, which get rows on standard input."""

import json
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.filters.registry import RULES

_LANGUAGES = {
    name: {
        "type": "str",
        "default": None,
        "help": f"Language of the {side} column, such as {code}.",
    }
    for name, side, code in (("SRCLANG", "first", "de"), ("TGTLANG", "second", "en"))
}
# Otherwise the languages would be identified again in each batch of rows.
_GIVEN = '--source-lang "${SRCLANG:?is needed}" --target-lang "${TGTLANG:?is needed}"'
FILTERS: dict[str, dict[str, Any]] = {
    "miner_quality": {
        "type": "bilingual",
        "description": "Keep pairs whose sides mean the same, by the quality of bitext-miner.",
        "command": 'opuscleaner-threshold "$THRESHOLD" miner score - --score-only '
        f'--on-error replace -q --model "$MODEL" {_GIVEN}',
        "parameters": {
            "THRESHOLD": {
                "type": "float",
                "min": 0,
                "max": 1,
                "default": 0.1,
                "help": "Least probability that both sides mean the same.",
            },
            "MODEL": {"type": "str", "default": "default", "help": "Directory of the model."},
            **_LANGUAGES,
        },
    },
    "miner_rules": {
        "type": "bilingual",
        "description": "Drop empty, copied, damaged and otherwise odd pairs by the rules of "
        "bitext-miner, which miner_rules.toml lists.",
        "command": f"miner filter - --config miner_rules.toml --on-error skip {_GIVEN}",
        "parameters": _LANGUAGES,
    },
}
_HEAD = """\
# Rules of the filter miner_rules: 'miner filter --list' describes them, their settings and bounds.
"""


def install(directory: Path, overwrite: bool) -> list[Path]:
    """Write the descriptions of the filters, and the rules that one of them names, to a directory.

    Raises ArtifactError for an existing file, unless ``overwrite``.
    """
    texts = {f"{name}.json": json.dumps(entry, indent=2) + "\n" for name, entry in FILTERS.items()}
    rules = (f'\n[[filter]]\nname = "{name}"\n' for name in RULES)
    texts["miner_rules.toml"] = _HEAD + "".join(rules)
    paths = {directory / name: text for name, text in texts.items()}
    for path in reversed([*paths]):  # name the rules first: a user may have edited them
        if path.exists() and not overwrite:
            raise ArtifactError(f"{path}: exists; give --overwrite to replace it")
    directory.mkdir(parents=True, exist_ok=True)
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return [*paths]
