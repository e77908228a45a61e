"""Contrast cases: the share in which a score prefers a translation to its corruption.

Cases are generated from any bitext whose target is English by changing one fact of the translation,
as xsim++ does (Chen et al. 2023), or read from a file in the format of DEMETR (Karpinska et al.
2022). A tie counts as wrong. The level is measured, too: the share of corruptions below the bound
that drops 2% or 1% of the translations of a language. Scores are the cosine and, for a model with
a verifier, the quality and the probability by pair features.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from miner.errors import ArtifactError, CorpusError
from miner.evaluation.evaluated_model import EvaluatedModel, MinerModel
from miner.evaluation.labelled_text import tab_rows
from miner.evaluation.metrics import Statistic, ratio, value_of
from miner.evaluation.results import Metric, TaskResult, resample
from miner.progress import Reporter, silent
from miner.scoring.languages import identify
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import Quality, cosines
from miner.scoring.verifier import Verifier
from miner.text.corruptions import KINDS, Material, corrupt, seeded
from miner.text.language_codes import ENGLISH
from miner.text.output import open_output

TASK = "contrast"
# Cases of each kind by default, and minimum number to report.
CASES, FEWEST = 1000, 20
# Shares of translations that a bound drops, and the fewest translations for a bound.
LOST, ENOUGH = (0.02, 0.01), 100
# Score difference below which two scores are equal: reordering a sum changes it by less.
TIE = 1e-6
# Severities with which DEMETR's names of kinds begin, for example major_id17_tense.
SEVERITIES = ("critical", "major", "minor", "base")
SERIOUS = SEVERITIES[:2]
# Pairs scored at a time.
BLOCK = 4096


@dataclass(frozen=True)
class Case:
    """Contrast case: a source, its translation, and the translation with one fault of a kind."""

    kind: str
    language: str
    source: str
    translation: str
    corrupted: str

    @property
    def severity(self) -> str | None:
        """Severity at the start of the kind's name, or None."""
        first = self.kind.split("_")[0]
        return first if first in SEVERITIES else None


def make_cases(
    source: Sequence[str], target: Sequence[str], language: str = "", count: int = CASES
) -> list[Case]:
    """Generate up to ``count`` cases of each kind from translations into English, ordered by kind.

    They depend on the texts, not on their order; a larger ``count`` only adds cases.
    """
    pairs = dict.fromkeys(zip(source, target, strict=True))
    ordered = sorted(pairs, key=lambda pair: (seeded(*pair).random(), pair))
    material = Material.of(translation for _, translation in ordered)
    cases = []
    for kind in KINDS:
        generated = 0
        for sentence, translation in ordered:
            corrupted = corrupt(translation, kind, material) if generated < count else None
            if corrupted is not None:
                cases.append(Case(kind, language, sentence, translation, corrupted))
                generated += 1
    return cases


def read_cases(path: str | Path, languages: Sequence[str] = ()) -> list[Case]:
    """Read cases in DEMETR's format: kind, language, source, translation, corruption,
    tab-separated.

    ``languages``: only cases in these. Further columns are ignored. Raises CorpusError for a
    malformed line, and if no case remains.
    """
    cases, others = [], set()
    for line, columns in tab_rows(path):
        if len(columns) < 5:
            raise CorpusError(
                f"{path}, line {line}: {len(columns)} columns; kind, language, source, "
                "translation and corruption are needed, separated by tabs"
            )
        case = Case(*columns[:5])
        if not languages or case.language in languages:
            cases.append(case)
        else:
            others.add(case.language)
    if not cases:
        known = f" in {', '.join(languages)}; it has {', '.join(sorted(others))}" if others else ""
        raise CorpusError(f"{path}: has no contrast case{known}")
    return cases


def write_cases(cases: Iterable[Case], path: str | Path) -> None:
    """Write cases in the format that :func:`read_cases` reads."""
    with open_output(path) as file:
        for case in cases:
            file.write("\t".join(" ".join(text.split()) for text in astuple(case)) + "\n")


def evaluate(model: EvaluatedModel, cases: Sequence[Case], report: Reporter = silent) -> TaskResult:
    """Measure the share of cases that each score gets right, by kind, and their means.

    The bootstrap resamples translations, each with all of its cases. Kinds with fewer than `FEWEST`
    cases are reported as missing. Raises CorpusError if no kind remains.
    """
    counts = Counter(case.kind for case in cases)
    missing = [
        f"{kind}: {count} cases, fewer than {FEWEST}"
        for kind, count in counts.items()
        if count < FEWEST
    ]
    cases = [case for case in cases if counts[case.kind] >= FEWEST]
    if not cases:
        raise CorpusError(
            f"no kind of corruption has {FEWEST} cases; more pairs with English on the target "
            "side are needed"
        )
    first, second, unknown = _scores(model, cases, report)
    right = {by: first[by] - second[by] > TIE for by in first}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(map(_item, cases)))}
    item = np.array([numbers[_item(case)] for case in cases])
    kind = np.array([case.kind for case in cases])
    rows: dict[str, dict[str, tuple[Statistic, int]]] = {}
    for name in dict.fromkeys(kind.tolist()):
        rows[name] = _shares(right, kind == name, item, len(numbers))
    for name, kinds in _groups(list(rows)).items():
        rows[name] = {by: (_mean([rows[member][by][0] for member in kinds]), 0) for by in right}
    main = list(rows)[-1] if len(counts) > 1 else list(rows)[0]
    language = np.array([case.language for case in cases])
    if len(set(language.tolist())) > 1:
        serious = np.array([case.severity in (None, *SERIOUS) for case in cases])
        for name in dict.fromkeys(language.tolist()):
            chosen = serious & (language == name)
            label = f"{name}, {' and '.join(SERIOUS)}" if cases[0].severity else name
            rows[label] = _shares(right, chosen, item, len(numbers))
    for lost in LOST:
        below, known = _below(first, second, item, language, lost)
        ending = f"below the bound that drops {lost:.0%}"
        for name in dict.fromkeys(kind[known].tolist()):
            chosen = known & (kind == name)
            rows[f"{name}, {ending}"] = _shares(below, chosen, item, len(numbers))
            several = dict.fromkeys(language[chosen].tolist())
            for code in several if len(several) > 1 and not cases[0].severity else ():
                mask = chosen & (language == code)
                rows[f"{name}, {code}, {ending}"] = _shares(below, mask, item, len(numbers))
    flat = [(name, by, *entry) for name, row in rows.items() for by, entry in row.items()]
    resampled = resample([statistic for *_, statistic, _ in flat], len(numbers), TASK)
    metrics = tuple(
        Metric(name, by, value_of(statistic, len(numbers)), count, values)
        for (name, by, statistic, count), values in zip(flat, resampled, strict=True)
    )
    headline = tuple(metric for metric in metrics if metric.dataset == main)
    notes = (
        f"{len(cases):,} cases of {len(numbers):,} translations; a share counts the cases in which "
        "the score prefers the translation to its corruption, or of the corruptions below a bound",
    )
    more = {"cases": {name: counts[name] for name in dict.fromkeys(kind.tolist())}}
    return TaskResult(TASK, metrics, headline, (*missing, *unknown), notes, more)


def scores_of(
    model: EvaluatedModel, source: Sequence[str], target: Sequence[str], language: str | None
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Score pairs by each score of the model, ``(n,) float64`` by name; with reasons for missing
    scores.

    ``language`` is the ISO 639 code of the source, None if unknown.
    """
    scores: dict[str, np.ndarray] = {}
    reasons: tuple[str, ...] = ()
    if isinstance(model, MinerModel):
        try:
            quality = Quality(Verifier(model.encoders[0], (language, ENGLISH)))
            scores["quality"] = quality.score(source, target)
            verifier = quality.verifier
            left, right = verifier.tokenize_text(source), verifier.tokenize_text(target)
            rows = np.arange(len(source), dtype=np.int64)
            scores["probability"] = sigmoid(verifier.pair_logits(left, right, rows, rows))
        except ArtifactError as error:
            reasons = (str(error),)
    # A model with separate vocabularies reads all languages but English as its source.
    vectors = model.encode(source, ""), model.encode(target, ENGLISH)
    scores["cosine"] = cosines(*vectors).astype(np.float64)
    return scores, reasons


def _scores(
    model: EvaluatedModel, cases: Sequence[Case], report: Reporter
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], tuple[str, ...]]:
    """Return the scores of translations and of corruptions by name, ``(n,) float64``, and reasons
    for missing scores.

    Source languages are identified from the cases of each language name, as in ``miner score``.
    """
    both: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = {}, {}
    reasons: tuple[str, ...] = ()
    done = 0
    for name in dict.fromkeys(case.language for case in cases):
        rows = np.array([row for row, case in enumerate(cases) if case.language == name])
        language = identify([cases[row].source for row in rows.tolist()]).code
        for block in np.split(rows, range(BLOCK, len(rows), BLOCK)):
            report(TASK, done, len(cases))
            chosen = [cases[row] for row in block.tolist()]
            source = [case.source for case in chosen]
            targets = [case.translation for case in chosen], [case.corrupted for case in chosen]
            for scores, target in zip(both, targets, strict=True):
                computed, reasons = scores_of(model, source, target, language)
                for score, value in computed.items():
                    scores.setdefault(score, np.zeros(len(cases)))[block] = value
            done += len(block)
    report(TASK, len(cases), len(cases))
    return *both, reasons


def _below(
    first: dict[str, np.ndarray],
    second: dict[str, np.ndarray],
    item: np.ndarray,
    language: np.ndarray,
    lost: float,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return for each score the corruptions below the bound of their language, ``(n,) bool``.

    The bound drops the share ``lost`` of the translations, each counted once. The mask tells the
    cases of languages with enough translations.
    """
    below = {by: np.zeros(len(item), dtype=bool) for by in first}
    known = np.zeros(len(item), dtype=bool)
    for name in dict.fromkeys(language.tolist()):
        rows = np.flatnonzero(language == name)
        once = rows[np.unique(item[rows], return_index=True)[1]]
        if len(once) >= ENOUGH:
            known[rows] = True
            for by, scores in first.items():
                below[by][rows] = second[by][rows] < np.quantile(scores[once], lost)
    return below, known


def _item(case: Case) -> tuple[str, str]:
    return case.source, case.translation


def _shares(
    right: dict[str, np.ndarray], chosen: np.ndarray, item: np.ndarray, items: int
) -> dict[str, tuple[Statistic, int]]:
    """Return the share of the ``chosen (n,) bool`` cases that each score gets right, and their
    number.
    """
    every = np.bincount(item[chosen], minlength=items).astype(np.float64)
    return {
        by: (ratio(np.bincount(item[chosen & good], minlength=items), every), int(chosen.sum()))
        for by, good in right.items()
    }


def _groups(kinds: Sequence[str]) -> dict[str, list[str]]:
    """Group the kinds for means: by severity if named, and all; the main group last."""
    of = {
        severity: [kind for kind in kinds if kind.split("_")[0] == severity]
        for severity in SEVERITIES
    }
    if not any(of.values()):
        return {f"mean of {len(kinds)} kinds": list(kinds)} if len(kinds) > 1 else {}
    groups = {f"mean, {severity}": members for severity, members in of.items() if members}
    if of["critical"] and of["major"]:
        groups["mean, critical and major"] = of["critical"] + of["major"]
    return groups


def _mean(statistics: Sequence[Statistic]) -> Statistic:
    """Return the mean of several statistics on the same resample."""
    return lambda weights: np.mean([statistic(weights) for statistic in statistics], axis=0)
