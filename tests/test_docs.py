"""Documentation: every example prints the output shown; every command is described.

``MINER_DOCS=write pytest tests/test_docs.py`` writes the current output into the pages.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import click
import numpy as np
import pytest
from support.evaluated_models import write_every
from support.examples import NUMBER, Example, blocks, commands, difference, run, run_page
from support.files import write
from support.near_copies import NEAR

import miner
from miner.evaluation.gold import read_gold
from miner.filters.registry import FILTERS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DEMO = Path(miner.__file__).parent / "demo"
# Pages whose examples run.
PAGES = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - {DOCS / "cli.md"})]
# Pages whose links are checked here; those of docs/ are checked by 'make docs', too.
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks/README.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that the pages name, from the demo text."""
    directory = tmp_path_factory.mktemp("docs")
    shutil.copytree(DEMO, directory / "miner" / "demo")
    for part in ("de", "en", "gold"):
        shutil.copy(NEAR / f"near.{part}", directory)
    german, english = (
        (DEMO / f"demo.{name}").read_text(encoding="utf-8").splitlines() for name in ("de", "en")
    )
    rows = sorted(read_gold(DEMO / "demo.gold"))
    gold = [(german[int(one) - 1], english[int(other) - 1]) for one, other in rows]
    for name, lines in (("de", german), ("en", english)):
        for suffix in ("", ".zst", ".gz"):
            write(directory / f"news.{name}{suffix}", lines)
        vectors = np.random.default_rng(1).normal(size=(len(lines), 8)).astype(np.float32)
        np.save(directory / f"laser.{name}.npy", vectors)
    write(directory / "more.de", ["Eine Zeile mehr."])
    write(directory / "other.en", english[200:])
    write(directory / "web.de-en.tsv.gz", noisy(gold))
    with zipfile.ZipFile(directory / "de-en.txt.zip", "w") as opus:
        for side, name in enumerate(("de", "en")):
            text = "".join(f"{pair[side]}\n" for pair in noisy(gold))
            opus.writestr(f"Demo.de-en.{name}", text)
    for side, name in enumerate(("de", "en")):
        for stem in ("web", "train"):
            write(directory / f"{stem}.{name}", [pair[side] for pair in gold])
    numbered = [f"{source}\t{target}\t{place}" for place, (source, target) in enumerate(gold)]
    for stem in ("train", "paraphrases", "scored", "news.de-en"):
        write(directory / f"{stem}.tsv", numbered)
    for side, name in enumerate(("de", "en")):
        chosen = range(40) if side == 0 else range(10, 50)
        texts = {n: "\n".join(pair[side] for pair in gold[3 * n : 3 * n + 3]) for n in chosen}
        pages = [{"id": f"{name}-{n}", "text": text} for n, text in texts.items()]
        write(directory / f"pages.{name}.jsonl", map(json.dumps, pages))
    chapter = [pair[1] for pair in gold[:40]]
    chapter[2:4] = [f"{chapter[2]} {chapter[3]}"]  # two German sentences for one English one
    write(directory / "chapter.de", [pair[0] for pair in gold[:40]])
    write(directory / "chapter.en", chapter[:-1])
    write(directory / "labelled.tsv", [(1, row) for row in numbered])
    write_every(directory / "data", [one for one, _ in gold], [other for _, other in gold])
    write(directory / "tests.txt", [other for _, other in gold[:5]])
    shown = blocks((DOCS / "integrations.md").read_text(encoding="utf-8"))
    opusfilter = next(one.content for one in shown if one.content.startswith("# opusfilter.yaml"))
    (directory / "opusfilter.yaml").write_text(opusfilter, encoding="utf-8")
    return directory


def noisy(gold: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return a small crawled bitext: translations, and rows with one fault of each kind."""
    rows = list(gold)
    rows += [(source, gold[place + 7][1]) for place, (source, _) in enumerate(gold[:20])]
    rows += [(source, source) for source, _ in gold[20:25]]
    rows += [(source, target.replace("e", "Ã©")) for source, target in gold[25:28]]
    rows += [(source, "") for source, _ in gold[28:30]]
    rows += [(target, source) for source, target in gold[30:34]]
    return rows + gold[40:46]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "README.md")) for name in NAMES],
)
def test_examples_run_and_print_what_is_shown(name, files, tmp_path, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    if not {example.language for example in blocks(text)} & {"sh", "python"}:
        pytest.skip("no example to run")
    place = tmp_path / "place"
    shutil.copytree(files, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "88")
    content, differences = run_page(text)
    if os.environ.get("MINER_DOCS") == "write":
        (ROOT / name).write_text(content, encoding="utf-8")
    else:
        assert not differences, "\n\n".join([*differences, "see the head of tests/test_docs.py"])


def test_there_are_examples() -> None:
    found = [example for page in PAGES for example in blocks(page.read_text(encoding="utf-8"))]
    lines = [line for one in found if one.language == "sh" for line in commands(one.content)]
    assert sum(line.startswith("miner ") for line in lines) > 40
    assert sum(one.language == "python" for one in found) >= 3
    assert sum(one.language == "text" for one in found) >= 10


def test_an_example_that_fails_is_found() -> None:
    with pytest.raises(AssertionError, match="No such file"):
        run(Example("sh", "miner score missing.tsv\n", 0))
    with pytest.raises(ValueError):
        run(Example("python", "int('x')\n", 0))


def test_output_that_differs_is_found() -> None:
    assert not difference("12 kept (7.1%)\n", "12 kept (6.2%)\n")
    assert not difference("score 0.98141465", "score 0.98141499")
    assert difference("12 kept", "13 kept") and difference("12 kept", "12 left")
    assert difference("one", "one\ntwo")
    assert NUMBER.findall("a1 -2.5e-3 1,024") == ["1", "-2.5e-3", "1,024"]
    page = "```sh\nprintf 'a 1\\n'\n```\n\n```text\nb 1\n```\nend\n"
    content, differences = run_page(page)
    assert content == page.replace("b 1", "a 1") and len(differences) == 1


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The module docs/reference.py."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_is_in_the_reference(reference: ModuleType) -> None:
    head, *parts = re.split(r"^## ", reference.page(), flags=re.M)
    sections = {text.partition("\n")[0]: head + text for text in parts}
    every = dict(reference.commands(reference.cli, "miner"))
    assert set(sections) == set(every) and len(every) > 25
    for path, context in every.items():
        for parameter in context.command.get_params(context):
            if isinstance(parameter, click.Option):
                for name in (*parameter.opts, *parameter.secondary_opts):
                    assert re.search(rf"(?<![\w-]){name}\b", sections[path]), (path, name)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_linked_files_and_sections_are_there(page: Path, reference: ModuleType) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", text):
        linked = (page.parent / name).resolve() if name else page
        generated = linked == reference.PAGE  # by 'make docs'
        assert generated or linked.exists(), name
        if anchor:
            content = reference.page() if generated else linked.read_text(encoding="utf-8")
            heads = re.findall(r"^#+ (.*)$", content, re.MULTILINE)
            known = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor in known, f"{name}#{anchor}"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_readme_counts_the_pairs_that_it_shows() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"Of the\s+(\d+)\s+pairs kept here,\s+(\d+) [^:]*: (0\.\d+)", text)
    assert found and re.search(rf"^{found[1]} of [\d,]+ pairs written", text, re.MULTILINE)
    assert float(found[3]) == round(int(found[2]) / int(found[1]), 3)


def test_readme_counts_the_languages_as_the_card_of_the_model_does() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    card = (ROOT / "miner/models/default/README.md").read_text(encoding="utf-8")
    counts = [len(re.findall(rf"\| {level}: ", card)) for level in ("good", "fair", "weak")]
    assert min(counts) > 0 and f"[{sum(counts)} languages]" in text
    assert re.search(rf"good in {counts[0]} of them and\s+fair in {counts[1]}", text)


def test_the_share_of_known_test_sentences_is_that_of_the_results() -> None:
    text = (DOCS / "results/known-sentences.md").read_text(encoding="utf-8")
    shares = [
        int(seen.replace(",", "")) / int(total.replace(",", ""))
        for seen, total in re.findall(
            r"^\| tatoeba .* ([\d,]+) of ([\d,]+) \|$", text, re.MULTILINE
        )
    ]
    assert len(shares) > 30
    said = f"has {min(shares):.0%} to {max(shares):.0%} of the sentences"
    assert said in (DOCS / "evaluation.md").read_text(encoding="utf-8")


def test_every_filter_is_described() -> None:
    text = (DOCS / "filtering.md").read_text(encoding="utf-8")
    assert not [name for name in FILTERS if f"`{name}`" not in text]


@pytest.mark.slow
def test_tables_are_those_of_the_results() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "pages", "--check"], cwd=ROOT)
    assert done.returncode == 0
