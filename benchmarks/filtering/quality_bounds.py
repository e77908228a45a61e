"""Calibrate the quality of each language, and measure what its bound keeps and drops.

    python -m benchmarks bounds --data DIR [--model default] [--record]

Calibration and bound of a language are learned from files that may ship and that the model was not
trained on. What they drop is measured on right pairs of three kinds. *Source left out*: the same
files, each by what is learned without the source, of whatever language; the mean of all. *Other
text*: files that may not ship, so that nothing is learned from them. *Tatoeba*: the test set.
Wrong pairs: each source with its nearest other target (neighbours), with a random one (shuffled),
and with one of another source (other domain). A language without files to learn from has
the calibration of all languages together.
``--record`` writes all into the model's configuration and card.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.models import language_tables
from benchmarks.models.language_accuracy import record
from miner import Encoder
from miner.encoder.known_languages import as_dict
from miner.encoder.lexicons import Direction
from miner.encoder.model_files import resolve
from miner.evaluation.labelled_text import find_file
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner.text.bitext import read_bitext
from miner.text.language_codes import ENGLISH, describe
from miner_train.calibrate_quality import (
    Calibration,
    QualityEvidence,
    calibrations,
    evidence_of,
    with_calibrations,
)

Pairs = tuple[list[str], list[str]]
# Maximum pairs of a source, minimum pairs, and pairs of Tatoeba; wrongly paired sentences of a
# source.
MOST, FEWEST, TATOEBA, WRONG = 600, 60, 1000, 200
USUAL = 0.1
SEED = 1
TRAINED_ON = Path(__file__).parent.parent.parent / "train" / "shipped.txt"
NAME = "bounds"


def sources(data: Path, language: str, *, shippable: bool) -> Iterator[tuple[str, Pairs]]:
    """Yield text of a language with English that is not in the model's training.

    ``shippable``: only text that may ship, or only text that may not.
    """
    trained = set(TRAINED_ON.read_text(encoding="utf-8").split())
    free = set((data / "train" / "shippable.txt").read_text(encoding="utf-8").split())
    for path in sorted((data / "train" / f"{language}-en").glob("*.tsv.xz")):
        name = f"{language}-en/{path.name.removesuffix('.tsv.xz')}"
        if name not in trained and (name in free) == shippable:
            read = read_bitext(str(path))
            rows = np.random.default_rng(SEED).permutation(len(read.source))[:MOST].tolist()
            if len(rows) >= FEWEST:
                pairs = [read.source[row] for row in rows], [read.target[row] for row in rows]
                yield name.partition("/")[2], pairs


def wrong_pairs(encoder: Encoder, every: dict[str, Pairs], most: int = WRONG) -> dict[str, Pairs]:
    """Make wrong pairs by kind: neighbours, shuffled, other domain.

    At most ``most`` pairs of each source are used.
    """
    generator = np.random.default_rng(SEED)
    kinds = "neighbours", "shuffled", "other domain"
    found: dict[str, Pairs] = {kind: ([], []) for kind in kinds}
    names = list(every)
    for name in names:
        source, target = (side[:most] for side in every[name])
        left, right = encoder.encode(source), encoder.on_side("target").encode(target)
        similar = left @ right.T
        for i, j in enumerate(range(len(target))):
            similar[i, [k for k in range(len(target)) if target[k] == target[j]]] = -np.inf
        near = [target[j] for j in similar.argmax(axis=1).tolist()]
        shift = [target[(i + 1 + len(target) // 3) % len(target)] for i in range(len(target))]
        others = [one for one in names if one != name] or names
        other = every[others[int(generator.integers(len(others)))]][1]
        far = [other[int(generator.integers(len(other)))] for _ in source]
        for kind, wrong in zip(kinds, (near, shift, far), strict=True):
            rows = [i for i, one in enumerate(wrong) if one != target[i]]
            found[kind][0].extend(source[i] for i in rows)
            found[kind][1].extend(wrong[i] for i in rows)
    return found


def learned_from(encoder: Encoder, data: Path) -> dict[Direction, dict[str, QualityEvidence]]:
    """Return the evidence of calibrations, by language pair and source."""
    found: dict[Direction, dict[str, QualityEvidence]] = {}
    for code in encoder.model.languages:
        if code != ENGLISH:
            quality = Quality(Verifier(encoder, (code, ENGLISH)))
            every = sources(data, code, shippable=True)
            found[code, ENGLISH] = {
                name: evidence_of(quality, pairs, SEED) for name, pairs in every
            }
            print(code, *found[code, ENGLISH], flush=True)
    return found


def without(
    texts: dict[Direction, dict[str, QualityEvidence]], left_out: str | None = None
) -> dict[Direction, Calibration]:
    """Learn the calibrations without one source."""
    return calibrations(
        {
            pair: [one for name, one in own.items() if name != left_out]
            for pair, own in texts.items()
        }
    )


def losses(texts: dict[Direction, dict[str, QualityEvidence]]) -> dict[str, dict[str, float]]:
    """Return the dropped share of right pairs of each left-out source, by language."""
    found: dict[str, dict[str, float]] = {pair[0]: {} for pair in texts}
    for source in dict.fromkeys(name for own in texts.values() for name in own):
        learned = without(texts, source)
        for pair, own in texts.items():
            if source in own and pair in learned:
                line, bound = learned[pair]
                found[pair[0]][source] = _below(own[source].scores(line), bound)
    return found


def measure(encoder: Encoder, data: Path, language: str) -> dict[str, Any]:
    """Return the bound of a language, and the shares of right and wrong pairs around it.

    The encoder's model has its calibration.
    """
    quality = Quality(Verifier(encoder, (language, ENGLISH)))
    facts = encoder.model.languages[language]
    bound = USUAL if facts.quality_bound is None else facts.quality_bound
    found: dict[str, Any] = {"bound": bound, "map": facts.quality_map}
    own = dict(sources(data, language, shippable=True))
    others = dict(sources(data, language, shippable=False))
    if others:
        lost = [_below(quality.score(*pairs), bound) for pairs in others.values()]
        found["other text"] = float(np.mean(lost))
    if path := find_file(data / "tatoeba", f"{language}-en.tsv"):
        read = read_bitext(str(path))
        score = quality.score(read.source[:TATOEBA], read.target[:TATOEBA])
        found["Tatoeba"] = _below(score, bound)
    for kind, pairs in wrong_pairs(encoder, own or others).items():
        if pairs[0]:
            found[kind] = 1 - _below(quality.score(*pairs), bound)
    return found


def _below(scores: np.ndarray, bound: float) -> float:
    return float((scores < bound).mean())


def rows(results: dict[str, Any]) -> list[str]:
    """Return the table of the languages."""
    kinds = ("source left out", "other text", "Tatoeba", "neighbours", "shuffled", "other domain")
    lines = []
    for code, one in results["languages"].items():
        shares = (f"{one[kind]:.1%}" if one.get(kind) is not None else "–" for kind in kinds)
        lines.append([describe(code), f"{one['bound']:g}", *shares])
    return [
        "Right pairs dropped (source left out, other text, Tatoeba), and wrong pairs kept "
        "(neighbours, shuffled, other domain), by the bound of each language.",
        "",
        *table(("language", "bound", *kinds), lines),
    ]


def main() -> None:
    parser = report.parser(__doc__, "bounds.json", model=True)
    parser.add_argument("--record", action="store_true", help="write into the model directory")
    arguments = parser.parse_args()
    encoder = Encoder.load(arguments.model)
    texts = learned_from(encoder, arguments.data)
    lost = losses(texts)
    encoder = Encoder(with_calibrations(encoder.model, without(texts)))
    known = dict(encoder.model.languages)
    measured = {}
    for code in (code for code in known if code != ENGLISH):
        found = measure(encoder, arguments.data, code)
        if lost[code]:
            found["source left out"] = float(np.mean([*lost[code].values()]))
            found["sources"] = lost[code]
        measured[code] = found
        print(code, found, flush=True)
        dropped = found.get("source left out", found.get("other text"))
        known[code] = dataclasses.replace(
            known[code],
            right_dropped=None if dropped is None else round(dropped, 3),
            wrong_kept=round(found["shuffled"], 3) if "shuffled" in found else None,
        )
    results = {"model": arguments.model, "languages": measured}
    report.write(arguments.json, NAME, results)
    print("\n".join(rows(results)))
    if arguments.record:
        facts = {"languages": as_dict(known), "fingerprint": encoder.model.fingerprint}
        record(resolve(arguments.model), known, language_tables.rows(facts))
