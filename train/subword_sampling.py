"""Subword sampling: training pairs whose pieces are segmented anew in each epoch (Kudo 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from miner.encoder.pieces import PieceTokenizer
from miner.encoder.tokenizer import MarkedTokenizer, Tokenizer
from miner_train.config import TrainConfig
from miner_train.data import PairData, Sentences, tokenize_parts


def resampled(
    data: PairData,
    sentences: Sequence[str],
    tokenizers: Sequence[Mapping[str, Tokenizer]],
    config: TrainConfig,
    epoch: int,
) -> PairData:
    """Segment both columns into pieces at random; other units stay.

    ``sentences`` are the distinct sentences by text id, ``tokenizers`` those of the source and of
    the target column by unit. Seed, epoch and column decide the segmentation.
    """

    def column(number: int, side: Sentences, text: np.ndarray) -> Sentences:
        tokenizer = tokenizers[number]["piece"]
        assert isinstance(tokenizer, PieceTokenizer | MarkedTokenizer)
        seed = int(np.random.default_rng([config.seed, 8, epoch, number]).integers(1 << 31))

        def cut(chunk: Sequence[str], first: int) -> tuple[np.ndarray, np.ndarray]:
            return tokenizer.sample(chunk, config.sampling, seed, first)

        sampled = tokenize_parts(cut, [sentences[i] for i in text.tolist()])
        return replace(sampled, also=side.also)

    source = column(0, data.source, data.source_text)
    return replace(data, source=source, target=column(1, data.target, data.target_text))
