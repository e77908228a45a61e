/* Averaging encoder: see miner/kernels/pool.py. */

/* Normalise row (d) in place; squares (d) is scratch. Squares are added by folding the upper half
   onto the lower, an order that vector instructions and a GPU can follow to the same bits. */
static void normalise(float *restrict row, double *restrict squares, int64_t d) {
    for (int64_t j = 0; j < d; j++) squares[j] = (double)row[j] * (double)row[j];
    for (int64_t width = d; width > 1;) {
        int64_t half = (width + 1) / 2;
        for (int64_t j = 0; j < width - half; j++) squares[j] += squares[half + j];
        width = half;
    }
    if (d > 0 && squares[0] > 0.0) {
        float inverse = (float)(1.0 / sqrt(squares[0]));
        for (int64_t j = 0; j < d; j++) row[j] *= inverse;
    }
}

void EXPORT(normalise_rows)(float *rows, double *squares, int64_t n, int64_t d) {
    for (int64_t i = 0; i < n; i++) normalise(rows + i * d, squares, d);
}

/* Sums of table rows, for tables of int8 and of float32. Four rows a step, added in their order: the
   sum is loaded and stored a quarter as often, and the rows are fetched at the same time. */
#define SUM(kind, number)                                                                          \
    static void sum_##kind(const number *restrict table, const float *restrict scales,             \
                           const int32_t *restrict ids, int64_t count, float *restrict row,        \
                           int64_t d) {                                                            \
        memset(row, 0, (size_t)d * sizeof(float));                                                 \
        int64_t i = 0;                                                                             \
        for (; i + 4 <= count; i += 4) {                                                           \
            const number *p = table + ids[i] * d, *q = table + ids[i + 1] * d;                     \
            const number *r = table + ids[i + 2] * d, *s = table + ids[i + 3] * d;                 \
            float a = scales[ids[i]], b = scales[ids[i + 1]];                                      \
            float c = scales[ids[i + 2]], e = scales[ids[i + 3]];                                  \
            for (int64_t j = 0; j < d; j++) {                                                      \
                float total = row[j] + (float)p[j] * a;                                            \
                total += (float)q[j] * b;                                                          \
                total += (float)r[j] * c;                                                          \
                row[j] = total + (float)s[j] * e;                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; i < count; i++) {                                                                   \
            const number *p = table + ids[i] * d;                                                  \
            float a = scales[ids[i]];                                                              \
            for (int64_t j = 0; j < d; j++) row[j] += (float)p[j] * a;                             \
        }                                                                                          \
    }

SUM(i1, int8_t)
SUM(f4, float)

/* The number in the lower and in the upper half of a byte. */
static inline float low(int8_t byte) { return (float)((int32_t)((uint32_t)byte << 28) >> 28); }
static inline float high(int8_t byte) { return (float)(byte >> 4); }

/* Sums of rows of d numbers of 4 bits: byte j has the numbers j and d / 2 + j. */
static void sum_u1(const uint8_t *restrict table, const float *restrict scales,
                   const int32_t *restrict ids, int64_t count, float *restrict row, int64_t d) {
    int64_t half = d / 2, i = 0;
    float *restrict upper = row + half;
    memset(row, 0, (size_t)d * sizeof(float));
    for (; i + 4 <= count; i += 4) {
        const int8_t *p = (const int8_t *)table + ids[i] * half;
        const int8_t *q = (const int8_t *)table + ids[i + 1] * half;
        const int8_t *r = (const int8_t *)table + ids[i + 2] * half;
        const int8_t *s = (const int8_t *)table + ids[i + 3] * half;
        float a = scales[ids[i]], b = scales[ids[i + 1]];
        float c = scales[ids[i + 2]], e = scales[ids[i + 3]];
        for (int64_t j = 0; j < half; j++) {
            float total = row[j] + low(p[j]) * a, other = upper[j] + high(p[j]) * a;
            total += low(q[j]) * b;
            other += high(q[j]) * b;
            total += low(r[j]) * c;
            other += high(r[j]) * c;
            row[j] = total + low(s[j]) * e;
            upper[j] = other + high(s[j]) * e;
        }
    }
    for (; i < count; i++) {
        const int8_t *p = (const int8_t *)table + ids[i] * half;
        float a = scales[ids[i]];
        for (int64_t j = 0; j < half; j++) {
            row[j] += low(p[j]) * a;
            upper[j] += high(p[j]) * a;
        }
    }
}

/* The exported functions of a kind of table; w is the length of its rows. */
#define POOL(kind, number)                                                                         \
    void EXPORT(mean_pool_##kind)(const number *table, const float *scales, const int32_t *ids,    \
                                  const int64_t *offsets, double *squares, float *out, int64_t V,  \
                                  int64_t w, int64_t t, int64_t n, int64_t d) {                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            sum_##kind(table, scales, ids + offsets[i], offsets[i + 1] - offsets[i], out + i * d,  \
                       d);                                                                         \
            normalise(out + i * d, squares, d);                                                    \
        }                                                                                          \
    }                                                                                              \
    void EXPORT(mean_pool_half_##kind)(const number *table, const float *scales,                   \
                                       const int32_t *ids, const int64_t *offsets,                 \
                                       double *squares, float *row, uint16_t *out, int64_t V,      \
                                       int64_t w, int64_t t, int64_t n, int64_t d) {               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            sum_##kind(table, scales, ids + offsets[i], offsets[i + 1] - offsets[i], row, d);      \
            normalise(row, squares, d);                                                            \
            for (int64_t j = 0; j < d; j++) out[i * d + j] = narrow(row[j]);                       \
        }                                                                                          \
    }                                                                                              \
    void EXPORT(mean_rows_##kind)(const number *table, const float *scales, const int32_t *ids,    \
                                  const int64_t *offsets, float *out, int64_t V, int64_t w,        \
                                  int64_t t, int64_t n, int64_t d) {                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            int64_t count = offsets[i + 1] - offsets[i];                                           \
            sum_##kind(table, scales, ids + offsets[i], count, out + i * d, d);                    \
            if (count > 1) {                                                                       \
                float inverse = (float)(1.0 / (double)count);                                      \
                for (int64_t j = 0; j < d; j++) out[i * d + j] *= inverse;                         \
            }                                                                                      \
        }                                                                                          \
    }

POOL(i1, int8_t)
POOL(f4, float)
POOL(u1, uint8_t)

void EXPORT(to_half)(const float *values, uint16_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = narrow(values[i]);
}
