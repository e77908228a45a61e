"""Machine code of a loop, by numba in a third less time: LLVM sees the loop and its helpers once.

numba optimises every function by itself, emits its code, and then does both again for each function
that it is part of. Here a function is only translated to LLVM's code, until all of a loop is there.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.types import unliteral


class Translated(JITCodeLibrary):
    """Functions in LLVM's code, neither optimised nor emitted before :meth:`emit`."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init |= library._reload_init
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def emit(self) -> None:
        """Optimise the functions and make machine code of them, once."""
        if self._compiled_object is not None:
            return
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_final_module()


@contextmanager
def _translating() -> Iterator[None]:
    """Have numba make :class:`Translated` libraries, and no collections of garbage meanwhile.

    numba allocates so many objects that looking for cycles takes a sixth of its time.
    """
    codegen, collecting = cpu_target.target_context.codegen(), gc.isenabled()
    usual = codegen._library_class
    gc.disable()
    codegen._library_class = Translated
    # It writes to the code of a function, of which there is none yet. Loops do without.
    codegen.set_env = lambda *_: None
    try:
        yield
    finally:
        del codegen.set_env
        codegen._library_class = usual
        if collecting:
            gc.enable()


def machine_code(dispatcher: Any, types: tuple[Any, ...]) -> bytes:
    """Return a line with the names of the function and of its result's type, and its object file.

    ``dispatcher`` is made by ``numba.njit``, ``types`` are numba's types of the arguments.
    """
    with global_compiler_lock, _translating():  # other threads may use numba for their own
        dispatcher.compile(types)
        made = dispatcher.overloads[types]
        if isinstance(made.library, Translated):  # else numba has compiled it for itself
            made.library.emit()
    about = f"{made.fndesc.llvm_func_name} {unliteral(made.signature.return_type)}\n"
    return about.encode() + made.library._get_compiled_object()
