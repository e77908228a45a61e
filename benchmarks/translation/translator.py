"""Small transformer that translates, trained for a fixed number of updates.

The network is that of the paraphrase generator, with PyTorch's own layers. Updates run in bfloat16
where PyTorch chooses so. A stopped training continues from its checkpoint.
"""

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor
from torch.nn import functional

from miner_train.papers.generator_network import END, START, GeneratorNetwork, beam_search
from miner_train.papers.learn_generator import cut

Pair = tuple[str, str]
# Batches sorted by length together; updates between checkpoints; sentences decoded together.
POOL, SAVED, ROWS = 50, 100, 50


@dataclass(frozen=True)
class Setting:
    """Sizes of the network and of its training. batch: pieces of the target's side."""

    pieces: int = 2000
    dimension: int = 128
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    smoothing: float = 0.1
    updates: int = 1000
    batch: int = 1000
    rate: float = 0.003
    warmup: int = 100
    longest: int = 60


class Translator:
    """Translator of one direction. ``vocabulary``: a SentencePiece model of both languages."""

    def __init__(self, vocabulary: bytes, setting: Setting, seed: int):
        self.processor = SentencePieceProcessor(model_proto=vocabulary)
        self.setting, self.seed = setting, seed
        torch.manual_seed(seed)
        sizes = setting.dimension, setting.heads, setting.layers, setting.dropout
        self.network = GeneratorNetwork(self.processor.get_piece_size(), *sizes)
        self.adam = torch.optim.Adam(
            self.network.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self.step, self.seconds = 0, 0.0

    def train(self, pairs: Sequence[Pair], checkpoint: Path) -> None:
        """Train to the last update, from the checkpoint if there is one."""
        sides = (self.processor.encode([pair[side] for pair in pairs]) for side in (0, 1))
        ids = [
            pair for pair in zip(*sides, strict=True) if 0 < max(map(len, pair)) <= self._longest
        ]
        if checkpoint.exists():
            self._restore(checkpoint)
        begun, before = time.process_time(), self.seconds
        batches = itertools.islice(self._batches(ids), self.step, self.setting.updates)
        for rows in batches:
            loss = self._update([ids[row] for row in rows])
            if self.step % SAVED == 0 or self.step == self.setting.updates:
                self.seconds = before + time.process_time() - begun
                self._save(checkpoint)
                print(f"    {self.step}: loss {loss:.3f}, {self.seconds:.0f} s", flush=True)

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translate by greedy decoding."""
        ids = [own[: self._longest] for own in self.processor.encode(list(sentences))]
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        found = [""] * len(ids)
        for start in range(0, len(order), ROWS):
            rows = order[start : start + ROWS]
            with torch.autocast("cpu", torch.bfloat16):
                decoded = beam_search(self.network, [ids[row] for row in rows], 1, 1)
            for row, own in zip(rows, decoded, strict=True):
                found[row] = self.processor.decode(own[0][0]) if own else ""
        return found

    @property
    def _longest(self) -> int:
        return self.setting.longest

    def _batches(self, ids: Sequence[tuple[list[int], list[int]]]) -> Iterator[list[int]]:
        """Yield rows of each update without end: pairs of similar lengths, in random order."""
        lengths = [max(map(len, pair)) + 1 for pair in ids]
        pool = POOL * self.setting.batch // max(1, int(np.mean(lengths)))
        for epoch in itertools.count():
            generator = np.random.default_rng([self.seed, epoch])
            order = generator.permutation(len(ids)).tolist()
            found: list[list[int]] = []
            for start in range(0, len(order), pool):
                rows = sorted(order[start : start + pool], key=lambda row: (lengths[row], row))
                found += cut(rows, lengths, self.setting.batch)
            yield from (found[row] for row in generator.permutation(len(found)).tolist())

    def _update(self, pairs: Sequence[tuple[list[int], list[int]]]) -> float:
        network, setting = self.network, self.setting
        self.step += 1
        torch.manual_seed(self.seed * 1_000_003 + self.step)
        network.train()
        start, end = network.pieces + START, network.pieces + END
        after = network.padded([[*target, end] for _, target in pairs])  # (batch, pieces)
        before = network.padded([[start, *target] for _, target in pairs])
        with torch.autocast("cpu", torch.bfloat16):
            memory, padded = network.encode(network.padded([source for source, _ in pairs]))
            logits = network.logits(network.decode(before, memory, padded))
        loss = functional.cross_entropy(
            logits.float().flatten(0, 1),
            after.flatten(),
            ignore_index=network.pad,
            label_smoothing=setting.smoothing,
        )
        # The rate rises linearly, then falls linearly to zero at the last update.
        left = (setting.updates - self.step + 1) / (setting.updates - setting.warmup)
        self.adam.param_groups[0]["lr"] = setting.rate * min(self.step / setting.warmup, left, 1)
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        self.adam.step()
        return float(loss.detach())

    def _save(self, path: Path) -> None:
        state = {
            "network": self.network.state_dict(),
            "adam": self.adam.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
        }
        torch.save(state, path.with_suffix(".part"))
        os.replace(path.with_suffix(".part"), path)

    def _restore(self, path: Path) -> None:
        state = torch.load(path, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.adam.load_state_dict(state["adam"])
        self.step, self.seconds = state["step"], state["seconds"]
