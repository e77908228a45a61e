"""Nearest neighbours in both directions from one product of two blocks, on a GPU.

One pass over a block of the similarity matrix serves the lists of its rows and of its columns.
Lists that are full say what a score must reach to matter, and a tile of the product that has been
computed is compared with that on the spot: only the few scores that reach it leave the chip, the
matrix is never written to memory. Lists that are not full yet are begun by torch on a small part
of the block; the rest follows in parts that grow as the lists get better.

A candidate is one int64: the score above, the position below. No two are equal, so a list does not
depend on the order or the size of the blocks that it was made of, as long as the scores do not.
Scores are float32 sums, though, in the order of whatever kernel served: off by at most
``4 d 2^-24`` times both lengths. They choose candidates; callers score these exactly, and look
again where the last place of a list is too close to call.

Where Triton is missing, or cannot compile (it calls the machine's C compiler), the plain search in
torch serves. The lists are the same.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from miner.text.output import one_line

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# Hits that one launch can write (8 bytes each); a block with more of them is done in two halves.
CAPACITY = 1 << 22
# A list that is not full yet is begun with so many candidates at least.
SEED = 1024
# Scores that torch computes at a time: 4 bytes each, and twice 8 bytes for their keys.
STRIP = 1 << 24
# Pairs of one launch: any of them, and their number if all are hits, fits an int32.
MOST = 1 << 30
# Rows and columns of vectors on the device are a multiple of this long: aligned reads.
ALIGNED = 16

# Triton's own switch: kernels run on the CPU, in numpy. Slow; for tests.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# For callers, who do not import torch.
OutOfMemory = torch.cuda.OutOfMemoryError
# The key of an empty place: below every other, since ~position is 0 for position -1 alone.
EMPTY = -0x7F800001 << 32


def available() -> tuple[bool, bool]:
    """Whether torch sees a CUDA device; whether Triton can be imported."""
    return torch.cuda.is_available(), triton is not None


def upload(
    array: np.ndarray, device: torch.device | str, dtype: torch.dtype | None = None
) -> Tensor:
    """``array (b, d)``, float16 or float32, as a tensor ``(b, d')`` of ``dtype`` on ``device``.

    d' is d rounded up to a multiple of 16; the zeros there change no product. No ``dtype`` is the
    array's own. Raises OutOfMemory.
    """
    kind = torch.float16 if array.dtype == np.float16 else torch.float32
    pinned = torch.device(device).type == "cuda"
    width = -(-array.shape[1] // ALIGNED) * ALIGNED
    staged = torch.empty((len(array), width), dtype=kind, pin_memory=pinned)
    staged.numpy()[:, : array.shape[1]] = array
    staged[:, array.shape[1] :] = 0
    return staged.to(device, non_blocking=True).to(dtype or kind)


@dataclass(frozen=True)
class DeviceLists:
    """Running candidates of n rows: ``keys (n, w) int64``, descending; changed in place.

    A key is the pair of a float32 similarity and an int32 position ≥ 0, see the properties; of two
    keys, the one of the higher similarity is larger, and then the one of the lower position.
    """

    keys: Tensor

    @classmethod
    def empty(cls, size: int, width: int, device: torch.device | str) -> "DeviceLists":
        return cls(torch.full((size, width), EMPTY, dtype=torch.int64, device=device))

    @classmethod
    def of(
        cls, similarity: np.ndarray, position: np.ndarray, device: torch.device | str
    ) -> "DeviceLists":
        """Lists of the host, ``(n, w) float32`` and ``(n, w) int32``, on a device."""
        score, place = torch.from_numpy(similarity), torch.from_numpy(position)
        return cls(_encode(score.to(device), place.to(device)))

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, size: int) -> "DeviceLists":
        """The lists of ``size`` rows from ``start``: the same memory."""
        return DeviceLists(self.keys[start : start + size])

    @property
    def similarity(self) -> Tensor:
        """``(n, w) float32``, descending; -inf in empty places. A copy."""
        return _turned((self.keys >> 32).to(torch.int32)).view(torch.float32)

    @property
    def position(self) -> Tensor:
        """``(n, w) int32``, ascending where similarities are equal; -1 in empty places. A copy."""
        return (~self.keys << 32 >> 32).to(torch.int32)

    def numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """``similarity`` and ``position`` as arrays of the host."""
        return self.similarity.cpu().numpy(), self.position.cpu().numpy()

    def full(self) -> Tensor:
        """Whether no list has an empty place: a bool of no dimensions."""
        return (self.keys[:, -1] != EMPTY).all()

    def least(self, start: int) -> Tensor:
        """What a score must reach, ``(n,) float32``, to enter with a position from ``start`` on.

        A tie with the last place enters only with the lower position. Positions there are below
        ``start`` or above all that are to come, since nobody is compared with a row twice.
        """
        last = DeviceLists(self.keys[:, -1:].contiguous())
        similarity, position = last.similarity[:, 0], last.position[:, 0]
        above = torch.nextafter(similarity, torch.full_like(similarity, torch.inf))
        return torch.where(position < start, above, similarity)


def _turned(bits: Tensor) -> Tensor:
    """Bits of float32 as int32 that sort like them, and back."""
    return bits ^ (bits >> 31 & 0x7FFFFFFF)


def _encode(score: Tensor, position: Tensor) -> Tensor:
    """Keys of finite float32 scores and the positions that go with them, by broadcasting."""
    # Adding zero makes -0.0 a tie of 0.0.
    high = _turned((score + 0.0).view(torch.int32)).to(torch.int64) << 32
    return high | (~position.to(torch.int64) & 0xFFFFFFFF)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """``left (a, d)`` times ``right (b, d)`` transposed: ``(a, b) float32``, summed in float32."""
    if left.is_cuda and left.dtype != torch.float32:
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left.float() @ right.float().T


# --- the plain version --------------------------------------------------------------------------


def merge_block_torch(
    sources: Tensor, s: int, targets: Tensor, t: int, forward: DeviceLists, backward: DeviceLists
) -> None:
    """What :func:`merge_block` does, without thresholds: a product and its top-w both ways."""
    rows, columns = forward.part(s, len(sources)), backward.part(t, len(targets))
    with _all_or_nothing(rows, columns):
        _merge_plainly(sources, s, targets, t, rows, columns)


def _merge_plainly(
    sources: Tensor, s: int, targets: Tensor, t: int, rows: DeviceLists, columns: DeviceLists
) -> None:
    column = torch.arange(t, t + len(targets), device=targets.device)
    height = max(1, STRIP // max(1, len(targets)))
    for start in range(0, len(sources), height):
        strip = sources[start : start + height]
        score = _product(strip, targets)
        row = torch.arange(s + start, s + start + len(strip), device=targets.device)
        _put(rows.part(start, len(strip)), _encode(score, column))
        _put(columns, _encode(score.T.contiguous(), row))


def _put(lists: DeviceLists, keys: Tensor) -> None:
    """Merge new ``keys (n, c)`` into lists of n rows."""
    best = keys.topk(min(lists.keys.shape[1], keys.shape[1]), sorted=False).values
    lists.keys.copy_(_merged(lists.keys, best))


def _merged(old: Tensor, new: Tensor) -> Tensor:
    """The best keys of each row of both, descending, as many as in ``old``."""
    both = torch.cat([old, new], dim=1)
    return both.sort(dim=1, descending=True).values[:, : old.shape[1]]


@contextmanager
def _all_or_nothing(*parts: DeviceLists) -> Iterator[None]:
    """Lists as they were, if memory runs out: the block can come again, in smaller ones."""
    before = [part.keys.clone() for part in parts]
    try:
        yield
    except OutOfMemory:
        for part, keys in zip(parts, before, strict=True):
            part.keys.copy_(keys)
        raise


# --- by thresholds ------------------------------------------------------------------------------


def merge_block(
    sources: Tensor, s: int, targets: Tensor, t: int, forward: DeviceLists, backward: DeviceLists
) -> None:
    """Merge a block of the similarity matrix into the lists of its rows and of its columns.

    ``sources (a, d)`` and ``targets (b, d)``, both float16, bfloat16 or float32, finite, on the
    device of the lists, are the rows from ``s`` and ``t`` on: their candidates go into the lists
    ``s`` to ``s + a`` of ``forward``, as positions from ``t`` on, and into the lists ``t`` to
    ``t + b`` of ``backward``, as positions from ``s`` on. No pair may come twice.

    Takes up to 1 GB of device memory beside these, and ten times the lists that change. Raises
    OutOfMemory, which is torch.cuda.OutOfMemoryError, where that is not there, with the lists as
    they were.
    """
    rows, columns = forward.part(s, len(sources)), backward.part(t, len(targets))
    with _all_or_nothing(rows, columns):
        _merge(sources, s, targets, t, rows, columns)


def _merge(
    sources: Tensor, s: int, targets: Tensor, t: int, rows: DeviceLists, columns: DeviceLists
) -> None:
    """The block, or its halves: lists that are full and hits that fit are a matter of size."""
    a, b = len(sources), len(targets)
    if not a or not b:
        return
    full_rows, full_columns = torch.stack([rows.full(), columns.full()]).tolist()
    if (not full_rows and b <= SEED) or (not full_columns and a <= SEED):
        _merge_plainly(sources, s, targets, t, rows, columns)
        return
    if full_rows and full_columns and a * b <= MOST:
        hits = _find(sources, targets, rows.least(t), columns.least(s))
        if hits is not None:
            row, column, score = hits
            _absorb(rows, row, score, column + t)
            _absorb(columns, column, score, row + s)
            return
    # The second half has better lists to beat. A list of a row gets full by columns.
    if full_rows if full_rows != full_columns else a > b:
        half = a // 2
        _merge(sources[:half], s, targets, t, rows.part(0, half), columns)
        _merge(sources[half:], s + half, targets, t, rows.part(half, a - half), columns)
    else:
        half = b // 2
        _merge(sources, s, targets[:half], t, rows, columns.part(0, half))
        _merge(sources, s, targets[half:], t + half, rows, columns.part(half, b - half))


def _absorb(lists: DeviceLists, row: Tensor, score: Tensor, position: Tensor) -> None:
    """Merge candidates, in any order, into the lists of their rows."""
    keys = _encode(score, position)
    # Most were hits of the other direction.
    better = keys > lists.keys[row, -1]
    keys, row = keys[better], row[better].to(torch.int64)
    order = keys.argsort(descending=True)
    order = order[row[order].argsort(stable=True)]
    keys, row = keys[order], row[order]
    touched, which, count = row.unique_consecutive(return_inverse=True, return_counts=True)
    rank = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[which]
    width = lists.keys.shape[1]
    new = torch.full((len(touched), width), EMPTY, dtype=torch.int64, device=row.device)
    good = rank < width
    new[which[good], rank[good]] = keys[good]
    lists.keys[touched] = _merged(lists.keys[touched], new)


Hits = tuple[Tensor, Tensor, Tensor]


def _find(sources: Tensor, targets: Tensor, row_least: Tensor, column_least: Tensor) -> Hits | None:
    """Rows, columns and scores that reach their row's or their column's threshold, in any order.

    None if there are more than CAPACITY of them.
    """
    global _trouble
    if _trouble is None and _suits_triton(sources):
        try:
            return _find_triton(sources, targets, row_least, column_least)
        except OutOfMemory:
            raise
        except Exception as error:  # whatever stands between a GPU and a compiler
            _trouble = error
            warnings.warn(
                f"searching without Triton, and slower: {one_line(str(error))}",
                RuntimeWarning,
                stacklevel=2,
            )
    return _find_torch(sources, targets, row_least, column_least)


_trouble: Exception | None = None  # why Triton is not asked again


def _suits_triton(vectors: Tensor) -> bool:
    """Half precision, on a GPU that Triton multiplies it on: from compute capability 8.0."""
    if triton is None or vectors.dtype not in (torch.float16, torch.bfloat16):
        return False
    if vectors.is_cuda:
        return torch.cuda.get_device_capability(vectors.device) >= (8, 0)
    return INTERPRETED


def _find_torch(
    sources: Tensor, targets: Tensor, row_least: Tensor, column_least: Tensor
) -> Hits | None:
    """What :func:`_find_triton` finds, in plain torch."""
    height = max(1, STRIP // len(targets))
    found, total = [], 0
    for start in range(0, len(sources), height):
        score = _product(sources[start : start + height], targets)
        bar = row_least[start : start + height, None]
        row, column = ((score >= bar) | (score >= column_least)).nonzero(as_tuple=True)
        total += len(row)
        if total > CAPACITY:
            return None
        found.append((row + start, column, score[row, column]))
    row, column, score = (torch.cat(parts) for parts in zip(*found, strict=True))
    return row, column, score


if triton is not None:
    # The second works on two tiles at a time per multiprocessor of an H100: one compares while the
    # other multiplies.
    TILES = [
        triton.Config(
            {"M": 128, "N": n, "K": 64, "BAND": 8},
            num_warps=warps,
            num_stages=stages,
            maxnreg=registers,
        )
        for n, warps, stages, registers in (
            (128, 4, 3, None),
            (128, 8, 3, 128),
            (256, 8, 3, None),
            (256, 8, 4, None),
        )
    ]
    # What does without trying: small parts of blocks.
    TILE = TILES[1]
    # Pairs from which on it pays to try all, once for a GPU and a dimension: compiling them takes
    # some 15 seconds.
    LARGE = 1 << 28

    @triton.jit(do_not_specialize=["a", "b", "capacity"])
    def _hits_kernel(  # type: ignore[no-untyped-def]
        sources,
        targets,
        row_least,
        column_least,
        count,
        out_pair,
        out_score,
        a,
        b,
        d,
        capacity,
        M: tl.constexpr,
        N: tl.constexpr,
        K: tl.constexpr,
        BAND: tl.constexpr,
    ):
        # Tiles go down bands of BAND tiles, then right: those at work at one time share vectors.
        tile = tl.program_id(0)
        across = BAND * tl.cdiv(b, N)
        band = tile // across * BAND
        height = tl.minimum(BAND, tl.cdiv(a, M) - band)
        first_row = (band + tile % across % height) * M
        first_column = tile % across // height * N
        row = tl.arange(0, M)
        column = tl.arange(0, N)
        inner = tl.arange(0, K)
        # Beyond the edge, the last vector is read again; what comes of it is masked below.
        left = sources + first_row.to(tl.int64) * d
        left += tl.minimum(row, a - 1 - first_row)[:, None] * d + inner[None, :]
        right = targets + first_column.to(tl.int64) * d
        right += tl.minimum(column, b - 1 - first_column)[None, :] * d + inner[:, None]
        score = tl.zeros((M, N), tl.float32)
        for start in range(0, d, K):
            inside = inner < d - start
            x = tl.load(left, mask=inside[None, :], other=0.0)
            y = tl.load(right, mask=inside[:, None], other=0.0)
            score = tl.dot(x, y, score)
            left += K
            right += K
        row_bar = tl.load(row_least + first_row + row, mask=row < a - first_row, other=float("inf"))
        column_bar = tl.load(
            column_least + first_column + column,
            mask=column < b - first_column,
            other=float("inf"),
        )
        hit = (score >= row_bar[:, None]) | (score >= column_bar[None, :])
        # Most tiles have no hit, and end here.
        if tl.max(hit.to(tl.int32)) > 0:
            hit &= (row < a - first_row)[:, None] & (column < b - first_column)[None, :]
            slot = tl.atomic_add(count + tl.zeros((M, N), tl.int32), 1, mask=hit, sem="relaxed")
            hit &= slot < capacity
            pair = (first_row + row)[:, None] * b + (first_column + column)[None, :]
            tl.store(out_pair + slot, pair, mask=hit)
            tl.store(out_score + slot, score, mask=hit)

    _tuned_kernel = triton.autotune(TILES, key=["d"], reset_to_zero=["count"], cache_results=True)(
        _hits_kernel
    )


def _find_triton(
    sources: Tensor, targets: Tensor, row_least: Tensor, column_least: Tensor
) -> Hits | None:
    """The product, tile by tile in registers, of which only hits are written."""
    (a, d), b = sources.shape, len(targets)
    device = sources.device
    count = torch.zeros(1, dtype=torch.int32, device=device)
    pair = torch.empty(CAPACITY, dtype=torch.int32, device=device)
    score = torch.empty(CAPACITY, dtype=torch.float32, device=device)
    tensors = (sources.contiguous(), targets.contiguous(), row_least, column_least)
    arguments = (*tensors, count, pair, score, a, b, d, CAPACITY)

    def grid(tile):
        return (triton.cdiv(a, tile["M"]) * triton.cdiv(b, tile["N"]),)

    with torch.cuda.device_of(sources):
        if a * b < LARGE:
            _hits_kernel[grid](*arguments, **TILE.all_kwargs())
        else:
            _tuned_kernel[grid](*arguments)
    found = int(count)
    if found > CAPACITY:
        return None
    return pair[:found] // b, pair[:found] % b, score[:found]
