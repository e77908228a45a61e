"""Verification of a finished model, learned again with unchanged vectors and lexicons."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from miner.encoder.model import Model, load
from miner.encoder.model_files import CONFIG
from miner.errors import ArtifactError, CorpusError
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.text.artifacts import replaceable
from miner_train.config import TrainConfig
from miner_train.learn_verification import add_verification, with_facts
from miner_train.pipeline import hold_out, open_tokenizers, tokenise
from miner_train.read import TextPair, read_texts
from miner_train.stages import Report

# Keys of the record of a training.
FINGERPRINT, VERIFICATION = "text fingerprint", "verification text"


def relearn_verification(
    model: str | Path,
    texts: Sequence[TextPair],
    output: str | Path,
    *,
    without: Without = NOTHING,
    comparer: bool = True,
    only_facts: bool = False,
    report: Report = lambda line: None,
) -> Model:
    """Learn verifier, comparer and quality function of a model again, and save it to ``output``.

    The vectors do not change, so that indexes stay valid. Lexicons, names and decoys are kept; a
    model without gets new ones. Pairs held out in the model's training are held out again.

    without: files of sentences not to learn from.
    comparer: learn a comparer of tokens, too.
    only_facts: learn the facts again, and nothing else.

    Raises CorpusError, ArtifactError and ResourceError.
    """
    replaceable(output, CONFIG)  # refuse now rather than after minutes of work
    known = load(model)
    if known.verifying is None:
        raise ArtifactError(
            f"{model}: cannot verify: that takes pieces or words that both columns share"
        )
    config = TrainConfig.from_dict(known.training.get("config", {}))
    text = read_texts(texts, config, without, report)
    other = text.fingerprint != known.training.get(FINGERPRINT)
    if other:
        report(
            "warning: not the text of the encoder's training; leave out pairs of that, since "
            "verification is learned from pairs that the encoder has not seen"
        )
    tokenizers = open_tokenizers(known.vocabularies, known.architecture)
    pairs = hold_out(text, tokenise(text, tokenizers, report), config, report)
    if only_facts:
        learned = with_facts(known, pairs, config.seed, report)
    else:
        learned = add_verification(known, pairs, config.seed, report, comparer=comparer)
    if learned is known:
        raise CorpusError(f"{model}: verification cannot be learned from this text")
    if other:
        learned = replace(learned, training={**known.training, VERIFICATION: text.counts})
    return learned.save(output)
