"""Fit of an encoder of another library: everything that verification needs besides its vectors.

The encoder has no token ids that verification could compare, so the fit learns a SentencePiece
vocabulary. The vector of a piece is the encoder's vector of the piece as a text, reduced by PCA and
weighted by rarity, as in model2vec (Tulkens and van Dongen 2024); lexicons, verifier, quality and
decoys are learned as in a training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.loading import ForeignVectors
from miner.encoder.model import Model
from miner.encoder.model_files import CONFIG
from miner.encoder.open_encoder import FittedEncoder
from miner.encoder.part import quantise
from miner.encoder.pieces import PieceTokenizer
from miner.errors import CorpusError
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.scoring.languages import identify
from miner.scoring.quality import NAME, Quality
from miner.scoring.verifier import Verifier
from miner.text.artifacts import replaceable
from miner_train.config import TrainConfig
from miner_train.heldout import mining_f1
from miner_train.language_texts import recorded_languages
from miner_train.learn_verification import add_verification
from miner_train.learn_verifier import ENOUGH, enough
from miner_train.pipeline import hold_out, open_tokenizers, tokenise
from miner_train.read import TextPair, read_texts
from miner_train.stages import Report, stage
from miner_train.teacher_vectors import Axes, piece_vectors
from miner_train.vocabulary import learn_vocabularies

# Dimensions of the pieces' vectors, enough for comparing directions in verification.
DIMENSION = 256
# Maximum held-out pairs, and maximum other sentences, that the encoder encodes.
HELD_OUT, DISTRACTORS = 4000, 20_000


def fit_encoder(
    encoder: ForeignEncoder,
    texts: Sequence[TextPair],
    output: str | Path,
    *,
    pieces: int = 32_000,
    without: Without = NOTHING,
    comparer: bool = False,
    labels: Mapping[tuple[str, str], float] = {},
    distractors: int = DISTRACTORS,
    report: Report = lambda line: None,
) -> Model:
    """Learn to verify the pairs of an encoder from bitext, and save the model to ``output``.

    The model has the encoder's vectors and fingerprint, so that indexes of the encoder can be
    verified. ``pieces`` is the size of the vocabulary, ``without``: files of sentences to exclude;
    ``comparer`` needs vectors of many more sentences. The quality is fitted to ``labels``:
    probability of some pairs of being right, by their texts.

    Raises CorpusError for bitext that is too small or in which the encoder finds no translations.
    """
    replaceable(output, CONFIG)
    config = TrainConfig(pieces=pieces, heldout=HELD_OUT)
    text = read_texts(texts, config, without, report)
    files = learn_vocabularies((text.source, text.target), config, report, text.language)
    tokenizers = open_tokenizers(files, config.architecture)
    pairs = hold_out(text, tokenise(text, tokenizers, report), config, report)
    if not enough(len(pairs.held)):
        raise CorpusError(
            f"{len(pairs.held)} held-out pairs are too few to learn to verify pairs; give bitext "
            f"of at least {10 * ENOUGH} pairs that share no sentence"
        )
    vocabulary = files[VOCABULARIES["piece"]]
    with stage("encoding the pieces of the vocabulary", report):
        ids = np.concatenate([pairs.pairs.source.ids, pairs.pairs.target.ids])
        table = piece_vectors(encoder, PieceTokenizer(vocabulary), ids, principal)
    model = Model.of_pieces(
        vocabulary,
        *quantise(table),
        vectors=ForeignVectors(
            encoder.address,
            encoder.fingerprint,
            encoder.dimension,
            encoder.prompts,
            encoder.loading.backend,
        ),
        languages=recorded_languages(pairs, text.counts),
    )
    with stage("mining held-out pairs", report):
        held = pairs.text(pairs.held)
        sides = encoder.on_side("source"), encoder.on_side("target")
        mined = mining_f1(*(side.encode(texts) for side, texts in zip(sides, held, strict=True)))
    report(f"held-out mining by margin: F1 {mined.f1:.4f}")
    record = {
        "config": config.as_dict(),
        "text": text.counts,
        "pairs": len(pairs.training),
        "held-out pairs": len(pairs.held),
        "held-out mining F1": mined.f1,
    }
    model = replace(model, threshold=mined.threshold, training=record)
    fitted = add_verification(
        model,
        pairs,
        config.seed,
        report,
        comparer=comparer,
        encoder_of=lambda model: FittedEncoder(model, foreign=encoder),
        distractors=distractors,
    )
    if fitted.verifier is None:
        raise CorpusError(
            f"{encoder.name} finds hardly any of the held-out pairs; is the bitext in languages "
            "that it knows?"
        )
    if labels:
        codes = [identify(side).code for side in zip(*labels, strict=True)]
        verifier = Verifier(FittedEncoder(fitted, foreign=encoder), (codes[0], codes[1]))
        function = Quality(verifier).with_labels(labels).calibrated
        quality = {**fitted.verifier, NAME: function.as_dict()}
        # The answers calibrate the quality.
        adjusted = {
            code: replace(facts, quality_map=None, quality_bound=None)
            for code, facts in fitted.languages.items()
        }
        fitted = replace(fitted, verifier=quality, languages=adjusted)
    return fitted.save(output)


def principal(vectors: np.ndarray) -> np.ndarray:
    """Reduce ``(n, d) float32`` by PCA to at most :data:`DIMENSION` components, as float32."""
    return Axes.of([vectors], DIMENSION).reduce(vectors)
