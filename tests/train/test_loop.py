"""The training loop learns, depends on the seed only, and resumes after a kill."""

import dataclasses
import os
import signal
import threading

import numpy as np
import pytest
import torch
from support.trainings import MARGIN, SOFTMAX, Stop, material, sentences, trainer

import miner_train.data
import miner_train.encoders.embedding_table
import miner_train.loop
import miner_train.objectives
from miner.errors import ResourceError
from miner.evaluation.metrics import Evaluation
from miner.machine import thread_count
from miner_train.heldout import mining_f1
from miner_train.loop import EpochEnd, Trainer

BOTH = pytest.mark.parametrize("config", [SOFTMAX, MARGIN], ids=["softmax", "margin"])


def trained(it, *arguments):
    """Run a training; return its final state."""
    it.run(*arguments)
    return {name: array.tobytes() for name, array in it.arrays().items()}


def ends_of(it):
    """Run a training; return the ends of its epochs."""
    events = []
    it.run(None, events.append)
    return events


def listening(events):
    """Return listeners that append all epoch and progress events to a list."""
    return events.append, lambda *event: events.append(event)


def table(it):
    return it.encoders.parts["sp"].table.weights


def kept_table(it):
    return it.state.best["sp/weights"]


def unit(table, found):
    """Return unit vectors of Sentences from their pieces, in float64."""
    out = []
    for i in range(len(found)):
        mean = table[found.ids[found.offsets[i] : found.offsets[i + 1]]].astype(float).mean(axis=0)
        out.append(mean / np.sqrt((mean**2).sum()))
    return np.array(out)


@BOTH
def test_progress_counts_every_pair(config):
    it = trainer(config)
    events = []
    it.run(progress=lambda *event: events.append(event))
    stages, done, totals = zip(*events, strict=True)
    assert list(done) == sorted(set(done)) and set(stages) == {"training"}
    assert {done[-1]} == set(totals) == {config.epochs * len(it.data)}


def frozen_loss(config, count):
    """Run an epoch at rate 0; return loss, trainer, cosines and related pairs."""
    still = dataclasses.replace(config, rate=1e-30, epochs=1, dropout=0.0, heldout=0)
    it = trainer(still, count)
    before = table(it).copy()
    (end,) = ends_of(it)
    assert (table(it) == before).all()
    same = it.data.source_text[:, None] == it.data.source_text[None, :]
    same |= it.data.target_text[:, None] == it.data.target_text[None, :]
    cosine = unit(table(it), it.data.source) @ unit(table(it), it.data.target).T
    return end.loss, it, cosine, same


def test_softmax_masks_copies():
    loss, _, cosine, same = frozen_loss(dataclasses.replace(SOFTMAX, batch=40), 40)
    assert same.sum() > 40
    eye = np.eye(40, dtype=bool)
    logits = 20.0 * (cosine - 0.2 * eye)
    logits[same & ~eye] = -np.inf
    exponent = np.exp(logits)
    expected = [-np.log(np.diag(exponent) / exponent.sum(axis=axis)).mean() for axis in (0, 1)]
    assert loss == pytest.approx(sum(expected) / 2, rel=1e-5)


@pytest.mark.parametrize("batch, megabatch", [(40, 1), (20, 2), (10, 9)])
def test_margin_takes_the_hardest_of_the_megabatch(batch, megabatch):
    """The loss is the same for any mini-batches, because the table does not change."""
    config = dataclasses.replace(MARGIN, batch=batch, megabatch=megabatch, anneal=0)
    loss, it, cosine, same = frozen_loss(config, 40)
    true = np.diag(cosine)
    negative = np.where(same, -np.inf, cosine)
    expected = np.maximum(0, 0.4 - true + negative.max(axis=1)).mean()
    expected += np.maximum(0, 0.4 - true + negative.max(axis=0)).mean()
    assert loss == pytest.approx(expected, rel=1e-5)
    assert it.state.step == 40 // batch


def test_a_pool_without_negatives_is_passed_over():
    """All sources are one text, so there are no negatives, and nothing changes."""
    tokens = sentences([[0]] * 6), sentences([[n] for n in range(1, 7)])
    columns = np.zeros(6, np.int64), np.arange(6), np.ones(6, bool), np.zeros(6, np.int16)
    data = miner_train.data.PairData(*tokens, *columns, np.zeros(6, bool))
    it = Trainer(dataclasses.replace(MARGIN, batch=2), {"piece": 7}, data, None)
    before = table(it).copy()
    it.run()
    assert it.state.step == 0 and it.state.epoch == MARGIN.epochs
    assert (kept_table(it) == before).all()


@pytest.mark.parametrize("per", ["training", "epoch"])
def test_megabatch_grows_over_epochs(monkeypatch, per):
    """Sizes of the pools of negatives in mini-batches, by P19's schedule."""
    config = dataclasses.replace(
        MARGIN, batch=4, megabatch=4, anneal=5, anneal_per=per, epochs=3, heldout=0, dropout=0.0
    )
    data, size = material(300)
    data = data.take(np.arange(50, 90))  # 40 pairs without duplicates
    pools = []
    choose = miner_train.objectives.choose_negatives

    def remember(source, *rest):
        pools.append(len(source))
        return choose(source, *rest)

    monkeypatch.setattr(miner_train.objectives, "choose_negatives", remember)
    it = Trainer(config, size, data, None)
    it.run()

    expected, steps = [], 0
    for _ in range(3):
        left, steps = 40, 0 if per == "epoch" else steps
        while left:
            pool = min(left, 4 * min(4, 1 + steps // 5))
            expected.append(pool)
            steps += pool // 4
            left -= pool
    assert pools == expected
    assert pools[0] == 4 and max(pools) == (16 if per == "training" else 8)
    assert it.state.step == 30


def test_rate_falls_to_its_final_share(monkeypatch):
    rates = []
    adam = miner_train.encoders.embedding_table.sparse_adam

    def remember(*arguments):
        rates.append(arguments[9])
        adam(*arguments)

    monkeypatch.setattr(miner_train.encoders.embedding_table, "sparse_adam", remember)
    config = dataclasses.replace(SOFTMAX, batch=10, epochs=2, heldout=0, final_rate=0.2, rate=0.5)
    trainer(config, 40).run()
    assert rates == pytest.approx([0.5 * (1 - 0.8 * step / 8) for step in range(8)])
    rates.clear()
    trainer(dataclasses.replace(config, final_rate=1.0), 40).run()
    assert rates == [0.5] * 8


@BOTH
def test_the_seed_decides_everything(config, monkeypatch):
    first = trained(trainer(config))
    monkeypatch.setattr("miner.parallel.loop_threads", lambda: 1)
    assert trained(trainer(config)) == first
    other = trained(trainer(dataclasses.replace(config, seed=2)))
    assert all(
        other[name] != first[name]
        for name in ("now/sp/weights", "best/sp/weights", "now/sp/first", "now/sp/second")
    )


# F1 of all pairs in each epoch, then of their groups.
@pytest.mark.parametrize(
    "scores, kept, groups",
    [
        ([0.2, 0.9, 0.5], 2, 0),
        ([0.7, 0.6, 0.7], 3, 0),
        ([0.1, 0.2, 0.3], 3, 0),
        ([0.9, 0.1, 0.2, 0.5, 0.4, 0.4, 0.7, 0.3, 0.4], 2, 1),
    ],
)
def test_the_best_epoch_is_kept(monkeypatch, scores, kept, groups):
    marks = iter(scores)
    scores = scores[:: 3 if groups else 1]

    def scripted(source, target):
        f1 = next(marks)
        found = mining_f1(source, target)
        changed = {"f1": f1, "threshold": 10 * f1}
        return Evaluation(
            **{f.name: getattr(found, f.name) for f in dataclasses.fields(found)} | changed
        )

    monkeypatch.setattr(miner_train.loop, "mining_f1", scripted)
    it = trainer(dataclasses.replace(SOFTMAX, epochs=3, apart=groups))
    if groups:
        it.groups = {"de-en": np.arange(9), "fr-en": np.arange(9)}
    tables, best, means = [], [], []

    def remember(event):
        tables.append(table(it).tobytes())
        best.append(event.best)
        means.append(event.development and round(event.development[1], 6))

    it.run(None, remember)
    assert len(set(tables)) == 3 and means == ([0.15, 0.4, 0.35] if groups else [None] * 3)
    assert kept_table(it).tobytes() == tables[kept - 1]
    assert it.state.best_f1 == scores[kept - 1]
    assert it.state.best_score == (scores[kept - 1] if not groups else 0.4)
    assert it.state.threshold == 10 * scores[kept - 1]
    assert best[kept - 1] and not any(best[kept:])


def test_without_a_held_out_task_the_last_epoch_is_kept():
    it = trainer(dataclasses.replace(SOFTMAX, heldout=59))
    assert it.held is None
    ends = ends_of(it)
    assert kept_table(it).tobytes() == table(it).tobytes()
    assert all(end.f1 is None and end.threshold is None for end in ends)
    assert np.isnan(it.state.threshold)


def stopping(after, events):
    """Return listeners that interrupt the training at progress report ``after``."""
    seen = 0

    def progress(*event):
        nonlocal seen
        seen += 1
        if seen == after:
            raise Stop
        events.append(event)

    return events.append, progress


@BOTH
@pytest.mark.parametrize("every, first_again", [(-1.0, "step"), (3600.0, "epoch")])
def test_a_killed_training_goes_on(config, every, first_again, checkpoint, monkeypatch):
    whole = []
    expected = trained(trainer(config), None, *listening(whole))

    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", every)
    first = []
    per_epoch = next(i for i, event in enumerate(whole) if isinstance(event, EpochEnd))
    with pytest.raises(Stop):
        trainer(config).run(checkpoint, *stopping(per_epoch + 3, first))
    saved = checkpoint.load_state()
    assert saved["epoch"] == 1 and (saved["position"] > 0) == (first_again == "step")

    second = []
    it = trainer(config)
    assert trained(it, checkpoint, *listening(second)) == expected
    # Only work after the checkpoint is repeated.
    start = len(first) if first_again == "step" else per_epoch + 1
    assert first == whole[: len(first)] and second == whole[start:]
    # A finished training does nothing.
    third = []
    assert trained(trainer(config), checkpoint, *listening(third)) == expected
    assert third == []


def test_an_interrupt_waits_for_the_step(checkpoint):
    expected = trained(trainer(SOFTMAX))
    handler = signal.getsignal(signal.SIGINT)
    seen = []

    def interrupting(*event):
        seen.append(event)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer(SOFTMAX).run(checkpoint, progress=interrupting)
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(seen) == 3
    saved = checkpoint.load_state()
    assert (saved["step"], saved["position"]) == (3, 3 * 64)  # the third step is kept
    assert trained(trainer(SOFTMAX), checkpoint) == expected


def test_a_second_interrupt_does_not_wait(checkpoint):
    def insisting(*event):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("should have been interrupted by now")

    with pytest.raises(KeyboardInterrupt):
        trainer(SOFTMAX).run(checkpoint, progress=insisting)
    assert checkpoint.load_state() is None


def test_training_in_a_thread(checkpoint):
    """A thread cannot set signal handlers."""
    expected = trained(trainer(SOFTMAX))
    found = []
    thread = threading.Thread(target=lambda: found.append(trained(trainer(SOFTMAX), checkpoint)))
    thread.start()
    thread.join()
    assert found == [expected]


def test_a_training_that_diverges_is_an_error():
    it = trainer(dataclasses.replace(SOFTMAX, rate=1e30))
    with pytest.raises(ResourceError, match="diverged in epoch 1.*--rate"):
        it.run()


def test_threads_set_elsewhere_do_not_matter():
    """A search with --threads in the same program may have set threads; they are restored."""
    tables = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            it = trainer(SOFTMAX)
            seen = []
            it.run(None, lambda event, seen=seen: seen.append(torch.get_num_threads()))
            assert torch.get_num_threads() == threads
            assert set(seen) == {thread_count()}
            tables.append(table(it).tobytes())
    finally:
        torch.set_num_threads(before)
    assert tables[0] == tables[1]
