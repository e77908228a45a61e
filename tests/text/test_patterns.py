"""Patterns of file names."""

from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.text.patterns import matching


def test_patterns(tmp_path: Path) -> None:
    for name in ("b.zst", "a.zst", "[x].zst", "sub/c.zst", "d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "folder.zst").mkdir()

    def names(pattern: str) -> list[str]:
        return [str(Path(path).relative_to(tmp_path)) for path in matching(f"{tmp_path}/{pattern}")]

    assert names("*.zst") == ["[x].zst", "a.zst", "b.zst"]
    assert names("**/*.zst") == ["[x].zst", "a.zst", "b.zst", "sub/c.zst"]
    assert names("[x].zst") == ["[x].zst"]  # a file of this very name
    assert names("none.zst") == ["none.zst"]
    assert matching("-") == ["-"]
    with pytest.raises(CorpusError, match="no file has such a name"):
        matching(f"{tmp_path}/*.gz")
