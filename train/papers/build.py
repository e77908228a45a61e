"""Paraphrases by back-translation: references paired with translations of a bitext's foreign side.

P17 and P18 pair human references with machine translations of the same sentences. Translations are
kept in a checkpoint beside the output, batch by batch, so that a stopped run resumes.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.errors import ArtifactError, CorpusError, writing
from miner.filters.ngram_overlap import overlap, sentence_bleu
from miner.progress import Reporter, silent
from miner.text.bitext import Bitext, read_bitext
from miner.text.output import one_line
from miner.text.words import tokens
from miner_train.papers.translators import Translation, Translator

BATCH = 64  # sentences translated and written together
# Default filters of the paraphrases: at most 30 words a side (P18), no copies.
FILTERS = """\
[[filter]]
name = "length"
maximum = 30

[[filter]]
name = "identical"

[[filter]]
name = "duplicates"
"""


# Rows, and the function that returns their translator when the first of them is due.
Part = tuple[np.ndarray, Callable[[], Translator]]


def whole(count: int, translator: Callable[[], Translator]) -> list[Part]:
    return [(np.arange(count), translator)]


def halves(count: int, learn: Callable[[np.ndarray], Translator]) -> list[Part]:
    """Return two parts of a bitext, each translated by what ``learn(rows)`` learns from the other.

    A translator would repeat the references of its training text.
    """
    even, odd = np.arange(0, count, 2), np.arange(1, count, 2)
    return [(even, lambda: learn(odd)), (odd, lambda: learn(even))]


def phrase_parts(
    pairs: Bitext, learn: str | None, say: Callable[[str], None], report: Reporter
) -> list[Part]:
    """Return parts of a bitext, translated by phrases of the file ``learn``, or of the other
    half.
    """
    from miner_train.papers.phrase_decoder import PhraseTranslator

    def learned(source: Sequence[str], target: Sequence[str]) -> Translator:
        say(f"learning phrases from {len(source):,} pairs")
        translator = PhraseTranslator.learn(source, target, report=report)
        say(f"{sum(map(len, translator.table.values())):,} phrase pairs")
        return translator

    def of_rows(rows: np.ndarray) -> Translator:
        return learned(*([side[row] for row in rows] for side in (pairs.source, pairs.target)))

    if learn is None:
        return halves(len(pairs), of_rows)
    other = read_bitext(learn)
    return whole(len(pairs), lambda: learned(other.source, other.target))


def translate_all(
    sentences: Sequence[str],
    parts: Sequence[Part],
    k: int,
    checkpoint: Path,
    key: dict[str, Any],
    report: Reporter = silent,
) -> list[list[Translation]]:
    """Translate all sentences, ``k`` times each, saving finished ones in ``checkpoint``.

    Continues from the checkpoint of a run with the same ``key`` and sentences. Raises ArtifactError
    for the checkpoint of another run, and the errors of the translators.
    """
    text = hashlib.blake2b("\n".join(sentences).encode("utf-8", "surrogatepass"), digest_size=16)
    head = json.dumps({"version": 2, **key, "k": k, "text": text.hexdigest()}, sort_keys=True)
    translations: dict[int, list[Translation]] = {}
    with writing(checkpoint), _opened(checkpoint, head, translations) as file:
        for part_rows, make in parts:
            left = [row for row in part_rows.tolist() if row not in translations]
            if left:
                translator = make()
            for start in range(0, len(left), BATCH):
                rows = left[start : start + BATCH]
                batch = translator.translate([sentences[row] for row in rows], k)
                plain = [
                    [[translation.text, translation.cost] for translation in each] for each in batch
                ]
                file.write(json.dumps([rows, plain]) + "\n")
                file.flush()
                translations.update(zip(rows, batch, strict=True))
                report("translating", len(translations), len(sentences))
    return [translations[row] for row in range(len(sentences))]


def _opened(checkpoint: Path, head: str, finished: dict[int, list[Translation]]) -> IO[str]:
    """Read the checkpoint, drop an incomplete line, and open it to continue."""
    body = checkpoint.read_bytes() if checkpoint.exists() else b""
    lines = body[: body.rfind(b"\n") + 1].splitlines(keepends=True)
    if lines and lines[0].decode().strip() != head:
        raise ArtifactError(
            f"{checkpoint}: translations of another text, or by another translator; give "
            "--restart to begin anew"
        )
    for line in lines[1:]:
        for row, translations in zip(*json.loads(line), strict=True):
            finished[row] = [Translation(*fields) for fields in translations]
    out = open(checkpoint, "a", encoding="utf-8", newline="\n")  # noqa: SIM115
    out.truncate(sum(map(len, lines)))
    if not lines:
        out.write(head + "\n")
    return out


def given_translations(
    columns: Sequence[Sequence[str]], costs: Sequence[float] | None
) -> list[list[Translation]]:
    """Return the translations in columns of the bitext, without blank ones.

    ``costs`` belong to the first column.
    """
    first = [math.nan] * len(columns) if costs is None else costs
    return [
        [
            Translation(text.strip(), math.nan if number else cost)
            for number, text in enumerate(texts)
            if text.strip()
        ]
        for texts, cost in zip(columns, first, strict=True)
    ]


def paired(
    references: Sequence[str], translations: Sequence[Sequence[Translation]]
) -> Iterator[str]:
    """Yield lines 'reference, translation, cost', one per translation; a missing cost is blank."""
    for reference, candidates in zip(references, translations, strict=True):
        for translation in candidates:
            cost = f"{translation.cost:.4f}" if math.isfinite(translation.cost) else ""
            yield f"{one_line(reference)}\t{one_line(translation.text)}\t{cost}\n"


def statistics(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Return means over paraphrase pairs: words of both sides, n-gram overlaps and BLEU (P17, P18).

    Raises CorpusError without pairs.
    """
    if not pairs:
        raise CorpusError("no paraphrase is left; give more text, or wider bounds")
    words = [(tokens(reference), tokens(other)) for reference, other in pairs]
    means = {
        "pairs": float(len(pairs)),
        "words of the reference": float(np.mean([len(original) for original, _ in words])),
        "words of the translation": float(np.mean([len(other) for _, other in words])),
    }
    for n in (1, 2, 3):
        means[f"{n}-gram overlap"] = float(np.mean([overlap(*both, n) for both in words]))
    means["BLEU"] = float(np.mean([sentence_bleu(other, original) for original, other in words]))
    return means
