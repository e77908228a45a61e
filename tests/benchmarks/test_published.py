"""Published figures and ours beside them: places, tables, and lookups in the results."""

import re

import pytest

from benchmarks.models import evaluation_tables, our_figures, paper_figures, published

FIGURES = published.figures()
PLACE = re.compile(r"Table \d+|Section |tasks/bucc|BUCC test|STS tasks")
NUMBER = re.compile(r"[+-]?\d*\.?\d+%?")


def test_each_figure_has_a_place() -> None:
    assert len(FIGURES) > 200
    for one in FIGURES:
        assert all(vars(one).values()), one
        assert PLACE.match(one.place) and NUMBER.fullmatch(one.value), one
    keys = [(one.paper, one.version, one.place, one.row, one.column) for one in FIGURES]
    assert len({*keys}) == len(keys), "a figure is listed twice"


def test_tables_have_all_figures_of_a_paper() -> None:
    for paper in published.PAPERS:
        lines = published.paper_table(paper)
        cells = [cell for line in lines for cell in re.split(r" \|(?: |$)| · ", line)]
        wanted = [f"{one.column} {one.value}" for one in FIGURES if one.paper == paper]
        assert sum(map(cells.count, {*wanted})) == len(wanted)


def test_results_take_published_rows_from_the_file() -> None:
    assert published.values("P18", "Table 9")["Word"] == {"STS-B": "79.2"}
    for row, places in evaluation_tables.PUBLISHED.values():
        assert "STS-B" in {key for place in places for key in published.values(*place)[row]}
    rows = published.values(*paper_figures.PUBLISHED)
    assert all(tuple(cells) == paper_figures.PUBLISHED_SETS for cells in rows.values())


@pytest.mark.parametrize(
    ("paper", "place", "row", "column", "value"),
    [
        ("P17", "Table 13", "CC-CS, 100k", "GRAN", "68.5"),
        ("P18", "Table 12", "Trigram-word", "captions", "87.1"),
        ("P19", "Section 4.2, Table 5", "languages of high overlap", "syntactic distance", "-29.0"),
        ("S18", "Table 3", "GRAN, en", "70%", "92.1"),
    ],
)
def test_figures_as_they_were_read(
    paper: str, place: str, row: str, column: str, value: str
) -> None:
    assert published.values(paper, place)[row][column] == value


def test_our_figures_are_looked_up_in_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"name": "a, b", "seed": seed, "of": {"margin": "ratio"}, "f": {"value": seed / 10}}
        for seed in (1, 2)
    ]
    metric = {"value": 0.5, "interval": [0.4, 0.625]}
    results = {"rows": rows, "m": metric, "n": [3, 4], "of": "0"}
    command = "python -m benchmarks r --only s --data x --models y --pairs 9"
    record = {"sections": {"s": {"results": results, "command": command}}}
    monkeypatch.setattr(our_figures.report, "read", lambda name: {"r.json": record}[name])

    def filled(template: str) -> str:
        return our_figures.REFERENCE.sub(our_figures.filled, template)

    assert filled("x {r/s > rows > name=a, b > f | %} y") == "x 15.0 y", "the mean of the seeds"
    assert filled("{r/s > rows > seed=1;2 > of.margin=ratio > f | .2f}") == "0.10 / 0.20"
    assert filled("{r/s > n > 0;1 | +.1f}; {r/s > m | interval}") == "+3.0 / +4.0; 50.0 (40.0–62.5)"
    assert filled("{r/s | command}") == "benchmarks r --only s --pairs 9"
    assert filled("{r/s > of | model}") == "an earlier model that shipped (0)"
    with pytest.raises(LookupError, match="seed=3"):
        filled("{r/s > rows > seed=3 > f | %}")


@pytest.mark.parametrize("paper", published.PAPERS)
def test_each_of_our_figures_is_in_the_results(paper: str) -> None:
    lines = our_figures.our_table(paper)
    assert len(lines) > 5 and not any("{" in line for line in lines)


def test_the_default_model_beside_the_paper() -> None:
    lines = our_figures.default_table()
    assert "| `--objective` | softmax | margin |" in lines
    assert not any("`--encoder`" in line for line in lines), "the same in both"
