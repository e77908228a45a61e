"""Classifier of sentences: an encoder and a softmax over two classes, learned together (P17, 5.6).

It learns from two plain corpora, good and bad sentences: for example written by people, and by
machine translation. The encoders are those of ``miner train``; the softmax reads their vectors
without normalisation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from miner.device import resolve_device
from miner.encoder.model import CLASSIFIER, Model, Part
from miner.encoder.tokenizer import open_tokenizer
from miner.errors import CorpusError, ResourceError
from miner.progress import Reporter, silent
from miner.scoring.classifier import BAD, GOOD
from miner.text.artifacts import replaceable
from miner.text.corpus import Reader
from miner.text.lines import display_name
from miner_train.config import ClassifierConfig
from miner_train.data import Sentences, tokenize
from miner_train.encoders.embedding_table import Arrays, inside
from miner_train.encoders.mixed_encoder import Encoders
from miner_train.loop import Progress, memory_named, step_threads
from miner_train.vocabulary import train_vocabulary, train_words

# Sentences between reports of progress.
REPORT_EVERY = 2000
Report = Callable[[str], None]


@dataclass(frozen=True)
class Labelled:
    """``n`` tokenised sentences, and which of them are ``good (n,) bool``."""

    sentences: Sentences
    good: np.ndarray

    def __len__(self) -> int:
        return len(self.good)

    def take(self, rows: np.ndarray) -> Labelled:
        return Labelled(self.sentences.take(rows), self.good[rows])

    @property
    def majority(self) -> float:
        """The accuracy of always naming the larger class."""
        return float(max(self.good.mean(), 1 - self.good.mean()))


class Softmax:
    """softmax(W x + b) of vectors ``x (n, d)``, under training by Adam."""

    def __init__(self, size: int, seed: int):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.layer = torch.nn.Linear(size, 2)
        self.adam = torch.optim.Adam(self.layer.parameters())

    def step(self, vectors: np.ndarray, good: np.ndarray, rate: float) -> tuple[float, np.ndarray]:
        """Take one step; return the mean cross-entropy before it, and its gradient ``(n, d)``.

        ``vectors (n, d) float32``, ``good (n,) bool``.
        """
        x = torch.from_numpy(vectors).requires_grad_()
        loss = torch.nn.functional.cross_entropy(self.layer(x), _classes(good))
        self.adam.zero_grad()
        loss.backward()
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        assert x.grad is not None
        return float(loss.detach()), x.grad.numpy()

    def judge(self, vectors: np.ndarray, good: np.ndarray) -> tuple[float, float]:
        """Accuracy and mean cross-entropy on ``vectors (n, d)`` of known classes."""
        with torch.inference_mode():
            logits = self.layer(torch.from_numpy(vectors))
            loss = torch.nn.functional.cross_entropy(logits, _classes(good))
            right = logits.argmax(dim=1) == _classes(good)
        return float(right.double().mean()), float(loss)

    def learned(self) -> Arrays:
        """``weight (2, d)`` and ``bias (2,)``, float32: copies."""
        return {name: value.numpy().copy() for name, value in self.layer.state_dict().items()}


def _classes(good: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.where(good, GOOD, BAD))


@dataclass(frozen=True)
class Epoch:
    """Metrics of an epoch on held-out sentences, and the arrays learned."""

    number: int
    accuracy: float
    loss: float
    encoder: Arrays
    softmax: Arrays


class Trainer:
    """Trains the encoder of ``size`` tokens, and the softmax, on ``training``.

    Everything random follows from the seed, the epoch and the position in it.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        size: int,
        training: Labelled,
        threads: int | None = None,
        device: str = "cpu",
    ):
        self.config, self.training = config, training
        encoders = Encoders(config.encoding, {config.units: size}, device, threads=threads)
        self.encoder = encoders.parts[config.name]
        self.softmax = Softmax(self.encoder.size, config.seed)
        self._step = 0

    def run(self, held: Labelled, report: Report, progress: Reporter) -> Epoch:
        """Train to the end; return the epoch that is best on ``held``."""
        config, best = self.config, None
        # One thread: a step is too small for more. An LSTM brings threads of its own.
        with step_threads(config.encoding, 1):
            for number in range(1, config.epochs + 1):
                for event in self.epoch(number):
                    progress("training", event.done, event.total)
                vectors = self.encoder.means(held.sentences)
                accuracy, loss = self.softmax.judge(vectors, held.good)
                learned, layer = self.encoder.learned(), self.softmax.learned()
                # The model is stored in float16, which overflows first.
                limit = np.finfo(np.float16).max
                largest = max(float(np.abs(array).max()) for array in learned.values())
                if not (largest < limit and np.isfinite(loss)):  # no NaN either
                    raise ResourceError(
                        f"the training diverged in epoch {number}; lower --rate (now "
                        f"{config.rate:g})"
                    )
                # Bounds are set on probabilities, so these break ties.
                better = best is None or (accuracy, -loss) > (best.accuracy, -best.loss)
                if better:
                    copies = {name: array.copy() for name, array in learned.items()}
                    best = Epoch(number, accuracy, loss, copies, layer)
                report(
                    f"epoch {number} of {config.epochs}: loss {event.loss:.4f}, held-out "
                    f"accuracy {accuracy:.4f} (majority {held.majority:.4f}), loss {loss:.4f}"
                    + (" (best so far)" if better else "")
                )
        assert best is not None
        return best

    def epoch(self, number: int) -> Iterator[Progress]:
        """Train one epoch, from 1; yield about every `REPORT_EVERY` sentences."""
        config, n = self.config, len(self.training)
        order = np.random.default_rng([config.seed, 3, number]).permutation(n)
        total, last = 0.0, 0
        for start in range(0, n, config.batch):
            batch = self.training.take(order[start : start + config.batch])
            generator = np.random.default_rng([config.seed, 4, number, start])
            vectors = self.encoder.forward(batch.sentences, generator)
            loss, gradient = self.softmax.step(vectors, batch.good, config.rate)
            self._step += 1
            self.encoder.backward(gradient, self._step, config.rate)
            total += loss * len(batch)
            done = start + len(batch)
            if done == n or done - last >= REPORT_EVERY:
                last = done
                yield Progress(number, (number - 1) * n + done, config.epochs * n, total / done)


def train_classifier(
    good: Sequence[Reader],
    bad: Sequence[Reader],
    config: ClassifierConfig,
    output: str | Path,
    *,
    threads: int | None = None,
    device: str = "cpu",
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Model:
    """Learn to tell the sentences of ``good`` from those of ``bad``, and save the classifier.

    A sentence counts once in each class, and not at all if it stands in both. The result is the
    same, byte for byte, for the same seed and any ``threads`` [all cores]. ``device`` (auto, cpu or
    cuda) is for an LSTM, whose last bits may differ on a GPU. Raises CorpusError where a class has
    too little text, ArtifactError for an ``output`` that is something else, and ResourceError.
    """
    replaceable(output, CLASSIFIER)  # refused now rather than after all the work
    device = resolve_device(device)
    classes = [_read(readers, report) for readers in (good, bad)]
    names = [", ".join(display_name(reader.origin) for reader in side) for side in (good, bad)]
    both = classes[0].keys() & classes[1].keys()
    if both:
        report(f"{len(both)} sentences that are in both classes left out")
    texts = [[text for text in side if text not in both] for side in classes]
    for own, name in zip(texts, names, strict=True):
        if len(own) < 2:
            raise CorpusError(
                f"{name}: {len(own)} sentences to learn from"
                + (f", beside {len(both)} that are in both classes" if both else "")
                + "; a classifier needs two classes, and some thousands of sentences of each"
            )
    split = [_split(own, number, texts, config) for number, own in enumerate(texts)]
    (good_text, good_held), (bad_text, bad_held) = split

    report(f"learning a vocabulary of {config.units}s")
    sides = good_text, bad_text
    encoding = config.encoding
    words = config.units == "word"
    vocabulary = train_words(sides, encoding)[0] if words else train_vocabulary(sides, encoding)
    tokenizer = open_tokenizer(config.units, vocabulary, encoding.architecture)

    def labelled(good: list[str], bad: list[str]) -> Labelled:
        cut = tokenize([tokenizer], [*good, *bad], threads)
        every = Labelled(cut, np.arange(len(cut)) < len(good))
        return every.take(np.flatnonzero(np.diff(cut.offsets)))

    training, held = labelled(good_text, bad_text), labelled(good_held, bad_held)
    for data, what in ((training, "training"), (held, "held-out")):
        if len(data) < 2 or data.good.all() or not data.good.any():
            raise CorpusError(
                f"{' and '.join(names)}: the {what} sentences of one class have no known "
                f"{config.units}; give more text"
            )
    unknown = sum(len(side) for pair in split for side in pair) - len(training) - len(held)
    report(
        f"{len(training)} sentences to train on, {training.good.sum()} of them good; "
        f"{len(held)} held out, {held.good.sum()} of them good"
        + (f"; {unknown} without a known {config.units} left out" if unknown else "")
    )
    with memory_named(f"{config.batch} sentences"):
        trainer = Trainer(config, tokenizer.size, training, threads, device)
        best = trainer.run(held, report, progress)
    if best.accuracy <= held.majority:
        report("warning: no better than always naming the larger class; do not filter by it")
    weights = best.encoder["weights"].astype(np.float16)
    model = Model(
        (Part(weights, None, inside("network", best.encoder)),),
        {config.units: vocabulary},
        best.softmax["weight"].shape[1],
        encoding.architecture,
        classifier=best.softmax,
        training={
            "config": dataclasses.asdict(config),
            "good": [_counts(reader) for reader in good],
            "bad": [_counts(reader) for reader in bad],
            "sentences": len(training),
            "of them good": int(training.good.sum()),
            "held-out sentences": len(held),
            "held-out accuracy": best.accuracy,
            "held-out majority": held.majority,
            "epoch": best.number,
        },
    )
    return model.save(output)


def _read(readers: Sequence[Reader], report: Report) -> dict[str, None]:
    """Read the distinct sentences of a class, stripped, in their order."""
    found: dict[str, None] = {}
    for reader in readers:
        read, before = 0, len(found)
        for block in reader:
            read += len(block)
            found.update(dict.fromkeys(text.strip() for text in block.sentences))
        notes = {
            "empty": reader.empty,
            "not UTF-8": reader.undecodable,
            "seen before": read - (len(found) - before),
        }
        name = display_name(reader.origin)
        if not read:
            raise CorpusError(f"{name}: no sentences in it; is this the right file?")
        left_out = "".join(f", {count} {why} left out" for why, count in notes.items() if count)
        replaced = f", {reader.replaced} with bytes replaced" if reader.replaced else ""
        report(f"{name}: {len(found) - before} sentences{left_out}{replaced}")
    return found


def _counts(reader: Reader) -> dict[str, str | int]:
    return {
        "name": Path(reader.origin).name,
        "lines": reader.lines,
        "empty": reader.empty,
        "not UTF-8": reader.undecodable,
    }


def _split(
    own: list[str], number: int, classes: list[list[str]], config: ClassifierConfig
) -> tuple[list[str], list[str]]:
    """Split a class of at least 2 sentences into training and held-out ones; neither is empty."""
    share = config.heldout
    if share >= 2:
        share /= sum(map(len, classes))
    count = min(max(1, round(share * len(own))), len(own) // 2)
    order = np.random.default_rng([config.seed, 1, number]).permutation(len(own))
    held, rest = np.sort(order[:count]), np.sort(order[count:])
    return [own[row] for row in rest], [own[row] for row in held]
