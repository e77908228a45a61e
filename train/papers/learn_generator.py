"""Training of a paraphrase generator: a transformer that writes one side from the other.

P18 trains a generator on its back-translated pairs. Here it reads the translation and writes the
reference, so that it learns to write human text (Sennrich et al. 2016).
"""

import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor
from torch.nn import functional

from miner.device import resolve_device
from miner.encoder.architecture import VOCABULARIES
from miner.encoder.pretrained import torch_threads
from miner.errors import CorpusError, ResourceError
from miner.machine import thread_count
from miner.progress import Reporter, silent
from miner.text.artifacts import replaceable
from miner.text.words import plain_form
from miner_train.config import TrainConfig
from miner_train.data import fingerprint
from miner_train.loop import memory_named, saving
from miner_train.papers.generator import WEIGHTS, Generator, Sizes, as_input
from miner_train.papers.generator_config import GeneratorConfig
from miner_train.papers.generator_network import END, START, GeneratorNetwork
from miner_train.stages import Report
from miner_train.training_checkpoint import Checkpoint
from miner_train.vocabulary import train_vocabulary

PIECE_FILE = VOCABULARIES["piece"]
# Number of batches from which batches of similar lengths are formed at a time.
POOL = 50
# Sentence to read, in the form that the generator reads, and sentence to write; and their token
# ids, without marks.
Pairs = list[tuple[str, str]]
Ids = list[tuple[list[int], list[int]]]


def train_generator(
    read: Sequence[str],
    written: Sequence[str],
    config: GeneratorConfig,
    output: str | Path,
    *,
    threads: int | None = None,
    device: str = "cpu",
    restart: bool = False,
    report: Report = lambda line: None,
    progress: Reporter = silent,
) -> Generator:
    """Learn to write each sentence of ``written`` from its pair in ``read``, and save the
    generator.

    Pairs that differ only in case and final punctuation are dropped. The epoch with the lowest
    held-out cost is kept. A stopped training continues from its checkpoint, with the same result on
    the same machine and ``threads``. Raises CorpusError for too little text, and the errors of a
    checkpoint.
    """
    replaceable(output, WEIGHTS)
    device = resolve_device(device)
    training, held = split(pairs_of(read, written, config), config)
    report(f"{len(training):,} pairs to train on, {len(held):,} held out")
    digests = [
        fingerprint([source for source, _ in part], [other for _, other in part])
        for part in (training, held)
    ]
    key = {"generator": asdict(config), "text": digests}
    with Checkpoint(output, key, restart) as checkpoint, torch_threads(thread_count(threads)):
        files = checkpoint.load_vocabulary()
        if files is None:
            report(f"learning a vocabulary of {config.pieces:,} pieces")
            sides = [source for source, _ in training], [other for _, other in training]
            text = TrainConfig(pieces=config.pieces, fold_case=False, seed=config.seed)
            files = {PIECE_FILE: train_vocabulary(sides, text)}
            checkpoint.save_vocabulary(files)
        else:
            report(f"going on from {checkpoint.directory}")
        vocabulary = files[PIECE_FILE]
        processor = SentencePieceProcessor(model_proto=vocabulary)
        ids = [tokenised(part, processor, config.longest) for part in (training, held)]
        if min(map(len, ids)) < 1:
            raise CorpusError(f"no pair has {config.longest} pieces or fewer; raise --longest")
        trainer = GeneratorTrainer(config, processor.get_piece_size(), ids[0], ids[1], device)
        trainer.run(checkpoint, report, progress)
        record = {
            "config": asdict(config),
            "pairs": len(ids[0]),
            "held-out pairs": len(ids[1]),
            "held-out cost": trainer.best_cost,
        }
        sizes = Sizes(trainer.pieces, config.dimension, config.heads, config.layers)
        arrays = {name: value.numpy() for name, value in trainer.best.items()}
        trained = Generator(vocabulary, sizes, arrays, config.fold_case, record)
        trained.save(output)
        checkpoint.remove()
    return trained


def pairs_of(read: Sequence[str], written: Sequence[str], config: GeneratorConfig) -> Pairs:
    """Drop pairs of equal sentences, and repeated pairs."""
    kept = {
        (as_input(source, config.fold_case), other.strip()): None
        for source, other in zip(read, written, strict=True)
        if plain_form(as_input(source, True)) != plain_form(as_input(other, True))
    }
    return list(kept)


def split(pairs: Pairs, config: GeneratorConfig) -> tuple[Pairs, Pairs]:
    """Split pairs into training and held-out ones, without a common sentence to write.

    Raises CorpusError for too few.
    """
    names = list(dict.fromkeys(written for _, written in pairs))
    if len(names) < 10:
        raise CorpusError(
            f"{len(names)} different sentences to write; a generator needs some thousands of "
            "pairs that are no copies"
        )
    order = np.random.default_rng([config.seed, 11]).permutation(len(names)).tolist()
    chosen = {names[row] for row in order[: min(config.heldout, len(names) // 10)]}
    training = [pair for pair in pairs if pair[1] not in chosen]
    return training, [pair for pair in pairs if pair[1] in chosen]


def tokenised(pairs: Pairs, processor: SentencePieceProcessor, longest: int) -> Ids:
    """Return token ids of the pairs whose sides have 1 to ``longest`` pieces."""
    ids = zip(*(processor.encode([pair[side] for pair in pairs]) for side in (0, 1)), strict=True)
    return [pair for pair in ids if min(map(len, pair)) > 0 and max(map(len, pair)) <= longest]


class GeneratorTrainer:
    """Trainer of a network; random numbers follow from the seed and the step."""

    def __init__(self, config: GeneratorConfig, pieces: int, training: Ids, held: Ids, device: str):
        self.config, self.training, self.held = config, training, held
        self.pieces, self.device = pieces, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = GeneratorNetwork(
                self.pieces, config.dimension, config.heads, config.layers, config.dropout
            ).to(device)
        self.adam = torch.optim.Adam(self.network.parameters(), betas=(0.9, 0.98), eps=1e-9)
        self.epoch = self.position = self.step = 0  # position: batches done of the epoch
        self.loss_sum = self.loss_count = 0.0
        self.best: dict[str, torch.Tensor] = {}
        self.best_cost = float("inf")

    COUNTERS = ("epoch", "position", "step", "loss_sum", "loss_count", "best_cost")

    def state(self) -> dict[str, np.ndarray]:
        """Return all data of a checkpoint, as one array of bytes."""
        buffer = io.BytesIO()
        state = {
            "network": self.network.state_dict(),
            "adam": self.adam.state_dict(),
            "best": self.best,
            "counters": {name: getattr(self, name) for name in self.COUNTERS},
        }
        torch.save(state, buffer)
        return {"torch": np.frombuffer(buffer.getvalue(), dtype=np.uint8)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a checkpoint that :meth:`state` returned."""
        buffer = io.BytesIO(state["torch"].tobytes())
        saved = torch.load(buffer, map_location=self.device, weights_only=True)
        self.network.load_state_dict(saved["network"])
        self.adam.load_state_dict(saved["adam"])
        self.best = {name: value.cpu() for name, value in saved["best"].items()}
        for name, value in saved["counters"].items():
            setattr(self, name, value)

    def run(self, checkpoint: Checkpoint, report: Report, progress: Reporter) -> None:
        """Train to the end, from the checkpoint if it has a state."""
        if (saved := checkpoint.load_state()) is not None:
            self.restore(saved)
        with saving(checkpoint, self.state) as save, torch.random.fork_rng(devices=[]):
            while self.epoch < self.config.epochs:
                batches = self.batches()
                for rows in batches[self.position :]:
                    self._take(rows)
                    self.position += 1
                    done = self.epoch * len(batches) + self.position
                    progress("batches", done, self.config.epochs * len(batches))
                    save(False)
                self._end_epoch(report)
                save(True)

    def batches(self) -> list[list[int]]:
        """Return the rows of each step of the epoch: pairs of similar lengths, in random order."""
        generator = np.random.default_rng([self.config.seed, 12, self.epoch])
        order = generator.permutation(len(self.training)).tolist()
        lengths = [len(written) + 1 for _, written in self.training]
        mean = sum(lengths) / len(lengths)
        pool = max(1, int(POOL * self.config.batch / mean))
        batches: list[list[int]] = []
        for start in range(0, len(order), pool):
            rows = sorted(order[start : start + pool], key=lambda row: (lengths[row], row))
            batches += cut(rows, lengths, self.config.batch)
        return [batches[row] for row in generator.permutation(len(batches)).tolist()]

    def _take(self, rows: list[int]) -> None:
        config = self.config
        self.step += 1
        seed = np.random.SeedSequence([config.seed, 13, self.step]).generate_state(1)[0]
        torch.manual_seed(int(seed))
        self.network.train()
        with memory_named(f"{config.batch} pieces"):
            loss = self._loss([self.training[row] for row in rows], config.smoothing)
            self.adam.zero_grad()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        rise, fall = self.step / config.warmup, (config.warmup / self.step) ** 0.5
        self.adam.param_groups[0]["lr"] = config.rate * min(rise, fall)
        self.adam.step()
        self.loss_sum += float(loss.detach())
        self.loss_count += 1

    def _loss(self, pairs: Ids, smoothing: float, reduction: str = "mean") -> Any:
        """Return the cross-entropy of the written pieces and ends, as a mean or a sum."""
        network = self.network
        start, end = network.pieces + START, network.pieces + END
        memory, padded = network.encode(network.padded([read for read, _ in pairs]))
        before = network.padded([[start, *written] for _, written in pairs])
        after = network.padded([[*written, end] for _, written in pairs])
        logits = network.logits(network.decode(before, memory, padded))
        return functional.cross_entropy(
            logits.flatten(0, 1),
            after.flatten(),
            ignore_index=network.pad,
            label_smoothing=smoothing,
            reduction=reduction,
        )

    def held_out_cost(self) -> float:
        """Return the negative log-likelihood per piece of the held-out pairs."""
        pairs = sorted(self.held, key=lambda pair: len(pair[1]))
        lengths = [len(written) + 1 for _, written in pairs]
        self.network.eval()
        with torch.no_grad():
            total = sum(
                float(self._loss([pairs[row] for row in rows], 0.0, "sum"))
                for rows in cut(range(len(pairs)), lengths, self.config.batch)
            )
        return total / sum(lengths)

    def _end_epoch(self, report: Report) -> None:
        cost, loss = self.held_out_cost(), self.loss_sum / max(1.0, self.loss_count)
        if not (np.isfinite(cost) and np.isfinite(loss)):
            raise ResourceError(
                f"the training diverged in epoch {self.epoch + 1}; lower --rate (now "
                f"{self.config.rate:g}) and give --restart"
            )
        better = cost < self.best_cost
        if better:
            self.best_cost = cost
            state = self.network.state_dict()
            self.best = {name: value.detach().cpu().clone() for name, value in state.items()}
        self.epoch, self.position = self.epoch + 1, 0
        self.loss_sum = self.loss_count = 0.0
        shown = " (best so far)" if better else ""
        report(
            f"epoch {self.epoch} of {self.config.epochs}: loss {loss:.3f}, held-out cost "
            f"{cost:.3f} a piece{shown}"
        )


def cut(rows: Sequence[int], lengths: Sequence[int], most: int) -> list[list[int]]:
    """Cut rows into batches of at most ``most`` pieces with padding, at least one row each."""
    batches: list[list[int]] = []
    longest = 0
    for row in rows:
        longest = max(longest, lengths[row])
        if not batches or longest * (len(batches[-1]) + 1) > most:
            batches.append([])
            longest = lengths[row]
        batches[-1].append(row)
    return batches
