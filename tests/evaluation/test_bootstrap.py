"""miner.evaluation.results: resamples by name and size, and the coverage of intervals."""

from hashlib import sha256

import numpy as np

from miner.evaluation import metrics
from miner.evaluation import results as bootstrap


def test_resamples_depend_on_the_name_and_the_number_of_items() -> None:
    values = np.arange(50.0)

    def sums_of(name: str, count: int = 20) -> np.ndarray:
        """Return the mean of powers of two, which differs between any two resamples."""
        return bootstrap.resample([metrics.mean(np.exp2(values))], 50, name, count)[0]

    seed = int.from_bytes(sha256(b"a set\x0050").digest()[:8], "big")
    generator = np.random.default_rng(seed)
    expected = [np.exp2(values)[generator.integers(50, size=50)].mean() for _ in range(20)]
    np.testing.assert_allclose(sums_of("a set"), expected)
    np.testing.assert_array_equal(sums_of("a set", 10), sums_of("a set")[:10])
    assert not np.isin(sums_of("another set"), sums_of("a set")).any()


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
