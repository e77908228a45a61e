"""The aligner learned from held-out text: tokens follow in order."""

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.model import load
from miner.kernels.aligned import FARTHEST
from miner.kernels.hidden_markov import COSINES, EVIDENCES, JUMPS, REACH
from miner_train.language_texts import LanguageText
from miner_train.learn_match_quantiles import jump_probabilities, learn_alignment

HELD = [
    ("Der alte Hund schläft heute im Garten.", "The old dog sleeps in the garden today."),
    ("Sie kaufte gestern zwei neue Bücher.", "She bought two new books yesterday."),
    ("Wir warten auf den letzten Zug nach Berlin.", "We wait for the last train to Berlin."),
    ("Die Datei wurde nicht gefunden.", "The file was not found."),
    ("Bitte öffnen Sie das Fenster.", "Please open the window."),
]


def test_an_aligner_from_a_few_sentences() -> None:
    encoder = Encoder(load(), 1)
    source, target = ([pair[side] for pair in HELD] * 10 for side in range(2))
    text = LanguageText(("de", "en"), (source, target), ([], []))
    found = learn_alignment(encoder, [text], 1)
    assert {name: array.shape for name, array in found.items()} == {
        "emission": (COSINES, EVIDENCES),
        "jump": (JUMPS,),
        "unaligned": (1,),
    }
    assert all(array.dtype == np.float32 and (array > 0).all() for array in found.values())
    assert found["jump"][:-1].argmax() == REACH + 1
    assert found["emission"].max() > 4 and found["emission"].min() < 0.1
    assert 0 < found["unaligned"][0] < 0.5
    again = learn_alignment(encoder, [text], 1)
    for name, array in found.items():
        np.testing.assert_array_equal(array, again[name])


def test_far_jumps_share_a_probability():
    counts = np.ones(2 * FARTHEST + 1)
    found = jump_probabilities(counts)
    assert len(found) == JUMPS and found.sum() == 1
    np.testing.assert_allclose(found[:-1], 1 / len(counts))
