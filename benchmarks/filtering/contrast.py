"""Measure how far the quality falls where one fact of a pair is changed.

    python -m benchmarks contrast --data DIR [--model default] [--languages de fr] [--part dev]

Right pairs are the Tatoeba test sets and news that the model was not trained on: the true pairs of
the bucc-style training splits, and newstest of other languages. Settings are chosen on part *dev*,
which has the same kinds of text in other languages, and are reported on part *test*. Changed pairs
are the same pairs with one fact of a side changed by rules
(:mod:`benchmarks.filtering.changed_facts`). Of each kind of change: the share of changed pairs
whose quality is below the bound that drops 2% or 1% of the right pairs of the set, below the
language's default bound, and below that of the right pair (order); and the share below the bound on
the factor of facts and numbers alone that drops 2%. The bounds of the shares are chosen on the
right pairs themselves.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.filtering.changed_facts import ENGLISH, FOREIGN, Rule, changed
from benchmarks.filtering.noise import Pair
from benchmarks.filtering.noisy_text import news, one
from benchmarks.markdown import table
from miner import Encoder
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import Quality, logits_and_factors
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH as EN

# Languages of the parts, and of the means.
PARTS = {
    "test": {"Tatoeba": ("de", "fr", "es", "ru", "cs", "ja"), "news": ("de", "fr", "ru", "zh")},
    "dev": {"Tatoeba": ("it", "nl", "pl", "pt", "hu", "tr"), "news": ("es", "cs", "it", "pl")},
}
NOT_IN_MEANS = "ja"
# Right pairs of a set, and fewest changed pairs for a share.
MOST, FEWEST = 1000, 20
LOST = (0.02, 0.01)
USUAL = 0.1
SEED = 1
NAME = "contrast"
COLUMNS = ("at 2%", "at 1%", "default bound", "order", "facts alone, 2%")


def right_pairs(data: Path, name: str, language: str) -> list[Pair]:
    """Return the right pairs of a set of a language."""
    if name == "Tatoeba":
        read = read_bitext(str(one(data / "tatoeba", f"{language}-en.tsv")))
    elif (data / "bucc-style" / f"{language}-en").exists():
        return news(data, f"{language}-en")[:MOST]
    else:
        read = read_bitext(str(one(data / "train" / f"{language}-en", "newstest.tsv")))
    order = np.random.default_rng(SEED).permutation(len(read.source))[:MOST]
    return [(read.source[row], read.target[row]) for row in sorted(order.tolist())]


def rules(language: str) -> dict[str, tuple[int, Rule]]:
    """Return the side and rule of each kind of change."""
    found = {kind: (1, rule) for kind, rule in ENGLISH.items()}
    return found | {
        f"{kind}, foreign side": (0, rule) for kind, rule in FOREIGN.get(language, {}).items()
    }


def measure(encoder: Encoder, language: str, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the shares of a set."""
    quality = Quality(Verifier(encoder, (language, EN)))
    known = encoder.model.languages[language].quality_bound
    default = USUAL if known is None else known
    score, facts = scores(quality, pairs)
    bounds = {f"at {lost:.0%}": float(np.quantile(score, lost)) for lost in LOST}
    bounds["default bound"] = default
    kinds = {}
    for kind, (side, rule) in rules(language).items():
        new = [changed(pair[side], rule) for pair in pairs]
        rows = [row for row, text in enumerate(new) if text is not None]
        if len(rows) < FEWEST:
            continue
        other = [
            (text, pairs[row][1]) if side == 0 else (pairs[row][0], text)
            for row, text in enumerate(new)
            if text is not None
        ]
        after, after_facts = scores(quality, other)
        kinds[kind] = {
            "pairs": len(rows),
            **{name: float((after < bound).mean()) for name, bound in bounds.items()},
            "order": float((after < score[rows]).mean()),
            "facts alone, 2%": float((after_facts < np.quantile(facts, LOST[0])).mean()),
        }
    lost = {
        "by the default bound": float((score < default).mean()),
        "by it, not without facts": float(((score < default) & (score >= default * facts)).mean()),
    }
    return {"pairs": len(pairs), "bounds": bounds, "right pairs dropped": lost, "kinds": kinds}


def scores(quality: Quality, pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Return the quality of pairs, and its factor: no number or other fact contradicts."""
    sides = map(list, zip(*pairs, strict=True))
    logit, factor = logits_and_factors(quality.verifier, quality.calibrated, *sides)
    return factor * sigmoid(logit), factor


def rows(results: dict[str, Any]) -> list[str]:
    """Return the tables of the means of the kinds, and of the languages."""
    lines = [
        "Changed pairs that fall below a bound: the one that drops 2% (1%) of the right pairs of "
        "the set, the language's default; below the right pair; by the facts alone.",
    ]
    for name, languages in results.items():
        codes = [code for code in languages if code != NOT_IN_MEANS]
        measured = [languages[code] for code in codes]
        kinds = dict.fromkeys(kind for found in measured for kind in found["kinds"])
        cells = []
        for kind in kinds:
            known = [found["kinds"][kind] for found in measured if kind in found["kinds"]]
            means = (f"{np.mean([found[column] for found in known]):.2f}" for column in COLUMNS)
            cells.append((kind, f"{sum(found['pairs'] for found in known):,}", *means))
        lines += ["", f"{name}, mean of {', '.join(codes)}:", ""]
        lines += table(("kind", "changed pairs", *COLUMNS), cells)
    lines += ["", "At 2% by language, and right pairs dropped by the default bound:", ""]
    cells = []
    for name, languages in results.items():
        for code, found in languages.items():
            shares = (
                f"{found['kinds'][kind]['at 2%']:.2f}" if kind in found["kinds"] else "–"
                for kind in ENGLISH
            )
            lost = found["right pairs dropped"].values()
            cells.append((f"{name}, {code}", *shares, *(f"{share:.1%}" for share in lost)))
    head = ("set", *ENGLISH, "right dropped", "by facts alone")
    return [*lines, *table(head, cells)]


def main() -> None:
    parser = report.parser(__doc__, "contrast.json", model=True)
    parser.add_argument("--languages", nargs="+", help="[all]")
    parser.add_argument("--part", choices=PARTS, default="test", help="only test is recorded")
    arguments = parser.parse_args()
    encoder = Encoder.load(arguments.model)
    results: dict[str, Any] = {}
    for name, languages in PARTS[arguments.part].items():
        results[name] = {}
        for code in languages:
            if arguments.languages is None or code in arguments.languages:
                pairs = right_pairs(arguments.data, name, code)
                results[name][code] = measure(encoder, code, pairs)
                print(name, code, len(pairs), flush=True)
    print("\n".join(rows(results)))
    if arguments.languages is None and arguments.part == "test":
        report.write(arguments.json, NAME, results)
