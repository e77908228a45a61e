"""Tables of ``results/filtering.json``."""

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.filtering import altered_numbers, paragraph_rows, planted, rules
from benchmarks.filtering.noise import KINDS
from benchmarks.markdown import head, line

SPLIT = {True: "development", False: "report"}
# Names in the JSON, and their replacements in tables.
RENAMED = {"second look, alone": "verifier, pair features"}


def labelled(results: dict[str, Any]) -> list[str]:
    sets = results["sets"]
    heads = [
        f"{name}, {one['languages']} ({one['good']:,} of {one['pairs']:,} good; "
        f"{SPLIT[one['development']]})"
        for name, one in sets.items()
    ]
    lines = [
        "Labelled sets: AUC · average precision · F1 of the good pairs at the threshold that is",
        "best on the set itself:",
        "",
        *head(["score", *heads]),
    ]
    for row in results["rows"]:
        if not row["decides"]:
            lines.append(line([_name(row), *(_ranked(row["sets"][name]) for name in sets)]))
    lines += ["", "The same sets: precision · recall · F1 of the pairs that a filter keeps:", ""]
    lines += head(["filter", *sets])
    for row in results["rows"]:
        if row["decides"]:
            lines.append(line([_name(row), *(_decided(row["sets"][name]) for name in sets)]))
    return lines


def synthetic(results: dict[str, Any]) -> list[str]:
    percent = f"{results['precision']:.0%}"
    lines = [
        "Held-out text, half of the pairs corrupted: share of each kind of noise that is removed",
        "from the test text. Scores have the threshold that removes most pairs of the development",
        f"text while {percent} of these are noise. Filters are used as they are. *Reached*: share",
        "of noise among the removed pairs of the test text. *Good kept*: share of its good pairs",
        f"that remain. *{percent} good*: share of good pairs kept at another threshold, where",
        f"{percent} of the kept pairs are good; chosen on the development text or, in brackets, on",
        "the test text.",
    ]
    for languages, splits in results["texts"].items():
        counts = splits["test"]
        kinds = [kind for kind in KINDS if counts[kind]]
        lines += ["", f"{languages}, {sum(counts.values()):,} pairs:", ""]
        heads = ["AUC", f"{percent} good", "reached", "good kept", *kinds]
        lines += head(["", *heads])
        for row in results["rows"]:
            found = row["texts"][languages]
            if "missing" in found:
                cells = [_missing(found), *[""] * (len(heads) - 1)]
            elif row["decides"]:
                cells = ["–", "–", *_removed(found["decision"], kinds)]
            else:
                keeping, cut = found["keeping"], found["removing"]["dev"]
                cells = [
                    f"{found['auc']:.3f}",
                    f"{_share(keeping['dev'])} ({_share(keeping['oracle'])})",
                    *(_removed(cut, kinds) if cut else ["–"] * (2 + len(kinds))),
                ]
            lines.append(line([_name(row), *cells]))
    return lines


def _share(found: dict[str, Any] | None) -> str:
    return f"{found['recall'] if found else 0:.3f}"


def _removed(found: dict[str, Any], kinds: Iterable[str]) -> list[str]:
    shares = [f"{found['removed'][kind]:.2f}" for kind in kinds]
    return [f"{found['precision of removal']:.3f}", f"{found['recall']:.3f}", *shares]


def _ranked(found: dict[str, Any]) -> str:
    if "missing" in found:
        return _missing(found)
    best = found["best f1"]["f1"]
    return f"{found['auc']:.3f} · {found['average precision']:.3f} · {best:.3f}"


def _decided(found: dict[str, Any]) -> str:
    if "missing" in found:
        return _missing(found)
    return f"{found['precision']:.3f} · {found['recall']:.3f} · {found['f1']:.3f}"


def _missing(found: dict[str, Any]) -> str:
    return f"missing: {found['missing']}"


def _name(row: dict[str, Any]) -> str:
    return RENAMED.get(row["name"], row["name"])


SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "labelled": labelled,
    "synthetic": synthetic,
    "without": planted.tables,
    "numbers": altered_numbers.tables,
    "rules": rules.tables,
    "paragraphs": paragraph_rows.tables,
}
