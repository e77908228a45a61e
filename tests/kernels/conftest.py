"""Fixture that runs each kernel test once per instruction level of this processor."""

from collections.abc import Iterator

import pytest

from miner.kernels import library


@pytest.fixture(scope="module", autouse=True, params=library.levels())
def instructions(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "level", lambda: request.param)
        yield request.param
