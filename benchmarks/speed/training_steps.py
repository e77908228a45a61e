"""Measure the throughput of our training step and of plain torch on the same batches.

    python -m benchmarks training --data DIR [--pair de-en]

Plain torch is the obvious implementation: ``EmbeddingBag(mode="mean")``, normalise, one matrix of
cosines, cross-entropy over its rows and columns (``fast``), or the hardest negatives of a
mega-batch and the margin loss (``p19``), and ``Adam`` over the whole table. A second variant has
sparse gradients and ``SparseAdam``, torch's best for a batch that uses few rows of the table. All
systems get the same tokenised batches. Blocks of steps alternate, so that changes of the machine's
speed affect all. The result is the ratio of the medians. The matrix products of the softmax
objective are measured alone, as the limit for any implementation.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from benchmarks import report
from miner.encoder.pieces import PieceTokenizer
from miner.text.bitext import read_bitext
from miner_train.config import TrainConfig
from miner_train.data import PairData, Sentences, prepare
from miner_train.loop import Trainer, step_threads
from miner_train.losses import margin_loss, softmax_loss_plain
from miner_train.recipes import RECIPES
from miner_train.vocabulary import train_vocabulary

PAIRS = 100_000
ROUNDS = 9
SIZES = {
    "fast recipe: batch 2048, 32k pieces, d=512": TrainConfig(dropout=0.0),
    "softmax, batch 1024, 20k pieces, d=300": TrainConfig(
        batch=1024, pieces=20_000, dimension=300, dropout=0.0
    ),
    # It grows from 1 to 120 in a training, and is mostly 60 or more.
    "p19-tuned recipe, its mega-batch at 20": dataclasses.replace(
        RECIPES["p19-tuned"], megabatch=20, anneal=0
    ),
    "p19-tuned recipe, its mega-batch at 60": dataclasses.replace(
        RECIPES["p19-tuned"], megabatch=60, anneal=0
    ),
}


def torch_steps(
    data: PairData, size: int, config: TrainConfig, sparse: bool
) -> Callable[[int], None]:
    """Return a function that takes a number of steps, or mega-batches, of plain torch."""
    torch.manual_seed(config.seed)
    bag = torch.nn.EmbeddingBag(size, config.dimension, mode="mean", sparse=sparse)
    kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimizer = kind(bag.parameters(), lr=config.rate)
    order = np.random.default_rng(config.seed).permutation(len(data))
    width = config.batch * config.megabatch
    position = 0

    def embed(side: Sentences, rows: np.ndarray) -> Tensor:
        taken = side.take(rows)
        return bag(torch.from_numpy(taken.ids), torch.from_numpy(taken.offsets[:-1]))

    def learn(loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def softmax(rows: np.ndarray) -> None:
        s, t = normalize(embed(data.source, rows)), normalize(embed(data.target, rows))
        learn(softmax_loss_plain(s, t, None, config.scale, config.margin))

    def margin(rows: np.ndarray) -> None:
        with torch.no_grad():
            s, t = normalize(embed(data.source, rows)), normalize(embed(data.target, rows))
            cosine = (s @ t.T).fill_diagonal_(-2)
            target_negative = rows[cosine.argmax(dim=1).numpy()]
            source_negative = rows[cosine.argmax(dim=0).numpy()]
        for start in range(0, len(rows), config.batch):
            part = slice(start, start + config.batch)
            learn(
                margin_loss(
                    embed(data.source, rows[part]),
                    embed(data.target, rows[part]),
                    embed(data.source, source_negative[part]),
                    embed(data.target, target_negative[part]),
                    config.margin,
                )
            )

    def steps(count: int) -> None:
        nonlocal position
        for _ in range(count):
            rows = order[position : position + width]
            position = (position + width) % (len(order) - width)
            (margin if config.objective == "margin" else softmax)(rows)

    return steps


def products(config: TrainConfig) -> float:
    """Return the seconds of the three matrix products of a softmax step, the median of 15."""
    s, t = torch.randn(config.batch, config.dimension), torch.randn(config.batch, config.dimension)
    times = []
    for _ in range(15):
        started = time.perf_counter()
        gradient = s @ t.T
        gradient @ t
        gradient.T @ s
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def our_steps(data: PairData, size: int, config: TrainConfig) -> Callable[[int], None]:
    """Return a function that takes a number of our steps, over as many epochs as needed."""
    trainer = Trainer(config, {"piece": size}, data, None)
    epoch = iter(trainer.run_epoch())

    def steps(count: int) -> None:
        nonlocal epoch
        with step_threads(config):
            for _ in range(count):
                if next(epoch, None) is None:
                    trainer.state.position = 0
                    epoch = iter(trainer.run_epoch())
                    next(epoch)

    return steps


def compare(source: list[str], target: list[str], config: TrainConfig, size: str) -> list[dict]:
    """Return the throughputs of all systems at one size."""
    tokenizer = PieceTokenizer(train_vocabulary([source, target], config))
    data = prepare(([tokenizer], [tokenizer]), source, target)
    systems = {
        "ours": our_steps(data, tokenizer.size, config),
        "torch, EmbeddingBag and dense Adam": torch_steps(data, tokenizer.size, config, False),
        "torch, EmbeddingBag and SparseAdam": torch_steps(data, tokenizer.size, config, True),
    }
    speeds: dict[str, list[float]] = {name: [] for name in systems}
    pairs = config.batch * config.megabatch
    count = max(1, 6144 // pairs)
    for step in systems.values():
        step(count)  # compiles, and warms up
    for _ in range(ROUNDS):
        for name, step in systems.items():
            started = time.perf_counter()
            step(count)
            speeds[name].append(count * pairs / (time.perf_counter() - started))
    ours = statistics.median(speeds["ours"])
    results = [
        {
            "size": size,
            "name": name,
            "pairs/s": round(statistics.median(values)),
            "min": round(min(values)),
            "max": round(max(values)),
            "ours is faster by": round(ours / statistics.median(values), 2),
        }
        for name, values in speeds.items()
    ]
    if config.objective == "softmax":
        limit = config.batch / products(config)
        name = "(the matrix products alone)"
        ratio = round(ours / limit, 2)
        results.append(
            {"size": size, "name": name, "pairs/s": round(limit), "ours is faster by": ratio}
        )
    return results


def main() -> None:
    parser = report.parser(__doc__, "training.json")
    parser.add_argument("--pair", default="de-en", help="languages of the text [de-en]")
    arguments = parser.parse_args()

    files = sorted((arguments.data / "train" / arguments.pair).glob("*.tsv.xz"))
    texts = [read_bitext(path) for path in files]
    source = [text for bitext in texts for text in bitext.source]
    target = [text for bitext in texts for text in bitext.target]
    sample = np.random.default_rng(1).permutation(len(source))[:PAIRS].tolist()
    source, target = [source[i] for i in sample], [target[i] for i in sample]
    results = []
    for size, config in SIZES.items():
        for row in compare(source, target, config, size):
            results.append(row)
            print(
                f"{size:44} {row['name']:36} {row['pairs/s']:8} pairs/s, "
                f"ours is {row['ours is faster by']:.2f} x that",
                flush=True,
            )
    report.write(arguments.json, "training", results)
