"""Kernels for GPUs: the lists of a plain search, by every implementation and in every order.

One file of 380 lines, since it runs twice. The Triton kernel runs on a GPU if there is one, and in
Triton's interpreter otherwise, which must be switched on before Triton is imported: for that, the
file runs again in a process of its own.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the kernels for GPUs need torch")

from miner.kernels import fused_cuda  # noqa: E402
from miner.kernels.fused_cuda import (  # noqa: E402
    INTERPRETED,
    DeviceLists,
    merge_block,
    merge_block_torch,
    upload,
)

CUDA, TRITON = fused_cuda.available()
NEEDS_TRITON = pytest.mark.skipif(not TRITON, reason="Triton is not installed")
NEEDS_GPU = pytest.mark.skipif(not CUDA, reason="no GPU here that torch sees")
# The interpreter is a hundred times slower: fewer examples, and no shrinking of a failure.
SOME = settings(
    max_examples=3 if INTERPRETED else 60,
    phases=[Phase.explicit, Phase.generate] if INTERPRETED else tuple(Phase),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(params=["cpu"] if INTERPRETED else ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Device to search on; the CPU uses Triton if interpreted, else torch. Tiles are small."""
    if TRITON:
        tile = fused_cuda.triton.Config({"M": 16, "N": 32, "K": 16, "BAND": 2})
        monkeypatch.setattr(fused_cuda, "TILE", tile)
    monkeypatch.setattr(fused_cuda, "_trouble", None)
    return request.param


def vectors(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return ``(n, d) float16`` of small whole numbers: exact products, many ties."""
    made = generator.integers(-2, 3, size=(n, d)).astype(np.float16)
    if n > 4:
        made[1] = 0
        made[4] = made[2]
    return made


def brute(queries: np.ndarray, base: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists by definition: similarity descending, then position; empty places last."""
    similarity = np.full((len(queries), width), -np.inf, dtype=np.float32)
    position = np.full((len(queries), width), -1, dtype=np.int32)
    exact = queries.astype(np.float32) @ base.astype(np.float32).T
    best = np.argsort(-exact, axis=1, kind="stable")[:, :width]
    similarity[:, : best.shape[1]] = np.take_along_axis(exact, best, axis=1)
    position[:, : best.shape[1]] = best
    return similarity, position


def search(
    sources: np.ndarray,
    targets: np.ndarray,
    widths: tuple[int, int],
    blocks: tuple[int, int] = (1 << 20, 1 << 20),
    *,
    order: np.random.Generator | None = None,
    merge: Any = merge_block,
    device: str = "cpu",
    dtype: Any = torch.float16,
) -> tuple[DeviceLists, DeviceLists]:
    """Return the lists of both sides, merged in blocks; ``order`` shuffles the blocks."""
    forward = DeviceLists.empty(len(sources), widths[0], device)
    backward = DeviceLists.empty(len(targets), widths[1], device)
    corners = [
        (s, t) for s in range(0, len(sources), blocks[0]) for t in range(0, len(targets), blocks[1])
    ]
    if order is not None:
        order.shuffle(corners)
    # Not by upload, which pads: any d must work.
    left, right = (torch.from_numpy(side).to(device, dtype) for side in (sources, targets))
    for s, t in corners:
        merge(left[s : s + blocks[0]], s, right[t : t + blocks[1]], t, forward, backward)
    return forward, backward


def check(found: tuple[DeviceLists, DeviceLists], sources: np.ndarray, targets: np.ndarray) -> None:
    for lists, queries, base in zip(found, (sources, targets), (targets, sources), strict=True):
        similarity, position = lists.numpy()
        wanted = brute(queries, base, lists.keys.shape[1])
        np.testing.assert_array_equal(similarity, wanted[0])
        np.testing.assert_array_equal(position, wanted[1])
        assert similarity.dtype == np.float32 and position.dtype == np.int32


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """Record the return values of a function of the module during the test."""
    returned: list[Any] = []
    original = getattr(fused_cuda, name)

    def counting(*arguments: Any) -> Any:
        returned.append(original(*arguments))
        return returned[-1]

    monkeypatch.setattr(fused_cuda, name, counting)
    return returned


# --- lists --------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.floats(width=32, allow_nan=False), st.integers(0, 2**31 - 1)), max_size=20
    )
)
def test_keys_sort_by_score_then_position(pairs: list[tuple[float, int]]) -> None:
    score = torch.tensor([score for score, _ in pairs], dtype=torch.float32)
    position = torch.tensor([position for _, position in pairs], dtype=torch.int64)
    keys = fused_cuda._encode(score, position).sort(descending=True).values
    lists = DeviceLists(keys[:, None])
    expected = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
    assert lists.similarity[:, 0].tolist() == [score for score, _ in expected]
    assert lists.position[:, 0].tolist() == [position for _, position in expected]
    assert not (keys <= fused_cuda.EMPTY).any()


def test_an_empty_place() -> None:
    lists = DeviceLists.empty(2, 3, "cpu")
    assert len(lists) == 2 and not lists.full()
    assert torch.isneginf(lists.similarity).all() and (lists.position == -1).all()


@pytest.mark.parametrize("score", [0.0, 1.5, -1.5, 2.0**-149])
def test_a_threshold_decides_ties(score: float) -> None:
    keys = fused_cuda._encode(torch.tensor([[score]]), torch.tensor([7]))
    after, before = DeviceLists(keys).least(8).item(), DeviceLists(keys).least(3).item()
    assert before == score
    assert after == np.nextafter(np.float32(score), np.float32(np.inf)) > before


def test_upload() -> None:
    array = vectors(np.random.default_rng(1), 5, 20)
    array.flags.writeable = False  # like a memory map
    for dtype in (None, torch.float16, torch.bfloat16, torch.float32):
        sent = upload(array, "cpu", dtype)
        assert sent.shape == (5, 32) and sent.dtype == (dtype or torch.float16)
        np.testing.assert_array_equal(sent[:, :20].float().numpy(), array.astype(np.float32))
        assert not sent[:, 20:].any()
    assert upload(array.astype(np.float32), "cpu").dtype == torch.float32
    assert upload(array[:, :16], "cpu").shape == (5, 16)


# --- the search ---------------------------------------------------------------------------------


@SOME
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 45), st.integers(0, 70), st.integers(1, 40)),
    widths=st.tuples(st.integers(1, 50), st.integers(1, 12)),
    blocks=st.tuples(st.sampled_from([7, 16, 33, 99]), st.sampled_from([9, 32, 99])),
    few=st.sampled_from([1, 4, 16]),
    capacity=st.sampled_from([5, 100, 1 << 12]),
    most=st.sampled_from([200, 1 << 30]),
    merge=st.sampled_from([merge_block, merge_block] + [merge_block_torch] * (not INTERPRETED)),
)
def test_lists_are_those_of_brute_force(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    seed: int,
    shape: tuple[int, int, int],
    widths: tuple[int, int],
    blocks: tuple[int, int],
    few: int,
    capacity: int,
    most: int,
    merge: Any,
) -> None:
    """Ties, duplicates, zero rows, lists longer than the other side, any blocks in any order."""
    monkeypatch.setattr(fused_cuda, "SEED", few)
    monkeypatch.setattr(fused_cuda, "CAPACITY", capacity)
    monkeypatch.setattr(fused_cuda, "MOST", most)
    monkeypatch.setattr(fused_cuda, "STRIP", capacity)
    generator = np.random.default_rng(seed)
    n, m, d = shape
    sources, targets = vectors(generator, n, d), vectors(generator, m, d)
    found = search(sources, targets, widths, blocks, order=generator, merge=merge, device=device)
    check(found, sources, targets)
    assert fused_cuda._trouble is None


def test_a_pair_is_found_by_thresholds(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """The kernel finds most pairs, if there is one; torch only fills the empty lists."""
    monkeypatch.setattr(fused_cuda, "SEED", 8)
    name = "_find_triton" if INTERPRETED or device == "cuda" else "_find_torch"
    hits, plainly = counted(monkeypatch, name), counted(monkeypatch, "_merge_plainly")
    generator = np.random.default_rng(2)
    sources, targets = vectors(generator, 64, 30), vectors(generator, 96, 30)
    check(search(sources, targets, (4, 4), device=device), sources, targets)
    assert len(hits) > 4 and len(plainly) < 8
    written = sum(len(found[0]) for found in hits)
    assert 100 < written < 64 * 96 / 2


def test_more_hits_than_fit(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(fused_cuda, "SEED", 4)
    monkeypatch.setattr(fused_cuda, "CAPACITY", 40)
    generator = np.random.default_rng(3)
    sources, targets = vectors(generator, 40, 12), vectors(generator, 50, 12)
    hits = counted(monkeypatch, "_find")
    check(search(sources, targets, (3, 5), device=device), sources, targets)
    assert any(found is None for found in hits)
    assert all(found is None or len(found[0]) <= 40 for found in hits)


def test_ties_alone(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """A higher position never wins a tie: once lists are full, there are no hits."""
    monkeypatch.setattr(fused_cuda, "SEED", 8)
    hits = counted(monkeypatch, "_find")
    sources, targets = (np.ones((n, 16), dtype=np.float16) for n in (18, 34))
    check(search(sources, targets, (4, 4), device=device), sources, targets)
    assert hits and all(len(found[0]) == 0 for found in hits)
    found = search(sources, targets, (4, 4), (9, 11), order=np.random.default_rng(4), device=device)
    check(found, sources, targets)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.skipif(INTERPRETED, reason="the interpreter knows no product of bfloat16")
def test_other_types(monkeypatch: pytest.MonkeyPatch, device: str, dtype: str) -> None:
    monkeypatch.setattr(fused_cuda, "SEED", 8)
    generator = np.random.default_rng(5)
    sources, targets = vectors(generator, 50, 20), vectors(generator, 61, 20)
    found = search(sources, targets, (4, 6), device=device, dtype=getattr(torch, dtype))
    check(found, sources, targets)


@pytest.mark.parametrize(
    ("merge", "at"),
    [(merge_block_torch, 0), (merge_block_torch, 1), *((merge_block, at) for at in range(6))],
)
def test_out_of_memory_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, merge: Any, at: int
) -> None:
    """The caller merges the block again in halves: none of its pairs may be listed."""
    monkeypatch.setattr(fused_cuda, "SEED", 8)
    generator = np.random.default_rng(6)
    sources, targets = vectors(generator, 40, 20), vectors(generator, 60, 20)
    left, right = (upload(side, "cpu") for side in (sources, targets))
    forward, backward = (DeviceLists.empty(size, 4, "cpu") for size in (40, 60))
    merge_block(left[:20], 0, right, 0, forward, backward)
    before = forward.keys.clone(), backward.keys.clone()
    original, calls = fused_cuda._merged, []

    def short(*arguments: Any) -> Any:
        calls.append(None)
        if len(calls) > at:
            raise fused_cuda.OutOfMemory("CUDA out of memory")
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(fused_cuda, "_merged", short)
        with pytest.raises(fused_cuda.OutOfMemory):
            merge(left[20:], 20, right, 0, forward, backward)
    assert torch.equal(forward.keys, before[0]) and torch.equal(backward.keys, before[1])
    for t in (0, 30):
        merge(left[20:], 20, right[t : t + 30], t, forward, backward)
    check((forward, backward), sources, targets)


@pytest.mark.skipif(INTERPRETED, reason="tests the replacement of Triton")
def test_where_triton_fails_torch_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> None:
        calls.append(None)
        raise RuntimeError("Failed to find C compiler")

    calls: list[None] = []
    monkeypatch.setattr(fused_cuda, "_trouble", None)
    monkeypatch.setattr(fused_cuda, "_suits_triton", lambda vectors: True)
    monkeypatch.setattr(fused_cuda, "_find_triton", fails)
    monkeypatch.setattr(fused_cuda, "SEED", 8)
    generator = np.random.default_rng(7)
    sources, targets = vectors(generator, 40, 20), vectors(generator, 60, 20)
    with pytest.warns(RuntimeWarning, match="without Triton.*C compiler"):
        found = search(sources, targets, (4, 4))
    check(found, sources, targets)
    assert len(calls) == 1, "Triton is not tried again"


# --- Triton -------------------------------------------------------------------------------------


@NEEDS_TRITON
@pytest.mark.skipif(INTERPRETED, reason="this run is the interpreter")
def test_the_search_in_the_interpreter() -> None:
    chosen = "brute_force or thresholds or fit or alone"
    options = ["-p", "no:cacheprovider", "--noconftest", "-k", chosen]
    command = [sys.executable, "-m", "pytest", *options, __file__]
    root = Path(__file__).parents[2]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout and "skipped" not in done.stdout, done.stdout


@NEEDS_TRITON
@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled there")
@pytest.mark.parametrize("capability", [80, 90])
def test_the_kernel_compiles(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capability: int
) -> None:
    """Compile for an A100 and an H100 on any machine; tensor cores multiply."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    kernel, tile = fused_cuda._hits_kernel, fused_cuda.TILE
    types = ["*fp16"] * 2 + ["*fp32"] * 2 + ["*i32"] * 2 + ["*fp32"] + ["i32"] * 4
    types += ["constexpr"] * len(tile.kwargs)
    signature = dict(zip(kernel.arg_names, types, strict=True))
    source = ASTSource(
        kernel,
        signature,
        constexprs=tile.kwargs,
        attrs={
            (place,): [["tt.divisibility", 16]]
            for place, name in enumerate(signature)
            if signature[name].startswith("*") or name == "d"
        },
    )
    options = {key: value for key, value in tile.all_kwargs().items() if key not in tile.kwargs}
    made = compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    ptx = made.asm["ptx"]
    assert ("wgmma.mma_async" if capability == 90 else "mma.sync") in ptx
    assert "cp.async" in ptx
    assert made.metadata.shared <= 100 * 1024, "two tiles at a time"


@NEEDS_GPU
@pytest.mark.parametrize("d", [300, 512])
def test_on_a_gpu(d: int) -> None:
    """Large enough for tuning; whole numbers, so that lists are equal."""
    generator = np.random.default_rng(8)
    n, m = 17_000, 16_500
    assert n * m >= getattr(fused_cuda, "LARGE", 0)
    sources, targets = vectors(generator, n, d), vectors(generator, m, d)
    plain = search(sources, targets, (12, 12), merge=merge_block_torch, device="cuda")
    for blocks in ((n, m), (5000, 16_500)):
        found = search(sources, targets, (12, 12), blocks, device="cuda")
        assert all(torch.equal(a.keys, b.keys) for a, b in zip(found, plain, strict=True))
    # Full lists: the kernel does all of another block in large tiles.
    more = vectors(generator, n, d)
    both = np.concatenate([sources, more])
    found = search(both, targets, (12, 12), (n, m), device="cuda")
    plain = search(both, targets, (12, 12), merge=merge_block_torch, device="cuda")
    assert all(torch.equal(a.keys, b.keys) for a, b in zip(found, plain, strict=True))
    assert fused_cuda._trouble is None


@NEEDS_GPU
def test_scores_on_a_gpu_are_as_good_as_promised() -> None:
    generator = np.random.default_rng(9)
    d = 512
    made = generator.normal(size=(3, 4000, d))
    made /= np.linalg.norm(made, axis=2, keepdims=True)
    sources, targets, _ = made.astype(np.float16)
    forward, _ = search(sources, targets, (8, 8), device="cuda")
    similarity, position = forward.numpy()
    wide = targets.astype(np.float64)[position]
    exact = np.einsum("nd,nwd->nw", sources.astype(np.float64), wide)
    assert abs(similarity - exact).max() <= 4 * d * 2.0**-24
    best = np.sort(sources.astype(np.float64) @ targets.astype(np.float64).T, axis=1)[:, -8:]
    assert abs(np.sort(exact, axis=1) - best).max() <= math.ldexp(8 * d, -24)
