"""Every test of the kernels runs once for each level of instructions that this processor has."""

from collections.abc import Iterator

import pytest

from miner.kernels import library

# Files about loops of numba, which know no levels.
OF_NUMBA = ("test_cache",)


@pytest.fixture(scope="module", autouse=True, params=library.levels())
def instructions(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.path.stem in OF_NUMBA and request.param != library.levels()[0]:
        pytest.skip("a loop of numba, which knows no levels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "level", lambda: request.param)
        yield request.param
