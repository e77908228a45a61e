"""The decile filter: tenths of the pairs that are left, by another filter's score."""

from pathlib import Path

import numpy as np
from support.cleaning import cleaned, filters, plan_of  # noqa: F401 (fixture)
from support.raw_lines import put


def test_deciles(tmp_path: Path) -> None:
    """The earlier of two tied rows is the better one, as in all filters."""
    scores = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    path = put(tmp_path / "a.tsv", "".join(f"a\tb\t{score}\n" for score in scores).encode())
    for name, sign in (("good", 1), ("expensive", -1)):
        plan = plan_of({"name": name, "column": 3}, {"name": "decile", "of": name})
        found = cleaned(path, plan)
        worst_first = sorted(range(10), key=lambda row: (sign * scores[row], -row))
        expected = [1 + worst_first.index(row) for row in range(10)]
        assert found.scores("decile").tolist() == expected
        assert np.flatnonzero(found.kept).tolist() == sorted(worst_first[-2:])
    for count in (0, 1, 7, 23):
        path = put(tmp_path / "b.tsv", b"".join(b"a\tb\t%d\n" % i for i in range(count)))
        plan = plan_of({"name": "good", "column": 3}, {"name": "decile", "of": "good"})
        found = cleaned(path, plan)
        expected = [i * 10 // count + 1 for i in range(count)]
        assert found.scores("decile").tolist() == expected
