/* Sorting of int32 and of int64, ascending, by merges of runs: never slower than n log n. */

/* Runs that are sorted by insertion. */
#define RUN 16

/* Sort values (n), with scratch (n). */
#define SORT(kind, number)                                                                         \
    static void sort_##kind(number *values, number *scratch, int64_t n) {                          \
        for (int64_t start = 0; start < n; start += RUN)                                           \
            for (int64_t i = start + 1; i < MIN(n, start + RUN); i++) {                            \
                const number value = values[i];                                                    \
                int64_t at = i;                                                                    \
                for (; at > start && values[at - 1] > value; at--) values[at] = values[at - 1];    \
                values[at] = value;                                                                \
            }                                                                                      \
        number *from = values, *to = scratch;                                                      \
        for (int64_t width = RUN; width < n; width *= 2) {                                         \
            for (int64_t start = 0; start < n; start += 2 * width) {                               \
                const int64_t middle = MIN(n, start + width), end = MIN(n, start + 2 * width);     \
                int64_t i = start, j = middle;                                                     \
                for (int64_t k = start; k < end; k++)                                              \
                    to[k] = j >= end || (i < middle && from[i] <= from[j]) ? from[i++] : from[j++];\
            }                                                                                      \
            number *const sorted = to;                                                             \
            to = from;                                                                             \
            from = sorted;                                                                         \
        }                                                                                          \
        if (from != values) memcpy(values, from, (size_t)n * sizeof(number));                      \
    }

SORT(i4, int32_t)
SORT(i8, int64_t)
