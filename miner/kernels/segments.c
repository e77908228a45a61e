/* Joint segments of two spellings: see miner/kernels/segments.py. */

/* Bits of a letter in a segment's key, and most Latin letters. */
enum { FOREIGN_BITS = 14, LATIN_BITS = 5, LATIN_LETTERS = 5 };

/* Pack a segment of a foreign and b Latin letters, the first ones in the low bits. */
static int64_t segment_key(const int64_t *foreign, int64_t a, const int64_t *latin, int64_t b) {
    int64_t key = 0;
    while (a-- > 0) key = key << FOREIGN_BITS | foreign[a];
    for (int64_t k = LATIN_LETTERS - 1; k >= 0; k--)
        key = key << LATIN_BITS | (k < b ? latin[k] : 0);
    return key;
}

int64_t EXPORT(list_segments)(const int64_t *foreign, const int64_t *foreign_offsets,
                              const int64_t *latin, const int64_t *latin_offsets,
                              const int64_t *shapes, int64_t *keys, double *near, int64_t f,
                              int64_t pairs, int64_t l, int64_t s, int64_t room) {
    int64_t count = 0;
    for (int64_t pair = 0; pair < pairs; pair++) {
        const int64_t *own = foreign + foreign_offsets[pair], *other = latin + latin_offsets[pair];
        const int64_t n = foreign_offsets[pair + 1] - foreign_offsets[pair];
        const int64_t m = latin_offsets[pair + 1] - latin_offsets[pair];
        for (int64_t j = 0; j <= n; j++)
            for (int64_t i = 0; i <= m; i++)
                for (int64_t k = 0; k < s; k++) {
                    const int64_t a = shapes[2 * k], b = shapes[2 * k + 1];
                    if (j + a > n || i + b > m) continue;
                    if (room > 0) {
                        keys[count] = segment_key(own + j, a, other + i, b);
                        const double off =
                            ((double)j + (double)a / 2.0) / (double)MAX(n, 1) -
                            ((double)i + (double)b / 2.0) / (double)MAX(m, 1);
                        near[count] = exp(-8.0 * fabs(off));
                    }
                    count++;
                }
    }
    return count;
}

int64_t EXPORT(expect_segments)(const int64_t *foreign_offsets, const int64_t *latin_offsets,
                                const int64_t *shapes, const int64_t *ids,
                                const double *probability, const double *noise, double prior,
                                double *counts, double *posterior, int64_t pairs, int64_t s,
                                int64_t t, int64_t u) {
    int64_t first = 0, most = 1;
    for (int64_t pair = 0; pair < pairs; pair++)
        most = MAX(most, (foreign_offsets[pair + 1] - foreign_offsets[pair] + 1) *
                             (latin_offsets[pair + 1] - latin_offsets[pair] + 1));
    double *before = malloc((size_t)most * 2 * sizeof(double)), *after = before + most;
    if (before == NULL) return 1;
    for (int64_t pair = 0; pair < pairs; pair++) {
        const int64_t n = foreign_offsets[pair + 1] - foreign_offsets[pair];
        const int64_t m = latin_offsets[pair + 1] - latin_offsets[pair], width = m + 1;
        memset(before, 0, (size_t)((n + 1) * width) * sizeof(double));
        memset(after, 0, (size_t)((n + 1) * width) * sizeof(double));
        before[0] = after[n * width + m] = 1.0;
        int64_t at = first;
        for (int64_t j = 0; j <= n; j++)
            for (int64_t i = 0; i <= m; i++)
                for (int64_t k = 0; k < s; k++) {
                    const int64_t a = shapes[2 * k], b = shapes[2 * k + 1];
                    if (j + a > n || i + b > m) continue;
                    before[(j + a) * width + i + b] +=
                        before[j * width + i] * probability[ids[at++]];
                }
        first = at;
        const double likely = before[n * width + m];
        const double both = prior * likely + (1.0 - prior) * noise[pair];
        posterior[pair] = both > 0.0 ? prior * likely / both : 0.0;
        if (!(posterior[pair] > 1e-6)) continue;
        for (int64_t j = n; j >= 0; j--)
            for (int64_t i = m; i >= 0; i--)
                for (int64_t k = s - 1; k >= 0; k--) {
                    const int64_t a = shapes[2 * k], b = shapes[2 * k + 1];
                    if (j + a > n || i + b > m) continue;
                    const int64_t id = ids[--at];
                    const double part = probability[id] * after[(j + a) * width + i + b];
                    after[j * width + i] += part;
                    counts[id] += posterior[pair] * before[j * width + i] * part / likely;
                }
    }
    free(before);
    return 0;
}
