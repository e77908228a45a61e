"""Configurations of filter runs: their filters, and the errors of wrong ones."""

import dataclasses
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from miner.cleaning.config import (
    RANK,
    FilterConfig,
    default_config,
    with_languages,
    with_quality_bounds,
)
from miner.cleaning.config_file import read_config, scores_config
from miner.cleaning.scorers import Scoring
from miner.cli import cli
from miner.config_fields import SettingsError
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load
from miner.errors import ArtifactError
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL, Context
from miner.filters.registry import FILTERS
from miner.scoring.languages import Identified
from miner.tasks.task import fingerprint

KNOWN = Context("de", "en")


def config(place: Path, text: str, context: Context = KNOWN) -> FilterConfig:
    path = place / "filters.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path, context)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no filter; add"),
        ("filter = []", "names no filter; add"),
        ("filter = [", "not TOML"),
        ("filter = 3", r"a table of its own, \[\[filter\]\]"),
        ('[filter]\nname = "length"', r"a table of its own, \[\[filter\]\]"),
        ("sourcelang = 'de'", "there is no key 'sourcelang'; did you mean source_lang"),
        ("zzz = 1", "there is no key 'zzz'; there are: source_lang, target_lang"),
        ("repair = 'yes'", "repair must be true or false, not 'yes'"),
        ("source_lang = 3", "source_lang must be text, not 3"),
        ("rank = 1", "rank must be text"),
        ("[[filter]]\nof = 'source'", "filter 1: has no name"),
        ("[[filter]]\nname = 3", "filter 1: has no name"),
        ("[[filter]]\nname = 'lenght'", "filter 1: there is no filter 'lenght'; did you mean"),
        ("[[filter]]\nname = 'length'\nmaxmum = 3", r"\(length\): .* 'maxmum'; did you mean max"),
        ("[[filter]]\nname = 'length'\nk = 3", r"no key 'k'; there are: name, label, only"),
        ("[[filter]]\nname = 'length'\nof = 3", "of must be text, not 3"),
        ("[[filter]]\nname = 'length'\nof = 'both'", "must be one of source, target, shorter"),
        ("[[filter]]\nname = 'length'\nmaximum = '3'", "maximum must be a number, not '3'"),
        ("[[filter]]\nname = 'length'\nminimum = true", "minimum must be a number, not True"),
        ("[[filter]]\nname = 'length'\nminimum = nan", "minimum must be a number, not nan"),
        ("[[filter]]\nname = 'length'\nminimum = 300", "minimum 300 is above maximum 200"),
        ("[[filter]]\nname = 'quality'\nminimum = 2", "minimum 2 is outside .* are 0 to 1"),
        ("[[filter]]\nname = 'cosine'\nmaximum = -1.5", "maximum -1.5 is outside .* are -1 to 1"),
        ("[[filter]]\nname = 'length_ratio'\nmaximum = 0.5", "maximum 0.5 is .* are 1 or more"),
        ("[[filter]]\nname = 'length'\nlabel = ''", "label must be text"),
        ("[[filter]]\nname = 'length'\nlabel = 'top-n'", "'top-n' has a meaning"),
        ("[[filter]]\nname = 'length_ratio'\nslack = 'x'", "slack must be a number"),
        ("[[filter]]\nname = 'margin'\nk = 1.5", "k must be a whole number, not 1.5"),
        ("[[filter]]\nname = 'margin'\nk = true", "k must be a whole number, not True"),
        ("[[filter]]\nname = 'duplicates'\nexact = 1", "exact must be true or false, not 1"),
        ("[[filter]]\nname = 'cost'", "needs column: number or name of the column"),
        ("[[filter]]\nname = 'cost'\ncolumn = 1.5", "column must be text"),
        ("[[filter]]\nname = 'length'\n[[filter]]\nname = 'length'", "'length' is there twice"),
        ("rank = 'cosine'\n[[filter]]\nname = 'length'", "rank is 'cosine', .* there are: length"),
        ("rank = 'duplicates'\n[[filter]]\nname = 'duplicates'", "no filter that scores pairs; "),
        ("[[filter]]\nname = 'decile'", r"\(decile\): of is 'cosine', .* there is none"),
        (
            "[[filter]]\nname = 'decile'\nof = 'duplicates'\n[[filter]]\nname = 'duplicates'\n"
            "[[filter]]\nname = 'length'",
            "of is 'duplicates', which is no filter that scores pairs; there are: length",
        ),
        ("[[filter]]\nname = 'margin'\nk = 0", "k is 0; it must be at least 1"),
        ("[[filter]]\nname = 'margin'\npairs = -1", "pairs is -1; it must be at least 0"),
        ("[[filter]]\nname = 'length_ratio'\nslack = nan", "slack is nan; it must be at least 0"),
        (f"[[filter]]\nname = 'length'\nmaximum = 1{'0' * 400}", "maximum is beyond all numbers"),
        ("source_lang = 'German'\n[[filter]]\nname = 'length'", "is no language code"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ArtifactError, match=words) as caught:
        config(tmp_path, text, Context())
    assert str(caught.value).startswith(str(tmp_path / "filters.toml"))


def test_languages_are_wanted_where_they_are_needed(tmp_path: Path) -> None:
    needy = next(name for name, entry in FILTERS.items() if entry.languages)
    text = f"[[filter]]\nname = '{needy}'"
    for context in (Context(), Context("de"), Context(None, "en")):
        with pytest.raises(ArtifactError, match=f"{needy} needs to know the languages"):
            config(tmp_path, text, context)
        with pytest.raises(ArtifactError, match=f"{needy} needs to know the languages"):
            scores_config([needy], context)
        assert not any(step.filter.languages for step in default_config(context).steps)
    given = config(tmp_path, f"source_lang = 'fr'\ntarget_lang = 'cs'\n{text}", Context("de"))
    assert given.context.languages == ("de", "cs")  # options of the command line take precedence
    assert any(step.filter.languages for step in default_config(KNOWN).steps)


def test_bounds_and_settings(tmp_path: Path) -> None:
    made = config(
        tmp_path,
        """
        rank = "short"
        [[filter]]
        name = "length"
        label = "short"
        minimum = 2
        [[filter]]
        name = "length"
        minimum = -inf
        maximum = inf
        of = "source"
        [[filter]]
        name = "length_ratio"
        slack = 3
        maximum = 1.5
        [[filter]]
        name = "cost"
        column = 3
        """,
    )
    short, length, ratio, cost = made.steps
    assert (short.label, short.minimum, short.maximum, short.bounds()) == (
        "short", 2.0, 200.0, "2 to 200"
    )  # fmt: skip
    assert (length.minimum, length.maximum, length.bounds()) == (None, None, "none")
    assert length.settings == {"of": "source"} and ratio.bounds() == "<= 1.5"
    assert ratio.settings == {"slack": 3.0} and type(ratio.settings["slack"]) is float
    assert cost.settings == {"column": "3"} and made.columns == ["3"]
    assert made.ranking == short
    lowered = made.with_bound(7)  # a lower token count is better
    assert lowered.ranking is not None and lowered.ranking.bounds() == "2 to 7"
    assert lowered.steps[1:] == made.steps[1:]


def test_a_threshold_outside_of_the_scores(tmp_path: Path) -> None:
    ranked = config(tmp_path, "rank = 'quality'\n[[filter]]\nname = 'quality'")
    with pytest.raises(SettingsError, match="a threshold of 2 is outside of the scores of quality"):
        ranked.with_bound(2)
    assert ranked.with_bound(1).with_bound(None).ranking is not None


def test_what_ranks_where_nobody_says(tmp_path: Path) -> None:
    def rank(*names: str) -> str | None:
        return config(tmp_path, "".join(f"[[filter]]\n{name}\n" for name in names)).rank

    quality = "name = 'quality'\nlabel = 'q'"
    assert rank("name = 'cosine'", quality, "name = 'duplicates'") == "q"
    assert rank("name = 'length'", "name = 'duplicates'") is None


def test_relative_paths_are_relative_to_the_configuration(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    made = config(there, "model = 'small'\n[[filter]]\nname = 'cosine'\nmodel = 'other'")
    assert made.context.directory == there and made.context.model == str(there / "small")
    for name, other in (("a", "x"), ("b", None)):
        with pytest.raises(ArtifactError, match=str(there / (other or "small"))):
            setting = f"\nmodel = '{other}'" if other else ""
            text = f"model = 'small'\n[[filter]]\nname = 'cosine'\nlabel = '{name}'{setting}"
            step = config(there, text).steps[0]
            step.filter.build(step.settings, config(there, text).context)
    asked = dataclasses.replace(KNOWN, model="mine")
    assert config(there, "model = 'small'\n[[filter]]\nname = 'cosine'", asked).context.model == (
        "mine"
    )


def test_the_defaults(tmp_path: Path) -> None:
    made = default_config(KNOWN)
    assert not made.repair, "filters see the text as it is"
    assert [step.name for step in made.steps] == [n for n, f in FILTERS.items() if f.default]
    assert made.ranking is not None and made.ranking.name == "quality"
    assert {"quality", "duplicates"} <= {step.name for step in made.steps}
    stages = [step.filter.stage for step in made.steps]
    assert stages == sorted(stages) and set(stages) == {LOCAL, MODEL, GLOBAL}
    scores = scores_config(["margin", "length", "margin"], KNOWN)
    assert [step.name for step in scores.steps] == ["margin", "length"]
    assert all((step.minimum, step.maximum) == (None, None) for step in scores.steps)


def scored_by(config: FilterConfig) -> str:
    """Return the fingerprint of the scores of a configuration, by filters of all stages."""
    return fingerprint(Scoring, {"scoring": Scoring.of(config.located(), (LOCAL, MODEL, GLOBAL))})


def test_the_fingerprint_follows_the_content_of_files(tmp_path, tiny_model, other_model):
    """Changed content changes the fingerprint, even at equal size and time; missing files raise
    nothing.
    """
    model, reference = tmp_path / "model", tmp_path / "good.txt"
    text = (
        "model = 'model'\n[[filter]]\nname = 'cosine'\n"
        "[[filter]]\nname = 'perplexity'\nreferences = 'good.txt'\n"
    )
    found = [scored_by(config(tmp_path, text))]
    for content, source in (
        ("a b c\n", tiny_model),
        ("a b d\n", tiny_model),
        ("a b d\n", other_model),
    ):
        reference.write_text(content, encoding="utf-8")
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(source, model)
        for file in (reference, *model.iterdir()):
            os.utime(file, (1, 1))
        found.append(scored_by(config(tmp_path, text)))
    assert len(set(found)) == 4


def test_the_list_explains_every_filter() -> None:
    done = CliRunner().invoke(cli, ["filter", "--list"])
    assert done.exit_code == 0
    sections = {part.split()[0]: part for part in done.output.strip().split("\n\n")}
    assert list(sections) == list(FILTERS)
    for name, entry in FILTERS.items():
        text = sections[name]
        assert entry.summary in text and f"{entry.better} is better" in text
        assert all(one.help in text and f"{key} = " in text for key, one in entry.settings.items())
        bounds = {"minimum": entry.minimum, "maximum": entry.maximum}
        assert all(b is None or f"{word} {b:g}" in text for word, b in bounds.items())


@pytest.fixture
def bounded(knowing_model: Path, tmp_path: Path) -> Path:
    """Save a model with quality bounds for two languages."""
    known = {
        "he": KnownLanguage(9, quality_bound=0.002),
        "fa": KnownLanguage(9, quality_bound=0.03),
        "de": KnownLanguage(9),
    }
    dataclasses.replace(load(knowing_model), languages=known).save(tmp_path / "bounded")
    return tmp_path / "bounded"


def test_the_bound_of_the_quality_is_the_languages(bounded: Path, tmp_path: Path) -> None:
    """By default, `quality` has the language's bound, unless a minimum or labels are set."""

    def bounds(config: FilterConfig, *languages: str) -> str:
        steps = with_quality_bounds(config, languages).steps
        return next(step.bounds() for step in steps if step.name == RANK)

    context = Context("de", "en", model=str(bounded))
    usual = default_config(context)
    assert bounds(usual, "he", "en") == ">= 0.002 (he)"
    assert bounds(usual, "de", "en") == ">= 0.1"
    assert bounds(usual, "fa", "he") == ">= 0.002 (fa, he)"
    assert bounds(usual.with_bound(0.1), "he", "en") == ">= 0.1"
    mixed = with_quality_bounds(usual, ["de", "fa", "he"], by_row=True)
    assert mixed.ranking.bounds() == ">= 0.002 (fa, he), by row"
    assert mixed.with_bound(0.1).ranking.bounds() == ">= 0.1"
    assert bounds(usual.with_bound(None), "he", "en") == "none"
    assert bounds(usual.with_labels(str(tmp_path / "labels.tsv")), "he", "en") == ">= 0.1"
    assert bounds(default_config(Context("he", "en", model="hf:x")), "he", "en") == ">= 0.1"
    named = config(tmp_path, "[[filter]]\nname = 'quality'", context)
    assert bounds(named, "he", "en") == ">= 0.002 (he)"
    given = config(tmp_path, "[[filter]]\nname = 'quality'\nminimum = 0.1", context)
    assert bounds(given, "he", "en") == ">= 0.1"
    none = config(tmp_path, "[[filter]]\nname = 'quality'\nminimum = -inf", context)
    assert bounds(none, "he", "en") == "none"


def test_a_text_in_several_languages_is_not_judged_by_most_of_it() -> None:
    """Language filters by the majority would drop the rows in other languages."""
    config, english = default_config(Context()), Identified((("en", 1.0),), None, 9000)
    for shares, known in (
        ((("de", 0.97), ("he", 0.03)), True),
        ((("de", 0.7), ("he", 0.3)), False),
    ):
        found = with_languages(config, Identified(shares, None, 9000), english)
        assert all(found.context.languages) is known
        assert any(step.name == "script" for step in found.steps) is known
