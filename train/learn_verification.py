"""Verification of candidates: the lexicons, verifier, quality function and decoys of a model."""

from dataclasses import replace

from miner.encoder import lexicon_file
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.scoring.quality import NAME
from miner_train.choose_decoys import choose_decoys
from miner_train.data import SplitPairs
from miner_train.language_texts import rows_by_languages, texts_by_languages
from miner_train.learn_lexicon import learn_lexicons
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
    translations = split.translations
    groups = rows_by_languages(split, translations)
    with stage("learning translation probabilities", report):
        lexicons = learn_lexicons(split.pairs, groups, len(model.verifying.weights))
        # Rounded now, so that the verifier learns from the probabilities that it will meet.
        lexicons = lexicon_file.from_bytes(lexicon_file.to_bytes(lexicons), "lexicon")
    with_lexicons, texts = replace(model, lexicons=lexicons), texts_by_languages(split)
    with stage("learning to verify candidates", report):
        verifier = learn_verifier(Encoder(with_lexicons), texts, seed)
    if verifier is None:
        report("warning: held-out pairs are not found again; the model cannot verify candidates")
        return model
    with stage("learning to tell good pairs from corrupted ones", report):
        verifying = Encoder(replace(with_lexicons, verifier=verifier))
        quality = learn_quality(verifying, texts, seed)
    return replace(
        with_lexicons,
        verifier={**verifier, NAME: quality},
        decoys=choose_decoys(split, translations, seed),
    )
