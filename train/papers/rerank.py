"""Choice among paraphrases of a sentence by meaning, novelty and fluency (P18)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.filters.ngram_overlap import overlap
from miner.progress import Reporter, silent
from miner.scoring.trigram_lm import Trigrams
from miner.text.output import one_line
from miner.text.words import plain_form, tokens
from miner_train.papers.build import statistics
from miner_train.papers.generation import RankWeights
from miner_train.papers.translators import Translation

# Sentences whose candidates are encoded together; maximum n of the n-grams whose overlap counts.
BLOCK, ORDERS = 1000, 3


@dataclass(frozen=True)
class Ranked:
    """Candidate with its score, the cosine with its sentence, and the mean n-gram overlap.

    ``perplexity`` is NaN without a language model.
    """

    text: str
    cost: float
    score: float
    cosine: float
    overlap: float
    perplexity: float


def rank(
    sentences: Sequence[str],
    candidates: Sequence[Sequence[Translation]],
    encoder: SentenceEncoder,
    weights: RankWeights = RankWeights(),
    language: Trigrams | None = None,
    report: Reporter = silent,
) -> list[list[Ranked]]:
    """Sort the candidates of each sentence by score, best first.

    Copies, which differ only in case and final punctuation, are dropped. The cheaper candidate wins
    a tie.
    """
    ranked_rows: list[list[Ranked]] = []
    for start in range(0, len(sentences), BLOCK):
        block = sentences[start : start + BLOCK]
        ranked_rows += _ranked(block, candidates[start : start + BLOCK], encoder, weights, language)
        report("ranking", len(ranked_rows), len(sentences))
    return ranked_rows


def ranked_lines(sentences: Sequence[str], ranked: Sequence[Sequence[Ranked]]) -> Iterator[str]:
    """Yield lines 'sentence, paraphrase, cost, score, cosine, overlap', and the perplexity if
    known.
    """
    for sentence, candidates in zip(sentences, ranked, strict=True):
        for candidate in candidates:
            numbers = [f"{candidate.cost:.4f}", f"{candidate.score:.4f}", f"{candidate.cosine:.4f}"]
            numbers.append(f"{candidate.overlap:.4f}")
            if not math.isnan(candidate.perplexity):
                numbers.append(f"{candidate.perplexity:.2f}")
            yield "\t".join([one_line(sentence), one_line(candidate.text), *numbers]) + "\n"


def means(sentences: Sequence[str], ranked: Sequence[Sequence[Ranked]]) -> dict[str, float]:
    """Counts and means over all rows: words, overlaps, BLEU, cosine, cost (P18).

    Raises CorpusError for no row.
    """
    rows = [candidate for candidates in ranked for candidate in candidates]
    pairs = [
        (sentence, candidate.text)
        for sentence, candidates in zip(sentences, ranked, strict=True)
        for candidate in candidates
    ]
    record = {"sentences": float(len(sentences)), **statistics(pairs)}
    record["sentences with a paraphrase"] = float(sum(map(bool, ranked)))
    record["cosine"] = float(np.mean([candidate.cosine for candidate in rows]))
    record["cost"] = float(np.mean([candidate.cost for candidate in rows]))
    return record


def _ranked(
    sentences: Sequence[str],
    candidates: Sequence[Sequence[Translation]],
    encoder: SentenceEncoder,
    weights: RankWeights,
    language: Trigrams | None,
) -> list[list[Ranked]]:
    kept = [
        [
            candidate
            for candidate in candidates_of
            if plain_form(candidate.text) != plain_form(sentence)
        ]
        for sentence, candidates_of in zip(sentences, candidates, strict=True)
    ]
    texts = list(
        dict.fromkeys(
            [*sentences, *(candidate.text for candidates_of in kept for candidate in candidates_of)]
        )
    )
    row = {text: number for number, text in enumerate(texts)}
    vectors = encoder.encode(texts)  # (texts, d)
    words = [tokens(text) for text in texts]
    surprise = [math.nan] * len(texts) if language is None else language.perplexity(words).tolist()
    by_sentence = []
    for sentence, candidates_of in zip(sentences, kept, strict=True):
        ranked = []
        for candidate in candidates_of:
            position, here = row[candidate.text], row[sentence]
            cosine = float(vectors[position] @ vectors[here])
            common = mean_overlap(words[here], words[position])
            fluency = -candidate.cost if language is None else -math.log(surprise[position])
            score = (
                weights.cosine * cosine
                + weights.novelty * (1 - common)
                + weights.fluency * (fluency if math.isfinite(fluency) else 0.0)
            )
            ranked.append(
                Ranked(candidate.text, candidate.cost, score, cosine, common, surprise[position])
            )
        by_sentence.append(
            sorted(
                ranked, key=lambda paraphrase: (-paraphrase.score, paraphrase.cost, paraphrase.text)
            )
        )
    return by_sentence


def mean_overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the mean overlap of n-grams of 1 to 3 tokens, as far as both sentences have any.

    0 for a sentence without tokens.
    """
    most = min(ORDERS, len(one), len(other))
    return sum(overlap(one, other, n) for n in range(1, most + 1)) / most if most else 0.0
