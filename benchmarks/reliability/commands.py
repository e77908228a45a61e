"""The commands under test: small inputs, arguments, and the outputs that must always be equal."""

import hashlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import miner
from benchmarks.report import PROGRAM

DEMO = Path(miner.__file__).parent / "demo"
# Time limit of an undisturbed run in seconds.
LIMIT = 300
# Stand-in for an encoder's library: the model that ships.
LIBRARY = """
from miner.encoder.encoder import Encoder

class SentenceTransformer:
    max_seq_length = default_prompt_name = None
    prompts = {}

    def __init__(self, place, **settings):
        self.own = Encoder.load("default")

    def encode(self, sentences, **settings):
        return self.own.encode(sentences)
"""


@dataclass(frozen=True)
class Command:
    """Command line, run in a separate directory beside the directory ``in`` of inputs.

    outputs: files or directories that an undisturbed run leaves. needs: commands of
    :data:`COMMANDS` whose outputs must exist. checkpoint: directory from which a repeated command
    continues. A refused run may leave it; a successful one removes it, or keeps it where ``--work``
    names it.
    """

    name: str
    line: str
    outputs: tuple[str, ...]
    needs: tuple[str, ...] = ()
    checkpoint: str | None = None

    @property
    def arguments(self) -> list[str]:
        return self.line.split()


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "train",
            "train --bitext ../in/bitext.tsv --pieces 500 --dimension 32 --batch 64 --epochs 3"
            " --heldout 60 --no-verifier -o model",
            ("model",),
            checkpoint=".model.training",
        ),
        Command("index", "index ../in/demo.de -o index", ("index",), checkpoint="index.work"),
        Command("index-en", "index ../in/demo.en -o index-en", ("index-en",)),
        Command(
            "search",
            "search index index-en --work work --no-estimate -o pairs.tsv",
            ("pairs.tsv",),
            ("index", "index-en"),
            checkpoint="work",
        ),
        Command(
            "mine",
            "mine ../in/demo.de ../in/demo.en --no-estimate -o pairs.tsv",
            ("pairs.tsv",),
            checkpoint="pairs.tsv.work",
        ),
        Command(
            "parts",
            "mine ../in/demo.de ../in/demo.en --work work --backend processes --workers 2"
            " --shard-lines 200 --no-estimate -o pairs.tsv",
            ("pairs.tsv",),
            checkpoint="work",
        ),
        Command(
            "filter",
            "filter ../in/bitext.tsv --source-lang de --target-lang en --work state"
            " -o clean.tsv --rejected bad.tsv",
            ("clean.tsv", "bad.tsv"),
            checkpoint="state",
        ),
        Command(
            "encode",
            "encode ../in/demo.de -o vectors.npy",
            ("vectors.npy",),
            checkpoint="vectors.npy.work",
        ),
        Command(
            "hybrid",
            "search index index-en --engine hybrid --work work --no-estimate -o pairs.tsv",
            ("pairs.tsv",),
            ("index", "index-en"),
            checkpoint="work",
        ),
        Command(
            "report",
            "mine ../in/demo.de ../in/demo.en --report report.html -o pairs.tsv",
            ("pairs.tsv", "report.html"),
            checkpoint="pairs.tsv.work",
        ),
        Command(
            "export",
            "export model --overwrite -o exported",
            ("exported",),
            ("train",),
        ),
        Command(
            "distill",
            "distill --teacher model --text ../in/demo.de --pieces 300 --dimension 16 --batch 64"
            " --epochs 2 --heldout 60 -o student",
            ("student",),
            ("train",),
            checkpoint=".student.training",
        ),
        Command(
            "fit",
            "fit --model hf:../in/encoder --bitext ../in/large.tsv --source-lang de"
            " --target-lang en --pieces 500 -o fitted",
            ("fitted",),
        ),
    )
}
# Commands that are disturbed; the others only prepare inputs.
DISTURBED = tuple(name for name in COMMANDS if name != "index-en")


@dataclass(frozen=True)
class Done:
    """End of a run. ``code`` is negative if a signal killed it."""

    code: int
    err: str
    seconds: float

    @property
    def refused(self) -> bool:
        """True for exit code 1 with exactly one line of error, and no traceback."""
        errors = [line for line in self.err.splitlines() if line.startswith("miner: error: ")]
        return self.code == 1 and len(errors) == 1 and "Traceback" not in self.err


def write_inputs(root: Path) -> None:
    """Write ``root/in``: demo text as corpora of 400 lines and as bitext of 600 rows and of 6,000.

    Beside them are an encoder of another library, and a stand-in for that library.
    """
    place = root / "in"
    place.mkdir(parents=True)
    sides = []
    for language in ("de", "en"):
        lines = (DEMO / f"demo.{language}").read_text(encoding="utf-8").splitlines()[:400]
        text = "".join(f"{line}\n" for line in lines)
        (place / f"demo.{language}").write_text(text, encoding="utf-8")
        sides.append(lines)
    rows = [f"{source}\t{target}" for source, target in zip(*sides, strict=False)]
    rows += [f"{source} ({number})\t{target} ({number})" for number, (source, target) in
             enumerate(zip(*sides, strict=False))][:200]  # fmt: skip
    (place / "bitext.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    cells = [row.split("\t") for row in rows]
    with open(place / "large.tsv", "w", encoding="utf-8") as file:
        for number in range(6000):
            (a, b), (c, d) = cells[number % 600], cells[(7 * number + number // 600 + 1) % 600]
            file.write(f"{a} {c}\t{b} {d}\n")
    for name in ("encoder", "lib"):
        (place / name).mkdir()
    (place / "encoder" / "modules.json").write_text("[]", encoding="utf-8")
    (place / "lib" / "sentence_transformers.py").write_text(LIBRARY, encoding="utf-8")


def start(command: Command, place: Path, umask: int = -1) -> subprocess.Popen[str]:
    """Start a command in ``place``, with its messages in a pipe; -1 keeps this process's umask."""
    return subprocess.Popen(
        [*PROGRAM, *command.arguments],
        cwd=place,
        umask=umask,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def environment() -> dict[str, str]:
    """Return the environment of a command, with the libraries beside its directory."""
    own = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, ("../in/lib", own)))}


def run(command: Command, place: Path, limit: float = LIMIT, umask: int = -1) -> Done:
    """Run a command to its end in ``place``; kill it after ``limit`` seconds."""
    begun = time.monotonic()
    process = start(command, place, umask)
    try:
        _, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        _, err = process.communicate()
    return Done(process.returncode, err, time.monotonic() - begun)


def run_whole(command: Command, place: Path) -> Done:
    """Run a command undisturbed. Raises RuntimeError if it fails."""
    done = run(command, place)
    if done.code:
        raise RuntimeError(f"{command.name} failed undisturbed: {done.err}")
    return done


def prepare(command: Command, place: Path) -> None:
    """Make ``place`` with the outputs that the command needs. Raises RuntimeError."""
    place.mkdir(parents=True)
    for name in command.needs:
        run_whole(COMMANDS[name], place)


def digest(place: Path, outputs: Sequence[str]) -> str:
    """Return the SHA-256 over names and bytes of the outputs, present or missing.

    ``place`` is replaced in the content, because a student names its teacher by path.
    """
    hash_ = hashlib.sha256()
    own = os.fsencode(place.absolute())
    for output in outputs:
        path = place / output
        if not path.exists():
            hash_.update(f"{output} is missing\0".encode())
            continue
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file():
                content = file.read_bytes().replace(own, b"PLACE")
                hash_.update(f"{file.relative_to(place)}\0{len(content)}\0".encode() + content)
    return hash_.hexdigest()


def entries(place: Path) -> set[str]:
    """Return all files and directories below ``place``."""
    return {str(path.relative_to(place)) for path in place.rglob("*")}
