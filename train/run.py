"""A whole training: text in, model directory out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.corpus import read_bitext
from miner.encoder import Encoder
from miner.errors import CorpusError, ResourceError
from miner.files import replaceable
from miner.model import CONFIG, Model, quantise
from miner.tokenizer import PieceTokenizer
from train import data as pairs
from train.checkpoint import Checkpoint
from train.config import TrainConfig
from train.lexicon import learn_lexicon
from train.loop import EpochEnd, Progress, Trainer
from train.verifier import choose_decoys, enough, learn_verifier
from train.vocabulary import train_vocabulary

# Gets lines to print, and the progress between them.
Report = Callable[[str | Progress], None]


@dataclass(frozen=True)
class TextPair:
    """A bitext to read: two aligned files, or two columns of one (``target`` None)."""

    source: str
    target: str | None = None
    scol: str = "1"
    tcol: str = "2"
    header: bool = False
    format: str | None = None

    @property
    def name(self) -> str:
        return self.source if self.target is None else f"{self.source} + {self.target}"


def train_model(
    texts: Sequence[TextPair],
    config: TrainConfig,
    output: str | Path,
    *,
    on_error: str = "fail",
    threshold: float | None = None,
    restart: bool = False,
    report: Report = lambda event: None,
) -> Model:
    """Train on all ``texts`` together and save the model to ``output``.

    Goes on from the checkpoint of an interrupted run with the same configuration and text, unless
    ``restart``; the result is bit for bit that of an uninterrupted one on the same machine.
    ``threshold`` is what ``miner mine`` keeps by default: by default the best on the held-out task.
    Raises CorpusError, ArtifactError and ResourceError.
    """
    replaceable(output, CONFIG)  # refused now rather than after hours of work
    source, target, counts = _read(texts, on_error, report)
    key = {"config": config.as_dict(), "text": pairs.fingerprint(source, target)}
    checkpoint = Checkpoint(output, key)
    if restart:
        checkpoint.remove()
    vocabulary = checkpoint.load_vocabulary()
    if vocabulary is None:
        report(f"learning a vocabulary of {config.pieces} pieces")
        vocabulary = train_vocabulary([source, target], config)
        checkpoint.save_vocabulary(vocabulary)
    else:
        report(f"going on from {checkpoint.directory}")

    tokenizer = PieceTokenizer(vocabulary)
    everything = checkpoint.load_pairs()
    if everything is None:
        report(f"cutting {len(source)} pairs into pieces")
        everything = pairs.prepare(tokenizer, source, target)
        checkpoint.save_pairs(everything)
    training, held = pairs.split(everything, config.heldout, config.seed)
    unknown = len(source) - len(everything)
    shared = len(everything) - len(training) - len(held)
    report(
        f"{len(training)} pairs to train on, {len(held)} held out; left out: {unknown} without a "
        f"known piece, {shared} that share a sentence with a held-out pair"
    )
    if len(training) < 2:
        checkpoint.remove()  # nothing to go on from: more text must not meet a stale checkpoint
        raise CorpusError(f"only {len(training)} usable pairs: too few to train on")
    trainer = Trainer(config, tokenizer.size, everything.take(training), everything.take(held))
    if trainer.held is None:
        report(f"warning: {len(held)} held-out pairs are too few to mine; keeping the last epoch")

    def listen(event: Progress | EpochEnd) -> None:
        if isinstance(event, Progress):
            report(event)
            return
        mined = "" if event.f1 is None else f", held-out mining F1 {event.f1:.4f}"
        kept = " (best so far)" if event.best and event.f1 is not None else ""
        report(f"epoch {event.epoch} of {config.epochs}: loss {event.loss:.4f}{mined}{kept}")

    try:
        state = trainer.run(checkpoint, listen)
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise ResourceError(
            f"out of memory in a batch of {config.batch} pairs; give a smaller --batch"
        ) from None
    if threshold is None and not np.isnan(state.threshold):
        threshold = state.threshold
    scales = None
    weights: np.ndarray = state.best.astype(np.float16)
    if config.dtype == "int8":
        weights, scales = quantise(state.best)
    model = Model(
        vocabulary,
        weights,
        scales,
        threshold=threshold,
        training={
            "config": config.as_dict(),
            "text": counts,
            "text fingerprint": key["text"],
            "pairs": len(training),
            "held-out pairs": len(held),
            "held-out mining F1": None if state.best_f1 < 0 else state.best_f1,
        },
    )
    if enough(len(held)):
        # Sentences are numbered in the order in which they are first met.
        sentences = list(dict.fromkeys([*source, *target]))
        model = _with_verifier(model, everything, training, held, sentences, config.seed, report)
    else:
        report(f"warning: {len(held)} held-out pairs are too few to learn to verify candidates")
    model = model.save(output)
    checkpoint.remove()
    return model


def _with_verifier(
    model: Model,
    everything: pairs.PairData,
    training: np.ndarray,
    held: np.ndarray,
    sentences: list[str],
    seed: int,
    report: Report,
) -> Model:
    """The model with all that a second look needs."""
    report("learning translation probabilities")
    lexicon = learn_lexicon(everything.take(training), len(model.weights))
    model = replace(model, lexicon=lexicon)

    def text(rows: np.ndarray) -> tuple[list[str], list[str]]:
        source, target = everything.source_text[rows], everything.target_text[rows]
        return [sentences[i] for i in source], [sentences[i] for i in target]

    report("learning to verify candidates")
    verifier = learn_verifier(Encoder(model), text(held), text(training), seed)
    if verifier is None:
        report("warning: held-out pairs are not found again; the model cannot verify candidates")
        return replace(model, lexicon=None)
    return replace(model, verifier=verifier, decoys=choose_decoys(text(training), seed))


def _read(
    texts: Sequence[TextPair], on_error: str, report: Report
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """All pairs, and what each bitext gave."""
    source: list[str] = []
    target: list[str] = []
    counts = []
    for text in texts:
        bitext = read_bitext(
            text.source,
            text.target,
            scol=text.scol,
            tcol=text.tcol,
            header=text.header,
            format=text.format,
            on_error=on_error,
        )
        left_out = {"empty": bitext.empty, "not UTF-8": bitext.undecodable}
        notes = "".join(f", {count} {why} left out" for why, count in left_out.items() if count)
        if bitext.replaced:
            notes += f", {bitext.replaced} with bytes replaced"
        report(f"{text.name}: {len(bitext)} pairs{notes}")
        counts.append({"name": Path(text.source).name, "pairs": len(bitext), **left_out})
        source += bitext.source
        target += bitext.target
    if not source:
        raise CorpusError(f"{', '.join(text.name for text in texts)}: no pairs to train on")
    return source, target, counts
