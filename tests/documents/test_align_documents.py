"""miner.align_documents: document pairs of two collections."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from support.foreign import Counting
from support.near_copies import NEAR

import miner
from miner import Keep
from miner.alignment.settings import BeadSettings
from miner.config_fields import SettingsError
from miner.documents.knock_out import Scores, decoys, each_stands_for, falling, share_right
from miner.documents.layout import DocumentFormat
from miner.documents.stages import mean_vote
from miner.errors import CorpusError, ResourceError
from miner.evaluation.gold import read_gold
from miner.scoring import second_opinion
from miner.tasks.workers import Workers

Documents = dict[str, list[str]]


@pytest.fixture(scope="module")
def both() -> tuple[Documents, Documents]:
    """Return documents 0-39 in German and 10-49 in English, three lines each, shuffled."""
    lines = [(NEAR / f"near.{name}").read_text("utf-8").splitlines() for name in ("de", "en")]
    gold = sorted(read_gold(NEAR / "near.gold"))
    pairs = [(lines[0][int(one) - 1], lines[1][int(other) - 1]) for one, other in gold]
    found = []
    for side in range(2):
        own = {str(n): [pair[side] for pair in pairs[3 * n : 3 * n + 3]] for n in range(50)}
        names = list(own)[:40] if side == 0 else list(own)[10:]
        random.Random(side).shuffle(names)
        found.append({name: own[name] for name in names})
    return found[0], found[1]


def rows(path: Path, documents: Documents, **more: str) -> Path:
    """Write one document per row; ``more`` columns format the id."""
    with open(path, "w", encoding="utf-8") as file:
        for name, lines in documents.items():
            others = {key: value.format(name) for key, value in more.items()}
            file.write(json.dumps({"id": name, "text": "\n".join(lines), **others}) + "\n")
    return path


def named(found: miner.AlignedDocuments) -> set[tuple[str, str]]:
    """Return the ids of the kept pairs."""
    return {(str(row["source_id"]), str(row["target_id"])) for row in found}


SHARED = {(str(number), str(number)) for number in range(10, 40)}


def test_documents_find_their_translations(both, tmp_path):
    files = [rows(tmp_path / f"{i}.jsonl", own) for i, own in enumerate(both)]
    found = miner.align_documents(*files)
    kept = named(found)
    assert len(kept & SHARED) >= 28 and len(kept - SHARED) <= 2
    assert found.precision is not None and found.precision >= 0.95
    assert len(found.all_pairs) > len(found.pairs)

    in_parts = miner.align_documents(*files, workers=Workers(shard_lines=7))
    np.testing.assert_array_equal(in_parts.all_pairs.score, found.all_pairs.score)

    for i, own in enumerate(both):
        for name, lines in own.items():
            place = tmp_path / f"folder{i}" / name[0]
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    folders = miner.align_documents(tmp_path / "folder0", tmp_path / "folder1")
    assert named(folders) == {(f"{n[0]}/{n}", f"{m[0]}/{m}") for n, m in kept}


def test_a_second_opinion_reads_beads_of_the_pairs(both, tiny_model, tmp_path, monkeypatch):
    monkeypatch.setattr(second_opinion, "BEAD_BAND", (1e-6, 1 - 1e-6))
    files = [rows(tmp_path / f"{i}.jsonl", own) for i, own in enumerate(both)]
    notes: list[str] = []
    second = Counting(tiny_model)
    found = miner.align_documents(
        *files, then_sentences=BeadSettings(), second=second, second_pairs=5, note=notes.append
    )
    assert found.sentences is not None and len(second.read) > 1
    [said] = (line for line in notes if line.startswith("second opinion: "))
    assert 0 < int(said.split()[2]) <= 2 * 5 * len(found.pairs)
    for then in (None, BeadSettings(coarse=True)):
        with pytest.raises(SettingsError, match="add --then-sentences"):
            miner.align_documents(*files, then_sentences=then, second=second)


def test_pages_of_one_template_differ_in_a_number(both, tmp_path):
    """All pages share three lines; a line with a number tells them apart."""
    for i, own in enumerate(both):
        first = ("Artikel {} ist ausverkauft.", "Item {} is sold out.")[i]
        pages = {str(n): [first.format(7 * n + 100), *own["20"]] for n in range(40)}
        names = sorted(pages, key=lambda name: (int(name) * (17 + i)) % 41)
        rows(tmp_path / f"{i}.jsonl", {name: pages[name] for name in names})
    found = miner.align_documents(
        tmp_path / "0.jsonl", tmp_path / "1.jsonl", keep=Keep(threshold=0.0, estimate=False)
    )
    kept = named(found)
    assert len(kept) == 40 and sum(one == other for one, other in kept) >= 38


@pytest.mark.parametrize("by_host", [False, True])
def test_documents_are_paired_within_their_domain(both, tmp_path, by_host):
    """German documents are from site a, the English ones with even numbers from site b."""
    keys = {"u": "https://{}.org/x"} if by_host else {"domain": "{}"}
    key, value = next(iter(keys.items()))
    german = rows(tmp_path / "de.jsonl", both[0], **{key: value.format("a")})
    english = tmp_path / "en.jsonl"
    with open(english, "w", encoding="utf-8") as file:
        for name, lines in both[1].items():
            site = "b" if int(name) % 2 == 0 else "a"
            row = {"id": name, "text": "\n".join(lines), key: value.format(site)}
            file.write(json.dumps(row) + "\n")
    layout = DocumentFormat(by_host=by_host)
    found = miner.align_documents(german, english, layout=layout, keep=Keep(threshold=0.0))
    assert {int(other) % 2 for _, other in named(found)} == {1}
    assert len(named(found) & SHARED) == 15
    for asked in [{"domain": "web"}] if by_host else [{"url": "address"}, {"by_host": True}]:
        with pytest.raises(CorpusError, match=r"de.jsonl: no (document has a URL|domain) "):
            miner.align_documents(german, english, layout=DocumentFormat(**asked))


def test_rejects_are_counted(both, tmp_path):
    german, english = (rows(tmp_path / f"{i}.jsonl", own) for i, own in enumerate(both))
    with open(german, "a", encoding="utf-8") as file:
        file.write('{"id": "20", "text": "Ein anderer Text."}\n{"id": "x", "text": " \\n "}\n')
        file.write('{"id": "y"}\n')
    with pytest.raises(CorpusError, match="line 43: key 'text' is missing"):
        miner.align_documents(german, english)
    notes: list[str] = []
    layout = DocumentFormat(on_error="skip")
    found = miner.align_documents(german, english, layout=layout, note=notes.append)
    assert len(named(found) & SHARED) >= 28
    assert notes[0].endswith(
        "43 documents, 40 to pair, 1 without text, 1 not UTF-8 or without the key, and left out, "
        "1 left out for the id of an earlier one"
    )


def test_warnings_are_part_of_the_result(both, tmp_path):
    german, _ = (rows(tmp_path / f"{i}.jsonl", own) for i, own in enumerate(both))
    said: list[str] = []
    found = miner.align_documents(german, german, note=said.append)
    assert found.warnings and found.warnings[0].startswith("both sides are in German")
    assert [line for line in said if line.startswith("warning")] == [
        f"warning: {line}" for line in found.warnings
    ]


def test_what_cannot_be_paired_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain.txt").write_text("Ein Satz.\n")
    empty = rows(tmp_path / "empty.jsonl", {"a": []})
    one = rows(tmp_path / "one.jsonl", {"a": ["Der Hund schläft im Garten."]})
    for path, message in (
        (tmp_path / "folder", "the folder has no file"),
        ([], "a collection is a folder, a file or several; none is named"),
        (tmp_path / "plain.txt", "plain has no documents"),
        (tmp_path / "none.jsonl", "cannot be read"),
        (empty, "no document has text"),
    ):
        with pytest.raises(CorpusError, match=message):
            miner.align_documents(path, one)
    with pytest.raises(ResourceError, match="too few to estimate"):
        miner.align_documents(one, one, keep=Keep(target_precision=0.9))
    found = miner.align_documents(one, one)
    assert named(found) == {("a", "a")} and found.estimate is None


def test_short_documents_and_the_same_collection_twice(both, tmp_path):
    lines = [line for own in both[1].values() for line in own]
    german = rows(tmp_path / "one.jsonl", {str(n): [line] for n, line in enumerate(lines)})
    found = miner.align_documents(german, german)
    assert all(one == other for one, other in named(found)) and len(found.pairs) > 100


def test_the_command_writes_urls(both, tmp_path):
    from click.testing import CliRunner

    from miner.cli.align_documents import align_documents

    files = [
        str(rows(tmp_path / f"{i}.jsonl", own, url="https://a.org/{}"))
        for i, own in enumerate(both)
    ]
    out = tmp_path / "pairs.jsonl"
    sentences = tmp_path / "sentences.jsonl"
    done = CliRunner().invoke(
        align_documents,
        [*files, "-o", str(out), "--top-n", "5", "--then-sentences", str(sentences)],
    )
    assert done.exit_code == 0 and "5 of " in done.stderr and "15 beads" in done.stderr
    beads = [json.loads(line) for line in sentences.read_text("utf-8").splitlines()]
    for bead in beads:
        name, line = bead["source_document"], int(bead["source_lines"])
        assert bead["source"] == both[0][name][line] and bead["target"] == both[1][name][line]
        assert bead["target_url"] == f"https://a.org/{name}"
    best = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert len(best) == 5 and not list(tmp_path.glob("*.work"))
    assert all(row["source_url"] == f"https://a.org/{row['source_id']}" for row in best)


def test_mean_vote_is_what_it_says():
    generator = np.random.default_rng(3)
    for m, n in ((1, 1), (4, 7), (9, 3)):
        products = generator.uniform(-0.2, 1, (m, n))
        mean, others = generator.uniform(0, 0.6, m), generator.uniform(0, 0.6, n)
        margin = products / np.maximum((mean[:, None] + others[None]) / 2, 0.1)
        total = sum(
            max(margin[i, j] - 1, 0)
            for i in range(m)
            for j in range(n)
            if margin[i, j] == margin[i].max() == margin[:, j].max()
        )
        assert mean_vote(products, mean, others) == pytest.approx(total / np.sqrt(m * n))


def test_decoys_win_free_targets_and_worse_pairs():
    """A decoy takes a target that is free, or whose pair scores less; else none."""
    pairs = Scores(np.array([0, 1, 2]), np.array([0, 1, 3]), np.array([0.9, 0.8, 0.2]))
    knocked = Scores(
        np.array([0, 0, 1, 1, 2]),
        np.array([1, 2, 0, 3, 0]),
        np.array([0.7, 0.3, 0.5, 0.4, 0.1]),
    )
    assert decoys(pairs, knocked).tolist() == [0.3, 0.4, -np.inf]


def test_the_share_of_right_pairs_is_estimated():
    """A third of the sources has no translation and scores like decoys."""
    generator = np.random.default_rng(5)
    right = generator.random(3000) < 2 / 3
    score = np.where(right, generator.normal(2.5, 1, 3000), generator.normal(0, 1, 3000))
    order = np.argsort(-score)
    score, right = score[order], right[order]
    decoy = generator.normal(0, 1, 2000)
    each = each_stands_for(score, decoy, np.ones(2000))
    assert each == pytest.approx(0.5, abs=0.05)
    found = share_right(score, decoy, np.full(2000, each))
    assert (np.diff(found) <= 0).all()
    for threshold in (0.3, 0.6, 0.9):
        kept = found >= threshold
        assert found[kept].mean() == pytest.approx(right[kept].mean(), abs=0.03)


def test_the_nearest_falling_function():
    found = falling(np.array([1.0, 0, 1, 0]), np.array([1.0, 1, 3, 1]))
    np.testing.assert_allclose(found, [1, 0.75, 0.75, 0])
