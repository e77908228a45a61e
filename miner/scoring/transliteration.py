"""Names across scripts: is a name of one side spelled in the other side's script?

A name unknown to the embedding has no counterpart for the other features, though any reader sees
it. A model of letters (:mod:`miner.kernels.letters`), learned by :mod:`miner_train.learn_names`,
searches for each name of the Latin sentence in the sentence in another script.
"""

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256

import numpy as np

from miner.encoder.cached_arrays import cached_arrays, digest_of, key_of
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.unigram_model import CODE_POINTS
from miner.encoder.unit_lists import code_points
from miner.errors import ArtifactError
from miner.kernels.letters import LETTERS, UNKNOWN, WEIGHTS, share_names
from miner.kernels.segments import letters_of
from miner.ragged import offsets_of, take_lists
from miner.text.words import SPACELESS

# Name of the feature: share of names spelled on the other side.
TRANSLITERATED = "transliterated"
# Arrays of a model: foreign letters as code points; segments and their gains; hashes of words that
# are not names; weights of a match.
ARRAYS = ("letters", "segments", "gains", "ordinary", "weights")
KINDS = [np.uint32, np.int64, np.float32, np.uint32, np.float32]
# Code of the model's first foreign letter.
FIRST = UNKNOWN + 1
# Names of the cached arrays: script and spelling of token ids, operations, and those of the model.
SPELLED = "script", "spelling", "offsets"
OPERATIONS = "starts", "second", "latin", "gain", "inside"
GIVEN = "ordinary", "weights"
# Gain of a Latin letter matched with itself.
SAME = 3.0
# Latin letters that do not decompose into a basic letter and a mark.
_BASIC = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}
# Letters of scripts without spaces.
DENSE = re.compile(f"[{SPACELESS}]")
_HANGUL, _SEMITIC = ("\uac00", "\ud7a3"), ("\u0590", "\u06ff")
_GREEK = (("\u0370", "\u03ff"), ("\u1f00", "\u1fff"))

# Token ids of sentences ``(t,) int32``, and their offsets ``(n + 1,) int64``.
Text = tuple[np.ndarray, np.ndarray]


class Names:
    """Model of letters, for the token ids of one vocabulary.

    ``arrays``, by the names in `ARRAYS`: ``letters (c,) uint32``, ``segments (m,) int64`` as
    :mod:`miner.kernels.segments` packs them, with codes by :func:`spell`, ``gains (m,) float32``,
    ``ordinary (w,) uint32``, ascending, and ``weights (5,) float32``. ``name`` names the model in
    errors. Raises ArtifactError for faulty arrays.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], tokenizer: PieceTokenizer, name: str):

        def make() -> dict[str, np.ndarray]:
            _check(arrays, name)
            return _prepared(arrays, tokenizer)

        digest = (
            digest_of(arrays) or sha256(b"".join(a.tobytes() for a in arrays.values())).hexdigest()
        )
        key = key_of(tokenizer.digest, digest)
        cached = cached_arrays("names", (*SPELLED, *OPERATIONS, *GIVEN), key, make)
        self.script, *spelled = (cached[label] for label in SPELLED)
        self.spelled = tuple(spelled)
        self.operations = tuple(cached[label] for label in OPERATIONS)
        self.ordinary, self.weights = (cached[label] for label in GIVEN)

    def share(
        self, source: Text, target: Text, source_row: np.ndarray, target_row: np.ndarray
    ) -> np.ndarray:
        """Return the feature of pairs of rows, ``(m,) float32`` in [0, 1).

        It is the sum of the names' match probabilities over their number plus one; 0 unless one
        side is in Latin letters and the other in a script of the model.
        """
        out = np.zeros(len(source_row), dtype=np.float32)
        texts, rows = (source, target), (source_row.astype(np.int64), target_row.astype(np.int64))
        foreign = [self._foreign(*side) for side in zip(texts, rows, strict=True)]
        model = self.spelled, self.operations, self.ordinary, self.weights
        for foreign_side, latin_side in ((0, 1), (1, 0)):
            mixed = np.flatnonzero((foreign[foreign_side] > 0) & (foreign[latin_side] < 0))
            if len(mixed):
                shares = np.empty(len(mixed), dtype=np.float32)
                both = rows[foreign_side][mixed], rows[latin_side][mixed]
                share_names(texts[foreign_side], texts[latin_side], both, *model, shares)
                out[mixed] = shares
        return out

    def _foreign(self, text: Text, rows: np.ndarray) -> np.ndarray:
        """Return the number of foreign tokens minus Latin tokens of each sentence, ``(m,)``."""
        ids, offsets = take_lists(*text, rows)
        return np.diff(np.concatenate([[0], np.cumsum(self.script[ids], dtype=np.int64)])[offsets])


def _check(arrays: Mapping[str, np.ndarray], name: str) -> None:
    shapes = {label: array.shape for label, array in arrays.items()}
    sound = (
        set(shapes) == set(ARRAYS)
        and [arrays[label].dtype for label in ARRAYS] == KINDS
        and int(arrays["letters"].max(initial=0)) <= sys.maxunicode
        and all(len(shape) == 1 for shape in shapes.values())
        and shapes["segments"] == shapes["gains"]
        and shapes["weights"] == (WEIGHTS,)
        and all(np.isfinite(arrays[label]).all() for label in ("gains", "weights"))
    )
    if sound:
        foreign, latin = letters_of(arrays["segments"])
        most = FIRST + shapes["letters"][0]
        sound = foreign.max(initial=0) < most and latin.max(initial=0) <= LETTERS
    if not sound:
        raise ArtifactError(f"{name}: its model of names cannot be used; train the model again")


def _prepared(arrays: Mapping[str, np.ndarray], tokenizer: PieceTokenizer) -> dict[str, np.ndarray]:
    spelling, offsets = spell(tokenizer.spellings(), codes_of(arrays["letters"]))
    # 1 for a token that begins with a foreign letter, -1 for a Latin one.
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    row, letters = row[spelling > 0], spelling[spelling > 0]
    first = np.diff(row, prepend=-1) > 0
    lettered, letter = row[first], letters[first]
    script = np.zeros(len(offsets) - 1, dtype=np.int8)
    script[lettered] = (letter > UNKNOWN).astype(np.int8) - (letter < UNKNOWN)
    spelled = script, spelling, offsets
    operations = operations_of(*(arrays[label] for label in ARRAYS[:3]))
    copied = np.ascontiguousarray(arrays["ordinary"]), np.ascontiguousarray(arrays["weights"])
    names = *SPELLED, *OPERATIONS, *GIVEN
    return dict(zip(names, (*spelled, *operations, *copied), strict=True))


def codes_of(letters: np.ndarray) -> dict[str, int]:
    """Return the code of each foreign letter of a model."""
    return {chr(letter): FIRST + i for i, letter in enumerate(letters.tolist())}


def spell(texts: Sequence[str], codes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Convert texts to letter codes, ``(t,) uint16``, and offsets ``(n + 1,) int64``.

    0 stands for any other character.
    """
    letters, offsets = code_points(texts)
    number = np.zeros(CODE_POINTS, np.int32)
    number[letters] = 1
    distinct = np.flatnonzero(number)
    number[distinct] = np.arange(len(distinct))
    lists = [_codes(chr(letter), codes) for letter in distinct.tolist()]
    spelled = np.array([code for one in lists for code in one], np.uint16)
    starts = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
    spelled, ends = take_lists(spelled, starts, number[letters])
    return spelled, ends[offsets]


def _codes(letter: str, codes: Mapping[str, int]) -> list[int]:
    """Return the codes of a character."""
    return [
        0
        if character == " "
        else ord(character) - 96
        if "a" <= character <= "z"
        else codes.get(character, UNKNOWN)
        for character in normalised(letter)
    ]


@cache
def normalised(letter: str) -> str:
    """Return the basic letters of a character, a space if it is no letter, or nothing.

    Case, accents of Latin and Greek and marks of Arabic and Hebrew are dropped, and so are
    standalone accents; Hangul is decomposed.
    """
    letter = unicodedata.normalize("NFKC", letter.casefold())
    if any(_HANGUL[0] <= character <= _HANGUL[1] for character in letter):
        return unicodedata.normalize("NFD", letter)
    letters = ""
    for character in letter:
        basic = unicodedata.normalize("NFD", _BASIC.get(character, character))
        greek = any(first <= character <= last for first, last in _GREEK)
        if basic[0].isascii() or greek or _SEMITIC[0] <= character <= _SEMITIC[1]:
            basic = "".join(part for part in basic if not unicodedata.combining(part))
        else:
            basic = character
        for part in basic:
            if part in "\u0640\u200c\u200d\u200e\u200f" or "\u0300" <= part <= "\u036f":
                continue
            plain = unicodedata.category(part)[0] in "LM" or part == "ー"
            letters += part if plain else " "
    return letters


def operations_of(
    letters: np.ndarray, segments: np.ndarray, gains: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the operations of :mod:`miner.kernels.letters`."""
    foreign, latin = letters_of(segments)
    gain = gains.astype(np.float32)
    same = np.arange(1, LETTERS + 1)  # a Latin letter matches itself
    foreign = np.concatenate([foreign, np.column_stack([same, 0 * same])])
    latin = np.concatenate([latin, np.pad(same[:, None], ((0, 0), (0, latin.shape[1] - 1)))])
    gain = np.concatenate([gain, np.full(LETTERS, SAME, np.float32)])
    columns = LETTERS + 2
    key = foreign[:, 0] * columns + latin[:, 0]
    order = np.argsort(key, kind="stable")
    size = FIRST + len(letters)
    starts = np.searchsorted(key[order], np.arange(size * columns)).astype(np.int32)
    inside = np.full(size, -3.0, np.float32)
    for code, letter in enumerate(map(chr, letters.tolist()), FIRST):
        inside[code] = _inside(letter)
    return (
        starts.reshape(size, columns),
        foreign[order, 1].astype(np.uint16),
        latin[order].astype(np.uint8),
        gain[order],
        inside,
    )


def _inside(letter: str) -> float:
    """Return the gain of a name that begins with this letter within a word."""
    if DENSE.match(letter):
        return 0.0
    return -1.5 if _SEMITIC[0] <= letter <= _SEMITIC[1] else -3.0
