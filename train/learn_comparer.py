"""Comparer, learned from translations against their neighbours and corruptions of either side."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor, nn

from miner.encoder.encoder import Encoder
from miner.encoder.pretrained import torch_threads
from miner.kernels.aligned import COLUMNS
from miner.ragged import take_lists
from miner.scoring.comparer import matching_of
from miner_train.comparer_examples import WRONG, ExampleMaker, Examples, joined
from miner_train.language_texts import LanguageText, token_tables
from miner_train.sampling import drawn_by_length
from miner_train.stages import Report

# Minimum number of translations to learn a comparer from.
FEWEST = 20_000
# Sizes of a token's vector and of the hidden layers.
SIZE, HIDDEN = 24, 48
# Maximum number of translations; if there are fewer than LEAST, they are used again with new wrong
# pairs.
PAIRS, LEAST = 400_000, 60_000
# Translations whose examples are in memory at a time.
ROUND = 16_000
# Translations, each with its wrong pairs, per step.
BATCH = 160
# Maximum learning rate, and share of the steps in which it rises.
RATE, RISE = 4e-3, 0.2
# Columns of a token's vector initialised with principal components of the embedding.
COMPONENTS = 16


class ComparerNetwork(nn.Module):
    """The comparer's network; :func:`miner.kernels.aligned.compare_pairs` computes the same.

    ``units (V, s)`` are the vectors of the token ids to start from; ``mean`` and ``spread
    (COLUMNS,)`` standardise the numbers that describe tokens.
    """

    def __init__(self, units: np.ndarray, mean: np.ndarray, spread: np.ndarray):
        super().__init__()
        size = units.shape[1]
        # The last row represents a missing token.
        self.units = nn.Embedding.from_pretrained(
            torch.from_numpy(np.concatenate([units, np.zeros((1, size), np.float32)])),
            freeze=False,
            padding_idx=len(units),
        )
        self.mean, self.spread = torch.from_numpy(mean), torch.from_numpy(spread)
        self.token = nn.Linear(COLUMNS + 6 * size, HIDDEN)
        self.pair = nn.Linear(4 * HIDDEN + 2, HIDDEN)
        self.logit = nn.Linear(HIDDEN, 1)

    def forward(self, ids: Tensor, numbers: Tensor, lengths: Tensor) -> Tensor:
        """Return logits ``(p,)`` of pairs with tokens ``ids (t, 4)``, ``numbers (t, c)``.

        ``lengths (2p,)``: tokens of the first and second side of each pair, interleaved.
        """
        token_vector, partner, before, after = self.units(ids).unbind(1)  # (t, s)
        known = (numbers - self.mean) / self.spread
        parts = [
            known,
            token_vector,
            partner,
            (token_vector - partner).abs(),
            token_vector * partner,
            before,
            after,
        ]
        compared = torch.relu(self.token(torch.cat(parts, dim=1)))  # (t, HIDDEN)
        pooled = [
            torch.segment_reduce(compared, how, lengths=lengths, axis=0) for how in ("mean", "max")
        ]
        sides = torch.cat(pooled, dim=1).view(-1, 2, 2 * HIDDEN)  # (p, 2, 2 HIDDEN)
        size = torch.log(lengths.float()).view(-1, 2)
        both = torch.cat(
            [
                sides.sum(1),
                (sides[:, 0] - sides[:, 1]).abs(),
                size.mean(1, keepdim=True),
                (size[:, :1] - size[:, 1:]).abs(),
            ],
            dim=1,
        )
        return self.logit(torch.relu(self.pair(both)))[:, 0]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of :class:`miner.scoring.comparer.Comparer`."""
        weight, bias = self.token.weight.detach().double(), self.token.bias.detach().double()
        scaled = weight.clone()
        scaled[:, :COLUMNS] /= self.spread.double()
        bias = bias - scaled[:, :COLUMNS] @ self.mean.double()
        layers = {
            "token": scaled.T,
            "token_bias": bias,
            "pair": self.pair.weight.detach().T,
            "pair_bias": self.pair.bias.detach(),
            "logit": self.logit.weight.detach()[0],
            "logit_bias": self.logit.bias.detach(),
        }
        return {
            "units": self.units.weight.detach()[:-1].numpy().astype(np.float16),
            **{name: value.float().contiguous().numpy() for name, value in layers.items()},
        }


def learn_comparer(
    encoder: Encoder,
    texts: Sequence[LanguageText],
    matches: Mapping[str, np.ndarray],
    seed: int,
    report: Report,
) -> dict[str, np.ndarray]:
    """Learn the arrays of :class:`miner.scoring.comparer.Comparer`; none where no pair is of use.

    The encoder's model has its lexicons, and reads pieces; ``matches`` are from
    :func:`miner_train.learn_match_quantiles.learn_matches`, and are among the arrays. A text with n
    training pairs gives a share in proportion to the root of n, so that languages with little text
    count.
    """
    assert encoder.model.verifying is not None
    table = encoder.model.verifying.table()
    texts = [text for text in texts if len(text.training[0])]
    makers = [
        ExampleMaker(encoder, tokens, matching_of(matches), text.training, seed)
        for tokens, text in zip(token_tables(encoder.model, texts), texts, strict=True)
    ]
    counts = shares([len(text.training[0]) for text in texts])
    chosen = [
        drawn(text.training, most, [seed, 11, number])
        for number, (text, most) in enumerate(zip(texts, counts, strict=True))
    ]
    total = sum(map(len, chosen))
    parts, passes = -(-total // ROUND), -(-LEAST // max(total, 1))
    torch.manual_seed(seed)
    trainer, done = None, 0
    for number, examples in enumerate(_rounds(makers, chosen, parts, passes, seed)):
        if not examples.groups:
            continue
        if trainer is None:
            start = ComparerNetwork(principal(table, SIZE), *moments(examples.numbers))
            trainer = ComparerTrainer(start, seed, parts * passes)
        loss = trainer.run(examples, number)
        done += examples.groups
        report(f"learning to compare tokens: {done} translations, loss {loss:.4f}")
    return {**trainer.network.arrays(), **matches} if trainer is not None else {}


def shares(counts: Sequence[int]) -> list[int]:
    """Return the number of pairs to draw from each text with ``counts`` pairs; at most `PAIRS`
    in total.
    """
    weight = np.sqrt(np.array(counts, dtype=np.float64))
    wanted = np.ceil(PAIRS * weight / max(weight.sum(), 1e-9)).astype(np.int64)
    return np.minimum(counts, wanted).tolist()


def drawn(text: tuple[Sequence[str], Sequence[str]], most: int, seed: Sequence[int]) -> np.ndarray:
    """Draw rows of a text in random order, with probabilities in proportion to the length."""
    generator = np.random.default_rng(seed)
    return generator.permutation(drawn_by_length(text[0], most, generator))


def _rounds(
    makers: Sequence[ExampleMaker],
    chosen: Sequence[np.ndarray],
    parts: int,
    passes: int,
    seed: int,
) -> Iterator[Examples]:
    """Yield the examples of one part of all texts after another, generated while the last is in
    use.
    """

    def make(number: int) -> Examples:
        generator = random.Random(f"{seed} {number}")
        part = number % parts
        return joined(
            [
                maker(rows[part * len(rows) // parts : (part + 1) * len(rows) // parts], generator)
                for maker, rows in zip(makers, map(np.ndarray.tolist, chosen), strict=True)
            ]
        )

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(make, 0)
        for number in range(1, parts * passes + 1):
            examples = coming.result()
            if number < parts * passes:
                coming = pool.submit(make, number)
            yield examples


def principal(table: np.ndarray, width: int) -> np.ndarray:
    """Return initial vectors ``(V, width) float32``: principal components, then noise."""
    unit = table / np.maximum(np.linalg.norm(table, axis=1), 1e-9)[:, None]
    _, vectors = np.linalg.eigh(unit.T.astype(np.float64) @ unit)
    start = np.random.default_rng(1).normal(scale=0.1, size=(len(table), width))
    size = min(COMPONENTS, width, table.shape[1])
    start[:, :size] = 2 * unit @ vectors[:, ::-1][:, :size]
    start[~table.any(axis=1)] = 0
    return start.astype(np.float32)


def moments(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each column, ``(c,) float32``."""
    spread = numbers.std(axis=0, dtype=np.float64)
    spread[spread == 0] = 1
    return numbers.mean(axis=0, dtype=np.float64).astype(np.float32), spread.astype(np.float32)


class ComparerTrainer:
    """Trainer of a network: translations are right, and must rank above their wrong variants.

    Steps run on one thread, so that the result does not depend on the number of threads.
    """

    def __init__(self, network: ComparerNetwork, seed: int, rounds: int):
        self.network, self.rounds = network, rounds
        self.optimizer = torch.optim.Adam(network.parameters(), lr=RATE, betas=(0.9, 0.99))
        self.generator = np.random.default_rng([seed, 12])

    def run(self, examples: Examples, number: int) -> float:
        """Take one pass over the examples of a round; return the mean loss."""
        order, losses = self.generator.permutation(examples.groups), []
        with torch_threads(1):
            for first in range(0, len(order), BATCH):
                done = (number + first / len(order)) / self.rounds
                losses.append(
                    self._step(examples, np.sort(order[first : first + BATCH]), rate(done))
                )
        return sum(losses) / len(losses)

    def _step(self, examples: Examples, groups: np.ndarray, rate: float) -> float:
        size = WRONG + 1
        pairs = (groups[:, None] * size + np.arange(size)).ravel()
        tensors = map(torch.from_numpy, gathered(examples, pairs))
        logit = self.network(*tensors).view(-1, size)
        right, wrong = logit[:, :1], logit[:, 1:]
        # Right pairs weigh as much as all wrong pairs together.
        loss = nn.functional.softplus(-right).mean() + nn.functional.softplus(wrong).mean()
        loss = loss + nn.functional.softplus(wrong - right).mean()
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


def rate(done: float) -> float:
    """Return the learning rate after the part ``done`` in [0, 1] of all steps: rising, then
    falling.
    """
    if done < RISE:
        return RATE * (0.04 + 0.96 * done / RISE)
    return RATE * (1 + math.cos(math.pi * (done - RISE) / (1 - RISE))) / 2


def gathered(examples: Examples, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Collect the tokens of pairs: ids, numbers, and lengths ``(2p,)`` of both sides,
    interleaved.
    """
    rows, offsets = take_lists(np.arange(len(examples.ids)), examples.starts, pairs)
    first = examples.sizes[pairs]
    lengths = np.stack([first, np.diff(offsets) - first], axis=1).ravel()
    return examples.ids[rows].astype(np.int64), examples.numbers[rows], lengths
