"""Configurations of OpusFilter and OpusCleaner, converted to ours."""

import json

import pytest
from support.peers import web_rows

import miner as package
from miner.cleaning.config_file import config_of, read_config
from miner.cleaning.peer_configs import OPUSCLEANER, OPUSFILTER, as_toml, peer_config
from miner.config_fields import read_toml
from miner.errors import ArtifactError
from miner.filters.filter_types import Context

YAML = """
common:
  constants: {src: de, name: web}
steps:
  - type: opus_read
    parameters: {corpus_name: !var unknown}
  - type: remove_duplicates
    parameters: {inputs: [a, b], outputs: [c, d], compare: [0], lowercase: true}
  - type: filter
    parameters:
      inputs: [!varstr "{name}.{src}", b]
      outputs: [c, d]
      filters: &filters
        - LengthFilter: {unit: [word, word], min_length: [2, 3], max_length: 50}
        - LengthRatioFilter: {unit: char}
        - LongWordFilter: {threshold: [40, 30]}
        - FastTextFilter: {model_path: lid.bin, languages: [!var src, en], thresholds: [0.6, 0.5]}
        - NonZeroNumeralsFilter: ~
        - RegExpFilter: {regexps: [x, y]}
        - MinerQuality: {languages: [de, en], threshold: 0.4}
          module: miner.integrations.opusfilter
  - type: filter
    parameters: {filters: [{LongWordFilter: {threshold: 20}}]}
"""
PIPELINE = {
    "version": 1,
    "files": ["web.de.gz", "web.en.gz"],
    "filters": [
        {"filter": "remove_empty_lines", "parameters": {}},
        {"filter": "src_trg_ratio", "parameters": {"RATIO": 0.5, "LOG": False}},
        {"filter": "fix_quotes", "parameters": {}},
        {"filter": "opus.LongWordFilter", "parameters": {"threshold": 40}},
        {
            "filter": "miner_quality",
            "parameters": {"THRESHOLD": 0.3, "SRCLANG": "de", "TGTLANG": "en"},
        },
    ],
}


@pytest.fixture
def yaml_file(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "opusfilter.yaml"
    path.write_text(YAML, encoding="utf-8")
    return path


@pytest.fixture
def pipeline(tmp_path):
    path = tmp_path / "web.filters.json"
    path.write_text(json.dumps(PIPELINE), encoding="utf-8")
    return path


def test_filters_of_opusfilter_become_ours(yaml_file):
    notes: list[str] = []
    found = peer_config(yaml_file, notes.append)
    assert (found["source_lang"], found["target_lang"]) == ("de", "en")
    assert found["filter"] == [
        {"name": "duplicates", "of": "source", "exact": False},
        *(
            {"name": "length", "label": f"length of the {side}", "of": side, **bounds}
            for side, bounds in (
                ("source", {"minimum": 2, "maximum": 50}),
                ("target", {"minimum": 3, "maximum": 50}),
            )
        ),
        {"name": "length_ratio", "maximum": 3, "slack": 0.0},
        {"name": "longest_word", "maximum": 29},
        {"name": "lid", "file": "lid.bin", "minimum": 0.5},
        {"name": "numbers", "minimum": 0.5},
        {"name": "quality", "minimum": 0.4},
        {"name": "longest_word", "maximum": 19, "label": "longest_word 2"},
    ]
    assert notes == [
        f"{yaml_file}: opus_read has no counterpart",
        "NonZeroNumeralsFilter: compares digits; 'numbers' compares values",
        f"{yaml_file}: RegExpFilter has no counterpart",
    ]


def test_filters_of_opuscleaner_become_ours(pipeline):
    notes: list[str] = []
    found = peer_config(pipeline, notes.append)
    assert found == {
        "source_lang": "de",
        "target_lang": "en",
        "filter": [
            {"name": "empty"},
            {"name": "length_ratio", "maximum": 2.0, "slack": 0.0},
            {"name": "longest_word", "maximum": 39},
            {"name": "quality", "minimum": 0.3},
        ],
    }
    assert notes == [
        "src_trg_ratio: counts words; 'length_ratio' counts characters",
        f"{pipeline}: fix_quotes has no counterpart",
    ]


@pytest.mark.parametrize("name", [*OPUSFILTER, *OPUSCLEANER])
def test_usual_parameters_make_plans(name):
    """For each filter that has a counterpart."""
    translate = (OPUSFILTER | OPUSCLEANER)[name]
    tables = translate({}, print)
    assert config_of({"filter": tables}, Context("de", "en"), name).steps


def test_toml_is_the_same_plan(yaml_file, tmp_path, miner):
    code, text, notes = miner("integrations", "convert", yaml_file)
    assert code == 0 and notes.count("has no counterpart") == 2
    written = tmp_path / "filters.toml"
    written.write_text(text, encoding="utf-8")
    assert read_toml(written) == peer_config(yaml_file)
    assert as_toml({"filter": [{"name": "length", "maximum": float("inf")}]}).endswith("= inf\n")
    configs = [read_config(path, Context()) for path in (written, yaml_file)]
    assert configs[0] == configs[1]


def test_the_commands_and_python_read_it(pipeline, german, english, knowing_model, tmp_path, miner):
    rows = tmp_path / "rows.tsv"
    pairs = [*zip(german, english, strict=True), (german[0], ""), (german[1], english[7])]
    rows.write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    options = ["--config", pipeline, "--model", knowing_model]
    code, kept, notes = miner("filter", rows, *options)
    assert code == 0 and "fix_quotes has no counterpart" in notes and ">= 0.3" in notes
    said: list[str] = []
    found = package.filter(pairs, filters=pipeline, model=knowing_model, note=said.append)
    assert kept.split("\n")[:-1] == [f"{row['source']}\t{row['target']}" for row in found]
    assert 0 < len(found) < len(pairs) and any("fix_quotes" in line for line in said)
    code, scored, _ = miner("score", rows, *options)
    assert code == 0 and len(scored.split("\n")[0].split("\t")) == 2 + 4


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.json", "[]", "neither the 'steps' of OpusFilter nor the 'filters' of OpusCleaner"),
        ("a.json", "{", "is not JSON"),
        ("a.json", '{"filters": [1]}', "filter 1: has no name"),
        ("a.json", '{"filters": [{"filter": "sed"}]}', "no filter there has a counterpart"),
        ("a.yaml", "steps: [", "is not YAML"),
        ("a.yaml", "", "neither"),
        ("a.yaml", "steps: [1]", "step 1: has no type"),
        ("a.yaml", "steps: [{type: filter, parameters: {filters: [x]}}]", "is no filter with"),
        (
            "a.yaml",
            "steps: [{type: filter, parameters: {filters: [LongWordFilter: {threshold: x}]}}]",
            "LongWordFilter has unusual parameters",
        ),
        (
            "a.yaml",
            "steps: [{type: filter, parameters: {filters: [LongWordFilter: {threshold: !var x}]}}]",
            "'x' is no constant",
        ),
    ],
)
def test_what_is_no_such_configuration_is_an_error(name, content, message, tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ArtifactError, match=message) as error:
        peer_config(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ArtifactError, match="cannot be read"):
        peer_config(tmp_path / "none.json")


EXACT = [
    ("LengthFilter", {"min_length": 5, "max_length": 30}),
    ("LengthRatioFilter", {"unit": "char", "threshold": 1.4}),
    ("LongWordFilter", {"threshold": 20}),
]


@pytest.mark.parametrize("name, own", EXACT)
def test_decisions_are_those_of_opusfilter(name, own):
    """On rows of a web crawl, for filters that convert without a note."""
    filters = pytest.importorskip("opusfilter.filters", reason="needs the extra integrations")
    notes: list[str] = []
    tables = OPUSFILTER[name](own, notes.append)
    rows = [row for row in web_rows() if all(row)]
    found = package.filter(rows, filters=tables, languages=("de", "en"))
    ours = [(row["source"], row["target"]) for row in found]
    assert not notes and ours == list(getattr(filters, name)(**own).filter(rows))
    assert 0 < len(ours) < len(rows)
