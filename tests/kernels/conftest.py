"""Every test of the kernels runs once for each level of instructions that this processor has."""

from collections.abc import Iterator

import pytest

from miner.kernels import library


@pytest.fixture(scope="module", autouse=True, params=library.levels())
def instructions(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "level", lambda: request.param)
        yield request.param
