"""512-bit products of bytes, for processors with AVX-512 VNNI: the int8 search twice as fast.

``vpdpbusd`` multiplies 64 uint8 by 64 int8 and adds each four products to one of 16 int32; with
AVX2 that takes two instructions for half as many. What needs them is a function of its own in a
loop that is compiled for every processor, so that one cache, and one wheel, serves all: the caller
says at run time which to take. Sums are exact integers, so results are the same.
"""

import os
from functools import cache
from typing import Any

from llvmlite import ir

from miner.kernels.loops import FEATURES, Instructions
from miner.kernels.tile import ROWS, Writer, constant, everywhere, has_avx2

# Features of processors with 512-bit products of bytes, of 2019 (Intel) or 2022 (AMD) and later.
VNNI = "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES = ir.VectorType(_I8, 64)
_INTS = ir.VectorType(_I32, 16)
_FLOATS = ir.VectorType(ir.FloatType(), 16)


@cache
def has_vnni() -> bool:
    """Check that this processor runs functions for `VNNI`, and that the user named no other."""
    import llvmlite.binding

    if not has_avx2() or "NUMBA_CPU_NAME" in os.environ or "NUMBA_CPU_FEATURES" in os.environ:
        return False
    host = llvmlite.binding.get_host_cpu_features()
    return all(host.get(one) for one in VNNI)


def for_vnni(builder: Any, name: str, kinds: list[Any], result: Any) -> tuple[Any, Any]:
    """Add a function of its own to a loop, for processors with `VNNI`; return it and a builder.

    ``kinds`` are the LLVM types of its arguments, ``result`` is its result's.
    The loop itself is compiled for every processor, and calls it where :func:`has_vnni`, so that
    its code in the cache or in a wheel serves all.
    """
    function = ir.Function(builder.module, ir.FunctionType(result, kinds), name)
    function.linkage = "internal"
    features = ",".join(f"+{one}" for one in (*FEATURES, *VNNI))
    # llvmlite knows the attributes that are words; this one has a value.
    set.add(function.attributes, f'"target-features"="{features}"')
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _two_tiles_vnni(
    typingctx, a, a_at, b, b_at, b_next, quads, correction, a_scale, row, b_scale, column,
    column_next, row_least, column_least, out, hits,
):  # fmt: skip
    """Compute a tile of ``ROWS`` rows with two tiles of columns, by VNNI.

    As `miner.kernels.tile.tile_avx2`, but ``correction`` cancels the 64 of the columns in a sum of
    32 bits, ``row``, ``column`` and ``column_next`` count in the scales and in the least values,
    and each row of ``out`` and of ``hits`` has both tiles.
    """
    from numba import types

    at = types.int64
    signature = types.int32(
        a, at, b, at, at, at, correction, a_scale, at, b_scale, at, at,
        row_least, column_least, out, hits,
    )  # fmt: skip

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _VnniTile(context, builder, signature.args, values).build()

    return signature, codegen


two_tiles_vnni: Any = Instructions(_two_tiles_vnni)


class _VnniTile(Writer):
    """Writer of the LLVM code of a tile by VNNI: a function of its own, which is called."""

    def build(self) -> Any:
        pointer, (row, column, following) = self.pointer, (self.values[k] for k in (8, 10, 11))
        zero, one = constant(_I64, 0), ir.FloatType()
        pointers = [
            pointer(0, self.values[1], _I32),
            pointer(2, self.values[3], _BYTES),
            pointer(2, self.values[4], _BYTES),
            pointer(6, row, _I32),
            pointer(7, row, one),
            pointer(9, column, _FLOATS),
            pointer(9, following, _FLOATS),
            pointer(12, row, one),
            pointer(13, column, _FLOATS),
            pointer(13, following, _FLOATS),
            pointer(14, zero, _FLOATS),
            pointer(15, zero, _I16),
        ]
        kinds = [pointer.type for pointer in pointers]
        function, builder = for_vnni(self.builder, "miner.tile", [*kinds, _I64], _I32)
        caller, self.builder = self.builder, builder
        self._compare(function.args, self._multiply(function))
        return caller.call(function, [*pointers, self.values[5]])

    def _multiply(self, function: Any) -> list[list[Any]]:
        """Sum the products: ``[row][tile of columns]``, 16 int32 each."""
        builder = self.builder
        a, *b = function.args[:3]
        correction, quads = function.args[3], function.args[-1]
        start = [everywhere(builder, self.load(correction, row), _INTS) for row in range(ROWS)]
        before = builder.block
        loop, after = function.append_basic_block("quads"), function.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        quad = builder.phi(_I64)
        sums = [[builder.phi(_INTS) for _ in b] for _ in range(ROWS)]
        a_start = builder.mul(quad, constant(_I64, ROWS))
        columns = [self.load(one, quad) for one in b]
        new: list[list[Any]] = []
        for row in range(ROWS):
            four = self.load(a, builder.add(a_start, constant(_I64, row)))
            signed = builder.bitcast(everywhere(builder, four, _INTS), _BYTES)
            new.append(
                [
                    self.call("llvm.x86.avx512.vpdpbusd.512", _INTS, total, unsigned, signed)
                    for total, unsigned in zip(sums[row], columns, strict=True)
                ]
            )
        following = builder.add(quad, constant(_I64, 1))
        for row in range(ROWS):
            for total, added in zip(sums[row], new[row], strict=True):
                total.add_incoming(start[row], before)
                total.add_incoming(added, loop)
        quad.add_incoming(constant(_I64, 0), before)
        quad.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, quads), loop, after)
        builder.position_at_end(after)
        return new

    def _compare(self, arguments: list[Any], sums: list[list[Any]]) -> None:
        """Write similarities and hits; return the bitwise or of the hits of all rows."""
        builder = self.builder
        a_scale, row_least, out, hits = (arguments[k] for k in (4, 7, 10, 11))
        scales = [self.load(one, 0) for one in arguments[5:7]]
        least = [self.load(one, 0) for one in arguments[8:10]]
        total = constant(_I16, 0)
        for row in range(ROWS):
            at_least = everywhere(builder, self.load(row_least, row), _FLOATS)
            scale = everywhere(builder, self.load(a_scale, row), _FLOATS)
            for tile in range(2):
                place = constant(_I64, 2 * row + tile)
                value = builder.sitofp(sums[row][tile], _FLOATS)
                value = builder.fmul(builder.fmul(value, scales[tile]), scale)
                builder.store(value, builder.gep(out, [place])).align = 4
                hit = builder.or_(
                    builder.fcmp_ordered(">=", value, at_least),
                    builder.fcmp_ordered(">=", value, least[tile]),
                )
                mask = builder.bitcast(hit, _I16)
                builder.store(mask, builder.gep(hits, [place]))
                total = builder.or_(total, mask)
        builder.ret(builder.zext(total, _I32))
