/* int8 and float32 search: see miner/kernels/fused.py, blocks.py and gather.py. */

/* Largest int8 value, what columns are raised by, and the bound on the squares of a lane. */
#define LARGEST 63
#define UP 64
#define SQUARES 32767
/* Rows and columns of one tile. */
#define ROWS 6
#define COLUMNS 16

/* Widen a vector into row; return the largest factor that scales it to int8. */
#define FACTOR(kind, number)                                                                       \
    static double factor_##kind(const number *vector, float *row, int64_t d) {                     \
        float largest = 0.0f;                                                                      \
        double square[2] = {0.0, 0.0};                                                             \
        for (int64_t j = 0; j < d; j++) {                                                          \
            float value = widen_one_##kind(vector[j]);                                             \
            row[j] = value;                                                                        \
            largest = MAX(largest, fabsf(value));                                                  \
            square[(j % 4) / 2] += (double)value * (double)value;                                  \
        }                                                                                          \
        if (largest == 0.0f) return 0.0;                                                           \
        double length = sqrt(MAX(square[0], square[1]));                                           \
        double by_length = sqrt((double)SQUARES) / length, by_size = LARGEST / (double)largest;    \
        return MIN(by_size, by_length);                                                            \
    }                                                                                              \
    void EXPORT(step_sizes_##kind)(const number *vectors, float *row, float *out, int64_t n,       \
                                   int64_t d) {                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double factor = factor_##kind(vectors + i * d, row, d);                                \
            out[i] = factor > 0.0 ? (float)(1.0 / factor) : 0.0f;                                  \
        }                                                                                          \
    }                                                                                              \
    void EXPORT(quantise_##kind)(const number *vectors, uint8_t *tiles, int64_t up, float *scale,  \
                                 int32_t *correction, float *row, int64_t first, int64_t last,     \
                                 int64_t n, int64_t d, int64_t t, int64_t quads, int64_t width,    \
                                 int64_t all, int64_t padded) {                                    \
        for (int64_t i = first * width; i < last * width; i++) {                                   \
            uint8_t *tile = tiles + i / width * quads * width * 4 + i % width * 4;                 \
            memset(row, 0, (size_t)padded * sizeof(float));                                        \
            double factor = i < n ? factor_##kind(vectors + i * d, row, d) : 0.0;                  \
            int64_t sums[2];                                                                       \
            for (;;) {                                                                             \
                int64_t squares[2] = {0, 0};                                                       \
                sums[0] = sums[1] = 0;                                                             \
                for (int64_t j = 0; j < padded; j++) {                                             \
                    int64_t byte = (int64_t)rint((double)row[j] * factor);                         \
                    squares[j % 4 / 2] += byte * byte;                                             \
                    sums[j % 4 / 2] += byte;                                                       \
                    tile[j / 4 * width * 4 + j % 4] = (uint8_t)(byte + up);                        \
                }                                                                                  \
                if (MAX(squares[0], squares[1]) <= SQUARES) break;                                 \
                factor *= 0.995; /* rounding made the vector a little longer */                    \
            }                                                                                      \
            scale[i] = factor > 0.0 ? (float)(1.0 / factor) : 0.0f;                                \
            uint32_t low = (uint32_t)(-UP * sums[0]) & 0xFFFF;                                     \
            uint32_t high = (uint32_t)(-UP * sums[1]) & 0xFFFF;                                    \
            correction[i] = (int32_t)(low | high << 16);                                           \
        }                                                                                          \
    }

FACTOR(u2, uint16_t)
FACTOR(f4, float)

/* Compute a tile: out[r * 16 + c] = (row r . column c) * b_scale[c] * a_scale[r]. Bit c of hits[r] is
   set if this is at least row_least[r] or column_least[c]. Return the bitwise or of all hits. */
static unsigned tile(const int8_t *restrict a, const uint8_t *restrict b, int64_t quads,
                     const int32_t *restrict correction, const float *restrict a_scale,
                     const float *restrict b_scale, const float *restrict row_least,
                     const float *restrict column_least, float *restrict out,
                     uint16_t *restrict hits) {
    unsigned total = 0;
#if defined(HAS_AVX2)
    /* vpmaddubsw multiplies 32 uint8 by 32 int8 and adds neighbours to 16 sums of int16. These run
       modulo 2^16, which is harmless, as the final sums fit into int16. */
    __m256i sums[ROWS][2];
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define BEGIN(r) __m256i low##r = _mm256_set1_epi32(correction[r]), high##r = low##r;
#define ADD(r)                                                                                     \
    memcpy(&four, a + (quad * ROWS + r) * 4, 4);                                                   \
    signs = _mm256_set1_epi32(four);                                                               \
    IN_ORDER(signs);                                                                               \
    low##r = _mm256_add_epi16(low##r, _mm256_maddubs_epi16(left, signs));                          \
    high##r = _mm256_add_epi16(high##r, _mm256_maddubs_epi16(right, signs));                       \
    IN_ORDER(low##r);                                                                              \
    IN_ORDER(high##r);
#define END(r) sums[r][0] = low##r, sums[r][1] = high##r;
    EACH(BEGIN)
    for (int64_t quad = 0; quad < quads; quad++) {
        const __m256i left = _mm256_loadu_si256((const __m256i *)(b + quad * 64));
        const __m256i right = _mm256_loadu_si256((const __m256i *)(b + quad * 64 + 32));
        __m256i signs;
        int32_t four;
        EACH(ADD)
    }
    EACH(END)
#undef EACH
#undef BEGIN
#undef ADD
#undef END
    const __m256i ones = _mm256_set1_epi16(1);
    for (int r = 0; r < ROWS; r++) {
        unsigned mask = 0;
        for (int half = 0; half < 2; half++) {
            __m256 value = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums[r][half], ones));
            value = _mm256_mul_ps(value, _mm256_loadu_ps(b_scale + 8 * half));
            value = _mm256_mul_ps(value, _mm256_set1_ps(a_scale[r]));
            _mm256_storeu_ps(out + r * COLUMNS + 8 * half, value);
            __m256 least = _mm256_loadu_ps(column_least + 8 * half);
            __m256 hit = _mm256_or_ps(_mm256_cmp_ps(value, _mm256_set1_ps(row_least[r]), _CMP_GE_OQ),
                                      _mm256_cmp_ps(value, least, _CMP_GE_OQ));
            mask |= (unsigned)_mm256_movemask_ps(hit) << 8 * half;
        }
        hits[r] = (uint16_t)mask;
        total |= mask;
    }
#else
    int32_t sums[ROWS][COLUMNS] = {{0}};
#if defined(HAS_DOTPROD)
    /* sdot multiplies 16 int8 by 16, and adds each four products to one of 4 int32. */
    int32x4_t total_of[ROWS][COLUMNS / 4];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS / 4; c++) total_of[r][c] = vdupq_n_s32(0);
    for (int64_t quad = 0; quad < quads; quad++) {
        int8x16_t columns[COLUMNS / 4];
        for (int c = 0; c < COLUMNS / 4; c++)
            columns[c] = vreinterpretq_s8_u8(
                vsubq_u8(vld1q_u8(b + quad * COLUMNS * 4 + c * 16), vdupq_n_u8(UP)));
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            memcpy(&four, a + (quad * ROWS + r) * 4, 4);
            const int8x16_t row = vreinterpretq_s8_s32(vdupq_n_s32(four));
            for (int c = 0; c < COLUMNS / 4; c++)
                total_of[r][c] = vdotq_s32(total_of[r][c], columns[c], row);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS / 4; c++) vst1q_s32(sums[r] + 4 * c, total_of[r][c]);
#else
    for (int64_t quad = 0; quad < quads; quad++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                for (int k = 0; k < 4; k++)
                    sums[r][c] += a[(quad * ROWS + r) * 4 + k] *
                                  (b[(quad * COLUMNS + c) * 4 + k] - UP);
#endif
    for (int r = 0; r < ROWS; r++) {
        unsigned mask = 0;
        for (int c = 0; c < COLUMNS; c++) {
            float value = (float)sums[r][c] * b_scale[c] * a_scale[r];
            out[r * COLUMNS + c] = value;
            mask |= (unsigned)(value >= row_least[r] || value >= column_least[c]) << c;
        }
        hits[r] = (uint16_t)mask;
        total |= mask;
    }
#endif
    return total;
}

/* A tile by itself, for tests. */
int64_t EXPORT(one_tile)(const int8_t *a, const uint8_t *b, const int32_t *correction,
                         const float *a_scale, const float *b_scale, const float *row_least,
                         const float *column_least, float *out, uint16_t *hits, int64_t quads) {
    return tile(a, b, quads, correction, a_scale, b_scale, row_least, column_least, out, hits);
}

#if defined(HAS_VNNI)
/* Compute a tile of rows with two tiles of columns, b and next. vpdpbusd multiplies 64 uint8 by 64
   int8 and adds each four products to one of 16 int32; whole cancels the 64 of the columns in these.
   Each row of out and hits has both tiles. */
static unsigned two_tiles(const int8_t *restrict a, const uint8_t *restrict b,
                          const uint8_t *restrict next, int64_t quads,
                          const int32_t *restrict whole, const float *restrict a_scale,
                          const float *const scale[2], const float *restrict row_least,
                          const float *const least[2], float *restrict out,
                          uint16_t *restrict hits) {
    __m512i sums[ROWS][2];
    for (int r = 0; r < ROWS; r++) sums[r][0] = sums[r][1] = _mm512_set1_epi32(whole[r]);
    for (int64_t quad = 0; quad < quads; quad++) {
        __m512i left = _mm512_loadu_si512(b + quad * 64);
        __m512i right = _mm512_loadu_si512(next + quad * 64);
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            memcpy(&four, a + (quad * ROWS + r) * 4, 4);
            __m512i signs = _mm512_set1_epi32(four);
            sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], left, signs);
            sums[r][1] = _mm512_dpbusd_epi32(sums[r][1], right, signs);
        }
    }
    unsigned total = 0;
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 2; k++) {
            __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][k]), _mm512_loadu_ps(scale[k]));
            value = _mm512_mul_ps(value, _mm512_set1_ps(a_scale[r]));
            _mm512_storeu_ps(out + (2 * r + k) * COLUMNS, value);
            __mmask16 hit = _mm512_cmp_ps_mask(value, _mm512_set1_ps(row_least[r]), _CMP_GE_OQ) |
                            _mm512_cmp_ps_mask(value, _mm512_loadu_ps(least[k]), _CMP_GE_OQ);
            hits[2 * r + k] = hit;
            total |= hit;
        }
    return total;
}
#endif

/* Insert a candidate into list i of width w, sorted by similarity descending, then position. A
   candidate that the list already holds is not inserted again. */
static void put(float *similarity, int32_t *position, float *least, int64_t w, int64_t i, float value,
                int32_t place) {
    float *own = similarity + i * w;
    int32_t *places = position + i * w;
    int64_t at = w;
    while (at > 0 && (value > own[at - 1] || (value == own[at - 1] && place < places[at - 1]))) at--;
    if (at >= w || (at > 0 && places[at - 1] == place && own[at - 1] == value)) return;
    memmove(own + at + 1, own + at, (size_t)(w - 1 - at) * sizeof(float));
    memmove(places + at + 1, places + at, (size_t)(w - 1 - at) * sizeof(int32_t));
    own[at] = value;
    places[at] = place;
    least[i] = own[w - 1];
}

int64_t EXPORT(merge)(const int8_t *a, const float *a_scale, const int32_t *correction,
                      const int32_t *rows, const uint8_t *b, const float *b_scale,
                      const int32_t *columns, int64_t first_row, int64_t last_row,
                      int64_t first_column, int64_t last_column, int64_t step, float *f_similarity,
                      int32_t *f_position, float *f_least, float *b_similarity, int32_t *b_position,
                      float *b_least, int64_t ta, int64_t quads, int64_t pa, int64_t count_a,
                      int64_t tb, int64_t pb, int64_t count_b, int64_t n, int64_t w, int64_t f,
                      int64_t m, int64_t v, int64_t g) {
    const int64_t a_size = quads * ROWS * 4, b_size = quads * COLUMNS * 4;
    float *row_least = malloc((size_t)(pa + pb + 1) * sizeof(float));
    if (row_least == NULL) return 1;
    float *column_least = row_least + pa;
    /* Last places of the lists; infinite for the padding of a tile. */
    for (int64_t i = first_row * ROWS; i < last_row * ROWS; i++)
        row_least[i] = i < count_a ? f_least[rows[i]] : INFINITY;
    for (int64_t j = first_column * COLUMNS; j < last_column * COLUMNS; j++)
        column_least[j] = j < count_b ? b_least[columns[j]] : INFINITY;
#if defined(HAS_VNNI)
    enum { WIDTH = 2 };
    int32_t *whole = calloc((size_t)pa + 1, sizeof(int32_t));
    if (whole == NULL) {
        free(row_least);
        return 1;
    }
    for (int64_t i = first_row; i < last_row; i++)
        for (int64_t quad = 0; quad < quads; quad++)
            for (int64_t r = 0; r < ROWS; r++)
                for (int k = 0; k < 4; k++)
                    whole[i * ROWS + r] -= UP * a[i * a_size + (quad * ROWS + r) * 4 + k];
#else
    enum { WIDTH = 1 };
#endif
    float out[ROWS * COLUMNS * WIDTH];
    uint16_t hits[ROWS * WIDTH];
    for (int64_t near = first_row; near < last_row; near += step)
        for (int64_t j = first_column; j < last_column; j += WIDTH) {
            /* The last of an odd number of tiles is multiplied twice. */
            const int64_t tiles = MIN(WIDTH, last_column - j);
            for (int64_t i = near; i < MIN(near + step, last_row); i++) {
#if defined(HAS_VNNI)
                const int64_t after = j + tiles - 1;
                const float *const scales[2] = {b_scale + j * COLUMNS, b_scale + after * COLUMNS};
                const float *const leasts[2] = {column_least + j * COLUMNS,
                                                column_least + after * COLUMNS};
                const unsigned found =
                    two_tiles(a + i * a_size, b + j * b_size, b + after * b_size, quads,
                              whole + i * ROWS, a_scale + i * ROWS, scales, row_least + i * ROWS,
                              leasts, out, hits);
#else
                const unsigned found =
                    tile(a + i * a_size, b + j * b_size, quads, correction + i * ROWS,
                         a_scale + i * ROWS, b_scale + j * COLUMNS, row_least + i * ROWS,
                         column_least + j * COLUMNS, out, hits);
#endif
                if (!found) continue;
                for (int64_t place = 0; place < ROWS * WIDTH; place++) {
                    const int64_t row = i * ROWS + place / WIDTH;
                    if (place % WIDTH >= tiles || row >= count_a) continue;
                    for (unsigned mask = hits[place]; mask; mask &= mask - 1) {
                        const int c = __builtin_ctz(mask);
                        const int64_t column = (j + place % WIDTH) * COLUMNS + c;
                        if (column >= count_b) continue;
                        const float value = out[place * COLUMNS + c];
                        const int32_t s = rows[row], t = columns[column];
                        if (value >= row_least[row]) {
                            put(f_similarity, f_position, f_least, w, s, value, t);
                            row_least[row] = f_least[s];
                        }
                        if (value >= column_least[column]) {
                            put(b_similarity, b_position, b_least, v, t, value, s);
                            column_least[column] = b_least[t];
                        }
                    }
                }
            }
        }
#if defined(HAS_VNNI)
    free(whole);
#endif
    free(row_least);
    return 0;
}

/* Columns of a float32 block compared at a time, in a few vector registers. */
#define STRIP 64

void EXPORT(merge_block)(const float *matrix, int64_t s, int64_t t, float *f_similarity,
                         int32_t *f_position, float *f_least, float *b_similarity,
                         int32_t *b_position, float *b_least, int64_t a, int64_t b, int64_t n,
                         int64_t w, int64_t f, int64_t m, int64_t v, int64_t g) {
    for (int64_t i = 0; i < a; i++) {
        const float *row = matrix + i * b;
        for (int64_t start = 0; start < b; start += STRIP) {
            const int64_t end = MIN(b, start + STRIP);
            const float least = f_least[s + i];
            int hit = 0;
            for (int64_t j = start; j < end; j++)
                hit |= (row[j] >= least) | (row[j] >= b_least[t + j]);
            if (!hit) continue;
            for (int64_t j = start; j < end; j++) {
                if (row[j] >= f_least[s + i])
                    put(f_similarity, f_position, f_least, w, s + i, row[j], (int32_t)(t + j));
                if (row[j] >= b_least[t + j])
                    put(b_similarity, b_position, b_least, v, t + j, row[j], (int32_t)(s + i));
            }
        }
    }
}

void EXPORT(merge_lists)(const float *similarity, const int32_t *position, int64_t first,
                         float *f_similarity, int32_t *f_position, float *f_least, int64_t b,
                         int64_t c, int64_t n, int64_t w) {
    for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j < c; j++) {
            const float value = similarity[i * c + j];
            const int32_t place = position[i * c + j];
            if (place >= 0 && value >= f_least[first + i])
                put(f_similarity, f_position, f_least, w, first + i, value, place);
        }
}

void EXPORT(copy_codes)(const uint32_t *codes, const float *scale, const int32_t *correction,
                        const int32_t *places, uint32_t *tiles, int64_t raised, float *to_scale,
                        int32_t *to_correction, int64_t n, int64_t quads, int64_t m, int64_t t,
                        int64_t width, int64_t all) {
    /* A component is at most 63 from 0. With the top bit of its byte flipped, the sum with UP stays
       within the byte, so that four are raised at once. */
    const uint32_t flip = raised ? 0x80808080u : 0, up = raised ? UP * 0x01010101u : 0;
    for (int64_t i = 0; i < t * width; i++) {
        uint32_t *to = tiles + i / width * quads * width + i % width;
        if (i >= m) {
            for (int64_t quad = 0; quad < quads; quad++) to[quad * width] = up;
            to_scale[i] = 0.0f;
            to_correction[i] = 0;
            continue;
        }
        const uint32_t *from = codes + places[i] * quads;
        for (int64_t quad = 0; quad < quads; quad++)
            to[quad * width] = ((from[quad] ^ flip) + up) ^ flip;
        to_scale[i] = scale[places[i]];
        to_correction[i] = correction[places[i]];
    }
}

void EXPORT(similarities)(const int8_t *a, const float *a_scale, const int8_t *b,
                          const float *b_scale, const int32_t *rows, const int32_t *columns,
                          int64_t first, int64_t last, int64_t swapped, float *out, int64_t n,
                          int64_t p, int64_t m, int64_t q, int64_t w) {
    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < w; j++) {
            const int32_t row = rows[i], column = columns[i * w + j];
            if (column < 0) {
                out[i * w + j] = -INFINITY;
                continue;
            }
            const int8_t *left = a + row * p, *right = b + column * p;
            int32_t total = 0;
            for (int64_t k = 0; k < p; k++) total += left[k] * right[k];
            out[i * w + j] = swapped ? (float)total * a_scale[row] * b_scale[column]
                                     : (float)total * b_scale[column] * a_scale[row];
        }
}

void EXPORT(put_pairs)(const int32_t *rows, const int32_t *columns, const float *values,
                       int64_t lane, int64_t lanes, float *f_similarity, int32_t *f_position,
                       float *f_least, float *b_similarity, int32_t *b_position, float *b_least,
                       int64_t q, int64_t c, int64_t n, int64_t w, int64_t m, int64_t v) {
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = 0; j < c; j++) {
            const int32_t row = rows[i], column = columns[i * c + j];
            const float value = values[i * c + j];
            if (column < 0) continue;
            if (row % lanes == lane && value >= f_least[row])
                put(f_similarity, f_position, f_least, w, row, value, column);
            if (column % lanes == lane && value >= b_least[column])
                put(b_similarity, b_position, b_least, v, column, value, row);
        }
}
