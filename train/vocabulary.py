"""The SentencePiece vocabulary, shared by all languages of a model."""

import io
from collections.abc import Sequence

import numpy as np

from miner.errors import CorpusError
from train.config import TrainConfig

# SentencePiece adds up its counts per thread, so the vocabulary depends on how many there are:
# a fixed number makes it the same on every machine.
THREADS = 8


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
        raise CorpusError("no text to learn a vocabulary from")
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
