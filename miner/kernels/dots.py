"""Integer dot products of the token vectors of two sentences. Exact, so the same on every machine.

With AVX2, a tile of 4 x 2 products is computed at a time: ``vpmaddwd`` multiplies 16 int16 by 16
and adds neighbours to 8 int32. Numba has no such instruction, so the tile is written as LLVM code.
With AVX-512 VNNI a tile is 4 x 4, and ``vpdpwssd`` does twice as much and adds to the sums as well.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from miner.kernels.library import kernel
from miner.kernels.loops import Instructions, njit
from miner.kernels.tile import Writer, constant, has_avx2
from miner.kernels.vnni import for_vnni, has_vnni

# Rows of one tile, and rows of the other side that they are multiplied with: by default, and on
# processors with VNNI.
ROWS, OTHERS, MOST_OTHERS = 4, 2, 4
# Components multiplied in one step, without and with VNNI; vectors are padded with zeros to a
# multiple of both.
LANES, STEP = 16, 32

# Writes the products of the first ``n`` of ``rows`` with ``codes[wanted]`` to ``out``, for tests;
# other functions of the compiled library call it. ``r`` is a multiple of ROWS, ``d`` of STEP;
# columns of ``out`` from n are undefined.
compiled_dots = kernel(
    "dots(rows: i2[r, d], n: int, codes: i1[v, d], wanted: i4[m], &out: f4[m, r])"
)

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES = ir.VectorType(_I8, LANES)
_SHORTS = ir.VectorType(_I16, LANES)
_INTS = ir.VectorType(_I32, 8)
_MORE_BYTES = ir.VectorType(_I8, STEP)
_MORE_SHORTS = ir.VectorType(_I16, STEP)
_MORE_INTS = ir.VectorType(_I32, 16)


def dots_reference(rows, codes, wanted):
    """Compute :func:`dots` in numpy: ``rows (n, d)`` by ``codes[wanted]``, ``(m, n) int64``."""
    return codes[wanted].astype(np.int64) @ rows.astype(np.int64).T


def cosines(codes, scale, left, right):
    """Return cosines ``(n, m) float32`` of the rows ``left (n,)`` and ``right (m,)`` of a table.

    The table of unit rows is ``codes (V, d) int8`` times ``scale (V,) float32``.
    """
    product = dots_reference(codes[right], codes, left).astype(np.float32)
    return product * (scale[left][:, None] * scale[right])


def _tile(typingctx, rows, row, codes, first, second, steps, out):
    """Write products of ``ROWS`` rows from ``row`` with two rows of ``codes``.

    ``out[0:4]`` are those with the row ``first``, ``out[4:8]`` those with the row ``second``.
    """
    from numba import types

    at = types.int64
    signature = types.void(rows, at, codes, at, at, at, out)

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _Tile(context, builder, signature.args, values).build()
        return context.get_dummy_value()

    return signature, codegen


tile: Any = Instructions(_tile)


class _Tile(Writer):
    """Writer of the LLVM code of one tile. ``values`` are the arguments of :func:`_tile`."""

    def __init__(self, context: Any, builder: Any, kinds: Any, values: Any):
        super().__init__(context, builder, kinds, values)
        self.steps = values[5]
        width = builder.mul(self.steps, constant(_I64, LANES))
        start = [builder.add(values[1], constant(_I64, row)) for row in range(ROWS)]
        self.rows = [self.pointer(0, builder.mul(row, width), _SHORTS) for row in start]
        self.others = [self.pointer(2, builder.mul(row, width), _BYTES) for row in values[3:5]]
        self.out = self.pointer(6, constant(_I64, 0), _INTS)

    def build(self) -> None:
        builder = self.builder
        nothing = ir.Constant(_INTS, [0] * 8)
        before = builder.block
        loop, after = builder.append_basic_block("steps"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        step = builder.phi(_I64)
        step.add_incoming(constant(_I64, 0), before)
        sums = [builder.phi(_INTS) for _ in range(ROWS * OTHERS)]
        others = [builder.sext(self.load(other, step), _SHORTS) for other in self.others]
        rows = [self.load(row, step) for row in self.rows]
        new = []
        for place, total in enumerate(sums):
            other, row = divmod(place, ROWS)
            product = self.call("llvm.x86.avx2.pmadd.wd", _INTS, rows[row], others[other])
            new.append(builder.add(total, product))
            total.add_incoming(nothing, before)
            total.add_incoming(new[-1], loop)
        following = builder.add(step, constant(_I64, 1))
        step.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, self.steps), loop, after)
        builder.position_at_end(after)
        # Add the eight lanes of each sum pairwise: the halves of four rows end up side by side.
        halves = []
        for four in (new[:ROWS], new[ROWS:]):
            pairs = [self._pairwise(four[0], four[1]), self._pairwise(four[2], four[3])]
            halves.append(self._pairwise(*pairs))
        low, high = (
            builder.shuffle_vector(*halves, ir.Constant(_INTS, lanes))
            for lanes in ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
        )
        builder.store(builder.add(low, high), self.out).align = 4

    def _pairwise(self, one: Any, other: Any) -> Any:
        return self.call("llvm.x86.avx2.phadd.d", _INTS, one, other)


def _wide_tile(typingctx, rows, row, codes, first, second, third, fourth, out):
    """Write products of ``ROWS`` rows from ``row`` with four rows of ``codes``, by VNNI.

    ``out[4 * k : 4 * k + 4]`` are with the k-th row of the four.
    """
    from numba import types

    at = types.int64
    signature = types.void(rows, at, codes, at, at, at, at, out)

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _WideTile(context, builder, signature.args, values).build()
        return context.get_dummy_value()

    return signature, codegen


wide_tile: Any = Instructions(_wide_tile)


class _WideTile(Writer):
    """Writer of the LLVM code of a tile by VNNI: a function of its own, which is called."""

    def build(self) -> None:
        builder = self.builder
        width = builder.extract_value(self.array(0).shape, 1)
        at = [builder.add(self.values[1], constant(_I64, row)) for row in range(ROWS)]
        pointers = [self.pointer(0, builder.mul(row, width), _MORE_SHORTS) for row in at]
        for row in self.values[3:7]:
            pointers.append(self.pointer(2, builder.mul(row, width), _MORE_BYTES))
        pointers.append(self.pointer(7, constant(_I64, 0), _MORE_INTS))
        steps = builder.udiv(width, constant(_I64, STEP))
        kinds = [pointer.type for pointer in pointers]
        function, self.builder = for_vnni(builder, "miner.dots", [*kinds, _I64], ir.VoidType())
        self._sum(function)
        builder.call(function, [*pointers, steps])

    def _sum(self, function: Any) -> None:
        builder = self.builder
        rows, others = function.args[:ROWS], function.args[ROWS:-2]
        out, steps = function.args[-2:]
        loop, after = function.append_basic_block("steps"), function.append_basic_block("done")
        before = builder.block
        builder.branch(loop)
        builder.position_at_end(loop)
        step = builder.phi(_I64)
        sums = [builder.phi(_MORE_INTS) for _ in range(ROWS * MOST_OTHERS)]
        left = [self.load(row, step) for row in rows]
        right = [builder.sext(self.load(other, step), _MORE_SHORTS) for other in others]
        new = []
        for place, total in enumerate(sums):
            other, row = divmod(place, ROWS)
            # LLVM makes one instruction of the product and the sum, vpdpwssd.
            product = self.call("llvm.x86.avx512.pmaddw.d.512", _MORE_INTS, left[row], right[other])
            new.append(builder.add(total, product))
            total.add_incoming(ir.Constant(_MORE_INTS, [0] * 16), before)
            total.add_incoming(new[-1], loop)
        following = builder.add(step, constant(_I64, 1))
        step.add_incoming(constant(_I64, 0), before)
        step.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, steps), loop, after)
        builder.position_at_end(after)
        # Halve the number of vectors four times; lane k of the last is the sum of the k-th.
        for width in (1, 2, 4, 8):
            pairs = zip(new[::2], new[1::2], strict=True)
            new = [self._halve(one, other, width) for one, other in pairs]
        builder.store(new[0], out).align = 4
        builder.ret_void()

    def _halve(self, one: Any, other: Any, width: int) -> Any:
        """Add neighbouring groups of ``width`` lanes, of both vectors in turn."""
        # Lanes from 16 on are the other's, which fill each second group.
        low = [lane + (16 - width if lane // width % 2 else 0) for lane in range(16)]
        masks = (ir.Constant(_MORE_INTS, [lane + more for lane in low]) for more in (0, width))
        return self.builder.add(*(self.builder.shuffle_vector(one, other, mask) for mask in masks))


@njit(error_model="numpy")
def _by_tiles(rows, n, codes, wanted, m, out, sums):
    others, last = len(sums) // ROWS, m - 1
    for j in range(0, m, others):
        first, second = wanted[j], wanted[min(j + 1, last)]
        for i in range(0, n, ROWS):
            if others == MOST_OTHERS:
                third, fourth = wanted[min(j + 2, last)], wanted[min(j + 3, last)]
                wide_tile(rows, i, codes, first, second, third, fourth, sums)
            else:
                tile(rows, i, codes, first, second, rows.shape[1] // LANES, sums)
            for other in range(min(others, m - j)):
                for row in range(ROWS):
                    out[j + other, i + row] = sums[ROWS * other + row]


@njit(error_model="numpy")
def _one_by_one(rows, n, codes, wanted, m, out, sums):
    for j in range(m):
        code = codes[wanted[j]]
        for i in range(n):
            total = np.int32(0)
            for k in range(rows.shape[1]):
                product = np.int32(np.int32(rows[i, k]) * np.int32(code[k]))
                total = np.int32(total + product)
            out[j, i] = total


# dots(rows, n, codes, wanted, m, out, sums) writes the products of the first ``n`` of
# ``rows (r, d) int16`` with ``codes[wanted[:m]] (m, d) int8`` to ``out (m, r)``. ``r`` is a
# multiple of ROWS, ``d`` of STEP; columns of ``out`` from n are undefined. ``sums`` is by
# `sums_of_tile`.
dots = _by_tiles if has_avx2() else _one_by_one


def sums_of_tile() -> np.ndarray:
    """Allocate the sums of a tile, of the largest one that this processor has instructions for."""
    return np.empty(ROWS * (MOST_OTHERS if has_vnni() else OTHERS), dtype=np.int32)
