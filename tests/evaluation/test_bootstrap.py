"""miner.evaluation.results: resamples by name and size, and the coverage of intervals."""

import numpy as np

from miner.evaluation import metrics
from miner.evaluation import results as bootstrap


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
