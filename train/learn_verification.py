"""Verification of a model: all its parts, learned together."""

from collections.abc import Callable
from dataclasses import replace

from miner.encoder import lexicon_file
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.scoring.quality import NAME
from miner_train.calibrate_quality import calibrated
from miner_train.choose_decoys import choose_decoys
from miner_train.data import SplitPairs
from miner_train.language_texts import rows_by_languages, texts_by_languages
from miner_train.learn_comparer import FEWEST, learn_comparer
from miner_train.learn_facts import learn_facts
from miner_train.learn_lexicon import learn_lexicons
from miner_train.learn_match_quantiles import learn_matches
from miner_train.learn_names import learn_names
from miner_train.learn_quality import learn_quality
from miner_train.learn_verifier import ALL_DISTRACTORS, ENOUGH, enough, learn_verifier
from miner_train.stages import Report, stage


def add_verification(
    model: Model,
    split: SplitPairs,
    seed: int,
    report: Report,
    *,
    comparer: bool = True,
    encoder_of: Callable[[Model], Encoder] = Encoder,
    distractors: int = ALL_DISTRACTORS,
) -> Model:
    """Return the model with all parts of verification, or unchanged if they cannot be learned.

    Existing lexicons, names and decoys are kept. ``comparer``: learn a comparer and a model of
    names, if the model reads pieces and there is enough text. ``encoder_of`` opens a model;
    ``distractors``: maximum sentences of the training text for the verifier.
    """
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
    lexicons = model.lexicons
    if lexicons is None:
        groups = rows_by_languages(split, translations)
        with stage("learning translation probabilities", report):
            lexicons = learn_lexicons(split.pairs, groups, len(model.verifying.weights))
            # Rounded now, so that the verifier learns from the same probabilities that it will
            # read.
            lexicons = lexicon_file.from_bytes(lexicon_file.to_bytes(lexicons), "lexicon")
    with_lexicons = replace(model, lexicons=lexicons, comparer={})
    texts = texts_by_languages(split)
    with stage("learning to verify candidates", report):
        verifier = learn_verifier(encoder_of(with_lexicons), texts, seed, distractors)
    if verifier is None:
        report("warning: held-out pairs are not found again; the model cannot verify candidates")
        return model
    if comparer and model.architecture.plain and len(translations) >= FEWEST:
        with stage("learning to compare tokens", report, silent=True):
            matches = learn_matches(encoder_of(with_lexicons), texts, seed)
            arrays = learn_comparer(encoder_of(with_lexicons), texts, matches, seed, report)
        with_lexicons = replace(with_lexicons, comparer=arrays)
        if not model.names:
            with stage("learning how names are spelled", report):
                with_lexicons = replace(with_lexicons, names=learn_names(texts))
    with_lexicons = with_facts(with_lexicons, split, seed, report)
    with stage("learning to tell good pairs from corrupted ones", report):
        verifying = encoder_of(replace(with_lexicons, verifier=verifier))
        quality = learn_quality(verifying, texts, seed)
    scoring = replace(with_lexicons, verifier={**verifier, NAME: quality})
    return replace(
        calibrated(scoring, texts, seed, encoder_of),
        decoys=model.decoys
        if model.decoys_by_language()
        else choose_decoys(split, translations, seed),
    )


def with_facts(model: Model, split: SplitPairs, seed: int, report: Report) -> Model:
    """Return the model with facts learned from the pairs, or unchanged if it reads no pieces."""
    if not model.architecture.plain:
        return model
    with stage("learning facts", report):
        return replace(model, facts=learn_facts(split, split.translations, seed))
