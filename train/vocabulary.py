"""Vocabularies of a model, common to all languages or one per column: pieces, words, morphs,
trigrams.
"""

import dataclasses
import io
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from miner.encoder.architecture import SEGMENTATION, TARGET, VOCABULARIES
from miner.encoder.normaliser import Normaliser
from miner.encoder.script_folding import in_one_script
from miner.encoder.trigram_units import unpack_trigrams
from miner.encoder.unit_lists import code_points
from miner.encoder.word_units import LONGEST_WORD, WORD, morfessor, morphs
from miner.errors import CorpusError, reason
from miner.kernels.units import trigram_keys
from miner.machine import thread_count
from miner.option_values import SIDES
from miner.parallel import in_order
from miner.text.invisible import visible
from miner_train.config import TrainConfig
from miner_train.sampling import shares
from miner_train.stages import Report, stage

# Number of threads, fixed because SentencePiece adds its counts per thread, so that the vocabulary
# is the same on every machine.
THREADS = 8
# Sentences whose units are counted at a time.
BLOCK = 20_000


def learn_vocabularies(
    sides: Sequence[Sequence[str]],
    config: TrainConfig,
    report: Report,
    language: np.ndarray | None = None,
) -> dict[str, bytes]:
    """Learn a vocabulary for each unit from lists of sentences; return the files of the model
    directory.

    With separate vocabularies each column has one. ``language (n,) int16`` are the language pairs
    of aligned sides, for the sample of pieces.
    """
    files: dict[str, bytes] = {}
    if config.architecture.separate:
        shared = dataclasses.replace(config, vocabularies="shared")
        for side, prefix, column in zip(sides, ("", TARGET), SIDES, strict=True):
            with stage(f"vocabulary of the {column} column", report, silent=True):
                learned = learn_vocabularies([side], shared, report, language)
            files |= {prefix + name: content for name, content in learned.items()}
        return files
    for units in config.architecture.units:
        name = VOCABULARIES[units]
        if units == "piece":
            with stage(f"learning a vocabulary of {config.pieces} pieces", report):
                files[name] = train_vocabulary(sides, config, language)
        elif units == "word":
            words = "counting words" if config.segmentation == "none" else "learning morphs"
            with stage(words, report):
                files[name], segmentation = train_words(sides, config)
            if segmentation is not None:
                files[SEGMENTATION] = segmentation
        else:
            with stage("counting trigrams", report):
                files[name] = train_trigrams(sides, config)
    return files


def train_vocabulary(
    sides: Sequence[Sequence[str]], config: TrainConfig, language: np.ndarray | None = None
) -> bytes:
    """Train a SentencePiece unigram model on ``sides``, the lists of sentences; return its bytes.

    ``config.vocabulary_sample`` sentences are drawn from each side in proportion to its size, or
    from the language pairs ``language (n,) int16`` according to ``config.temperature``. Text with
    fewer pieces than ``config.pieces`` gives a smaller vocabulary. Raises CorpusError for text
    without pieces, or with more distinct characters than ``config.pieces``.
    """
    import sentencepiece

    sample = [side[row] for side, rows in _drawn(sides, config, language) for row in rows.tolist()]
    if not sample:
        raise _nothing()
    sample = [visible(sentence) for sentence in sample]
    if config.one_script:
        sample = in_one_script(sample)
    buffer = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=buffer,
            model_type="unigram",
            vocab_size=config.pieces,
            hard_vocab_limit=False,
            character_coverage=config.coverage,
            normalization_rule_name="nmt_nfkc_cf" if config.fold_case else "nmt_nfkc",
            num_threads=THREADS,
            max_sentence_length=100_000,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise CorpusError(
            f"no vocabulary of {config.pieces} pieces can be learned from {len(sample)} sentences "
            f"({reason(error)}); give more text or fewer --pieces"
        ) from None
    return buffer.getvalue()


def _drawn(
    sides: Sequence[Sequence[str]], config: TrainConfig, language: np.ndarray | None
) -> Iterator[tuple[Sequence[str], np.ndarray]]:
    """Draw the sentences to learn pieces from: yield each side with its rows, ascending."""
    total = max(1, sum(map(len, sides)))
    generator = np.random.default_rng([config.seed, 0])
    for side in sides:
        counts, parts = np.array([len(side)]), [np.arange(len(side))]
        if language is not None and config.temperature != 1:
            parts = [np.flatnonzero(language == number) for number in np.unique(language)]
            counts = shares(np.array([len(rows) for rows in parts]), config.temperature)
        for rows, count in zip(parts, counts.tolist(), strict=True):
            share = min(len(rows), round(config.vocabulary_sample * count / total))
            yield side, np.sort(generator.choice(rows, size=share, replace=False))


def train_words(sides: Sequence[Sequence[str]], config: TrainConfig) -> tuple[bytes, bytes | None]:
    """Return the most frequent words of ``sides``, and their segmentation if configured.

    Both are bytes in the format of :class:`~miner.encoder.word_units.WordTokenizer`; with a
    segmentation the words are morphs. Words are ordered by frequency, then by code points.
    """
    normalise = Normaliser.by_rule(config.fold_case)
    counts: Counter[str] = Counter()
    for block in _blocks(sides):
        counts.update(WORD.findall("\n".join(normalise(block))))
    if not counts:
        raise _nothing()
    segmentation: bytes | None = None
    if config.segmentation == "morfessor":
        segmentation = train_morphs(_frequent(counts, config.types), config.seed)
        cut = morphs(segmentation)
        words, counts = counts, Counter()
        for word, count in words.items():
            for morph in cut(word):
                counts[morph] += count
    return _lines(_frequent(counts, config.types)), segmentation


def train_morphs(words: Sequence[str], seed: int) -> bytes:
    """Train Morfessor Baseline on these words (S18); return its segmentations in its own format.

    Each word counts once, whatever its frequency, so that morphs are units that recur in many
    words.
    """
    package = morfessor()
    model = package.BaselineModel()
    # Long words are mostly links; they would take most of the time.
    model.load_data((1, word) for word in words if len(word) <= LONGEST_WORD)
    before, shown = random.getstate(), package.utils.show_progress_bar
    try:
        random.seed(seed)
        package.utils.show_progress_bar = False
        model.train_batch()
    finally:
        random.setstate(before)
        package.utils.show_progress_bar = shown
    return _lines(f"{count} {' + '.join(parts)}" for count, _, parts in model.get_segmentations())


def train_trigrams(sides: Sequence[Sequence[str]], config: TrainConfig) -> bytes:
    """Return the ``config.types`` most frequent character trigrams of ``sides``, one a line.

    They are ordered by frequency, then by code points.
    """
    normalise = Normaliser.by_rule(config.fold_case)

    def count(block: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        codes, offsets = code_points(normalise(block))
        return np.unique(trigram_keys(codes, offsets), return_counts=True)

    keys, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for more in in_order(count, _blocks(sides), thread_count()):
        both = np.concatenate([keys, more[0]])
        keys, inverse = np.unique(both, return_inverse=True)
        weights = np.concatenate([counts, more[1]])
        counts = np.bincount(inverse, weights, len(keys)).astype(np.int64)
    if not len(keys):
        raise _nothing()
    # Keys are in the order of their trigrams, so ties go to the first trigram.
    order = np.argsort(-counts, kind="stable")[: config.types]
    return _lines(unpack_trigrams(keys[order]))


def _blocks(sides: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for side in sides:
        for start in range(0, len(side), BLOCK):
            yield side[start : start + BLOCK]


def _frequent(counts: Counter[str], most: int) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))[:most]


def _lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")


def _nothing() -> CorpusError:
    return CorpusError("no text to learn a vocabulary from")
