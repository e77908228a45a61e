"""``miner train``: arguments, exit codes, messages and leftovers."""

import re

import pytest
from support.files import write
from support.trainings import synthetic

from miner.cli import main
from miner.encoder import model as models

SIDES, BITEXT = ["--source", "a", "--target", "b"], ["--bitext", "nowhere.tsv"]
FAST = [
    *("--pieces", "120", "--dimension", "16", "--batch", "100"),
    *("--epochs", "2", "--rate", "0.02", "--heldout", "70"),
]


@pytest.fixture(scope="module")
def pairs():
    return synthetic(700)


@pytest.fixture(scope="module")
def files(pairs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bitext")
    return [str(write(directory / name, side)) for name, side in zip("ab", pairs, strict=True)]


@pytest.fixture(scope="module")
def plain(files, tmp_path_factory):
    """Train on two plain files; return the model directory and the messages."""
    output = tmp_path_factory.mktemp("plain") / "deep" / "model"
    source, target = files
    assert main(["train", "--source", source, "--target", target, "-o", str(output), *FAST]) == 0
    return output


@pytest.fixture
def run(tmp_path, capsys):
    """Train into ``tmp_path / "model"``; return the exit code and the messages."""

    def call(*arguments, output="model"):
        code = main(["train", *map(str, arguments), "-o", str(tmp_path / output)])
        captured = capsys.readouterr()
        assert captured.out == ""
        return code, captured.err

    return call


def fingerprint(path):
    return models.load(path).fingerprint


def test_several_bitexts_are_one_text(run, pairs, plain, tmp_path):
    """Training on parts in several files and formats equals training on the whole."""
    a, b = pairs
    parts = [slice(0, 200), slice(200, 450)]
    arguments = []
    for n, part in enumerate(parts):
        arguments += ["--source", write(tmp_path / f"a{n}", a[part])]
        arguments += ["--target", write(tmp_path / f"b{n}", b[part])]
    rest = [f"{s}\t{t}" for s, t in zip(a[450:], b[450:], strict=True)]
    arguments += ["--bitext", write(tmp_path / "c.tsv", rest[:100])]
    arguments += ["--bitext", write(tmp_path / "d.tsv", rest[100:])]
    code, said = run(*arguments, *FAST)
    assert code == 0
    for count in (200, 250, 100, 150):
        assert f": {count} pairs\n" in said
    for epoch in (1, 2):
        assert re.search(rf"epoch {epoch} of 2: loss \d+\.\d+, held-out mining F1 [01]\.\d", said)
    last = said.strip().splitlines()[-1]
    assert last.startswith(f"{tmp_path / 'model'}: ") and "16 dimensions, float16" in last
    assert last.endswith(f"fingerprint {fingerprint(plain)}")
    assert fingerprint(tmp_path / "model") == fingerprint(plain)
    text = models.load(tmp_path / "model").training["text"]
    assert [part["name"] for part in text] == ["a0", "a1", "c.tsv", "d.tsv"]


def test_recipe_and_what_overrides_it(run, files, tmp_path):
    source, target = files
    arguments = ["--source", source, "--target", target, "--recipe", "p19", *FAST]
    assert run(*arguments, "--anneal", 3, "--seed", 7)[0] == 0
    made = models.load(tmp_path / "model").training["config"]
    assert (made["objective"], made["megabatch"], made["margin"]) == ("margin", 120, 0.4)
    assert (made["anneal"], made["seed"], made["batch"]) == (3, 7, 100)


def test_an_old_model_is_replaced_if_asked(run, files, plain, tmp_path):
    source, target = files
    arguments = ["--source", source, "--target", target, *FAST]
    assert run(*arguments, "--seed", 5)[0] == 0
    old = fingerprint(tmp_path / "model")
    # left by a run that was killed after its last step
    (tmp_path / "..model.training.lock").touch()
    code, said = run(*arguments)
    assert code == 2 and "is a model already; replace it with --overwrite" in said
    assert not (tmp_path / "..model.training.lock").exists()
    assert fingerprint(tmp_path / "model") == old
    assert run(*arguments, "--overwrite")[0] == 0
    assert old != fingerprint(tmp_path / "model") == fingerprint(plain)


def test_patterns_and_the_f1_of_each_language_pair(run, pairs, tmp_path):
    rows = [f"{s}\t{t}" for s, t in zip(*synthetic(1400), strict=True)]
    for name, part in (("aa-bb", rows[:700]), ("cc-bb", rows[700:])):
        write(tmp_path / name / "one.tsv", part[:300])
        write(tmp_path / name / "two.tsv", part[300:])
    code, said = run("--bitext", tmp_path / "*-bb" / "*.tsv", *FAST, "--heldout", 140)
    assert code == 0, said
    assert [part["pairs"] for part in models.load(tmp_path / "model").training["text"]] == [
        300,
        400,
        300,
        400,
    ]
    for epoch in (1, 2):
        assert re.search(
            rf"epoch {epoch} of 2: .*, aa-bb [01]\.\d{{4}}, cc-bb [01]\.\d{{4}}\n", said
        )
    code, said = run("--bitext", tmp_path / "*-zz" / "*.tsv", *FAST, output="none")
    assert code == 2 and "no file has such a name" in said


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--source", "a", "--source", "b", "--target", "c"], "2 --source but 1 --target"),
        (["--target", "c"], "0 --source but 1 --target"),
        ([], "nothing to train on"),
        ([*SIDES, "--label-col", "3"], "columns of --bitext"),
        ([*SIDES, "--encoder", "word", "--pieces", "100"], "--pieces is for an encoder of pieces"),
        ([*SIDES, "--objective", "margin", "--scale", "9"], "--scale is for the softmax objective"),
        ([*SIDES, "--lambda-w", "-1"], "--lambda-w = -1.0 is out of range"),
        ([*BITEXT, "--label-col", "1"], "are one column"),
        ([*BITEXT, "--scol", "2"], "are one column"),
        ([*BITEXT, "--score-col", "3"], "ranks pairs for --keep or --clean"),
        ([*BITEXT, "--objective", "triplet"], "triplet"),
        ([*BITEXT, "--encoder", "sp+cnn"], "encoder = 'sp+cnn' is not one of sp, word, trigram"),
        ([*BITEXT, "--recipe", "p19", "--like", "m"], "--recipe, --like and --from are starting"),
    ],
)
def test_usage_errors(arguments, said, tmp_path, capsys):
    assert main(["train", *arguments, "-o", str(tmp_path / "model")]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_too_little_text(run, files, plain, tmp_path):
    one = write(tmp_path / "one", ["bada gefe"])
    code, said = run("--source", one, "--target", one, *FAST)
    assert code == 1 and "miner: error: only 1 usable pairs: too few to train on" in said
    blank = write(tmp_path / "blank", ["", " "])
    code, said = run("--source", blank, "--target", blank, *FAST)
    assert code == 1 and "no pairs to train on" in said and str(blank) in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blank", "one"]
    # A later training with the right text does not resume this one.
    assert run("--source", files[0], "--target", files[1], *FAST)[0] == 0
    assert fingerprint(tmp_path / "model") == fingerprint(plain)
