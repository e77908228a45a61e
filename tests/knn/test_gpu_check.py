"""The check of GPUs before a search, in child processes of a simulated machine."""

import warnings
from typing import Any

import numpy as np
import pytest
from support.fake_gpus import simulate
from support.sides import realistic, same, searching, side

from miner.errors import ResourceError
from miner.index import faiss
from miner.knn import gpu_check, knn_search
from miner.knn.engines import search_device
from miner.knn.gpu_check import Trial, choose_gpu_engine, try_engine
from miner.knn.gpu_engines import FaissGpuEngine, TorchEngine
from miner.knn.knn_search import nearest_both
from miner.knn.vector_set import VectorSet

Sides = tuple[VectorSet, VectorSet]


@pytest.fixture
def sides() -> Sides:
    source, target = realistic(np.random.default_rng(41), 300, 800, 32)
    return side(source), side(target)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "TIMED", 256)


def test_a_gpu_that_answers_right_is_used(monkeypatch: pytest.MonkeyPatch, sides: Sides) -> None:
    wanted = nearest_both(*sides, searching(4, exact=True, device="cpu"))
    fake = simulate(monkeypatch, gpus=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(nearest_both(*sides, searching(4, device="cuda")), wanted)
    assert fake.copies == [([0, 1], True, 300), ([0, 1], True, 800)], "by shards, each side once"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("abort", r"faiss: its process was ended by SIGABRT \(CUDA error 35"),
        ("raise", "faiss: the GPU failed .CUDA error 209"),
        ("rows", "faiss: it misses neighbours"),
        ("nan", "faiss: it finds rows that are not there"),
    ],
)
def test_a_wrong_gpu_is_not_used(monkeypatch, sides: Sides, fault: str, said: str) -> None:
    wanted = nearest_both(*sides, searching(4, exact=True, device="cpu"))
    fake = simulate(monkeypatch, fault=fault)
    with pytest.warns(RuntimeWarning, match=f"not used for the search: {said}") as caught:
        found = nearest_both(*sides, searching(4, engine="faiss", exact=True, device="cuda"))
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert not fake.copies, "this process has not touched the GPU"
    same(found, wanted)


def test_lists_of_both_directions_are_compared() -> None:
    rows, columns = realistic(np.random.default_rng(42), 40, 60, 32)
    exact = rows @ columns.T
    lists = [np.argsort(-matrix, axis=1)[:, :4].astype(np.int32) for matrix in (exact, exact.T)]
    assert gpu_check._difference(rows, columns, lists) == ""
    for bad in (0, 1):
        wrong = [np.roll(part, 20, axis=0) if i == bad else part for i, part in enumerate(lists)]
        assert gpu_check._difference(rows, columns, wrong) == "it misses neighbours"
    twice = [lists[0], np.repeat(lists[1][:, :1], 4, axis=1)]
    assert gpu_check._difference(rows, columns, twice) == "it finds a row twice"


def test_a_driver_that_aborts_where_gpus_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate(monkeypatch, fault="count")
    assert faiss.gpu_count() == 0
    assert search_device("auto", "faiss") == search_device("auto", "fused") == "cpu"
    with pytest.raises(ResourceError, match="--device cuda: no GPU here that FAISS finds"):
        search_device("cuda", "faiss")


def test_a_torch_without_cuda_fails_the_check(sides: Sides) -> None:
    """A CPU build of torch gives its own message, not an exception."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this torch has CUDA")
    engine = "torch"
    monkeypatched = TorchEngine("cuda", 1, [0])
    assert monkeypatched.places == ["cuda:0"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TorchEngine, "_count", lambda self: 1)
        trial = try_engine(engine, "cuda", 1, sides)
    assert "CUDA" in trial.fault and not trial.pairs


@pytest.mark.parametrize(
    ("torch", "other", "places", "wanted"),
    [
        (Trial("torch", 3e9), Trial("faiss", 2e9), 20, TorchEngine),
        (Trial("torch", 1e9), Trial("faiss", 2e9), 20, FaissGpuEngine),
        (Trial("torch", fault="broken"), Trial("faiss", 2e9), 20, FaissGpuEngine),
        (Trial("torch", 1e9), Trial("faiss", 2e9), 3000, TorchEngine),
        (Trial("torch", fault="broken"), Trial("faiss", fault="lame"), 20, None),
    ],
)
def test_the_faster_right_engine_is_chosen(monkeypatch, sides, torch, other, places, wanted):
    trials = {"torch": torch, "faiss": other}
    monkeypatch.setattr(gpu_check, "usable_engines", lambda device: list(trials))
    monkeypatch.setattr(gpu_check, "try_engine", lambda name, *rest: trials[name])
    if wanted is None:
        with pytest.warns(RuntimeWarning, match="torch: broken; faiss: lame; the CPU does it"):
            assert choose_gpu_engine("cuda", "fused", 2, sides, places) is None
        return
    assert type(choose_gpu_engine("cuda:1", "fused", 2, sides, places)) is wanted
    if other.pairs and places < 2048:
        assert type(choose_gpu_engine("cuda", "faiss", 2, sides, places)) is FaissGpuEngine


def test_small_searches_stay_on_the_processor(monkeypatch: pytest.MonkeyPatch, sides) -> None:
    """With `auto`, because the check takes longer than the search."""
    monkeypatch.setattr(
        knn_search, "search_device", lambda device, *rest: "cpu" if device == "cpu" else "cuda"
    )
    monkeypatch.setattr(knn_search, "choose_gpu_engine", lambda *rest: pytest.fail("checked"))
    nearest_both(*sides, searching(4, device="auto"))
    with pytest.raises(pytest.fail.Exception, match="checked"):
        nearest_both(*sides, searching(4, device="cuda"))


@pytest.fixture
def compressed(sides: Sides) -> VectorSet:
    library = faiss.faiss()
    base = sides[1].float32_block(0, len(sides[1]))
    index = library.index_factory(32, "IVF8,Flat", library.METRIC_INNER_PRODUCT)
    index.train(base)
    index.add(base)
    return VectorSet(sides[1].vectors, sides[1].rows, index)


@pytest.mark.parametrize("fault", ["", "rows", "raise", "memory"])
def test_a_compressed_index_is_searched_on_a_gpu_if_it_agrees(
    monkeypatch, sides, compressed, fault
):
    wanted = nearest_both(sides[0], compressed, searching(4, device="cpu"))
    memory = 100 if fault == "memory" else 1 << 40
    fake = simulate(monkeypatch, fault="nan" if fault == "rows" else fault, memory=memory)
    engine = FaissGpuEngine("cuda", 2, [0])
    monkeypatch.setattr(knn_search, "search_device", lambda *rest: "cuda")
    monkeypatch.setattr(knn_search, "choose_gpu_engine", lambda *rest: engine)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = nearest_both(sides[0], compressed, searching(4, device="cuda"))
    same(found, wanted)
    said = {"rows": "differ from the CPU's", "raise": "CUDA error 209", "memory": "out of memory"}
    assert [said[fault] in str(one.message) for one in caught] == [True] * (fault != "")
    assert fake.copies == ([] if fault == "memory" else [([0], False, 800)])


def test_an_index_that_has_no_kind_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example HNSW: the CPU searches without a warning."""
    fake = simulate(monkeypatch)
    index = fake.IndexHNSWFlat(8, 4)
    with pytest.raises(NotImplementedError):
        faiss.to_gpus(index, [0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gpu_check.compressed_on_gpu(index, np.eye(8, dtype=np.float32), 2, [0])
    assert found is None


def usable() -> list[str]:
    return gpu_check.usable_engines("cuda") if search_device("auto", "fused") == "cuda" else []


@pytest.mark.skipif(not usable(), reason="no GPU here that torch or FAISS can use")
def test_a_real_gpu_agrees_with_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = (side(part) for part in realistic(np.random.default_rng(43), 2000, 5000, 64))
    wanted = nearest_both(source, target, searching(4, exact=True, device="cpu"))
    for name in usable():
        assert not try_engine(name, "cuda", 2, (source, target)).fault
        engine: Any = gpu_check.ENGINES[name]("cuda", 2)
        monkeypatch.setattr(knn_search, "choose_gpu_engine", lambda *rest, one=engine: one)
        same(nearest_both(source, target, searching(4, device="cuda")), wanted)
