"""Decontamination: lines that copy, nearly copy or translate a line of a file."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from support.files import write

from miner.config_fields import SettingsError
from miner.encoder.encoder import Encoder
from miner.errors import CorpusError
from miner.scoring.decontaminate import Unwanted, texts_of
from miner.scoring.decontaminate_settings import Without
from miner.text.durable import scratch_directory
from miner.text.near_copies import plain
from miner.text.write_bitext import write_bitext


@pytest.mark.parametrize("suffix", ["tsv.gz", "jsonl", "parquet", "tmx"])
def test_both_sides_of_a_bitext_of_any_format(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"test.{suffix}"
    rows = [{"source": "Es regnet.", "target": "It rains."}, {"source": "Ja?", "target": "Yes?"}]
    write_bitext(rows, [str(path)], ("de", "en"))
    found = Unwanted(path).lines(["es REGNET", "yes", "It rains, yes", "", "?"])
    assert (found > 0).tolist() == [True, True, False, False, False]
    assert found[1] > found[0]


def test_lines_of_text(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt.gz", ["It rains.", "", "?!", "It snows.", "it rains"])
    assert list(texts_of(str(text)))[-1] == (5, "it rains")
    assert Unwanted(text).lines(["It  rains!", "?!", "It snows"]).tolist() == [1, 3, 4]
    table = write(tmp_path / "b.tsv", ["4.5\tEs regnet.\tIt rains.", "7\tEs schneit.\tIt snows."])
    assert Unwanted(table).lines(["4.5", "7", "es schneit"]).tolist() == [0, 0, 2]
    texts = write(tmp_path / "c.jsonl", ['{"text": "One\\tline.", "id": "It rains."}'])
    assert Unwanted(texts).lines(["one line", "It rains."]).tolist() == [1, 0]


@pytest.mark.parametrize("content", [b"", b"\n7\n0.5\n", b"not UTF-8: \xff\n"])
def test_files_without_sentences(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(CorpusError, match=r"a\.txt\.gz"):
        Unwanted(path)


def edited(text: str, generator: np.random.Generator) -> str:
    """Replace one character; a text of 60 letters keeps over four fifths of its shingles."""
    place = int(generator.integers(len(text)))
    return text[:place] + "x" + text[place + 1 :]


def test_near_copies_agree_with_a_comparison_of_all() -> None:
    """Bands miss a pair above the bound once in a thousand times, and return none below it."""
    letters = np.array(list("abcdefgh"))
    missed = above = 0
    for seed in range(100):
        generator, near = np.random.default_rng(seed), (0.7, 0.8)[seed % 2]
        own = ["".join(generator.choice(letters, 60)) for _ in range(8)]
        texts = [edited(edited(text, generator), generator) for text in own]
        texts += ["abcdefg", "zzz zzz"]
        with scratch_directory() as place:
            found = Unwanted(write(place / "own.txt", own), near).lines(texts)
        for text, line in zip(texts, found.tolist(), strict=True):
            shares = [jaccard(plain(text), plain(other)) for other in own]
            best = int(np.argmax(shares))
            if shares[best] < near:
                assert line == 0
            else:
                assert line in (0, best + 1)
                missed, above = missed + (line == 0), above + 1
    assert missed <= 1 and above > 150


def jaccard(one: str, other: str) -> float:
    left, right = ({text[i : i + 5] for i in range(len(text) - 4)} for text in (one, other))
    return len(left & right) / max(len(left | right), 1)


def test_translations_are_found_by_vectors(
    encoder: Encoder, german: list[str], english: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "test.en", english[:10])
    texts = german[:20]
    (unwanted,) = Without([str(path)], near_vectors=0.6).opened(encoder)
    cosines = encoder.encode(texts) @ encoder.encode(english[:10]).T
    expected = np.where(cosines.max(axis=1) >= 0.6, cosines.argmax(axis=1) + 1, 0)
    assert unwanted.hits(texts, 0).tolist() == expected.tolist()
    assert np.count_nonzero(expected[:10] == np.arange(1, 11)) >= 8 > (expected[10:] > 0).sum()
    (exact,) = Without([str(path)]).opened()
    assert not exact.hits(texts, 0).any() and exact.hits(english[:2], 1).tolist() == [1, 2]


def test_limits_without_a_file() -> None:
    with pytest.raises(SettingsError, match="--without FILE"):
        Without(near=0.8)
    with pytest.raises(ValueError, match="near = 1.5 is out of range"):
        Without(["a"], near=1.5)
