/* Exact cosines and the exact scan: see miner/kernels/exact.py. */

/* Lanes of a sum that may be added in any order, so that every instruction set adds alike. */
#define LANES 16

#define DOT(left, right)                                                                           \
    static float dot_##left##_##right(const TYPE_##left *restrict a, const TYPE_##right *restrict b,\
                                      int64_t d) {                                                 \
        double lane[LANES] = {0};                                                                  \
        int64_t j = 0;                                                                             \
        for (; j + LANES <= d; j += LANES) {                                                       \
            float p[LANES], q[LANES];                                                              \
            widen_##left(a + j, p);                                                                \
            widen_##right(b + j, q);                                                               \
            for (int k = 0; k < LANES; k++) lane[k] += (double)p[k] * (double)q[k];                \
        }                                                                                          \
        for (int k = 0; j < d; j++, k++)                                                           \
            lane[k] += (double)widen_one_##left(a[j]) * (double)widen_one_##right(b[j]);           \
        for (int width = LANES / 2; width; width /= 2)                                             \
            for (int k = 0; k < width; k++) lane[k] += lane[k + width];                            \
        return (float)lane[0];                                                                     \
    }                                                                                              \
    void EXPORT(rescore_##left##_##right)(const TYPE_##left *queries, const TYPE_##right *base,    \
                                          const int64_t *query, const int64_t *rows,               \
                                          int64_t first, int64_t last, float *out, int64_t q,      \
                                          int64_t d, int64_t m, int64_t n, int64_t c) {            \
        for (int64_t i = first; i < last; i++)                                                     \
            for (int64_t j = 0; j < c; j++) {                                                      \
                int64_t row = rows[i * c + j];                                                     \
                out[i * c + j] = row < 0 ? -INFINITY                                               \
                                         : dot_##left##_##right(queries + query[i] * d,            \
                                                                base + row * d, d);                \
            }                                                                                      \
    }

#define TYPE_u2 uint16_t
#define TYPE_f4 float
DOT(u2, u2)
DOT(u2, f4)
DOT(f4, u2)
DOT(f4, f4)

static float rough(const float *restrict a, const float *restrict b, int64_t d) {
    float lane[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= d; j += LANES)
        for (int k = 0; k < LANES; k++) lane[k] += a[j + k] * b[j + k];
    for (int k = 0; j < d; j++, k++) lane[k] += a[j] * b[j];
    for (int width = LANES / 2; width; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
}

/* Queries searched in one pass over the base: their vectors stay in the cache. */
#define TOGETHER 16

void EXPORT(scan)(const float *queries, const float *base, const double *rounding, int64_t start,
                  float *similarity, int64_t *row, int64_t begin, int64_t end, int64_t n, int64_t d,
                  int64_t m, int64_t k) {
    for (int64_t first = begin; first < end; first += TOGETHER)
        for (int64_t b = 0; b < m; b++)
            for (int64_t i = first; i < MIN(end, first + TOGETHER); i++) {
                float *own = similarity + i * k;
                int64_t *place = row + i * k;
                const float *left = queries + i * d, *right = base + b * d;
                if ((double)rough(left, right, d) + rounding[i] <= (double)own[k - 1]) continue;
                float value = dot_f4_f4(left, right, d);
                if (!(value > own[k - 1])) continue;
                int64_t at = k - 1;
                for (; at > 0 && value > own[at - 1]; at--) {
                    own[at] = own[at - 1];
                    place[at] = place[at - 1];
                }
                own[at] = value;
                place[at] = start + b;
            }
}
