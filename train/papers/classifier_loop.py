"""Training loop of a classifier: an encoder and a softmax over two classes (P17, section 5.6)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from miner.errors import ResourceError
from miner.progress import Reporter
from miner.scoring.classifier import BAD, GOOD
from miner_train.data import Sentences
from miner_train.encoders.embedding_table import Arrays
from miner_train.encoders.mixed_encoder import Encoders
from miner_train.loop import diverged, step_threads
from miner_train.papers.classified import LabelledSentences, MatchedReferences
from miner_train.papers.classifier_config import ClassifierConfig
from miner_train.stages import Report

# Sentences between reports of progress.
REPORT_EVERY = 2000


class Softmax:
    """softmax(W x + b) of vectors ``x (n, d)``, under training by Adam.

    ``l2`` is the weight of the squares of W in the loss.
    """

    def __init__(self, size: int, seed: int, l2: float = 0.0):
        self.l2 = l2
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
        (loss + self.l2 * self.layer.weight.square().sum()).backward()
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        assert x.grad is not None
        return float(loss.detach()), x.grad.numpy()

    @torch.inference_mode()
    def judge(self, vectors: np.ndarray, good: np.ndarray) -> tuple[float, float]:
        """Accuracy and mean cross-entropy on ``vectors (n, d)`` of known classes."""
        logits, classes = self.layer(torch.from_numpy(vectors)), _classes(good)
        right = (logits.argmax(dim=1) == classes).double().mean()
        return float(right), float(torch.nn.functional.cross_entropy(logits, classes))

    @torch.inference_mode()
    def probability(self, vectors: np.ndarray) -> np.ndarray:
        """Probability of being good ``(n,) float32`` of ``vectors (n, d)``."""
        return self.layer(torch.from_numpy(vectors)).softmax(dim=1)[:, GOOD].numpy()

    def learned(self) -> Arrays:
        """``weight (2, d)`` and ``bias (2,)``, float32: copies."""
        return {name: value.numpy().copy() for name, value in self.layer.state_dict().items()}


def _classes(good: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.where(good, GOOD, BAD))


@dataclass(frozen=True)
class Epoch:
    """Metrics of an epoch on held-out sentences, and the learned arrays.

    ``right, right_of_test (n,) bool``: held-out and test sentences that are classified correctly.
    """

    number: int
    accuracy: float
    loss: float
    encoder: Arrays
    softmax: Arrays
    right: np.ndarray
    right_of_test: np.ndarray


class ClassifierTrainer:
    """Trainer of the encoder of ``size`` tokens, and the softmax, on ``training``.

    All random numbers follow from the seed, the epoch and the position in it.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        size: int,
        training: LabelledSentences | MatchedReferences,
        threads: int | None = None,
        device: str = "cpu",
    ):
        self.config, self.training = config, training
        encoders = Encoders(config.encoding, {config.units: size}, device, threads=threads)
        self.encoder = encoders.parts[config.name]
        self.softmax = Softmax(self.encoder.size, config.seed, config.l2)
        self._step, self.loss = 0, 0.0  # loss: the mean of the epoch so far

    def run(
        self,
        held: LabelledSentences,
        report: Report,
        progress: Reporter,
        test: LabelledSentences | None = None,
    ) -> Epoch:
        """Train to the end; return the epoch that is best on ``held``.

        The chosen epoch is evaluated on ``test``, which does not affect the choice.
        """
        config, best = self.config, None
        # One thread: a step is too small for more. An LSTM manages its threads itself.
        with step_threads(config.encoding, 1):
            for number in range(1, config.epochs + 1):
                for done in self.epoch(number):
                    progress("training", done, config.epochs * len(self.training))
                vectors = self.encoder.means(held.sentences)
                accuracy, loss = self.softmax.judge(vectors, held.good)
                learned, layer = self.encoder.learned(), self.softmax.learned()
                if diverged(loss, learned):
                    raise ResourceError(
                        f"the training diverged in epoch {number}; lower --rate (now "
                        f"{config.rate:g})"
                    )
                # The loss breaks ties, because bounds apply to probabilities.
                better = best is None or (accuracy, -loss) > (best.accuracy, -best.loss)
                if better:
                    copies = {name: array.copy() for name, array in learned.items()}
                    right = self.right(held)
                    of_test = np.zeros(0, dtype=bool) if test is None else self.right(test)
                    best = Epoch(number, accuracy, loss, copies, layer, right, of_test)
                report(
                    f"epoch {number} of {config.epochs}: loss {self.loss:.4f}, held-out "
                    f"accuracy {accuracy:.4f} (majority {held.majority:.4f}), loss {loss:.4f}"
                    + (" (best so far)" if better else "")
                )
        assert best is not None
        return best

    def right(self, labelled: LabelledSentences) -> np.ndarray:
        """Return which sentences are classified correctly, ``(n,) bool``."""
        return (self.good(labelled.sentences) >= 0.5) == labelled.good

    def good(self, sentences: Sentences) -> np.ndarray:
        """Probability of being good ``(n,)`` by the current parameters."""
        return self.softmax.probability(self.encoder.means(sentences))

    def epoch(self, number: int) -> Iterator[int]:
        """Train epoch ``number``, from 1; yield the sentences done about every `REPORT_EVERY`."""
        config, n = self.config, len(self.training)
        order = np.random.default_rng([config.seed, 3, number]).permutation(n)
        total, last = 0.0, 0
        for start in range(0, n, config.batch):
            generator = np.random.default_rng([config.seed, 4, number, start])
            rows = order[start : start + config.batch]
            batch = self.training.batch(rows, generator, self.good)
            vectors = self.encoder.forward(batch.sentences, generator)
            loss, gradient = self.softmax.step(vectors, batch.good, config.rate)
            self._step += 1
            self.encoder.backward(gradient, self._step, config.rate)
            total += loss * len(rows)
            done = start + len(rows)
            self.loss = total / done
            if done == n or done - last >= REPORT_EVERY:
                last = done
                yield (number - 1) * n + done
