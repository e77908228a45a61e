"""Network of a paraphrase generator, a small transformer, and decoding by beam search or sampling.

The layers are torch's (Vaswani et al. 2017, with layer normalisation before each part). There is no
cache of past keys: sentences are short and the network is small. This module is imported only
inside functions, because it needs torch.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from miner.errors import ArtifactError, reason

# Ids after the ids of the pieces: padding, start and end of a sentence.
PAD, START, END = 0, 1, 2
MARKS = 3
UNKNOWN = 0  # among the pieces
# Token ids of a decoded sentence with its cost, the negative log-likelihood per piece.
Decoded = tuple[list[int], float]


class GeneratorNetwork(nn.Module):
    """Encoder and decoder with a shared table of embeddings, which is also the output layer.

    Ids below ``pieces`` are pieces; ``pieces + PAD`` and so on are marks.
    """

    def __init__(
        self, pieces: int, dimension: int, heads: int, layers: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.pieces, self.pad = pieces, pieces + PAD
        self.embedding = nn.Embedding(pieces + MARKS, dimension, padding_idx=self.pad)
        nn.init.normal_(self.embedding.weight, std=dimension**-0.5)
        self.dropout = nn.Dropout(dropout)
        sizes = dimension, heads, 4 * dimension, dropout
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*sizes, batch_first=True, norm_first=True),
            layers,
            nn.LayerNorm(dimension),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(*sizes, batch_first=True, norm_first=True),
            layers,
            nn.LayerNorm(dimension),
        )

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return states ``(batch, pieces, dim)``, and a mask of padding."""
        padded = source == self.pad  # (batch, pieces)
        return self.encoder(self._embedded(source), src_key_padding_mask=padded), padded

    def decode(self, target: Tensor, memory: Tensor, padded: Tensor) -> Tensor:
        """Return the states ``(batch, pieces, dim)`` that predict the piece after each piece."""
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        return self.decoder(
            self._embedded(target),
            memory,
            tgt_mask=later,
            tgt_is_causal=True,
            memory_key_padding_mask=padded,
        )

    def logits(self, states: Tensor) -> Tensor:
        """Return scores of all pieces and marks: ``(..., pieces + MARKS)``."""
        return states @ self.embedding.weight.T

    def padded(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """Return token ids of sentences, padded: ``(batch, pieces)``."""
        longest = max(map(len, sentences))
        rows = [[*ids, *[self.pad] * (longest - len(ids))] for ids in sentences]
        return torch.tensor(rows, device=self.embedding.weight.device)

    def _embedded(self, ids: Tensor) -> Tensor:
        dimension = self.embedding.embedding_dim
        x = self.embedding(ids) * math.sqrt(dimension)  # (batch, pieces, dim)
        return self.dropout(x + positions(ids.shape[1], dimension).to(x.device))


def fill(network: GeneratorNetwork, weights: Mapping[str, np.ndarray]) -> GeneratorNetwork:
    """Set the arrays of a network. Raises ArtifactError for arrays of another network."""
    try:
        network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    except RuntimeError as error:
        raise ArtifactError(f"the generator's arrays do not fit it ({reason(error)})") from None
    return network


def positions(length: int, dimension: int) -> Tensor:
    """Sines and cosines of positions ``(length, dimension)`` (Vaswani et al. 2017, 3.5)."""
    rate = torch.exp(torch.arange(0, dimension, 2) * (-math.log(10_000) / dimension))
    angle = torch.arange(length)[:, None] * rate  # (length, dimension / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)[:, :dimension]


def limit(sentence: Sequence[int]) -> int:
    """Return the maximum pieces of a decoded sentence, because a network may repeat itself for
    ever.
    """
    return len(sentence) + len(sentence) // 2 + 5


@torch.inference_mode()
def beam_search(
    network: GeneratorNetwork, sentences: Sequence[Sequence[int]], k: int, beam: int
) -> list[list[Decoded]]:
    """Decode the ``k`` likeliest sentences of each source by beam search, best first.

    Hypotheses compete by likelihood, finished ones by likelihood per piece. A source is done when
    ``beam`` of its hypotheses are finished, or at the maximum length.
    """
    network.eval()
    memory, padded = network.encode(network.padded(sentences))
    finished: list[list[Decoded]] = [[] for _ in sentences]
    active = list(range(len(sentences)))
    ids = torch.full((len(active), beam, 1), network.pieces + START, device=memory.device)
    scores = torch.full((len(active), beam), -math.inf, device=memory.device)
    scores[:, 0] = 0  # all begin alike
    end = network.pieces + END
    step = 0
    while active:
        step += 1
        ahead = _ahead(network, ids, memory, padded).view(len(active), beam, -1)
        size = ahead.shape[2]
        # One candidate per hypothesis may be the end.
        best, flat = (scores[:, :, None] + ahead).flatten(1).topk(2 * beam)
        kept_ids, kept_scores, left = [], [], []
        for row, source in enumerate(active):
            open_hypotheses: list[tuple[float, int, int]] = []
            for score, at in zip(best[row].tolist(), flat[row].tolist(), strict=True):
                parent, token = divmod(at, size)
                if score == -math.inf:
                    continue
                if token == end:
                    finished[source].append((ids[row, parent, 1:].tolist(), -score / step))
                elif len(open_hypotheses) < beam:
                    open_hypotheses.append((score, parent, token))
            if step >= limit(sentences[source]):
                finished[source] += [
                    ([*ids[row, parent, 1:].tolist(), token], -score / step)
                    for score, parent, token in open_hypotheses
                    if not finished[source]
                ]
            elif len(finished[source]) < beam:
                open_hypotheses += [(-math.inf, 0, 0)] * (beam - len(open_hypotheses))
                parents = ids[row, [parent for _, parent, _ in open_hypotheses]]
                last = torch.tensor([[token] for _, _, token in open_hypotheses], device=ids.device)
                kept_ids.append(torch.cat([parents, last], dim=1))
                kept_scores.append([score for score, _, _ in open_hypotheses])
                left.append(row)
        active = [active[row] for row in left]
        if active:
            ids = torch.stack(kept_ids)
            scores = torch.tensor(kept_scores, device=ids.device)
            memory, padded = memory[left], padded[left]
    return [sorted(decoded, key=lambda pair: pair[1])[:k] for decoded in finished]


@torch.inference_mode()
def sample(
    network: GeneratorNetwork,
    sentences: Sequence[Sequence[int]],
    numbers: Sequence[np.ndarray],
    temperature: float,
    nucleus: float,
) -> list[list[Decoded]]:
    """Sample sentences for each source, piece by piece, likeliest first.

    ``numbers``: random numbers in [0, 1) for each source, ``(drawn, limit)``; a sentence depends on
    no other. Pieces are drawn from the likeliest ones with a total probability of ``nucleus``
    (Holtzman et al. 2020), at a ``temperature``. Costs are computed at temperature 1.
    """
    network.eval()
    drawn = len(numbers[0])
    most = max(map(limit, sentences))
    random = torch.zeros(len(sentences), drawn, most)
    for row, of_source in enumerate(numbers):
        random[row, :, : of_source.shape[1]] = torch.from_numpy(of_source)
    memory, padded = network.encode(network.padded(sentences))
    random = random.to(memory.device)
    ids = torch.full((len(sentences), drawn, 1), network.pieces + START, device=memory.device)
    total = torch.zeros(len(sentences), drawn, device=memory.device)
    length = torch.zeros_like(total)
    limits = torch.tensor([[limit(source_ids)] for source_ids in sentences], device=memory.device)
    live = torch.ones_like(total, dtype=torch.bool)
    for step in range(most):
        ahead = _ahead(network, ids, memory, padded).view(len(sentences), drawn, -1)
        order = (ahead / temperature).softmax(dim=2).sort(dim=2, descending=True, stable=True)
        below = order.values.cumsum(dim=2)
        # The first piece is always in the nucleus.
        share = order.values.masked_fill(below - order.values >= nucleus, 0).cumsum(dim=2)
        target = random[:, :, step, None] * share[:, :, -1:]
        drawn_rank = (share <= target).sum(dim=2, keepdim=True).clamp(max=share.shape[2] - 1)
        token = order.indices.gather(2, drawn_rank)  # (sources, drawn, 1)
        total += torch.where(live, ahead.gather(2, token)[:, :, 0], 0)
        length += live
        token = token.masked_fill(~live[:, :, None], network.pad)
        ids = torch.cat([ids, token], dim=2)
        live &= (token[:, :, 0] != network.pieces + END) & (step + 1 < limits)
        if not live.any():
            break
    costs = (-total / length).tolist()
    sampled = []
    for row, source_ids in enumerate(ids[:, :, 1:].tolist()):
        decoded = [
            ([token for token in tokens if token < network.pieces], cost)
            for tokens, cost in zip(source_ids, costs[row], strict=True)
        ]
        sampled.append(sorted(decoded, key=lambda pair: pair[1]))
    return sampled


def _ahead(network: GeneratorNetwork, ids: Tensor, memory: Tensor, padded: Tensor) -> Tensor:
    """Log-probabilities of the next piece ``(sources * hypotheses, pieces + MARKS)``.

    ``ids (sources, hypotheses, pieces)``; padding, the start and the unknown piece never follow.
    """
    each = ids.shape[1]
    states = network.decode(
        ids.flatten(0, 1), memory.repeat_interleave(each, 0), padded.repeat_interleave(each, 0)
    )
    logits = network.logits(states[:, -1])
    logits[:, [UNKNOWN, network.pieces + PAD, network.pieces + START]] = -math.inf
    return logits.log_softmax(dim=1)
