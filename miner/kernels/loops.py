"""Compiled loops: compiled by numba once, then linked as machine code, without numba.

numba takes half a second to import and to make ready, so only a loop that is not in the cache
imports it. A loop is kept as an object file, which llvmlite links into the process. ctypes calls
its function by numba's convention: it returns a status, and takes a pointer to the result, one to
an exception, and the arguments, tuples and arrays flattened to numbers. Loops run without Python's
lock. Their arguments are numbers, arrays and tuples of these; a result is a number or None. The
convention is numba's own affair and may change, so setup.cfg names the last version tried.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.kernels.cache import PACKAGE, load, save
from miner.parallel import in_ranges, loop_threads

# Processors with AVX2, of 2013 (Intel) or 2015 (AMD) and later, by LLVM's names.
TARGET = "x86-64-v3"
FEATURES = (
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fxsr"),
    *("lzcnt", "mmx", "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2"),
    *("ssse3", "xsave"),
)
# Statuses of numba's functions that returned: a value, and None.
DONE = 0, -2
# Numbers that describe an array beside its shape and strides: the owner of its memory and its
# Python object, both unknown to a loop, its size, the size of an item, and its address.
ARRAY = 5
# Memory of the arrays that a loop makes, and of the list of numbers in numba's sort, by numba's
# layout: a count of references at first, and the address of the data at byte 24.
MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %whole = add i64 %size, 128
  %block = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %fill
fill:
  %start = ptrtoint ptr %block to i64
  %after = add i64 %start, 127
  %data = and i64 %after, -64
  store i64 1, ptr %block
  %place = getelementptr i8, ptr %block, i64 24
  store i64 %data, ptr %place
  br label %end
end:
  ret ptr %block
}
define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 0)
  ret ptr %block
}
define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
"""


def njit(lanes: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop, or a function that loops call; ``options`` go to ``numba.njit``.

    With ``lanes``, Python calls the loop without its first two arguments, and threads call it with
    ``lane, lanes`` for the items ``range(lane, count, lanes)``.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        loop = Loop(function, options)
        return _in_lanes(loop) if lanes else loop

    return decorate


def _in_lanes(loop: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(loop)
    def call(*arguments: Any) -> None:
        lanes = loop_threads()
        in_ranges(lambda lane, _: loop(lane, lanes, *arguments), lanes, 1)

    return call


class Loop:
    """Function that is compiled for the types of its arguments when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.py_func, self.options = function, options
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        # The cache knows the source of its own package only.
        own = Path(function.__code__.co_filename).parent == PACKAGE
        self.kept = own and function.__closure__ is None
        self.compiled = 0
        self._natives: dict[tuple[Any, ...], _Call] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if os.environ.get("NUMBA_DISABLE_JIT") == "1":
            return self.py_func(*arguments)
        kinds: list[Any] = []
        numbers: list[Any] = []
        for argument in arguments:
            _flatten(argument, kinds, numbers)
        key = tuple(kinds)
        return (self._natives.get(key) or self._prepare(key, arguments))(arguments, numbers)

    def _prepare(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> _Call:
        with _lock:
            if key not in self._natives:
                found = load(self.name, (key, target())) if self.kept else None
                if found is None:
                    found = self.compile(arguments)
                    if self.kept and target() == _numba_target():
                        save(self.name, (key, target()), found)
                try:
                    self._natives[key] = _Native(found, key)
                except RuntimeError:  # it calls helpers of numba
                    self._natives[key] = self._by_numba()
        return self._natives[key]

    def _by_numba(self) -> _Call:
        import numba

        message = f"{self.name} is not linked: numba compiles it in every process"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        loop = numba.njit(**self.options)(self.py_func)
        return lambda arguments, _: loop(*arguments)

    def compile(self, arguments: tuple[Any, ...]) -> bytes:
        """Return a line with the names of the function and of its result's type, and its code."""
        dispatcher = self.dispatcher
        from miner.kernels.machine_code import machine_code

        self.compiled += 1
        return machine_code(dispatcher, tuple(map(_type, arguments)))

    @cached_property
    def dispatcher(self) -> Any:
        import numba
        from numba import config
        from numba.core.registry import cpu_target

        settings: Any = config
        if "_toplevel_target_context" not in vars(cpu_target):
            settings.CPU_NAME, settings.CPU_FEATURES = target()
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **self.options}
        return numba.njit(**options)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """numba's type of a function that a loop calls."""
        from numba.core import types

        return types.Dispatcher(self.dispatcher)


class Instructions:
    """Function that loops call, written in LLVM's code: ``numba.extending.intrinsic``.

    ``plain`` computes the same in Python, for loops that are not compiled.
    """

    def __init__(self, typed: Callable[..., Any], plain: Callable[..., Any] | None = None):
        self.typed, self.plain = typed, plain

    def __call__(self, *arguments: Any) -> Any:
        if self.plain is None:
            raise TypeError("these instructions have to be compiled")
        return self.plain(*arguments)

    @cached_property
    def intrinsic(self) -> Any:
        from numba.extending import intrinsic

        return intrinsic(self.typed)

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        made, typing = self.intrinsic, cpu_target.typing_context
        typing.refresh()
        return typing.resolve_value_type(made)


# Call of a loop by its arguments, and the same as numbers.
_Call = Callable[[tuple[Any, ...], list[Any]], Any]
_lock, _count = threading.RLock(), itertools.count()


@cache
def target() -> tuple[str, str]:
    """Return the processor and features that loops are compiled for, by LLVM's names.

    They are `TARGET` where it fits, so that all machines of a cluster share a cache and a wheel
    can hold one, unless the user chose or numba has compiled already.
    """
    import llvmlite.binding

    if vars(sys.modules.get("numba.core.registry", object)).get("cpu_target") is not None:
        from numba.core.registry import cpu_target

        if "_toplevel_target_context" in vars(cpu_target):
            return _numba_target()
    host = llvmlite.binding.get_host_cpu_features()
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if name is None and features is None and all(host.get(one) for one in FEATURES):
        return TARGET, ",".join(f"+{one}" for one in FEATURES)
    return name or llvmlite.binding.get_host_cpu_name(), features or host.flatten()


def _numba_target() -> tuple[str, str]:
    from numba.core.registry import cpu_target

    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name, features


def _flatten(value: Any, kinds: list[Any], numbers: list[Any]) -> None:
    """Append the kind of an argument, which stands for its `_type`, and its numbers."""
    if isinstance(value, np.ndarray):
        kinds.append((value.dtype.str, value.ndim, _layout(value)))
        numbers += 0, 0, value.size, value.itemsize, value.ctypes.data
        numbers += value.shape
        numbers += value.strides
    elif isinstance(value, tuple):
        kinds.append(len(value))
        for one in value:
            _flatten(one, kinds, numbers)
    elif isinstance(value, np.generic):
        kinds.append(value.dtype.name)
        numbers.append(value.item())
    elif type(value) in _SCALARS:
        kinds.append(_SCALARS[type(value)])
        numbers.append(value)
    else:
        raise TypeError(f"a loop takes numbers, arrays and tuples, not {type(value).__name__}")


_SCALARS = {bool: "bool", int: "int64", float: "float64"}


def _layout(array: np.ndarray) -> str:
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def _type(value: Any) -> Any:
    """Return numba's type of an argument; the same for arrays that cannot be written."""
    import numba

    if isinstance(value, tuple):
        return numba.types.Tuple(tuple(map(_type, value)))
    if isinstance(value, np.ndarray):
        kind: Any = numba.types.Array
        return kind(numba.from_dtype(value.dtype), value.ndim, _layout(value))
    return numba.typeof(value)


def _scalar(name: str) -> Any:
    """Return the ctypes type of a number, or of no result."""
    names = {"float64": "double", "float32": "float", "none": "void_p"}
    return getattr(ctypes, f"c_{names.get(name, name)}")


class _Native:
    """Machine code of a loop for one kind of arguments."""

    def __init__(self, found: bytes, key: tuple[Any, ...]):
        about, _, image = found.partition(b"\n")
        name, _, result = about.decode().partition(" ")
        self.result = _scalar(result)
        kinds: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for kind in key:
            if isinstance(kind, tuple):
                kinds += [ctypes.c_int64] * (ARRAY + 2 * kind[1])
            elif isinstance(kind, str):
                kinds.append(_scalar(kind))
        self.call = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(_link(image, name))

    def __call__(self, _: tuple[Any, ...], numbers: list[Any]) -> Any:
        result, exception = self.result(), ctypes.c_void_p()
        if self.call(ctypes.addressof(result), ctypes.addressof(exception), *numbers) not in DONE:
            raise RuntimeError("a loop failed")
        return result.value


@cache
def _linker() -> Any:
    """Return LLVM's linker of this process."""
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):  # newer versions do so by themselves
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    linker = llvm.create_lljit_compiler(machine, suppress_errors=True)
    linker._owned = True  # by the process, whose threads may run loops until its end
    llvm.JITLibraryBuilder().add_ir(MEMORY).add_current_process().link(linker, "memory").detach()
    return linker


def _link(image: bytes, name: str) -> int:
    """Return the address of a function of an object file."""
    import llvmlite.binding as llvm

    linker = _linker()
    library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    library.add_jit_library("memory").export_symbol(name)
    made = library.link(linker, f"loop {next(_count)}")
    address = made[name]
    made.detach()
    return address
