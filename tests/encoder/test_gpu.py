"""miner.encoder.gpu: torch pools as the kernel does. torch's CPU device stands in for a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from miner import device
from miner.encoder import gpu
from miner.encoder.encoder import Encoder
from miner.kernels.pool import mean_pool
from miner.ragged import offsets_of


def on_torch(
    table: np.ndarray, ids: np.ndarray, offsets: np.ndarray, dtype: type = np.float32
) -> np.ndarray:
    out = np.full((len(offsets) - 1, table.shape[1]), np.nan, dtype=dtype)
    gpu.pool(table, "cpu")(ids, offsets, out)
    return out


@pytest.mark.parametrize("d", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_torch_pools_as_the_kernel_does(d: int, n: int) -> None:
    pytest.importorskip("torch")
    generator = np.random.default_rng(d + n)
    table = generator.normal(size=(30, d)).astype(np.float32)
    table[3] = 0
    offsets = offsets_of(generator.integers(0, 12, n))
    ids = generator.integers(len(table), size=offsets[-1]).astype(np.int32)
    if n:
        offsets = np.append(offsets, offsets[-1])  # an empty sentence at the end
    expected = np.empty((len(offsets) - 1, d), dtype=np.float32)
    mean_pool(table, np.ones(len(table), np.float32), ids, offsets, expected)
    found = on_torch(table, ids, offsets)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(found.any(axis=1), expected.any(axis=1))
    halves = on_torch(table, ids, offsets, np.float16)
    np.testing.assert_array_equal(halves, found.astype(np.float16))
    # The vector of a sentence does not depend on the batch.
    for row in range(len(offsets) - 1):
        own = np.array([0, offsets[row + 1] - offsets[row]])
        alone = on_torch(table, ids[offsets[row] : offsets[row + 1]], own)
        np.testing.assert_array_equal(alone[0], found[row])


def test_an_encoder_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Path, german: list[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(device, "torch_gpus", lambda: 1)
    pool = gpu.pool
    monkeypatch.setattr(gpu, "pool", lambda table, device: pool(table, "cpu"))
    encoder = Encoder.load(tiny_model, threads=2, device="auto")
    assert encoder.device == "cuda"
    expected = Encoder.load(tiny_model, threads=2).encode([*german, ""])
    np.testing.assert_allclose(encoder.encode([*german, ""]), expected, atol=1e-5)
    vectors = np.concatenate(list(encoder.stream([german, [""]], np.float16)))
    np.testing.assert_allclose(vectors, expected, atol=1e-3)
