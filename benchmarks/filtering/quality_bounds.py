"""Measure what the default filter's bound of the quality keeps and drops, language by language.

    python -m benchmarks bounds --data DIR [--model default] [--record]

Right pairs are of two kinds. *Left out*: files that may ship and that the model was not trained on,
up to 300 pairs of each. The bound of a language is learned from all of them but one source, and
tried on that source, for each in turn. *Tatoeba* is never learned from. Wrong pairs: each source
with its nearest other target (neighbours), with a random one (shuffled), and with one of another
source (other domain). ``--record`` writes the bounds into the model's configuration.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.models.language_accuracy import record_languages
from miner import Encoder
from miner.encoder.known_languages import as_dict
from miner.encoder.model_files import resolve
from miner.evaluation.labelled_text import find_file
from miner.scoring.quality import Quality, bound_of
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH, describe

Pairs = tuple[list[str], list[str]]
# Pairs of a source, fewest that count, and of Tatoeba.
MOST, FEWEST, TATOEBA = 300, 60, 1000
USUAL = 0.1
SEED = 1
TRAINED_ON = Path(__file__).parent.parent.parent / "train" / "shipped.txt"
NAME = "bounds"


def sources(data: Path, language: str) -> Iterator[tuple[str, Pairs]]:
    """Yield text of a language with English that may ship and is not in the model's training."""
    trained = set(TRAINED_ON.read_text(encoding="utf-8").split())
    names = (data / "train" / "shippable.txt").read_text(encoding="utf-8").split()
    for name in names:
        if name.startswith(f"{language}-en/") and name not in trained:
            read = read_bitext(str(data / "train" / f"{name}.tsv.xz"))
            rows = np.random.default_rng(SEED).permutation(len(read.source))[:MOST].tolist()
            if len(rows) >= FEWEST:
                pairs = [read.source[row] for row in rows], [read.target[row] for row in rows]
                yield name.partition("/")[2], pairs


def wrong_pairs(encoder: Encoder, every: dict[str, Pairs]) -> dict[str, Pairs]:
    """Return wrong pairs by kind: neighbours, shuffled, other domain."""
    generator = np.random.default_rng(SEED)
    found: dict[str, Pairs] = {kind: ([], []) for kind in ("neighbours", "shuffled", "other")}
    names = list(every)
    for name, (source, target) in every.items():
        left, right = encoder.encode(source), encoder.on_side("target").encode(target)
        similar = left @ right.T
        for i, j in enumerate(range(len(target))):
            similar[i, [k for k in range(len(target)) if target[k] == target[j]]] = -np.inf
        near = [target[j] for j in similar.argmax(axis=1).tolist()]
        shift = [target[(i + 1 + len(target) // 3) % len(target)] for i in range(len(target))]
        others = [one for one in names if one != name] or names
        other = every[others[int(generator.integers(len(others)))]][1]
        far = [other[int(generator.integers(len(other)))] for _ in source]
        for kind, wrong in (("neighbours", near), ("shuffled", shift), ("other", far)):
            rows = [i for i, one in enumerate(wrong) if one != target[i]]
            found[kind][0].extend(source[i] for i in rows)
            found[kind][1].extend(wrong[i] for i in rows)
    return found


def measure(encoder: Encoder, data: Path, language: str) -> dict[str, Any]:
    """Return the bound of a language, and the shares of pairs that it drops and keeps."""
    quality = Quality(Verifier(encoder, (language, ENGLISH)))
    every = dict(sources(data, language))
    scores = {name: quality.score(*pairs) for name, pairs in every.items()}
    found: dict[str, Any] = {"pairs": sum(map(len, scores.values())), "sources": len(scores)}
    if not scores:
        return found
    found["bound"] = bound = bound_of(list(scores.values()))
    left_out = []
    for name in scores if len(scores) > 1 else ():
        rest = bound_of([one for other, one in scores.items() if other != name])
        left_out.append(float((scores[name] < rest).mean()))
    every_score = np.concatenate(list(scores.values()))
    found["left out"] = float(np.mean(left_out)) if left_out else None
    found["left out, before"] = float(np.mean([(one < USUAL).mean() for one in scores.values()]))
    found["learned from"] = float((every_score < bound).mean())
    if path := find_file(data / "tatoeba", f"{language}-en.tsv"):
        read = read_bitext(str(path))
        right = quality.score(read.source[:TATOEBA], read.target[:TATOEBA])
        found["Tatoeba"] = float((right < bound).mean())
        found["Tatoeba, before"] = float((right < USUAL).mean())
    for kind, pairs in wrong_pairs(encoder, every).items():
        wrong = quality.score(*pairs)
        found[kind] = float((wrong >= bound).mean())
        found[f"{kind}, before"] = float((wrong >= USUAL).mean())
    return found


def rows(results: dict[str, Any]) -> list[str]:
    """Return the table of the languages."""
    kinds = ("left out", "Tatoeba", "neighbours", "shuffled", "other")
    lines = []
    for code, one in results["languages"].items():
        if "bound" in one:
            shares = (_share(one.get(kind), one.get(f"{kind}, before")) for kind in kinds)
            lines.append([describe(code), f"{one['bound']:g}", *shares])
    return [
        "Right pairs dropped, of text left out of training and of Tatoeba, and wrong pairs kept, "
        "by the bound of each language; in brackets by a bound of 0.1 for all.",
        "",
        *table(("language", "bound", *kinds), lines),
    ]


def _share(now: float | None, before: float | None) -> str:
    if now is None:
        return "–"
    return f"{now:.1%}" + ("" if before is None else f" ({before:.1%})")


def main() -> None:
    parser = report.parser(__doc__, "bounds.json", model=True)
    parser.add_argument("--record", action="store_true", help="write into the model directory")
    arguments = parser.parse_args()
    encoder = Encoder.load(arguments.model)
    known = dict(encoder.model.languages)
    measured = {}
    for code in known:
        if code != ENGLISH:
            measured[code] = measure(encoder, arguments.data, code)
            print(code, measured[code], flush=True)
            bound = measured[code].get("bound")
            if bound is not None:
                known[code] = dataclasses.replace(
                    known[code],
                    quality_bound=bound,
                    wrong_kept=round(measured[code]["shuffled"], 3),
                )
    results = {"model": arguments.model, "languages": measured}
    report.write(arguments.json, NAME, results)
    print("\n".join(rows(results)))
    if arguments.record:
        record_languages(resolve(arguments.model), as_dict(known))
