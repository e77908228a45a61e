"""Learning the quality function of a model that has none yet: ``python -m train.relearn``.

A model trained before there was such a function gets it without training again, from the same
held-out pairs: the text is read and split as it was then, which the model's record of it proves.
"""

import argparse
from dataclasses import replace
from itertools import chain

from miner.encoder.encoder import Encoder
from miner.errors import MismatchError
from miner.scoring.quality import NAME
from miner.scoring.verifier import Verifier
from train import data as pairs
from train.config import TrainConfig
from train.learn_quality import learn_quality
from train.read import TextPair, read_texts


def relearn(model: str, texts: list[TextPair], output: str) -> None:
    """Add the quality function to ``model``, trained on ``texts``, and save it to ``output``.

    Raises :class:`~miner.errors.MismatchError` where the text is not what the model was trained on.
    """
    encoder = Encoder.load(model)
    Verifier(encoder)  # whose features the quality is told by
    training = encoder.model.training
    config = TrainConfig(**training["config"])
    read = read_texts(texts, config, print)
    if pairs.fingerprint(read.source, read.target, None) != training["text fingerprint"]:
        raise MismatchError(f"{model}: was trained on other text; give the same, in the same order")
    cutters = list(encoder.tokenizers.values())
    everything = pairs.prepare((cutters, cutters), read.source, read.target, read.same)
    _, held = pairs.split(everything, config.heldout, config.seed)
    sentences = list(dict.fromkeys(chain(read.source, read.target)))
    source, target = (
        [sentences[i] for i in column[held].tolist()]
        for column in (everything.source_text, everything.target_text)
    )
    verifier = dict(encoder.model.verifier or {})
    verifier[NAME] = learn_quality(encoder, (source, target), config.seed)
    replace(encoder.model, verifier=verifier, decoys=encoder.model.read_decoys()).save(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--bitext", action="append", required=True, metavar="FILE.tsv")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    relearn(arguments.model, [TextPair(path) for path in arguments.bitext], arguments.output)
