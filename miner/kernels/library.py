"""The compiled library, and the declarations by which Python calls its functions.

A declaration names each argument of a function::

    mean_rows = kernel("mean_rows(table: i1|f4[V, d], scales: f4[V], &out: f4[n, d], size: int)")

``table`` is a C-contiguous array of int8 or float32 with the sizes ``V`` and ``d``; ``&`` marks an
array that is written. A size may be ``n+1``, or a fixed number. Types are as in numpy, a letter and
the bytes; scalars are ``int`` (int64) or ``float`` (float64). The C function has a pointer for each
array and a number for each scalar, in this order, and then the named sizes, as int64, in the order
in which they first occur. A type chosen among several is part of the function's name:
``mean_rows_i1``. A result is declared by ``-> int`` or ``-> float``; ``-> memory`` is 1 if memory
ran out, which raises MemoryError.

Arguments of another type, shape or layout raise TypeError or ValueError before the call. Calls run
without Python's lock. Functions are compiled for several instruction sets (levels); the fastest
that the processor has is used, or the level in MINER_CPU.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import DependencyError

# Instruction level that every processor has.
GENERIC = "generic"

_SCALARS: dict[str, Any] = {"int": ctypes.c_int64, "float": ctypes.c_double}
_RESULTS: dict[str, Any] = {**_SCALARS, "memory": ctypes.c_int64, "": None}
_CODES = {
    np.dtype(code): code for code in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
} | {np.dtype(bool): "u1"}
_ARGUMENT = re.compile(r"(&?)(\w+): ([\w|]+)(?:\[([^\]]*)\])?(?:, |$)")
_SIZE = re.compile(r"([A-Za-z]\w*|)(?:\+?(\d+))?$")


class Kernel:
    """Function of the library, called through its declaration."""

    def __init__(self, declaration: str):
        head, _, rest = declaration.partition("(")
        body, _, result = rest.partition(")")
        self.name, self.declaration = head, declaration
        kind = result.removeprefix(" -> ")
        self.result, self.allocates = _RESULTS[kind], kind == "memory"
        self.arguments = [_Argument(*fields) for fields in _ARGUMENT.findall(body)]
        every = (name for argument in self.arguments for name, _ in argument.sizes if name)
        self.sizes = list(dict.fromkeys(every))
        self._functions: dict[str, Any] = {}

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self.arguments):
            raise TypeError(f"{self.declaration}: called with {len(values)} arguments")
        sizes: dict[str, int] = {"": 0}
        numbers: list[Any] = []
        kind = ""
        for argument, value in zip(self.arguments, values, strict=True):
            if argument.kinds is None:
                numbers.append(value)
                continue
            code = argument.check(self, value, sizes)
            if len(argument.kinds) > 1:
                kind += f"_{code}"
            numbers.append(value.ctypes.data)
        chosen = f"{kind}_{level()}"
        function = self._functions.get(chosen) or self._open(chosen)
        result = function(*numbers, *(sizes[name] for name in self.sizes))
        if self.allocates and result:
            raise MemoryError(self.name)
        return None if self.allocates else result

    def _open(self, chosen: str) -> Any:
        function = getattr(library(), self.name + chosen)
        function.restype = self.result
        function.argtypes = [
            _SCALARS[argument.scalar] if argument.kinds is None else ctypes.c_void_p
            for argument in self.arguments
        ] + [ctypes.c_int64] * len(self.sizes)
        self._functions[chosen] = function
        return function


class _Argument:
    """Argument of a declaration: an array of one of ``kinds``, or a scalar if they are None."""

    def __init__(self, written: str, name: str, kinds: str, sizes: str):
        self.name, self.written, self.scalar = name, bool(written), kinds
        self.kinds = None if kinds in _SCALARS else kinds.split("|")
        # Dimensions of the array: a name plus a number, ("n", 1), or a fixed size, ("", 4).
        self.sizes: list[tuple[str, int]] = []
        for size in filter(None, sizes.split(", ")):
            match = _SIZE.match(size)
            assert match is not None, size
            self.sizes.append((match[1], int(match[2] or 0)))

    def check(self, kernel: Kernel, value: Any, sizes: dict[str, int]) -> str:
        """Check an array against the declaration; return its type name.

        ``sizes``: lengths of the named dimensions so far, to which new names are added.
        """
        assert self.kinds is not None
        if not isinstance(value, np.ndarray) or _CODES.get(value.dtype) not in self.kinds:
            kind = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(f"{kernel.declaration}: {self.name} is {kind}")
        flags = value.flags
        if not flags.c_contiguous or (self.written and not flags.writeable):
            state = "not contiguous" if flags.writeable else "read-only or not contiguous"
            raise ValueError(f"{kernel.declaration}: {self.name} is {state}")
        if value.ndim != len(self.sizes):
            raise ValueError(f"{kernel.declaration}: {self.name} has {value.ndim} dimensions")
        for length, (name, more) in zip(value.shape, self.sizes, strict=True):
            if sizes.setdefault(name, length - more) != length - more or length < more:
                known = {dimension: size for dimension, size in sizes.items() if dimension}
                raise ValueError(
                    f"{kernel.declaration}: {self.name} has shape {value.shape}, with {known}"
                )
        return _CODES[value.dtype]


def kernel(declaration: str) -> Kernel:
    """Declare a function of the library; see the head of this module."""
    return Kernel(declaration)


@cache
def library() -> ctypes.CDLL:
    """Open the compiled library. Raises DependencyError where it is missing or unusable."""
    spec = find_spec("miner.kernels._library")
    if spec is None or spec.origin is None:
        raise DependencyError(
            f"{Path(__file__).parent}: the compiled library is missing; in a clone run: "
            "pip install -e . (it needs a C compiler, or brings one)"
        )
    try:
        opened = ctypes.CDLL(spec.origin)
        opened.miner_levels.restype = ctypes.c_char_p
    except (OSError, AttributeError) as error:
        raise DependencyError(
            f"{spec.origin}: cannot be used here ({error}); it was built for another system: run "
            "pip install --force-reinstall --no-binary bitext-miner bitext-miner"
        ) from None
    return opened


def levels() -> list[str]:
    """List the levels of instructions that this processor has, the fastest first."""
    names: str = library().miner_levels().decode()
    return names.split(",")


@cache
def level() -> str:
    """Return the instruction level in use; MINER_CPU forces one. Raises DependencyError."""
    known = levels()
    wanted = os.environ.get("MINER_CPU") or known[0]
    if wanted not in known:
        raise DependencyError(
            f"MINER_CPU={wanted}: this processor has no such level; it has {', '.join(known)}"
        )
    return wanted
