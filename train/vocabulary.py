"""The vocabularies of a model, shared by all of its languages: pieces, words, morphs, trigrams."""

import io
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.trigram_units import unpack_trigrams
from miner.encoder.unit_lists import code_points
from miner.encoder.word_units import LONGEST_WORD, WORD, morfessor, morphs
from miner.errors import CorpusError
from miner.kernels.units import trigram_keys
from miner.machine import thread_count
from miner.parallel import in_order
from train.config import TrainConfig

# SentencePiece adds up its counts per thread, so the vocabulary depends on how many there are:
# a fixed number makes it the same on every machine.
THREADS = 8
# Sentences to count the units of at a time.
BLOCK = 20_000


def train_vocabulary(sides: Sequence[Sequence[str]], config: TrainConfig) -> bytes:
    """A serialised unigram model from ``sides``, the lists of sentences of all languages.

    Draws ``config.vocabulary_sample`` sentences, from each side in proportion to its size, with
    ``config.seed``. Asks for fewer pieces than ``config.pieces`` where the text has no more.
    """
    import sentencepiece

    total = sum(map(len, sides))
    generator = np.random.default_rng([config.seed, 0])
    sample: list[str] = []
    for side in sides:
        share = min(len(side), round(config.vocabulary_sample * len(side) / max(total, 1)))
        chosen = generator.choice(len(side), size=share, replace=False)
        sample += [side[row] for row in np.sort(chosen)]
    if not sample:
        raise _nothing()
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
            f"({str(error).splitlines()[0]}); give more text or fewer --pieces"
        ) from None
    return buffer.getvalue()


def train_words(
    sides: Sequence[Sequence[str]], config: TrainConfig, more: Sequence[str] = ()
) -> tuple[bytes, bytes | None]:
    """The most frequent words of ``sides``, and with ``config.segmentation`` how words are cut.

    Both as :class:`~miner.encoder.tokenizer.WordTokenizer` takes them; with a segmentation the words are
    morphs. The most frequent comes first, and of equally frequent ones the first by code points.
    After all that the text has come those of ``more``, as far as they can occur in text, until
    there are ``config.types``.
    """
    normalise = Normaliser.by_rule(config.fold_case)
    counts: Counter[str] = Counter()
    for block in _blocks(sides):
        counts.update(WORD.findall("\n".join(normalise(block))))
    if not counts:
        raise _nothing()
    segmentation: bytes | None = None
    cut: Callable[[str], Sequence[str]] = _whole
    if config.segmentation == "morfessor":
        segmentation = train_morphs(_frequent(counts, config.types), config.seed)
        cut = morphs(segmentation)
        words, counts = counts, Counter()
        for word, count in words.items():
            for morph in cut(word):
                counts[morph] += count
    types = dict.fromkeys(_frequent(counts, config.types))
    for word in chain.from_iterable(map(normalise, _blocks([more]))):
        if len(types) == config.types:
            break
        if WORD.fullmatch(word) and tuple(cut(word)) == (word,):
            types[word] = None
    return _lines(types), segmentation


def train_morphs(words: Sequence[str], seed: int) -> bytes:
    """A Morfessor Baseline model of these words: how it cuts them, in its own format (S18).

    Each counts once, however frequent: what recurs in many words is a morph.
    """
    package = morfessor()
    model = package.BaselineModel()
    # Long ones are links and the like, which would take most of the time.
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
    """The ``config.types`` most frequent character trigrams of ``sides``, ordered as words are."""
    normalise = Normaliser.by_rule(config.fold_case)

    def count(block: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        codes, offsets = code_points(normalise(block))
        keys = np.empty(len(codes), dtype=np.uint64)
        trigram_keys(codes, offsets, keys)
        return np.unique(keys, return_counts=True)

    keys, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    for more in in_order(count, _blocks(sides), thread_count()):
        both = np.concatenate([keys, more[0]])
        keys, place = np.unique(both, return_inverse=True)
        weights = np.concatenate([counts, more[1]])
        counts = np.bincount(place, weights, len(keys)).astype(np.int64)
    if not len(keys):
        raise _nothing()
    # Keys are in the order of their text.
    order = np.argsort(-counts, kind="stable")[: config.types]
    return _lines(unpack_trigrams(keys[order]))


def _blocks(sides: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    for side in sides:
        for start in range(0, len(side), BLOCK):
            yield side[start : start + BLOCK]


def _whole(word: str) -> Sequence[str]:
    return (word,)


def _frequent(counts: Counter[str], most: int) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))[:most]


def _lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")


def _nothing() -> CorpusError:
    return CorpusError("no text to learn a vocabulary from")
