"""Plots of docs/results/, from ``results/*.json``. Equal results give identical SVG files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import report
from benchmarks.models.evaluation_tables import metrics, rate

PLACE = Path(__file__).parent.parent / "docs" / "plots"
# The language pair of the encoders' benchmark, also used for whole models.
PAIR = "fr-en"
F1 = f"mining F1, bucc-style {PAIR} test, by ratio margin"
# Peers of similar throughput share a label. They are untrained and have no F1.
PEERS = {
    "transformer of BERT-base's size": ("transformer of BERT-base's size",),
    "BiLSTM of LASER's size": ("BiLSTM of LASER's size",),
    "averages by fastText, StaticEmbedding and model2vec": (
        *("fastText average, d=300", "sentence-transformers StaticEmbedding", "model2vec"),
    ),
}
SHIPPED = {
    "default": "the model that ships",
    "fast": "fast recipe, one pair of languages",
    "p19-tuned": "P19's objective, one pair of languages",
}
COLOURS = ("#0b6e99", "#c2571a", "#5c7a29", "#7a4fa3", "#a32f5b")
SIZE = (8.0, 5.0)


def f1_against_speed(axes: Any) -> None:
    """Mining F1 of the default model and the recipes against throughput; peers by throughput."""
    rows = report.read("evaluations.json")["results"]
    for colour, (kind, label) in zip(COLOURS, SHIPPED.items(), strict=False):
        for row in (row for row in rows if row["name"].split()[0] == kind):
            for pair, marker in (("de-en", "o"), ("fr-en", "s")):
                found = metrics(row, "bucc")
                verified, margin = (
                    found.get((f"bucc-style {pair}", f"f1 by {rank}"))
                    for rank in ("probability", "margin")
                )
                if verified is not None and margin is not None:
                    x, ends = rate(row), (margin["value"], verified["value"])
                    axes.plot([x, x], ends, color=colour, linewidth=0.8)
                    axes.plot([x], ends[:1], marker, color=colour, markerfacecolor="white")
                    axes.plot([x], ends[1:], marker, color=colour)
        axes.plot([], [], "-", linewidth=4, color=colour, label=label)
    for marker, face, label in (
        *(("o", "0.3", "de-en"), ("s", "0.3", "fr-en")),
        ("D", "white", "hollow: by margin, without verification"),
    ):
        axes.plot([], [], marker, color="0.3", markerfacecolor=face, label=label)
    _second_opinion(axes)
    section = report.read("speed.json")["sections"]["encode"]
    rates = {row["name"]: row["sentences/s"] for row in section["results"]["rows"]}
    for label, names in PEERS.items():
        low, *_, high = sorted(rates[name] for name in (*names, *names))
        axes.axvspan(low / 1.02, high * 1.02, color="0.85", linewidth=0)
        axes.text(low / 1.05, 0.71, label, rotation=90, color="0.4", fontsize=8, ha="right")
    axes.set_xscale("log")
    axes.set_xlim(20, 3e5)
    axes.set_ylim(0.7, 1)
    axes.set_xlabel(
        f"sentences a second from text to vectors, {section['hardware']['cores']} cores"
    )
    axes.set_ylabel("mining F1, bucc-style test")
    axes.legend(loc="upper left", bbox_to_anchor=(0.3, 0.6), fontsize=8, frameon=False)


def _second_opinion(axes: Any) -> None:
    """Mining F1 with a second opinion, against throughput in sentences/s on one core."""
    rows = report.read("second.json")["results"]
    markers = {"de-en": "o", "fr-en": "s"}
    asked = [
        row
        for row in rows
        if row.get("split") == "test" and row["second"] and row["pair"] in markers
    ]
    encoders = sorted({row["second"] for row in asked})
    colours = dict(zip(encoders, COLOURS[3:], strict=False))
    for row in asked:
        rate = row["sentences read"] / row["share read"] / row["core seconds"]
        axes.plot([rate], [row["f1"]], markers[row["pair"]], color=colours[row["second"]])
    for name, colour in colours.items():
        label = f"it and a second opinion by {name}"
        axes.plot([], [], "-", linewidth=4, color=colour, label=label)


def f1_against_size(axes: Any) -> None:
    """Mining F1 against the number of training pairs."""
    rows = report.read("experiments.json")["sections"]["scale"]["results"]["rows"]
    for colour, recipe in zip(COLOURS, dict.fromkeys(row["group"] for row in rows), strict=False):
        points = [
            (row["pairs"], row["figures"]["bucc"])
            for row in rows
            if row["group"] == recipe and "figures" in row
        ]
        sizes = [size for size, _ in points]
        axes.plot(sizes, [one["value"] for _, one in points], "o-", color=colour, label=recipe)
        low, high = zip(*(one["interval"] for _, one in points), strict=True)
        axes.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"training pairs, {PAIR}")
    axes.set_ylabel(F1)
    axes.legend(loc="upper left", fontsize=8)


def similarity_by_overlap(axes: Any) -> None:
    """STS of models of one foreign language each against the overlap of pieces (P19, table 5)."""
    section = report.read("experiments.json")["sections"].get("every-language")
    rows = [row for row in section["results"]["rows"] if "figures" in row] if section else []
    middle = median(row["overlap"]["share"] for row in rows) if rows else 0.0
    for colour, name, low in zip(
        COLOURS, ("low overlap", "high overlap"), (True, False), strict=False
    ):
        own = [row for row in rows if (row["overlap"]["share"] <= middle) == low]
        for row in own:
            place, one = row["overlap"]["share"], row["figures"]["sts 12-16"]
            ends = [100 * end for end in one["interval"]]
            axes.plot([place, place], ends, color=colour, alpha=0.4, linewidth=1)
            axes.plot([place], [100 * one["value"]], "o", color=colour)
            axes.annotate(
                row["name"], (place, 100 * one["value"]), (4, 4), textcoords="offset points"
            )
        axes.plot([], [], "o", color=colour, label=f"{name} ({len(own)} languages)")
    axes.set_xlabel("overlap of the pieces of both languages")
    axes.set_ylabel("STS 12–16, Pearson × 100, with 95% intervals")
    axes.legend(loc="upper right", fontsize=8)


def precision_reached(axes: Any) -> None:
    """Precision by gold against target precision."""
    rows = report.read("precision.json")["results"]
    markers = dict(zip(dict.fromkeys(row["share"] for row in rows), "osD", strict=False))
    for colour, pair in zip(COLOURS, dict.fromkeys(row["pair"] for row in rows), strict=False):
        for share, marker in markers.items():
            own = [row for row in rows if (row["pair"], row["share"]) == (pair, share)]
            axes.plot(
                [row["asked"] for row in own],
                [row["reached"]["precision"] for row in own],
                *(f"{marker}-",),
                color=colour,
                alpha=0.8,
                label=f"{pair}, parallel share {share}",
            )
    axes.plot([0.88, 1], [0.88, 1], color="0.5", linestyle="--", linewidth=1, label="as asked")
    axes.set_xlim(0.88, 1)
    axes.set_ylim(0.85, 1.005)
    axes.set_xlabel("precision asked for, no gold used")
    axes.set_ylabel("precision by the gold")
    axes.legend(loc="lower right", fontsize=8)


PLOTS: dict[str, tuple[Callable[[Any], None], Sequence[str]]] = {
    "f1-speed": (f1_against_speed, ("evaluations.json", "speed.json", "second.json")),
    "f1-size": (f1_against_size, ("experiments.json",)),
    "language-overlap": (similarity_by_overlap, ("experiments.json",)),
    "precision": (precision_reached, ("precision.json",)),
}


def draw() -> None:
    """Draw every plot whose results exist into docs/plots."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # Fixed identifiers and no date make the files reproducible.
    matplotlib.rcParams.update({"svg.hashsalt": "miner", "font.size": 9, "svg.fonttype": "none"})
    PLACE.mkdir(exist_ok=True)
    for name, (plot, needed) in PLOTS.items():
        if all((report.RESULTS / file).exists() for file in needed):
            figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
            plot(axes)
            figure.savefig(PLACE / f"{name}.svg", metadata={"Date": None})
            pyplot.close(figure)
