"""Search on a GPU: the candidates of the rows and of the columns of a block, in one pass.

One algorithm in Triton and in torch; its steps share so much that 430 lines stay together.

The last place of a full list is the threshold that a score must reach. A tile of the product is
compared with the thresholds in registers, and only the few scores that reach them are written: the
similarity matrix never is. Torch fills empty lists from a small part of the block; the rest follows
in parts that grow as the thresholds rise.

A candidate is one int64 key: the score in the high bits, the position in the low ones. No two keys
are equal, so a list does not depend on the order or the size of the blocks, as long as the scores
do not. Scores are float32 sums in an order that depends on the kernel: off by at most ``4 d 2^-24``
times the lengths of both vectors. Callers score the candidates exactly, and search again where the
last place of a list is too close to the k-th.

Where Triton is missing, or cannot compile (it calls the C compiler of the machine), torch searches.
The lists are the same.
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

# Hits that one launch can write, 8 bytes each; a block with more hits is halved.
CAPACITY = 1 << 22
# Torch fills an empty list from at least so many candidates.
SEED = 1024
# Scores that torch computes at a time: 4 bytes each, and twice 8 bytes for keys.
STRIP = 1 << 24
# Pairs of one launch: their index and their number fit an int32.
MOST = 1 << 30
# Vectors on the device are padded to a multiple of so many components, for aligned reads.
ALIGNED = 16

# Triton's switch for tests: kernels run on the CPU, slowly.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
# For callers that do not import torch.
OutOfMemory = torch.cuda.OutOfMemoryError
# Key of an empty place, -inf and -1. Below every other key.
EMPTY = -0x7F800001 << 32


def available() -> tuple[bool, bool]:
    """Return two flags: torch sees a CUDA device, Triton can be imported."""
    return torch.cuda.is_available(), triton is not None


def upload(
    array: np.ndarray, device: torch.device | str, dtype: torch.dtype | None = None
) -> Tensor:
    """Copy ``array (b, d)``, float16 or float32, to a tensor ``(b, d')`` on ``device``.

    d' is d rounded up to a multiple of 16, padded with zeros. ``dtype`` is that of the array by
    default. Raises OutOfMemory.
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
    """Candidate lists of n rows: ``keys (n, w) int64``, descending; changed in place.

    A key packs a float32 similarity and an int32 position >= 0. The key of the higher similarity is
    larger; of equal similarities, the key of the lower position.
    """

    keys: Tensor

    @classmethod
    def empty(cls, size: int, width: int, device: torch.device | str) -> "DeviceLists":
        return cls(torch.full((size, width), EMPTY, dtype=torch.int64, device=device))

    @classmethod
    def of(
        cls, similarity: np.ndarray, position: np.ndarray, device: torch.device | str
    ) -> "DeviceLists":
        """Copy lists of the host, ``(n, w) float32`` and ``(n, w) int32``, to a device."""
        score, place = torch.from_numpy(similarity), torch.from_numpy(position)
        return cls(_encode(score.to(device), place.to(device)))

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, size: int) -> "DeviceLists":
        """Return a view of the lists of ``size`` rows from ``start``."""
        return DeviceLists(self.keys[start : start + size])

    @property
    def similarity(self) -> Tensor:
        """Similarities ``(n, w) float32``, descending; -inf in empty places. A copy."""
        return _turned((self.keys >> 32).to(torch.int32)).view(torch.float32)

    @property
    def position(self) -> Tensor:
        """Positions ``(n, w) int32``; -1 in empty places. A copy."""
        return (~self.keys << 32 >> 32).to(torch.int32)

    def numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """Copy ``similarity`` and ``position`` to the host."""
        return self.similarity.cpu().numpy(), self.position.cpu().numpy()

    def full(self) -> Tensor:
        """Return a scalar bool tensor: no list has an empty place."""
        return (self.keys[:, -1] != EMPTY).all()

    def least(self, start: int) -> Tensor:
        """Return thresholds ``(n,) float32`` for scores at positions from ``start``.

        A tie with the last place enters only with the lower position. The last position is below
        ``start`` or above all positions of the block, since no pair is compared twice.
        """
        last = DeviceLists(self.keys[:, -1:].contiguous())
        similarity, position = last.similarity[:, 0], last.position[:, 0]
        above = torch.nextafter(similarity, torch.full_like(similarity, torch.inf))
        return torch.where(position < start, above, similarity)


def _turned(bits: Tensor) -> Tensor:
    """Map the bits of float32 to int32 that sort in the same order, and back."""
    return bits ^ (bits >> 31 & 0x7FFFFFFF)


def _encode(score: Tensor, position: Tensor) -> Tensor:
    """Pack finite float32 scores and positions, broadcast against each other, into keys."""
    # Adding zero makes -0.0 a tie of 0.0.
    high = _turned((score + 0.0).view(torch.int32)).to(torch.int64) << 32
    return high | (~position.to(torch.int64) & 0xFFFFFFFF)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply ``left (a, d)`` by ``right (b, d)``: ``(a, b)``, summed in float32."""
    if left.is_cuda and left.dtype != torch.float32:
        return torch.mm(left, right.T, out_dtype=torch.float32)
    return left.float() @ right.float().T


# --- without thresholds ------------------------------------------------------------------------


def merge_block_torch(
    sources: Tensor, s: int, targets: Tensor, t: int, forward: DeviceLists, backward: DeviceLists
) -> None:
    """Do :func:`merge_block` without thresholds: a product and its top-w in both directions."""
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
    """Return the largest keys of each row of both, descending, as many as in ``old (n, w)``."""
    both = torch.cat([old, new], dim=1)
    return both.sort(dim=1, descending=True).values[:, : old.shape[1]]


@contextmanager
def _all_or_nothing(*parts: DeviceLists) -> Iterator[None]:
    """Restore the lists if memory runs out, so that the block can be merged again in parts."""
    before = [part.keys.clone() for part in parts]
    try:
        yield
    except OutOfMemory:
        for part, keys in zip(parts, before, strict=True):
            part.keys.copy_(keys)
        raise


# --- with thresholds ---------------------------------------------------------------------------


def merge_block(
    sources: Tensor, s: int, targets: Tensor, t: int, forward: DeviceLists, backward: DeviceLists
) -> None:
    """Merge a block of the similarity matrix into the lists of its rows and of its columns.

    ``sources (a, d)`` and ``targets (b, d)`` are finite, float16, bfloat16 or float32, on the
    device of the lists. They are the rows from ``s`` and ``t``: lists ``s`` to ``s + a`` of
    ``forward`` get positions from ``t``, lists ``t`` to ``t + b`` of ``backward`` positions from
    ``s``. No pair may be merged twice.

    Takes up to 1 GB of device memory, and ten times that of the lists that change. Raises
    OutOfMemory (torch.cuda.OutOfMemoryError) with the lists unchanged.
    """
    rows, columns = forward.part(s, len(sources)), backward.part(t, len(targets))
    with _all_or_nothing(rows, columns):
        _merge(sources, s, targets, t, rows, columns)


def _merge(
    sources: Tensor, s: int, targets: Tensor, t: int, rows: DeviceLists, columns: DeviceLists
) -> None:
    """Merge the block, or its halves where lists are not full or hits do not fit."""
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
    # The second half meets higher thresholds. The lists of rows are filled by columns.
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
    # Most hits are those of the other direction.
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
    """Find the scores that reach the threshold of their row or column, in any order.

    Returns rows, columns and scores, or None if there are more than CAPACITY.
    """
    global _trouble
    if _trouble is None and _suits_triton(sources):
        try:
            return _find_triton(sources, targets, row_least, column_least)
        except OutOfMemory:
            raise
        except Exception as error:  # the driver, the compiler or Triton itself
            _trouble = error
            warnings.warn(
                f"searching without Triton, and slower: {one_line(str(error))}",
                RuntimeWarning,
                stacklevel=2,
            )
    return _find_torch(sources, targets, row_least, column_least)


_trouble: Exception | None = None  # the failure after which Triton is not used again


def _suits_triton(vectors: Tensor) -> bool:
    """Check for half precision on a GPU of compute capability 8.0 or more."""
    if triton is None or vectors.dtype not in (torch.float16, torch.bfloat16):
        return False
    if vectors.is_cuda:
        return torch.cuda.get_device_capability(vectors.device) >= (8, 0)
    return INTERPRETED


def _find_torch(
    sources: Tensor, targets: Tensor, row_least: Tensor, column_least: Tensor
) -> Hits | None:
    """Do :func:`_find_triton` in torch."""
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
    # With the second, a multiprocessor of an H100 holds two tiles: one compares while the other
    # multiplies.
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
    # Used without tuning, for small parts of blocks.
    TILE = TILES[1]
    # Pairs from which tuning pays, once for each GPU and dimension: it compiles for 15 seconds.
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
        # Tiles go down a band of BAND tiles, then right, so that concurrent tiles share vectors.
        tile = tl.program_id(0)
        across = BAND * tl.cdiv(b, N)
        band = tile // across * BAND
        height = tl.minimum(BAND, tl.cdiv(a, M) - band)
        first_row = (band + tile % across % height) * M
        first_column = tile % across // height * N
        row = tl.arange(0, M)
        column = tl.arange(0, N)
        inner = tl.arange(0, K)
        # Beyond the edge the last vector is read again; its scores are masked below.
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
        # Most tiles have no hit and end here.
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
    """Compute the product tile by tile in registers; write only the hits."""
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
