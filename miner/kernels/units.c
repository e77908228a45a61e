/* Trigrams and words: see miner/kernels/units.py. */

/* Return the first slot that may have a key, by Fibonacci hashing. */
static inline uint64_t first_slot(uint64_t key, uint64_t mask) {
    return (key * 0x9E3779B97F4A7C15u >> 32) & mask;
}

/* Return the place of a key among the keys of a table of s slots, or -1. */
static inline int32_t place_of(uint64_t key, const uint64_t *slots, const int32_t *places,
                               int64_t s) {
    const uint64_t mask = (uint64_t)s - 1;
    uint64_t slot = first_slot(key, mask);
    while (places[slot] >= 0 && slots[slot] != key) slot = (slot + 1) & mask;
    return places[slot];
}

void EXPORT(fill_table)(const uint64_t *keys, uint64_t *slots, int32_t *places, int64_t n,
                        int64_t s) {
    const uint64_t mask = (uint64_t)s - 1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t slot = first_slot(keys[i], mask);
        while (places[slot] >= 0) slot = (slot + 1) & mask;
        slots[slot] = keys[i];
        places[slot] = (int32_t)i;
    }
}

void EXPORT(find_keys)(const uint64_t *keys, const uint64_t *slots, const int32_t *places,
                       int32_t *out, int64_t n, int64_t s) {
    for (int64_t i = 0; i < n; i++) out[i] = place_of(keys[i], slots, places, s);
}

/* Return the FNV-1a hash of a word, over its code points. */
static uint64_t fingerprint(const uint32_t *word, int64_t size) {
    uint64_t key = 0xCBF29CE484222325u;
    for (int64_t k = 0; k < size; k++) key = (key ^ word[k]) * 0x100000001B3u;
    return key;
}

void EXPORT(fingerprints)(const uint32_t *codes, const int64_t *starts, uint64_t *out, int64_t t,
                          int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out[i] = fingerprint(codes + starts[i], starts[i + 1] - starts[i]);
}

/* Return the id of a word, or -1. */
static int32_t word_id(const uint32_t *word, int64_t size, const uint64_t *slots,
                       const int32_t *places, int64_t s, const uint32_t *vocabulary,
                       const int64_t *starts) {
    const uint64_t key = fingerprint(word, size), mask = (uint64_t)s - 1;
    for (uint64_t slot = first_slot(key, mask); places[slot] >= 0; slot = (slot + 1) & mask) {
        /* Two words may have one fingerprint. */
        const int64_t start = starts[places[slot]], length = starts[places[slot] + 1] - start;
        if (slots[slot] == key && length == size &&
            memcmp(vocabulary + start, word, (size_t)size * sizeof(uint32_t)) == 0)
            return places[slot];
    }
    return -1;
}

int64_t EXPORT(words)(const uint32_t *codes, const int64_t *offsets, const uint8_t *kinds,
                      const uint64_t *slots, const int32_t *places, const uint32_t *vocabulary,
                      const int64_t *starts, int32_t *out, int64_t *lengths, int64_t t, int64_t n,
                      int64_t k, int64_t s, int64_t v, int64_t m) {
    int64_t done = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = done, end = offsets[i + 1];
        for (int64_t j = offsets[i]; j < end;) {
            const int64_t begun = j;
            const uint8_t kind = kinds[codes[j++]];
            if (kind == 0) continue;
            if (kind == 2)
                while (j < end && kinds[codes[j]] == 2) j++;
            out[done++] =
                word_id(codes + begun, j - begun, slots, places, s, vocabulary, starts);
        }
        lengths[i] = done - first;
    }
    return done;
}
