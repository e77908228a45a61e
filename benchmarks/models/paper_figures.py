"""Measure the model that ships as the papers measure theirs: SentEval, plain cosine, grades.

    python -m benchmarks papers --data DIR [--model default] [--only SECTION ...]

Sections: ``senteval`` is the SentEval sets that the data holds (P18, arXiv, Table 8), ``cosine``
mining on the BUCC-style sets by plain cosine, as Schwenk 2018 mines, beside the ratio margin,
``grades`` the mean similarity of paraphrases and of other pairs, with a t-test (S18), ``speed`` the
time to encode 128,000 sentences in batches of 128 (P19), and ``p19`` mining by models of P19's own
recipe in ``models/p19-*``, one a seed (docs/papers.md has the command that trains them).
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.mining import bucc_protocol
from benchmarks.mining.mining_quality import PAIRS
from benchmarks.models.published import values
from miner import Encoder, MinerError
from miner.encoder.model import load
from miner.evaluation import speed
from miner.evaluation.evaluated_model import ENGLISH, MinerModel
from miner.evaluation.labelled_text import read_labelled
from miner.knn.settings import SearchSettings
from miner.scoring.quality import cosines
from miner_train.papers import paraphrase_detection as paraphrase
from miner_train.papers import senteval

NAME = "papers"
Results = dict[str, Any]
# Sentences and batch of P19's times.
SENTENCES, BATCH = 128_000, 128
MARGINS = {"absolute": "plain cosine", "ratio": "ratio margin"}
# Accuracy, and Pearson × 100 of SICK-R and STS-B, by Wieting and Kiela 2019, *No Training Required:
# Exploring Random Encoders for Sentence Classification*: InferSent's row has the figures of its
# paper (Conneau et al. 2017), SkipThought's those with layer normalisation.
PUBLISHED = "Wieting and Kiela 2019", "Table 1"
PUBLISHED_SETS = ("MR", "CR", "MPQA", "SUBJ", "SST2", "TREC", "SICK-R", "SICK-E", "MRPC", "STS-B")


def measure_senteval(model: str, data: Path) -> Results:
    """Measure the sets of SentEval that are there, with ten folds."""
    return senteval.evaluate(MinerModel(model), data).as_dict()


def measure_cosine(model: str, data: Path) -> Results:
    """Mine both language pairs by plain cosine and by ratio margin."""
    return {
        "rows": [
            bucc_protocol.measure(
                model, data / "bucc-style", pair, None, SearchSettings(rank="margin", margin=margin)
            )
            for pair in PAIRS
            for margin in MARGINS
        ]
    }


def measure_grades(model: str, data: Path) -> Results:
    """Compare the similarities of the grades of every paraphrase set."""
    evaluated, grades = MinerModel(model), {}
    for name, (_, tested) in paraphrase.sets(data).items():
        pairs = read_labelled(tested)
        vectors = (evaluated.encode(side, ENGLISH) for side in (pairs.first, pairs.second))
        grades[name] = paraphrase.by_grade(pairs.score, cosines(*vectors))
    return {"grades": grades}


def measure_speed(model: str, data: Path) -> Results:
    """Time the encoder on one thread, on batches and on all sentences at once."""
    text = list(islice(cycle(speed.sample(data)), SENTENCES))
    encoder = Encoder.load(model, 1)
    encoder.encode(text[:BATCH])
    rows = []
    for size in (BATCH, SENTENCES):
        begun = time.process_time()
        for start in range(0, SENTENCES, size):
            encoder.encode(text[start : start + size])
        rows.append({"batch": size, "seconds": round(time.process_time() - begun, 2)})
    return {"rows": rows}


def measure_p19(model: str, data: Path) -> Results:
    """Mine German and English by ratio margin with each model of P19's recipe, in place of
    ``model``. Raises MinerError without any.
    """
    rows, settings = [], SearchSettings(rank="margin")
    for found in sorted(Path("models").glob("p19-*")):
        made = load(found).training
        row = bucc_protocol.measure(str(found), data / "bucc-style", "de-en", None, settings)
        rows.append({"seed": made["config"]["seed"], "pairs": made["pairs"], **row})
    if not rows:
        raise MinerError("models/p19-*: no model; train one by the command in docs/papers.md")
    return {"rows": rows}


def senteval_lines(results: Results) -> list[str]:
    """Return the table of SentEval, with the published rows."""
    found = {(one["set"], one["metric"]): one for one in results["figures"]}
    ours = []
    for name in PUBLISHED_SETS:
        one = found.get((name, "accuracy")) or found.get((name, "pearson"))
        ours.append("–" if one is None else _percent(one))
    rows = [["ours", *ours]]
    rows += [[f"*{name}*", *own.values()] for name, own in values(*PUBLISHED).items()]
    lines = [
        "SentEval: accuracy, and Pearson × 100 of SICK-R and STS-B, by logistic regression on",
        "frozen vectors of unit length, ten folds; in brackets the 95% bootstrap interval over",
        "test items. Published rows, in italics, are from Table 1 of Wieting and Kiela 2019. A",
        "dash: the data does not hold the set.",
        "",
        *table(("", *PUBLISHED_SETS), rows),
    ]
    if f1 := found.get(("MRPC", "f1")):
        lines += ["", f"MRPC, F1 of paraphrases: {_percent(f1)}."]
    return lines


def _percent(metric: dict[str, Any]) -> str:
    low, high = metric["interval"]
    return f"{100 * metric['value']:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def cosine_lines(results: Results) -> list[str]:
    """Return the table of mining by plain cosine and by margin."""
    rows = [
        (
            f"bucc-style {row['pair']}",
            MARGINS[row["settings"]["margin"]],
            *(f"{row['test'][name]:.3f}" for name in ("precision", "recall", "f1")),
        )
        for row in results["rows"]
    ]
    return [
        "Mining by plain cosine, as Schwenk 2018 mines; threshold from the training split:",
        "",
        *table(("set", "ranked by", "precision", "recall", "F1 on test"), rows),
    ]


def grade_lines(results: Results) -> list[str]:
    """Return the table of similarities by grade."""
    rows = []
    for name, grades in results["grades"].items():
        for one in grades:
            test = ("–", "–") if one["t"] is None else (f"{one['t']:.1f}", f"{one['p']:.0e}")
            spread = f"{one['mean']:.3f}", f"{one['deviation']:.3f}"
            rows.append((name, f"{one['grade']:g}", f"{one['pairs']:,}", *spread, *test))
    return [
        "Similarity by grade, with Welch's t-test against the grade below (S18):",
        "",
        *table(("test set", "grade", "pairs", "mean cosine", "deviation", "t", "p"), rows),
    ]


def speed_lines(results: Results) -> list[str]:
    """Return a line with the times."""
    shown = [f"{row['seconds']:.1f} in batches of {row['batch']:,}" for row in results["rows"]]
    return [f"CPU seconds to encode {SENTENCES:,} sentences on one thread: {', '.join(shown)}."]


def p19_lines(results: Results) -> list[str]:
    """Return the table of P19's own recipe, a row for each seed."""
    rows = [
        (
            str(row["seed"]),
            f"{row['pairs']:,}",
            f"{row['training']['f1']:.3f}",
            *(f"{row['test'][name]:.3f}" for name in ("precision", "recall", "f1")),
        )
        for row in results["rows"]
    ]
    return [
        "Mining on bucc-style de-en by the recipe `p19` on all text of the pair, with some test",
        "sentences; by ratio margin, the threshold from the training split:",
        "",
        *table(("seed", "pairs", "F1 on training", "precision", "recall", "F1 on test"), rows),
    ]


SECTIONS: dict[str, Callable[[str, Path], Results]] = {
    "senteval": measure_senteval,
    "cosine": measure_cosine,
    "grades": measure_grades,
    "speed": measure_speed,
    "p19": measure_p19,
}
_LINES = {
    "senteval": senteval_lines,
    "cosine": cosine_lines,
    "grades": grade_lines,
    "speed": speed_lines,
    "p19": p19_lines,
}


def lines(section: str, results: Results) -> list[str]:
    """Return the lines of a section, with the name of its model unless its rows name models."""
    measured = results.get("fingerprint")
    named = ["", f"Measured: {report.model_name(measured)}."] if measured else []
    return [*_LINES[section](results), *named]


LINES = {section: partial(lines, section) for section in _LINES}


def main() -> None:
    parser = report.parser(__doc__, f"{NAME}.json", sections=SECTIONS)
    parser.add_argument("--model", default="default")
    arguments = parser.parse_args()
    for section in arguments.only:
        begun = time.process_time()
        results = SECTIONS[section](arguments.model, arguments.data)
        results["CPU seconds"] = round(time.process_time() - begun, 1)
        if section != "p19":  # the section p19 trains its models
            results["fingerprint"] = load(arguments.model).fingerprint
        report.merge(arguments.json, NAME, section, results)
        print("\n".join(lines(section, results)), flush=True)
