/* 3-gram language model: see miner/kernels/ngrams.py. */

enum { TRIGRAM_END = 1, TRIGRAM_START = 2 };

static inline uint64_t ids_key(int64_t first, int64_t second) {
    return (uint64_t)first << 32 | (uint64_t)second;
}

void EXPORT(surprise)(const int32_t *ids, const int64_t *offsets, const double *word_log,
                      const double *word_backoff, const uint64_t *pair_slots,
                      const int32_t *pair_places, const double *pair_log,
                      const double *pair_backoff, const uint64_t *triple_slots,
                      const int32_t *triple_places, const double *triple_log, double *out,
                      int64_t t, int64_t n, int64_t v, int64_t s, int64_t p, int64_t z,
                      int64_t q) {
    const int64_t opening =
        place_of(ids_key(TRIGRAM_START, TRIGRAM_START), pair_slots, pair_places, s);
    for (int64_t i = 0; i < n; i++) {
        int64_t before = TRIGRAM_START, context = opening;
        double total = 0.0;
        for (int64_t j = offsets[i]; j <= offsets[i + 1]; j++) {
            const int64_t word = j < offsets[i + 1] ? ids[j] : TRIGRAM_END;
            const int64_t pair = place_of(ids_key(before, word), pair_slots, pair_places, s);
            int64_t triple = -1;
            if (context >= 0)
                triple = place_of(ids_key(context, word), triple_slots, triple_places, z);
            if (triple >= 0) {
                total -= triple_log[triple];
            } else {
                if (context >= 0) total -= pair_backoff[context];
                total -= pair >= 0 ? pair_log[pair] : word_backoff[before] + word_log[word];
            }
            before = word;
            context = pair;
        }
        out[i] = total / (double)(offsets[i + 1] - offsets[i] + 1);
    }
}

double EXPORT(conditional)(int64_t before, int64_t middle, int64_t word, const double *word_log,
                           const double *word_backoff, const uint64_t *pair_slots,
                           const int32_t *pair_places, const double *pair_log,
                           const double *pair_backoff, const uint64_t *triple_slots,
                           const int32_t *triple_places, const double *triple_log, int64_t v,
                           int64_t s, int64_t p, int64_t z, int64_t q) {
    const int64_t context = place_of(ids_key(before, middle), pair_slots, pair_places, s);
    double total = 0.0;
    if (context >= 0) {
        const int64_t triple = place_of(ids_key(context, word), triple_slots, triple_places, z);
        if (triple >= 0) return triple_log[triple];
        total = pair_backoff[context];
    }
    const int64_t pair = place_of(ids_key(middle, word), pair_slots, pair_places, s);
    return pair >= 0 ? total + pair_log[pair] : total + word_backoff[middle] + word_log[word];
}
