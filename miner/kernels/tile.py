"""Inner loop of the int8 search with AVX2: 6 x 16 integer dot products and their comparison.

Numba has no integer dot product, so the loop is LLVM code around two instructions. ``vpmaddubsw``
multiplies 32 uint8 by 32 int8 and adds neighbours to 16 sums of int16; ``vpmaddwd`` adds
neighbouring sums to 8 of int32. Partial sums run modulo 2**16, which is harmless, because
:mod:`miner.kernels.fused` bounds the final sums to int16.
"""

from typing import Any

from llvmlite import ir

from miner.kernels.loops import Instructions, target

# Rows and columns of one tile: its sums take 6 x 2 of the 16 vector registers.
ROWS = 6
COLUMNS = 16
LANES = 8

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES = ir.VectorType(_I8, 32)
_SHORTS = ir.VectorType(_I16, 16)
_INTS = ir.VectorType(_I32, LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def has_avx2() -> bool:
    """Check that loops are compiled for AVX2."""
    return "+avx2" in target()[1].split(",")


def _tile_avx2(
    typingctx, a, a_at, b, b_at, quads, correction, a_scale, row, b_scale, column,
    row_least, row_at, column_least, column_at, out, hits,
):  # fmt: skip
    """Compute one tile, as :func:`miner.kernels.fused.tile_reference` does.

    Every array is followed by the position from which it is read; ``correction`` and ``a_scale``
    share ``row``.
    """
    from numba import types

    at = types.int64
    signature = types.int32(
        a, at, b, at, at, correction, a_scale, at, b_scale, at,
        row_least, at, column_least, at, out, hits,
    )  # fmt: skip

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _Tile(context, builder, signature.args, values).build()

    return signature, codegen


tile_avx2: Any = Instructions(_tile_avx2)


class Writer:
    """Writer of the LLVM code of a function with arguments ``values`` of types ``kinds``."""

    def __init__(self, context: Any, builder: Any, kinds: Any, values: Any):
        self.context, self.builder, self.kinds, self.values = context, builder, kinds, values

    def pointer(self, array: int, position: Any, item: Any) -> Any:
        """Return a pointer to ``position`` of an array argument, cast to type ``item``."""
        start = self.builder.gep(self.array(array).data, [position])
        return self.builder.bitcast(start, item.as_pointer())

    def array(self, number: int) -> Any:
        """Return an array argument, with its ``data`` and ``shape``."""
        made = self.context.make_array(self.kinds[number])
        return made(self.context, self.builder, self.values[number])

    def load(self, pointer: Any, index: Any) -> Any:
        """Load the item at ``index``; it need not be aligned."""
        index = constant(_I64, index) if isinstance(index, int) else index
        loaded = self.builder.load(self.builder.gep(pointer, [index]))
        loaded.align = 1
        return loaded

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Call an LLVM intrinsic by name."""
        from numba.core import cgutils

        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, arguments)


def everywhere(builder: Any, value: Any, kind: Any) -> Any:
    """Broadcast ``value`` to a vector type."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, constant(_I32, 0))
    mask = ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, nothing, mask)


class _Tile(Writer):
    """Writer of the LLVM code of one tile."""

    def __init__(self, context: Any, builder: Any, kinds: Any, values: Any):
        super().__init__(context, builder, kinds, values)
        pointer, zero = self.pointer, constant(_I64, 0)
        self.a = pointer(0, values[1], _I32)
        self.b = pointer(2, values[3], _BYTES)
        self.quads = values[4]
        self.correction = pointer(5, values[7], _I32)
        self.a_scale = pointer(6, values[7], ir.FloatType())
        self.b_scale = pointer(8, values[9], _FLOATS)
        self.row_least = pointer(10, values[11], ir.FloatType())
        self.column_least = pointer(12, values[13], _FLOATS)
        self.out = pointer(14, zero, _FLOATS)
        self.hits = pointer(15, zero, _I16)

    def build(self) -> Any:
        return self._compare(self._multiply())

    def _multiply(self) -> list[list[Any]]:
        """Sum the products: ``[row][half of the columns]``, each 8 columns of 2 int16."""
        builder = self.builder
        halves = COLUMNS // LANES
        start = [
            builder.bitcast(everywhere(builder, self.load(self.correction, row), _INTS), _SHORTS)
            for row in range(ROWS)
        ]
        before = builder.block
        loop, after = builder.append_basic_block("quads"), builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        quad = builder.phi(_I64)
        quad.add_incoming(constant(_I64, 0), before)
        sums = [[builder.phi(_SHORTS) for _ in range(halves)] for _ in range(ROWS)]
        b_start = builder.mul(quad, constant(_I64, halves))
        a_start = builder.mul(quad, constant(_I64, ROWS))
        columns = [
            self.load(self.b, builder.add(b_start, constant(_I64, half))) for half in range(halves)
        ]
        new: list[list[Any]] = []
        for row in range(ROWS):
            four = self.load(self.a, builder.add(a_start, constant(_I64, row)))
            signed = builder.bitcast(everywhere(builder, four, _INTS), _BYTES)
            products = [
                self.call("llvm.x86.avx2.pmadd.ub.sw", _SHORTS, unsigned, signed)
                for unsigned in columns
            ]
            new.append([builder.add(*pair) for pair in zip(sums[row], products, strict=True)])
        following = builder.add(quad, constant(_I64, 1))
        for row in range(ROWS):
            for half in range(halves):
                sums[row][half].add_incoming(start[row], before)
                sums[row][half].add_incoming(new[row][half], loop)
        quad.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, self.quads), loop, after)
        builder.position_at_end(after)
        return new

    def _compare(self, sums: list[list[Any]]) -> Any:
        """Write similarities and hits; returns the bitwise or of the hits of all rows."""
        builder = self.builder
        ones = ir.Constant(_SHORTS, [1] * 16)
        halves = range(COLUMNS // LANES)
        scales = [self.load(self.b_scale, half) for half in halves]
        least = [self.load(self.column_least, half) for half in halves]
        total = constant(_I32, 0)
        for row in range(ROWS):
            row_least = everywhere(builder, self.load(self.row_least, row), _FLOATS)
            row_scale = everywhere(builder, self.load(self.a_scale, row), _FLOATS)
            mask = constant(_I32, 0)
            for half in halves:
                product = self.call("llvm.x86.avx2.pmadd.wd", _INTS, sums[row][half], ones)
                value = builder.fmul(
                    builder.fmul(builder.sitofp(product, _FLOATS), scales[half]), row_scale
                )
                place = builder.gep(self.out, [constant(_I64, row * len(halves) + half)])
                builder.store(value, place).align = 4
                hit = builder.or_(
                    builder.fcmp_ordered(">=", value, row_least),
                    builder.fcmp_ordered(">=", value, least[half]),
                )
                sign = builder.bitcast(builder.sext(hit, _INTS), _FLOATS)
                bits = self.call("llvm.x86.avx.movmsk.ps.256", _I32, sign)
                mask = builder.or_(mask, builder.shl(bits, constant(_I32, LANES * half)))
            hit = builder.trunc(mask, _I16)
            builder.store(hit, builder.gep(self.hits, [constant(_I64, row)]))
            total = builder.or_(total, mask)
        return total


def _lowest_bit(typingctx, mask):
    """Return the position of the lowest set bit of an int32; 32 if there is none."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.int32(types.int32), codegen


lowest_bit: Any = Instructions(_lowest_bit)


def constant(kind: Any, value: int) -> Any:
    """Return the LLVM constant ``value`` of type ``kind``."""
    return ir.Constant(kind, value)
