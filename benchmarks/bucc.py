"""The BUCC protocol: tune the threshold on the training split, report the test split.

    python -m benchmarks.bucc --data DIR --pair de-en --model M [--model M2 ...]

DIR holds the files of BUCC 2018, or of any set in its format: ``de-en.training.de``,
``de-en.training.en``, ``de-en.training.gold`` and the same for ``test``, plain or compressed, in
DIR itself or in ``DIR/de-en``. Where the test gold is not there (it was never published), the
mined pairs are written for submission by ``--submit FILE``.

For every model: mine both splits (by default ranked by probability where the model carries a
verifier, else by ratio margin; max retrieval), choose on the training gold the threshold with the
best F1, apply it to test. Where probabilities rank, also keep on test what the tool itself would,
without any gold, for an estimated precision of 0.95. The oracle F1, with the threshold tuned on the
test gold itself, is labelled as such and is not a result.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from miner import Encoder, Index, MinerError, best_threshold, evaluate
from miner.evaluate import read_gold
from miner.margin import MARGINS, RETRIEVALS
from miner.model import load
from miner.pairs import each_copy
from miner.search import NEIGHBORS, RANKS, run, verifier_for
from miner.threshold import estimate

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")
# Estimated precision of the tool's own choice.
OWN = 0.95


def find(data: Path, pair: str, name: str) -> Path | None:
    """The file ``PAIR.NAME`` under ``data`` or ``data/PAIR``, compressed or not."""
    for directory in (data / pair, data):
        for suffix in SUFFIXES:
            path = directory / f"{pair}.{name}{suffix}"
            if path.exists():
                return path
    return None


def need(data: Path, pair: str, name: str) -> Path:
    path = find(data, pair, name)
    if path is None:
        raise MinerError(f"{data}: no {pair}.{name}, plain or compressed, there or in {pair}/")
    return path


def both_sides(model: str) -> tuple[Encoder, Encoder]:
    """The encoders of source and target: one and the same, but for separate vocabularies."""
    config = load(model).training.get("config", {})
    if config.get("vocabularies", "shared") == "shared":
        encoder = Encoder.load(model)
        return encoder, encoder
    sides: list[dict[str, Any]] = [{"side": "source"}, {"side": "target"}]
    source, target = (Encoder.load(model, **side) for side in sides)
    return source, target


def mine(
    encoders: tuple[Encoder, Encoder],
    data: Path,
    pair: str,
    split: str,
    rank: str | None,
    own: bool,
    **settings: Any,
) -> tuple[list[Any], float | None]:
    """Scored id pairs of one split; a sentence that stands under several ids counts under each.

    Also the threshold of the tool's own choice, where it is asked for and probabilities rank.
    """
    with tempfile.TemporaryDirectory(prefix="bucc-") as work:
        sides = [
            Index.build(
                encoder, need(data, pair, f"{split}.{side}"), Path(work) / side, format="bucc"
            )
            for encoder, side in zip(encoders, pair.split("-"), strict=True)
        ]
        verifier = verifier_for(sides[0], rank, encoders[0])
        found = run(sides[0], sides[1], verifier, **settings)
        choice = None
        if own and verifier is not None:
            try:
                choice = estimate(found).threshold(OWN)
            except MinerError as error:  # a set too small, or of a language without decoys
                print(f"no choice of its own: {error}", file=sys.stderr)
        return list(each_copy(found.pairs).ids()), choice


def measure(
    model: str, data: Path, pair: str, submit: Path | None, rank: str | None, **settings: Any
) -> dict:
    """The figures of one model on one language pair, as a dict for JSON."""
    encoders = both_sides(model)
    scored, seconds, own = {}, {}, None
    if rank is None:
        rank = "margin" if encoders[0].model.verifier is None else "probability"
    for split in ("training", "test"):
        begun = time.perf_counter()
        choose = split == "test"
        scored[split], own = mine(encoders, data, pair, split, rank, choose, **settings)
        seconds[split] = round(time.perf_counter() - begun, 2)
    gold_file = need(data, pair, "training.gold")
    gold = read_gold(gold_file)
    if not gold:
        raise MinerError(f"{gold_file}: holds no pair; there is nothing to tune on")
    tuned = best_threshold(scored["training"], gold)
    # Without a threshold nothing was mined: keep nothing on test either.
    cut = float("inf") if tuned.threshold is None else tuned.threshold
    result = {
        "model": model,
        "fingerprint": encoders[0].fingerprint,
        "pair": pair,
        "settings": {"rank": rank, **settings, "k": settings.get("k") or NEIGHBORS[rank]},
        "training": tuned.as_dict(),
        "seconds": seconds,
    }
    test_gold = find(data, pair, "test.gold")
    if test_gold is not None:
        gold = read_gold(test_gold)
        result["test"] = evaluate(scored["test"], gold, cut).as_dict()
        if own is not None:
            result["test, own choice"] = evaluate(scored["test"], gold, own).as_dict()
        result["test oracle"] = best_threshold(scored["test"], gold).as_dict()
    if submit is not None:
        lines = [
            f"{source}\t{target}\n" for score, source, target in scored["test"] if score >= cut
        ]
        submit.write_text("".join(lines), encoding="utf-8")
    return result


def table(results: list[dict]) -> str:
    """The figures as text."""
    lines = [
        f"{'model':28} {'pair':6} {'threshold':>9} {'train F1':>9} "
        f"{'test P':>8} {'test R':>8} {'test F1':>8} {'(oracle)':>9}"
    ]
    for result in results:
        test, oracle = result.get("test"), result.get("test oracle")
        line = f"{result['model'][-28:]:28} {result['pair']:6} "
        line += f"{_number(result['training']['threshold'])} {result['training']['f1']:9.4f} "
        if test and oracle:
            line += f"{test['precision']:8.4f} {test['recall']:8.4f} {test['f1']:8.4f} "
            line += f"{oracle['f1']:9.4f}"
        else:
            line += "no test gold here"
        lines.append(line)
    return "\n".join(lines)


def _number(threshold: float | None) -> str:
    return "     none" if threshold is None else f"{threshold:9.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pair", action="append", required=True, help="de-en; repeatable")
    parser.add_argument("--model", action="append", required=True, help="directory; repeatable")
    parser.add_argument("--rank", choices=RANKS, help="default: what the model can do")
    parser.add_argument("--margin", default="ratio", choices=MARGINS)
    parser.add_argument("--retrieval", default="max", choices=RETRIEVALS)
    parser.add_argument("-k", type=int, help="default: 8 for probability, 4 for margin")
    parser.add_argument("--submit", type=Path, help="write the test pairs at the tuned threshold")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.submit and len(arguments.pair) * len(arguments.model) > 1:
        parser.error("--submit takes one --pair and one --model: it writes one file")
    settings = {"k": arguments.k, "margin": arguments.margin, "retrieval": arguments.retrieval}
    results = [
        measure(model, arguments.data, pair, arguments.submit, arguments.rank, **settings)
        for pair in arguments.pair
        for model in arguments.model
    ]
    print(table(results))
    if arguments.json:
        report.write(arguments.json, "benchmarks.bucc", results)


if __name__ == "__main__":
    report.run(main)
