/* Naive Bayes: see miner/kernels/naive_bayes.py. */

/* Texts that are walked over side by side: a step of the automaton waits for memory. */
#define ABREAST 16

/* Write the feature that each byte completes, or -1, to found (b). */
static void walk(const uint8_t *text, const int64_t *offsets, const uint32_t *move,
                 const uint16_t *row, const int32_t *out, int32_t *found, int64_t n) {
    for (int64_t first = 0; first < n; first += ABREAST) {
        const int64_t width = MIN(ABREAST, n - first), *const own = offsets + first;
        uint32_t state[ABREAST] = {0};
        int64_t longest = 0;
        for (int64_t k = 0; k < width; k++) longest = MAX(longest, own[k + 1] - own[k]);
        for (int64_t step = 0; step < longest; step++)
            for (int64_t k = 0; k < width; k++) {
                const int64_t place = own[k] + step;
                if (place >= own[k + 1]) continue;
                state[k] = move[(int64_t)row[state[k]] * 256 + text[place]];
                found[place] = out[state[k]];
            }
    }
}

void EXPORT(naive_bayes)(const uint8_t *text, const int64_t *offsets, const uint32_t *move,
                         const uint16_t *row, const int32_t *out, const float *table,
                         int32_t *found, int32_t *counts, uint64_t *seen, float *scores, int64_t b,
                         int64_t n, int64_t r, int64_t s, int64_t f, int64_t m, int64_t words) {
    walk(text, offsets, move, row, out, found, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t place = offsets[i]; place < offsets[i + 1]; place++) {
            const int32_t feature = found[place];
            if (feature < 0) continue;
            counts[feature]++;
            seen[feature >> 6] |= (uint64_t)1 << (feature & 63);
        }
        float *restrict total = scores + i * m;
        for (int64_t word = 0; word < words; word++) {
            for (uint64_t mask = seen[word]; mask; mask &= mask - 1) {
                const int64_t feature = 64 * word + __builtin_ctzll(mask);
                const float *restrict own = table + feature * m;
                const float weight = (float)log1p((double)counts[feature]);
                counts[feature] = 0;
                for (int64_t k = 0; k < m; k++) total[k] += weight * own[k];
            }
            seen[word] = 0;
        }
    }
}
