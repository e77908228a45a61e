"""Compare the alignment with other people's aligners, which read sentences by the same transformer.

    python -m benchmarks aligners --data DIR [--encoder hf:models/e5-small] [--only SYSTEM ...]
        [--sets tests dev laws]

Systems: sentalign (vecalign's algorithm) and bertalign (2.x needs Python 3.12), with their default
settings; ours by the model that ships, with ``--second``, and by the transformer alone in the first
stage. Documents: Text+Berg, and the first 100 beads of French and English laws with 30% of foreign
lines. CPU seconds include encoding, and nothing that loads.
"""

import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.alignment.alignment_quality import (
    BOOKS,
    Document,
    book_documents,
    ladder_of,
    law_documents,
)
from benchmarks.markdown import table
from benchmarks.models import peers
from miner import Encoder
from miner.alignment.align_texts import align_texts
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.evaluation.alignment import Bead, evaluate
from miner.knn.settings import SearchSettings
from miner.option_values import SIDES

PEERS = ("sentalign", "bertalign")
OURS = {
    "miner": "miner align",
    "second": "miner align --second ENCODER",
    "first": "miner align --model ENCODER --coarse",
}
SYSTEMS = (*OURS, *PEERS)
# Documents of each set; dev of Text+Berg chose how our weights are learned.
SETS: dict[str, Callable[[Path], list[Document]]] = {
    "tests": lambda data: [book_documents(data)[name] for name in BOOKS[1:]],
    "dev": lambda data: [book_documents(data)[BOOKS[0]]],
    "laws": lambda data: [shortened(law_documents(data)["30%"][0])],
}
TITLES = {
    "tests": "Text+Berg, test0 and test1",
    "dev": "Text+Berg, dev",
    "laws": "laws, 30% foreign, 100 beads",
}
# Lines of a side that are aligned before the clock starts, and beads of the laws.
WARM, BEADS = 5, 100

Align = Callable[[Document], list[Bead]]


def shortened(document: Document) -> Document:
    """Return the start of a document, whose beads are in order."""
    gold = document.gold[:BEADS]
    source, target = (
        document.texts[side][: 1 + max(bead[side][-1] for bead in gold if bead[side])]
        for side in (0, 1)
    )
    return Document((source, target), gold, document.languages)


def sentalign(encoder: SentenceEncoder) -> Align:
    """Return the aligner of the package sentalign."""
    module = peers.imported("sentalign", "sentalign")

    def align(document: Document) -> list[Bead]:
        found = module.sentalign(*document.texts, encoder=encoder)
        return [(tuple(one.src_indices), tuple(one.tgt_indices)) for one in found.alignments]

    return align


def bertalign(encoder: SentenceEncoder) -> Align:
    """Return the aligner of the package bertalign, which encodes by our encoder."""
    module = peers.imported("bertalign", "bertalign")
    model = module.Encoder.__new__(module.Encoder)  # without its model
    model.model, model.model_name = encoder, encoder.name

    def align(document: Document) -> list[Bead]:
        texts = ("\n".join(side) for side in document.texts)
        aligner = module.Bertalign(*texts, is_split=True, model=model)
        sizes = aligner.src_num, aligner.tgt_num
        assert sizes == tuple(map(len, document.texts)), f"lines were joined: {sizes}"
        return [(tuple(source), tuple(target)) for source, target in aligner.align_sents()]

    return align


def ours(
    encoder: SentenceEncoder, second: SentenceEncoder | None = None, *, coarse: bool = False
) -> Align:
    """Return our aligner."""
    sides = encoder.on_side(SIDES[0]), encoder.on_side(SIDES[1])
    more: dict[str, Any] = {"coarse": coarse, "second": second and (second, second)}

    def align(document: Document) -> list[Bead]:
        settings = SearchSettings(k=4, device="cpu")
        return ladder_of(
            align_texts(document.texts, sides, settings, document.languages, **more)[0]
        )

    return align


def measured(align: Align, documents: list[Document]) -> dict[str, Any]:
    """Align documents; return both F1 of all together, and the cost."""
    begun = time.process_time()
    found = [(align(document), document.gold) for document in documents]
    seconds = time.process_time() - begun
    scores = evaluate(found)
    lines = sum(len(side) for document in documents for side in document.texts)
    return {
        **{way: round(scores[way]["f1"], 4) for way in ("strict", "lax")},
        "lines": lines,
        "cpu ms a line": round(1e3 * seconds / lines, 2),
    }


def lines(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the table of all systems on all documents."""
    sets = [*TITLES]
    rows = sorted(
        record["results"],
        key=lambda row: (sets.index(row["documents"]), SYSTEMS.index(row["system"])),
    )
    cells = (
        (
            TITLES[row["documents"]],
            OURS.get(row["system"]) or f"{row['system']} {row['version']}",
            row["encoder"] if row["system"] != "miner" else "–",
            f"{row['strict']:.3f}",
            f"{row['lax']:.3f}",
            f"{row['cpu ms a line']:,.1f}",
        )
        for row in rows
    )
    columns = "documents", "system", "ENCODER", "strict F1", "lax F1", "CPU ms a line"
    return [*table(columns, cells), "", conditions(record)]


def main() -> None:
    parser = report.parser(__doc__, "aligners.json", sections=SYSTEMS, model=True)
    parser.add_argument("--encoder", default="hf:models/e5-small", help="[hf:models/e5-small]")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=[*SETS], help="[all]")
    arguments = parser.parse_args()
    model, encoder = Encoder.load(arguments.model), peers.opened(arguments.encoder)
    systems: dict[str, Callable[[], Align]] = {
        "miner": partial(ours, model),
        "second": partial(ours, model, encoder),
        "first": partial(ours, encoder, coarse=True),
        "sentalign": partial(sentalign, encoder),
        "bertalign": partial(bertalign, encoder),
    }
    sets = {title: SETS[title](arguments.data) for title in arguments.sets}
    for name in arguments.only:
        align = systems[name]()
        document = next(iter(sets.values()))[0]
        source, target = document.texts
        align(document._replace(texts=(source[:WARM], target[:WARM])))
        for title, documents in sets.items():
            row = {"documents": title, "system": name, "encoder": Path(encoder.name).name}
            row |= measured(align, documents)
            if name in PEERS:
                row["version"] = version(name)
            print(row, flush=True)
            report.replace(
                *(arguments.json, "aligners", [row]),
                key=lambda row: (row["documents"], row["system"]),
            )
