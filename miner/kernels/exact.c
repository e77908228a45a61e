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

/* Lanes of a sum of float32: four vectors are added at the same time. */
#define WIDE 32

/* Product of a (d) and b (d) in float32, whose lanes are added by halves. */
static inline float rough(const float *restrict a, const float *restrict b, int64_t d) {
    const int64_t whole = d - d % WIDE;
#if defined(HAS_AVX2)
    static const int32_t first[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                     _mm256_setzero_ps()};
    for (int64_t j = 0; j < whole; j += WIDE)
        for (int k = 0; k < 4; k++)
            sum[k] = _mm256_add_ps(sum[k], _mm256_mul_ps(_mm256_loadu_ps(a + j + 8 * k),
                                                         _mm256_loadu_ps(b + j + 8 * k)));
    for (int k = 0; whole + 8 * k < d; k++) {
        const int64_t at = whole + 8 * k, rest = MIN(8, d - at);
        const __m256i mask = _mm256_loadu_si256((const __m256i *)(first + 8 - rest));
        sum[k] = _mm256_add_ps(sum[k], _mm256_mul_ps(_mm256_maskload_ps(a + at, mask),
                                                     _mm256_maskload_ps(b + at, mask)));
    }
    const __m256 eight =
        _mm256_add_ps(_mm256_add_ps(sum[0], sum[2]), _mm256_add_ps(sum[1], sum[3]));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
#else
    float lane[WIDE] = {0};
    for (int64_t j = 0; j < whole; j += WIDE)
        for (int k = 0; k < WIDE; k++) lane[k] += a[j + k] * b[j + k];
    for (int64_t j = whole; j < d; j++) lane[j - whole] += a[j] * b[j];
    for (int width = WIDE / 2; width; width /= 2)
        for (int k = 0; k < width; k++) lane[k] += lane[k + width];
    return lane[0];
#endif
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
