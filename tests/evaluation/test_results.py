"""miner.evaluation.results, summary and suite: means, resamples, tables, records."""

import json
from dataclasses import replace

import numpy as np
import pytest

from miner.errors import MismatchError
from miner.evaluation import metrics, suite, summary
from miner.evaluation import results as bootstrap
from miner.evaluation.results import Difference, Metric, TaskResult, differences, mean_of, measure

GENERATOR = np.random.default_rng(4)
ONE, OTHER = GENERATOR.random((2, 80))


def measured(values: np.ndarray, name: str = "a set") -> tuple[Metric, ...]:
    return measure(
        name,
        {
            "mean": metrics.mean(values),
            "share": metrics.ratio(values > 0.5, np.ones(len(values))),
        },
        len(values),
    )


def test_a_mean_resamples_each_set_independently() -> None:
    one, other = measured(ONE)[0], measured(OTHER, "another")[0]
    mean = mean_of("both", (one, other))
    assert (mean.dataset, mean.name, mean.items) == ("both", "mean", 0)
    assert mean.value == pytest.approx((one.value + other.value) / 2)
    assert one.resamples is not None and other.resamples is not None and mean.resamples is not None
    np.testing.assert_allclose(mean.resamples, (one.resamples + other.resamples) / 2)
    # The mean of two independent sets has half the variance of one.
    assert mean.resamples.std() == pytest.approx(one.resamples.std() / np.sqrt(2), rel=0.15)
    assert mean_of("both", (Metric("a", "x", 1.0, 2), Metric("b", "x", 2.0, 2))).resamples is None
    with pytest.raises(ValueError):
        mean_of("both", measured(ONE))


def test_a_model_against_itself() -> None:
    for one in differences(measured(ONE), measured(ONE)):
        assert (one.value, one.interval, one.p) == (0.0, (0.0, 0.0), 1.0)


def test_differences_are_paired() -> None:
    """Both models are measured on the same resampled items, so that common variation cancels."""
    (better, _) = differences(measured(ONE + 0.01), measured(ONE))
    assert better.value == pytest.approx(0.01)
    assert better.interval == (pytest.approx(0.01), pytest.approx(0.01))
    assert better.p == pytest.approx(2 / 1001)
    (worse, _) = differences(measured(ONE), measured(ONE + 0.01))
    assert worse.value == pytest.approx(-0.01) and worse.p == better.p
    (chance, _) = differences(measured(ONE), measured(OTHER))
    assert chance.value == pytest.approx(ONE.mean() - OTHER.mean())
    assert chance.interval[0] < chance.value < chance.interval[1]


def test_only_what_both_have_is_compared() -> None:
    speed = Metric("a set", "speed", 3.0, 80)
    found = differences((*measured(ONE), speed), (*measured(OTHER)[:1], speed))
    assert [one.name for one in found] == ["mean"]
    assert differences(measured(ONE), measured(OTHER, "another")) == []
    with pytest.raises(MismatchError, match="a set: 80 and 79 items; the same text is needed"):
        differences(measured(ONE), measured(OTHER[1:]))


def test_text() -> None:
    mean, share = measured(ONE)
    speed = Metric("1 thread", "sentences/s", 12345.6, 10)
    result = TaskResult(
        "x", (mean, share, speed), (share,), ("c: not there",), ("a note", "more"), {"k": [1]}
    )
    low, high = mean.interval or (0, 0)
    lines = summary.task_text(result).splitlines()
    assert lines[0].split() == ["mean", "share"]
    assert lines[1].startswith(f"a set  {mean.value:.3f} ({low:.3f} to {high:.3f})  ")
    # Sets with other metrics get a table of their own.
    assert lines[2] == "" and lines[3].split() == ["sentences/s"]
    assert lines[4].split() == ["1", "thread", "12,346"]
    assert lines[5:] == ["", "a note", "more", "", "missing: c: not there"]
    brief = summary.summary_text([result, TaskResult("y", (speed,), (speed,))]).splitlines()
    low, high = share.interval or (0, 0)
    share_row = ["x", "a", "set", "share", f"{share.value:.3f}", f"{low:.3f}", "to", f"{high:.3f}"]
    assert brief[1].split() == share_row
    assert brief[2].split() == ["y", "1", "thread", "sentences/s", "12,346"]
    assert brief[3:] == ["", "missing: c: not there"]
    assert summary.task_text(TaskResult("x", (), (), ("nothing here",))) == "missing: nothing here"
    assert json.loads(json.dumps(result.as_dict())) == {
        "figures": [one.as_dict() for one in (mean, share, speed)],
        "missing": ["c: not there"],
        "k": [1],
    }


def test_difference_table() -> None:
    one = Difference("a set", "mean", 0.0123, (-0.01, 0.0301), 0.04)
    lines = summary.difference_table([one])
    head, row = lines.splitlines()
    assert head.split() == ["evaluation", "set", "metric", "difference", "95%", "interval", "p"]
    assert row.split() == ["a", "set", "mean", "+0.012", "-0.010", "to", "+0.030", "0.040"]
    assert summary.difference_table([replace(one, p=2 / 1001, task="sts")]).endswith("≤0.002")


def test_compare_and_record() -> None:
    one = [TaskResult("x", measured(ONE), measured(ONE)[:1]), TaskResult("y", (), ())]
    other = [TaskResult("x", measured(OTHER), ()), TaskResult("y", measured(OTHER), ())]
    changes = summary.compare(one, other)
    assert [(found.task, found.name) for found in changes] == [("x", "mean"), ("x", "share")]
    assert summary.unpaired(one, other) == []
    assert summary.unpaired(one, [TaskResult("x", measured(OTHER)[:1], ())]) == ["a set share"]

    class Named:
        name = "elsewhere"

    record = suite.record(Named(), one)  # type: ignore[arg-type]
    assert record["model"] == "elsewhere" and record["fingerprint"] is None
    assert list(record["evaluations"]) == ["x", "y"]


def test_resamples_depend_neither_on_the_statistics_nor_on_the_block(monkeypatch):
    generator = np.random.default_rng(5)
    x, good = generator.normal(size=70), generator.random(70) < 0.4
    statistics = [
        metrics.mean(x),
        metrics.ratio(good.astype(float), np.ones(70)),
        metrics.pearson(x, x + good),
        metrics.spearman(x, x + good),
        metrics.auc(x, good),
        metrics.average_precision(x, good),
    ]
    whole = bootstrap.resample(statistics, 70, "a set")
    assert whole.shape == (6, bootstrap.RESAMPLES)
    for row, statistic in zip(whole, statistics, strict=True):
        alone = bootstrap.resample([statistic], 70, "a set")[0]
        np.testing.assert_array_equal(alone, row)
    for most in (1, 71, 70 * 333):
        monkeypatch.setattr(bootstrap, "WEIGHTS_AT_ONCE", most)
        in_blocks = bootstrap.resample(statistics, 70, "a set")
        np.testing.assert_allclose(in_blocks, whole, rtol=1e-12, atol=1e-12)
