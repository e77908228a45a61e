"""miner.score and miner.filter: the same as the commands, on files, pairs and rows."""

import dataclasses
import json

import pytest
from pyarrow import Table, parquet

import miner
from miner import Encoder, MinerError
from miner.encoder.known_languages import KnownLanguage
from miner.text.bitext import read_bitext

KNOWN = {"de": KnownLanguage(9), "en": KnownLanguage(9)}
FILTERS = ["identical", {"name": "quality", "minimum": 0.2}]


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


def test_default_filters_are_those_of_the_command(
    german, english, knowing_model, tmp_path, miner_command
):
    """With those for the languages, which the text tells."""
    pairs = [*zip(german[:-1], english[:-1], strict=True), (english[-1], german[-1])]
    path = tmp_path / "rows.tsv"
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    report, kept = tmp_path / "report.json", tmp_path / "kept.tsv"
    miner_command("filter", path, "--model", knowing_model, "--report", report, "-o", kept)
    counts = json.loads(report.read_text(encoding="utf-8"))
    for given in (pairs, path):
        found = miner.filter(given, model=knowing_model)
        assert [stage.label for stage in found.summary.stages] == [
            one["label"] for one in counts["filters"]
        ]
        assert found.rejected[-1]["filter"] == "language"
        assert found.summary.kept == counts["kept"]


def test_the_default_bound_is_the_models_unless_one_is_given(
    german, english, knowing_model, tmp_path, miner_command
):
    """Languages given or identified, for the command and the function."""
    bounded, report = tmp_path / "bounded", tmp_path / "report.json"
    model = Encoder.load(knowing_model).model
    known = {**KNOWN, "de": dataclasses.replace(KNOWN["de"], quality_bound=0.02)}
    dataclasses.replace(model, languages=known).save(bounded)
    path = tmp_path / "rows.tsv"
    pairs = list(zip(german, english, strict=True))
    path.write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    flags = ("--source-lang", "de", "--target-lang", "en")
    for threshold, expected in ((None, ">= 0.02 (de)"), (0.1, ">= 0.1"), (0.3, ">= 0.3")):
        more = () if threshold is None else ("--threshold", threshold)
        for languages in ((), flags):
            given = (*more, *languages, "--model", bounded, "--report", report)
            miner_command("filter", path, *given, "-o", tmp_path / "kept.tsv")
            stages = json.loads(report.read_text(encoding="utf-8"))["filters"]
            assert [one["bounds"] for one in stages if one["label"] == "quality"] == [expected]
            codes = ("de", "en") if languages else None
            found = miner.filter(pairs, model=bounded, threshold=threshold, languages=codes)
            stages = found.summary.stages
            assert [one.bounds for one in stages if one.label == "quality"] == [expected]


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


@pytest.fixture
def miner_command(miner):
    def run(*arguments):
        code, _, err = miner(*arguments, "--threads", 1)
        assert code == 0, err

    return run


def test_faults(rows, tmp_path, miner):
    import miner as api

    with pytest.raises(MinerError, match=r"^target: ends before text 2, and the other side does"):
        api.score(["eins", "zwei"], ["one"])
    with pytest.raises(MinerError, match=r"^pair 1: is 'eins', neither a pair of texts nor a row$"):
        api.score(["eins"])
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
    """Languages count by row in a mixed file, and the result carries the warning."""
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
    of_file = miner.filter(path, mono=True)  # its language is identified
    assert [row["source"] for row in of_file] == german[:40]
    short = miner.filter(texts, filters=[{"name": "length", "maximum": 5}], mono=True)
    assert 0 < len(short) < 40
    with pytest.raises(MinerError, match="quality compares two sides"):
        miner.filter(texts, filters=["quality"], mono=True)
