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
# the first child and the number of children, which follow each other, and the place in the trie (0,
# or -1 where a piece ends: none yet).
ABOVE, CHARACTER, CHILD, CHILDREN, PLACE = range(5)
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


@njit()
def _base(taken, children, low, last):
    """Return a base from which the entries of the nodes ``children`` are free.

    Entries are tried from ``low`` on, and after some tries from ``last`` on.
    """
    place, tried = low, 0
    while True:
        while taken[place]:
            place += 1
        base = place - children[0, CHARACTER]
        free, other = base >= 0, 1
        while free and other < len(children):
            free = not taken[base + children[other, CHARACTER]]
            other += 1
        if free:
            return base
        place += 1
        tried += 1
        if tried == TRIED:
            place = max(place, last)


@njit(nogil=True)
def place_nodes(nodes, span, pieces, ends, scores, taken, trie):
    """Write ``nodes (n, 5) int32``, the root first, to ``trie (m, 4) int32``.

    ``pieces (p,) int64`` has frequent pieces first, ``scores (p,) int32`` the bits of their scores
    and ``ends (p,) int64`` the nodes where they end. ``span`` is larger than every character.
    ``trie`` and ``taken (m,) bool``, scratch, are zeros before. Returns the last node's place, or
    -1 if there is no room: m should be a quarter above n, plus 8 spans.
    """
    low, top = ROOT + 1, ROOT + 1
    taken[0], taken[ROOT], nodes[0, PLACE] = True, True, ROOT
    for i in range(len(pieces)):
        end = ends[i]
        while nodes[end, PLACE] <= 0:
            node = nodes[end, ABOVE]
            while nodes[node, PLACE] <= 0:
                node = nodes[node, ABOVE]
            while taken[low]:
                low += 1
            if max(low, top) + 2 * span > len(taken):
                return -1
            first = nodes[node, CHILD]
            children = nodes[first : first + nodes[node, CHILDREN]]
            base = _base(taken, children, low, top - span)
            trie[nodes[node, PLACE], BASE] = base
            for j in range(len(children)):
                place = base + children[j, CHARACTER]
                trie[place, PARENT], children[j, PLACE] = nodes[node, PLACE], place
                taken[place], top = True, max(top, place + 1)
        place = nodes[end, PLACE]
        trie[place, PIECE], trie[place, SCORE] = pieces[i], scores[i]
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
