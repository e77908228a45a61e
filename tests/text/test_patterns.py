"""Patterns of file names."""

from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.text.patterns import files_below, matching


def test_patterns(tmp_path: Path) -> None:
    for name in ("b.zst", "a.zst", "[x].zst", "sub/c.zst", "d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.zst").mkdir()

    def names(pattern: str) -> list[str]:
        return [str(Path(path).relative_to(tmp_path)) for path in matching(f"{tmp_path}/{pattern}")]

    assert names("*.zst") == ["[x].zst", "a.zst", "b.zst"]
    assert names("**/*.zst") == ["[x].zst", "a.zst", "b.zst", "sub/c.zst"]
    assert names("[x].zst") == ["[x].zst"]  # a file with exactly this name
    assert names("none.zst") == ["none.zst"]
    assert matching("-") == ["-"]
    with pytest.raises(CorpusError, match="no file has such a name"):
        matching(f"{tmp_path}/*.gz")


def test_folders_behind_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub/a.de").touch()
    inside.mkdir()
    (inside / "b.de").touch()
    (inside / "link").symlink_to(outside)
    (inside / "twice").symlink_to(outside / "sub")
    (outside / "sub/loop").symlink_to(inside)
    (inside / "gone").symlink_to(tmp_path / "none")
    found = [str(path.relative_to(inside)) for path in files_below(inside)]
    assert found == ["b.de", "twice/a.de"] or found == ["b.de", "link/sub/a.de"]
