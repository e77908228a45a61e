"""Data experiments on generated text, most of them without training."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.near_copies import NEAR

from benchmarks import pages
from benchmarks.models import (
    back_translation_experiments,
    bench,
    choose,
    encoder_tables,
    experiment_metrics,
    experiment_tables,
    filter_experiments,
    generation_experiments,
    language_experiments,
    part_experiments,
    recipe_experiments,
    size_experiments,
    training_text,
    translation_experiments,
)
from benchmarks.models import experiments as command
from benchmarks.models.experiment_metrics import ExperimentBench
from benchmarks.models.training_text import BILINGUAL, LONGEST, Pair
from miner import MinerError
from miner.papers.language_overlap import Correlation
from miner.text.output import open_output

WORDS = ["a", "house", "the", "tree", "green", "runs", "home", "late", "every", "day", "nobody"]


def made(number: int, start: str = "") -> list[Pair]:
    """Return ``number`` different pairs."""
    return [
        (f"{start}maison {n} {WORDS[n % 7]}", f"house {n} {WORDS[n % 5]}") for n in range(number)
    ]


def put(data: Path, place: str, pairs: list[Pair]) -> None:
    path = data / place
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as file:
        file.writelines(f"{source}\t{target}\n" for source, target in pairs)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write training text: two large sources and a small one, laws, paraphrases."""
    place = tmp_path / "data"
    put(place, "train/fr-en/large.tsv.xz", made(60))
    put(place, "train/fr-en/other.tsv", made(50, "autre "))
    put(place, "train/fr-en/small.tsv", made(7, "petite "))
    put(place, "noisy/fr-en.laws-positional.tsv", made(90, "loi "))
    for pair in ("de-en", "fr-en", "es-en"):
        twice = [(f"{pair} {n}", f"{WORDS[n % 9]} {n} {end}") for n in range(40) for end in "xy"]
        put(place, f"train/{pair}/tatoeba.tsv", twice)
    return place


class Dry:
    """A bench that trains nothing; its metrics follow from the text."""

    def __init__(self, data: Path, pairs: int):
        self.data, self.pairs = data, pairs
        self.given: dict[tuple[str, str], list[Pair]] = {}
        self.embeddings: Path | None = None

    def row(self, group: str, name: str, pairs: list[Pair], *_: Any, **more: Any) -> dict[str, Any]:
        assert "seed" in more or (group, name) not in self.given and pairs
        self.given[group, name] = pairs
        more.pop("mine", None)
        more.pop("measure", None)
        value = len(pairs) / 1000
        figure = {"value": value, "interval": [value - 0.01, value + 0.01]}
        names = ("bucc", "tatoeba", "sts 12-16", "sts-b")
        return {
            "group": group,
            "name": name,
            "pairs": len(pairs),
            "fingerprint": f"{group} {name}",
            "figures": dict.fromkeys(names, figure),
            "training CPU seconds": 2.0,
            **more,
        }

    def text(self, *_: Any) -> None:
        pass

    def model(self, *_: Any) -> tuple[Path, float]:
        return Path(pages.__file__).parents[1] / "miner" / "models" / "default", 0.0


def last(section: Any, bench: Any) -> dict[str, Any]:
    *_, results = section.measure(bench)
    return results


def test_sources_are_short_and_distinct(data: Path) -> None:
    long = " ".join(["mot"] * (LONGEST + 1))
    put(data, "train/fr-en/more.tsv", [("un", "one"), ("un", "one"), (long, "words"), ("un", "a")])
    found = training_text.sources(data, BILINGUAL)
    assert list(found) == ["large", "more", "other", "small", "tatoeba"]
    assert found["more"] == [("un", "one"), ("un", "a")]
    with pytest.raises(MinerError, match="no training text"):
        training_text.sources(data, "xx-en")


def test_a_mix_has_equally_many_of_each() -> None:
    parts = {"a": made(50, "a "), "b": made(50, "b "), "c": made(3, "c ")}
    found = training_text.mixed(parts, 20)
    counts = [sum(source.startswith(name) for source, _ in found) for name in parts]
    assert counts == [7, 7, 3]  # all of a source that is too small
    assert found == training_text.mixed(parts, 20) and len(set(found)) == len(found)


def test_pools(data: Path) -> None:
    laws, half = training_text.noisy(data), training_text.half_noisy(data)
    assert len(laws) == 90 and len(half) == 180 and sum(pair in set(laws) for pair in half) == 90
    assert {source.split()[0] for source, _ in half[:90]} > {"loi", "maison"}, "in no order"
    with pytest.raises(MinerError, match=r"no fr-en\.laws-positional"):
        training_text.noisy(data / "train")


def test_text_is_written_once(tmp_path: Path) -> None:
    one = training_text.written("a name", made(4), tmp_path)
    assert one.path.read_text(encoding="utf-8").startswith("maison 0 a\thouse 0 a\n")
    stamp = one.path.stat().st_mtime_ns
    assert training_text.written("a name", made(4), tmp_path) == one
    assert one.path.stat().st_mtime_ns == stamp
    assert training_text.written("a name", made(5), tmp_path).path != one.path
    assert (one.described["pairs"], one.described["mean words"]) == (4, [3.0, 3.0])
    with pytest.raises(MinerError, match="a name: no pair is left"):
        training_text.written("a name", [], tmp_path)


def test_choices_by_score() -> None:
    pairs = made(7)
    score = np.array([0.1, 0.9, 0.5, 0.9, 0.0, 0.3, 0.2])
    assert choose.top(pairs, score, 3) == [pairs[1], pairs[3], pairs[2]]
    assert choose.within(pairs, score, 0.3, 0.5) == [pairs[2], pairs[5]]
    # The worst is left over.
    assert choose.parts(pairs, score, 3) == [
        [pairs[0], pairs[6]],
        [pairs[5], pairs[2]],
        [pairs[1], pairs[3]],
    ]


def test_scores_are_those_of_the_filters() -> None:
    pairs = [("the house", "the tree"), ("one two three", "1"), ("a b c d", "A b c d")]
    assert choose.scores("length", pairs).tolist() == [-2, -3, -4], "higher is better"
    assert choose.scores("ngram_overlap", pairs).tolist() == [-0.5, 0, -1]
    assert choose.scores("ngram_overlap", pairs, n=2).tolist() == [0, 0, -1]
    cosine = choose.scores("cosine", pairs)
    margin = choose.scores("margin", pairs)
    assert cosine.argmax() == margin.argmax() == 2
    np.testing.assert_array_equal(cosine, choose.scores("cosine", pairs, model="default"))


def test_the_model_of_a_pool_is_not_trained_on_its_pairs(data, monkeypatch):
    place = ExperimentBench(data, data / "models", {}, pairs=20)
    pool = choose.pool("half noisy", place)
    assert (len(pool.sample), len(pool.pairs), pool.keep) == (20, 160, 20)
    assert not set(pool.sample) & set(pool.pairs) and pool.config == experiment_metrics.P19
    english = choose.pool(training_text.ENGLISH, place)
    assert (
        english.languages == training_text.ENGLISH
        and english.config == experiment_metrics.PARAPHRASE
    )
    monkeypatch.setattr(choose, "MOST", 30)
    assert len(choose.pool("half noisy", place).pairs) == 30


@pytest.mark.slow
def test_filters(data: Path) -> None:
    dry = Dry(data, 20)
    results = last(filter_experiments, dry)
    assert all(row["pairs"] == 20 for row in results["rows"])
    assert list(results["pools"]) == list(training_text.POOLS)
    assert {row["group"] for row in results["rows"]} == set(training_text.POOLS)
    names = {
        group: [row["name"] for row in results["rows"] if row["group"] == group]
        for group in training_text.POOLS
    }
    scored = [f"{name} by {whose}" for whose in ("the default model", "the pool's own")
              for name in ("cosine", "margin")]  # fmt: skip
    for group, found in names.items():
        assert found[0] == "none: random, draw 1" and found[-4:] == scored
        assert ("quality" in found) == (group != training_text.ENGLISH)
    assert names["half noisy"][3:5] == ["tokens, 0 to 10", "overlap of words, 0.2 to 0.6"]
    drawn = [dry.given["half noisy", name] for name in names["half noisy"][:3]]
    assert len({pair for part in drawn for pair in part}) == 60
    assert "overlap of 1-grams, 0.6 to 1" in names[training_text.ENGLISH]
    for (group, _), pairs in dry.given.items():
        assert set(pairs) <= set(choose.pool(group, dry).pairs)  # type: ignore[arg-type]


def test_deciles(data: Path) -> None:
    from benchmarks.models import deciles

    dry = Dry(data, 20)
    results = last(deciles, dry)
    assert len(results["rows"]) == 40
    for start in range(0, 40, 10):
        rows = results["rows"][start : start + 10]
        assert [row["name"] for row in rows] == [str(number) for number in range(1, 11)]
        assert len({row["pairs"] for row in rows}) == 1
        edges = [edge for row in rows for edge in row["cosines"]]
        assert edges == sorted(edges)
        parts = [dry.given[row["group"], row["name"]] for row in rows]
        assert len({pair for part in parts for pair in part}) == sum(map(len, parts))
    assert "| cosines |" in "\n".join(experiment_tables.section("deciles", results))


def test_scale(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_experiments, "SIZES", (10, 100, 1000))
    dry = Dry(data, 20)
    rows = last(size_experiments, dry)["rows"]
    assert [(row["group"], row["pairs"]) for row in rows] == [
        (recipe, size) for size in (10, 100, 197) for recipe in ("p19-tuned", "fast")
    ]
    lines = experiment_tables.section("scale", {"rows": rows})
    assert "| 10 | 0.010 (0.000–0.020) | 0.010 (0.000–0.020) | 1.0 (0.0–2.0) |" in lines[4]
    small, large, most = (dry.given["p19-tuned", name] for name in ("10", "100", "197"))
    assert large[:10] == small and most[:100] == large


def test_cipher() -> None:
    words = [f"{one}{other}" for one in WORDS for other in WORDS]
    sentence = " ".join(words)
    changed = [
        language_experiments.ciphered(sentence, share).split()
        for share in language_experiments.SHARES
    ]
    counts = [sum(a != b for a, b in zip(found, words, strict=True)) for found in changed]
    assert counts[0] == 0 and counts[-1] == len(words) and counts == sorted(counts)
    assert counts[2] == pytest.approx(len(words) / 2, abs=20)
    # Larger shares keep the words of smaller ones, and the cipher is one to one.
    assert all(one in (word, full) for one, word, full in zip(changed[1], words, changed[-1],
                                                              strict=True))  # fmt: skip
    assert len(set(changed[-1])) == len(set(words))
    found = language_experiments.ciphered("The tree, the TREE: 42!", 1.0)
    the, tree = found[:3], found[4:8]
    assert found == f"{the} {tree}, {the.lower()} {tree.upper()}: 42!"
    assert all(one != other for one, other in zip(f"{the}{tree}", "Thetree", strict=True))
    assert tree[2] == tree[3] and the[0].isupper()


def test_languages_have_the_same_english(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(data, "train/cs-en/a.tsv", [("jeden", "one"), ("dva", "two"), ("tři", "three")])
    put(data, "train/ru-en/a.tsv", [("два", "two"), ("один", "one"), ("раз", "one")])
    put(data, "train/ru-en/b.tsv", [("три", "three")])
    monkeypatch.setattr(language_experiments, "GROUPS", {"few": (("a",), ("cs", "ru"))})
    dry = Dry(data, 20)
    found = language_experiments.aligned(dry)["few"]  # type: ignore[arg-type]
    assert sorted(found["cs"]) == [("dva", "two"), ("jeden", "one")]
    assert sorted(found["ru"]) == [("два", "two"), ("один", "one")], "the first translation"
    assert [pair[1] for pair in found["cs"]] == [pair[1] for pair in found["ru"]]

    results = last(language_experiments, dry)
    groups = [f"{group}, {kind} vocabularies" for kind in language_experiments.VOCABULARIES
              for group in ("few", language_experiments.SYNTHETIC)]  # fmt: skip
    assert list(dict.fromkeys(row["group"] for row in results["rows"])) == groups
    cipher = [row["overlap"]["share"] for row in results["rows"] if row["group"] == groups[1]]
    assert cipher == sorted(cipher, reverse=True) and cipher[0] > cipher[-1] + 0.1
    # Two languages are too few, and the metrics of the cipher are constant here.
    correlated = [
        language_experiments.correlations(
            group, [row for row in results["rows"] if row["group"] == group]
        )[""]
        for group in groups
    ]
    assert correlated[0]["genetic"] == Correlation(None, 2)
    assert correlated[1]["overlap"] == Correlation(None, 5)
    lines = experiment_tables.section("languages", results)
    assert any(line.startswith("Spearman with STS 12–16: overlap undefined (5") for line in lines)


def test_recipes_are_crossed_over_seeds(data: Path) -> None:
    results = last(recipe_experiments, Dry(data, 20))
    keys = [(row["group"], row["name"], row["seed"]) for row in results["rows"]]
    assert len(set(keys)) == 2 * 3 * 3
    lines = experiment_tables.section("crossed-recipes", results)
    # Three seeds make one line: their number, CPU seconds, mean and range.
    assert sum("| 20 | 3, 2 | 0.020 (0.020–0.020) |" in line for line in lines) == 6
    for row in results["rows"]:
        row["figures"]["bucc"] = {"value": row["seed"] / 10, "interval": [0.0, 1.0]}
    (joined, *_) = experiment_tables.over_seeds([row for row in results["rows"]
                                                 if row["name"] == "p19"])  # fmt: skip
    assert joined["figures"]["bucc"] == {"value": pytest.approx(0.2), "interval": [0.1, 0.3]}
    (alone,) = experiment_tables.over_seeds(results["rows"][:1])
    assert alone == {**results["rows"][0], "seeds": 1}  # its own interval
    failed = [{"group": "g", "name": "n", "seed": 1, "pairs": 2, "failed": "why"}]
    assert experiment_tables.over_seeds(failed) == failed


@pytest.mark.slow
def test_a_bitext_and_its_back_translation_have_the_same_rows(data, monkeypatch):
    monkeypatch.setattr(back_translation_experiments, "TAUGHT", 60)
    dry = Dry(data, 15)
    dry.work = data / "work"  # type: ignore[attr-defined]
    results = last(back_translation_experiments, dry)
    assert len(results["rows"]) == 2 * 3 * 3
    for languages in back_translation_experiments.LANGUAGES:
        bitext = dry.given[languages, "bitext"]
        translated = dry.given[languages, "its back-translation"]
        assert [pair[1] for pair in bitext] == [pair[1] for pair in translated]
        assert all(one[0] != other[0] for one, other in zip(bitext, translated, strict=True))
        twice = dry.given[languages, "twice the bitext"]
        assert twice[: len(bitext)] == bitext and len(set(twice)) == len(twice) > len(bitext)
    assert experiment_tables.section("back-translation", results)


@pytest.mark.slow
def test_translations_are_described_and_cut_into_tenths(data, monkeypatch):
    monkeypatch.setattr(back_translation_experiments, "TAUGHT", 40)
    monkeypatch.setattr(translation_experiments, "ENCODERS", ("average",))
    dry = Dry(data, 40)
    dry.work = data / "work"  # type: ignore[attr-defined]
    results = last(translation_experiments, dry)
    groups = translation_experiments.references(dry)  # type: ignore[arg-type]
    count = sum(map(len, groups.values()))
    assert all(one.text != text for text, own in groups.items() for one in own)
    found = results["described"]
    assert sum(row["count"] for row in found["ranks"]) == count
    assert sum(row["count"] for row in found["ranges"]) == count
    lines = experiment_tables.section("translations", results)
    assert len(results["rows"]) == 30
    assert any(line.startswith("| average | ") for line in lines)


def test_one_part_of_a_recipe_changes(data: Path) -> None:
    dry: Any = Dry(data, 20)
    *_, results = part_experiments.measure_shuffled(dry)
    rows = results["rows"]
    # Three seeds of the average, one of GRAN.
    assert len({(row["group"], row["name"], row["seed"]) for row in rows}) == len(rows) == 24
    clean, half = (dry.given["GRAN over morphs", name] for name in ("0%", "40%"))
    changed = [one != other for one, other in zip(clean, half, strict=True)]
    assert sum(changed) == 8
    assert sorted(pair[1] for pair in half) == sorted(pair[1] for pair in clean)
    *_, results = part_experiments.measure_megabatches(dry)
    assert [row["seed"] for row in results["rows"]] == [1] * 6 + [2] * 3 + [3] * 3
    *_, results = part_experiments.measure_blstm(dry)
    assert [row["name"] for row in results["rows"]] == list(part_experiments.PARTS)


def test_differences_of_encoders_on_each_set() -> None:
    names = {"word": 0.5, "trigram": 0.75, "sp": 0.1}
    rows = [
        {
            "question": "",
            "name": name,
            "epochs": 1,
            "training seconds": 1,
            "figures": {
                "sts": {"2012.a": {"pearson": r}, "2012.b": {"pearson": 1 - r}},
                "sts 12-16": 1.0,
                "sts-b": 1.0,
                "sentences/s": {"median": 1},
                "parameters": 1,
            },
        }
        for name, r in names.items()
    ]
    results = {"text": {"pairs": 1, "mean words": [1, 1]}, "rows": rows}
    last_line = encoder_tables.group("english", results)[-1]
    assert last_line.endswith("over 2 sets: word and trigram 25.0.")


def test_paraphrases_are_mixed_into_a_bitext(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    means = dict.fromkeys(("1-gram overlap", "2-gram overlap", "3-gram overlap", "BLEU"), 0.5)
    means |= {"cosine": 0.75, "pairs": 39.0}
    monkeypatch.setattr(
        generation_experiments,
        "rewritten",
        lambda bench, pairs, sentences: (
            [(one, f"{one}!") for one in sentences[1:]],
            {"means": means, "generator CPU seconds": 90.0},
        ),
    )
    dry = Dry(data, 40)
    results = last(generation_experiments, dry)
    own, more, much = (
        dry.given["de-en", name] for name in ("bitext", "bitext and paraphrases", "as much bitext")
    )
    assert more[: len(own)] == own == much[: len(own)]
    assert len(more) == len(much) == 2 * len(own) - 1 and len(set(much)) == len(much)
    assert len(results["rows"]) == 9
    lines = experiment_tables.section("generated-paraphrases", results)
    assert lines[-3].startswith("The 39 generated paraphrases, means: 1-gram overlap 0.50,")
    assert lines[-1] == "Time: 9 trainings 0.3 CPU minutes, the generator 1.5."


def test_old_rows_stay_until_they_are_repeated() -> None:
    old = [{"group": "g", "name": name, "pairs": 1} for name in "abc"]
    new = [{"group": "g", "name": "b", "pairs": 2}]
    rows = bench.completed({"left out": {}, "rows": new}, old)["rows"]
    assert [(row["name"], row["pairs"]) for row in rows] == [("b", 2), ("a", 1), ("c", 1)]


def lay_out(data: Path) -> None:
    """Write a small version of every test set, from the near-copies."""
    german, english = (
        (NEAR / f"near.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")
    )
    gold = [line.split("\t") for line in (NEAR / "near.gold").read_text().splitlines()]
    place = data / "bucc-style" / "fr-en"
    for split in ("training", "test"):
        for side, lines in (("fr", german), ("en", english)):
            put(place, f"fr-en.{split}.{side}", [(f"{n}", one) for n, one in enumerate(lines, 1)])
        put(place, f"fr-en.{split}.gold", [(one, other) for one, other in gold])
    pairs = [(german[int(one) - 1], english[int(other) - 1]) for one, other in gold]
    put(data, "tatoeba/fr-en.tsv", pairs)
    put(data, "train/fr-en/near.tsv", pairs)
    same = [f"5\t{one}\t{one}\n" for one in english[:20]]
    other = [f"1\t{one}\t{two}\n" for one, two in zip(english[:20], english[20:40], strict=True)]
    (data / "sts").mkdir()
    for name in ("2012.OnWN", "2016.headlines", "stsb.en.test"):
        (data / "sts" / f"{name}.tsv").write_text("".join(same + other), encoding="utf-8")


def test_a_killed_run_goes_on(tmp_path, monkeypatch, capsys):
    lay_out(tmp_path)
    config = replace(experiment_metrics.P19, epochs=1, pieces=300, dimension=16)
    monkeypatch.setattr(bench, "quickly", lambda _: config)
    result, models = tmp_path / "found.json", tmp_path / "models"
    options = ["--data", tmp_path, "--models", models, "--json", result, "--only", "sources"]
    arguments = ["experiments", "--quick", "--pairs", "100", *map(str, options)]
    monkeypatch.setattr(sys, "argv", arguments)

    command.main()
    assert capsys.readouterr().out.count("epoch 1 of 1") == 1
    section = json.loads(result.read_text())["sections"]["sources"]
    (row,) = section["results"]["rows"]
    assert (row["group"], row["name"], row["pairs"]) == ("100 pairs", "near", 100)
    assert row["figures"]["bucc"]["metric"] == "f1 by margin"
    assert row["figures"]["sts 12-16"]["value"] > 0.5
    assert all(len(figure["interval"]) == 2 for figure in row["figures"].values())

    command.main()  # neither trained nor measured again
    assert "epoch 1 of 1" not in capsys.readouterr().out
    assert json.loads(result.read_text())["sections"]["sources"] == section
    lines = experiment_tables.tables(json.loads(result.read_text()), pages.conditions)
    assert any(line.startswith("| near | 100 | ") for line in lines)


def test_a_failed_row_has_its_reason(tmp_path: Path) -> None:
    place = ExperimentBench(tmp_path, tmp_path / "models", {}, pairs=10)
    row = place.row("group", "name", [("un", "one")])
    assert row["failed"] and "figures" not in row
    lines = experiment_tables.section("sources", {"rows": [row]})
    assert lines[-1].startswith("| name | 1 | ")
    with pytest.raises(MinerError, match="2012-2016: not among the sets"):
        experiment_metrics.pick([], "2012-2016", "pearson")
