"""JSON that others may have damaged."""

import pytest

from miner.json_files import parsed


def test_deep_lists_are_bad_json() -> None:
    assert parsed(b'{"a": [1]}') == {"a": [1]}
    with pytest.raises(ValueError, match="nested too deep"):
        parsed("[" * 100_000)
