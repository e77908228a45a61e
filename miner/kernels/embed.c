/* Training of an averaging encoder: see miner/kernels/embed.py. */

/* Numbers of an embedding that are handled at a time, and random blocks of four for them. */
#define PART 64
#define BLOCKS (PART / 4)
/* Numbers of an embedding that take a step of Adam at a time. */
#define COLUMNS_OF_ADAM 512

/* Write to parts the 16 random bits of each of PART numbers of a token, from number j on, by
   SplitMix64. A block is the 64 bits of four numbers, and tokens have as many blocks. */
static inline void draw(uint64_t seed, int64_t token, int64_t d, int64_t j,
                        uint16_t parts[restrict PART]) {
    const uint64_t first = (uint64_t)token * (uint64_t)((d + 3) / 4) + (uint64_t)j / 4;
    uint64_t blocks[BLOCKS];
    for (uint64_t k = 0; k < BLOCKS; k++) {
        uint64_t x = seed + (first + k + 1) * 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        blocks[k] = x ^ x >> 31;
    }
    memcpy(parts, blocks, sizeof(blocks)); /* every processor here has the low bits first */
}

/* What keeps the mean of numbers of which a share is dropped, over count. */
static float what_keeps(int64_t count, int64_t cut) {
    return (float)(1.0 / ((double)count * (1.0 - (double)cut / 65536.0)));
}

void EXPORT(dropout_mask)(int64_t lane, int64_t lanes, const int64_t *places, int64_t seed,
                          int64_t cut, float *out, int64_t t, int64_t d) {
    uint16_t parts[PART];
    const uint32_t limit = (uint32_t)cut;
    const float scale = what_keeps(1, cut);
    for (int64_t i = lane; i < t; i += lanes)
        for (int64_t j = 0; j < d; j += PART) {
            draw((uint64_t)seed, places[i], d, j, parts);
            for (int64_t k = 0; k < MIN(PART, d - j); k++)
                out[i * d + j + k] = parts[k] >= limit ? scale : 0.0f;
        }
}

void EXPORT(mean_dropped)(int64_t lane, int64_t lanes, const float *table, const int32_t *ids,
                          const int64_t *offsets, int64_t seed, int64_t cut, float *out, int64_t V,
                          int64_t d, int64_t t, int64_t n) {
    uint16_t parts[PART];
    const uint32_t limit = (uint32_t)cut;
    for (int64_t i = lane; i < n; i += lanes) {
        float *row = out + i * d;
        const int64_t count = offsets[i + 1] - offsets[i];
        memset(row, 0, (size_t)d * sizeof(float));
        for (int64_t p = offsets[i]; p < offsets[i + 1]; p++) {
            const float *source = table + ids[p] * d;
            for (int64_t j = 0; j < d; j += PART) {
                draw((uint64_t)seed, p, d, j, parts);
                for (int64_t k = 0; k < MIN(PART, d - j); k++)
                    row[j + k] += parts[k] >= limit ? source[j + k] : 0.0f;
            }
        }
        const float inverse = count > 0 ? what_keeps(count, cut) : 0.0f;
        for (int64_t j = 0; j < d; j++) row[j] *= inverse;
    }
}

void EXPORT(spread_dropped)(int64_t lane, int64_t lanes, const float *gradient,
                            const int64_t *offsets, int64_t seed, int64_t cut, float *out,
                            int64_t n, int64_t d, int64_t t) {
    uint16_t parts[PART];
    const uint32_t limit = (uint32_t)cut;
    for (int64_t i = lane; i < n; i += lanes) {
        const float inverse = what_keeps(MAX(1, offsets[i + 1] - offsets[i]), cut);
        for (int64_t p = offsets[i]; p < offsets[i + 1]; p++)
            for (int64_t j = 0; j < d; j += PART) {
                const float *own = gradient + i * d + j;
                draw((uint64_t)seed, p, d, j, parts);
                for (int64_t k = 0; k < MIN(PART, d - j); k++)
                    out[p * d + j + k] = parts[k] >= limit ? own[k] * inverse : 0.0f;
            }
    }
}

/* Add share times source (n) to total (n). Inlined, GCC would join two calls, and use no vectors. */
static __attribute__((noinline)) void add(const float *restrict source, float share,
                                          float *restrict total, int64_t n) {
    for (int64_t k = 0; k < n; k++) total[k] += share * source[k];
}

void EXPORT(sparse_adam)(int64_t lane, int64_t lanes, float *restrict table, float *restrict first,
                         float *restrict second, const float *gradient, const int64_t *offsets,
                         const int32_t *rows, const int64_t *starts, const int32_t *sentences,
                         double size, double beta1, double beta2, double eps,
                         const float *restrict start, double pull, int64_t V, int64_t d, int64_t n,
                         int64_t u, int64_t t, int64_t s, int64_t w) {
    const float step = (float)size, small = (float)eps, twice = (float)(2.0 * pull);
    const float decay1 = (float)beta1, decay2 = (float)beta2;
    const float gain1 = (float)(1.0 - beta1), gain2 = (float)(1.0 - beta2);
    float total[COLUMNS_OF_ADAM];
    for (int64_t r = lane; r < u; r += lanes)
        for (int64_t j = 0; j < d; j += COLUMNS_OF_ADAM) {
            const int64_t at = rows[r] * d + j, width = MIN(COLUMNS_OF_ADAM, d - j);
            memset(total, 0, (size_t)width * sizeof(float));
            for (int64_t p = starts[r]; p < starts[r + 1]; p++) {
                const int64_t i = sentences[p];
                const float share = (float)(1.0 / (double)(offsets[i + 1] - offsets[i]));
                add(gradient + i * d + j, share, total, width);
            }
            if (pull > 0.0)
                for (int64_t k = 0; k < width; k++)
                    total[k] += twice * (table[at + k] - start[at + k]);
            for (int64_t k = 0; k < width; k++) {
                const float g = total[k];
                const float m = decay1 * first[at + k] + gain1 * g;
                const float v = decay2 * second[at + k] + gain2 * g * g;
                first[at + k] = m;
                second[at + k] = v;
                table[at + k] -= step * m / (sqrtf(v) + small);
            }
        }
}

void EXPORT(margin_gradient)(int64_t lane, int64_t lanes, const float *means, double margin,
                             float *gradient, double *losses, int64_t n, int64_t d) {
    for (int64_t i = lane; i < n; i += lanes) {
        const float *row[4];
        float *to[4], squares[4] = {0}, inverse[4];
        for (int side = 0; side < 4; side++) {
            row[side] = means + (side * n + i) * d;
            to[side] = gradient + (side * n + i) * d;
        }
        const float *s = row[0], *t = row[1], *sn = row[2], *tn = row[3];
        float pair = 0.0f, forward = 0.0f, backward = 0.0f;
        for (int64_t j = 0; j < d; j++) { /* in order, but seven sums at the same time */
            for (int side = 0; side < 4; side++) squares[side] += row[side][j] * row[side][j];
            pair += s[j] * t[j];
            forward += s[j] * tn[j];
            backward += t[j] * sn[j];
        }
        /* A zero vector has no direction and gets no gradient. */
        for (int side = 0; side < 4; side++)
            inverse[side] = squares[side] > 0.0f ? 1.0f / sqrtf(squares[side]) : 0.0f;
        pair *= inverse[0] * inverse[1];
        forward *= inverse[0] * inverse[3];
        backward *= inverse[1] * inverse[2];
        const float there = MAX(0.0f, (float)margin - pair + forward);
        const float back = MAX(0.0f, (float)margin - pair + backward);
        losses[i] = (double)there + (double)back;
        /* 1 / n for each side within the margin. The gradient by the unit vectors goes through the
           normalisation, which removes the component along the vector itself. */
        const float h = there > 0.0f ? (float)(1.0 / (double)n) : 0.0f;
        const float g = back > 0.0f ? (float)(1.0 / (double)n) : 0.0f;
        const float along_s = h * forward - (h + g) * pair, along_t = g * backward - (h + g) * pair;
        for (int64_t j = 0; j < d; j++) {
            const float us = s[j] * inverse[0], ut = t[j] * inverse[1];
            const float usn = sn[j] * inverse[2], utn = tn[j] * inverse[3];
            to[0][j] = (h * utn - (h + g) * ut - along_s * us) * inverse[0];
            to[1][j] = (g * usn - (h + g) * us - along_t * ut) * inverse[1];
            to[2][j] = g * (ut - backward * usn) * inverse[2];
            to[3][j] = h * (us - forward * utn) * inverse[3];
        }
    }
}

#define SCALE(kind, number)                                                                        \
    void EXPORT(scale_both_##kind##_##kind##_##kind)(                                              \
        int64_t lane, int64_t lanes, number *restrict matrix, const number *restrict by_row,       \
        const number *restrict by_column, int64_t n, int64_t m) {                                  \
        for (int64_t i = lane; i < n; i += lanes)                                                  \
            for (int64_t j = 0; j < m; j++) matrix[i * m + j] *= by_row[i] + by_column[j];         \
    }

SCALE(f4, float)
SCALE(f8, double)
