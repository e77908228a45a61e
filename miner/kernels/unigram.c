/* Unigram pieces: see miner/kernels/unigram.py. */

/* Codes that are no character; the largest of those that stand for several. */
enum { CODE_SPACE = -1, CODE_DROP = -2, CODE_LONGER = -4 };
/* Words that are kept: entries of their table, a power of two, how many are tried, and characters of
   the longest. */
enum { KEPT_WORDS = 1 << 15, KEPT_PROBES = 8, KEPT_LONGEST = 24 };
/* Free entries that are tried for a node's children before they go towards the end of the trie. */
enum { ENTRIES_TRIED = 16, TRIE_ROOT = 1 };

/* An entry of the trie; a node before it is placed. */
struct entry { int32_t base, parent; float score; int32_t piece; };
struct node { int32_t above, character, child, children, place; };

/* Return a base from which the entries of the children are free. Entries are tried from low on, and
   after some tries from last on. */
static int64_t free_base(const uint8_t *taken, const struct node *children, int64_t count,
                         int64_t low, int64_t last) {
    for (int64_t place = low, tried = 0;;) {
        while (taken[place]) place++;
        const int64_t base = place - children[0].character;
        int64_t fit = base >= 0;
        while (fit && fit < count && !taken[base + children[fit].character]) fit++;
        if (fit == count) return base;
        place++;
        if (++tried == ENTRIES_TRIED) place = MAX(place, last);
    }
}

/* Read a protobuf integer from *at on; return 0 if it is cut off or too long. */
static int read_varint(const uint8_t *data, int64_t end, int64_t *at, uint64_t *value) {
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = data[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return 1;
    }
    return 0;
}

int64_t EXPORT(list_fields)(const uint8_t *data, int32_t *numbers, int64_t *starts, int64_t *ends,
                            int64_t b, int64_t m) {
    int64_t count = 0;
    for (int64_t at = 0; at < b; count++) {
        uint64_t tag, size;
        if (!read_varint(data, b, &at, &tag) || !read_varint(data, b, &at, &size)) return -1;
        if ((tag & 7) != 2 || tag < 8 || tag >> 32 || size > (uint64_t)(b - at)) return -1;
        if (count < m) {
            numbers[count] = (int32_t)(tag >> 3);
            starts[count] = at;
            ends[count] = at + (int64_t)size;
        }
        at += (int64_t)size;
    }
    return count;
}

int64_t EXPORT(place_nodes)(int32_t *table, int64_t span, const int64_t *pieces,
                            const int64_t *ends, const float *scores, uint8_t *taken, int32_t *out,
                            int64_t n, int64_t p, int64_t m) {
    struct node *nodes = (struct node *)table;
    struct entry *trie = (struct entry *)out;
    int64_t low = TRIE_ROOT + 1, top = low;
    if (m < low) return -1;
    taken[0] = taken[TRIE_ROOT] = 1;
    nodes[0].place = TRIE_ROOT;
    for (int64_t i = 0; i < p; i++) {
        struct node *const end = nodes + ends[i];
        while (end->place <= 0) {
            const struct node *node = nodes + end->above;
            while (node->place <= 0) node = nodes + node->above;
            while (low < m && taken[low]) low++;
            if (MAX(low, top) + 2 * span > m) return -1;
            struct node *children = nodes + node->child;
            const int64_t base = free_base(taken, children, node->children, low, top - span);
            trie[node->place].base = (int32_t)base;
            for (int64_t j = 0; j < node->children; j++) {
                const int64_t place = base + children[j].character;
                trie[place].parent = node->place;
                children[j].place = (int32_t)place;
                taken[place] = 1;
                top = MAX(top, place + 1);
            }
        }
        trie[end->place].piece = (int32_t)pieces[i];
        trie[end->place].score = scores[i];
    }
    return top - 1;
}

/* Write the characters of a sentence to text (room); return their number, -1 if not possible. */
static int64_t characters(const int32_t *codes, int64_t count, const int32_t *longer, int32_t mark,
                          int32_t *restrict text, int64_t room) {
    text[0] = mark;
    int64_t size = 1;
    int after_space = 1;
    for (int64_t i = 0; i < count; i++) {
        const int32_t code = codes[i];
        if (size == room) return -1;
        if (code > 0) {
            text[size++] = code - 1;
            after_space = 0;
        } else if (code == CODE_SPACE) {
            if (!after_space) text[size++] = mark;
            after_space = 1;
        } else if (code <= CODE_LONGER) {
            const int32_t *from = longer + (CODE_LONGER - code);
            const int64_t more = *from++;
            if (size + more > room) return -1;
            memcpy(text + size, from, (size_t)more * sizeof(int32_t));
            size += more;
            after_space = 0;
        } else if (code != CODE_DROP) {
            return -1;
        }
    }
    while (size && text[size - 1] == mark) size--;
    return size;
}

/* Find the best pieces of a word, after a sum of total; return whether choices were close. best[j],
   begins[j] and pieces[j] are then the sum, and the begin and the id of the last one, of the pieces
   of the first j characters. */
static int cut(const int32_t *restrict text, int64_t size, float total,
               const struct entry *restrict trie, float unknown, float *restrict best,
               int32_t *restrict begins, int32_t *restrict pieces) {
    /* The difference of two sums of 24 scores each, rounded by 2^-12, changes by less than CLOSE from
       one place to another. Sums below RESET are counted anew from 0, by SentencePiece 0.2.3. */
    const float CLOSE = 0x1p-5f, RESET = -100000.0f;
    int close = 0;
    int64_t furthest = 0;
    best[0] = total;
    for (int64_t end = 1; end <= size; end++) best[end] = -INFINITY;
    for (int64_t begin = 0; begin < size; begin++) {
        if (best[begin] < RESET)
            for (int64_t end = furthest; end >= begin; end--) best[end] -= best[begin];
        const float here = best[begin];
        int64_t end = begin;
        for (int32_t place = TRIE_ROOT; end < size;) {
            const int32_t child = trie[place].base + text[end];
            if (trie[child].parent != place) break;
            place = child;
            end++;
            if (trie[place].piece != 0) {
                const float found = trie[place].score + here;
                close |= fabsf(found - best[end]) < CLOSE;
                if (found > best[end]) {
                    best[end] = found;
                    begins[end] = (int32_t)begin;
                    pieces[end] = trie[place].piece;
                }
            }
        }
        furthest = MAX(furthest, MAX(end, begin + 1));
        /* Where this character is a piece, that is ten better, and stays. */
        const float found = unknown + here;
        close |= fabsf(found - best[begin + 1]) < CLOSE;
        if (found > best[begin + 1]) {
            best[begin + 1] = found;
            begins[begin + 1] = (int32_t)begin;
            pieces[begin + 1] = 0;
        }
    }
    return close;
}

/* Store of words: begin and number of characters and of pieces, what these are, and how many. */
struct kept { int32_t begin, size, first, pieces; };
struct store {
    struct kept *words;
    int32_t *letters, *lists;
    int64_t *filled, letters_size, lists_size;
};

/* Return the entry of a word, a free one where it may stand, or NULL. */
static struct kept *entry_of(const struct store *store, const int32_t *text, int64_t size,
                             uint64_t key) {
    int64_t slot = (int64_t)(key >> 40) % KEPT_WORDS;
    for (int i = 0; i < KEPT_PROBES; i++) {
        struct kept *word = store->words + slot;
        if (word->size == 0) return word;
        if (word->size == size) {
            const int32_t *letters = store->letters + word->begin;
            int64_t same = 0;
            while (same < size && letters[same] == text[same]) same++;
            if (same == size) return word;
        }
        slot = (slot + 1) % KEPT_WORDS;
    }
    return NULL;
}

/* Keep a word in a free entry; if there is no room, forget all words. */
static void keep(const struct store *store, struct kept *word, const int32_t *text, int64_t size,
                 const int32_t *pieces, int64_t count) {
    int64_t *filled = store->filled;
    if (filled[0] + size > store->letters_size || filled[1] + count > store->lists_size) {
        for (int64_t i = 0; i < KEPT_WORDS; i++) store->words[i].size = 0;
        filled[0] = filled[1] = 0;
    }
    *word = (struct kept){(int32_t)filled[0], (int32_t)size, (int32_t)filled[1], (int32_t)count};
    memcpy(store->letters + filled[0], text, (size_t)size * sizeof(int32_t));
    memcpy(store->lists + filled[1], pieces, (size_t)count * sizeof(int32_t));
    filled[0] += size;
    filled[1] += count;
}

int64_t EXPORT(segment)(const int32_t *codes, const int64_t *offsets, const int32_t *longer,
                        int64_t mark, const int32_t *table, const float *scores, int64_t dropped,
                        float *best, int32_t *text, int32_t *chosen, int32_t *begins,
                        int32_t *pieces, int32_t *words, int32_t *letters, int32_t *lists,
                        int64_t *filled, int32_t *ids, int64_t *counts, int64_t t, int64_t n,
                        int64_t longer_size, int64_t m, int64_t p, int64_t room,
                        int64_t letters_size, int64_t lists_size) {
    const struct entry *trie = (const struct entry *)table;
    const struct store store = {(struct kept *)words, letters, lists, filled, letters_size,
                                lists_size};
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t most = offsets[i + 1] - offsets[i], first = at;
        const int64_t size =
            characters(codes + offsets[i], most, longer, (int32_t)mark, text, room);
        float total = 0.0f;
        for (int64_t end = 0; end < size && at - first <= most;) {
            const int32_t *word = text + end++;
            uint64_t key = 0;
            for (; end < size && text[end] != mark; end++)
                key = (key + (uint64_t)text[end]) * 0x9E3779B97F4A7C15u;
            const int64_t length = text + end - word;
            struct kept *known = NULL;
            /* Lower sums are rounded by more than CLOSE allows. */
            if (length <= KEPT_LONGEST && total > -3400.0f)
                known = entry_of(&store, word, length, key);
            const int32_t *own;
            int64_t count = 0;
            if (known == NULL || known->size == 0) {
                const int close = cut(word, length, total, trie, scores[0], best, begins, pieces);
                for (int64_t place = length; place > 0; place = begins[place]) count++;
                for (int64_t place = length, j = count; place > 0; place = begins[place])
                    chosen[--j] = pieces[place];
                if (known != NULL && !close) keep(&store, known, word, length, chosen, count);
                own = chosen;
                total = best[length];
            } else {
                own = lists + known->first;
                count = known->pieces;
                for (int64_t j = 0; j < count; j++) total = scores[own[j]] + total;
            }
            for (int64_t j = 0; j < count; j++)
                if (own[j] != 0 && own[j] != dropped && at - first <= most) {
                    if (at - first < most) ids[at] = own[j];
                    at++;
                }
        }
        counts[i] = at - first;
        if (size < 0 || at - first > most) {
            counts[i] = -1;
            at = first;
        }
    }
    return at;
}
