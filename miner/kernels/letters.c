/* Names that are spelled in two scripts: see miner/kernels/letters.py. */

/* Latin letters; rows of operations by the next of them, with none, and the end. */
enum { LATIN = 26, NEXT = LATIN + 2 };
/* Letters of a word that is looked for, of an operation, of a text; words of a sentence. */
enum { NAME_SHORTEST = 3, NAME_LONGEST = 20, MOST_LATIN = 5, MOST_TEXT = 600, MOST_WORDS = 12 };

/* Gain of one letter for any other one, or for none, that no operation has; gain below which the
   beginning of a match is given up; none. */
static const float OTHER_LETTER = -5.0f, HOPELESS = -7.0f, NO_GAIN = -1e9f;

struct operations {
    const int32_t *starts;
    const uint16_t *second;
    const uint8_t *latin;
    const float *gain, *inside;
};

/* By letters of the word that are matched: the best gain, and where the match begins. */
struct reached { float gain; int32_t begin; };
struct match { float gain; int64_t start, end; };

static inline void relax(struct reached *to, float gain, int32_t begin) {
    if (gain > to->gain) *to = (struct reached){gain, begin};
}

/* Find the best match of a word (m) in a text (n). */
static struct match best_match(const uint16_t *text, int64_t n, const uint16_t *word, int64_t m,
                               const struct operations *all) {
    struct reached rows[3][NAME_LONGEST + 1];
    for (int row = 0; row < 3; row++)
        for (int64_t i = 0; i <= m; i++) rows[row][i] = (struct reached){NO_GAIN, 0};
    struct match best = {NO_GAIN, 0, 0};
    for (int64_t j = 0; j <= n; j++) {
        struct reached *own = rows[j % 3], *one = rows[(j + 1) % 3], *two = rows[(j + 2) % 3];
        const int fresh = j == 0 || j == n || text[j - 1] == 0;
        relax(own, fresh ? 0.0f : all->inside[text[j]], (int32_t)j);
        const uint16_t code = j < n ? text[j] : 0;
        const int32_t *starts = all->starts + (int64_t)code * NEXT;
        for (int64_t i = 0; i <= m; i++) {
            const float value = own[i].gain;
            if (value < HOPELESS) continue;
            const int32_t begin = own[i].begin;
            if (i < m) {
                const int32_t *alone = all->starts + word[i];
                relax(own + i + 1,
                      value + (alone[1] > alone[0] ? all->gain[alone[0]] : OTHER_LETTER), begin);
            }
            if (j == n) continue;
            float left_out = OTHER_LETTER, replaced = OTHER_LETTER;
            /* Operations without a Latin letter, then those with the next one. */
            for (int side = 0; side < 2 && code > 0; side++) {
                if (side ? i == m : i == 0) continue;
                const int32_t *range = starts + (side ? word[i] : 0);
                for (int32_t o = range[0]; o < range[1]; o++) {
                    const uint16_t second = all->second[o];
                    if (second > 0 && (j + 1 >= n || text[j + 1] != second)) continue;
                    const uint8_t *latin = all->latin + (int64_t)o * MOST_LATIN;
                    int64_t size = 0;
                    while (size < MOST_LATIN && latin[size] > 0 && i + size < m &&
                           latin[size] == word[i + size])
                        size++;
                    if (size < MOST_LATIN && latin[size] > 0) continue;
                    if (second > 0)
                        relax(two + i + size, value + all->gain[o], begin);
                    else if (size == 0)
                        left_out = all->gain[o];
                    else if (size == 1)
                        replaced = all->gain[o];
                    else
                        relax(one + i + size, value + all->gain[o], begin);
                }
            }
            if (i > 0) relax(one + i, value + left_out, begin);
            if (i < m) relax(one + i + 1, value + replaced, begin);
        }
        if (own[m].gain > best.gain) best = (struct match){own[m].gain, own[m].begin, j};
        for (int64_t i = 0; i <= m; i++) own[i].gain = NO_GAIN;
    }
    return best;
}

void EXPORT(find_names)(const uint16_t *texts, const int64_t *text_offsets, const uint16_t *words,
                        const int64_t *word_offsets, const int64_t *text_row, const int32_t *starts,
                        const uint16_t *second, const uint8_t *latin, const float *gain,
                        const float *inside, int64_t first, int64_t last, float *out, int64_t t,
                        int64_t n, int64_t w, int64_t m, int64_t c, int64_t o) {
    const struct operations all = {starts, second, latin, gain, inside};
    for (int64_t i = first; i < last; i++) {
        const int64_t from = text_offsets[text_row[i]], to = text_offsets[text_row[i] + 1];
        const struct match best =
            best_match(texts + from, to - from, words + word_offsets[i],
                       word_offsets[i + 1] - word_offsets[i], &all);
        out[3 * i] = best.gain;
        out[3 * i + 1] = (float)best.start;
        out[3 * i + 2] = (float)best.end;
    }
}

/* Return the 32-bit FNV-1a hash of a word's letters. */
static uint32_t hash_word(const uint16_t *word, int64_t size) {
    uint32_t value = 2166136261u;
    for (int64_t i = 0; i < size; i++) value = (value ^ word[i]) * 16777619u;
    return value;
}

void EXPORT(hash_words)(const uint16_t *letters, const int64_t *offsets, uint32_t *out, int64_t t,
                        int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = hash_word(letters + offsets[i], offsets[i + 1] - offsets[i]);
}

static int listed(uint32_t value, const uint32_t *words, int64_t count) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (words[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && words[low] == value;
}

/* Write the letters of a sentence, with one 0 between words; return their number. */
static int64_t spell(const int32_t *ids, int64_t first, int64_t last, const uint16_t *spelling,
                     const int64_t *offsets, uint16_t *text) {
    int64_t n = 0;
    for (int64_t t = first; t < last; t++)
        for (int64_t place = offsets[ids[t]]; place < offsets[ids[t] + 1]; place++)
            if (n < MOST_TEXT && (spelling[place] > 0 || (n > 0 && text[n - 1] > 0)))
                text[n++] = spelling[place];
    return n;
}

/* Return the log-odds that a word of m letters with this match is in a text of n. */
static double logit(float best, int64_t n, int64_t m, const float *weights) {
    const float high = MAX(best, 0.0f);
    const float value =
        weights[0] + weights[1] * MAX(best, HOPELESS) + weights[2] * logf((float)(n + 1));
    return (double)value + (double)weights[3] * (double)m +
           (double)(weights[4] * high * high / 10.0f);
}

void EXPORT(share_names)(const int32_t *foreign, const int64_t *foreign_offsets,
                         const int32_t *other, const int64_t *other_offsets,
                         const int64_t *foreign_row, const int64_t *other_row,
                         const uint16_t *spelling, const int64_t *offsets, const int32_t *starts,
                         const uint16_t *second, const uint8_t *latin, const float *gain,
                         const float *inside, const uint32_t *ordinary, const float *weights,
                         int64_t begin, int64_t end, float *out, int64_t f, int64_t n, int64_t l,
                         int64_t m, int64_t pairs, int64_t t, int64_t v, int64_t c, int64_t o,
                         int64_t w) {
    const struct operations all = {starts, second, latin, gain, inside};
    uint16_t text[MOST_TEXT], words[MOST_TEXT + 1];
    for (int64_t pair = begin; pair < end; pair++) {
        const int64_t i = foreign_row[pair], j = other_row[pair];
        const int64_t size =
            spell(foreign, foreign_offsets[i], foreign_offsets[i + 1], spelling, offsets, text);
        const int64_t letters =
            spell(other, other_offsets[j], other_offsets[j + 1], spelling, offsets, words);
        words[letters] = 0;
        int64_t first = 0, names = 0;
        double found = 0.0;
        for (int64_t place = 0; place <= letters; place++) {
            if (words[place] > 0 || names == MOST_WORDS) continue;
            const uint16_t *word = words + first;
            const int64_t length = place - first;
            first = place + 1;
            if (length < NAME_SHORTEST || length > NAME_LONGEST) continue;
            uint16_t largest = 0;
            for (int64_t k = 0; k < length; k++) largest = MAX(largest, word[k]);
            if (largest > LATIN || listed(hash_word(word, length), ordinary, w)) continue;
            const float best = best_match(text, size, word, length, &all).gain;
            names++;
            found += 1.0 / (1.0 + exp(-logit(best, size, length, weights)));
        }
        out[pair] = (float)(found / (double)(names + 1));
    }
}
