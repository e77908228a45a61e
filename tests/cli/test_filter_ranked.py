"""miner filter: the best rows by a rank, a threshold, a number or an estimate."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.filtered import COLUMNS, clean, filters, noisy, place, read  # noqa: F401 (fixtures)
from support.raw_lines import put

from miner.cli.option_types import COUNT


@pytest.fixture
def ranked() -> Path:
    """Write 200 rows with 0 to 4 words and two scores, many of them equal."""
    generator = np.random.default_rng(9)
    scores = generator.integers(0, 21, (200, 2)) / 20
    words = generator.integers(0, 5, 200).tolist()
    lines = [
        f"s{i}\t{' '.join('w' * n)}\t{a}\t{b}"
        for i, (n, (a, b)) in enumerate(zip(words, scores.tolist(), strict=True))
    ]
    return put(Path("ranked.tsv"), "".join(f"{line}\n" for line in lines).encode())


RANKED = ({"name": "good", "column": 3, "minimum": 0.1}, {"name": "expensive", "column": 4})


def best(path: Path, column: int, sign: int) -> list[list[str]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    left = [row for row in rows if float(row[2]) >= 0.1]
    return sorted(left, key=lambda row: -sign * float(row[column]))  # stable


@pytest.mark.parametrize(("rank", "column", "sign"), [("good", 2, 1), ("expensive", 3, -1)])
def test_the_best_are_kept(clean, ranked: Path, rank, column, sign) -> None:
    def kept(*arguments: object) -> set[str]:
        out, _ = clean(ranked, *arguments, rules=RANKED, rank=rank)
        return {line.split("\t")[0] for line in out.split("\n")[:-1]}

    order = best(ranked, column, sign)
    words = np.cumsum([len(row[1].split()) for row in order])
    for n in (0, 1, 37, 1000):
        assert kept("--top-n", n) == {row[0] for row in order[:n]}
    for n in (0, 3, 100, "1k"):
        many = 10**3 if n == "1k" else int(n)
        assert kept("--target-words", n) == {
            row[0] for row, total in zip(order, words, strict=True) if total <= many
        }
    for bound in (0.5, 0.95, 0.1):
        good = [row[0] for row in order if sign * float(row[column]) >= sign * bound]
        assert kept("--threshold", bound) == set(good)
        assert kept("--threshold", bound, "--top-n", 20) == set(good[:20])
    both = {row[0] for row, total in zip(order[:30], words, strict=False) if total <= 40}
    assert kept("--top-n", 30, "--target-words", 40) == both


def test_a_share_of_good_ones(clean, noisy: Path) -> None:
    quality = ({"name": "quality", "minimum": 0.0},)
    clean(noisy, *COLUMNS, "-o", "all", "--scores-jsonl", "scores", rules=quality)
    values = [json.loads(line)["quality"] for line in read("scores")]
    order = sorted(range(len(values)), key=lambda row: (-values[row], row))
    for share in (0.7, 0.5, 0.9999):
        _, err = clean(noisy, *COLUMNS, "-o", "out", "--target-precision", share, rules=quality)
        means = np.cumsum([values[row] for row in order]) / np.arange(1, len(values) + 1)
        count = int((means >= share).sum())
        assert len(read("out")) == pytest.approx(count, abs=1)  # means of rounded scores
        assert "target-precision" in err
    # Ranked by a cosine, named in the configuration.
    cosine = ({"name": "cosine"}, {"name": "duplicates"})
    clean(noisy, *COLUMNS, "-o", "out", "--top-n", 10, "--scores-jsonl", "s", rules=cosine,
          rank="cosine")  # fmt: skip
    values = [json.loads(line)["cosine"] for line in read("s")]
    assert len(read("out")) == 10
    least = sorted(values, reverse=True)
    first = read("out")[0].split(b"\t")[0]
    assert values[int(first)] >= least[40]


def test_counts() -> None:
    for text, number in (
        ("5000", 5000), ("200k", 200_000), ("5M", 5_000_000), ("1.5k", 1500), ("2g", 2 * 10**9),
        ("0", 0), (" 7 ", 7), ("1e3", 1000),
    ):  # fmt: skip
        assert COUNT.convert(text, None, None) == number
    for text in ("", "k", "-1", "1.5", "nan", "inf", "5X", "1e30"):
        with pytest.raises(Exception, match="is not a count"):
            COUNT.convert(text, None, None)
