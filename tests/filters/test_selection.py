"""Selection among good pairs: best of each source, percentiles, mixtures of lengths and corpora."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of, filters  # noqa: F401 (fixture)
from support.raw_lines import put

from miner import filter as filter_rows
from miner.cleaning.settings import Selection
from miner.config_fields import SettingsError
from miner.filters.filter_types import Context, Rivals
from miner.filters.selection import Mixed, places_in_groups

GOOD = {"name": "good", "column": 3}
SCORES = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]


def table(path: Path, sources: str = "aabbAbcaabbd") -> Path:
    rows = enumerate(zip(sources, SCORES, strict=True))
    lines = [f"{source}!\tb {n}\t{score}" for n, (source, score) in rows]
    return put(path, "".join(f"{line}\n" for line in lines).encode())


def test_the_best_of_each_source(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv")
    found = cleaned(path, config_of(GOOD, {"name": "per_source", "maximum": 2}))
    best: dict[str, list[int]] = {}
    for row in sorted(range(12), key=lambda row: (-SCORES[row], row)):
        best.setdefault("aabbabcaabbd"[row], []).append(row)
    assert np.flatnonzero(found.kept).tolist() == sorted(
        r for own in best.values() for r in own[:2]
    )
    place = {row: number for own in best.values() for number, row in enumerate(own, 1)}
    assert found.scores("per_source").tolist() == [place[row] for row in range(12)]


@pytest.mark.parametrize(("name", "sign"), [("good", 1), ("expensive", -1)])
def test_percentiles_and_deciles(tmp_path: Path, name: str, sign: int) -> None:
    """The earlier of two tied rows ranks higher, as in all filters."""
    path, rank = table(tmp_path / "a.tsv"), {"name": name, "column": 3}
    worst_first = sorted(range(12), key=lambda row: (sign * SCORES[row], -row))
    found = cleaned(path, config_of(rank, {"name": "percentile", "minimum": 25, "maximum": 75}))
    assert np.flatnonzero(found.kept).tolist() == sorted(worst_first[2:9])
    found = cleaned(path, config_of(rank, {"name": "decile", "of": name}))
    expected = [worst_first.index(row) * 10 // 12 + 1 for row in range(12)]
    assert found.scores("decile").tolist() == expected
    assert np.flatnonzero(found.kept).tolist() == sorted(worst_first[-2:])


def mixture(groups: list[int], rank: list[float], weight: dict[int, float]) -> list[int]:
    """Take the best pair of the group with the fewest pairs for its weight, one at a time."""
    left = {
        one: sorted(
            (r for r in range(len(groups)) if groups[r] == one), key=lambda r: (-rank[r], r)
        )
        for one in set(groups)
    }
    taken, out = Counter[int](), []
    while any(left.values()):
        least = min((taken[one] + 1) / weight[one] for one in left if left[one])
        ready = [
            left[one][0] for one in left if left[one] and (taken[one] + 1) / weight[one] == least
        ]
        row = min(ready, key=lambda r: (-rank[r], r))
        left[groups[row]].remove(row)
        taken[groups[row]] += 1
        out.append(row)
    return out


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.0])), max_size=20))
def test_a_mixture_takes_from_groups_in_turn(pairs: list[tuple[int, float]]) -> None:
    groups, rank = [group for group, _ in pairs], [score for _, score in pairs]
    rows = np.arange(len(pairs))
    keys = np.array(groups, np.uint64).reshape(-1, 1)
    by_length = Mixed({"of": "length", "temperature": 1.0}, Context())
    found = by_length.scores(Rivals(rows, keys=keys, rank=np.array(rank)))
    expected = mixture(groups, rank, dict.fromkeys(range(4), 1.0))
    assert np.argsort(found).tolist() == expected
    # The same groups as consecutive corpora, weighted by size.
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=4)
    starts = np.cumsum(sizes) - sizes
    by_corpus = Mixed({"of": "corpus", "temperature": 2.0}, Context())
    ranked = np.array(rank)[order]
    found = by_corpus.scores(Rivals(rows, keys=keys, rank=ranked, starts=starts[sizes > 0]))
    weight = {group: float(size) ** 0.5 for group, size in enumerate(sizes.tolist())}
    own = [groups[row] for row in order]
    assert np.argsort(found).tolist() == mixture(own, [rank[row] for row in order], weight)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20))
def test_places_in_groups(pairs: list[tuple[int, int]]) -> None:
    group, rank = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    found = places_in_groups(group, rank, np.arange(len(pairs)))
    for row, (own, score) in enumerate(pairs):
        before = [r for r, (g, s) in enumerate(pairs) if g == own and (-s, r) < (-score, row)]
        assert found[row] == len(before)


def test_options_and_python_choose_alike(miner, tmp_path: Path, knowing_model) -> None:
    path = put(
        tmp_path / "a.tsv",
        "".join(f"satz {n}\t{'word ' * (1 + n % 3 * 5)}{n}\n" for n in range(60)).encode(),
    )
    selection = Selection(top=12, balance="length")
    by_call = filter_rows(
        path, filters=["length", "cosine"], selection=selection, model=knowing_model
    )
    lengths = Counter(len(row["target"].split()) for row in by_call)
    assert len(by_call) == 12 and set(lengths.values()) == {4}
    toml = put(tmp_path / "f.toml", b"[[filter]]\nname='length'\n[[filter]]\nname='cosine'\n")
    out = tmp_path / "out.tsv"
    code, _, err = miner(
        "filter", path, "--config", toml, "--model", knowing_model, "--top-n", 12, "--balance",
        "length", "--keep-percentile", "0:100", "--per-source", 1, "-o", out, "--threads", 1,
    )  # fmt: skip
    assert code == 0, err
    assert [line.split("\t")[1] for line in out.read_text("utf-8").splitlines()] == [
        row["target"] for row in by_call
    ]


def test_corpora_share_by_temperature(miner, tmp_path: Path, knowing_model) -> None:
    toml = put(tmp_path / "f.toml", b"[[filter]]\nname='cosine'\n")
    for name, count in (("a", 60), ("b", 15)):
        (tmp_path / "in").mkdir(exist_ok=True)
        lines = "".join(f"satz {name} {n}\tsentence {name} {n}\n" for n in range(count))
        put(tmp_path / f"in/{name}.tsv", lines.encode())
    for temperature, expected in ((1, [16, 4]), (1000, [10, 10])):
        code, _, err = miner(
            "filter", f"{tmp_path}/in/*.tsv", "--config", toml, "--model", knowing_model,
            "--top-n", 20, "--temperature", temperature, "-o", tmp_path / "out", "--threads", 1,
        )  # fmt: skip
        assert code == 0, err
        kept = [
            len((tmp_path / f"out/{name}.tsv").read_text("utf-8").splitlines()) for name in "ab"
        ]
        assert kept == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"balance": "length"}, "--top-n"),
        ({"temperature": 2.0}, "--top-n"),
        ({"top": 3, "temperature": 2.0, "balance": "length"}, "two mixtures"),
        ({"percentile": "60:10"}, "LOW:HIGH"),
        ({"percentile": "half"}, "LOW:HIGH"),
        ({"percentile": (10, 60)}, "LOW:HIGH"),
        ({"per_source": 0}, "out of range"),
        ({"top": -1}, "out of range"),
        ({"top": 1.5}, "no whole number"),
        ({"words": -3}, "out of range"),
        ({"precision": 2.0}, "out of range"),
    ],
)
def test_choices_that_cannot_be(given: dict, said: str) -> None:
    with pytest.raises((SettingsError, ValueError), match=said):
        Selection(**given)
