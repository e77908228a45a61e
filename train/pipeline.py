"""Training pipeline: from text to a model directory."""

import hashlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.device import resolve_device
from miner.encoder.architecture import VOCABULARIES, Architecture
from miner.encoder.known_languages import LEVELS
from miner.encoder.model import Model
from miner.encoder.model_files import CONFIG
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.encoder.tokenizer import Tokenizer, open_tokenizer
from miner.errors import ArtifactError, CorpusError
from miner.option_values import SIDES
from miner.progress import Reporter, silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.text.artifacts import replaceable
from miner_train import extend
from miner_train.assemble import assemble
from miner_train.config import TrainConfig
from miner_train.data import PairData, SplitPairs, fingerprint, prepare, split
from miner_train.development import by_grades, read_graded
from miner_train.heldout import enough
from miner_train.language_texts import recorded_languages
from miner_train.learn_verification import add_verification
from miner_train.loop import EpochEnd, State, Trainer, memory_named
from miner_train.piece_start import start_from_teacher
from miner_train.read import TextPair, TrainingText, read_texts
from miner_train.stages import Report, stage
from miner_train.training_checkpoint import Checkpoint
from miner_train.vocabulary import learn_vocabularies

# Number of pairs that a new language needs (docs/languages.md), and held-out F1 below which a model
# is weak.
FEW = 30_000
FAIR = next(accuracy for name, accuracy, _ in LEVELS if name == "fair")
# Tokenizers of the source and of the target column, by unit.
Tokenizers = list[dict[str, Tokenizer]]


def train_model(
    texts: Sequence[TextPair],
    config: TrainConfig,
    output: str | Path,
    *,
    without: Without = NOTHING,
    threshold: float | None = None,
    select: Sequence[str] = (),
    verifier: bool = True,
    comparer: bool = True,
    base: Model | None = None,
    teacher: SentenceEncoder | None = None,
    restart: bool = False,
    device: str = "cpu",
    given: Collection[str] | None = None,
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Model:
    """Train on all ``texts`` together and save the model to ``output``.

    Continues from the checkpoint of an interrupted run with the same configuration and text, unless
    ``restart``; the result is bit for bit the same as an uninterrupted run's on the same machine.

    without: files of sentences not to learn from.
    threshold: margin score from which ``miner mine`` keeps pairs by default [the best on the
        held-out pairs].
    select: files of graded sentence pairs in the language of the target column, by whose mean
        correlation the best epoch is chosen [by mining the held-out pairs].
    verifier, comparer: learn to verify candidates; learn a comparer of tokens, too.
    base: model to train further (:mod:`miner_train.extend`). For new languages it gets
        ``config.pieces`` more pieces, and its existing vectors are frozen; else all are trained.
    teacher: encoder whose vectors of the pieces the training begins with
        (:mod:`miner_train.piece_start`).
    device: auto, cpu or cuda, for recurrent encoders.
    given: names of the settings that the user set, for warnings [all]. Other settings come from a
        recipe, or from a model to start from.

    Raises CorpusError, ArtifactError and ResourceError.
    """
    replaceable(output, CONFIG)  # refuse now rather than after hours of work
    if base is not None:
        extend.check_extensible(base, config)
    if teacher is not None and not config.architecture.plain:
        raise ArtifactError(
            f"--pieces-from {teacher.name}: is for the encoder 'sp' with one vocabulary, not for "
            f"{config.encoder} ({config.vocabularies})"
        )
    device = resolve_device(device)
    text = read_texts(texts, config, without, report)
    adding = base is not None and extend.adds_languages(base, text)
    idle = [
        name
        for name, unused in (("temperature", 1), ("apart", 0))
        if getattr(config, name) != unused and (given is None or name in given)
    ]
    for name in idle if len(text.languages) < 2 else ():
        report(
            f"warning: --{name} has no effect: the names of the files tell fewer than two "
            "language pairs, as de-en.tsv and fr-en.tsv do"
        )
    if adding and len(text.source) < FEW:
        report(
            f"warning: {len(text.source):,} pairs are few for a new language: with fewer than "
            f"{FEW:,} it will be weak, and mining and filters miss most of its pairs"
        )
    graded = [read_graded(path) for path in select]
    key: dict[str, Any] = {"config": config.as_dict(), "text": text.fingerprint}
    if text.languages:
        key["languages"] = [text.languages, hashlib.sha256(text.language.tobytes()).hexdigest()]
    if graded:
        key["graded"] = [
            fingerprint(grades.first, grades.second, grades.score) for grades in graded
        ]
    if base is not None:
        key["base"] = base.fingerprint
    if teacher is not None:
        key["teacher"] = teacher.fingerprint
    with Checkpoint(output, key, restart) as checkpoint:
        files, tokenizers, tokenised = learn_and_tokenise(text, config, checkpoint, report, base)
        try:
            pairs = hold_out(text, tokenised, config, report)
        except CorpusError:
            checkpoint.remove()  # it must not block the right text of the next run
            raise
        start: dict[str, np.ndarray] = {}
        if base is not None:
            start["piece"] = extend.start(base, tokenizers[0]["piece"].size)
        cache = Path(output).with_name(f".{Path(output).name}.teacher")
        if teacher is not None and checkpoint.load_state() is None:
            start["piece"] = _taught(
                teacher, tokenizers, tokenised, config, cache, start.get("piece"), report, progress
            )
        trainer = make_trainer(pairs, config, tokenizers, device, start)
        if base is not None and adding:
            trainer.encoders.hold(len(base.parts[0].weights))
        if graded:
            trainer.development = by_grades(graded, list(tokenizers[1].values()))
        state = run_training(trainer, checkpoint, len(pairs.held), report, progress)
        record = {
            "config": config.as_dict(),
            "text": text.counts,
            "text fingerprint": text.fingerprint,
            **({"excluded": text.excluded} if without.files else {}),
            "labels": any(text.label_col for text in texts),
            "scores": any(text.score_col for text in texts),
            "pairs": len(pairs.training),
            "held-out pairs": len(pairs.held),
            "held-out mining F1": state.mining_f1,
            **({"correlation with grades": state.best_score} if graded else {}),
            **({"pieces from": _named(teacher)} if teacher is not None else {}),
        }
        if state.mining_f1 is not None and state.mining_f1 < FAIR:
            report(
                f"warning: a held-out mining F1 of {state.mining_f1:.3f} is low: at its best "
                "threshold the model misses right pairs or finds wrong ones, and the filter "
                "quality drops right ones; train on more text, or read samples of what it keeps"
            )
        if threshold is None:
            threshold = state.threshold if base is None else base.threshold
        model = assemble(state.best, config, files, trainer.data, threshold, record)
        model = replace(model, languages=recorded_languages(pairs, text.counts))
        if base is not None and adding:
            model = extend.extended(base, model, pairs, config.seed, report)
        elif base is not None:
            model = extend.continued(base, model)
        elif verifier and config.epochs:  # an untrained baseline must not know translations
            model = add_verification(model, pairs, config.seed, report, comparer=comparer)
        model = model.save(output)
        checkpoint.remove()
        shutil.rmtree(cache, ignore_errors=True)
        return model


def _taught(
    teacher: SentenceEncoder,
    tokenizers: Tokenizers,
    pairs: PairData,
    config: TrainConfig,
    cache: Path,
    known: np.ndarray | None,
    report: Report,
    progress: Reporter,
) -> np.ndarray:
    """Return the initial embeddings of the pieces from a teacher."""
    tokenizer = tokenizers[0]["piece"]
    assert isinstance(tokenizer, PieceTokenizer)
    ids = np.concatenate([pairs.source.ids, pairs.target.ids])
    with stage(f"encoding {tokenizer.size} pieces by {teacher.name}", report, silent=True):
        return start_from_teacher(teacher, tokenizer, ids, config.dimension, cache, known, progress)


def _named(teacher: SentenceEncoder) -> dict[str, str]:
    return {"name": Path(teacher.name).name, "fingerprint": teacher.fingerprint}


def learn_and_tokenise(
    text: TrainingText,
    config: TrainConfig,
    checkpoint: Checkpoint,
    report: Report,
    base: Model | None = None,
) -> tuple[dict[str, bytes], Tokenizers, PairData]:
    """Learn the vocabularies of a text, or load them from the checkpoint, and tokenise the text.

    ``base``: a model whose vocabulary is extended by pieces of new languages.

    Returns the vocabulary files by name, the tokenizers, and the tokenised pairs.
    """
    files = checkpoint.load_vocabulary()
    if files is None:
        if base is None:
            files = learn_vocabularies((text.source, text.target), config, report, text.language)
        elif not extend.adds_languages(base, text):
            report("the model knows the languages of the text: all its vectors are trained further")
            files = dict(base.vocabularies)
        else:
            pieces = extend.extended_vocabulary(base, text, config, report)
            files = {VOCABULARIES["piece"]: pieces}
        checkpoint.save_vocabulary(files)
    else:
        report(f"going on from {checkpoint.directory}")
    tokenizers = open_tokenizers(files, config.architecture)
    return files, tokenizers, tokenise(text, tokenizers, report)


def open_tokenizers(files: Mapping[str, bytes], architecture: Architecture) -> Tokenizers:
    """Open the tokenizers of both columns; ``files`` are the vocabularies by file name."""
    return [
        {units: open_tokenizer(units, files, architecture, side) for units in architecture.units}
        for side in SIDES
    ]


def tokenise(text: TrainingText, tokenizers: Tokenizers, report: Report) -> PairData:
    with stage(f"tokenising {len(text)} pairs by {' and '.join(tokenizers[0])}", report):
        source, target = (list(side.values()) for side in tokenizers)
        return prepare(
            (source, target), text.source, text.target, text.same, text.language, text.held_out
        )


def hold_out(
    text: TrainingText, pairs: PairData, config: TrainConfig, report: Report
) -> SplitPairs:
    """Split the tokenised pairs of a text into training and held-out pairs.

    Raises CorpusError if too few remain to train on.
    """
    training, held = split(pairs, config.heldout, config.seed)
    unknown, shared = len(text) - len(pairs), len(pairs) - len(training) - len(held)
    units = " or ".join(config.architecture.units)
    report(
        f"{len(training)} pairs to train on, {len(held)} held out; left out: {unknown} without a "
        f"known {units}, {shared} that share a sentence with a held-out pair"
    )
    if len(training) < 2:
        raise CorpusError(f"only {len(training)} usable pairs: too few to train on")
    if not pairs.same[training].any():
        raise CorpusError("every pair is labelled 0: there is no translation to learn from")
    return SplitPairs(pairs, training, held, text.sentences, text.languages)


def make_trainer(
    pairs: SplitPairs,
    config: TrainConfig,
    tokenizers: Tokenizers,
    device: str = "cpu",
    start: Mapping[str, np.ndarray] | None = None,
) -> Trainer:
    """Return the trainer; ``start``: initial embeddings ``(V, d) float32`` by unit.

    With several language pairs, the F1 of each is also reported.
    """
    sizes = {units: tokenizer.size for units, tokenizer in tokenizers[0].items()}
    training, held = pairs.pairs.take(pairs.training), pairs.pairs.take(pairs.held)
    groups: dict[str, np.ndarray] = {}
    if len(pairs.languages) > 1:
        by_language = pairs.by_language(pairs.held)
        groups = {name: rows for name, rows in by_language.items() if enough(rows)}
    return Trainer(config, sizes, training, held, device, start, groups)


def run_training(
    trainer: Trainer, checkpoint: Checkpoint, held: int, report: Report, progress: Reporter
) -> State:
    """Train to the end, and report each epoch."""
    config, n = trainer.config, len(trainer.data)
    if config.batch >= n and config.epochs:
        report(
            f"warning: a batch holds all {n} pairs, so that an epoch is one step; give a smaller "
            f"--batch (now {config.batch})"
        )
    if trainer.held is None and trainer.development is None:
        report(f"warning: {held} held-out pairs are too few to mine; keeping the last epoch")

    work = "training" if config.epochs else "evaluating the untrained encoder"

    def listen(event: EpochEnd) -> None:
        mined = "" if event.f1 is None else f", held-out mining F1 {event.f1:.4f}"
        if event.development is not None:
            mined += f", {event.development[0]} {event.development[1]:.4f}"
        kept = " (best so far)" if event.best and mined else ""
        groups = "".join(f", {name} {f1:.4f}" for name, f1 in event.f1_of.items())
        report(
            f"epoch {event.epoch} of {config.epochs}: loss {event.loss:.4f}{mined}{kept}{groups}"
        )

    with memory_named(f"{config.batch} pairs"), stage(work, report, silent=True):
        state = trainer.run(checkpoint, listen, progress)
    if not config.epochs and state.mining_f1 is not None:
        report(f"not trained: held-out mining F1 {state.mining_f1:.4f}")
    return state
