"""Fit of an encoder of another library: all that verification needs beside its vectors.

The encoder has no token ids that verification could compare, so the fit learns a SentencePiece
vocabulary of its own. The vector of a piece is the encoder's vector of the piece as a text, reduced
by PCA and weighted by rarity, as model2vec distils (Tulkens and van Dongen 2024); lexicons,
verifier, quality and decoys are learned as in a training.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.loading import ForeignVectors
from miner.encoder.model import CONFIG, Model, quantise
from miner.encoder.open_encoder import FittedEncoder
from miner.encoder.pieces import SPACE_MARK, PieceTokenizer
from miner.errors import CorpusError
from miner.text.artifacts import replaceable
from miner_train.config import TrainConfig
from miner_train.data import PairData
from miner_train.heldout import mining_f1
from miner_train.language_record import recorded_languages
from miner_train.learn_verification import add_verification
from miner_train.learn_verifier import ENOUGH, enough
from miner_train.pipeline import hold_out, open_tokenizers, tokenise
from miner_train.read import TextPair, read_texts
from miner_train.stages import Report, stage
from miner_train.vocabulary import learn_vocabularies

# Dimensions of the pieces' vectors: verification compares directions, and these are enough.
DIMENSION = 256
# Weight of a piece of probability p: RARE / (RARE + p) (Arora et al. 2017).
RARE = 1e-3
# Most held-out pairs, and most other sentences, that the encoder has to encode.
HELD_OUT, DISTRACTORS = 4000, 20_000
# Pieces that are encoded at a time.
BLOCK = 4096


def fit_encoder(
    encoder: ForeignEncoder,
    texts: Sequence[TextPair],
    output: str | Path,
    *,
    pieces: int = 32_000,
    seed: int = 1,
    exclude: Sequence[str] = (),
    comparer: bool = False,
    distractors: int = DISTRACTORS,
    report: Report = lambda line: None,
) -> Model:
    """Learn to verify the pairs of an encoder from bitext, and save the model to ``output``.

    The model has the encoder's vectors and its fingerprint, so that indexes which the encoder built
    can be verified. ``pieces`` is the size of the vocabulary; ``comparer`` learns one, too, for
    which the encoder encodes many more sentences. ``exclude`` are files of sentences not to learn
    from.

    Raises CorpusError for bitext that is too small or in which the encoder finds no translations.
    """
    replaceable(output, CONFIG)
    config = TrainConfig(pieces=pieces, heldout=HELD_OUT, seed=seed)
    text = read_texts(texts, config, exclude, report)
    files = learn_vocabularies((text.source, text.target), config, [], report, text.language)
    vocabularies = {units: files[VOCABULARIES[units]] for units in config.architecture.units}
    tokenizers = open_tokenizers(vocabularies, config.architecture, None)
    pairs = hold_out(text, tokenise(text, tokenizers, report), config, report)
    if not enough(len(pairs.held)):
        raise CorpusError(
            f"{len(pairs.held)} held-out pairs are too few to learn to verify pairs; give bitext "
            f"of at least {10 * ENOUGH} pairs that share no sentence"
        )
    vocabulary = vocabularies["piece"]
    with stage("encoding the pieces of the vocabulary", report):
        table = piece_vectors(encoder, PieceTokenizer(vocabulary), pairs.pairs)
    backend = encoder.backend
    model = Model.of_pieces(
        vocabulary,
        *quantise(table),
        vectors=ForeignVectors(
            encoder.address,
            encoder.fingerprint,
            encoder.dimension,
            backend.prompts,
            backend.loading.backend,
        ),
        languages=recorded_languages(pairs, text.counts),
    )
    with stage("mining held-out pairs", report):
        held = pairs.text(pairs.held)
        sides = encoder.on_side("source"), encoder.on_side("target")
        mined = mining_f1(*(side.encode(own) for side, own in zip(sides, held, strict=True)))
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
        seed,
        report,
        comparer=comparer,
        encoder_of=lambda one: FittedEncoder(one, foreign=encoder),
        distractors=distractors,
    )
    if fitted.verifier is None:
        raise CorpusError(
            f"{encoder.name} finds hardly any of the held-out pairs; is the bitext in languages "
            "that it knows?"
        )
    return fitted.save(output)


def piece_vectors(
    encoder: ForeignEncoder, tokenizer: PieceTokenizer, pairs: PairData
) -> np.ndarray:
    """Return vectors ``(V, d) float32`` of pieces, d at most :data:`DIMENSION`.

    A piece's vector is the encoder's vector of its text, without the mark of a space, centred and
    reduced by PCA. Its length falls with the frequency of the piece in ``pairs``. Pieces that
    cannot occur have zero rows.
    """
    processor = tokenizer.processor
    rows = np.flatnonzero(tokenizer.meaningful)
    texts = [processor.id_to_piece(int(row)).replace(SPACE_MARK, " ").strip() for row in rows]
    known = np.empty((len(rows), encoder.dimension), dtype=np.float32)
    for start in range(0, len(rows), BLOCK):
        known[start : start + BLOCK] = encoder.encode(texts[start : start + BLOCK])
    reduced = principal(known, DIMENSION)
    ids = np.concatenate([pairs.source.ids, pairs.target.ids])
    count = np.bincount(ids, minlength=tokenizer.size)[rows]
    weight = RARE / (RARE + count / max(len(ids), 1))
    length = np.maximum(np.linalg.norm(reduced, axis=1), 1e-9)
    table = np.zeros((tokenizer.size, reduced.shape[1]), dtype=np.float32)
    table[rows] = reduced * (weight / length)[:, None]
    return table


def principal(vectors: np.ndarray, most: int) -> np.ndarray:
    """Reduce ``(n, d) float32`` by PCA to ``(n, min(d, most)) float32``."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    return (centred @ axes[:, ::-1][:, :most]).astype(np.float32)
