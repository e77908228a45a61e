"""The benchmark of encoders of other libraries: its cut of a mining set, its batches, its lines."""

from pathlib import Path

from benchmarks.models import foreign
from miner.evaluation.mining_sets import MiningSet
from miner.text.corpus import read


def test_a_cut_keeps_pairs_and_no_half_of_one(tmp_path: Path) -> None:
    place = tmp_path / "de-en"
    place.mkdir()
    for split in foreign.SPLITS:
        for language in ("de", "en"):
            lines = "".join(f"{language}-{row}\tsentence {row}\n" for row in range(300))
            (place / f"de-en.{split}.{language}").write_text(lines, encoding="utf-8")
        gold = "".join(f"de-{row}\ten-{row}\n" for row in range(40))
        (place / f"de-en.{split}.gold").write_text(gold, encoding="utf-8")
    foreign.cut(tmp_path, "de-en", 0.25, tmp_path / "cut")
    found = MiningSet("cut", tmp_path / "cut", "de-en")
    gold = found.gold("test")
    ids = [set(read(found.need(f"test.{one}"), format="bucc").ids) for one in ("de", "en")]
    assert len(gold) == 10 and all(40 < len(side) < 120 for side in ids)
    for side, own in enumerate(ids):
        of_gold = {one for one in own if int(one.split("-")[1]) < 40}
        assert of_gold == {pair[side] for pair in gold}
