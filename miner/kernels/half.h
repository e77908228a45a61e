/* float16 numbers, kept as their bits: to float32 exactly, and from float32 by rounding, ties to
   even. */
static inline float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

#if defined(HAS_AVX2)
static inline float widen_half(uint16_t value) { return _cvtsh_ss(value); }

static inline uint16_t narrow(float value) {
    return (uint16_t)_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}
#else
static inline float widen_half(uint16_t value) {
    uint32_t size = (uint32_t)(value & 0x7FFF) << 13;
    if (size >= 0x0F800000) /* infinity and NaN */
        size |= 0x7F800000;
    else /* float32 counts exponents from 112 higher */
        size = bits_of(as_float(size) * 0x1p112f);
    return as_float(size | (uint32_t)(value & 0x8000) << 16);
}

static inline uint16_t narrow(float value) {
    uint32_t bits = bits_of(value), size = bits & 0x7FFFFFFF, half;
    if (size > 0x7F800000) /* NaN */
        half = 0x7E00;
    else if (size >= 0x477FF000) /* rounds to 2^16 or more: infinity */
        half = 0x7C00;
    else if (size < 0x38800000) /* below 2^-14: steps of 2^-24, as float32 has from 0.5 */
        half = bits_of(as_float(size) + 0.5f) - 0x3F000000;
    else
        half = (size - (112u << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    return (uint16_t)((bits >> 16 & 0x8000) | half);
}
#endif

/* Sixteen numbers of float16 bits, or of float32, as float32. */
static inline void widen_u2(const uint16_t *restrict from, float *restrict to) {
#if defined(HAS_AVX2)
    for (int k = 0; k < 16; k += 8)
        _mm256_storeu_ps(to + k, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + k))));
#else
    for (int k = 0; k < 16; k++) to[k] = widen_half(from[k]);
#endif
}

static inline void widen_f4(const float *restrict from, float *restrict to) {
    memcpy(to, from, 16 * sizeof(float));
}

static inline float widen_one_u2(uint16_t value) { return widen_half(value); }
static inline float widen_one_f4(float value) { return value; }
