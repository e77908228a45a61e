"""The tables of ``results/filtering.json``; a section that was not measured has none."""

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.filtering.noise import KINDS

SPLIT = {True: "development", False: "report"}


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Lines of Markdown; ``conditions`` says of a section what it was measured with."""
    lines: list[str] = []
    for name, section_lines in SECTIONS.items():
        if name in record["sections"]:
            section = record["sections"][name]
            peers = section["results"].get("peers", {})
            said = "".join(f", {peer} {version}" for peer, version in peers.items())
            lines += [*section_lines(section["results"]), "", conditions(section) + said, ""]
    return lines[:-1]


def labelled(results: dict[str, Any]) -> list[str]:
    sets = results["sets"]
    heads = [
        f"{name}, {one['languages']} ({one['good']:,} of {one['pairs']:,} good; "
        f"{SPLIT[one['development']]})"
        for name, one in sets.items()
    ]
    lines = [
        "Labelled sets, AUC · average precision · best F1 of the good pairs, with the threshold",
        "that is best on the set itself:",
        "",
        *_head(["score", *heads]),
    ]
    for row in results["rows"]:
        if not row["decides"]:
            lines.append(_line([row["name"], *(_ranked(row["sets"][name]) for name in sets)]))
    lines += ["", "The same, precision · recall · F1 of what is kept:", ""]
    lines += _head(["filter", *sets])
    for row in results["rows"]:
        if row["decides"]:
            lines.append(_line([row["name"], *(_decided(row["sets"][name]) for name in sets)]))
    return lines


def synthetic(results: dict[str, Any]) -> list[str]:
    percent = f"{results['precision']:.0%}"
    lines = [
        "Held-out text, half of the pairs noisy: the share of each kind of noise that is removed,",
        f"on the test text. Scores are cut where they remove most and {percent} of that is noise",
        "on the development text; filters remove what they remove. *Reached* is the share of noise",
        "in what is removed, *good kept* that of the good pairs which stay, both on the test text.",
        f"*{percent} good* is another cut: the share of good pairs kept where {percent} of what is",
        "kept is good on the development text and, in brackets, on the test text itself.",
    ]
    for languages, splits in results["texts"].items():
        counts = splits["test"]
        kinds = [kind for kind in KINDS if counts[kind]]
        lines += ["", f"{languages}, {sum(counts.values()):,} pairs:", ""]
        heads = ["AUC", f"{percent} good", "reached", "good kept", *kinds]
        lines += _head(["", *heads])
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
            lines.append(_line([row["name"], *cells]))
    return lines


def _share(found: dict[str, Any] | None) -> str:
    return f"{found['recall'] if found else 0:.3f}"


def _removed(found: dict[str, Any], kinds: Iterable[str]) -> list[str]:
    shares = [f"{found['removed'][kind]:.2f}" for kind in kinds]
    return [f"{found['precision of removal']:.3f}", f"{found['recall']:.3f}", *shares]


def throughput(results: dict[str, Any]) -> list[str]:
    if "missing" in results:
        return [f"Throughput of `miner filter`: missing: {results['missing']}."]
    dear = sorted(results["shares"].items(), key=lambda item: -item[1])
    return [
        f"`miner filter` with its default filters takes {results['pairs']:,} pairs of real text, "
        f"{results['kept']:,} of which it keeps,",
        f"at {results['pairs/s']:,} pairs/s (median of {results['rounds']}; {results['min']:,} to "
        f"{results['max']:,}), start included. Shares of the filters' time:",
        f"{', '.join(f'{name} {share:.0%}' for name, share in dear)}.",
    ]


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


def _head(names: Iterable[str]) -> list[str]:
    names = list(names)
    return [_line(names), _line(["---"] * len(names))]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


SECTIONS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "labelled": labelled,
    "synthetic": synthetic,
    "throughput": throughput,
}
