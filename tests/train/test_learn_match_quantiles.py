"""Match quantiles: a poor match is surprising for a token that usually matches well."""

import numpy as np

from miner.encoder.encoder import Encoder
from miner.kernels.aligned import BINS, PER_NAT
from miner.scoring.comparer import ALIGNER
from miner_train.language_texts import LanguageText
from miner_train.learn_match_quantiles import learn_alignment, learn_match_quantiles


def test_a_poor_match_surprises_where_it_is_rare(verifying_model) -> None:
    encoder = Encoder.load(verifying_model, 1)
    # "Hund" is always translated; "Guten" occurs where nothing is translated.
    texts = [["Der Hund schläft."] * 60 + ["Guten Tag"] * 60, ["The dog sleeps."] * 60 + ["a"] * 60]
    text = LanguageText(("de", "en"), (texts[0][:60], texts[1][:60]), (texts[0], texts[1]))
    arrays = learn_alignment(encoder, [text], 1)
    aligner = tuple(arrays[name] for name in ALIGNER)
    table = learn_match_quantiles(encoder, aligner, [text], 1)
    assert table.shape == (encoder.tokenizer.size, BINS) and table.dtype == np.uint8
    nats = table / PER_NAT
    assert (np.diff(nats) <= 0).all() and (nats[:, -1] == 0).all()
    known, unknown = (
        nats[encoder.tokenizer([line])[0]].mean(axis=0) for line in ("Hund", "Guten Tag")
    )
    assert known[2] > unknown[2] + 1
    np.testing.assert_array_equal(table, learn_match_quantiles(encoder, aligner, [text], 1))
