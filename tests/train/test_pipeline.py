"""The training loop: that it learns, that the seed decides all, and that a killed run goes on."""

import dataclasses
import os
import signal
import threading

import h5py
import numba
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.invented import sentences, synthetic  # noqa: E402

import miner_train.encoders.embedding_table  # noqa: E402
import miner_train.loop  # noqa: E402
import miner_train.objectives  # noqa: E402
import miner_train.pipeline  # noqa: E402
import miner_train.training_checkpoint  # noqa: E402
from miner.encoder.encoder import Encoder  # noqa: E402
from miner.errors import ArtifactError, CorpusError, ResourceError  # noqa: E402
from miner.evaluation.metrics import Evaluation  # noqa: E402
from miner.machine import thread_count  # noqa: E402
from miner_train.config import TrainConfig  # noqa: E402
from miner_train.data import prepare, split  # noqa: E402
from miner_train.heldout import mining_f1  # noqa: E402
from miner_train.loop import EpochEnd, Progress, Trainer  # noqa: E402
from miner_train.pipeline import train_model  # noqa: E402
from miner_train.read import TextPair  # noqa: E402
from miner_train.training_checkpoint import Checkpoint  # noqa: E402

SOFTMAX = TrainConfig(dimension=24, batch=64, epochs=4, rate=0.02, heldout=70)
MARGIN = dataclasses.replace(
    SOFTMAX, objective="margin", margin=0.4, megabatch=3, anneal=6, dropout=0.05
)
BOTH = pytest.mark.parametrize("config", [SOFTMAX, MARGIN], ids=["softmax", "margin"])


class Stop(Exception):
    """Exception with which a test kills a training."""


def material(count=700):
    """Pairs as word numbers, the size of their vocabulary; some sentences occur in several."""
    source, target = synthetic(count)
    source[5:10] = source[:5]
    target[15:20] = target[10:15]
    numbers = {}

    def tokenizer(chunk):
        known = [[numbers.setdefault(w, len(numbers)) for w in s.split()] for s in chunk]
        found = sentences(known)
        return found.ids, found.offsets

    return prepare(([tokenizer], [tokenizer]), source, target), {"piece": len(numbers)}


def trainer(config, count=700):
    data, size = material(count)
    training, held = split(data, config.heldout, config.seed)
    return Trainer(config, size, data.take(training), data.take(held))


def trained(it, *arguments):
    """Run a training; all that it ends with."""
    it.run(*arguments)
    return {name: array.tobytes() for name, array in it.arrays().items()}


def table(it):
    return it.encoders.parts["sp"].table.weights


def kept_table(it):
    return it.state.best["sp/weights"]


def unit(table, found):
    """Unit vectors of Sentences, each from its own pieces, in float64."""
    out = []
    for i in range(len(found)):
        mean = table[found.ids[found.offsets[i] : found.offsets[i + 1]]].astype(float).mean(axis=0)
        out.append(mean / np.sqrt((mean**2).sum()))
    return np.array(out)


def precision_at_1(table, data):
    """Share of sources whose nearest target says the same."""
    nearest = (unit(table, data.source) @ unit(table, data.target).T).argmax(axis=1)
    return (data.target_text[nearest] == data.target_text).mean()


# --- learning -----------------------------------------------------------------------------------


@BOTH
def test_training_learns(config):
    it = trainer(config)
    assert it.held is not None and len(it.held) >= 60
    before = mining_f1(it.encoders.encode(it.held.source), it.encoders.encode(it.held.target))
    assert before.f1 < 0.4
    assert precision_at_1(table(it), it.data) < 0.05

    ends = []
    it.run(None, lambda event: ends.append(event) if isinstance(event, EpochEnd) else None)

    assert [end.epoch for end in ends] == [1, 2, 3, 4]
    assert ends[-1].loss < 0.5 * ends[0].loss
    assert it.state.best_f1 == max(end.f1 for end in ends) > 0.85
    assert precision_at_1(kept_table(it), it.data) > 0.95
    assert precision_at_1(kept_table(it), it.held) > 0.95


@BOTH
def test_progress_counts_every_pair(config):
    it = trainer(config)
    events = []
    it.run(None, lambda event: events.append(event) if isinstance(event, Progress) else None)
    done = [event.done for event in events]
    assert done == sorted(set(done))
    assert done[-1] == events[0].total == config.epochs * len(it.data)
    assert all(np.isfinite(event.loss) for event in events)


def frozen_loss(config, count):
    """The mean loss of one epoch at a rate that changes nothing, and the trainer."""
    still = dataclasses.replace(config, rate=1e-30, epochs=1, dropout=0.0, heldout=0)
    it = trainer(still, count)
    ends = []
    before = table(it).copy()
    it.run(None, lambda event: ends.append(event) if isinstance(event, EpochEnd) else None)
    assert (table(it) == before).all()
    return ends[0].loss, it


def test_softmax_masks_copies():
    loss, it = frozen_loss(dataclasses.replace(SOFTMAX, batch=40), 40)
    source, target = unit(table(it), it.data.source), unit(table(it), it.data.target)
    same = it.data.source_text[:, None] == it.data.source_text[None, :]
    same |= it.data.target_text[:, None] == it.data.target_text[None, :]
    assert same.sum() > 40
    eye = np.eye(40, dtype=bool)
    logits = 20.0 * (source @ target.T - 0.2 * eye)
    logits[same & ~eye] = -np.inf
    exponent = np.exp(logits)
    expected = [-np.log(np.diag(exponent) / exponent.sum(axis=axis)).mean() for axis in (0, 1)]
    assert loss == pytest.approx(sum(expected) / 2, rel=1e-5)


@pytest.mark.parametrize("batch, megabatch", [(40, 1), (20, 2), (10, 9)])
def test_margin_takes_the_hardest_of_the_megabatch(batch, megabatch):
    """However the pool is cut into mini-batches: the table stands still, so the sum is the same."""
    config = dataclasses.replace(MARGIN, batch=batch, megabatch=megabatch, anneal=0)
    loss, it = frozen_loss(config, 40)
    source, target = unit(table(it), it.data.source), unit(table(it), it.data.target)
    same = it.data.source_text[:, None] == it.data.source_text[None, :]
    same |= it.data.target_text[:, None] == it.data.target_text[None, :]
    cosine = source @ target.T
    true = np.diag(cosine)
    negative = np.where(same, -np.inf, cosine)
    expected = np.maximum(0, 0.4 - true + negative.max(axis=1)).mean()
    expected += np.maximum(0, 0.4 - true + negative.max(axis=0)).mean()
    assert loss == pytest.approx(expected, rel=1e-5)
    assert it.state.step == 40 // batch


def test_a_pool_without_negatives_is_passed_over():
    """One text on the source side: nothing may stand against anything, and nothing moves."""
    tokens = sentences([[0]] * 6), sentences([[n] for n in range(1, 7)])
    columns = np.zeros(6, np.int64), np.arange(6), np.ones(6, bool), np.zeros(6, np.int16)
    data = miner_train.data.PairData(*tokens, *columns)
    it = Trainer(dataclasses.replace(MARGIN, batch=2), {"piece": 7}, data, None)
    before = table(it).copy()
    it.run()
    assert it.state.step == 0 and it.state.epoch == MARGIN.epochs
    assert (kept_table(it) == before).all()


# --- schedules ----------------------------------------------------------------------------------


def test_megabatch_schedule():
    config = dataclasses.replace(MARGIN, megabatch=4, anneal=150)
    it = trainer(config, 20)
    for step, size in ((0, 1), (149, 1), (150, 2), (299, 2), (300, 3), (450, 4), (9999, 4)):
        it.state.step = step
        assert it._megabatch() == size
    assert trainer(dataclasses.replace(config, anneal=0), 20)._megabatch() == 4


def test_megabatch_grows_over_epochs(monkeypatch):
    """The pools that negatives are chosen from, by P19's schedule, counted in mini-batches."""
    config = dataclasses.replace(
        MARGIN, batch=4, megabatch=4, anneal=5, epochs=3, heldout=0, dropout=0.0
    )
    data, size = material(300)
    data = data.take(np.arange(50, 90))  # 40 pairs without copies
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
        left = 40
        while left:
            pool = min(left, 4 * min(4, 1 + steps // 5))
            expected.append(pool)
            steps += pool // 4
            left -= pool
    assert pools == expected
    assert pools[0] == 4 and max(pools) == 16 and it.state.step == 30


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


# --- the seed -----------------------------------------------------------------------------------


@BOTH
def test_the_seed_decides_everything(config):
    threads = numba.get_num_threads()
    first = trained(trainer(config))
    try:
        numba.set_num_threads(1)
        assert trained(trainer(config)) == first
    finally:
        numba.set_num_threads(threads)
    other = trained(trainer(dataclasses.replace(config, seed=2)))
    assert all(
        other[name] != first[name]
        for name in ("now/sp/weights", "best/sp/weights", "now/sp/first", "now/sp/second")
    )


def test_dropout_is_drawn():
    states = [
        trained(trainer(dataclasses.replace(SOFTMAX, epochs=1, dropout=rate)))
        for rate in (0.0, 0.1)
    ]
    assert states[0]["now/sp/weights"] != states[1]["now/sp/weights"]


# --- the best epoch -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scores, kept", [([0.2, 0.9, 0.5], 2), ([0.7, 0.6, 0.7], 3), ([0.1, 0.2, 0.3], 3)]
)
def test_the_best_epoch_is_kept(monkeypatch, scores, kept):
    marks = iter(scores)

    def scripted(source, target):
        f1 = next(marks)
        found = mining_f1(source, target)
        changed = {"f1": f1, "threshold": 10 * f1}
        return Evaluation(
            **{f.name: getattr(found, f.name) for f in dataclasses.fields(found)} | changed
        )

    monkeypatch.setattr(miner_train.loop, "mining_f1", scripted)
    it = trainer(dataclasses.replace(SOFTMAX, epochs=3))
    tables, best = [], []

    def remember(event):
        if isinstance(event, EpochEnd):
            tables.append(table(it).tobytes())
            best.append(event.best)

    it.run(None, remember)
    assert len(set(tables)) == 3
    assert kept_table(it).tobytes() == tables[kept - 1]
    assert it.state.best_f1 == it.state.best_score == scores[kept - 1]
    assert it.state.threshold == 10 * scores[kept - 1]
    assert best[kept - 1] and not any(best[kept:])


def test_without_a_held_out_task_the_last_epoch_is_kept():
    it = trainer(dataclasses.replace(SOFTMAX, heldout=59))
    assert it.held is None
    ends = []
    it.run(None, lambda event: ends.append(event) if isinstance(event, EpochEnd) else None)
    assert kept_table(it).tobytes() == table(it).tobytes()
    assert all(end.f1 is None and end.threshold is None for end in ends)
    assert np.isnan(it.state.threshold)


def test_held_out_mining_hides_most_partners(monkeypatch):
    asked = {}

    def remember(pairs, gold):
        asked.update(pairs=pairs, gold=gold)
        return best_threshold(pairs, gold)

    best_threshold = miner_train.heldout.best_threshold
    monkeypatch.setattr(miner_train.heldout, "best_threshold", remember)
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(60, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    assert mining_f1(vectors, vectors).f1 == 1
    assert asked["gold"] == {(str(n), str(n)) for n in range(0, 60, 6)}
    mined = [(source, target) for _, source, target in asked["pairs"]]
    assert len({s for s, _ in mined}) == len(mined) > 10  # others are tempted
    hidden = [(s, t) for s, t in mined if s == t and int(s) % 6]
    assert not hidden
    assert mining_f1(vectors, generator.permutation(vectors)).f1 < 0.5


# --- going on -----------------------------------------------------------------------------------


def stopping(after, events=None):
    """A report that kills the training at its ``after``-th sign of progress."""
    seen = 0

    def report(event):
        nonlocal seen
        seen += isinstance(event, Progress)
        if seen == after:
            raise Stop
        if events is not None:
            events.append(event)

    return report


@pytest.fixture
def checkpoint(tmp_path):
    it = Checkpoint(tmp_path / "model", {"any": "key"})
    it.save_vocabulary({"sp.model": b"vocabulary"})
    return it


@BOTH
@pytest.mark.parametrize("every, first_again", [(-1.0, "step"), (3600.0, "epoch")])
def test_a_killed_training_goes_on(config, every, first_again, checkpoint, monkeypatch):
    whole = []
    expected = trained(trainer(config), None, whole.append)

    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", every)
    first = []
    per_epoch = next(i for i, event in enumerate(whole) if isinstance(event, EpochEnd))
    with pytest.raises(Stop):
        trainer(config).run(checkpoint, stopping(per_epoch + 3, first))
    saved = checkpoint.load_state()
    assert saved["epoch"] == 1 and (saved["position"] > 0) == (first_again == "step")

    second = []
    it = trainer(config)
    assert trained(it, checkpoint, second.append) == expected
    # Nothing done twice but what came after the checkpoint.
    start = len(first) if first_again == "step" else per_epoch + 1
    assert first == whole[: len(first)] and second == whole[start:]
    # Once done, there is nothing left to do.
    third = []
    assert trained(trainer(config), checkpoint, third.append) == expected
    assert third == []


def test_a_killed_training_by_language_pair_goes_on(checkpoint, monkeypatch):
    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", -1.0)
    config = dataclasses.replace(SOFTMAX, temperature=3, batches="separate")

    def made():
        it = trainer(config)
        language = (np.arange(len(it.data)) % 5 == 0).astype(np.int16)
        it.data = dataclasses.replace(it.data, language=language)
        return it

    whole = []
    expected = trained(made(), None, whole.append)
    assert expected != trained(trainer(config))  # without languages
    with pytest.raises(Stop):
        made().run(checkpoint, stopping(5, []))
    second = []
    assert trained(made(), checkpoint, second.append) == expected
    assert second == whole[-len(second) :] and len(second) < len(whole)


def test_an_interrupt_waits_for_the_step(checkpoint):
    expected = trained(trainer(SOFTMAX))
    handler = signal.getsignal(signal.SIGINT)
    seen = []

    def interrupting(event):
        seen.append(event)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer(SOFTMAX).run(checkpoint, interrupting)
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(seen) == 3
    saved = checkpoint.load_state()
    assert (saved["step"], saved["position"]) == (3, 3 * 64)  # the third step is not lost
    assert trained(trainer(SOFTMAX), checkpoint) == expected


def test_a_second_interrupt_does_not_wait(checkpoint):
    def insisting(event):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("should have been interrupted by now")

    with pytest.raises(KeyboardInterrupt):
        trainer(SOFTMAX).run(checkpoint, insisting)
    assert checkpoint.load_state() is None


def test_training_in_a_thread(checkpoint):
    """Where no signal handler can be set."""
    expected = trained(trainer(SOFTMAX))
    found = []
    thread = threading.Thread(target=lambda: found.append(trained(trainer(SOFTMAX), checkpoint)))
    thread.start()
    thread.join()
    assert found == [expected]


# --- the checkpoint -----------------------------------------------------------------------------


def test_checkpoint_of_another_key_is_refused(checkpoint, tmp_path):
    assert checkpoint.load_vocabulary() == {"sp.model": b"vocabulary"}
    assert checkpoint.directory == tmp_path / ".model.training"
    other = Checkpoint(tmp_path / "model", {"any": "other"})
    with pytest.raises(
        ArtifactError, match=r"\.model\.training: .*other options or text.*--restart"
    ):
        other.load_vocabulary()
    other.remove()
    assert other.load_vocabulary() is None and not other.directory.exists()


def test_checkpoint_without_its_key_begins_anew(checkpoint):
    """Killed between its two first writes."""
    (checkpoint.directory / "key.json").unlink()
    assert checkpoint.load_vocabulary() is None


@pytest.mark.parametrize("left", [0, 10, 300])
def test_checkpoint_cut_short(checkpoint, left):
    checkpoint.save_state({"table": np.ones((30, 4))})
    state = checkpoint.directory / "state.npz"
    assert (checkpoint.load_state()["table"] == 1).all()
    state.write_bytes(state.read_bytes()[:left])
    with pytest.raises(ArtifactError, match=r"state\.npz: cannot be read .*--restart"):
        checkpoint.load_state()


def test_checkpoint_of_the_pairs(checkpoint):
    data, _ = material(50)
    assert checkpoint.load_pairs() is None
    checkpoint.save_pairs(data)
    found = checkpoint.load_pairs()
    for one, other in (
        (found.source.ids, data.source.ids),
        (found.source.offsets, data.source.offsets),
        (found.target.ids, data.target.ids),
        (found.target.offsets, data.target.offsets),
        (found.source_text, data.source_text),
        (found.target_text, data.target_text),
        (found.same, data.same),
        (found.language, data.language),
    ):
        assert one.dtype == other.dtype and one.tolist() == other.tolist()
    path = checkpoint.directory / "pairs.h5"
    for left in (b"", path.read_bytes()[:1000], b"text"):
        path.write_bytes(left)
        with pytest.raises(ArtifactError, match="pairs.h5: cannot be read.*--restart") as caught:
            checkpoint.load_pairs()
        assert "\n" not in str(caught.value)


def test_checkpoint_with_other_bytes_is_refused(checkpoint):
    """Zeroed token ids are still a table of ids: only the digest tells."""
    checkpoint.save_pairs(material(50)[0])
    checkpoint.save_state({"table": np.ones((30, 4))})
    with h5py.File(checkpoint.directory / "pairs.h5", "r") as file:
        place = file["source/0/ids"].id.get_offset()
    with open(checkpoint.directory / "pairs.h5", "r+b") as plain:
        plain.seek(place)
        plain.write(bytes(40))
    state = checkpoint.directory / "state.npz"
    state.write_bytes(state.read_bytes().replace(np.ones(4).tobytes(), bytes(32)))
    (checkpoint.directory / "sp.model").write_bytes(b"vocabularx")
    for load, name in (
        (checkpoint.load_pairs, "pairs.h5"),
        (checkpoint.load_state, "state.npz"),
        (checkpoint.load_vocabulary, "sp.model"),
    ):
        with pytest.raises(ArtifactError, match=rf"{name}: .*checksum is wrong.*--restart"):
            load()


def test_checkpoint_excludes_other_runs(checkpoint, tmp_path):
    with checkpoint:
        with pytest.raises(ResourceError, match=rf"held by process {os.getpid()} on"):
            Checkpoint(tmp_path / "model", {"any": "key"}).__enter__()
        assert checkpoint.load_vocabulary()
    assert [path.name for path in tmp_path.iterdir()] == [".model.training"]


def test_checkpoint_of_another_version_is_refused(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(miner_train.training_checkpoint, "VERSION", 1)
    with pytest.raises(ArtifactError, match="another version of this program.*--restart"):
        Checkpoint(tmp_path / "model", {"any": "key"}).load_vocabulary()


def test_checkpoint_is_replaced_whole_or_not(checkpoint, monkeypatch):
    checkpoint.save_state({"step": np.array(1)})

    def failing(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", failing)
    with pytest.raises(ResourceError, match=r"\.model\.training: .*no space left"):
        checkpoint.save_state({"step": np.array(2)})
    assert checkpoint.load_state()["step"] == 1
    assert not list(checkpoint.directory.glob("*.partial"))


# --- text to model ------------------------------------------------------------------------------

FROM_TEXT = TrainConfig(pieces=120, dimension=16, batch=64, epochs=2, rate=0.02, heldout=70)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    directory = tmp_path_factory.mktemp("text")
    for name, side in zip(("a", "b"), synthetic(700), strict=True):
        (directory / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return TextPair(str(directory / "a"), str(directory / "b"))


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """The model of an uninterrupted training."""
    output = tmp_path_factory.mktemp("whole") / "model"
    model = train_model([text], FROM_TEXT, output)
    assert list(output.parent.iterdir()) == [output]  # no checkpoint stays
    return model


def test_model_says_what_made_it(whole):
    assert TrainConfig.from_dict(whole.training["config"]) == FROM_TEXT
    assert whole.training["text"] == [{"name": "a", "pairs": 700, "empty": 0, "not UTF-8": 0}]
    assert whole.training["held-out pairs"] == 70
    assert whole.training["pairs"] == 630
    assert whole.training["held-out mining F1"] > 0.5
    assert whole.threshold > 0
    assert Encoder(whole).encode(["gibts nicht"]).shape == (1, 16)


def kill(text, output, config=FROM_TEXT):
    def progress(stage, done, total):
        if done > 1000:
            raise Stop

    with pytest.raises(Stop):
        train_model([text], config, output, progress=progress)


def test_killed_then_repeated_is_the_same_model(text, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", -1.0)
    kill(text, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == [".model.training"]
    monkeypatch.setattr(miner_train.pipeline, "learn_vocabularies", None)  # not learned again
    lines, done = [], []
    model = train_model(
        [text],
        FROM_TEXT,
        tmp_path / "model",
        report=lines.append,
        progress=lambda *event: done.append(event[1]),
    )
    assert f"going on from {tmp_path / '.model.training'}" in lines
    assert min(done) > 1000
    assert model.fingerprint == whole.fingerprint
    assert (
        model.parts[0].weights == whole.parts[0].weights
    ).all() and model.threshold == whole.threshold
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_other_options_or_text_are_refused_until_restart(text, whole, tmp_path):
    kill(text, tmp_path / "model", dataclasses.replace(FROM_TEXT, rate=0.01))
    with pytest.raises(ArtifactError, match=r"\.model\.training.*--restart"):
        train_model([text], FROM_TEXT, tmp_path / "model")
    swapped = TextPair(text.target, text.source)
    with pytest.raises(ArtifactError, match=r"\.model\.training"):
        train_model([swapped], dataclasses.replace(FROM_TEXT, rate=0.01), tmp_path / "model")
    model = train_model([text], FROM_TEXT, tmp_path / "model", restart=True)
    assert model.fingerprint == whole.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_restart_forgets_a_checkpoint_of_its_own(text, whole, tmp_path):
    kill(text, tmp_path / "model")
    done = []
    model = train_model(
        [text],
        FROM_TEXT,
        tmp_path / "model",
        restart=True,
        progress=lambda *event: done.append(event[1]),
    )
    assert min(done) == 64
    assert model.fingerprint == whole.fingerprint


def test_too_few_pairs_leave_nothing_behind(text, whole, tmp_path):
    """So that the right text, given next, is not refused for an old checkpoint."""
    (tmp_path / "one").write_text("bada gefe\n", encoding="utf-8")
    one = TextPair(str(tmp_path / "one"), str(tmp_path / "one"))
    with pytest.raises(CorpusError, match="only 1 .*too few"):
        train_model([one], FROM_TEXT, tmp_path / "model")
    assert train_model([text], FROM_TEXT, tmp_path / "model").fingerprint == whole.fingerprint


def test_a_training_that_diverges_is_an_error():
    it = trainer(dataclasses.replace(SOFTMAX, rate=1e30))
    with pytest.raises(ResourceError, match="diverged in epoch 1.*--rate"):
        it.run()


def test_threads_set_elsewhere_do_not_matter():
    """As a search with --threads in the same program would leave them; and they are put back."""
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
