"""Artifact directories: replaced as a whole, and only by the same kind."""

from pathlib import Path

import pytest
from support.files import entries

from miner.errors import ArtifactError, ResourceError
from miner.text.artifacts import atomic_directory


def write(place: Path, text: str) -> None:
    with atomic_directory(place, "marker") as directory:
        (directory / "marker").write_text(text)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Return an artifact in a new folder."""
    write(tmp_path / "a" / "b" / "made", "old")
    return tmp_path / "a" / "b" / "made"


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_nothing_else_is_replaced(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "directory":
        place.mkdir()
    precious = place / "thesis.tex" if kind == "directory" else place
    precious.write_text("years of work")
    with pytest.raises(ArtifactError, match="place: exists and is not one of ours"):
        write(place, "new")
    assert precious.read_text() == "years of work" and entries(tmp_path) == ["place"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
def test_an_interruption_leaves_the_older_one(made: Path, error: type[BaseException]) -> None:
    with (
        pytest.raises(ResourceError if error is OSError else error),
        atomic_directory(made, "marker") as directory,
    ):
        (directory / "marker").touch()
        raise error
    assert (made / "marker").read_text() == "old" and entries(made.parent) == ["made"]


def test_a_link_stays_a_link(made: Path) -> None:
    made.with_name("link").symlink_to(made.name)
    write(made.with_name("link"), "new")
    assert made.with_name("link").is_symlink() and (made / "marker").read_text() == "new"
    assert entries(made.parent) == ["link", "made"]


@pytest.mark.parametrize("inside", [".", "deeper"])
def test_the_working_directory_is_never_replaced(
    made: Path, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made / "deeper").mkdir()
    monkeypatch.chdir(made / inside)
    with pytest.raises(ArtifactError, match="outside"):
        write(made if inside == "deeper" else Path(), "new")
    assert (made / "marker").read_text() == "old"
