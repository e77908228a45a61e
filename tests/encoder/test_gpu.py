"""miner.encoder.gpu: torch pools as the kernel does, with torch's CPU device in place of a GPU."""

from collections.abc import Callable
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
    generator = np.random.default_rng(d + n)
    table = generator.normal(size=(30, d)).astype(np.float32)
    table[3] = 0
    offsets = offsets_of(generator.integers(0, 12, n))
    ids = generator.integers(len(table), size=offsets[-1]).astype(np.int32)
    if n:
        offsets = np.append(offsets, offsets[-1])  # the last sentence is empty
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


def test_an_encoder_on_a_gpu(monkeypatch, tiny_model, german):
    monkeypatch.setattr(device, "torch_gpus", lambda: 1)
    pool = gpu.pool
    monkeypatch.setattr(gpu, "pool", lambda table, device: pool(table, "cpu"))
    encoder = Encoder.load(tiny_model, threads=2, device="auto")
    assert encoder.device == "cuda"
    expected = Encoder.load(tiny_model, threads=2).encode([*german, ""])
    np.testing.assert_allclose(encoder.encode([*german, ""]), expected, atol=1e-5)
    vectors = np.concatenate(list(encoder.stream([german, [""]], np.float16)))
    np.testing.assert_allclose(vectors, expected, atol=1e-3)


@pytest.mark.parametrize("fault", ["difference", "not a number", "exception"])
def test_a_wrong_gpu_does_not_encode(fault, monkeypatch, tiny_model, german):
    monkeypatch.setattr(device, "torch_gpus", lambda: 1)
    calls: list[None] = []

    def pool(table: np.ndarray, device: str) -> Callable[..., None]:
        def run(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
            calls.append(None)
            if fault == "exception":
                raise RuntimeError("CUDA error:\nno kernel image is available")
            mean_pool(table, np.ones(len(table), np.float32), ids, offsets, out)
            out *= np.nan if fault == "not a number" else 1.01

        return run

    monkeypatch.setattr(gpu, "pool", pool)
    with pytest.warns(RuntimeWarning, match="the GPU is not used.*the CPU encodes") as caught:
        encoder = Encoder.load(tiny_model, threads=2, device="cuda")
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert encoder.device == "cpu"
    expected = Encoder.load(tiny_model, threads=2).encode(german)
    np.testing.assert_array_equal(encoder.encode(german), expected)
    assert len(calls) == 1, "the check alone"


def test_a_wrong_gpu_does_not_run_networks() -> None:
    """An encoder whose GPU is wrong for long sentences only fails the check."""

    def make(device: str) -> str:
        return device

    def encode(pool: str, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        out = np.add.reduceat(np.append(ids, 0), offsets[:-1])[:, None].astype(np.float32)
        return out * np.where((pool == "cuda") & (np.diff(offsets) > 12), 0.9, 1.0)[:, None]

    with pytest.warns(RuntimeWarning, match="differ from the CPU's"):
        assert gpu.checked(make, encode, 50) == ("cpu", "cpu")


@pytest.mark.skipif(not device.torch_gpus(), reason="no GPU here that torch can use")
def test_a_real_gpu_encodes_as_the_cpu_does(tiny_model: Path, german: list[str]) -> None:
    encoder = Encoder.load(tiny_model, threads=2, device="cuda")
    assert encoder.device == "cuda"
    expected = Encoder.load(tiny_model, threads=2).encode(german)
    np.testing.assert_allclose(encoder.encode(german), expected, atol=1e-5)
