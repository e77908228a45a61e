"""Distillation: a student of our architecture with the sentence vectors of a teacher.

Any encoder can be the teacher. The student's pieces start from the teacher's vectors of them, as in
model2vec (Tulkens and van Dongen 2024), and learn to reproduce the teacher's sentence vectors,
reduced by PCA (Reimers and Gurevych 2020). With bitext the student also learns that both sides find
each other, and to verify pairs like any model.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.architecture import VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.encoder.model_files import CONFIG
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, CorpusError
from miner.progress import Reporter, silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.text.artifacts import replaceable
from miner.text.corpus import CorpusReader
from miner_train import selection
from miner_train.assemble import assemble
from miner_train.config import TrainConfig
from miner_train.data import UNKNOWN, PairData, SplitPairs, split, tokenize
from miner_train.development import by_teacher
from miner_train.heldout import mining_f1
from miner_train.language_texts import recorded_languages
from miner_train.learn_verification import add_verification
from miner_train.pipeline import learn_and_tokenise, make_trainer, run_training
from miner_train.read import TextPair, TrainingText, read_texts
from miner_train.stages import Report, stage
from miner_train.teacher_vectors import Axes, cached_vectors, piece_vectors
from miner_train.training_checkpoint import Checkpoint

# Maximum number, and share, of the sentences on which the student is compared with the teacher.
HELD_OUT, SHARE = 2000, 20
# Minimum number of sentences, and of pairs of them, to learn from.
FEWEST = 4


@dataclass(frozen=True)
class Lessons:
    """Text of a distillation: files of sentences in any language, and bitext.

    ``on_error`` applies to sentences that are not UTF-8, as in
    :class:`miner.text.corpus.CorpusReader`. ``without``: files of sentences to exclude.
    """

    sentences: Sequence[str] = ()
    bitext: Sequence[TextPair] = ()
    on_error: str = "fail"
    without: Without = NOTHING


def distill(
    teacher: SentenceEncoder,
    lessons: Lessons,
    config: TrainConfig,
    output: str | Path,
    *,
    cache: str | Path | None = None,
    comparer: bool = True,
    restart: bool = False,
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Model:
    """Train a student of ``teacher`` and save it to ``output``.

    An interrupted run resumes. ``cache``: directory that keeps the teacher's vectors; by default a
    temporary one beside the output. With enough bitext the student learns to verify pairs, and a
    comparer of tokens with ``comparer``.

    Raises ArtifactError for an unsuitable teacher and for a cache of another teacher or text,
    CorpusError for too little text.
    """
    replaceable(output, CONFIG)
    _check_teacher(teacher, config)
    text, held_out, counts = _read(lessons, config, report)
    # The same key as in 'miner train-verifier', which then holds out the same pairs of bitext.
    key = {"config": config.as_dict(), "text": text.fingerprint, "teacher": teacher.fingerprint}
    directory = Path(cache or Path(output).with_name(f".{Path(output).name}.teacher"))
    with Checkpoint(output, key, restart) as checkpoint:
        files, tokenizers, tokenised = learn_and_tokenise(text, config, checkpoint, report)
        pairs = _hold_out(text, tokenised, config, report)
        sentences = [*pairs.sentences, *held_out]
        with stage(f"encoding {len(sentences)} sentences by the teacher", report, silent=True):
            parts = cached_vectors(teacher, sentences, directory, restart=restart, report=progress)
        axes = Axes.of(parts, config.dimension)
        wanted = np.concatenate([axes.reduce(part).astype(np.float16) for part in parts])
        start: dict[str, np.ndarray] = {}
        if checkpoint.load_state() is None:
            with stage("encoding the pieces of the vocabulary by the teacher", report):
                start["piece"] = _start(teacher, files[VOCABULARIES["piece"]], tokenised, axes)
        trainer = make_trainer(pairs, config, tokenizers, start=start)
        trainer.teacher = wanted
        if trainer.held is not None:
            sides = pairs.pairs.take(pairs.held).text.T
            mined = mining_f1(*(wanted[ids].astype(np.float32) for ids in sides))
            report(f"held-out mining F1 of the teacher {mined.f1:.4f}")
        compared = wanted[len(pairs.sentences) :]
        if not held_out:
            held_out = [sentence for side in pairs.text(pairs.held) for sentence in side]
            compared = wanted[pairs.pairs.take(pairs.held).text.T.ravel()]
        if trainer.held is None and held_out:
            known = tokenize(list(tokenizers[0].values()), held_out)
            trainer.development = by_teacher(known, compared)
        state = run_training(trainer, checkpoint, len(pairs.held), report, progress)
        record: dict[str, Any] = {
            "config": config.as_dict(),
            "teacher": {"name": teacher.address, "fingerprint": teacher.fingerprint},
            "sentences": counts,
            "text": text.counts,
            "text fingerprint": text.fingerprint,
            "pairs": int(pairs.pairs.same[pairs.training].sum()),
            "held-out pairs": len(pairs.held),
            "held-out mining F1": state.mining_f1,
        }
        model = assemble(state.best, config, files, trainer.data, state.threshold, record)
        if held_out:
            cosine = float((Encoder(model).encode(held_out) * compared).sum(axis=1).mean())
            report(f"cosine with the teacher {cosine:.4f}, of {len(held_out)} held-out sentences")
            model = replace(model, training={**record, "cosine with the teacher": cosine})
        model = replace(model, languages=recorded_languages(pairs, text.counts))
        if len(pairs.translations):
            model = add_verification(model, pairs, config.seed, report, comparer=comparer)
        model = model.save(output)
        checkpoint.remove()
        if cache is None:
            shutil.rmtree(directory, ignore_errors=True)
        return model


def _check_teacher(teacher: SentenceEncoder, config: TrainConfig) -> None:
    """Raise ArtifactError for a teacher with too few dimensions, or with separate vocabularies."""
    if teacher.dimension < config.dimension:
        raise ArtifactError(
            f"{teacher.name}: has vectors of {teacher.dimension} dimensions; a student cannot have "
            f"{config.dimension} (--dimension)"
        )
    if teacher.model is not None and teacher.side is not None:
        raise ArtifactError(
            f"{teacher.name}: has a vocabulary for each column, and cannot teach one student of all"
        )


def _read(
    lessons: Lessons, config: TrainConfig, report: Report
) -> tuple[TrainingText, list[str], list[dict[str, Any]]]:
    """Read all text: pairs, held-out sentences, and the records of the files of sentences.

    Sentences without a translation are paired two by two, labelled as no translations.
    """
    text = TrainingText(
        [], [], np.empty(0, bool), np.empty(0, np.int16), np.empty(0, bool), [], [], []
    )
    if lessons.bitext:
        text = read_texts(lessons.bitext, config, lessons.without, report)
    unwanted = lessons.without.opened()
    of_bitext = {*text.source, *text.target}
    distinct: dict[str, None] = {}
    counts = []
    for path in lessons.sentences:
        reader = CorpusReader(path, on_error=lessons.on_error)
        before = len(distinct)
        for block in reader:
            new = [sentence for sentence in block.sentences if sentence not in of_bitext]
            gone = selection.seen([new], unwanted)
            distinct.update((text, None) for text, out in zip(new, gone, strict=True) if not out)
        count = len(distinct) - before
        counts.append({"name": Path(path).name, "lines": reader.lines, "sentences": count})
        report(f"{path}: {count} new sentences of {reader.lines} lines")
    every = list(distinct)
    held = every[:: max(SHARE, -(-len(every) // HELD_OUT))] if len(every) > SHARE else []
    apart = set(held)
    rest = [sentence for sentence in every if sentence not in apart]
    half = len(rest) // 2
    text = replace(
        text,
        source=[*text.source, *rest[:half]],
        target=[*text.target, *rest[half : 2 * half]],
        same=np.concatenate([text.same, np.zeros(half, dtype=bool)]),
        language=np.concatenate([text.language, np.full(half, UNKNOWN, np.int16)]),
        held_out=np.concatenate([text.held_out, np.zeros(half, dtype=bool)]),
    )
    if len(text) < FEWEST:
        raise CorpusError(f"only {2 * len(text)} sentences to learn from; give more text")
    return text, held, counts


def _hold_out(
    text: TrainingText, pairs: PairData, config: TrainConfig, report: Report
) -> SplitPairs:
    """Hold out pairs, at most a tenth of the bitext."""
    translations = int(pairs.same.sum())
    training, held = split(pairs, min(config.heldout, translations // 10), config.seed)
    pairs_left = int(pairs.same[training].sum())
    others = 2 * (len(training) - pairs_left)
    report(
        f"{pairs_left} translations and {others} other sentences to train on, {len(held)} "
        "translations held out"
    )
    if len(training) < 2:
        raise CorpusError(f"only {len(training)} usable pairs: too few to train on")
    return SplitPairs(pairs, training, held, text.sentences, text.languages)


def _start(teacher: SentenceEncoder, vocabulary: bytes, pairs: PairData, axes: Axes) -> np.ndarray:
    """Return the initial embeddings of pieces ``(V, d) float32``: the teacher's vectors on its
    axes.
    """
    ids = np.concatenate([pairs.source.ids, pairs.target.ids])

    def reduce(vectors: np.ndarray) -> np.ndarray:
        turned = vectors @ axes.axes
        # Piece vectors and sentence vectors have different means, so each set is centred.
        return turned - turned.mean(axis=0)

    return piece_vectors(teacher, PieceTokenizer(vocabulary), ids, reduce)
