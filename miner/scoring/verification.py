"""Scoring and choice of a search's candidates in blocks, so that memory stays bounded."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from miner.arrays import GrowingArray
from miner.encoder.encoder import CHUNK
from miner.encoder.tokenizer import Tokenizer
from miner.errors import ResourceError
from miner.index.sentence_file import SentenceFile
from miner.machine import release_pages
from miner.parallel import in_order
from miner.ragged import offsets_of
from miner.scoring.context_features import BestLogits, context_features
from miner.scoring.margin import CandidateBlocks, Candidates
from miner.scoring.matching import Retrieval
from miner.scoring.pair_features import PAIR_FEATURES, TokenizedText, tokenize_text
from miner.scoring.verifier import FEATURES, Verifier

Context = Callable[[Candidates], np.ndarray]
LogitsOf = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Types of the columns of TokenizedText.
DTYPES = (np.int32, np.int64, np.int64, np.uint64, np.int64)
# Candidates of a block.
BLOCK = 1 << 15
# Share of a search's memory for the tokenised text of a side; a larger text goes to temporary
# files.
SHARE = 1 / 16


@dataclass(frozen=True, eq=False)
class PairLogits:
    """Logits of the pair features of all candidates of a search.

    ``target (m,) int32`` and ``logit (m,) float64``, by source; the candidates of source ``i`` are
    those from ``offsets[i]`` to ``offsets[i + 1]``, by target. Large arrays are in temporary files.
    """

    offsets: np.ndarray
    target: np.ndarray
    logit: np.ndarray

    def of(self, source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        """Return the logits of candidates of this search, ``(m,) float64``. Sources ascend."""
        if not len(source_row):
            return np.empty(0)
        start, end = int(source_row[0]), int(source_row[-1]) + 1
        first, last = self.offsets[start], self.offsets[end]
        source = np.repeat(np.arange(start, end), np.diff(self.offsets[start : end + 1]))
        key = (source << 32) + self.target[first:last]
        logits = self.logit[first:last][np.searchsorted(key, (source_row << 32) + target_row)]
        release_pages(self.target)
        release_pages(self.logit)
        return logits


def choose_by_margin(blocks: CandidateBlocks, retrieval: str) -> Candidates:
    """Return the pairs that the retrieval selects from all candidates by margin."""
    kept = Retrieval(blocks.targets, retrieval)
    for span in blocks.spans(BLOCK):
        kept.add(blocks.block(*span))
    return kept.result()


def logits_function(verifier: Verifier, source: TokenizedText, target: TokenizedText) -> LogitsOf:
    """Return the function that computes the logits of the pair features of candidates."""

    def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        logit = verifier.pair_logits(source, target, source_row, target_row)
        release(source, target)
        return logit

    return logits_of


def candidate_logits(
    blocks: CandidateBlocks,
    logits_of: LogitsOf,
    memory: int,
    add: Callable[[Candidates, np.ndarray], None] = lambda block, logit: None,
) -> PairLogits:
    """Compute the logits of the pair features of all candidates, block by block.

    ``logits_of(source_row, target_row)`` computes the logits of a block, and ``add`` is called with
    the block and them. Above a share of ``memory`` bytes all logits are in temporary files. Raises
    ResourceError for more targets, decoys included, than an int32 counts.
    """
    if blocks.targets > np.iinfo(np.int32).max:
        raise ResourceError(
            f"{blocks.targets:,} targets and decoys are too many to verify; split the corpus"
        )
    counts = np.zeros(len(blocks.forward), dtype=np.int64)
    most = 12 * blocks.most
    targets, logits = (
        GrowingArray(dtype, on_disk=most > memory * SHARE) for dtype in (np.int32, np.float64)
    )
    for start, end in blocks.spans(BLOCK):
        block = blocks.block(start, end)
        logit = logits_of(block.source_row, block.target_row)
        add(block, logit)
        counts[start:end] = np.bincount(block.source_row - start, minlength=end - start)
        targets.append(block.target_row)
        logits.append(logit)
    return PairLogits(offsets_of(counts), targets.array(), logits.array())


def context_function(
    nearest: tuple[np.ndarray, np.ndarray],
    k: int,
    logits: PairLogits,
    best: tuple[BestLogits, BestLogits],
) -> Context:
    """Return the function that computes the context features of a search's candidates."""

    def context_of(block: Candidates) -> np.ndarray:
        logit = logits.of(block.source_row, block.target_row)
        return context_features(block, nearest, k, logit, best)

    return context_of


def scored_blocks(
    blocks: CandidateBlocks, verifier: Verifier, context_of: Context
) -> Iterator[Candidates]:
    """Yield the blocks of candidates, each with its probability as the score."""
    for span in blocks.spans(BLOCK):
        block = blocks.block(*span)
        yield replace(block, score=verifier.probability(context_of(block)))


def features(
    verifier: Verifier,
    source: TokenizedText,
    target: TokenizedText,
    pairs: Candidates,
    context_of: Context,
    first: int = 0,
) -> np.ndarray:
    """Compute :data:`~miner.scoring.verifier.FEATURES` of chosen pairs, ``(m, f) float32``.

    The text ``target`` begins with the row ``first``.
    """
    out = np.empty((len(pairs), len(FEATURES)), dtype=np.float32)
    order = np.argsort(pairs.source_row, kind="stable")  # the order in which logits are looked up
    for start in range(0, len(order), BLOCK):
        part = order[start : start + BLOCK]
        block = pairs.take(part)
        out[part, : len(PAIR_FEATURES)] = verifier.tokens.pair_features(
            source, target, block.source_row, block.target_row - first
        )
        out[part, len(PAIR_FEATURES) :] = context_of(block)
        release(source, target)
    return out


def release(*texts: TokenizedText) -> None:
    """Drop the resident pages of texts in temporary files."""
    for text in texts:
        for field in dataclasses.fields(text):
            release_pages(getattr(text, field.name))


def prepare_texts(
    texts: SentenceFile, tokenizer: Tokenizer, threads: int, memory: int
) -> TokenizedText:
    """Prepare all sentences of an index, each decoded and tokenised once.

    Above a share of ``memory`` bytes the result is in temporary files, mapped into memory.
    """

    def blocks() -> Iterator[list[str]]:
        for start in range(0, len(texts), CHUNK):
            yield texts.slice(start, min(start + CHUNK, len(texts)))
            texts.release()

    parts = in_order(lambda block: tokenize_text(tokenizer, block, 1), blocks(), threads)
    # Token ids take about as many bytes as the text.
    columns = [GrowingArray(dtype, on_disk=texts.size > memory * SHARE) for dtype in DTYPES]
    columns[1].append(np.zeros(1, np.int64))
    columns[4].append(np.zeros(1, np.int64))
    tokens = numbers = 0
    for part in parts:
        rows = (
            part.ids,
            part.offsets[1:] + tokens,
            part.characters,
            part.numbers,
            part.number_offsets[1:] + numbers,
        )
        tokens, numbers = tokens + len(part.ids), numbers + len(part.numbers)
        for column, values in zip(columns, rows, strict=True):
            column.append(values)
    return TokenizedText(*(column.array() for column in columns))
