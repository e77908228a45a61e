"""Engines on GPUs: lists by definition, memory, several devices. CPUs stand in for GPUs."""

import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_gpus import simulate
from support.sides import QUICK, brute, coarse, realistic, same, searching, side

from miner.device import gpu_errors
from miner.errors import ResourceError
from miner.knn import gpu_engines, knn_search
from miner.knn.gpu_engines import CELL, FaissGpuEngine, GpuEngine, TorchEngine, half_bound
from miner.knn.knn_search import BlockSearch, nearest_both, refine_part
from miner.knn.vector_set import VectorSet

torch = pytest.importorskip("torch")


class OnCpus(TorchEngine):
    """torch's engine with CPUs as devices."""

    @property
    def places(self) -> list[str]:
        return ["cpu"] * len(self.gpus)

    def release(self) -> None:
        pass


def search(engine: GpuEngine, source: VectorSet, target: VectorSet, k: int) -> Any:
    memory = 1 << 32
    lists = BlockSearch(source, target, k, memory, engine).candidates()
    return (
        refine_part(source, target, lists[0], k, memory, engine),
        refine_part(target, source, lists[1], k, memory, engine),
    )


@QUICK
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 90),
    st.integers(1, 90),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 40),
    st.booleans(),
)
def test_torch_finds_the_lists_of_the_definition(seed, n, m, k, gpus, tile, float32):
    """With ties and duplicates, any number of devices, tiles of any height, rounded vectors."""
    generator = np.random.default_rng(seed)
    made = [coarse(generator, size, 8) for size in (n, m)]
    if float32:
        # Beyond float16, but in so few bits that no sum in float64 is rounded.
        made = [part.astype(np.float32) + np.float32(2.0**-14) for part in made]
    source, target = (side(part) for part in made)
    if not len(source) or not len(target):
        return
    engine = OnCpus("cuda", 2, list(range(gpus)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_engines, "free_memory", lambda gpu: 5 * CELL * tile * m)
        same(
            search(engine, source, target, k), (brute(source, target, k), brute(target, source, k))
        )


def test_rounding_stays_within_the_bound() -> None:
    generator = np.random.default_rng(3)
    made = generator.normal(size=(2, 400, 300)).astype(np.float32)
    made /= np.linalg.norm(made, axis=2, keepdims=True)
    made[1, :50] = made[0, :50]  # similarities near 1, where float16 is coarsest
    engine = OnCpus("cuda", 2, [0])
    rows, columns = engine.prepare(made[0], columns=False), engine.prepare(made[1], columns=True)
    product = (rows[0] @ columns[0].T).numpy().astype(np.float64)
    error = np.abs(product - made[0].astype(np.float64) @ made[1].astype(np.float64).T).max()
    assert error <= half_bound(made[0]) < 2.0**-8
    # Numbers that rounding moves farthest, all in one direction.
    far = np.full((1, 63), 0.125 * (1 + 0.999 * 2.0**-11), np.float32)
    (one,), (other,) = (engine.prepare(far, columns=columns) for columns in (False, True))
    error = far.astype(np.float64) @ far.T.astype(np.float64) - (one @ other.T).numpy()
    assert 2.0**-11 < error <= half_bound(far)


@pytest.mark.parametrize("gpus", [1, 2])
def test_each_block_is_copied_once_and_in_float16(monkeypatch, gpus: int) -> None:
    fake = simulate(monkeypatch, gpus=gpus)
    source, target = (side(part) for part in realistic(np.random.default_rng(4), 700, 900, 32))
    wanted = nearest_both(source, target, searching(4, exact=True))
    engine = FaissGpuEngine("cuda", 2)
    same(search(engine, source, target, 4), wanted)
    assert fake.copies == [([*range(gpus)], True, 700), ([*range(gpus)], True, 900)]
    assert fake.most[0] == 2 * 32 * 1600 // gpus
    assert not any(fake.used.values()), "the memory is given back"


def test_one_of_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = simulate(monkeypatch, gpus=2)
    source, target = (side(part) for part in realistic(np.random.default_rng(5), 60, 80, 16))
    search(FaissGpuEngine("cuda:1", 2), source, target, 4)
    assert {tuple(gpus) for gpus, _, _ in fake.copies} == {(1,)}


def test_blocks_follow_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are held as far as they fit; each block of columns is loaded once."""
    fake = simulate(monkeypatch)
    source, target = (side(part) for part in realistic(np.random.default_rng(6), 3000, 4000, 32))
    wanted = nearest_both(source, target, searching(4, exact=True))
    monkeypatch.setattr(gpu_engines, "free_memory", lambda gpu: 5 * 128 * 1024)
    same(search(FaissGpuEngine("cuda", 2), source, target, 4), wanted)
    sizes = [rows for _, _, rows in fake.copies]
    assert max(sizes) == 1024 and fake.most[0] <= 4 * 128 * 1024
    assert sum(sizes) < 3000 + 4000 + 4 * 3000, "some rows are held"


def test_the_gpu_with_least_free_memory_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_engines, "free_memory", [5 << 20, 5 << 10].__getitem__)
    for device, rows in (("cuda", 32), ("cuda:1", 32), ("cuda:0", 32 << 10)):
        engine = OnCpus(device, 2, [0, 1] if device == "cuda" else [int(device[-1])])
        with engine.opened(16) as (most, held):
            assert (most, held) == (rows, 64 * rows)


def test_memory_that_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are halved until they fit; the final error says what to do."""
    source, target = (side(part) for part in realistic(np.random.default_rng(7), 900, 1000, 32))
    wanted = nearest_both(source, target, searching(4, exact=True))
    fake = simulate(monkeypatch, memory=64 * 700)
    same(search(FaissGpuEngine("cuda", 2), source, target, 4), wanted)
    assert fake.most[0] <= 64 * 700
    monkeypatch.setattr(fake, "MEMORY", 64 * 100)
    with pytest.raises(ResourceError, match="out of memory in a block of .*--device cpu"):
        search(FaissGpuEngine("cuda", 2), source, target, 4)


def test_memory_that_another_program_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held blocks are freed, so that halves of a block fit."""
    source, target = (side(part) for part in realistic(np.random.default_rng(10), 3000, 4000, 32))
    wanted = nearest_both(source, target, searching(4, exact=True))
    fake = simulate(monkeypatch)
    monkeypatch.setattr(gpu_engines, "free_memory", lambda gpu: 5 * 128 * 1024)

    class Taken(FaissGpuEngine):
        def merge(self, *block: Any) -> None:
            super().merge(*block)
            monkeypatch.setattr(fake, "MEMORY", 64 * 1500)

    same(search(Taken("cuda", 2), source, target, 4), wanted)
    assert min(rows for _, _, rows in fake.copies) > 400


def test_a_fault_in_the_middle_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = (side(part) for part in realistic(np.random.default_rng(8), 50, 60, 16))
    simulate(monkeypatch, fault="raise")
    with pytest.raises(ResourceError, match=r"^the GPU failed \(CUDA error 209\); .*--device cpu$"):
        search(FaissGpuEngine("cuda", 2), source, target, 4)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB", MemoryError),
        ("StandardGpuResources: alloc fail type TemporaryMemoryOverflow dev 0", MemoryError),
        ("CUDA error: an illegal memory access was encountered", ResourceError),
        ("CUDA error 209: no kernel image", ResourceError),
    ],
)
def test_errors_of_the_libraries_are_named(said: str, kind: type[Exception]) -> None:
    with pytest.raises(kind), gpu_errors():
        raise RuntimeError(said)


def test_free_memory_is_what_nvidia_smi_says(monkeypatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "$1" > "$0.asked"\necho "1234 MiB"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert gpu_engines.free_memory(1) == 1234 << 20
    assert Path(f"{program}.asked").read_text() == "--id=5\n"
    program.unlink()
    assert gpu_engines.free_memory(1) == gpu_engines.ASSUMED


def hold(begun: Any, seconds: float) -> None:
    with gpu_engines.gpu_turn():
        begun.set()
        time.sleep(seconds)


def test_processes_take_turns() -> None:
    context = multiprocessing.get_context("spawn")
    begun = context.Event()
    other = context.Process(target=hold, args=(begun, 1.0))
    other.start()
    assert begun.wait(120)
    before = time.monotonic()
    with gpu_engines.gpu_turn():
        waited = time.monotonic() - before
    other.join()
    assert other.exitcode == 0 and waited > 0.5


def test_the_search_uses_the_engine_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = (side(part) for part in realistic(np.random.default_rng(9), 500, 600, 32))
    engine = OnCpus("cuda", 2, [0, 1])
    monkeypatch.setattr(knn_search, "search_device", lambda *rest: "cuda")
    monkeypatch.setattr(knn_search, "choose_gpu_engine", lambda *rest: engine)
    wanted = nearest_both(source, target, searching(4, exact=True))
    monkeypatch.setattr(knn_search, "choose_engine", lambda *rest: pytest.fail("the CPU's"))
    same(nearest_both(source, target, searching(4, device="cuda")), wanted)
