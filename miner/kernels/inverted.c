/* Inverted index, and retrieval by it: see miner/kernels/inverted.py. */

int64_t EXPORT(count_holders)(const int32_t *values, const int64_t *offsets, const int64_t *rows,
                              int64_t *count, int64_t t, int64_t m, int64_t n, int64_t V) {
    int64_t *last = malloc((size_t)(V + 1) * sizeof(int64_t));
    if (last == NULL) return 1;
    for (int64_t v = 0; v < V; v++) last[v] = -1;
    for (int64_t place = 0; place < n; place++)
        for (int64_t i = offsets[rows[place]]; i < offsets[rows[place] + 1]; i++)
            if (last[values[i]] != place) {
                last[values[i]] = place;
                count[values[i]]++;
            }
    free(last);
    return 0;
}

int64_t EXPORT(invert)(const int32_t *values, const int64_t *offsets, const int64_t *rows,
                       const int64_t *starts, int32_t *out, int64_t t, int64_t m, int64_t n,
                       int64_t V, int64_t p) {
    int64_t *end = malloc((size_t)(V + 1) * sizeof(int64_t));
    if (end == NULL) return 1;
    memcpy(end, starts, (size_t)V * sizeof(int64_t));
    for (int64_t place = 0; place < n; place++)
        for (int64_t i = offsets[rows[place]]; i < offsets[rows[place] + 1]; i++) {
            const int32_t v = values[i];
            if (end[v] < starts[v + 1] && (end[v] == starts[v] || out[end[v] - 1] != place))
                out[end[v]++] = (int32_t)place;
        }
    free(end);
    return 0;
}

int64_t EXPORT(inverse_lengths)(const int32_t *values, const int64_t *offsets, const int64_t *rows,
                                const float *idf, float *out, int64_t t, int64_t m, int64_t n,
                                int64_t V) {
    int64_t *last = malloc((size_t)(V + 1) * sizeof(int64_t));
    if (last == NULL) return 1;
    for (int64_t v = 0; v < V; v++) last[v] = -1;
    for (int64_t place = 0; place < n; place++) {
        double total = 0;
        for (int64_t i = offsets[rows[place]]; i < offsets[rows[place] + 1]; i++) {
            const int32_t v = values[i];
            if (last[v] == place) continue;
            last[v] = place;
            total += (double)idf[v] * (double)idf[v];
        }
        out[place] = total > 0 ? (float)(1.0 / sqrt(total)) : 0.0f;
    }
    free(last);
    return 0;
}

/* Weight and idf of the terms of a query. Entries count if they were written for this query. */
typedef struct {
    float weight;
    int32_t asked, seen;
} Term;

/* Bits of a float32 below those that choose its bucket, and buckets of positive ones. */
#define BUCKET_BITS 16
#define BUCKETS (1 << (31 - BUCKET_BITS))

/* What `retrieve` works in. A sum and its factor share a cache line: most of the time goes into
   reading them. */
typedef struct {
    struct {
        float sum, inverse;
    } *sums;
    Term *terms;
    int64_t *keys, *sorted;
    int32_t *touched, *place, *buckets;
    float *value;
} Retrieval;

/* Collect the tokens that a query (ids, n) asks for: keys, which sort the rarest first. */
static int64_t collect(const int32_t *ids, int64_t n, int32_t query, const int64_t *to,
                       const int32_t *pieces, const float *probability, float own, float probable,
                       const float *idf, const int64_t *holders, int64_t V, Retrieval *work) {
    Term *terms = work->terms;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t x = ids[i];
        if (terms[x].seen == query) continue;
        terms[x].seen = query;
        for (int64_t j = to[x] - 1; j < to[x + 1]; j++) { /* the token itself comes first */
            const int32_t y = j < to[x] ? x : pieces[j];
            const float share = j < to[x] ? own : probability[j];
            if (idf[y] == 0.0f || (j >= to[x] && share < probable)) continue;
            if (terms[y].asked != query) {
                terms[y].asked = query;
                terms[y].weight = 0.0f;
                work->keys[count++] = holders[y] * V + y;
            }
            terms[y].weight += share;
        }
    }
    sort_i8(work->keys, work->sorted, count);
    return count;
}

/* Write the positions with the highest scores among those touched (t) to out (w), by score
   descending, then position, and -1 in empty places; clear their sums. A score in a lower bucket (the
   upper half of its bits) than the w best so far is dropped at once; the few others are sorted. */
static void keep_best(Retrieval *work, int64_t t, int32_t *out, float *scores, int64_t w) {
    int64_t held = 0, kept = 0;
    uint32_t bucket = 0;
    float least = 0.0f;
    for (int64_t k = 0; k < t; k++) {
        const int32_t j = work->touched[k];
        const float value = work->sums[j].sum * work->sums[j].inverse;
        work->sums[j].sum = 0.0f;
        if (!(value >= least)) continue;
        work->value[held] = value;
        work->place[held++] = j;
        work->buckets[bits_of(value) >> BUCKET_BITS]++;
        if (++kept < w) continue;
        if (bucket == 0) { /* for the first time: find the lowest bucket */
            bucket = BUCKETS - 1;
            for (int64_t i = 0; i < held; i++)
                bucket = MIN(bucket, bits_of(work->value[i]) >> BUCKET_BITS);
        }
        while (kept - work->buckets[bucket] >= w) kept -= work->buckets[bucket++];
        least = as_float(bucket << BUCKET_BITS);
    }
    int64_t count = 0;
    for (int64_t i = 0; i < held; i++) {
        const uint32_t bits = bits_of(work->value[i]);
        work->buckets[bits >> BUCKET_BITS] = 0;
        if (work->value[i] >= least)
            work->keys[count++] = -(int64_t)bits * ((int64_t)1 << 32) + work->place[i];
    }
    sort_i8(work->keys, work->sorted, count);
    for (int64_t i = 0; i < w; i++) {
        out[i] = i < count ? (int32_t)(work->keys[i] & 0xFFFFFFFF) : -1;
        scores[i] = i < count ? as_float((uint32_t)-(work->keys[i] >> 32)) : -INFINITY;
    }
}

int64_t EXPORT(retrieve)(const int32_t *ids, const int64_t *offsets, const int64_t *rows,
                         const int64_t *to, const int32_t *pieces, const float *probability,
                         double own, double probable, const float *idf, const int64_t *holders,
                         const int64_t *starts, const int32_t *postings, const float *inverse,
                         int64_t budget, int32_t *out, float *scores, int64_t t, int64_t n,
                         int64_t q, int64_t V, int64_t e, int64_t p, int64_t m, int64_t w) {
    const int64_t most = MAX(0, MIN(budget, p)) + 1; /* one more than can be touched */
    const int64_t items = MAX(V, most);
    Retrieval work = {
        malloc((size_t)(m + 1) * 2 * sizeof(float)),
        malloc((size_t)(V + 1) * sizeof(Term)),
        malloc((size_t)items * sizeof(int64_t)),
        malloc((size_t)items * sizeof(int64_t)),
        malloc((size_t)most * sizeof(int32_t)),
        malloc((size_t)most * sizeof(int32_t)),
        calloc(BUCKETS, sizeof(int32_t)),
        malloc((size_t)most * sizeof(float)),
    };
    const int whole = work.sums && work.terms && work.keys && work.sorted && work.touched &&
                      work.place && work.buckets && work.value;
    for (int64_t v = 0; whole && v < V; v++) work.terms[v].asked = work.terms[v].seen = -1;
    for (int64_t j = 0; whole && j < m; j++) {
        work.sums[j].sum = 0.0f;
        work.sums[j].inverse = inverse[j];
    }
    for (int64_t i = 0; whole && w > 0 && i < q; i++) {
        const int64_t first = offsets[rows[i]], size = offsets[rows[i] + 1] - first;
        const int64_t count = collect(ids + first, size, (int32_t)i, to, pieces, probability,
                                      (float)own, (float)probable, idf, holders, V, &work);
        int64_t left = budget, found = 0;
        for (int64_t k = 0; k < count; k++) {
            const int64_t y = work.keys[k] % V;
            left -= holders[y];
            if (left < 0) break;
            const float share = work.terms[y].weight * idf[y] * idf[y];
            for (int64_t at = starts[y]; at < starts[y + 1]; at++) {
                const int32_t j = postings[at];
                const float old = work.sums[j].sum;
                work.touched[found] = j;
                found += old == 0.0f; /* without a branch, which would often be predicted wrongly */
                work.sums[j].sum = old + share;
            }
        }
        keep_best(&work, found, out + i * w, scores + i * w, w);
    }
    free(work.sums);
    free(work.terms);
    free(work.keys);
    free(work.sorted);
    free(work.touched);
    free(work.place);
    free(work.buckets);
    free(work.value);
    return !whole;
}
