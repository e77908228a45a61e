"""Declarations of compiled functions: arguments that do not fit are errors, never crashes."""

import gc
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from miner.errors import DependencyError
from miner.kernels import library
from miner.kernels.library import Kernel, kernel

mean_rows = kernel(
    "mean_rows(table: i1|u1|f4[V, w], scales: f4[V], ids: i4[t], offsets: i8[n+1], &out: f4[n, d])"
)
# The fixture of this folder replaces the one for all tests.
TRUE_LEVEL = library.level
TABLE, SCALES = np.ones((3, 2), np.float32), np.ones(3, np.float32)
IDS, OFFSETS, OUT = np.zeros(4, np.int32), np.array([0, 1, 4]), np.empty((2, 2), np.float32)


def read_only() -> np.ndarray:
    out = OUT.copy()
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("place", "value", "error", "words"),
    [
        (0, TABLE.astype(np.float64), TypeError, "table is float64"),
        (0, TABLE.tolist(), TypeError, "table is list"),
        (0, np.ones((2, 3), np.float32).T, ValueError, "table is not contiguous"),
        (0, TABLE[0], ValueError, "table has 1 dimensions"),
        (1, SCALES[:2], ValueError, "scales has shape"),
        (2, IDS.astype(np.int64), TypeError, "ids is int64"),
        (2, np.zeros(8, np.int32)[::2], ValueError, "ids is not contiguous"),
        (3, np.empty(0, np.int64), ValueError, "offsets has shape"),
        (4, OUT[:1], ValueError, "out has shape"),
        (4, read_only(), ValueError, "out is read-only"),
    ],
)
def test_arguments_that_do_not_fit(
    place: int, value: object, error: type[Exception], words: str
) -> None:
    arguments: list[object] = [TABLE, SCALES, IDS, OFFSETS, OUT]
    mean_rows(*arguments)
    arguments[place] = value
    with pytest.raises(error, match=f"mean_rows.*{words}"):
        mean_rows(*arguments)
    with pytest.raises(TypeError, match="called with 4 arguments"):
        mean_rows(*arguments[:4])


def test_arrays_that_are_only_read_may_be_read_only() -> None:
    table = TABLE.copy()
    table.flags.writeable = False
    mean_rows(table, SCALES, IDS, OFFSETS, OUT)
    np.testing.assert_array_equal(OUT, np.ones((2, 2)))


def test_declared() -> None:
    made = kernel("f(a: i1|f4[V, d], n: int, &b: u2[V+1], x: float) -> int")
    assert made.sizes == ["V", "d"] and made.result is not None
    assert [one.written for one in made.arguments] == [False, False, True, False]
    assert made.arguments[2].sizes == [("V", 1)] and made.arguments[1].kinds is None


def test_a_level_that_the_processor_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINER_CPU", "sparc")
    with pytest.raises(DependencyError, match="MINER_CPU=sparc: .* it has .*generic"):
        TRUE_LEVEL.__wrapped__()
    monkeypatch.setenv("MINER_CPU", "generic")
    assert TRUE_LEVEL.__wrapped__() == "generic"


def test_a_library_that_is_missing_or_of_another_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    with pytest.raises(DependencyError, match="compiled library is missing"):
        library.library.__wrapped__()
    (tmp_path / "it.so").write_bytes(b"\x7fELF")

    class Spec:
        origin = str(tmp_path / "it.so")

    monkeypatch.setattr(library, "find_spec", lambda name: Spec)
    with pytest.raises(DependencyError, match="it.so: cannot be used here") as error:
        library.library.__wrapped__()
    assert "\n" not in str(error.value)


def parameters_in_c() -> dict[str, list[tuple[str, str]]]:
    """Return kind and name of each parameter of the exported functions; pointers are ``*``."""
    found = {}
    for path in Path(library.__file__).parent.glob("*.c"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text().replace("\\\n", ""), flags=re.DOTALL)
        for name, meaning in re.findall(r"#define (\w+) +(.*)", text):
            text = re.sub(rf"\b{name}\b", lambda _, meaning=meaning: meaning, text)
        for name, listed in re.findall(r"EXPORT\((\w+?)(?:_?##[^)]*)?\)\(([^)]*)\)", text):
            pairs = (re.fullmatch(r"\s*(.*?)(\w+)\s*", one) for one in listed.split(","))
            found[name] = [
                ("*" if "*" in pair[1] else pair[1].split()[-1], pair[2]) for pair in pairs if pair
            ]
    return found


def test_declarations_are_those_of_c() -> None:
    """Parameters agree with C in number, kind and order, and sizes in their names."""
    folder = Path(library.__file__).parent
    for path in folder.glob("[a-z]*.py"):
        importlib.import_module(f"miner.kernels.{path.stem}")
    gc.unfreeze()  # the list includes what was created before the tests
    known, in_c = [one for one in gc.get_objects() if isinstance(one, Kernel)], parameters_in_c()
    assert {one.name for one in known} >= {"score_beads", "mean_pool", "rescore"} <= set(in_c)
    names = {"int": "int64_t", "float": "double"}
    for one in known:
        kinds = [names[arg.scalar] if arg.kinds is None else "*" for arg in one.arguments]
        kinds += ["int64_t"] * len(one.sizes)
        assert kinds == [kind for kind, _ in in_c[one.name]], one.declaration
        sizes = [name for _, name in in_c[one.name]][len(one.arguments) :]
        both = [name for name in sizes if name in one.sizes]
        assert both == [name for name in one.sizes if name in sizes], (one.declaration, sizes)
