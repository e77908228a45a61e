"""Recurrent encoders, by torch: LSTM, and the gated recurrent averaging networks (GRAN).

``lstm`` averages the hidden states of an LSTM (P17, P18). ``gran-lstm`` averages the inputs, each
multiplied by a gate that depends on the states of an LSTM (P17, equation 1). ``gran-gru`` uses a
gated recurrent unit whose candidate state has a leaky rectifier (S18). All can take the maximum
instead of the mean, and ``lstm`` can read in both directions. Training and encoding use the same
network. This module is imported only inside functions, because it needs torch.
"""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from miner.encoder.architecture import ENCODERS, Architecture
from miner.encoder.part import EncoderPart
from miner.errors import ArtifactError, reason
from miner.ragged import take_lists

# Sentences of a batch. Every batch is padded to this size: a matrix product may round differently
# for another number of rows, and a vector must not depend on its batch.
BATCH, BATCH_ON_GPU = 64, 512
# Time steps processed in one window.
WINDOW = 128

State = tuple[Tensor, ...]


class Linear(nn.Linear):
    """Linear layer over at most ``rows`` > 0 inputs at a time, so that all products have one
    shape.
    """

    def forward(self, x: Tensor, rows: int = 0) -> Tensor:
        if not rows:
            return super().forward(x)
        return torch.cat([super(Linear, self).forward(part) for part in x.split(rows)])


class Lstm(nn.Module):
    """Cell that outputs the hidden states of an LSTM.

    All cells compute the parts that do not depend on the state for all tokens at once
    (:meth:`before`, :meth:`after`), and the rest step by step. ``seen`` is the last hidden state
    after variational dropout, used in the products; the state that is carried over is never
    dropped.
    """

    memories = 2

    def __init__(self, inputs: int, states: int):
        super().__init__()
        # Gates in torch's order: input, forget, cell, output.
        self.by_input = Linear(inputs, 4 * states)
        self.by_state = nn.Linear(states, 4 * states, bias=False)
        for weights in self.parameters():  # like torch's LSTM
            nn.init.uniform_(weights, -(states**-0.5), states**-0.5)

    def before(self, x: Tensor, rows: int) -> Tensor:
        return self.by_input(x, rows)

    def step(self, projected: Tensor, state: State, seen: Tensor) -> State:
        c = state[1]
        i, f, g, o = (projected + self.by_state(seen)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def after(self, x: Tensor, h: Tensor, rows: int) -> Tensor:
        return h


class Gate(nn.Module):
    """Gate on the inputs: x ⊙ σ(W_x x + W_h h + b)."""

    def __init__(self, inputs: int, states: int):
        super().__init__()
        self.by_input = Linear(inputs, inputs)
        self.by_state = Linear(states, inputs, bias=False)
        for weights in (self.by_input.weight, self.by_state.weight):
            nn.init.xavier_uniform_(weights)
        nn.init.zeros_(self.by_input.bias)

    def forward(self, x: Tensor, h: Tensor, rows: int) -> Tensor:
        return x * torch.sigmoid(self.by_input(x, rows) + self.by_state(h, rows))


class GranLstm(Lstm):
    """Cell that outputs the inputs ``(n, d)``, gated by an LSTM's states (P17, equation 1)."""

    def __init__(self, inputs: int, states: int):
        super().__init__(inputs, states)
        self.gate = Gate(inputs, states)

    def after(self, x: Tensor, h: Tensor, rows: int) -> Tensor:
        return self.gate(x, h, rows)


class GranGru(nn.Module):
    """Variant of :class:`GranLstm` with a GRU and a leaky rectifier instead of tanh (S18).

    h_t = (1 - z_t) ⊙ h_{t-1} + z_t ⊙ f(W_h x_t + U_h (r_t ⊙ h_{t-1}) + b_h)
    """

    memories = 1

    def __init__(self, inputs: int, states: int):
        super().__init__()
        # Reset gate, update gate and candidate, concatenated.
        self.by_input = Linear(inputs, 3 * states)
        self.gates_by_state = nn.Linear(states, 2 * states, bias=False)
        self.by_state = nn.Linear(states, states, bias=False)
        self.sizes = (2 * states, states)
        for weights in self.parameters():
            if weights.ndim == 1:
                nn.init.zeros_(weights)
                continue
            # Xavier initialisation of each matrix separately.
            for matrix in weights.data.split(states):
                nn.init.xavier_uniform_(matrix)
        self.gate = Gate(inputs, states)

    def before(self, x: Tensor, rows: int) -> Tensor:
        return self.by_input(x, rows)

    def step(self, projected: Tensor, state: State, seen: Tensor) -> State:
        (h,) = state
        gates, candidate = projected.split(self.sizes, dim=1)
        r, z = torch.sigmoid(gates + self.gates_by_state(seen)).chunk(2, dim=1)
        candidate = nn.functional.leaky_relu(candidate + self.by_state(r * seen))
        return (h + z * (candidate - h),)

    def after(self, x: Tensor, h: Tensor, rows: int) -> Tensor:
        return self.gate(x, h, rows)


CELLS = {"lstm": Lstm, "gran-lstm": GranLstm, "gran-gru": GranGru}


class RecurrentNetwork(nn.Module):
    """Recurrent encoder without the embeddings: sequences of embeddings to vectors.

    ``name`` is one of :data:`~miner.encoder.architecture.ENCODERS` that has a network; an embedding
    has ``inputs`` dimensions, a hidden state ``states``.
    """

    def __init__(self, name: str, inputs: int, states: int, pooling: str, directions: str):
        super().__init__()
        kind = ENCODERS[name]
        assert kind.network is not None
        self.states, self.pooling, self.average = states, pooling, directions == "average"
        ways = 2 if kind.both_ways else 1
        self.dimension = inputs if kind.network != "lstm" else states
        if ways == 2 and not self.average:
            self.dimension *= 2
        self.ways = nn.ModuleList([CELLS[kind.network](inputs, states) for _ in range(ways)])

    def forward(
        self,
        embedded: Tensor,
        offsets: np.ndarray,
        masks: Sequence[Tensor] | None = None,
        rows: int = 0,
    ) -> Tensor:
        """Return vectors ``(n, D)``, not normalised. A sentence without tokens has zeros.

        ``embedded (t, d)`` are the embeddings of all tokens, ``offsets (n + 1,) int64`` the start
        of each sentence. ``masks`` are factors of each sentence's inputs ``(n, d)`` and states
        ``(n, h)`` in all products (variational dropout; Gal and Ghahramani 2016). With ``rows``,
        every step computes that many rows, also for sentences that have ended.
        """
        lengths = np.diff(offsets)
        # Longest first: at every step, sentences that continue precede sentences that have ended.
        order = np.argsort(-lengths, kind="stable")
        going = np.searchsorted(-lengths[order], -np.arange(max(lengths, default=0)), side="left")
        vectors = [
            self._read(way, embedded, offsets, order, going, masks, rows, bool(backward))
            for backward, way in enumerate(self.ways)
        ]
        if len(vectors) == 1:
            return vectors[0]
        return (vectors[0] + vectors[1]) / 2 if self.average else torch.cat(vectors, dim=1)

    def _read(
        self,
        way: Any,
        embedded: Tensor,
        offsets: np.ndarray,
        order: np.ndarray,
        going: np.ndarray,
        masks: Sequence[Tensor] | None,
        rows: int,
        backward: bool,
    ) -> Tensor:
        """Read the tokens in one direction: ``(n, size)``.

        ``order (n,)`` sorts sentences by length; ``going (T,)`` counts those with at least t
        tokens.
        """
        n = len(order)
        size = self.dimension if self.average else self.dimension // len(self.ways)
        out = embedded.new_full((n, size), -math.inf if self.pooling == "max" else 0.0)
        state = tuple(embedded.new_zeros(rows or n, self.states) for _ in range(way.memories))
        if masks is not None:
            masks = masks[0], masks[1][torch.from_numpy(order).to(embedded.device)]
        # With rows, a window bounds the memory for a long line. A gradient needs all steps.
        span = WINDOW if rows else max(1, len(going))
        for start in range(0, len(going), span):
            steps = np.arange(len(going))[start : start + span]
            # Tokens in the order of the steps, so that the gradient is computed in one operation.
            # With rows, sentences that have ended read an arbitrary token; its output is dropped.
            token = np.zeros((len(steps), rows or n), dtype=np.int64)
            token[:, :n] = offsets[1:][order] - 1 if backward else offsets[:-1][order]
            token[:, :n] += steps[:, None] * (-1 if backward else 1)
            taken = np.full(len(steps), rows) if rows else going[steps]
            token = token.clip(0, len(embedded) - 1)[np.arange(token.shape[1]) < taken[:, None]]
            owner = np.concatenate([order[:count] for count in going[steps].tolist()])
            index = torch.from_numpy(owner).to(embedded.device)
            inputs = embedded.index_select(0, torch.from_numpy(token).to(embedded.device))
            if masks is not None:
                inputs = inputs * masks[0][index]
            states = []
            for projected in way.before(inputs, rows).split(taken.tolist()):
                state = tuple(part[: len(projected)] for part in state)
                seen = state[0] if masks is None else state[0] * masks[1][: len(projected)]
                state = way.step(projected, state, seen)
                states.append(state[0])
            # (t, D): the first tokens of all sentences, then the second tokens.
            flat = way.after(inputs, torch.cat(states), rows)
            if rows:
                live = np.arange(rows) < going[steps, None]
                flat = flat[torch.from_numpy(live.ravel()).to(embedded.device)]
            if self.pooling == "max":
                step = torch.from_numpy(np.repeat(np.arange(len(steps)), going[steps]))
                padded = flat.new_full((n, len(steps), size), -math.inf)
                padded = padded.index_put((index, step.to(index.device)), flat)
                out = torch.maximum(out, padded.amax(dim=1))
            else:
                out = out.index_add(0, index, flat)
        lengths = torch.from_numpy(np.diff(offsets)).to(out)[:, None]
        if self.pooling == "max":
            return torch.where(lengths > 0, out, 0.0)
        return out / lengths.clamp(min=1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all parameters by name, float32, for :meth:`load`."""
        return {name: value.cpu().numpy().copy() for name, value in self.state_dict().items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the parameters. Raises RuntimeError if a name or shape is not the network's."""
        self.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})


class RecurrentPool:
    """Recurrent part of a model, ready to encode on ``device``.

    A call takes token ids ``(t,) int32`` and offsets ``(n + 1,) int64``, and returns
    ``(n, D) float32``, not normalised. If torch computes with one thread
    (:func:`single_threaded`), a vector does not depend on its batch, bit for bit. On a GPU its last
    bits may.
    """

    def __init__(
        self, name: str, part: EncoderPart, architecture: Architecture, device: str, path: str
    ):
        self.device = device
        self.batch = BATCH if device == "cpu" else BATCH_ON_GPU
        self.table = torch.from_numpy(part.table()).to(device)
        inputs = self.table.shape[1]
        try:
            states = part.network["ways.0.by_state.weight"].shape[1]
            self.network = RecurrentNetwork(
                name, inputs, states, architecture.pooling, architecture.directions
            )
            self.network.load(part.network)
        except (KeyError, IndexError, TypeError, RuntimeError) as error:
            raise ArtifactError(
                f"{path}: its network does not fit the encoder {name} ({reason(error)}); copy or "
                "train the model again"
            ) from None
        self.network.to(device).eval()
        self.dimension = self.network.dimension

    def __call__(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        out = np.zeros((len(offsets) - 1, self.dimension), dtype=np.float32)
        lengths = np.diff(offsets)
        # Similar lengths in a batch, so that few steps are wasted on sentences that have ended.
        order = np.argsort(-lengths, kind="stable")
        order = order[: np.count_nonzero(lengths)]
        with torch.inference_mode():
            for start in range(0, len(order), self.batch):
                rows = order[start : start + self.batch]
                tokens, places = take_lists(ids, offsets, rows)
                embedded = self.table[torch.from_numpy(tokens).to(self.device, torch.int64)]
                out[rows] = self.network(embedded, places, rows=self.batch).cpu().numpy()
        return out


class _Threads:
    """Count of open :func:`single_threaded` contexts, and torch's threads before the first."""

    lock = threading.Lock()
    depth = before = 0


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit torch to one thread. The last open context to end restores the former number."""
    with _Threads.lock:
        if _Threads.depth == 0:
            _Threads.before = torch.get_num_threads()
            torch.set_num_threads(1)
        _Threads.depth += 1
    try:
        yield
    finally:
        with _Threads.lock:
            _Threads.depth -= 1
            if _Threads.depth == 0:
                torch.set_num_threads(_Threads.before)
