"""miner.score and miner.filter give the results of the commands, on files, pairs and rows."""

import dataclasses
import json
from pathlib import Path

import pytest
from pyarrow import Table, parquet

import miner
from miner import Encoder, MinerError, Without
from miner.cleaning.funnel import as_dict
from miner.cleaning.settings import Selection
from miner.encoder.known_languages import KnownLanguage
from miner.tasks.workers import Workers
from miner.text.bitext import read_bitext
from miner.text.formats import BitextFormat

KNOWN = {"de": KnownLanguage(9), "en": KnownLanguage(9)}
FILTERS = ["identical", {"name": "quality", "minimum": 0.2}]
FRENCH = (
    "Le chien dort devant la porte de la maison.",
    "Nous avons acheté du pain et du fromage au marché.",
    "Il pleut depuis trois jours et la rivière monte.",
    "Ma sœur travaille dans une grande bibliothèque.",
    "Les enfants jouent dans le jardin avec leurs amis.",
    "Pouvez-vous m'indiquer le chemin de la gare ?",
    "Elle a perdu ses clés hier soir au cinéma.",
    "Le train pour Paris part à huit heures du matin.",
)


@pytest.fixture
def rows(german, english):
    pairs = [*zip(german[:30], english[:30], strict=True), (german[0], german[0]), ("", english[1])]
    return [{"source": s, "target": t, "url": f"http://{n}"} for n, (s, t) in enumerate(pairs)]


@pytest.fixture
def tsv(rows, tmp_path):
    lines = ("\t".join(row.values()) + "\n" for row in rows)
    path = tmp_path / "rows.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_scores_of_all_inputs_agree(rows, tsv, miner_command, knowing_model, tmp_path):
    found = miner.score(rows, model=knowing_model, scores=["quality", "length"])
    assert [list(row) for row in found] == [["source", "target", "url", "quality", "length"]] * 32
    sources, targets = ([row[side] for row in rows] for side in ("source", "target"))
    pairs = zip(sources, targets, strict=True)
    table = Table.from_pylist(rows)
    for given in ((pairs,), (sources, iter(targets)), (tsv,), (str(tsv),), (table,)):
        other = miner.score(*given, model=knowing_model)
        assert [row["quality"] for row in other] == [row["quality"] for row in found]
    tables = [{"name": "bleu", "reference": "source"}, "length"]
    config = tmp_path / "scores.toml"
    config.write_text("".join(map("[[filter]]\nname = '{}'\n".format, ("length", "duplicates"))))
    own = miner.score(rows, scores=tables)
    assert [row["length"] for row in miner.score(rows, scores=config)] == [
        row["length"] for row in own
    ]
    assert [*own[0]] == ["source", "target", "url", "bleu", "length"]
    miner_command("score", tsv, "--model", knowing_model, "-o", tmp_path / "scored.jsonl")
    lines = (tmp_path / "scored.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["quality"] for line in lines] == [row["quality"] for row in found]


def test_rows_are_kept_or_rejected(rows, knowing_model):
    found = miner.filter(rows, filters=FILTERS, model=knowing_model)
    assert 20 < len(found) == len(list(found)) and len(found.rejected) == 32 - len(found)
    assert all(row in rows for row in found) and "of 32 rows kept" in repr(found)
    reasons = {row["url"]: row["filter"] for row in found.rejected}
    assert reasons["http://30"] == "identical"
    assert found[-1] == found[len(found) - 1] and len(found[:3]) == 3
    assert found.to_arrow().column_names == ["source", "target", "url"]
    assert len(miner.filter(rows, filters=FILTERS, threshold=0.0, model=knowing_model)) >= len(
        found
    )


ABILITIES = {
    "default": ((), {}),
    "languages": (("--source-lang", "de", "--target-lang", "en"), {"languages": ("de", "en")}),
    "threshold": (("--threshold", 0.5), {"threshold": 0.5}),
    "selection": (
        ("--top-n", 20, "--balance", "length", "--per-source", 1),
        {"selection": Selection(top=20, balance="length", per_source=1)},
    ),
    "without": (
        ("--without", "tests.txt", "--near", 0.7),
        {"without": Without(["tests.txt"], near=0.7)},
    ),
    "filters": (("--config", "own.toml"), {"filters": "own.toml"}),
    "labels": (("--labels", "labels.tsv"), {"labels": "labels.tsv"}),
    "repair": (("--repair",), {"repair": True}),
    "all scores": (("--all-scores",), {"all_scores": True}),
    "dry run": (("--dry-run", 40, "--top-n", 30), {"dry_run": 40, "selection": Selection(top=30)}),
    "mono": (("--mono",), {"mono": True}),
    "columns": (("--scol", 2, "--tcol", 1), {"layout": BitextFormat(2, 1)}),
}


@pytest.mark.parametrize("ability", ABILITIES)
def test_the_command_and_python_agree(
    ability, german, english, knowing_model, tmp_path, miner_command, monkeypatch
):
    """Kept rows, rejected rows, scores, counts and notes are equal."""
    monkeypatch.chdir(tmp_path)
    options, settings = ABILITIES[ability]
    pairs = [*zip(german[:60], english[:60], strict=True), (english[-1], german[-1])]
    pairs += [("Der Tag ist schÃ¶n.", "The day is beautiful."), pairs[0], ("", english[1])]
    text = "".join("\t".join(pair) + "\n" for pair in pairs)
    Path("rows.tsv").write_text(text, encoding="utf-8")
    Path("tests.txt").write_text(f"{english[3]}x\n", encoding="utf-8")
    answers = (f"{s}\t{t}\t{'yn'[row % 2]}\n" for row, (s, t) in enumerate(pairs[:40]))
    Path("labels.tsv").write_text("source\ttarget\tanswer\n" + "".join(answers), encoding="utf-8")
    Path("own.toml").write_text(
        "".join(f"[[filter]]\nname = '{name}'\n" for name in ("length", "quality", "margin")),
        encoding="utf-8",
    )
    dry, outputs = "dry_run" in settings, ("kept", "rejected", "scores")
    end = "tsv" if ability == "mono" else "jsonl"
    kept, rejected, scores = (f"{name}.{end}" for name in outputs)
    more = [] if ability != "all scores" else ["--scores-jsonl", scores]
    common = ("--model", knowing_model, "--report", "report.json")
    err = miner_command(
        "filter", "rows.tsv", *options, *common, "-o", kept, "--rejected", rejected, *more
    )
    counts = json.loads(Path("report.json").read_text(encoding="utf-8"))
    notes: list[str] = []
    found = miner.filter("rows.tsv", model=knowing_model, note=notes.append, **settings)
    own = as_dict(found.summary)
    for stage in (*counts["filters"], *own["filters"]):
        stage["seconds"] = 0
    assert own == counts and notes == err.splitlines()[: len(notes)]
    assert [f"warning: {line}" for line in found.warnings] == [
        line for line in notes if line.startswith("warning")
    ]
    if ability == "mono":
        texts = [line.split("\t")[0] for line in Path(kept).read_text("utf-8").splitlines()]
        assert [row["source"] for row in found] == texts and len(texts) == counts["kept"]
    elif not dry:
        for path, rows in ((kept, found), (rejected, found.rejected), (scores, found.scores)):
            if rows.rows or Path(path).exists():
                lines = Path(path).read_text(encoding="utf-8").splitlines()
                assert [json.loads(line) for line in lines] == list(rows)
    if ability == "default":
        assert found.rejected[0]["filter"] == "language" and not len(found.scores)
    if ability == "all scores":
        assert len(found.scores) == len(pairs)


def with_bounds(model: Path, path: Path, **bounds: float) -> Path:
    """Save a model with other bounds of its languages."""
    known = KNOWN | {code: KnownLanguage(9, quality_bound=one) for code, one in bounds.items()}
    dataclasses.replace(Encoder.load(model).model, languages=known).save(path)
    return path


def test_the_default_bound_is_the_models_unless_one_is_given(
    german, english, knowing_model, tmp_path
):
    bounded = with_bounds(knowing_model, tmp_path / "bounded", de=0.02)
    pairs = list(zip(german, english, strict=True))
    for threshold, expected in ((None, ">= 0.02 (de)"), (0.1, ">= 0.1"), (0.3, ">= 0.3")):
        for codes in (None, ("de", "en")):
            found = miner.filter(pairs, model=bounded, threshold=threshold, languages=codes)
            bounds = [one.bounds for one in found.summary.stages if one.label == "quality"]
            assert bounds == [expected]


def test_each_row_of_a_mixed_text_has_the_bound_of_its_language(
    german, english, knowing_model, tmp_path
):
    bounds = {"de": 0.3, "fr": 0.001}
    bounded = with_bounds(knowing_model, tmp_path / "bounded", **bounds)
    pairs = [*zip(german[:40], english[:20] + english[40:60], strict=True)]
    pairs += [(FRENCH[row % len(FRENCH)], english[row]) for row in range(40)]
    own = {"filters": ["quality"], "model": bounded}
    for workers in (Workers(), Workers(shard_lines=11)):
        found = miner.filter(pairs, **own, all_scores=True, workers=workers)
        (stage,) = found.summary.stages
        assert stage.bounds.startswith(">= 0.001 (") and stage.bounds.endswith(", by row")
        values = [row["quality"] for row in found.scores]
        expected = [value >= bounds["de" if row < 40 else "fr"] for row, value in enumerate(values)]
        assert [(row["source"], row["target"]) for row in found] == [
            pair for pair, kept in zip(pairs, expected, strict=True) if kept
        ]
    assert any(0.001 <= value < 0.3 for value in values[:40])
    given = miner.filter(pairs, **own, threshold=0.001)
    assert len(given) == sum(value >= 0.001 for value in values)
    assert [one.bounds for one in given.summary.stages] == [">= 0.001"]


def test_filtered_rows_in_every_format(rows, knowing_model, tmp_path, miner_command):
    config = tmp_path / "rules.toml"
    config.write_text('[[filter]]\nname = "identical"\n', encoding="utf-8")
    found = miner.filter(rows, filters=config, model=knowing_model)
    texts = [(row["source"], row["target"]) for row in found]
    names = ["a.tsv", "a.jsonl", "a.parquet", "a.tmx", "a.tsv.gz"]
    found.write(tmp_path / "a.tsv")
    common = ("--config", config, "--model", knowing_model)
    for before, name in zip(names, names[1:], strict=False):
        miner_command("filter", tmp_path / before, *common, "-o", tmp_path / name)
    miner_command("filter", tmp_path / "a.tmx", *common, "-o", tmp_path / "a.de", tmp_path / "a.en")
    miner_command("filter", tmp_path / "a.tm?", *common, "-o", f"{tmp_path / 'folder'}/")
    assert (tmp_path / "folder/a.tmx").read_bytes() == (tmp_path / "a.tmx").read_bytes()
    for name in names[:-1]:
        bitext = read_bitext(tmp_path / name, more=["column3"] if name != "a.tsv" else [3])
        assert list(zip(bitext.source, bitext.target, strict=True)) == [
            pair for pair in texts if all(pair)
        ]
        assert bitext.more[3] == ("http://3",)
    sides = read_bitext(tmp_path / "a.de", tmp_path / "a.en")
    assert sides.records == len(texts) and sides.source[:5] == [one for one, _ in texts[:5]]
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == len(texts)


def test_two_files_to_other_formats(
    german_file, english_file, knowing_model, tmp_path, miner_command
):
    miner_command(
        "filter", "--source", german_file, "--target", english_file, "--model", knowing_model,
        "--threshold", 0.99, "-o", tmp_path / "a.jsonl", "--rejected", tmp_path / "bad.parquet",
    )  # fmt: skip
    bad = parquet.read_table(tmp_path / "bad.parquet")
    assert bad.column_names == ["source", "target", "filter", "value"] and bad.num_rows > 3
    kept = read_bitext(tmp_path / "a.jsonl")
    assert kept.records + bad.num_rows == len(german_file.read_bytes().splitlines())


def test_faults(rows, tmp_path, miner):
    import miner as api

    with pytest.raises(MinerError, match=r"^target: ends before text 2, and the other side does"):
        api.score(["eins", "zwei"], ["one"])
    with pytest.raises(MinerError, match=r"^pair 1: is 'eins', neither a pair of texts nor a row$"):
        api.score(["eins"])
    for name, words in (("duplicates", "no score 'duplicates'"), ("perplexity", "needs settings")):
        with pytest.raises(ValueError, match=words):
            api.score(rows, scores=[name])
    with pytest.raises(ValueError, match="nothing ranks the pairs"):
        api.filter(rows, filters=["identical"], threshold=0.5)
    with pytest.raises(ValueError, match="mixes several BITEXTs"):
        api.filter(rows, selection=Selection(top=3, temperature=2.0))
    with pytest.raises(ValueError, match="one side"):
        api.filter(["eins"], ["one"], mono=True)
    with pytest.raises(MinerError, match="there is no filter 'lenght'; did you mean length"):
        api.filter(rows, filters=["lenght"])
    with pytest.raises(TypeError, match="must both be files"):
        api.score("a.de", ["one"])
    with pytest.raises(ValueError, match="is not written; known are"):
        api.filter(rows, filters=["identical"]).write(tmp_path / "a.csv")
    uneven = [{"source": "eins", "target": "one"}, {"source": "zwei", "target": "two", "id": 1}]
    with pytest.raises(MinerError, match="row 2 has 'id', which the first row has not"):
        api.filter(uneven, filters=["identical"]).write(tmp_path / "a.tsv")


def test_a_score_does_not_depend_on_rows_in_other_languages(german, english) -> None:
    """A row of a mixed file is judged by its own languages, and the result has the warning."""
    pairs = list(zip(german, english, strict=True))
    others = [(one, two) for two, one in pairs]
    notes: list[str] = []
    mixed = miner.score([*pairs, *others], note=notes.append)
    alone = miner.score(pairs[:1])
    assert mixed[0]["quality"] == alone[0]["quality"]
    assert any("in several languages" in line for line in mixed.warnings)
    assert [f"warning: {line}" for line in mixed.warnings] == notes[: len(mixed.warnings)]
    assert miner.score(pairs[:1], languages=None)[0] == alone[0]
    with pytest.raises(ValueError, match="did you mean Japanese"):
        miner.score(pairs[:1], languages=("jp", "en"))


def test_text_in_one_language(german, english, tmp_path):
    texts = [*german[:40], german[3].upper(), "", english[5], "Der Tag ist schÃ¶n.", "3 44 555 66"]
    found = miner.filter(texts, mono=True, languages=("de", None))
    assert [row["source"] for row in found] == german[:40] and "target" not in found[0]
    reasons = {row["source"]: row["filter"] for row in found.rejected}
    assert reasons == {
        german[3].upper(): "duplicates",
        "": "empty",
        english[5]: "language",
        "Der Tag ist schÃ¶n.": "encoding",
        "3 44 555 66": "letters",
    }
    path = tmp_path / "a.de"
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    of_file = miner.filter(path, mono=True)  # Its language is identified.
    assert [row["source"] for row in of_file] == german[:40]
    short = miner.filter(texts, filters=[{"name": "length", "maximum": 5}], mono=True)
    assert 0 < len(short) < 40
    with pytest.raises(MinerError, match="length: a filter, not a file of filters"):
        miner.filter(texts, filters="length", mono=True)
    with pytest.raises(MinerError, match="quality compares two sides"):
        miner.filter(texts, filters=["quality"], mono=True)
