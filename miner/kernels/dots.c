/* Integer dot products of token vectors: see miner/kernels/dots.py. */

/* Rows of a tile, and rows of the other side that they are multiplied with. */
#define DOT_ROWS 4
#if defined(HAS_VNNI)
#define DOT_OTHERS 4
#elif defined(HAS_AVX2)
#define DOT_OTHERS 2
#else
#define DOT_OTHERS 1
#endif

/* Write the products of four rows of length d with DOT_OTHERS others: sums[DOT_ROWS * k + row] is
   with the k-th other. */
static inline void products(const int16_t *restrict rows, const int8_t *const others[DOT_OTHERS],
                            int64_t d, int32_t *restrict sums) {
#if defined(HAS_VNNI)
    /* vpdpwssd multiplies 32 int16 by 32, and adds each two products to one of 16 int32. */
    __m512i total[DOT_ROWS * DOT_OTHERS];
    for (int k = 0; k < DOT_ROWS * DOT_OTHERS; k++) total[k] = _mm512_setzero_si512();
    for (int64_t j = 0; j < d; j += 32) {
        __m512i own[DOT_ROWS];
        for (int row = 0; row < DOT_ROWS; row++) own[row] = _mm512_loadu_si512(rows + row * d + j);
        for (int k = 0; k < DOT_OTHERS; k++) {
            const __m256i bytes = _mm256_loadu_si256((const __m256i *)(others[k] + j));
            const __m512i other = _mm512_cvtepi8_epi16(bytes);
            for (int row = 0; row < DOT_ROWS; row++)
                total[DOT_ROWS * k + row] =
                    _mm512_dpwssd_epi32(total[DOT_ROWS * k + row], own[row], other);
        }
    }
    /* Each 128 bits of four have the sums of four rows side by side. */
    for (int k = 0; k < DOT_OTHERS; k++) {
        const __m512i *own = total + DOT_ROWS * k;
        const __m512i one = _mm512_add_epi32(_mm512_unpacklo_epi32(own[0], own[1]),
                                             _mm512_unpackhi_epi32(own[0], own[1]));
        const __m512i two = _mm512_add_epi32(_mm512_unpacklo_epi32(own[2], own[3]),
                                             _mm512_unpackhi_epi32(own[2], own[3]));
        const __m512i four = _mm512_add_epi32(_mm512_unpacklo_epi64(one, two),
                                              _mm512_unpackhi_epi64(one, two));
        const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(four),
                                              _mm512_extracti64x4_epi64(four, 1));
        _mm_storeu_si128((__m128i *)(sums + DOT_ROWS * k),
                         _mm_add_epi32(_mm256_castsi256_si128(half),
                                       _mm256_extracti128_si256(half, 1)));
    }
#elif defined(HAS_AVX2)
    /* vpmaddwd multiplies 16 int16 by 16, and adds each two products to one of 8 int32. */
    __m256i total[DOT_OTHERS][DOT_ROWS];
    for (int row = 0; row < DOT_ROWS; row++) total[0][row] = total[1][row] = _mm256_setzero_si256();
    for (int64_t j = 0; j < d; j += 16) {
        const __m256i one = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(others[0] + j)));
        const __m256i two = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(others[1] + j)));
        for (int row = 0; row < DOT_ROWS; row++) {
            const __m256i own = _mm256_loadu_si256((const __m256i *)(rows + row * d + j));
            total[0][row] = _mm256_add_epi32(total[0][row], _mm256_madd_epi16(own, one));
            total[1][row] = _mm256_add_epi32(total[1][row], _mm256_madd_epi16(own, two));
        }
    }
    /* Add the lanes pairwise: the halves of four rows end up side by side. */
    for (int k = 0; k < DOT_OTHERS; k++) {
        const __m256i four = _mm256_hadd_epi32(_mm256_hadd_epi32(total[k][0], total[k][1]),
                                               _mm256_hadd_epi32(total[k][2], total[k][3]));
        _mm_storeu_si128((__m128i *)(sums + DOT_ROWS * k),
                         _mm_add_epi32(_mm256_castsi256_si128(four),
                                       _mm256_extracti128_si256(four, 1)));
    }
#else
    for (int row = 0; row < DOT_ROWS; row++) {
        int32_t total = 0;
        for (int64_t j = 0; j < d; j++) total += rows[row * d + j] * (int16_t)others[0][j];
        sums[row] = total;
    }
#endif
}

/* Write the products of the first n of rows (r, d) with codes[wanted] (m, d) to out (m, r). Columns
   of out from n to the next multiple of DOT_ROWS are undefined; r is one, and d of 32. */
static void dots(const int16_t *restrict rows, int64_t n, const int8_t *restrict codes,
                 const int32_t *restrict wanted, int64_t m, float *restrict out, int64_t r,
                 int64_t d) {
    for (int64_t j = 0; j < m; j += DOT_OTHERS) {
        const int8_t *others[DOT_OTHERS];
        for (int k = 0; k < DOT_OTHERS; k++) others[k] = codes + wanted[MIN(j + k, m - 1)] * d;
        for (int64_t i = 0; i < n; i += DOT_ROWS) {
            int32_t sums[DOT_ROWS * DOT_OTHERS];
            products(rows + i * d, others, d, sums);
            for (int64_t k = 0; k < MIN(DOT_OTHERS, m - j); k++)
                for (int row = 0; row < DOT_ROWS; row++)
                    out[(j + k) * r + i + row] = (float)sums[DOT_ROWS * k + row];
        }
    }
}

/* The same, for tests. */
void EXPORT(dots)(const int16_t *rows, int64_t n, const int8_t *codes, const int32_t *wanted,
                  float *out, int64_t r, int64_t d, int64_t v, int64_t m) {
    dots(rows, n, codes, wanted, m, out, r, d);
}
