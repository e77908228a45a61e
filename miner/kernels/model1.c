/* IBM Model 1, and products of translation tables: see miner/kernels/model1.py and
   compose_lexicons.py. */

void EXPORT(distinct)(const int32_t *ids, const int64_t *offsets, int32_t *out, int32_t *scratch,
                      int64_t *bounds, int64_t t, int64_t n, int64_t s) {
    int64_t count = 0;
    bounds[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t size = offsets[i + 1] - offsets[i];
        int32_t *own = out + count; /* not after the sentence's place in ids */
        memcpy(own, ids + offsets[i], (size_t)size * sizeof(int32_t));
        sort_i4(own, scratch, size);
        int64_t kept = 0;
        for (int64_t k = 0; k < size; k++)
            if (kept == 0 || own[kept - 1] != own[k]) own[kept++] = own[k];
        count += kept;
        bounds[i + 1] = count;
    }
}

void EXPORT(occurrences)(const int32_t *ids, const int64_t *offsets, int64_t *place, int32_t *where,
                         int64_t t, int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = offsets[i]; p < offsets[i + 1]; p++)
            where[place[ids[p]]++] = (int32_t)i;
}

int64_t EXPORT(partners)(int64_t lane, int64_t lanes, const int64_t *starts, const int32_t *where,
                         const int32_t *ids, const int64_t *offsets, int64_t least,
                         const int64_t *rows, int32_t *columns, int64_t *sizes, int64_t size,
                         int64_t t, int64_t u, int64_t n, int64_t c) {
    int32_t *count = calloc((size_t)(3 * size + 1), sizeof(int32_t));
    if (count == NULL) return 1;
    int32_t *seen = count + size, *scratch = seen + size;
    for (int64_t piece = lane; piece < size; piece += lanes) {
        int64_t found = 0, kept = 0;
        for (int64_t at = starts[piece]; at < starts[piece + 1]; at++)
            for (int64_t p = offsets[where[at]]; p < offsets[where[at] + 1]; p++)
                if (count[ids[p]]++ == 0) seen[found++] = ids[p];
        sort_i4(seen, scratch, found);
        for (int64_t k = 0; k < found; k++) {
            if (count[seen[k]] >= least) {
                if (c > 0) columns[rows[piece] + kept] = seen[k];
                kept++;
            }
            count[seen[k]] = 0;
        }
        sizes[piece] = kept;
    }
    free(count);
    return 0;
}

void EXPORT(expectation)(int64_t lane, int64_t lanes, const int32_t *left,
                         const int64_t *left_offsets, const int32_t *right,
                         const int64_t *right_offsets, const int64_t *rows, const int32_t *columns,
                         const float *probability, const float *empty, float *out, int64_t t,
                         int64_t n, int64_t u, int64_t size, int64_t m) {
    for (int64_t i = lane; i < n; i += lanes) {
        const int64_t first = right_offsets[i], last = right_offsets[i + 1];
        for (int64_t p = first; p < last; p++) out[p] = empty[right[p]];
        for (int64_t q = left_offsets[i]; q < left_offsets[i + 1]; q++) {
            /* Both are ascending: the last hit bounds the next search. */
            int64_t low = rows[left[q]];
            const int64_t end = rows[left[q] + 1];
            for (int64_t p = first; p < last; p++) {
                for (int64_t high = end; low < high;) {
                    const int64_t middle = (low + high) >> 1;
                    if (columns[middle] < right[p])
                        low = middle + 1;
                    else
                        high = middle;
                }
                if (low < end && columns[low] == right[p]) out[p] += probability[low];
            }
        }
    }
}

int64_t EXPORT(maximisation)(int64_t lane, int64_t lanes, const int64_t *starts,
                             const int32_t *where, const int32_t *right,
                             const int64_t *right_offsets, const int64_t *rows,
                             const int32_t *columns, const float *probability,
                             const float *expected, float *new, int64_t size, int64_t t, int64_t u,
                             int64_t n, int64_t m) {
    /* Place of each token in the row at hand, plus one, and expected counts of the row. */
    int64_t *place = calloc((size_t)(size + 1), sizeof(int64_t));
    double *counts = malloc((size_t)(size + 1) * sizeof(double));
    if (place == NULL || counts == NULL) {
        free(place);
        free(counts);
        return 1;
    }
    for (int64_t piece = lane; piece < size; piece += lanes) {
        const int64_t first = rows[piece], count = rows[piece + 1] - first;
        for (int64_t k = 0; k < count; k++) {
            place[columns[first + k]] = k + 1;
            counts[k] = 0.0;
        }
        for (int64_t at = starts[piece]; at < starts[piece + 1]; at++)
            for (int64_t p = right_offsets[where[at]]; p < right_offsets[where[at] + 1]; p++) {
                const int64_t k = place[right[p]] - 1;
                if (k >= 0) counts[k] += (double)(probability[first + k] / expected[p]);
            }
        double total = 0.0;
        for (int64_t k = 0; k < count; k++) total += counts[k];
        total = MAX(total, 1e-30);
        for (int64_t k = 0; k < count; k++) {
            new[first + k] = (float)(counts[k] / total);
            place[columns[first + k]] = 0;
        }
    }
    free(place);
    free(counts);
    return 0;
}

int64_t EXPORT(composed)(int64_t lane, int64_t lanes, const int64_t *first_rows,
                         const int32_t *first_columns, const float *first_probability,
                         const int64_t *then_rows, const int32_t *then_columns,
                         const float *then_probability, double least, const int64_t *rows,
                         int32_t *columns, float *probability, int64_t *sizes, int64_t size,
                         int64_t e, int64_t f, int64_t m) {
    double *total = calloc((size_t)(2 * size + 1), sizeof(double));
    if (total == NULL) return 1;
    int32_t *seen = (int32_t *)(total + size), *scratch = seen + size;
    for (int64_t x = lane; x < size; x += lanes) {
        int64_t found = 0, kept = 0;
        for (int64_t i = first_rows[x]; i < first_rows[x + 1]; i++) {
            const int64_t middle = first_columns[i];
            for (int64_t j = then_rows[middle]; j < then_rows[middle + 1]; j++) {
                const int32_t y = then_columns[j];
                const double product = (double)first_probability[i] * (double)then_probability[j];
                if (product == 0.0) continue;
                if (total[y] == 0.0) seen[found++] = y;
                total[y] += product;
            }
        }
        sort_i4(seen, scratch, found);
        for (int64_t k = 0; k < found; k++) {
            const int32_t y = seen[k];
            if (total[y] >= least) {
                if (m > 0) {
                    columns[rows[x] + kept] = y;
                    probability[rows[x] + kept] = (float)MIN(total[y], 1.0);
                }
                kept++;
            }
            total[y] = 0.0;
        }
        sizes[x] = kept;
    }
    free(total);
    return 0;
}
