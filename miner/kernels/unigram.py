"""Segmentation into the unigram pieces of a SentencePiece vocabulary (Kudo 2018).

The pieces of a sentence are the ones with the largest sum of scores. Sums are rounded and ties
decided as SentencePiece does it, so ids are the same. Characters are numbered by their first use in
the vocabulary, from 1 on; number 0 stands for all others.

The trie is a double array (Aoe 1989): the child of a node by a character is at the node's base plus
the character's number, if the entry there names the node as its parent. Children of frequent pieces
are placed first, so that most text is read from few cache lines.

No piece crosses a space. So the pieces of a word are the same wherever it stands, but for choices
so close that the rounding of sums decides. Words without such a choice are cut once and kept.
"""

import numpy as np

from miner.kernels.loops import njit

# What to do with a character that is not replaced by one other: see segment.
UNSEEN, SPACE, DROP, REFUSE, LONGER = 0, -1, -2, -3, -4
# Columns of the trie: base of the children, place of the parent (0: free entry), bits of the score,
# and id of the piece that ends here (0: none).
BASE, PARENT, SCORE, PIECE = range(4)
ROOT = 1
# Columns of its nodes before they are placed: the node above and the character that leads from it,
# the last child and the child of the same node before this one (0: none), and the place in the trie
# (0, or -1 where a piece ends: none yet).
ABOVE, CHARACTER, CHILD, NEXT, PLACE = range(5)
# Free entries that are tried for a node's children before they go towards the end of the trie.
TRIED = 16
# Words that are kept: entries of their table, and how many are tried; characters of the longest,
# and the least sum before it. Scores are 0 at most and above LEAST_SCORE, so a sum is above -8192
# and rounded by at most 2^-12. The difference of two, of 24 scores each, then changes by less than
# CLOSE from one place to another.
WORDS, PROBES, LONGEST, LEAST, CLOSE = 1 << 15, 8, 24, -3400.0, 2.0**-5
LEAST_SCORE = -199.0
RESET = np.float32(-100_000)  # Sums below it are counted anew from 0, by SentencePiece 0.2.3.
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Fibonacci hashing
# Kinds of pieces and of protobuf's fields.
_NORMAL = 1
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


@njit()
def _varint(data, place):
    """Return a number of protobuf and the place after it, -1 if it has no end."""
    value = np.int64(0)
    for shift in range(0, 70, 7):
        if place >= len(data):
            break
        byte = np.int64(data[place])
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    return np.int64(0), -1


@njit(nogil=True)
def read_model(data, sections, settings, spans, scores, kinds):
    """Read a serialised SentencePiece model, ``data (b,) uint8``; return the number of pieces.

    Writes, of each piece, ``spans (p, 2) int64``, first byte and end of its text, the bits of its
    float32 score, ``scores (p,) uint32``, and its kind, ``kinds (p,) uint8``. Of the parts with
    field numbers 2 and 3, ``sections (4, 2) int64`` has the spans, and ``settings (4, 64) int64``
    the values of their fields that are whole numbers. Returns -1 if the data is malformed, has
    one of these parts twice, or there is no room.
    """
    part, part_end, count, place = 0, 0, 0, 0
    while place < len(data):
        tag, start = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        value, end = _varint(data, start)
        if kind == _EIGHT_BYTES:
            end = start + 8
        elif kind == _FOUR_BYTES:
            end = start + 4
        elif kind == _BYTES:
            start, end = end, end + value
        elif kind != _VARINT:
            return -1
        if number <= 0 or not 0 < start <= end <= (part_end if part != 0 else len(data)):
            return -1
        if part == 0 and number <= 3:
            if kind != _BYTES or count == len(spans) or (number > 1 and sections[number, 1] != 0):
                return -1
            part, part_end, place = number, end, start
            sections[part, 0], sections[part, 1] = start, end
            kinds[count] = _NORMAL
        else:
            if part == 1 and number == 1 and kind == _BYTES:
                spans[count, 0], spans[count, 1] = start, end
            elif part == 1 and number == 2 and kind == _FOUR_BYTES:
                scores[count] = 0
                for j in range(4):
                    scores[count] |= np.uint32(data[start + j]) << np.uint32(8 * j)
            elif part == 1 and number == 3 and kind == _VARINT:
                kinds[count] = value
            elif part > 1 and kind == _VARINT and number < settings.shape[1]:
                settings[part, number] = value
            place = end
        if part != 0 and place >= part_end:
            count += part == 1
            part = 0
    return count if part == 0 else -1


@njit(nogil=True)
def number_characters(data, spans, codes, offsets, numbers):
    """Decode pieces from UTF-8 and number their characters; return how many there are.

    Writes ``codes (t,) int32``, the numbers of each piece's characters, with ``offsets (p + 1,)``,
    and ``numbers (0x110000,) uint16``, by code point, zeros before. Returns -1 for malformed
    UTF-8 and for NUL, which SentencePiece refuses.
    """
    found, at = 0, 0
    for i in range(len(spans)):
        place, end = spans[i]
        while place < end:
            byte = np.int64(data[place])
            width = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0) + (byte >= 0xF8)
            code = byte if width == 1 else byte & (0x7F >> width)
            for j in range(place + 1, min(end, place + width)):
                if data[j] & 0xC0 != 0x80:
                    return -1
                code = code << 6 | np.int64(data[j]) & 63
            place += width
            shortest = (code > 0) + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
            if place > end or width != shortest or code >= len(numbers):
                return -1
            if numbers[code] == 0:
                found += 1
                numbers[code] = found
            codes[at] = numbers[code]
            at += 1
        offsets[i + 1] = at
    return found


@njit(nogil=True)
def list_nodes(codes, offsets, pieces, edges, nodes, ends):
    """List the nodes of a trie of ``pieces``; return their number, with the root, node 0.

    ``codes (t,) int32`` are the pieces' characters, below 2^16, and t is below 2^24. Writes
    ``nodes (t + 1, 5) int32``, zeros before, and ``ends (p,) int32``, the node where each piece
    ends. ``edges`` is scratch: a power of two above t of uint64, zeros. Returns -1 if a piece is
    empty or there twice.
    """
    # By an edge, a node and a character, in the upper bits: the child. 0 is empty.
    mask, low, count = np.uint64(len(edges) - 1), np.uint64(24), 1
    for piece in pieces:
        node = np.int64(0)
        for j in range(offsets[piece], offsets[piece + 1]):
            edge = np.uint64(node) << np.uint64(16) | np.uint64(codes[j])
            slot = (edge * SPREAD) >> low & mask
            while edges[slot] != 0 and edges[slot] >> low != edge:
                slot = (slot + np.uint64(1)) & mask
            if edges[slot] == 0:
                edges[slot] = edge << low | np.uint64(count)
                nodes[count, ABOVE], nodes[count, CHARACTER] = node, codes[j]
                nodes[count, NEXT], nodes[node, CHILD] = nodes[node, CHILD], count
                count += 1
            node = np.int64(edges[slot] & np.uint64((1 << 24) - 1))
        if node == 0 or nodes[node, PLACE] != 0:
            return -1
        ends[piece], nodes[node, PLACE] = node, -1
    return count


@njit()
def _base(taken, nodes, child, low, last):
    """Return a base from which the entries of a ``child`` and of its siblings are free.

    Entries are tried from ``low`` on, and after some tries from ``last`` on.
    """
    place, tried = low, 0
    while True:
        while taken[place]:
            place += 1
        base = place - nodes[child, CHARACTER]
        free, other = base >= 0, nodes[child, NEXT]
        while free and other != 0:
            free = not taken[base + nodes[other, CHARACTER]]
            other = nodes[other, NEXT]
        if free:
            return base
        place += 1
        tried += 1
        if tried == TRIED:
            place = max(place, last)


@njit(nogil=True)
def place_nodes(nodes, span, pieces, ends, scores, taken, trie):
    """Write the nodes of :func:`list_nodes` to ``trie (m, 4) int32``; return the last one's place.

    ``pieces`` has frequent pieces first, ``scores (p,) int32`` the bits of their scores. ``span``
    is larger than every character. ``trie`` and ``taken (m,) bool``, scratch, are zeros before.
    Returns -1 if there is no room: m should be a quarter above the number of nodes, plus 8 spans.
    """
    low, top = ROOT + 1, ROOT + 1
    taken[0], taken[ROOT], nodes[0, PLACE] = True, True, ROOT
    for piece in pieces:
        end = ends[piece]
        while nodes[end, PLACE] <= 0:
            node = nodes[end, ABOVE]
            while nodes[node, PLACE] <= 0:
                node = nodes[node, ABOVE]
            while taken[low]:
                low += 1
            if max(low, top) + 2 * span > len(taken):
                return -1
            child = nodes[node, CHILD]
            base = _base(taken, nodes, child, low, top - span)
            trie[nodes[node, PLACE], BASE] = base
            while child != 0:
                place = base + nodes[child, CHARACTER]
                trie[place, PARENT], nodes[child, PLACE] = nodes[node, PLACE], place
                taken[place], top = True, max(top, place + 1)
                child = nodes[child, NEXT]
        place = nodes[end, PLACE]
        trie[place, PIECE], trie[place, SCORE] = piece, scores[piece]
    return top - 1


@njit()
def _normalised(codes, longer, mark, text):
    """Write the characters of a sentence to ``text``; return their number, -1 if not possible."""
    text[0] = mark
    size, after_space = 1, True
    for code in codes:
        if size == len(text):
            return -1
        if code > 0:
            text[size] = code - 1
            size += 1
            after_space = False
        elif code == SPACE:
            if not after_space:
                text[size] = mark
                size += 1
            after_space = True
        elif code <= LONGER:
            start = LONGER - code
            count = longer[start]
            if size + count > len(text):
                return -1
            for j in range(count):
                text[size + j] = longer[start + 1 + j]
            size += count
            after_space = False
        elif code != DROP:
            return -1
    while size and text[size - 1] == mark:
        size -= 1
    return size


@njit()
def _cut(text, total, trie, values, unknown, best, begins, pieces):
    """Find the best pieces of a word, after a sum of ``total``; return whether choices were close.

    ``best[j]``, ``begins[j]`` and ``pieces[j]`` are then the sum, and the begin and the id of the
    last one, of the pieces of the first ``j`` characters.
    """
    close, furthest = False, 0
    best[0] = total
    for end in range(1, len(text) + 1):
        best[end] = -np.inf
    for begin in range(len(text)):
        if best[begin] < RESET:
            for end in range(furthest, begin - 1, -1):
                best[end] -= best[begin]
        place, end, here = ROOT, begin, best[begin]
        while end < len(text):
            child = trie[place, BASE] + text[end]
            if trie[child, PARENT] != place:
                break
            place = child
            end += 1
            if trie[place, PIECE] != 0:
                found = values[place, SCORE] + here
                close |= abs(found - best[end]) < CLOSE
                if found > best[end]:
                    best[end], begins[end], pieces[end] = found, begin, trie[place, PIECE]
        furthest = max(furthest, end, begin + 1)
        # Where this character is a piece, that is ten better, and stays.
        end, found = begin + 1, unknown + here
        close |= abs(found - best[end]) < CLOSE
        if found > best[end]:
            best[end], begins[end], pieces[end] = found, begin, 0
    return close


def no_words() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a store of words for :func:`segment`, empty; one thread uses it at a time.

    Of each word, ``(WORDS, 4) int32``: begin and number of its characters in the second array,
    begin and number of its pieces in the third. The fourth, ``(2,) int64``, counts what these have.
    """
    letters, lists = np.empty(4 * WORDS, np.int32), np.empty(2 * WORDS, np.int32)
    return np.zeros((WORDS, 4), np.int32), letters, lists, np.zeros(2, np.int64)


def room_for(offsets: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return scratch for sentences of ``offsets (n + 1,)``; much longer ones are left out."""
    size = 2 * int(np.diff(offsets).max(initial=0)) + 8
    text, chosen = np.empty((2, size), np.int32)
    # By place: one more than characters, as the end of the text is a place too.
    best, (begins, pieces) = np.empty(size + 1, np.float32), np.empty((2, size + 1), np.int32)
    return best, text, chosen, begins, pieces


@njit()
def _slot(words, letters, text, key):
    """Return the entry of a word, a free one where it may stand, or -1."""
    slot = np.int64(key >> np.uint64(40)) % WORDS
    for _ in range(PROBES):
        start, length = words[slot, 0], words[slot, 1]
        same = length == len(text)
        for j in range(len(text) if same else 0):
            same = same and letters[start + j] == text[j]
        if same or length == 0:
            return slot
        slot = (slot + 1) % WORDS
    return -1


@njit(nogil=True)
def segment(
    codes, offsets, longer, mark, trie, values, scores, dropped, scratch, store, ids, counts
):
    """Write the ids of the pieces of each sentence, a ragged array of ``codes (t,) int32``.

    A code is the number of a character plus 1, or what to do: ``SPACE``, ``DROP``, or
    ``LONGER - i`` for the characters ``longer[i + 1 : i + 1 + longer[i]]``. A sentence with
    ``UNSEEN`` or ``REFUSE`` is left out. ``mark`` is the number of the mark for a space, ``trie``
    of :func:`place_nodes`, and ``values`` the same memory as float32. ``scores (p,) float32`` has
    the score of an unknown character, whose id is 0, first. Unknown characters and the piece
    ``dropped`` are not written. ``scratch`` is by :func:`room_for`; ``store``, of
    :func:`no_words`, makes later calls with the same trie faster. ``ids (t,) int32`` is filled
    from the start; ``counts (n,) int64`` has the number of ids of each sentence, -1 for one that
    is left out. Returns the number of ids.
    """
    best, text, chosen, begins, pieces = scratch
    words, letters, lists, filled = store
    at = 0
    for i in range(len(offsets) - 1):
        size = _normalised(codes[offsets[i] : offsets[i + 1]], longer, mark, text)
        first, room = at, offsets[i + 1] - offsets[i]
        total, end = np.float32(0), 0
        while end < size and at - first <= room:
            begin, key = end, np.uint64(0)
            end += 1
            while end < size and text[end] != mark:
                key = (key + np.uint64(text[end])) * SPREAD
                end += 1
            word, slot = text[begin:end], -1
            if len(word) <= LONGEST and total > LEAST:
                slot = _slot(words, letters, word, key)
            if slot < 0 or words[slot, 1] == 0:
                close = _cut(word, total, trie, values, scores[0], best, begins, pieces)
                count, place = 0, len(word)
                while place > 0:
                    count, place = count + 1, begins[place]
                place = len(word)
                for j in range(count - 1, -1, -1):
                    chosen[j], place = pieces[place], begins[place]
                if slot >= 0 and not close:
                    _keep(store, slot, word, chosen[:count])
                own, total = chosen[:count], best[len(word)]
            else:
                own = lists[words[slot, 2] : words[slot, 2] + words[slot, 3]]
                for piece in own:
                    total = scores[piece] + total
            for piece in own:
                if piece != 0 and piece != dropped and at - first <= room:
                    if at - first < room:
                        ids[at] = piece
                    at += 1
        counts[i] = at - first
        if size < 0 or at - first > room:
            counts[i], at = -1, first
    return at


@njit()
def _keep(store, slot, word, pieces):
    """Keep a word in a free entry; if there is no room, forget all words."""
    words, letters, lists, filled = store
    if filled[0] + len(word) > len(letters) or filled[1] + len(pieces) > len(lists):
        for i in range(len(words)):
            words[i, 1] = 0
        filled[0], filled[1] = 0, 0
    words[slot, 0], words[slot, 1] = filled[0], len(word)
    words[slot, 2], words[slot, 3] = filled[1], len(pieces)
    for character in word:
        letters[filled[0]] = character
        filled[0] += 1
    for piece in pieces:
        lists[filled[1]] = piece
        filled[1] += 1
