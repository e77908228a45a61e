"""Measure the filter `numbers`: right numbers that it rejects, and altered ones that it flags.

Right pairs are human translations with a digit on both sides, as written and in the digits of the
language's script. Some of their numbers are wrong, so the rejected share is an upper limit. An
altered pair is a right pair in which one number of the English side, shared by the other side, is
changed by rules that do not use the filter.

The filter was developed on up to 1,200 pairs per source of the training text; the retrieval sets of
Tatoeba are only reported. Rejected pairs of the retrieval sets are listed, so that readers can
check them. `number_verdicts.tsv` tells which rejected pairs of the training text have wrong
numbers; the corrected share is without them.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering.noise import Pair
from benchmarks.filtering.noisy_text import one
from benchmarks.markdown import head, line
from miner.errors import MinerError
from miner.filters.agreement import numbers
from miner.filters.registry import FILTERS
from miner.text.bitext import read_bitext

SEED = 11
# Sources of careful human translations.
SOURCES = ("newstest", "wmt21-23", "wmt24", "xquad", "tatoeba", "tatoeba-test", "tatoeba-decks")
# Maximum pairs per source, and altered pairs per kind.
MOST, ALTERED = 4000, 300
LANGUAGES = (
    "de", "fr", "es", "ru", "zh", "ja", "ko", "ar", "hi", "th", "fa", "pl", "cs", "vi", "el",
)  # fmt: skip
# Suffix of the files with sets for retrieval.
SUFFIX = "-en.tsv.xz"
# Digit zero in the script of a language.
ZEROS = {"zh": "０", "ja": "０", "ar": "٠", "hi": "०", "th": "๐", "fa": "۰"}

# Verdicts on rejected pairs, by the start of the hash of a pair.
VERDICTS = Path(__file__).with_name("number_verdicts.tsv")
_HASH = 12

_NUMBER = re.compile(r"(?<![\w.,:/−-])\d+(?:[.,]\d+)*(?![\w:/]|[.,]\d)", re.ASCII)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):([0-5]\d)(?![\d:])", re.ASCII)
_SCALE = re.compile(r"\d (million|billion|thousand)\b")
_DIGITS = re.compile(r"\d+")


def _times(zeros: int) -> Callable[[str], str | None]:
    def alter(token: str) -> str | None:
        digits = token.replace(",", "")
        if "." in token or not int(digits) or len(digits) > 12:
            return None
        value = int(digits) * 10**zeros
        return f"{value:,}" if "," in token else str(value)

    return alter


def _point(token: str) -> str | None:
    found = re.fullmatch(r"([1-9]\d*)\.(\d{1,2})", token)
    return found and found[1] + found[2]


def _digit(token: str) -> str | None:
    return f"{(int(token[0]) + 4) % 9 + 1}{token[1:]}"


def _sign(token: str) -> str | None:
    return f"−{token}" if token.strip("0.,") else None


def _year(token: str) -> str | None:
    return str(int(token) - 3) if re.fullmatch(r"1[5-9]\d\d|20\d\d", token) else None


ALTER: dict[str, Callable[[str], str | None]] = {
    "× 10": _times(1),
    "× 100": _times(2),
    "point moved": _point,
    "digit changed": _digit,
    "sign": _sign,
    "year": _year,
}
KINDS = (*ALTER, "clock", "magnitude")
_NEXT = {"million": "billion", "billion": "million", "thousand": "million"}


def altered(pair: Pair, kind: str, generator: np.random.Generator) -> str | None:
    """Alter a number of the English side that the other side has, too; None if there is none."""
    source, target = pair
    there = {str(int(run)) for run in _DIGITS.findall(source) if len(run) < 20}
    joined = re.sub(r"(?<=\d)[.,\s](?=\d)", "", source)
    there |= {str(int(run)) for run in _DIGITS.findall(joined) if len(run) < 20}
    if kind == "clock":
        found = [one for one in _CLOCK.finditer(target) if {str(int(one[2]))} <= there]
        choices = [(one.span(2), f"{(int(one[2]) + 20) % 60:02}") for one in found]
    elif kind == "magnitude":
        choices = [(one.span(1), _NEXT[one[1]]) for one in _SCALE.finditer(target)]
    else:
        choices = [
            (one.span(), new)
            for one in _NUMBER.finditer(target)
            if len(one[0]) < 20
            and str(int(re.sub(r"[.,]", "", one[0]))) in there
            and (new := ALTER[kind](one[0])) is not None
        ]
    if not choices:
        return None
    (start, end), new = choices[int(generator.integers(len(choices)))]
    return target[:start] + new + target[end:]


@cache
def _wrong() -> frozenset[str]:
    """Return the hashes of the pairs whose text was read to be wrong."""
    rows = [line.split("\t") for line in VERDICTS.read_text("utf-8").splitlines()]
    return frozenset(row[1] for row in rows if row[-1] == "wrong")


def is_wrong(pair: Pair) -> bool:
    """Tell whether a reader called the numbers of a pair wrong."""
    return hashlib.sha256("\t".join(pair).encode()).hexdigest()[:_HASH] in _wrong()


def measure(data: Path) -> dict[str, Any]:
    """Count right and altered pairs, and the rejected ones of both, by language."""
    least = FILTERS["numbers"].minimum
    assert least is not None

    def rejected(pairs: Sequence[Pair]) -> int:
        return sum(numbers(*pair) < least for pair in pairs)

    rows = []
    for language in LANGUAGES:
        print(f"  {language}", flush=True)
        generator = np.random.default_rng(SEED)
        sets = {"Tatoeba sets": _pairs(data / "tatoeba", f"{language}-en")}
        text: list[Pair] = []
        for source in SOURCES:
            try:
                found = _pairs(data / "train" / f"{language}-en", source)
            except MinerError:
                continue
            order = generator.permutation(len(found))[:MOST]
            text += [found[i] for i in sorted(order.tolist())]
        sets["training text"] = text
        if zero := ZEROS.get(language):
            own = {digit: chr(ord(zero) + digit) for digit in range(10)}
            sets["own digits"] = [
                (re.sub(r"[0-9]", lambda one: own[int(one[0])], source), target)  # noqa: B023
                for source, target in text
                if source.isascii() or re.search(r"[0-9]", source)
            ]
        changed: dict[str, dict[str, int]] = {}
        for kind in KINDS:
            right = [text[i] for i in generator.permutation(len(text)).tolist()]
            pairs: list[Pair] = []
            for pair in right:
                if len(pairs) == ALTERED:
                    break
                new = None if numbers(*pair) < 1 else altered(pair, kind, generator)
                if new is not None:
                    pairs.append((pair[0], new))
            changed[kind] = {"pairs": len(pairs), "flagged": rejected(pairs)}
        right_counts = {
            name: {
                "pairs": len(pairs),
                "rejected": rejected(pairs),
                "text wrong": sum(is_wrong(pair) for pair in pairs if numbers(*pair) < least),
            }
            for name, pairs in sets.items()
        }
        rows.append({"language": language, "right": right_counts, "altered": changed})
    everywhere = [_in_set(path, least) for path in sorted((data / "tatoeba").glob(f"*{SUFFIX}"))]
    return {"sources": SOURCES, "rows": rows, "sets": everywhere}


def _in_set(path: Path, least: float) -> dict[str, Any]:
    """Count the pairs of a retrieval set and those with digits; list the rejected ones."""
    language = path.name.removesuffix(SUFFIX)
    bitext = read_bitext(one(path.parent, f"{language}-en.tsv"))
    pairs = [*zip(bitext.source, bitext.target, strict=True)]
    digits = [sum(bool(_DIGITS.search(side)) for side in pair) for pair in pairs]
    return {
        "language": language,
        "pairs": len(pairs),
        "digits on one side": digits.count(1),
        "digits on both sides": digits.count(2),
        "rejected": [pair for pair in pairs if numbers(*pair) < least],
    }


def _pairs(folder: Path, name: str) -> list[Pair]:
    """Return the pairs of a file that have digits on both sides."""
    bitext = read_bitext(one(folder, f"{name}.tsv"))
    pairs = zip(bitext.source, bitext.target, strict=True)
    return [pair for pair in pairs if all(map(_DIGITS.search, pair))]


def tables(results: dict[str, Any]) -> list[str]:
    """Return the table of right pairs rejected and of altered pairs flagged, by language."""
    lines = [
        "The filter `numbers`, human translations with digits on both sides: pairs rejected of all",
        "(some have wrong numbers), and share of pairs flagged with one number altered. Corrected:",
        "without the rejected pairs whose text a reader called wrong, as a share of all.",
        "",
        *head(
            ["", "Tatoeba sets", "training text", "corrected", "own digits", *KINDS, "all altered"]
        ),
    ]
    for row in results["rows"]:
        right = [row["right"].get(name) for name in ("Tatoeba sets", "training text", "own digits")]
        cells = [f"{one['rejected']} of {one['pairs']:,}" if one else "–" for one in right]
        cells.insert(2, _corrected(right[1]))
        shares = [
            f"{found['flagged'] / found['pairs']:.1%}" if found["pairs"] else "–"
            for found in (*(row["altered"][kind] for kind in KINDS), _sum(row["altered"]))
        ]
        lines.append(line([row["language"], *cells, *shares]))
    sets = results["sets"]
    total = {
        key: sum(one[key] for one in sets)
        for key in ("pairs", "digits on one side", "digits on both sides")
    }
    rejected = [(one["language"], *pair) for one in sets for pair in one["rejected"]]
    lines += [
        "",
        f"Of {total['pairs']:,} pairs in the Tatoeba sets of {len(sets)} languages,",
        f"{total['digits on both sides']:,} with digits on both sides and "
        f"{total['digits on one side']:,} on one, `numbers` rejects {len(rejected)}:",
        "",
        *head(["", "source", "target"]),
        *map(line, rejected),
    ]
    return lines


def _corrected(right: dict[str, int] | None) -> str:
    """Return the share of pairs rejected whose text is not wrong."""
    if not right or "text wrong" not in right:
        return "–"
    return f"{(right['rejected'] - right['text wrong']) / right['pairs']:.2%}"


def _sum(found: dict[str, dict[str, int]]) -> dict[str, int]:
    return {key: sum(one[key] for one in found.values()) for key in ("pairs", "flagged")}
