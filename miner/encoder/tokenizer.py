"""Sentences to the numbers of their units: pieces, words, morphs or character trigrams."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol

import numpy as np

from miner.encoder.architecture import VOCABULARIES, Architecture
from miner.errors import ArtifactError, DependencyError
from miner.names import SIDES
from miner.ragged import offsets_of, take_lists

# The columns of the training text.

# What a word is: a run of letters, digits and underscores, or another character that is no space.
WORD = re.compile(r"\w+|[^\w\s]")
# Longer ones are not cut into morphs: it would take long, and they are no words.
LONGEST_WORD = 200
MARK = "\u2581"  # SentencePiece's for a space
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizer(Protocol):
    """What an encoder reads sentences with. Units without a number, unknown ones, are dropped.

    ``size`` is the number of units; ``meaningful (size,) bool`` says which of them may occur in
    what a call returns.
    """

    size: int
    meaningful: np.ndarray

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """``ids (t,) int32`` of all sentences in a row and ``offsets (n + 1,) int64`` into them."""
        ...

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """The units of one sentence as text, and their ids ``(t,) int32``, unknown ones included.

        Joined, the text is the sentence as the model reads it: normalised, with its case folded
        where the model was trained so. What has no number has -1.
        """
        ...


class Normaliser:
    """SentencePiece's normalisation of many sentences at once; safe in several threads.

    Lone surrogates, which no file can hold, become U+FFFD.
    """

    # Of the characters for private use, which normalisation leaves alone.
    SEPARATOR = "\ue000"

    def __init__(self, normalizer: Any):
        self._normalizer = normalizer

    @classmethod
    @lru_cache(2)
    def by_rule(cls, fold_case: bool) -> "Normaliser":
        """NFKC as SentencePiece has it, with or without the case of letters."""
        from sentencepiece import SentencePieceNormalizer

        rule = "nmt_nfkc_cf" if fold_case else "nmt_nfkc"
        return cls(
            SentencePieceNormalizer(
                rule_name=rule,
                add_dummy_prefix=False,
                escape_whitespaces=False,
                remove_extra_whitespaces=True,
            )
        )

    @classmethod
    def of_model(cls, vocabulary: bytes) -> "Normaliser":
        """That of a SentencePiece model, but for the marks that it puts for spaces."""
        from sentencepiece import SentencePieceNormalizer

        return cls(
            SentencePieceNormalizer(
                model_proto=vocabulary, add_dummy_prefix=False, escape_whitespaces=False
            )
        )

    def __call__(self, sentences: Sequence[str]) -> list[str]:
        # In one call, since each takes and gives back the interpreter's lock, which several
        # threads would wait for most of the time.
        joined = _LONE_SURROGATE.sub("\ufffd", self.SEPARATOR.join(sentences))
        if joined.count(self.SEPARATOR) == len(sentences) - 1:
            normalised = self._normalizer.normalize(joined).split(self.SEPARATOR)
            return [text.strip(" ") for text in normalised]
        cleaned = [_LONE_SURROGATE.sub("\ufffd", sentence) for sentence in sentences]
        return list(self._normalizer.normalize(cleaned))


class PieceTokenizer:
    """SentencePiece ids without those that carry no meaning.

    Unknown pieces are dropped (``methods.md`` calls for it), control pieces never occur, and so is
    the bare word-boundary mark, which SentencePiece puts before an unknown word: with it, every
    sentence in a script that the model does not know would have one and the same vector.
    """

    def __init__(self, vocabulary: bytes, name: str = "sp.model"):
        import sentencepiece

        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(vocabulary)
        except Exception as error:  # sentencepiece raises several undocumented types
            raise ArtifactError(f"{name}: not a SentencePiece model ({error})") from None
        self.size: int = self.processor.get_piece_size()
        self.meaningful = np.ones(self.size, dtype=bool)
        for piece in range(self.size):
            if self.processor.is_unknown(piece) or self.processor.is_control(piece):
                self.meaningful[piece] = False
        bare = self.processor.piece_to_id(MARK)
        self.meaningful[bare] = False
        self._vocabulary = vocabulary
        self._sampler: _Sampler | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        # Lists of numbers: an array for each sentence, the only other kind that is offered, takes
        # a third longer.
        lists = self.processor.encode(list(sentences), num_threads=1)
        offsets = offsets_of(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
        ids = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=offsets[-1])
        return _kept(ids, offsets, self.meaningful[ids])

    def sample(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """As a call, with each sentence cut at random (Kudo 2018, without his limit to the n best).

        A cut is drawn in proportion to its probability to the power of ``alpha`` >= 0: 0 has all
        alike, and large numbers draw the best. Sentence ``i`` is cut by random numbers that follow
        from ``seed`` and ``first + i`` alone, so that large text may be sampled in any parts. A
        sentence that has pieces always keeps one.
        """
        if self._sampler is None:
            self._sampler = _Sampler(self.processor, self._vocabulary)
        ids, offsets = self._sampler(sentences, alpha, seed, first)
        ids, offsets = _kept(ids, offsets, (ids >= 0) & self.meaningful[ids])
        bare = np.flatnonzero(np.diff(offsets) == 0)
        if not len(bare):
            return ids, offsets
        best, places = self([sentences[row] for row in bare.tolist()])
        rows = np.arange(len(sentences))
        rows[bare] = len(sentences) + np.arange(len(bare))
        both = np.concatenate([offsets, offsets[-1] + places[1:]])
        return take_lists(np.concatenate([ids, best]), both, rows)

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """As :class:`Tokenizer` has it; unknown pieces have the number of the unknown piece."""
        pieces = self.processor.encode(sentence, out_type=str)
        ids = np.array(self.processor.encode(sentence, out_type=int), dtype=np.int32)
        return [piece.replace(MARK, " ") for piece in pieces], ids


class _Sampler:
    """What sampling needs to know of a SentencePiece model."""

    def __init__(self, processor: Any, vocabulary: bytes):
        from miner.kernels.unigram import trie

        numbers = [
            piece
            for piece in range(processor.get_piece_size())
            if not (processor.is_unknown(piece) or processor.is_control(piece))
        ]
        pieces = [processor.id_to_piece(piece) for piece in numbers]
        scores = [processor.get_score(piece) for piece in numbers]
        self.trie = trie(pieces, numbers, scores)
        self.longest = max(map(len, pieces), default=0)
        self.unknown = min(scores, default=0.0) - 10.0  # as SentencePiece has it
        self.normalise = Normaliser.of_model(vocabulary)
        self.prefix = MARK if processor.normalize("a").startswith(MARK) else ""

    def __call__(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of all sentences in a row, -1 for what is unknown, and offsets into them."""
        from miner.kernels.unigram import sample

        texts = [text and self.prefix + text for text in self.normalise(sentences)]
        codes, offsets = characters([text.replace(" ", MARK) for text in texts])
        ids, lengths = np.empty(len(codes), np.int32), np.empty(len(texts), np.int64)
        count = sample(
            codes,
            offsets,
            self.trie,
            self.longest,
            self.unknown,
            float(alpha),
            np.uint64(seed),
            np.uint64(first),
            ids,
            lengths,
        )
        return ids[:count], offsets_of(lengths)


class WordTokenizer:
    """Words of a vocabulary, or morphs (Morfessor Baseline, S18) with a ``segmentation``.

    ``vocabulary`` is UTF-8, one word or morph a line, its number the line's place; ``segmentation``
    the words that Morfessor learned from, cut, in its own format.
    """

    def __init__(
        self,
        vocabulary: bytes,
        fold_case: bool,
        segmentation: bytes | None = None,
        name: str = "words.txt",
    ):
        types = _lines(vocabulary, name)
        self.size = len(types)
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(fold_case)
        self._numbers = {text: i for i, text in enumerate(types)}
        self._cut = None if segmentation is None else morphs(segmentation)
        self._table = None if self._cut else _WordTable(types)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        texts = self.normalise(sentences)
        if self._table:
            ids, offsets = self._table(texts)
        else:
            lists = [
                [number for word in WORD.findall(t) for number in self._of(word)] for t in texts
            ]
            offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
            ids = np.fromiter(chain.from_iterable(lists), np.int32, offsets[-1])
        return _kept(ids, offsets, ids >= 0)

    def _of(self, word: str) -> list[int]:
        """The numbers of a word's parts, -1 for one that is unknown."""
        parts = self._cut(word) if self._cut else (word,)
        return [self._numbers.get(part, -1) for part in parts]

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """As :class:`Tokenizer` has it; the space before a word belongs to it."""
        text = self.normalise([sentence])[0]
        texts: list[str] = []
        ids: list[int] = []
        end = 0
        for match in WORD.finditer(text):
            parts = list(self._cut(match[0]) if self._cut else (match[0],))
            ids += self._of(match[0])
            parts[0] = text[end : match.start()] + parts[0]
            texts += parts
            end = match.end()
        if end < len(text):  # a space that normalisation leaves, such as U+0085
            texts.append(text[end:])
            ids.append(-1)
        return texts, np.array(ids, dtype=np.int32)


class _WordTable:
    """Words to their numbers without a loop in Python."""

    def __init__(self, types: Sequence[str]):
        from miner.kernels.units import fingerprints, table

        self.vocabulary, self.starts = characters(types)
        keys = np.empty(len(types), dtype=np.uint64)
        fingerprints(self.vocabulary, self.starts, keys)
        self.slots, self.places = table(keys)

    def __call__(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        from miner.kernels.units import words

        codes, offsets = characters(texts)
        ids, lengths = np.empty(len(codes), np.int32), np.empty(len(texts), np.int64)
        count = words(
            codes,
            offsets,
            _kinds(),
            self.slots,
            self.places,
            self.vocabulary,
            self.starts,
            ids,
            lengths,
        )
        return ids[:count], offsets_of(lengths)


@lru_cache(1)
def _kinds() -> np.ndarray:
    r"""Of each code point, 2 for ``\w``, 0 for ``\s``, 1 for the rest: ``(0x110000,) uint8``."""
    kinds = np.ones(0x110000, dtype=np.uint8)
    everything = "".join(map(chr, range(len(kinds))))
    for kind, pattern in ((2, r"\w+"), (0, r"\s+")):
        for match in re.finditer(pattern, everything):
            kinds[match.start() : match.end()] = kind
    return kinds


class TrigramTokenizer:
    """Character trigrams over the sentence with a space before and after it.

    There is one around each character, so they cross the boundaries of words. ``vocabulary`` is
    UTF-8, one trigram a line, its number the line's place.
    """

    def __init__(self, vocabulary: bytes, fold_case: bool, name: str = "trigrams.txt"):
        from miner.kernels.units import table

        types = _lines(vocabulary, name)
        for line, trigram in enumerate(types, 1):
            if len(trigram) != 3:
                raise ArtifactError(
                    f"{name}, line {line}: {len(trigram)} characters, not 3; copy or train the "
                    "model again"
                )
        self.size = len(types)
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(fold_case)
        self._table = table(pack_trigrams(types))

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = self._around(self.normalise(sentences))
        return _kept(ids, offsets, ids >= 0)

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """As :class:`Tokenizer` has it: a trigram stands for the character in its middle."""
        texts = self.normalise([sentence])
        return list(texts[0]), self._around(texts)[0]

    def _around(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The number of the trigram around each character, or -1, and the offsets of the texts."""
        from miner.kernels.units import trigrams

        codes, offsets = characters(texts)
        ids = np.empty(len(codes), dtype=np.int32)
        trigrams(codes, offsets, *self._table, ids)
        return ids, offsets


class MarkedTokenizer:
    """A tokenizer of one of two columns that share no embedding (P19): 0 source, 1 target.

    What is spelt alike in both has two numbers, those of the target beyond those of the source.
    """

    def __init__(self, tokenizer: Tokenizer, column: int):
        self.tokenizer = tokenizer
        self.shift = np.int32(tokenizer.size * column)
        self.size = 2 * tokenizer.size
        self.meaningful = np.concatenate([tokenizer.meaningful] * 2)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = self.tokenizer(sentences)
        return ids + self.shift, offsets

    def sample(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`PieceTokenizer.sample`; only for a tokenizer of pieces."""
        assert isinstance(self.tokenizer, PieceTokenizer)
        ids, offsets = self.tokenizer.sample(sentences, alpha, seed, first)
        return ids + self.shift, offsets

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        texts, ids = self.tokenizer.surfaces(sentence)
        return texts, np.where(ids >= 0, ids + self.shift, ids)


def characters(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Code points of all texts in a row, ``(t,) uint32``, and ``offsets (n + 1,) int64``."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4")
    return codes, offsets_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))


def pack_trigrams(trigrams: Sequence[str]) -> np.ndarray:
    """Texts of three characters as the numbers that the kernel has for them: ``(n,) uint64``."""
    from miner.kernels.units import BITS

    codes = characters(trigrams)[0].reshape(-1, 3).astype(np.uint64)
    shifts = np.array([2 * BITS, BITS, 0], dtype=np.uint64)
    return (codes << shifts).sum(axis=1, dtype=np.uint64)


def unpack_trigrams(keys: np.ndarray) -> list[str]:
    """The inverse of :func:`pack_trigrams`."""
    from miner.kernels.units import BITS

    shifts = np.array([2 * BITS, BITS, 0], dtype=np.uint64)
    codes = (keys[:, None] >> shifts) & np.uint64((1 << BITS) - 1)
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def morphs(segmentation: bytes, name: str = "morphs.txt") -> Callable[[str], Sequence[str]]:
    """A function from a word to its morphs, by a Morfessor Baseline model of these words.

    ``segmentation`` is UTF-8, a line for each word: its count and its morphs, joined by ``" + "``.
    """
    model = morfessor().BaselineModel()
    words = []
    for number, line in enumerate(_lines(segmentation, name), 1):
        count, _, text = line.partition(" ")
        parts = text.split(" + ")
        if not count.isdecimal() or int(count) < 1 or not all(parts):
            raise ArtifactError(
                f"{name}, line {number}: not a count and morphs; copy or train the model again"
            )
        words.append((int(count), "".join(parts), parts))
    model.load_segmentations(words)

    @lru_cache(1 << 20)
    def cut(word: str) -> Sequence[str]:
        if len(word) > LONGEST_WORD:
            return (word,)
        # Without smoothing: what is new is made of known morphs and single letters.
        return tuple(model.viterbi_segment(word, addcount=0)[0])

    return cut


def morfessor() -> Any:
    """The package of that name."""
    try:
        import morfessor
    except ImportError:
        raise DependencyError(
            'cutting words into morphs needs Morfessor; run: pip install "bitext-miner[morfessor]"'
        ) from None
    return morfessor


def _lines(vocabulary: bytes, name: str) -> list[str]:
    """The lines of a vocabulary, all different and none empty."""
    remedy = "copy or train the model again"
    try:
        lines = vocabulary.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{name}: byte {error.start} is not UTF-8; {remedy}") from None
    if lines == [""]:
        raise ArtifactError(f"{name}: no units in it; {remedy}")
    seen: dict[str, int] = {}
    for line, text in enumerate(lines, 1):
        if not text:
            raise ArtifactError(f"{name}, line {line}: empty; {remedy}")
        if seen.setdefault(text, line) != line:
            raise ArtifactError(
                f"{name}, line {line}: {text!r} is in line {seen[text]} already; {remedy}"
            )
    return lines


def _kept(ids: np.ndarray, offsets: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ids that are to be kept, and offsets into them."""
    if keep.all():
        return ids, offsets
    # How many are kept before each id, and so before each sentence.
    return ids[keep], offsets_of(keep)[offsets]


def open_tokenizer(
    units: str,
    vocabulary: bytes,
    architecture: Architecture,
    segmentation: bytes | None = None,
    side: str | None = None,
    name: str | None = None,
) -> Tokenizer:
    """What cuts sentences into a model's pieces, words or trigrams.

    ``side`` is one of :data:`SIDES`, and is needed where they share no embedding.
    """
    name = name or VOCABULARIES[units]
    tokenizer: Tokenizer
    if units == "piece":
        tokenizer = PieceTokenizer(vocabulary, name)
    elif units == "word":
        tokenizer = WordTokenizer(vocabulary, architecture.fold_case, segmentation, name)
    else:
        tokenizer = TrigramTokenizer(vocabulary, architecture.fold_case, name)
    if not architecture.separate:
        return tokenizer
    assert side is not None
    return MarkedTokenizer(tokenizer, SIDES.index(side))
