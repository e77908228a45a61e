"""Names that are spelled in two scripts: the best match of a Latin word within a foreign sentence.

Letters are codes: 0 separates words, 1 to 26 are Latin letters, larger ones foreign. Operations
turn up to two foreign letters into up to five Latin ones. The gain of an operation is the log ratio
of its probability as a segment of a transliteration to chance (:mod:`miner.kernels.segments`).
Operations are ``(starts, second, latin, gain, inside)``:

- ``starts (c, 28) int32``: operations ``starts[f, l]`` to ``starts[f, l + 1]`` turn foreign code
  ``f`` into letters that begin with the Latin letter ``l``, or into none (0). Code 0 stands for
  Latin letters alone.
- ``second (m,) uint16``: the second foreign code, or 0. ``latin (m, 5) uint8``: the Latin letters,
  then 0. ``gain (m,) float32``.
- ``inside (c,) float32``: gain (<= 0) of a match that begins at this code within a word.
"""

import numpy as np

from miner.kernels.library import kernel
from miner.parallel import in_ranges

LETTERS = 26
# Code of a foreign letter that has no operations.
UNKNOWN = LETTERS + 1
# Gain of replacing a letter by another, or by none, where no operation does.
OTHER = np.float32(-5.0)
# Gain below which a partial match is abandoned.
HOPELESS = np.float32(-7.0)
# Letters of a searched word, minimum and maximum; maximum words of a sentence.
SHORTEST, LONGEST, WORDS = 3, 20, 12
NONE = np.float32(-1e9)
# Number of weights of a match: a constant, its gain, the logarithm of the text's letters, the
# word's letters, and the squared positive gain.
WEIGHTS = 5
# Items that a thread takes at a time.
CHUNK = 64

_OPERATIONS = "starts: i4[c, 28], second: u2[o], latin: u1[o, 5], gain: f4[o], inside: f4[c]"
_share_names = kernel(
    "share_names(foreign: i4[f], foreign_offsets: i8[n+1], other: i4[l], other_offsets: i8[m+1], "
    "foreign_row: i8[pairs], other_row: i8[pairs], spelling: u2[t], offsets: i8[v+1], "
    f"{_OPERATIONS}, ordinary: u4[w], weights: f4[5], first: int, last: int, &out: f4[pairs])"
)
_find_names = kernel(
    "find_names(texts: u2[t], text_offsets: i8[n+1], words: u2[w], word_offsets: i8[m+1], "
    f"text_row: i8[m], {_OPERATIONS}, first: int, last: int, &out: f4[m, 3])"
)
# Writes the 32-bit FNV-1a hash of each word's letters.
hash_words = kernel("hash_words(letters: u2[t], offsets: i8[n+1], &out: u4[n])")

# A ragged array: values and offsets.
_Lists = tuple[np.ndarray, np.ndarray]


def share_names(
    foreign: _Lists,
    latin: _Lists,
    rows: tuple[np.ndarray, np.ndarray],
    spelled: tuple[np.ndarray, ...],
    operations: tuple[np.ndarray, ...],
    ordinary: np.ndarray,
    weights: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the share of the Latin sentence's names that are spelled in the foreign one, ``(m,)``.

    The share is the sum of the names' match probabilities over their number plus one. Names are
    words that are not ``ordinary (w,) uint32``, hashes in ascending order. ``foreign`` and
    ``latin`` are token ids, ``rows`` the sentences of each pair, ``spelled`` the letters of each
    token id ``(t,) uint16`` and their offsets.
    """
    model = *spelled, *operations, ordinary, weights
    in_ranges(
        lambda first, last: _share_names(*foreign, *latin, *rows, *model, first, last, out),
        len(out),
        CHUNK,
    )


def find_all(
    texts: _Lists,
    words: _Lists,
    text_row: np.ndarray,
    operations: tuple[np.ndarray, ...],
    out: np.ndarray,
) -> None:
    """Write gain, start and end of each word's best match in its text, ``(m, 3) float32``.

    Words have at most LONGEST letters, all Latin. Raises ValueError otherwise.
    """
    if np.diff(words[1]).max(initial=0) > LONGEST or words[0].max(initial=0) > LETTERS:
        raise ValueError(f"a word of more than {LONGEST} letters, or with a foreign one")
    in_ranges(
        lambda first, last: _find_names(*texts, *words, text_row, *operations, first, last, out),
        len(out),
        CHUNK,
    )
