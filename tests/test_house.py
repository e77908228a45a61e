"""Rules of the repository: imports, speed of help texts, and their completeness."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from miner.cli import cli
from miner.cli.settings_options import HEADINGS
from miner.errors import ArtifactError

ROOT = Path(__file__).parent.parent
HEAVY = ("numpy", "torch", "faiss", "pandas", "h5py", "sentencepiece", "psutil")
# Modules of the engine whose functions import torch.
TORCH = (
    "miner.device",
    "miner.encoder.pretrained",
    "miner.cli.train",
)
# Commands that import the trainer in their bodies.
TRAINING = (
    "miner.cli.distill",
    "miner.cli.fit",
    "miner.cli.train",
    "miner.cli.train_verifier",
    "miner.cli.training_text",
)
# Light modules of train that define options, and the modules that may import them at the top.
SETTINGS = (
    "miner_train.config",
    "miner_train.recipes",
)
WITH_SETTINGS = (
    "miner.cli.distill",
    "miner.cli.train",
)

# Folders in the order of the data's path. A module imports from its folder and those before it;
# "base" are the modules beside the folders.
ORDER = (
    "base",
    "text",
    "tasks",
    "kernels",
    "encoder",
    "index",
    "knn",
    "scoring",
    "precision",
    "mining",
    "alignment",
    "documents",
    "filters",
    "cleaning",
    "review",
    "datasets",
    "evaluation",
    "reports",
    "integrations",
    "cli",
)
# Folders before this one do not import torch, faiss or h5py.
HEAVY_FOLDER = "encoder"
# Folders that training may import: all before this one, and the metrics of held-out mining.
MINING_FOLDER = "mining"
FOR_TRAINING = ("miner.evaluation.metrics",)
# Modules of the papers' experiments; only their commands and the benchmarks import them.
PAPERS = ("miner_train.papers.", "miner_train.papers.")
# Modules that import torch at the top: recurrent encoders, and a transformer.
IN_TORCH = (
    "miner.encoder.recurrent",
    "miner_train.papers.generator_network",
)


def modules(package: str) -> dict[str, Path]:
    """Return the dotted names of a package's modules."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MINER, TRAIN, BENCHMARKS = (modules(name) for name in ("miner", "miner_train", "benchmarks"))
ROOMS = {name: path for name, path in MINER.items() if name != "miner"}


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file; tests must not change it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """Return all modules imported in ``tree``, in function bodies and by import_module, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else str(node.module)
        elif isinstance(node, ast.Call) and called(node) == "import_module":
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))


def called(node: ast.Call) -> str | None:
    """Return the name of the called function, without module or object."""
    return getattr(node.func, "attr", getattr(node.func, "id", None))


@cache
def imported(path: Path) -> frozenset[str]:
    return frozenset(imports(parsed(path), MINER | TRAIN | BENCHMARKS))


def place(module: str) -> int:
    """Return the position of a module in `ORDER`."""
    folder = module.split(".")[1]
    return ORDER.index(folder) if folder in ORDER else ORDER.index("base")


def test_there_is_something_to_check() -> None:
    assert {"miner.cli.mine", "miner.kernels.exact", "miner.knn.knn_search"} <= set(MINER)
    assert "miner_train.loop" in TRAIN
    assert {"miner.errors", "h5py"} <= imported(MINER["miner.index.columns"])
    assert "miner.index.faiss" in imported(MINER["miner.index.index"])
    assert "miner.kernels.exact" in imported(MINER["miner.knn.refine"])


def test_every_folder_has_its_place() -> None:
    folders = {path.parent.name for path in MINER.values() if path.name == "__init__.py"}
    assert folders - {"miner"} == set(ORDER) - {"base"}


@pytest.mark.parametrize("folder", ORDER)
def test_imports_point_one_way(folder: str) -> None:
    for name in (name for name in ROOMS if ORDER[place(name)] == folder):
        for other in imported(ROOMS[name]):
            if other == "miner":
                assert folder == "cli", f"{name} imports the whole package"
            elif other.startswith("miner."):
                assert place(other) <= place(name), f"{name} imports {other}"


def test_no_imports_in_circles() -> None:
    every = ROOMS | TRAIN | BENCHMARKS
    graph = {
        name: {other for other in imported(path) if other in every} for name, path in every.items()
    }
    while leaves := [name for name, others in graph.items() if not others]:
        for leaf in leaves:
            del graph[leaf]
        graph = {name: others - set(leaves) for name, others in graph.items()}
    assert not graph, "these import each other, or one that does"


def test_what_is_in_torch_is_imported_where_it_is_needed() -> None:
    """Only a function of a module that may be heavy imports torch or a module that needs it."""
    for name, path in ROOMS.items():
        tree = parsed(path)
        at_the_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        early = {other for node in at_the_top for other in imports(node, MINER)}
        assert not early & set(IN_TORCH), name
        light = place(name) < ORDER.index(HEAVY_FOLDER)
        assert not (light and imported(path) & set(IN_TORCH)), name


def test_only_one_module_imports_faiss() -> None:
    for name, path in (MINER | TRAIN).items():
        tops = {other.split(".")[0] for other in imported(path)}
        assert ("faiss" in tops) == (name == "miner.index.faiss"), name


def for_annotations(node: ast.stmt) -> bool:
    """Return True for ``if TYPE_CHECKING``, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def places(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the imports in a module's functions, and all imports except those for annotations."""
    body = [node for node in parsed(path).body if not for_annotations(node)]
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    members = [node for holder in (body, *(one.body for one in classes)) for node in holder]
    bodies = [node for node in members if isinstance(node, ast.FunctionDef)]
    known = MINER | TRAIN
    inside = (other for one in bodies for other in imports(one, known))
    return tuple(inside), tuple(other for node in body for other in imports(node, known))


def inside_and_everywhere(name: str, tops: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return sorted imports of some packages: in a module's functions, and in all of it."""
    inside, everywhere = (
        sorted(other for other in found if other.split(".")[0] in tops)
        for found in places(MINER[name])
    )
    return inside, everywhere


def test_only_the_commands_that_train_import_train() -> None:
    for name in MINER:
        inside, everywhere = inside_and_everywhere(name, ("miner_train",))
        if name in WITH_SETTINGS:
            everywhere = [other for other in everywhere if other not in SETTINGS]
        assert inside == everywhere, f"{name}: not at the head of the file"
        assert not everywhere or name in TRAINING, name


def test_torch_is_imported_only_where_it_is_used() -> None:
    for name in MINER:
        inside, everywhere = inside_and_everywhere(name, ("torch",))
        if name not in IN_TORCH:
            assert inside == everywhere, f"{name}: not at the head of the file"
            assert not everywhere or name in TORCH, name


def test_train_imports_the_early_folders_of_the_miner() -> None:
    for name, path in TRAIN.items():
        for other in imported(path):
            assert other != "miner", name
            if other.startswith("miner.") and other not in FOR_TRAINING:
                early = place(other) < ORDER.index(MINING_FOLDER)
                assert early or name.startswith(PAPERS), f"{name} imports {other}"


def test_the_engine_does_not_import_the_papers() -> None:
    for name, path in (MINER | TRAIN).items():
        if not name.startswith(PAPERS):
            assert not any(other.startswith(PAPERS) for other in imported(path)), name


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree and all statements in it, without their expressions."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from statements(child)


RIDDLES = re.compile(r"(What|Whether|Those|That which|How far|Such)\b")


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    for path in sources():
        for node in statements(parsed(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = (ast.get_docstring(node) or "").lstrip()
                assert not RIDDLES.match(text), f"{path}: {text.splitlines()[0]}"


def sources(*folders: str) -> list[Path]:
    """Return the Python files of these folders, by default of the whole project."""
    every = folders or ("miner", "train", "benchmarks", "tests")
    return [path for folder in every for path in sorted((ROOT / folder).rglob("*.py"))]


def commands(command: click.Command, path: str = "miner") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, name
            yield from commands(child, f"{path} {name}")


COMMANDS = dict(commands(cli))


def examples(command: click.Command) -> list[str]:
    """Return the commands in a help text's examples, split as by a shell."""
    _, _, block = (command.epilog or "").partition("Examples:\n")
    lines = block.split("\n\n")[0].splitlines()
    return [
        re.split(r"[|>(]", piece)[0].strip()
        for line in lines
        for piece in re.findall(r"\bminer [^|]*", line)
    ]


def test_help_is_light() -> None:
    """The help of the program and of each command loads no heavy library."""
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


def test_every_command_has_options_of_its_run() -> None:
    for path, command in COMMANDS.items():
        names = {name for option in command.params for name in option.opts}
        assert isinstance(command, click.Group) or {"--config", "--save-config", "-q"} <= names, (
            path
        )


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_is_explained(path: str) -> None:
    assert len(COMMANDS[path].get_short_help_str(200)) > 20
    for parameter in COMMANDS[path].params:
        if isinstance(parameter, click.Option):
            assert parameter.help and len(parameter.help) > 10, f"{path} {parameter.opts}"
            assert not parameter.hidden, f"{path} {parameter.opts}"
        else:
            text = COMMANDS[path].help or ""
            names = parameter.make_metavar(click.Context(COMMANDS[path])).strip("[].")
            for name in names.split(" | "):
                assert all(word in text for word in name.split()), f"{path} {name}"


def test_options_under_a_heading_are_options_of_a_command() -> None:
    every = [word for command in COMMANDS.values() for one in command.params for word in one.opts]
    names = [f"--{name}" for names in HEADINGS.values() for name in names.split()]
    assert not set(names) - set(every)
    assert len(names) == len(set(names))


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
        name = arguments.pop(0)
        command = command.get_command(click.Context(command), name) or click.Command(name)
    assert program == "miner"
    # Options that answer and exit, and configurations that do not exist here.
    with contextlib.suppress(click.exceptions.Exit, ArtifactError):
        # Raises UsageError for unknown options. Help names of a command stay as they are.
        command.make_context(line, arguments, **cli.context_settings)


def test_an_example_that_is_wrong_would_be_found() -> None:
    with pytest.raises(click.UsageError):
        test_examples_have_options_that_exist("miner search a b --no-such-option")
    with pytest.raises(click.UsageError):
        test_examples_have_options_that_exist("miner search a b -k many")
