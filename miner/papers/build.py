"""Paraphrases by back-translation: the foreign side of a bitext, translated, beside the reference.

P17 and P18 pair human references with machine translations of the same sentences. Translations are
kept in a checkpoint beside the output, batch by batch, so that a stopped run goes on.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.errors import ArtifactError, CorpusError
from miner.filters.ngram_overlap import overlap, sentence_bleu
from miner.papers.translators import Translation, Translator
from miner.progress import Reporter, silent
from miner.text.output import one_line, resource_error
from miner.text.words import tokens

BATCH = 64  # sentences that are translated, and written, together
# Filters of the paraphrases without a configuration: at most 30 words a side (P18), no copies.
FILTERS = """\
[[filter]]
name = "length"
maximum = 30

[[filter]]
name = "identical"

[[filter]]
name = "duplicates"
"""


@dataclass(frozen=True)
class Part:
    """Rows that one translator translates; it is made when the first of them is due."""

    rows: np.ndarray
    translator: Callable[[], Translator]


def whole(count: int, translator: Callable[[], Translator]) -> list[Part]:
    """All rows of a bitext as one part."""
    return [Part(np.arange(count), translator)]


def halves(count: int, learn: Callable[[np.ndarray], Translator]) -> list[Part]:
    """Two parts of a bitext, each translated by what ``learn(rows)`` learns from the other.

    A translator would repeat the references of the text that it has learned from.
    """
    every = np.arange(count)
    both = every[::2], every[1::2]
    return [
        Part(own, lambda other=other: learn(other))  # type: ignore[misc]
        for own, other in (both, both[::-1])
    ]


def translate_all(
    sentences: Sequence[str],
    parts: Sequence[Part],
    k: int,
    checkpoint: Path,
    key: dict[str, Any],
    report: Reporter = silent,
) -> list[list[Translation]]:
    """Translate all sentences, ``k`` times each, and keep what is done in ``checkpoint``.

    Continues from the checkpoint of a run with the same ``key`` and sentences. Raises ArtifactError
    for one of another run, and the errors of the translators.
    """
    text = hashlib.blake2b("\n".join(sentences).encode("utf-8", "surrogatepass"), digest_size=16)
    head = json.dumps({**key, "k": k, "text": text.hexdigest()}, sort_keys=True)
    found: list[list[Translation]] = [[] for _ in sentences]
    done = np.zeros(len(sentences), dtype=bool)
    try:
        with _opened(checkpoint, head, found, done) as file:
            for part in parts:
                left = part.rows[~done[part.rows]]
                translator = part.translator() if len(left) else None
                for start in range(0, len(left), BATCH):
                    rows = left[start : start + BATCH].tolist()
                    assert translator is not None
                    batch = translator.translate([sentences[row] for row in rows], k)
                    plain = [[[one.text, _finite(one.cost)] for one in own] for own in batch]
                    file.write(json.dumps([rows, plain]) + "\n")
                    file.flush()
                    for row, own in zip(rows, batch, strict=True):
                        found[row], done[row] = own, True
                    report("translating", int(done.sum()), len(sentences))
    except OSError as error:
        raise resource_error(error, checkpoint) from error
    return found


def _opened(
    checkpoint: Path, head: str, found: list[list[Translation]], done: np.ndarray
) -> IO[str]:
    """Read what the checkpoint has, drop a line that is cut short, and open it to go on."""
    whole = 0
    if checkpoint.exists():
        body = checkpoint.read_bytes()
        lines = body[: body.rfind(b"\n") + 1].splitlines(keepends=True)
        if lines and lines[0].decode().strip() != head:
            raise ArtifactError(
                f"{checkpoint}: translations of another text, or by another translator; give "
                "--restart to begin anew"
            )
        for line in lines[1:]:
            for row, own in zip(*json.loads(line), strict=True):
                found[row] = [
                    Translation(text, math.nan if cost is None else cost) for text, cost in own
                ]
                done[row] = True
        whole = sum(map(len, lines))
    file = open(checkpoint, "ab")  # noqa: SIM115
    file.truncate(whole)
    file.close()
    out = open(checkpoint, "a", encoding="utf-8", newline="\n")  # noqa: SIM115
    if not whole:
        out.write(head + "\n")
        out.flush()
        os.fsync(out.fileno())
    return out


def _finite(cost: float) -> float | None:
    return cost if math.isfinite(cost) else None


def given_translations(
    columns: Sequence[Sequence[str]], costs: Sequence[float] | None
) -> list[list[Translation]]:
    """Translations that stand in columns of the bitext; blank ones are passed over.

    ``costs`` are those of the first column.
    """
    found = []
    for row, texts in enumerate(columns):
        own = []
        for number, text in enumerate(texts):
            cost = math.nan if costs is None or number else costs[row]
            if text.strip():
                own.append(Translation(text.strip(), cost))
        found.append(own)
    return found


def paired(
    references: Sequence[str], translations: Sequence[Sequence[Translation]]
) -> Iterator[str]:
    """Yield lines 'reference, translation, cost', one for each translation; no cost is blank."""
    for reference, own in zip(references, translations, strict=True):
        for one in own:
            cost = f"{one.cost:.4f}" if math.isfinite(one.cost) else ""
            yield f"{one_line(reference)}\t{one_line(one.text)}\t{cost}\n"


def statistics(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Means over paraphrase pairs: words of both sides, n-gram overlaps and BLEU (P17, P18).

    Raises CorpusError for none.
    """
    if not pairs:
        raise CorpusError("no paraphrase is left; give more text, or wider bounds")
    words = [(tokens(reference), tokens(other)) for reference, other in pairs]
    found = {
        "pairs": float(len(pairs)),
        "words of the reference": float(np.mean([len(one) for one, _ in words])),
        "words of the translation": float(np.mean([len(other) for _, other in words])),
    }
    for n in (1, 2, 3):
        found[f"{n}-gram overlap"] = float(np.mean([overlap(*both, n) for both in words]))
    found["BLEU"] = float(np.mean([sentence_bleu(other, one) for one, other in words]))
    return found
