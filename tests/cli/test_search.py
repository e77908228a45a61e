"""Commands ``search``, ``mine`` and ``explain`` with a verifier."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow.parquet import read_schema

from miner.precision.estimate import Estimate
from miner.text.bitext import read_bitext

Miner = Callable[..., tuple[int, str, str]]


def test_without_options_a_table_is_printed(miner: Miner, sides: tuple[Path, Path]) -> None:
    code, out, err = miner("search", *sides)
    assert code == 0 and len(out.splitlines()) >= 55
    assert "threshold     kept  precision (90% interval)  recall (90% interval)" in err
    assert "Estimated with" in err and "decoys" in err
    assert "warning: the estimates may be off: only" in err
    assert "decoys found a source; give more" in err
    row = r" +([0-9.]+) +([0-9]+) +([0-9.]+) \([^)]*\) +([0-9.]+) \([^)]*\)"
    rows = [match.groups() for line in err.splitlines() if (match := re.fullmatch(row, line))]
    scores = [float(line.split("\t")[0]) for line in out.splitlines()]
    assert rows
    for threshold, kept, precision, recall in rows:
        assert min(int(kept), len(scores)) == sum(score >= float(threshold) for score in scores)
        assert 0 <= float(precision) <= 1 and 0 <= float(recall) <= 1


def test_it_is_said_how_many_are_the_best(miner: Miner, sides: tuple[Path, Path]) -> None:
    _, out, err = miner("search", *sides, "--top-n", "7", "--no-estimate", "--ids")
    lowest = float(out.splitlines()[-1].split("\t")[0])
    said = re.search(r"standard output: the best 7, scores of (\S+) or more$", err, re.M)
    assert said and lowest - 1e-6 < float(said[1]) <= lowest


def test_languages_are_told_and_doubted(miner, german_file, english_file, verifying_model):
    options = ("--model", verifying_model, "--no-estimate", "--top-n", 5)
    code, out, err = miner("mine", german_file, english_file, *options)
    assert code == 0 and "warning" not in err
    assert re.search(r"^source: German \(de\) \d+%, target: English \(en\) \d+%$", err, re.M)
    named = miner("mine", german_file, english_file, *options, "--source-lang", "deu")
    assert named[1] == out and "source: German (de) as given, target: English" in named[2]
    wrong = miner("mine", german_file, english_file, *options, "--source-lang", "fr")[2]
    assert "warning: " in wrong and "looks like German (de); give --source-lang de" in wrong
    # An estimate with decoys in the wrong language would mislead.
    of_one = miner("mine", german_file, german_file, *options[:2])[2]
    assert "both sides are in German (de)" in of_one and " pairs written to " in of_one
    assert "precision" not in of_one and "decoys" not in of_one
    code, _, err = miner("mine", german_file, english_file, *options, "--target-lang", "!")
    assert code == 2 and "'!' is no language code" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--threshold 1.15", "scores are probabilities here"),
        ("--threshold 0.5 --target-precision 0.9", "give one of the two"),
        ("--no-estimate --target-precision 0.9", "needs the estimate"),
        ("--rank probability --margin ratio", "--margin ranks by margin"),
        ("--rank margin --no-estimate --report r.html", "a report of margins needs the estimate"),
        ("--decoy-embeddings d.npy", "give both"),
        ("--target-precision 1", "not between 0 and 1"),
        ("--threshold=-inf", "'-inf' is not a finite number"),
    ],
)
def test_wrong_usage(miner: Miner, sides: tuple[Path, Path], arguments: str, said: str) -> None:
    code, out, err = miner("search", *sides, *arguments.split())
    assert code == 2 and said in " ".join(err.split()) and out == ""


def test_a_second_opinion_reads_what_is_in_doubt(miner, sides, verifying_model, tmp_path):
    """Outputs of `search` and `mine` are equal, and a repeated search encodes nothing again."""
    options = ("--threshold", 0, "--no-estimate")
    work, table = tmp_path / "tasks", tmp_path / "pairs.parquet"
    second = ("--second", verifying_model, "--work", work)
    alone = miner("search", *sides, *options)[1]
    code, out, err = miner("search", *sides, *options, *second)
    assert code == 0 and out != alone, err
    said = r"second opinion: (\d+) pairs in doubt, (\d+) sentences read"
    read = [int(number) for number in re.search(said, err).groups()]
    assert min(read) > 20
    again = miner("search", *sides, *options, *second, "-o", table)
    assert again[0] == 0 and "second" in read_schema(table).names
    few = miner("search", *sides, *options, *second, "--second-pairs", 25)
    assert re.search(said, few[2])[1] == "25"
    gone = miner("search", *sides, *options, "--second", f"hf:{tmp_path}/gone")
    assert gone[0] == 1 and len(gone[2].strip().splitlines()) == 1 and "gone" in gone[2]
    code, _, err = miner("search", *sides, *options, "--second-pairs", 5)
    assert code != 0 and "--second MODEL" in err


def test_explain(miner, verifying_model, knowing_model, german, english, tmp_path):
    code, out, _ = miner("explain", german[0], english[0], "--model", verifying_model)
    # a language that it has not learned
    assert code == 0 and "mining ranks" in out and "quality" not in out
    code, out, _ = miner("explain", german[0], english[0], "--model", knowing_model)
    assert code == 0
    for part in ("best counterpart", "log-odds", "alignment", "order of the tokens"):
        assert part in out
    # Users see the same number.
    pair = tmp_path / "pair.tsv"
    pair.write_text(f"{german[0]}\t{english[0]}\n", encoding="utf-8")
    _, score, _ = miner("score", pair, "--model", knowing_model, "--score-only")
    assert f"'miner filter': {float(score):.3f}\n" in out and "mining ranks" not in out
    code, more, _ = miner("explain", german[0], english[0], "--mining", "--model", knowing_model)
    assert code == 0 and "mining ranks" in more and more.startswith(out.partition("measured")[0])


def test_explain_has_both_opinions(miner, knowing_model, german, english):
    """Pairs in doubt get a quality by both models; others keep theirs."""
    pair = german[0], english[1]
    options = ("--model", knowing_model, "--source-lang", "de", "--target-lang", "en")
    code, out, err = miner("explain", *pair, *options, "--second", knowing_model)
    assert code == 0 and "second opinion, by " in out, err
    first = float(re.search(r"'miner filter': ([0-9.]+)", out)[1])
    both, beyond = re.search(r"by both opinions: ([0-9.]+)(, beyond doubt)?", out).groups()
    assert (float(both) == first) == (beyond is not None)
    assert miner("explain", *pair, *options)[1] == re.sub(r"second op.*?\n\n", "", out, flags=re.S)
    code, _, err = miner("explain", *pair, *options, "--source-prompt", "query: ")
    assert code == 2 and "give --second" in err
    gone = miner("explain", *pair, *options, "--second", "hf:gone/gone")
    assert gone[0] == 1 and len(gone[2].strip().splitlines()) <= 2


def test_explain_needs_a_verifier(miner: Miner, tiny_model: Path) -> None:
    code, _, err = miner("explain", "Haus", "house", "--model", tiny_model)
    assert code == 1 and "carries no verifier" in err and "Traceback" not in err


def test_the_model_that_ships_has_a_verifier(miner: Miner) -> None:
    code, out, _ = miner("explain", "Der Hund schläft.", "The dog is sleeping.")
    assert code == 0 and "dog" in out
    model = Path(__file__).parents[2] / "miner" / "models" / "default"
    assert set(json.loads((model / "config.json").read_text())["verification"]) == {
        "comparer.npz", "decoys.zip", "facts.npz", "lexicon.npz", "names.npz", "verifier.json",
    }  # fmt: skip


def test_a_model_that_moved_is_said(miner, verifying_model, lone_file, english_file, tmp_path):
    shutil.copytree(verifying_model, tmp_path / "model")
    for name, text in (("a", lone_file), ("b", english_file)):
        code, _, err = miner("index", text, "--model", tmp_path / "model", "-o", tmp_path / name)
        assert code == 0, err
    (tmp_path / "model").rename(tmp_path / "moved")
    code, _, err = miner("search", tmp_path / "a", tmp_path / "b")
    assert code == 0 and "ranked by margin" in err and "--model" in err
    code, _, err = miner("search", tmp_path / "a", tmp_path / "b", "--target-precision", "0.9")
    assert code == 1 and "cannot be opened" in err and "--model" in err
    code, _, err = miner("search", tmp_path / "a", tmp_path / "b", "--rank", "probability")
    assert code == 1 and "say where the model is now (--model)" in err
    code, _, err = miner("search", tmp_path / "a", tmp_path / "b", "--model", tmp_path / "moved")
    assert code == 0 and "ranked by margin" not in err and "Estimated with" in err


def test_nothing_is_precise_enough(miner, sides, tmp_path, monkeypatch):
    monkeypatch.setattr(Estimate, "threshold", lambda self, precision: None)
    page = tmp_path / "report.html"
    code, out, err = miner("search", *sides, "--target-precision", "0.999", "--report", page)
    assert code == 0 and out == ""
    assert "nothing was mined: no threshold has an estimated precision of 0.999" in err
    assert "no threshold is as precise" in page.read_text(encoding="utf-8")
    assert "inf" not in re.findall(r"<th>threshold</th><td>(.*?)</td>", page.read_text())


def test_an_argument_that_is_not_text(miner: Miner, verifying_model: Path) -> None:
    code, _, err = miner("explain", "\udcff", "house", "--model", verifying_model)
    assert code == 2 and "is not UTF-8" in err


def test_pairs_in_two_files_and_in_tmx(miner, sides, tmp_path):
    def read(name):
        return tmp_path.joinpath(name).read_text(encoding="utf-8").splitlines()

    for names in (["a.tsv"], ["b.de", "b.en"], ["ids.tsv"], ["c.tmx"]):
        ids = () if names == ["a.tsv"] else ("--ids",)
        outputs = [tmp_path / name for name in names]
        code, out, err = miner("search", *sides, *ids, "--source-lang", "de", "-o", *outputs)
        assert code == 0 and not out and f"written to {' and '.join(map(str, outputs))}" in err
    rows, ids = ([line.split("\t") for line in read(name)] for name in ("a.tsv", "ids.tsv"))
    assert [row[1:] for row in rows] == [*map(list, zip(read("b.de"), read("b.en"), strict=True))]
    assert read("b.ids") == ["\t".join(row[1:]) for row in ids]
    found = read_bitext(tmp_path / "c.tmx", more=["score", "source_id", "target_id"])
    pairs = zip(found.source, found.target, strict=True)
    assert [*map(list, pairs)] == [row[1:] for row in rows] and found.more == [*map(tuple, ids)]
    (tmp_path / "there.en").touch()
    for wrong in (("d.tmx", "d.en"), ("d.de", "there.en"), ("-", "d.en")):
        places = [name if name == "-" else tmp_path / name for name in wrong]
        code, out, err = miner("search", *sides, "-o", *places)
        assert (code, out) == (2, "") and not (tmp_path / "d.en").exists()
