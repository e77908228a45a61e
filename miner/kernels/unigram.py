"""Segmentation into the unigram pieces of a SentencePiece vocabulary (Kudo 2018).

A sentence is cut into the pieces with the largest sum of scores. Sums are rounded and ties decided
as SentencePiece does it, so ids are the same. Characters are numbered by their first use in the
vocabulary, from 1 on; 0 is any other character.

The trie is a double array (Aoe 1989): the child of a node by a character is at the node's base plus
the character's number, if the entry there names the node as its parent. Children of frequent pieces
are placed first, so that most text is read from few cache lines.

No piece crosses a space. So the pieces of a word do not depend on its context, unless the choice is
so close that the rounding of sums decides. Words without such a choice are cut once and cached.
"""

import numpy as np

from miner.kernels.library import kernel

# Actions for a character that is not replaced by exactly one other: see segment.
UNSEEN, SPACE, DROP, REFUSE, LONGER = 0, -1, -2, -3, -4
# Column of a node's position in the trie: 0 before it is placed, or -1 where a piece ends. The
# other columns: parent, character from the parent, first child, and number of children, which are
# consecutive.
PLACE = 4
# Entries of the cache of words.
WORDS = 1 << 15
# Lower bound of scores, which are at most 0. Words are cached only if the sum before them and their
# own scores, 24 at most, stay above -8192, so that sums are rounded by at most 2^-12.
LEAST_SCORE = -199.0

_place_nodes = kernel(
    "place_nodes(&nodes: i4[n, 5], span: int, pieces: i8[p], ends: i8[p], scores: f4[p], "
    "&taken: u1[m], &trie: i4[m, 4]) -> int"
)
_list_fields = kernel(
    "list_fields(data: u1[b], &numbers: i4[m], &starts: i8[m], &ends: i8[m]) -> int"
)
_segment = kernel(
    "segment(codes: i4[t], offsets: i8[n+1], longer: i4[l], mark: int, trie: i4[m, 4], "
    "scores: f4[p], dropped: int, &best: f4[s+1], &text: i4[s], &chosen: i4[s], &begins: i4[s+1], "
    f"&pieces: i4[s+1], &words: i4[{WORDS}, 4], &letters: i4[x], &lists: i4[y], &filled: i8[2], "
    "&ids: i4[t], &counts: i8[n]) -> int"
)


def place_nodes(
    nodes: np.ndarray,
    span: int,
    pieces: np.ndarray,
    ends: np.ndarray,
    scores: np.ndarray,
    taken: np.ndarray,
    trie: np.ndarray,
) -> int:
    """Write ``nodes (n, 5) int32``, the root first, to ``trie (m, 4) int32``.

    Columns of the trie are the base of the children, the position of the parent (0: free entry),
    the bits of the score, and the id of the piece that ends here (0: none). ``pieces (p,) int64``
    has frequent pieces first, with ``scores (p,) float32`` and ``ends (p,) int64``, the nodes where
    they end. ``span`` is larger than every character. ``trie`` and the scratch ``taken (m,) bool``
    are zero at the start. Returns the last node's position, or -1 if there is no room: m should be
    a quarter above n, plus 8 spans.
    """
    return int(_place_nodes(nodes, span, pieces, ends, scores, taken, trie))


def top_fields(data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the fields of a protobuf message, ``data (b,) uint8``: number, first byte, and end.

    Raises ValueError unless all are strings or messages, as those of a SentencePiece model are.
    """
    count = _list_fields(data, *_places(0))
    if count < 0:
        raise ValueError("not a usual model, or cut off")
    fields = _places(count)
    _list_fields(data, *fields)
    return fields


def _places(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int64)


def no_words() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return an empty cache of words for :func:`segment`, to be used by one thread at a time.

    The first array, ``(WORDS, 4) int32``, has for each word the start and number of its characters
    in the second array and of its pieces in the third. The fourth, ``(2,) int64``, has the fill of
    these two.
    """
    letters, lists = np.empty(4 * WORDS, np.int32), np.empty(2 * WORDS, np.int32)
    return np.zeros((WORDS, 4), np.int32), letters, lists, np.zeros(2, np.int64)


def room_for(offsets: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return scratch for sentences of ``offsets (n + 1,)``; much longer sentences are skipped."""
    size = 2 * int(np.diff(offsets).max(initial=0)) + 8
    text, chosen = np.empty((2, size), np.int32)
    # Indexed by position: one more than characters, because the end of the text counts.
    best, (begins, pieces) = np.empty(size + 1, np.float32), np.empty((2, size + 1), np.int32)
    return best, text, chosen, begins, pieces


def segment(
    codes: np.ndarray,
    offsets: np.ndarray,
    longer: np.ndarray,
    mark: int,
    trie: np.ndarray,
    scores: np.ndarray,
    dropped: int,
    scratch: tuple[np.ndarray, ...],
    store: tuple[np.ndarray, ...],
    ids: np.ndarray,
    counts: np.ndarray,
) -> int:
    """Write the ids of the pieces of each sentence, a ragged array of ``codes (t,) int32``.

    A code is the number of a character plus 1, or an action: ``SPACE``, ``DROP``, or ``LONGER - i``
    for the characters ``longer[i + 1 : i + 1 + longer[i]]``. A sentence with ``UNSEEN`` or
    ``REFUSE`` is skipped. ``mark`` is the number of the mark for a space, ``trie`` of
    :func:`place_nodes`. ``scores (p,) float32`` has the score of an unknown character, whose id is
    0, first. Unknown characters and the piece ``dropped`` are not written. ``scratch`` is by
    :func:`room_for`; ``store``, of :func:`no_words`, makes later calls with the same trie faster.
    ``ids (t,) int32`` is filled from the start; ``counts (n,) int64`` has the number of ids of each
    sentence, -1 if it was skipped. Returns the number of ids.
    """
    model = longer, mark, trie, scores, dropped
    return int(_segment(codes, offsets, *model, *scratch, *store, ids, counts))
