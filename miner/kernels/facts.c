/* Facts of pairs of sentences: see miner/kernels/facts.py. */

/* Length of a word, in bytes; classes of facts; numbers of two digits. */
enum { FACT_WORD = 32, FACT_CLASSES = 512, FACT_NUMBERS = 100 };
/* Marks of a class in a sentence: absent, present, present as digits that the other side has, absent
   with a word that excuses it, absent although the other side has it in digits. */
enum { FACT_ABSENT, FACT_PRESENT, FACT_SHARED, FACT_EXCUSED, FACT_WANTED };
/* Logit of a wanted class, at least. */
static const float WANTED_LOGIT = 1.0f;
/* Tests of a class: it may be too much, it may be missing. */
enum { FACT_ADDED = 1, FACT_MISSING = 2 };

static inline int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static inline int in_word(uint8_t byte) {
    return byte >= 0x80 || is_digit(byte) || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* Read the next word from *at, in lower case, without apostrophes at its ends; return its length.
   A number has its decimals. Words that are too long have the length 0. */
static int64_t next_word(const uint8_t *text, int64_t end, int64_t *at, uint8_t *word) {
    int64_t place = *at, size = 0;
    while (place < end && !in_word(text[place])) place++;
    while (place < end && (in_word(text[place]) || text[place] == '\'' ||
                           ((text[place] == '.' || text[place] == ',') && size > 0 &&
                            place + 1 < end && is_digit(text[place - 1]) &&
                            is_digit(text[place + 1])))) {
        uint8_t byte = text[place++];
        if (byte == 0xE2 && place + 1 < end && text[place] == 0x80 && text[place + 1] >= 0x80) {
            /* General punctuation; U+2019 is an apostrophe. */
            const uint8_t last = text[place + 1];
            place += 2;
            if (last != 0x99) {
                if (size > 0) break;
                continue;
            }
            byte = '\'';
        } else if (byte >= 'A' && byte <= 'Z') {
            byte |= 32;
        }
        if (size == 0 && byte == '\'') continue;
        if (size < FACT_WORD) word[size] = byte;
        size++;
    }
    *at = place;
    while (size > 0 && size <= FACT_WORD && word[size - 1] == '\'') size--;
    return size <= FACT_WORD ? size : 0;
}

static uint64_t hash_fact_word(const uint8_t *word, int64_t size) {
    uint64_t value = 14695981039346656037u;
    for (int64_t i = 0; i < size; i++) value = (value ^ word[i]) * 1099511628211u;
    return value;
}

static int64_t find_fact_word(uint64_t value, const uint64_t *words, int64_t count) {
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (words[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && words[low] == value ? low : -1;
}

/* Mark the words of a number below 1000: eight, twenty and three of 823. */
static void mark_parts(int64_t value, uint8_t found[FACT_NUMBERS]) {
    const int64_t rest = value % 100;
    if (value >= 100) found[value / 100] = 1;
    if (rest > 0) found[rest] = 1;
    if (rest >= 20) found[rest / 10 * 10] = found[rest % 10] = 1;
}

/* Numbers of a text: [0] those of one or two digits, [1] their parts, as twenty and three, [2] also
   parts of those of three digits, and 0 for such a one. */
static void small_numbers(const uint8_t *text, int64_t size, uint8_t found[3][FACT_NUMBERS]) {
    memset(found, 0, 3 * FACT_NUMBERS);
    for (int64_t i = 0; i < size; i++) {
        const int64_t first = i;
        int64_t value = 0;
        for (; i < size && is_digit(text[i]); i++)
            if (i - first < 3) value = 10 * value + text[i] - '0';
        const int64_t digits = i - first;
        if (digits == 1 || digits == 2) {
            found[0][value] = found[1][value] = 1;
            mark_parts(value, found[1]);
        } else if (digits == 3) {
            mark_parts(value, found[2]);
            found[2][0] = 1;
        }
    }
    for (int64_t i = 1; i < FACT_NUMBERS; i++) found[2][i] |= found[1][i];
}

void EXPORT(read_facts)(const uint8_t *text, const int64_t *offsets, const uint8_t *other,
                        const int64_t *other_offsets, const uint64_t *words, const int32_t *starts,
                        const int32_t *classes, const int32_t *numbers, const int32_t *again,
                        const int32_t *parts, uint8_t *seen, int64_t b, int64_t n, int64_t c, int64_t w, int64_t l,
                        int64_t k) {
    uint8_t word[FACT_WORD], here[3][FACT_NUMBERS], there[3][FACT_NUMBERS];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = offsets[i];
        uint8_t *own = seen + i * k;
        small_numbers(text + at, offsets[i + 1] - at, here);
        small_numbers(other + other_offsets[i], other_offsets[i + 1] - other_offsets[i], there);
        while (at < offsets[i + 1]) {
            const int64_t size = next_word(text, offsets[i + 1], &at, word);
            if (size == 0) continue;
            const int64_t found = find_fact_word(hash_fact_word(word, size), words, w);
            if (found < 0) continue;
            const int shared = numbers[found] >= 0 && there[numbers[found] >= FACT_NUMBERS ? 2 : 0]
                                                           [numbers[found] % FACT_NUMBERS];
            for (int32_t place = starts[found]; place < starts[found + 1]; place++) {
                int32_t class = classes[place];
                if (class < 0) { /* an excuse */
                    class = ~class;
                    if (own[class] == FACT_ABSENT) own[class] = FACT_EXCUSED;
                    continue;
                }
                if (own[class] == FACT_PRESENT && again[class] >= 0) class = again[class];
                if (shared)
                    own[class] = FACT_SHARED;
                else if (own[class] != FACT_SHARED)
                    own[class] = FACT_PRESENT;
            }
        }
        for (int64_t class = 0; class < k; class++)
            if (parts[class] > 0 && own[class] == FACT_ABSENT && there[1][parts[class]] &&
                !here[1][parts[class]])
                own[class] = FACT_WANTED;
    }
}

/* Return the bucket of a token after another one, or of a token alone (before < 0). */
static inline uint32_t fact_bucket(int32_t before, int32_t token, uint32_t mask) {
    uint32_t value = (uint32_t)token * 0x9E3779B1u ^ (uint32_t)(before + 1) * 0x85EBCA77u;
    value = (value ^ value >> 15) * 0x2C1B3C6Du;
    value = (value ^ value >> 12) * 0x297A2D39u;
    return (value ^ value >> 15) & mask;
}

void EXPORT(list_fact_features)(const int32_t *ids, const int64_t *offsets, int64_t bits,
                                int32_t *buckets, int64_t t, int64_t n) {
    const uint32_t mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t place = offsets[i]; place < offsets[i + 1]; place++) {
            const int32_t before = place > offsets[i] ? ids[place - 1] : INT32_MAX - 1;
            buckets[2 * place] = (int32_t)fact_bucket(-1, ids[place], mask);
            buckets[2 * place + 1] = (int32_t)fact_bucket(before, ids[place], mask);
        }
}

/* Count how often each feature and class occur together, by rows of features, -1 for none. */
int64_t EXPORT(count_facts)(const int32_t *rows, const int64_t *offsets, const uint8_t *seen,
                            int32_t *counts, int64_t t, int64_t n, int64_t k, int64_t f) {
    int64_t *stamp = calloc((size_t)f, sizeof(int64_t));
    if (stamp == NULL) return 1;
    for (int64_t i = 0; i < n; i++) {
        int32_t present[FACT_CLASSES];
        int64_t count = 0;
        for (int64_t c = 0; c < k; c++)
            if (seen[i * k + c] == FACT_PRESENT) present[count++] = (int32_t)c;
        for (int64_t place = 2 * offsets[i]; place < 2 * offsets[i + 1]; place++) {
            const int32_t row = rows[place];
            if (row < 0 || stamp[row] == i + 1) continue;
            stamp[row] = i + 1;
            for (int64_t c = 0; c < count; c++) counts[row * k + present[c]]++;
        }
    }
    free(stamp);
    return 0;
}

/* One pass of FTRL-Proximal (McMahan et al. 2013) over pairs in an order. */
int64_t EXPORT(learn_facts)(const int32_t *rows, const int64_t *offsets, const uint8_t *seen,
                            const int64_t *order, const int32_t *starts, const int32_t *classes,
                            double rate, double sparse, double decay, float *weights, float *bias,
                            float *sums, float *squares, int64_t t, int64_t n, int64_t k, int64_t m,
                            int64_t f, int64_t l) {
    const float alpha = (float)rate, l1 = (float)sparse, l2 = (float)decay;
    int64_t *stamp = calloc((size_t)f, sizeof(int64_t));
    if (stamp == NULL) return 1;
    for (int64_t step = 0; step < m; step++) {
        const int64_t i = order[step];
        float gradient[FACT_CLASSES];
        for (int64_t c = 0; c < k; c++) gradient[c] = bias[c];
        for (int64_t place = 2 * offsets[i]; place < 2 * offsets[i + 1]; place++) {
            const int32_t row = rows[place];
            if (row < 0 || stamp[row] == step + 1) continue;
            stamp[row] = step + 1;
            for (int32_t at = starts[row]; at < starts[row + 1]; at++)
                gradient[classes[at]] += weights[at];
        }
        const uint8_t *marks = seen + i * k;
        for (int64_t c = 0; c < k; c++) {
            const float p = 1.0f / (1.0f + expf(-gradient[c]));
            gradient[c] = marks[c] >= FACT_SHARED ? 0.0f : p - (float)(marks[c] == FACT_PRESENT);
            bias[c] -= gradient[c] * alpha / sqrtf((float)(step + 100));
        }
        for (int64_t place = 2 * offsets[i]; place < 2 * offsets[i + 1]; place++) {
            const int32_t row = rows[place];
            if (row < 0 || stamp[row] != step + 1) continue;
            stamp[row] = 0;
            for (int32_t at = starts[row]; at < starts[row + 1]; at++) {
                const float g = gradient[classes[at]], before = squares[at], after = before + g * g;
                const float root = sqrtf(after), sigma = (root - sqrtf(before)) / alpha;
                const float sum = sums[at] + g - sigma * weights[at];
                sums[at] = sum;
                squares[at] = after;
                weights[at] = fabsf(sum) <= l1 ? 0.0f
                                               : -(sum - (sum < 0 ? -l1 : l1)) /
                                                     ((1.0f + root) / alpha + l2);
            }
        }
    }
    free(stamp);
    return 0;
}

/* Write the logits of all classes of one sentence. */
static void add_logits(const int32_t *ids, int64_t first, int64_t last, uint32_t mask,
                        const int32_t *slots, const int32_t *places, uint32_t around,
                        const int32_t *starts, const int32_t *classes, const float *weights,
                        int64_t *stamp, int64_t mark, float *logit) {
    for (int64_t place = first; place < last; place++)
        for (int pair = 0; pair < 2; pair++) {
            const int32_t before =
                !pair ? -1 : place > first ? ids[place - 1] : INT32_MAX - 1;
            const int32_t bucket = (int32_t)fact_bucket(before, ids[place], mask);
            uint32_t slot = (uint32_t)bucket & around;
            while (slots[slot] >= 0 && slots[slot] != bucket) slot = (slot + 1) & around;
            if (slots[slot] < 0) continue;
            const int32_t row = places[slot];
            if (stamp[row] == mark) continue;
            stamp[row] = mark;
            for (int32_t at = starts[row]; at < starts[row + 1]; at++)
                logit[classes[at]] += weights[at];
        }
}

int64_t EXPORT(fact_logits)(const int32_t *ids, const int64_t *offsets, int64_t bits,
                            const int32_t *slots, const int32_t *places, const int32_t *starts,
                            const int32_t *classes, const float *weights, const float *bias,
                            float *logits, int64_t t, int64_t n, int64_t s, int64_t f, int64_t l,
                            int64_t k) {
    int64_t *stamp = calloc((size_t)f + 1, sizeof(int64_t));
    if (stamp == NULL) return 1;
    for (int64_t i = 0; i < n; i++) {
        memcpy(logits + i * k, bias, (size_t)k * sizeof(float));
        add_logits(ids, offsets[i], offsets[i + 1], (1u << bits) - 1, slots, places,
                   (uint32_t)s - 1, starts, classes, weights, stamp, i + 1, logits + i * k);
    }
    free(stamp);
    return 0;
}

/* Evidence against a pair, by kind of fact: the largest advantage of an absent class over a present
   one that excludes it, the least logit of a present class (negated), the largest of an absent. */
void EXPORT(fact_evidence)(const float *logits, const uint8_t *seen, const int32_t *kinds,
                           const uint8_t *tested, const int32_t *starts, const int32_t *others,
                           float *out, int64_t n, int64_t k, int64_t g, int64_t e) {
    for (int64_t i = 0; i < n; i++) {
        const float *logit = logits + i * k;
        const uint8_t *marks = seen + i * k;
        float *own = out + i * e;
        for (int64_t c = 0; c < k; c++) {
            float *kind = own + 3 * kinds[c];
            if (marks[c] == FACT_PRESENT && (tested[c] & FACT_ADDED)) {
                kind[1] = MAX(kind[1], -logit[c]);
                for (int32_t at = starts[c]; at < starts[c + 1]; at++) {
                    const int32_t other = others[at];
                    const float known =
                        marks[other] == FACT_WANTED ? MAX(logit[other], WANTED_LOGIT) : logit[other];
                    if ((marks[other] == FACT_ABSENT || marks[other] == FACT_WANTED) &&
                        (tested[other] & FACT_MISSING))
                        kind[0] = MAX(kind[0], known - logit[c]);
                }
            }
            if (marks[c] == FACT_ABSENT && (tested[c] & FACT_MISSING))
                kind[2] = MAX(kind[2], logit[c]);
        }
    }
}
