"""Training throughput: our step against plain torch, on the same batches, in one run.

    python -m benchmarks.training --data DIR [--pair de-en]

Plain torch is what one would write first: ``EmbeddingBag(mode="mean")``, the same in-batch
softmax loss, ``Adam`` over the whole table. Both see the same batches of 1024 pairs, already cut
into pieces; blocks of steps alternate, so that a machine that slows down slows both. The figure
is the ratio of the medians. Peers of ours in spirit (sparse gradients with ``SparseAdam``) run
beside it, since dense Adam is not the best that torch can do.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks import report
from miner.corpus import read_bitext
from miner.encoder import Tokenizer
from train.config import TrainConfig
from train.data import PairData, prepare
from train.loop import Trainer
from train.losses import softmax_loss
from train.vocabulary import train_vocabulary

PAIRS = 60_000
ROUNDS = 7
STEPS = 5


def torch_steps(
    data: PairData, size: int, config: TrainConfig, sparse: bool
) -> Callable[[int], None]:
    """A function that takes that many steps of plain torch."""
    torch.manual_seed(config.seed)
    bag = torch.nn.EmbeddingBag(size, config.dimension, mode="mean", sparse=sparse)
    kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimizer = kind(bag.parameters(), lr=config.rate)
    order = np.random.default_rng(config.seed).permutation(len(data))
    position = 0

    def steps(count: int) -> None:
        nonlocal position
        for _ in range(count):
            rows = order[position : position + config.batch]
            position = (position + config.batch) % (len(order) - config.batch)
            source, target = data.source.take(rows), data.target.take(rows)
            s = bag(torch.from_numpy(source.ids), torch.from_numpy(source.offsets[:-1]))
            t = bag(torch.from_numpy(target.ids), torch.from_numpy(target.offsets[:-1]))
            loss = softmax_loss(s, t, None, config.scale, config.margin)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return steps


def our_steps(data: PairData, size: int, config: TrainConfig) -> Callable[[int], None]:
    """A function that takes that many steps of ours; starts a new epoch when one ends."""
    trainer = Trainer(config, size, data, None)
    epoch = iter(trainer.run_epoch())

    def steps(count: int) -> None:
        nonlocal epoch
        for _ in range(count):
            if next(epoch, None) is None:
                trainer.state.position = 0
                epoch = iter(trainer.run_epoch())
                next(epoch)

    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pair", default="de-en")
    parser.add_argument("--json", type=Path, default=report.RESULTS / "training.json")
    arguments = parser.parse_args()

    files = sorted((arguments.data / "train" / arguments.pair).glob("*.tsv.xz"))
    texts = [read_bitext(path) for path in files]
    source = [text for bitext in texts for text in bitext.source]
    target = [text for bitext in texts for text in bitext.target]
    config = TrainConfig(dropout=0.0, vocabulary_sample=100_000)
    sample = np.random.default_rng(1).permutation(len(source))[:PAIRS].tolist()
    source, target = [source[i] for i in sample], [target[i] for i in sample]
    vocabulary = train_vocabulary([source, target], config)
    tokenizer = Tokenizer(vocabulary)
    data = prepare(tokenizer, source, target)

    contenders = {
        "ours": our_steps(data, tokenizer.size, config),
        "torch EmbeddingBag + dense Adam": torch_steps(data, tokenizer.size, config, False),
        "torch EmbeddingBag + SparseAdam": torch_steps(data, tokenizer.size, config, True),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    for step in contenders.values():
        step(STEPS)  # compile, warm up
    for _ in range(ROUNDS):
        for name, step in contenders.items():
            started = time.perf_counter()
            step(STEPS)
            speeds[name].append(STEPS * config.batch / (time.perf_counter() - started))
    ours = statistics.median(speeds["ours"])
    results = []
    for name, values in speeds.items():
        median = statistics.median(values)
        results.append(
            {
                "name": name,
                "pairs/s": round(median),
                "min": round(min(values)),
                "max": round(max(values)),
                "ours is faster by": round(ours / median, 2),
            }
        )
        print(f"{name:34} {median:9.0f} pairs/s   ours is {ours / median:5.2f} x that")
    report.write(arguments.json, "benchmarks.training", results)


if __name__ == "__main__":
    report.run(main)
