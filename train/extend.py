"""Further training of a model: with new languages, or with more text of its languages.

Pieces of new languages are added to the vocabulary, unless they would change the tokens of the
model's decoys, which represent the old languages. Training then changes only the vectors of the new
pieces, so that the old languages keep their quality. Text of the old languages changes all vectors.
"""

import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.lexicons import Lexicons, TranslationTable
from miner.encoder.model import Model
from miner.encoder.part import EncoderPart
from miner.encoder.pieces import PieceTokenizer
from miner.errors import ArtifactError, CorpusError
from miner.scoring.comparer import SURPRISE, matching_of
from miner.scoring.quality import NAME
from miner.text.language_codes import primary
from miner_train.calibrate_quality import calibrated
from miner_train.choose_decoys import choose_decoys
from miner_train.config import TrainConfig
from miner_train.data import UNKNOWN, SplitPairs
from miner_train.language_texts import rows_by_languages, texts_by_languages
from miner_train.learn_lexicon import learn_lexicons
from miner_train.learn_match_quantiles import learn_match_quantiles
from miner_train.read import TrainingText
from miner_train.stages import Report, stage
from miner_train.vocabulary import train_vocabulary

# Settings determined by the model.
DECIDED = ("encoder", "fold_case", "vocabularies", "dimension", "dtype")


def check_extensible(base: Model, config: TrainConfig) -> None:
    """Raise ArtifactError for a model of words or of another library, or with another shape."""
    if not base.architecture.plain or base.vectors is not None:
        raise ArtifactError(f"{base.path}: only models of the encoder 'sp' can be extended")
    trained = TrainConfig.from_dict(dict(base.training.get("config", {})))
    for name in DECIDED:
        if getattr(trained, name) != getattr(config, name):
            raise ArtifactError(
                f"{base.path}: was trained with {name.replace('_', ' ')} {getattr(trained, name)}, "
                "which further training cannot change"
            )


def adds_languages(base: Model, text: TrainingText) -> bool:
    """Return True if some text is in a language that the model does not know, or in an unnamed
    one.
    """
    codes = {primary(code) for name in text.languages for code in name.split("-")}
    return not codes <= base.languages.keys() or bool((text.language == UNKNOWN).any())


def extended_vocabulary(
    base: Model, text: TrainingText, config: TrainConfig, report: Report
) -> bytes:
    """Add up to ``config.pieces`` pieces to the model's, learned from its new languages.

    Raises CorpusError if the model has all pieces of the text.
    """
    known = PieceTokenizer(base.vocabularies[VOCABULARIES["piece"]])
    sentences, language = _new_text(base, text)
    with stage(f"learning {config.pieces} further pieces", report):
        learned = PieceTokenizer(train_vocabulary([sentences], config, language))
    spelt = set(known.spellings())
    scores = {
        piece: learned.processor.get_score(i)
        for i, piece in enumerate(learned.spellings())
        if learned.meaningful[i] and piece not in spelt
    }
    vocabulary = base.vocabularies[VOCABULARIES["piece"]]
    old = [sentence for sentences in base.decoys_by_language().values() for sentence in sentences]
    # Removing pieces may bring others into use, so that a few rounds are needed.
    while used := _used(vocabulary + _entries(scores), old, known.size, config.one_script):
        scores = {piece: score for piece, score in scores.items() if piece not in used}
    if not scores:
        raise CorpusError("no new pieces: the model has all that this text is made of")
    report(f"{len(scores)} pieces added to {known.size}")
    return vocabulary + _entries(scores)


def _new_text(base: Model, text: TrainingText) -> tuple[list[str], np.ndarray]:
    """Return the sentences in languages that the model does not know, and their language pairs."""
    sentences, languages = [], []
    for column, side in enumerate((text.source, text.target)):
        new = [primary(name.split("-")[column]) not in base.languages for name in text.languages]
        # the last entry is for UNKNOWN
        rows = np.flatnonzero(np.array([*new, True])[text.language])
        sentences += [side[row] for row in rows.tolist()]
        languages.append(text.language[rows])
    return sentences, np.concatenate(languages)


def _entries(scores: Mapping[str, float]) -> bytes:
    """Serialise pieces with their scores: messages of ``ModelProto.pieces``, to be appended."""
    return b"".join(
        _field(_field(piece.encode()) + b"\x15" + struct.pack("<f", score))
        for piece, score in scores.items()
    )


def _field(content: bytes) -> bytes:
    """Serialise bytes as the first field of a message, in protobuf's wire format."""
    size, rest = b"", len(content)
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return b"\x0a" + size + bytes([rest]) + content


def _used(vocabulary: bytes, sentences: list[str], first: int, one_script: bool) -> set[str]:
    """Return the pieces from the id ``first`` on that occur in these sentences."""
    tokenizer = PieceTokenizer(vocabulary, one_script=one_script)
    ids = np.unique(tokenizer(sentences)[0])
    return {tokenizer.processor.id_to_piece(i) for i in ids[ids >= first].tolist()}


def start(base: Model, size: int) -> np.ndarray:
    """Return the embeddings to start from, ``(size, d) float32``: NaN in the rows of new pieces."""
    table = np.full((size, base.dimension), np.nan, dtype=np.float32)
    table[: len(base.parts[0].weights)] = base.parts[0].table()
    return table


def extended(base: Model, learned: Model, split: SplitPairs, seed: int, report: Report) -> Model:
    """Return the model with the new pieces' part of ``learned``, lexicons and decoys of new text.

    Everything in the base is unchanged: vectors, the verifier and the quality function, and the
    lexicons of its languages.
    """
    count, base_part, part = len(base.parts[0].weights), base.parts[0], learned.parts[0]
    weights = np.concatenate(
        [base_part.weights, part.weights[count:].astype(base_part.weights.dtype)]
    )
    scales = None
    if base_part.scales is not None and part.scales is not None:
        scales = np.concatenate([base_part.scales, part.scales[count:]])
    training = {
        **learned.training,
        "extends": base.fingerprint,
        "earlier": earlier(base),
        "text": [*base.training.get("text", []), *learned.training["text"]],
        "pairs": base.training.get("pairs", 0) + learned.training["pairs"],
    }
    model = replace(
        learned,
        parts=(EncoderPart(weights, scales),),
        languages=_both(base, learned),
        training=training,
    )
    if base.lexicons is None:
        return model
    translations = split.translations
    with stage("learning translation probabilities", report):
        groups = {
            pair: rows
            for pair, rows in rows_by_languages(split, translations).items()
            if pair not in base.lexicons.tables
        }
        lexicons = learn_lexicons(split.pairs, groups, len(weights)).tables if groups else {}
    tables = {pair: _padded(table, len(weights)) for pair, table in base.lexicons.tables.items()}
    model = replace(model, lexicons=Lexicons({**lexicons, **tables}))
    comparer = dict(base.comparer)
    if comparer:
        comparer["units"] = _units(
            comparer["units"], base_part.table(), EncoderPart(weights, scales).table()
        )
        texts, (aligner, _) = texts_by_languages(split), matching_of(comparer)
        learnt = learn_match_quantiles(Encoder(model), aligner, texts, seed)
        comparer[SURPRISE] = np.concatenate([comparer[SURPRISE], learnt[count:]])
    model = replace(
        model,
        verifier=base.verifier,
        comparer=comparer,
        names=base.names,
        facts=base.facts,
        decoys={**choose_decoys(split, translations, seed), **base.decoys_by_language()},
    )
    new = [
        text for text in texts_by_languages(split) if set(text.languages) - base.languages.keys()
    ]
    if base.verifier is None or NAME not in base.verifier:
        return model
    return calibrated(model, new, seed)


def continued(base: Model, learned: Model) -> Model:
    """Return the model with the vectors of ``learned``, and unchanged verification.

    The base's accuracies by language are kept.
    """
    text, pairs = base.training.get("text", []), base.training.get("pairs", 0)
    languages = dict(base.languages)
    if learned.training["text fingerprint"] != base.training.get("text fingerprint"):
        text, pairs = [*text, *learned.training["text"]], pairs + learned.training["pairs"]
        languages = _both(base, learned)
    training = {
        **learned.training,
        "continues": base.fingerprint,
        "earlier": earlier(base),
        "text": text,
        "pairs": pairs,
    }
    return replace(base, parts=learned.parts, languages=languages, training=training)


def earlier(base: Model) -> list[dict[str, Any]]:
    """Return the trainings of ``base``, first to last: fingerprint, settings and F1 of each.

    The last training lists the texts of all of them.
    """
    kept = ("extends", "continues", "config", "text fingerprint", "pairs", "held-out mining F1")
    last = {name: base.training[name] for name in kept if name in base.training}
    return [*base.training.get("earlier", []), {"fingerprint": base.fingerprint, **last}]


def _both(base: Model, learned: Model) -> dict[str, KnownLanguage]:
    """Add the facts of both models about each language."""
    languages = {**learned.languages}
    for code, facts in base.languages.items():
        more = learned.languages.get(code, KnownLanguage(0))
        text = {
            name: facts.text.get(name, 0) + more.text.get(name, 0)
            for name in {**facts.text, **more.text}
        }
        pairs = facts.pairs + more.pairs
        languages[code] = replace(facts, pairs=pairs, text=text)
    return languages


def _padded(table: TranslationTable, size: int) -> TranslationTable:
    """Pad a table with rows without translations for further token ids, to ``size`` rows."""
    more = size - len(table.count)
    offsets = np.concatenate([table.offsets, np.full(more, table.offsets[-1])])
    count = np.concatenate([table.count, np.zeros(more, np.float32)])
    return TranslationTable(offsets, table.pieces, table.probability, count)


def _units(units: np.ndarray, old: np.ndarray, every: np.ndarray) -> np.ndarray:
    """Extend the comparer's vectors ``(V, s)`` to new ids by a linear map of the embeddings."""
    turned = np.linalg.lstsq(old, units.astype(np.float32), rcond=None)[0]
    return np.concatenate([units, (every[len(old) :] @ turned).astype(units.dtype)])
