"""Verification of candidates: the lexicon, verifier, quality function and decoys of a model."""

from dataclasses import replace

from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.scoring.quality import NAME
from miner_train.choose_decoys import choose_decoys
from miner_train.data import SplitPairs
from miner_train.learn_lexicon import learn_lexicon
from miner_train.learn_quality import learn_quality
from miner_train.learn_verifier import ENOUGH, enough, learn_verifier
from miner_train.stages import Report, stage


def add_verification(model: Model, split: SplitPairs, seed: int, report: Report) -> Model:
    """Return the model with all that verification needs, or without where it cannot be learned."""
    if model.verifying is None:
        report("no verification: it compares pieces or words that both columns share")
        return model
    if not enough(len(split.held)):
        report(
            f"warning: {len(split.held)} held-out pairs are too few to learn to verify candidates "
            f"({ENOUGH} are needed; at most a tenth of all pairs is held out)"
        )
        return model
    translations, held = split.translations, split.text(split.held)
    with stage("learning translation probabilities", report):
        lexicon = learn_lexicon(split.pairs.take(translations), len(model.verifying.weights))
    with_lexicon = replace(model, lexicon=lexicon)
    training = split.text(translations)
    with stage("learning to verify candidates", report):
        verifier = learn_verifier(Encoder(with_lexicon), held, training, seed)
    if verifier is None:
        report("warning: held-out pairs are not found again; the model cannot verify candidates")
        return model
    with stage("learning to tell good pairs from corrupted ones", report):
        verifying = Encoder(replace(with_lexicon, verifier=verifier))
        quality = learn_quality(verifying, held, seed)
    return replace(
        with_lexicon,
        verifier={**verifier, NAME: quality},
        decoys=choose_decoys(split, translations, seed),
    )
