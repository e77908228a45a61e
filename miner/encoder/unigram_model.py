"""Reader of SentencePiece's unigram vocabularies: the trie for looking up pieces."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from miner.kernels import unigram
from miner.ragged import offsets_of, take_lists

SPACE_MARK = "\u2581"  # SentencePiece's mark for a space
CODE_POINTS = 0x110000
# Arrays of :func:`read_pieces`.
ARRAYS = "trie", "scores", "numbers", "meaningful", "places", "spans"
# SentencePiece's format (protobuf): kinds of pieces, numbers of fields, wire types, and the bytes
# of wire types of fixed size.
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_PIECE, _TRAINER, _RULES = 1, 2, 3
_VARINT, _BYTES, _SIZES = 0, 2, {1: 8, 5: 4}
# First bytes of the fields of a piece.
_TEXT, _SCORE, _KIND = 0x0A, 0x15, 0x18
# Supported values by field; None means that the field is absent. Trainer: algorithm, mark after a
# word, byte pieces. Normaliser: mark before the first word, no repeated spaces, mark for a space.
_USUAL = {(_TRAINER, 3): (None, 1), (_TRAINER, 24): (None, 0), (_TRAINER, 35): (None, 0)}
_USUAL |= {(_RULES, field): (None, 1) for field in (3, 4, 5)}
# Names of normalisation rules, their first field; other rules may replace several characters
# together.
_NAMES = tuple(
    bytes([_TEXT, len(name)]) + name.encode()
    for name in ("nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity")
)
# Penalty of an unknown character below the worst piece, as in SentencePiece.
_PENALTY = np.float32(10)


def read_pieces(vocabulary: bytes) -> dict[str, np.ndarray]:
    """Return the trie of a serialised SentencePiece model of V unigram pieces, with its tables.

    - ``trie (m, 4) int32``: from :func:`miner.kernels.unigram.place_nodes`;
    - ``scores (V,) float32``: of the pieces; the first is the unknown character's;
    - ``numbers (0x110000,) uint16``: number of each code point in the trie, 0 for none;
    - ``places (4,) int64``: first byte and end of the normalisation rules in ``vocabulary``, number
      of the mark, id of the bare mark (0: none);
    - ``spans (V, 2) int64``: first byte and end of the text of each piece in ``vocabulary``.

    Raises ValueError for another algorithm, other rules for spaces, other kinds of pieces, or an
    encoding that SentencePiece does not write.
    """
    try:
        spans, scores, kinds, rules = _read(vocabulary)
    except IndexError:
        raise ValueError("the model is cut off") from None
    usual = kinds[:1] == _UNKNOWN and np.isin(kinds[1:], (_NORMAL, _CONTROL)).all()
    if len(kinds) < 2 or not usual:
        raise ValueError("pieces of kinds that are not usual")
    meaningful = kinds == _NORMAL
    scores[0] = scores[meaningful].min(initial=np.inf) - _PENALTY
    if not ((scores > unigram.LEAST_SCORE) & (scores <= 0)).all():
        raise ValueError("a score is not a number, or so large that the sums are too inexact")
    entered = np.flatnonzero(meaningful)
    piece_codes, offsets = take_lists(*_code_points(vocabulary, spans), entered)
    first = np.full(CODE_POINTS, -1)
    first[piece_codes[::-1]] = np.arange(len(piece_codes) - 1, -1, -1)  # the last one counts
    characters = np.flatnonzero(first >= 0)
    if len(characters) + 1 >= 1 << 16 or len(piece_codes) >= 1 << 24 or not np.diff(offsets).all():
        raise ValueError("too many characters, or a piece without any")
    rank = np.empty(len(characters), np.int32)
    rank[np.argsort(first[characters])] = np.arange(1, len(characters) + 1)
    numbers = np.zeros(CODE_POINTS, np.uint16)
    numbers[characters] = rank
    mark = int(numbers[ord(SPACE_MARK)])
    marked = piece_codes == ord(SPACE_MARK)
    inside = np.ones(len(piece_codes), bool)
    inside[offsets[:-1]] = False
    if numbers[0] or not mark or (marked & inside).any():
        raise ValueError("not a usual list of pieces")
    trie = _trie(numbers[piece_codes], offsets, entered, scores, len(characters) + 1)
    bare = entered[marked[offsets[:-1]] & (np.diff(offsets) == 1)]
    dropped = int(bare.max(initial=0))
    meaningful[dropped] = False
    places = np.array([rules.start, rules.stop, mark, dropped])
    return dict(zip(ARRAYS, (trie, scores, numbers, meaningful, places, spans), strict=True))


def piece_texts(vocabulary: bytes, spans: np.ndarray) -> list[str]:
    """Return the text of every piece at the ``spans`` from :func:`read_pieces`."""
    codes, offsets = _code_points(vocabulary, spans)
    text, ends = codes.tobytes().decode("utf-32-le"), offsets.tolist()
    return [text[first:last] for first, last in pairwise(ends)]


def _code_points(vocabulary: bytes, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the code points of pieces, ``(t,) uint32``, and ``offsets (V + 1,) int64``."""
    data, (first, last) = np.frombuffer(vocabulary, np.uint8), spans.T
    offsets = offsets_of(last - first)
    flat = data[np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], last - first)]
    begins = (flat & 0xC0) != 0x80
    if not begins[offsets[:-1][last > first]].all():
        raise ValueError("a piece begins within a character")
    codes = np.frombuffer(flat.tobytes().decode().encode("utf-32-le"), "<u4")
    return codes, offsets_of(begins)[offsets]


def _read(vocabulary: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray, slice]:
    """Return the pieces' spans of text ``(V, 2)``, scores ``(V,) float32`` and kinds ``(V,)``, and
    the rules' span.
    """
    data = np.frombuffer(vocabulary, np.uint8)
    numbers, starts, ends = unigram.top_fields(data)
    parts: dict[int, slice] = {}
    for position in np.flatnonzero(np.isin(numbers, (_TRAINER, _RULES))).tolist():
        if int(numbers[position]) in parts:
            raise ValueError("not a usual model")
        parts[int(numbers[position])] = slice(int(starts[position]), int(ends[position]))
    start, end = starts[numbers == _PIECE], ends[numbers == _PIECE]
    settings = {
        (part, number): value
        for part, span in parts.items()
        for number, value in fields(vocabulary, span.start, span.stop)
    }
    rules = parts.get(_RULES, slice(0, 0))
    known = all(settings.get(field) in values for field, values in _USUAL.items())
    if not known or not len(start) or not vocabulary[rules].startswith(_NAMES):
        raise ValueError("not a usual model of unigram pieces")
    # A text of less than 128 bytes, a score, and the kind unless it is normal.
    score = start + 2 + data[start + 1]
    normal = end == score + 5
    if (end - start < 2).any() or not (normal | (end == score + 7)).all():
        raise ValueError("pieces in an unusual form")
    kind = np.where(normal, _NORMAL, data[np.where(normal, 0, end - 1)])
    heads = (data[start] == _TEXT) & (data[start + 1] < 128) & (data[score] == _SCORE)
    if not (heads & (normal | (data[np.where(normal, 0, end - 2)] == _KIND))).all():
        raise ValueError("pieces in an unusual form")
    scores = data[score[:, None] + np.arange(1, 5)].view("<f4")[:, 0]
    return np.stack([start + 2, score], axis=1), scores, kind, rules


def fields(data: bytes, position: int, end: int) -> Iterator[tuple[int, int | slice]]:
    """Yield number and value of each field of a protobuf message; its span if it is not a
    varint.
    """
    while position < end:
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        value, after = _varint(data, position) if kind in (_VARINT, _BYTES) else (0, position)
        if kind == _VARINT:
            position = after
            content: int | slice = value
        elif kind == _BYTES or kind in _SIZES:
            position = after + (value if kind == _BYTES else _SIZES[kind])
            content = slice(after, position)
        else:
            raise ValueError("a field of an unknown kind")
        if not 0 < number < 1 << 29 or position > end:
            raise ValueError("a field without a number, or too long")
        yield number, content


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a protobuf integer; return it and the position after it."""
    value = shift = 0
    while data[position] > 127:
        if shift == 63:
            raise ValueError("an integer is too long")
        value |= (data[position] & 127) << shift
        position, shift = position + 1, shift + 7
    return value | data[position] << shift, position + 1


def _alphabetical(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the alphabetical order of ``codes (t,) uint16`` > 0, ragged.

    By the last characters first: numpy sorts 16 bits in linear time.
    """
    lengths, order = np.diff(offsets), np.arange(len(offsets) - 1)
    for depth in range(int(lengths.max()) - 1, -1, -1):
        characters = np.zeros(len(order), np.uint16)
        longer = np.flatnonzero(lengths > depth)
        characters[longer] = codes[offsets[longer] + depth]
        order = order[np.argsort(characters[order], kind="stable")]
    return order


def _trie(
    codes: np.ndarray, offsets: np.ndarray, entered: np.ndarray, scores: np.ndarray, span: int
) -> np.ndarray:
    """Build the trie of the pieces ``entered``, whose characters' numbers are ``codes``, ragged.

    Nodes are numbered by depth, then by parent and character, so that the children of a node have
    consecutive numbers.
    """
    order, lengths = _alphabetical(codes, offsets), np.diff(offsets)
    lengths, starts, sorted_ends = lengths[order], offsets[order], np.zeros(len(order), np.int64)
    parts, count = [np.zeros((1, 2), np.int64)], 1
    for depth in range(int(lengths.max())):
        longer = np.flatnonzero(lengths > depth)
        edges = sorted_ends[longer] << 16 | codes[starts[longer] + depth]
        new = np.diff(edges, prepend=-1) != 0
        parts.append(np.stack([edges[new] >> 16, edges[new] & 0xFFFF], axis=1))
        sorted_ends[longer] = count - 1 + np.cumsum(new)
        count += len(parts[-1])
    if not np.diff(sorted_ends).all():
        raise ValueError("a piece is there twice")
    ends = np.empty_like(sorted_ends)
    ends[order] = sorted_ends
    above, character = np.concatenate(parts).T.astype(np.int32)
    children = np.bincount(above[1:], minlength=count).astype(np.int32)
    first = offsets_of(children)[:-1].astype(np.int32) + 1
    nodes = np.stack([above, character, first, children, np.zeros(count, np.int32)], axis=1)
    nodes[ends, unigram.PLACE] = -1
    order = np.argsort(-scores[entered], kind="stable")
    room = count + count // 4 + 8 * span + 64
    trie, taken = np.zeros((room, 4), np.int32), np.zeros(room, bool)
    pieces = entered[order]
    last = unigram.place_nodes(nodes, span, pieces, ends[order], scores[pieces], taken, trie)
    if last < 0:
        raise ValueError("too many pieces with rare characters")
    return trie[: last + span].copy()
