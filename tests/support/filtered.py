"""``miner filter`` with the small model, in a directory of its own, and a noisy text for it."""

from pathlib import Path

import pytest

from support.cleaning import filters, toml  # noqa: F401 (fixture)
from support.raw_lines import put


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(name: str, *tables: dict, **top) -> Path:
    Path(name).write_text(toml(tables, top), encoding="utf-8")
    return Path(name)


RULES = (
    {"name": "length", "of": "shorter", "minimum": 1},
    {"name": "quality", "minimum": 0.2},
    {"name": "duplicates", "of": "either"},
)


@pytest.fixture
def noisy(german: list[str], english: list[str]) -> Path:
    """Pairs, mismatched pairs, duplicates and an empty line, each with an id and a note."""
    pairs = list(zip(german, english, strict=True))
    pairs += zip(german[:30], english[7:37], strict=True)
    lines = [f"{i}\t{s}\t{t}\tnote {i}" for i, (s, t) in enumerate(pairs + pairs[:20])]
    return put(Path("noisy.tsv"), "".join(f"{line}\n" for line in [*lines, ""]).encode())


COLUMNS = ("--scol", 2, "--tcol", 3)


@pytest.fixture
def clean(miner, knowing_model: Path):
    """Run the command with the small model and the rules above; return its two outputs."""

    def run(*arguments: object, rules: tuple | None = RULES, **top) -> tuple[str, str]:
        more = ("--config", config("rules.toml", *rules, **top)) if rules is not None else ()
        code, out, err = miner(
            "filter", *arguments, *more, "--model", knowing_model, "--threads", 1
        )
        assert code == 0, err
        return out, err

    return run


def read(name: str) -> list[bytes]:
    lines = Path(name).read_bytes().split(b"\n")
    assert lines.pop() == b""
    return lines


def read_text(text: str) -> list[bytes]:
    return text.encode().split(b"\n")[:-1]
