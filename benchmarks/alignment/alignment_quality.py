"""Measure the alignment of documents, and fit its weights.

    python -m benchmarks align --data DIR [--fit] [--model DIR] [--only SECTION ...]

``--fit`` learns ``miner/alignment/weights.json`` from synthetic documents of running prose that may
ship, in pairs with English and in pairs of two translations of one English text. Sections:
``books`` is Text+Berg (Alpine yearbooks, German and French), ``laws`` French and English laws with
text put in, and ``size`` the first stage on 100,000 lines a side.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import report
from benchmarks.alignment.fit import fit
from benchmarks.alignment.synthetic_documents import AlignedDocuments, loosened, make_documents
from benchmarks.markdown import table
from miner import Encoder
from miner.alignment.align_texts import align_texts
from miner.alignment.beads import WEIGHTS, Beads
from miner.alignment.ladder import read_ladder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.evaluation.alignment import Bead, evaluate
from miner.evaluation.labelled_text import find_file
from miner.knn.settings import SearchSettings
from miner.machine import peak_memory, reset_peak
from miner.text.bitext import read_bitext

NAME = "align"
Pairs = list[tuple[str, str]]
# Running prose with a licence that allows training: languages beside English, by source.
PROSE = {
    "privacyguides": ("de", "fr", "es", "it", "ru", "pl"),
    "opensource-guide": ("de", "fr", "es", "it", "ru", "pl"),
    "djangogirls": ("de", "fr"),
    "rust": ("fr",),
}
# Languages paired through a common English text.
BETWEEN = (("de", "fr"), ("fr", "es"), ("it", "de"), ("ru", "fr"), ("pl", "it"), ("es", "de"))
LINES, SEED = 120, 7
# Share of foreign lines: in blocks, and with split, joined and omitted sentences.
NOISE = (
    *((0.0, False, True), (0.0, False, True), (0.2, False, True), (0.5, True, True)),
    (0.3, False, False),
)
BOOKS = ("dev", "test0", "test1")
LAWS = {"30%": (0.3, False), "50%": (0.5, False), "50% in blocks": (0.5, True)}
LARGE = 100_000


def prose(data: Path) -> Iterator[tuple[Pairs, tuple[str, str]]]:
    """Yield the running text of each source and pair of languages."""
    for source, languages in PROSE.items():
        texts = {one: bitext(data / "train" / f"{one}-en", source) for one in languages}
        for one, pairs in texts.items():
            yield pairs, (one, "en")
        for one, other in BETWEEN:
            if one in texts and other in texts:
                known = {english: text for text, english in reversed(texts[one])}
                yield [(known[e], t) for t, e in texts[other] if e in known], (one, other)


def bitext(folder: Path, name: str) -> Pairs:
    """Return the distinct pairs of a file, in their order."""
    path = find_file(folder, f"{name}.tsv")
    assert path is not None, f"{folder}: no {name}.tsv"
    found = read_bitext(path)
    return list(dict.fromkeys(zip(found.source, found.target, strict=True)))


def synthetic(data: Path) -> list[tuple[AlignedDocuments, tuple[str, str]]]:
    """Return the documents that the weights are fitted to."""
    generator = np.random.default_rng(SEED)
    documents = []
    for pairs, languages in prose(data):
        if len(pairs) < 2 * LINES:
            continue
        for noise, blocks, changed in NOISE:
            start = generator.integers(len(pairs) - LINES)
            others = pairs[:start] + pairs[start + LINES :]
            own = [loosened(pair, generator) for pair in pairs[start : start + LINES]]
            made = make_documents(own, others, noise, generator, blocks=blocks, changed=changed)
            documents.append((made, languages))
    return documents


class Document(NamedTuple):
    """Sentences of both sides, the right beads, and the languages."""

    texts: tuple[list[str], list[str]]
    gold: list[Bead]
    languages: tuple[str, str]


def score(
    encoder: Encoder,
    documents: list[Document],
    second: SentenceEncoder | None = None,
) -> dict[str, Any]:
    """Align documents by each stage; return F1, and the precision estimated and reached.

    The second stage asks for a ``second`` opinion, if there is one.
    """
    record: dict[str, Any] = {}
    settings = SearchSettings(k=4, device="cpu")
    for stage, coarse in (("first stage", True), ("both stages", False)):
        begun, found, sure, read = time.process_time(), [], [], 0
        more: dict[str, Any] = {"coarse": coarse, "second": second and (second, second)}
        for texts, gold, languages in documents:
            aligned, _ = align_texts(texts, (encoder, encoder), settings, languages, **more)
            read += aligned.read
            beads = ladder_of(aligned)
            found.append((beads, gold))
            known = set(gold)
            sure += [
                (probability, bead in known)
                for bead, probability in zip(beads, aligned.probability.tolist(), strict=True)
                if all(bead)
            ]
        scores = evaluate(found)
        estimated, reached = np.array(sure, dtype=float).mean(axis=0).tolist()
        record[stage] = {
            **scores,
            "estimated precision": estimated,
            "reached": reached,
            "at 0.95": at_precision(np.array(sure, dtype=float), 0.95),
            "cpu seconds": time.process_time() - begun,
            "lines": sum(len(side) for texts, _, _ in documents for side in texts),
            **({"texts read": read} if second is not None else {}),
        }
    return record


def at_precision(sure: np.ndarray, precision: float) -> dict[str, float]:
    """Return share and precision of the beads kept by ``--target-precision``."""
    ranked = sure[np.argsort(-sure[:, 0], kind="stable")]
    means = np.cumsum(ranked[:, 0]) / np.arange(1, len(ranked) + 1)
    kept = int(np.flatnonzero(means >= precision)[-1]) + 1 if (means >= precision).any() else 0
    right = float(ranked[:kept, 1].mean()) if kept else 0.0
    return {"kept": kept / len(ranked), "reached": right}


def ladder_of(beads: Beads) -> list[Bead]:
    """Return beads as groups of sentence numbers, as hunalign's ladder has them."""
    return [(tuple(range(i, j)), tuple(range(k, m))) for i, j, k, m in beads.spans.tolist()]


def book_documents(data: Path) -> dict[str, Document]:
    """Read Text+Berg."""
    folder = data / "align" / "text+berg"
    documents = {}
    for name in BOOKS:
        texts = [
            (folder / f"{name}.{side}").read_text(encoding="utf-8").rstrip("\n").split("\n")
            for side in ("de", "fr")
        ]
        gold = read_ladder(folder / f"{name}.defr")
        documents[name] = Document((texts[0], texts[1]), gold, ("de", "fr"))
    return documents


def books(encoder: Encoder, data: Path, second: SentenceEncoder | None = None) -> dict[str, Any]:
    """Align each document of Text+Berg, and all together."""
    documents = book_documents(data)
    record = {name: score(encoder, [one], second) for name, one in documents.items()}
    return {**record, "all": score(encoder, [*documents.values()], second)}


def law_documents(data: Path) -> dict[str, list[Document]]:
    """Make documents of laws with inserted text of other laws, by the share of it."""
    pairs = bitext(data / "heldout", "fr-en.laws")
    generator = np.random.default_rng(SEED)
    sets: dict[str, list[Document]] = {}
    for name, (noise, blocks) in LAWS.items():
        sets[name] = []
        for start in range(0, 1200, 300):
            foreign = pairs[2000 : 2000 + len(pairs) // 2]
            made = make_documents(
                *(pairs[start : start + 300], foreign, noise, generator),
                blocks=blocks,
                changed=False,
            )
            ends = np.cumsum(made.beads, axis=0)
            spans = np.stack([ends - made.beads, ends], axis=2).reshape(len(ends), 4)
            gold = ladder_of(Beads(spans, np.ones(len(ends), np.float32)))
            sets[name].append(Document((made.source, made.target), gold, ("fr", "en")))
    return sets


def laws(encoder: Encoder, data: Path) -> dict[str, Any]:
    """Align laws with inserted text of other laws."""
    return {name: score(encoder, documents) for name, documents in law_documents(data).items()}


def size(encoder: Encoder, data: Path) -> dict[str, Any]:
    """Align 100,000 lines a side by the first stage."""
    pairs = bitext(data / "train" / "fr-en", "canada-laws")[:LARGE]
    texts = [source for source, _ in pairs], [target for _, target in pairs]
    reset_peak()
    begun = time.process_time()
    settings = SearchSettings(k=4, device="cpu")
    beads, _ = align_texts(texts, (encoder, encoder), settings, coarse=True)
    same = (beads.spans[:, 0] == beads.spans[:, 2]) & (np.diff(beads.spans)[:, ::2] == 1).all(
        axis=1
    )
    return {
        "lines": len(pairs),
        "cpu seconds": time.process_time() - begun,
        "peak MiB": peak_memory() >> 20,
        "share of lines aligned one to one": float(same.sum() / len(pairs)),
    }


SECTIONS = {"books": books, "laws": laws, "size": size}


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the tables of the results page."""
    found = record["sections"]
    rows = []
    for section, title in (("books", "Text+Berg"), ("laws", "laws with foreign lines")):
        for name, own in found.get(section, {"results": {}})["results"].items():
            for stage, one in own.items():
                rows.append(
                    (
                        f"{title}, {name}",
                        stage,
                        *(f"{one[way]['f1']:.3f}" for way in ("strict", "lax")),
                        f"{one['estimated precision']:.3f} / {one['reached']:.3f}",
                        f"{one['at 0.95']['kept']:.0%} / {one['at 0.95']['reached']:.3f}",
                        f"{1e3 * one['cpu seconds'] / one['lines']:.2f}",
                    )
                )
    lines = table(
        (
            *("documents", "by", "strict F1", "lax F1", "precision estimated / reached"),
            *("kept at 0.95 / right", "CPU ms a line"),
        ),
        rows,
    )
    lines += ["", conditions(found["books"])]
    if "size" in found:
        one = found["size"]["results"]
        lines += [
            "",
            f"{one['lines']:,} lines a side by the first stage: {one['cpu seconds']:.1f} CPU "
            f"seconds, {one['peak MiB']:,} MiB.",
        ]
    return lines


def main() -> None:
    options = report.parser(__doc__, "align.json", sections=SECTIONS, model=True)
    options.add_argument(
        "--fit", action="store_true", help="learn the weights, and measure nothing"
    )
    arguments = options.parse_args()
    encoder = Encoder.load(arguments.model)
    if arguments.fit:
        weights = fit(synthetic(arguments.data), encoder)
        WEIGHTS.write_text(json.dumps(weights.as_dict(), indent=1) + "\n", encoding="utf-8")
        return
    for section in arguments.only:
        results = SECTIONS[section](encoder, arguments.data)
        print(section, json.dumps(results, indent=1))
        report.merge(arguments.json, NAME, section, results)
