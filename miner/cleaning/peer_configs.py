"""Translation of OpusFilter and OpusCleaner configurations to ours, where filters correspond."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.filters.registry import RULES
from miner.libraries import library
from miner.option_values import PEER_CONFIGS
from miner.progress import silent

Table = dict[str, Any]
Parameters = Mapping[str, Any]
Note = Callable[[str], None]
# Translator of a filter's parameters to our tables; it notes differences in meaning.
Translation = Callable[[Parameters, Note], list[Table]]
# Keys for the languages of both sides in filters of OpusCleaner.
_CODES = (("LANG1", "LANG2"), ("SRCLANG", "TGTLANG"), ("SRC_LANG", "TRG_LANG"))


def is_peer_config(path: str | Path) -> bool:
    """Return True for a configuration of OpusFilter or OpusCleaner, by its suffix."""
    return str(path).lower().endswith(PEER_CONFIGS)


def peer_config(path: str | Path, note: Note = silent) -> dict[str, Any]:
    """Read a configuration of OpusFilter (YAML) or OpusCleaner (JSON) as the content of our TOML.

    ``note`` receives lines about filters without a counterpart, and about differences. Raises
    ArtifactError for another kind of file, and DependencyError without the library that reads YAML.
    """
    content = _read(Path(path))
    steps = content.get("steps") if isinstance(content, dict) else None
    pipeline = content.get("filters") if isinstance(content, dict) else None
    if isinstance(steps, list):
        listed = _of_opusfilter(content, str(path))
    elif isinstance(pipeline, list):
        listed = _of_opuscleaner(pipeline, str(path))
    else:
        raise ArtifactError(
            f"{path}: has neither the 'steps' of OpusFilter nor the 'filters' of OpusCleaner"
        )
    record: dict[str, Any] = {"filter": []}
    labels: list[str] = []
    for name, parameters, translations in listed:
        if name not in translations:
            note(f"{path}: {name} has no counterpart")
            continue
        try:
            tables = translations[name](parameters, partial(_tell, note, name))
            record |= _languages(parameters)
        except (ArithmeticError, AttributeError, TypeError, ValueError):
            raise ArtifactError(
                f"{path}: {name} has unusual parameters: {parameters!r:.100}"
            ) from None
        for table in tables:
            label: str = table.get("label") or table["name"]
            labels.append(label)
            if labels.count(label) > 1:
                table["label"] = f"{label} {labels.count(label)}"
            record["filter"].append(table)
    if not record["filter"]:
        raise ArtifactError(f"{path}: no filter there has a counterpart; see 'miner filter --list'")
    return record


def _tell(note: Note, name: str, text: str) -> None:
    note(f"{name}: {text}")


def as_toml(record: Mapping[str, Any]) -> str:
    """Return a configuration's content as TOML."""
    lines = [f"{key} = {_value(value)}" for key, value in record.items() if key != "filter"]
    for table in record["filter"]:
        lines += ["", "[[filter]]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(value: Any) -> str:
    infinite = isinstance(value, float) and math.isinf(value)
    return str(value) if infinite else json.dumps(value, ensure_ascii=False)


Found = Iterator[tuple[str, Parameters, Mapping[str, Translation]]]


def _of_opusfilter(content: Parameters, path: str) -> Found:
    """Yield the filters of all steps, with their parameters."""
    common = content.get("common")
    constants = common.get("constants") or {} if isinstance(common, dict) else {}
    for number, step in enumerate(content["steps"], 1):
        where = f"{path}, step {number}"
        kind = step.get("type") if isinstance(step, dict) else None
        if not isinstance(kind, str):
            raise ArtifactError(f"{where}: has no type")
        if kind not in ("filter", "remove_duplicates"):
            yield kind, {}, {}
            continue
        known = {**constants, **(step.get("constants") or {})}
        parameters = _resolved(step.get("parameters") or {}, known, where)
        if kind == "filter":
            for entry in parameters.get("filters") or ():
                names = [key for key in entry if key != "module"] if isinstance(entry, dict) else []
                if len(names) != 1:
                    raise ArtifactError(f"{where}: {entry!r:.60} is no filter with its parameters")
                yield names[0], entry[names[0]] or {}, OPUSFILTER
        else:
            yield kind, parameters, {kind: _duplicates}


def _of_opuscleaner(pipeline: Sequence[Any], path: str) -> Found:
    for number, step in enumerate(pipeline, 1):
        if not isinstance(step, dict) or not isinstance(step.get("filter"), str):
            raise ArtifactError(f"{path}, filter {number}: has no name")
        name, parameters = step["filter"], step.get("parameters") or {}
        if name.startswith("opus."):
            yield name.removeprefix("opus."), parameters, OPUSFILTER
        else:
            yield name, parameters, OPUSCLEANER


def _languages(parameters: Parameters) -> dict[str, str]:
    """Return the languages named by the parameters of a filter, as keys of our TOML."""
    codes: Any = parameters.get("languages") or ()
    for keys in _CODES:
        if all(parameters.get(key) for key in keys):
            codes = [parameters[key] for key in keys]
    if len(codes) != 2 or not all(isinstance(code, str) for code in codes):
        return {}
    return dict(zip(("source_lang", "target_lang"), codes, strict=True))


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".json":
            return json.loads(text)
        return _yaml(text)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ArtifactError(f"{path}: is not {path.suffix[1:].upper()}: {error}") from None


class _Variable:
    """Variable of OpusFilter's YAML: ``!var name``, or ``!varstr`` text with names in braces."""

    def __init__(self, tag: str, text: str):
        self.tag, self.text = tag, text


def _yaml(text: str) -> Any:
    yaml = library("yaml", "reading YAML")
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    for tag in ("!var", "!varstr"):
        loader.add_constructor(tag, lambda _, node: _Variable(node.tag, node.value))
    try:
        return yaml.load(text, loader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _resolved(value: Any, constants: Parameters, where: str) -> Any:
    """Replace variables by their constants."""
    if isinstance(value, dict):
        return {key: _resolved(item, constants, where) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, constants, where) for item in value]
    if not isinstance(value, _Variable):
        return value
    try:
        text = value.text
        return constants[text] if value.tag == "!var" else text.format(**constants)
    except (KeyError, IndexError, ValueError):
        raise ArtifactError(f"{where}: {value.text!r} is no constant; write its value") from None


def _both(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list) else [value, value]


def _plain(name: str, difference: str = "", **bounds: float) -> Translation:
    """Return a translator of a peer's filter to ours, with these bounds or our defaults."""

    def translate(parameters: Parameters, note: Note) -> list[Table]:
        if difference:
            note(difference)
        return [{"name": name, **bounds}]

    return translate


def _bounded(name: str, key: str, usual: Any, difference: str = "", **edges: int) -> Translation:
    """Return a translator of a threshold, the stricter one of both sides, to one of our bounds.

    ``edges`` names the bound, and the number to add to the threshold.
    """
    ((edge, more),) = edges.items()
    stricter = max if edge == "minimum" else min

    def translate(parameters: Parameters, note: Note) -> list[Table]:
        if difference:
            note(difference)
        threshold = stricter(_both(parameters[key] if parameters.get(key) is not None else usual))
        return [{"name": name, edge: threshold + more}]

    return translate


def _lengths(least: str, most: str, usual: tuple[float, float]) -> Translation:
    def translate(parameters: Parameters, note: Note) -> list[Table]:
        if {*_both(parameters.get("unit", "word"))} != {"word"}:
            note("counts characters, for which there is no counterpart: 'length' counts words")
            return []
        low, high = _both(parameters.get(least, usual[0])), _both(parameters.get(most, usual[1]))
        return [
            {
                "name": "length",
                "label": f"length of the {side}",
                "of": side,
                "minimum": low[number],
                "maximum": high[number],
            }
            for number, side in enumerate(("source", "target"))
        ]

    return translate


def _length_ratio(parameters: Parameters, note: Note) -> list[Table]:
    if parameters.get("unit", "word") == "word":
        note("counts words; 'length_ratio' counts characters")
    return [{"name": "length_ratio", "maximum": parameters.get("threshold", 3), "slack": 0.0}]


def _token_ratio(parameters: Parameters, note: Note) -> list[Table]:
    if parameters.get("LOG"):
        note("a ratio of logarithms has no counterpart; 'length_ratio' has its own bound")
        return [{"name": "length_ratio"}]
    return _length_ratio({"threshold": 1 / parameters.get("RATIO", 0.6)}, note)


def _language(parameters: Parameters, note: Note) -> list[Table]:
    model = parameters.get("model_path") or parameters.get("fasttext_model_path")
    if model:
        least = min(parameters.get("thresholds") or [0.5])
        return [{"name": "lid", "file": str(model), "minimum": least}]
    note("identifies languages by another model; 'language' has its own bound")
    return [{"name": "language"}]


def _duplicates(parameters: Parameters, note: Note) -> list[Table]:
    compare = parameters.get("compare", "all")
    of = {"all": "pair", "0": "source", "1": "target"}.get(str(compare).strip("[]"), "pair")
    loose = any(parameters.get(key) for key in ("letters_only", "letter_words_only", "lowercase"))
    if parameters.get("overlap"):
        note("'overlap' is our --without FILE")
        return []
    return [{"name": "duplicates", "of": of, "exact": not loose}]


def _our_quality(parameters: Parameters, note: Note) -> list[Table]:
    least = parameters.get("threshold", parameters.get("THRESHOLD"))
    model = parameters.get("model", parameters.get("MODEL", "default"))
    own_model = {} if model == "default" else {"model": model}
    return [{"name": "quality", **own_model, **({} if least is None else {"minimum": least})}]


def _our_rules(parameters: Parameters, note: Note) -> list[Table]:
    rules = parameters.get("filters") or RULES
    return [{"name": rule} if isinstance(rule, str) else dict(rule) for rule in rules]


_OWN_BOUND = "scores otherwise; {} has its own bound"
_SCRIPTS = "names the scripts; 'script' takes those of the languages"
OPUSFILTER: dict[str, Translation] = {
    "LengthFilter": _lengths("min_length", "max_length", (1, 100)),
    "LengthRatioFilter": _length_ratio,
    "LongWordFilter": _bounded("longest_word", "threshold", 40, maximum=-1),
    "HtmlTagFilter": _plain("markup", "'markup' counts entities and braces, too", maximum=0),
    "AlphabetRatioFilter": _bounded(
        "letters", "threshold", 0.75, "counts spaces; 'letters' does not", minimum=0
    ),
    "CharacterScoreFilter": _bounded("script", "thresholds", 1, _SCRIPTS, minimum=0),
    **dict.fromkeys(
        (
            *("LanguageIDFilter", "LangidFilter", "Cld2Filter", "FastTextFilter", "LinguaFilter"),
            *("HeliportSimpleFilter", "HeliportConfidenceFilter"),
            *("HeliportRawScoreFilter", "HeliportProbabilityFilter"),
        ),
        _language,
    ),
    "TerminalPunctuationFilter": _plain("ending", _OWN_BOUND.format("'ending'")),
    "NonZeroNumeralsFilter": _bounded(
        "numbers", "threshold", 0.5, "compares digits; 'numbers' compares values", minimum=0
    ),
    "RepetitionFilter": _plain("repeated", _OWN_BOUND.format("'repeated'")),
    "WordAlignFilter": _plain("quality", _OWN_BOUND.format("'quality'")),
    "SentenceEmbeddingFilter": _plain("quality", _OWN_BOUND.format("'quality'")),
    "MinerQuality": _our_quality,
    "MinerRules": _our_rules,
}
OPUSCLEANER: dict[str, Translation] = {
    "remove_empty_lines": _plain("empty"),
    "max_length": _lengths("MINLENGTH", "MAXLENGTH", (1, 150)),
    "max_word_length": _bounded("longest_word", "MAXWORDLENGTH", 150, maximum=0),
    "src_trg_ratio": _token_ratio,
    "alpha_ratio": _plain("letters", _OWN_BOUND.format("'letters'")),
    "num_mismatch": _plain("numbers", _OWN_BOUND.format("'numbers'")),
    "url_mismatch": _plain("addresses"),
    "fasttext_filter": _language,
    "langid": _language,
    "langid_heliport": _language,
    "laser_similarity": _plain("quality", _OWN_BOUND.format("'quality'")),
    "miner_quality": _our_quality,
    "miner_rules": _our_rules,
}
