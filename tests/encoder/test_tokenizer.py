"""miner.encoder.tokenizer: properties of all tokenizers."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from miner.encoder.normaliser import Normaliser
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.tokenizer import MarkedTokenizer, Tokenizer
from miner.encoder.trigram_units import TrigramTokenizer
from miner.encoder.word_units import WORD, WordTokenizer
from miner.errors import ArtifactError
from tests.support.tokens import lines, lists


@pytest.fixture(params=["piece", "word", "trigram", "marked"])
def tokenizer(request: pytest.FixtureRequest, vocabulary: bytes, german: list[str]) -> Tokenizer:
    """A tokenizer whose vocabulary covers about half of the German text."""
    read = Normaliser.by_rule(True)(german)
    if request.param == "word":
        words = sorted({word for one in read for word in WORD.findall(one)})
        return WordTokenizer(lines(words[::2]), True)
    if request.param == "trigram":
        trigrams = sorted({one[i : i + 3] for one in read for i in range(len(one) - 2)})
        return TrigramTokenizer(lines(trigrams[::2]), True)
    pieces = PieceTokenizer(vocabulary)
    return MarkedTokenizer(pieces, 1) if request.param == "marked" else pieces


def test_ids_do_not_depend_on_blocks_or_threads(tokenizer: Tokenizer, german: list[str]) -> None:
    sentences = [*german, "", "日本", " "] * 5
    together = lists(tokenizer(sentences))
    with ThreadPoolExecutor(8) as pool:
        alone = list(pool.map(lambda one: lists(tokenizer([one]))[0], sentences))
    assert together == alone
    assert sum(map(len, together)) > 0
    assert tokenizer.size == len(tokenizer.meaningful)


def test_surfaces_join_to_the_normalised_sentence(tokenizer: Tokenizer, german: list[str]) -> None:
    if not isinstance(tokenizer, PieceTokenizer | WordTokenizer):
        pytest.skip("the tokenizer of a model that never verifies")
    normalise = Normaliser.by_rule(isinstance(tokenizer, WordTokenizer))
    for sentence in [*german, "", "  Straße 日本, x! ", "\u0301"]:
        shown, ids = tokenizer.surfaces(sentence)
        assert ids.dtype == np.int32 and len(shown) == len(ids)
        read = "".join(shown)
        assert read.strip() == normalise([sentence])[0]
        kept = [i for i in ids.tolist() if i >= 0 and tokenizer.meaningful[i]]
        assert kept == lists(tokenizer([sentence]))[0]


@pytest.mark.parametrize("kind", [WordTokenizer, TrigramTokenizer])
@pytest.mark.parametrize(
    ("vocabulary", "fault"),
    [
        (b"", "no units"),
        (b"\n", "no units"),
        (b"abc\n\n", "line 2: empty"),
        (b"abc\ndef\nabc\n", "line 3: 'abc' is in line 1"),
        (b"abc\n\xff\n", "byte 4 is not UTF-8"),
    ],
)
def test_malformed_vocabularies_are_refused(kind: type, vocabulary: bytes, fault: str) -> None:
    with pytest.raises(ArtifactError, match=f"^here.*{fault}"):
        kind(vocabulary, True, name="here")


def test_a_trigram_of_another_length() -> None:
    with pytest.raises(ArtifactError, match=r"trigrams\.txt, line 2: 2 characters"):
        TrigramTokenizer(b"abc\nde\n", True)
    # The last line may lack a line end; a space is a character.
    assert TrigramTokenizer(b" a \n\xc3\xa4 b", True).size == 2


def test_marked(vocabulary: bytes, german: list[str]) -> None:
    plain = PieceTokenizer(vocabulary)
    source, target = (MarkedTokenizer(plain, column) for column in (0, 1))
    assert source.size == target.size == 2 * plain.size
    ids, offsets = plain(german)
    for marked, shift in ((source, 0), (target, plain.size)):
        found = marked(german)
        np.testing.assert_array_equal(found[0], ids + shift)
        np.testing.assert_array_equal(found[1], offsets)
        assert found[0].dtype == np.int32
        assert marked.meaningful[found[0]].all()
    alike = MarkedTokenizer(plain, 1, plain, alike=True)
    np.testing.assert_array_equal(alike(german)[0], ids)
    words = MarkedTokenizer(WordTokenizer(b"a\nb\n", True), 1)
    assert words(["b x"])[0].tolist() == [3]
