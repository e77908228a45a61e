"""Rules of the house: who may import whom, what help costs, and that help helps."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from miner.cli import cli

ROOT = Path(__file__).parent.parent
HEAVY = ("torch", "faiss", "numba", "pandas")
# The modules of the miner that have use for torch, in their functions.
TORCH = ("miner.encoder.gpu", "miner.cli.train", "miner.cli.train_classifier")
# The commands that train, or show what a training does, in their bodies.
TRAINING = ("miner.cli.train", "miner.cli.train_classifier", "miner.cli.negatives")

# A room imports rooms of lower floors, or its neighbours on the same one; never upwards.
FLOORS = (
    ("errors",),
    (
        "flat",
        "files",
        "records",
        "corpus",
        "rows",
        "text",
        "columns",
        "margin",
        "evaluate",
        "counts",
        "statistics",
        "machine",
        "parallel",
        "kernels",
    ),
    (
        "lexicon",
        "ngrams",
        "model",
        "gpu",
        "tokenizer",
        "recurrent",
        "encoder",
        "overlap",
        "classifier",
        "hdf5",
        "store",
        "vectors",
        "backend",
        "index",
    ),
    ("side", "engines", "checkpoint", "recall", "neighbors", "nearest"),
    ("verify", "quality", "reference"),
    ("pairs", "search", "threshold", "explain", "filters", "datasets"),
    ("tasks",),
    ("page", "report", "filter_charts", "filter_report"),
    ("cli",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Floors below this one are free of torch, faiss and h5py; those below the next, of `search`.
HEAVY_FLOOR, SEARCH_FLOOR = FLOOR["model"], FLOOR["search"]
# What is written in torch: the kernel of a search on a GPU, and recurrent encoders.
IN_TORCH = ("miner.kernels.fused_cuda", "miner.encoder.recurrent")


def modules(package: str) -> dict[str, Path]:
    """Dotted names of a package's modules."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MINER, TRAIN = modules("miner"), modules("train")
ROOMS = {name: path for name, path in MINER.items() if name != "miner"}


def imports(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """Every module imported anywhere below ``tree``, function bodies and import_module included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else str(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


def imported(path: Path) -> set[str]:
    return set(imports(ast.parse(path.read_text(encoding="utf-8")), MINER | TRAIN))


def room(module: str) -> str:
    return module.split(".")[1]


# --- imports ------------------------------------------------------------------------------------


def test_there_is_something_to_check() -> None:
    assert {"miner.cli.mine", "miner.kernels.exact", "miner.knn.knn_search"} <= set(MINER)
    assert "train.loop" in TRAIN
    assert {"miner.errors", "h5py"} <= imported(MINER["miner.index.store"])
    assert "miner.index.faiss" in imported(MINER["miner.index.index"])
    assert "miner.kernels.exact" in imported(MINER["miner.knn.knn_search"])


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_a_floor(name: str) -> None:
    assert room(name) in FLOOR, f"{name}: say in FLOORS where it belongs"


@pytest.mark.parametrize("name", ROOMS)
def test_imports_point_one_way(name: str) -> None:
    for other in imported(ROOMS[name]):
        if other == "miner":
            assert room(name) == "cli", f"{name} imports the whole package"
        elif other.startswith("miner."):
            assert FLOOR[room(other)] <= FLOOR[room(name)], f"{name} imports {other}"


def test_no_imports_in_circles() -> None:
    graph = {
        name: {other for other in imported(path) if other in ROOMS} for name, path in ROOMS.items()
    }
    while leaves := [name for name, others in graph.items() if not others]:
        for leaf in leaves:
            del graph[leaf]
        graph = {name: others - set(leaves) for name, others in graph.items()}
    assert not graph, "these import each other, or one that does"


@pytest.mark.parametrize("name", MINER)
def test_nobody_imports_the_command_line(name: str) -> None:
    if not name.startswith("miner.cli"):
        assert not any(other.startswith("miner.cli") for other in imported(MINER[name]))


@pytest.mark.parametrize("name", ROOMS)
def test_lower_floors_are_light(name: str) -> None:
    if FLOOR[room(name)] < HEAVY_FLOOR and name not in IN_TORCH:
        tops = {other.split(".")[0] for other in imported(ROOMS[name])}
        assert not tops & {"torch", "faiss", "h5py"}


@pytest.mark.parametrize("name", ROOMS)
def test_what_is_in_torch_is_imported_where_it_is_needed(name: str) -> None:
    """By a function of a module that may be heavy, so that nothing else loads torch."""
    tree = ast.parse(ROOMS[name].read_text(encoding="utf-8"))
    at_the_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    early = {other for node in at_the_top for other in imports(node, MINER)}
    assert not early & set(IN_TORCH)
    assert FLOOR[room(name)] >= HEAVY_FLOOR or not imported(ROOMS[name]) & set(IN_TORCH)


@pytest.mark.parametrize("name", MINER | TRAIN)
def test_only_the_backend_imports_faiss(name: str) -> None:
    tops = {other.split(".")[0] for other in imported((MINER | TRAIN)[name])}
    assert ("faiss" in tops) == (name == "miner.index.faiss")


def inside_and_everywhere(name: str, tops: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Imports of some packages in a module's functions, and in all of it; sorted."""

    def found(tree: ast.AST) -> list[str]:
        return [other for other in imports(tree, MINER | TRAIN) if other.split(".")[0] in tops]

    tree = ast.parse(MINER[name].read_text(encoding="utf-8"))
    bodies = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return sorted(other for body in bodies for other in found(body)), sorted(found(tree))


@pytest.mark.parametrize("name", MINER)
def test_only_the_commands_that_train_import_train(name: str) -> None:
    inside, everywhere = inside_and_everywhere(name, ("train",))
    assert inside == everywhere, "not at the head of the file"
    assert bool(everywhere) == (name in TRAINING)


@pytest.mark.parametrize("name", MINER)
def test_torch_is_imported_only_where_it_is_used(name: str) -> None:
    inside, everywhere = inside_and_everywhere(name, ("torch",))
    if name in IN_TORCH:
        return
    assert inside == everywhere, "not at the head of the file"
    assert bool(everywhere) == (name in TORCH)


@pytest.mark.parametrize("name", TRAIN)
def test_train_imports_the_lower_rooms_of_the_miner(name: str) -> None:
    for other in imported(TRAIN[name]):
        assert other != "miner"
        if other.startswith("miner."):
            assert FLOOR[room(other)] < SEARCH_FLOOR, f"{name} imports {other}"


# --- help ---------------------------------------------------------------------------------------


def commands(command: click.Command, path: str = "miner") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(child, f"{path} {name}")


COMMANDS = dict(commands(cli))
OPTIONS = [
    pytest.param(path, parameter, id=f"{path} {parameter.name}")
    for path, command in COMMANDS.items()
    for parameter in command.params
]


def examples(command: click.Command) -> list[str]:
    """The invocations of miner in a command's examples: what the shell would hand over."""
    _, _, block = (command.epilog or "").partition("Examples:\n")
    lines = block.split("\n\n")[0].splitlines()
    return [
        re.split(r"[|>(]", piece)[0].strip()
        for line in lines
        for piece in re.findall(r"\bminer [^|]*", line)
    ]


def test_help_is_light() -> None:
    """Of the whole program and of each command: nothing heavy is loaded to print it."""
    script = f"""
import sys
from miner.cli import main
for path in {[path.split()[1:] for path in COMMANDS]!r}:
    assert main([*path, "--help"]) == 0, path
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    assert not loaded, (path, loaded)
assert main(["--version"]) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: miner") == len(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_says_what_it_does(path: str) -> None:
    assert len(COMMANDS[path].get_short_help_str(200)) > 20


@pytest.mark.parametrize(("path", "parameter"), OPTIONS)
def test_every_option_is_explained(path: str, parameter: click.Parameter) -> None:
    if isinstance(parameter, click.Option):
        assert parameter.help and len(parameter.help) > 10, f"{path} {parameter.opts}"
        assert not parameter.hidden
    else:
        text = COMMANDS[path].help or ""
        assert parameter.make_metavar(click.Context(COMMANDS[path])).strip("[].") in text


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_examples_of_itself(path: str) -> None:
    found = examples(COMMANDS[path])
    assert any(line == path or line.startswith(f"{path} ") for line in found)


@pytest.mark.parametrize(
    "line", sorted({line for command in COMMANDS.values() for line in examples(command)})
)
def test_examples_have_options_that_exist(line: str) -> None:
    program, *arguments = shlex.split(line)
    command: click.Command = cli
    while isinstance(command, click.Group):
        command = command.commands[arguments.pop(0)]
    assert program == "miner"
    with contextlib.suppress(click.exceptions.Exit):  # an option that answers and ends
        command.make_context(line, arguments)  # raises a UsageError for what it does not know


def test_an_example_that_is_wrong_would_be_found() -> None:
    with pytest.raises(click.UsageError):
        test_examples_have_options_that_exist("miner search a b --no-such-option")
    with pytest.raises(click.UsageError):
        test_examples_have_options_that_exist("miner search a b -k many")
