/* Beads of an alignment: see miner/kernels/beads.py. */

/* Features of a bead beside its kind, and the largest of its lengths' differences. */
#define FEATURES 6
#define LARGEST_DELTA 6.0
/* Variance of the characters of a translation, for each character (Gale and Church 1993). */
#define VARIANCE 6.8

/* Cell of the state (i, j), or -1 outside the band. */
static inline int64_t cell_of(int64_t i, int64_t j, const int64_t *low, const int64_t *first) {
    if (i < 0 || j < low[i] || j >= low[i] + first[i + 1] - first[i]) return -1;
    return first[i] + j - low[i];
}

/* What the features of beads are computed from. */
typedef struct {
    const float *flat;
    const int64_t *flat_low, *flat_first;
    const float *norms[2], *usual[2];
    const int64_t *lengths[2];
    double ratio, loose, level;
    int64_t width;
} documents;

/* Write to x the features of the bead of a and b sentences that ends at (i, j). */
static void features(int64_t i, int64_t j, int64_t a, int64_t b, const documents *known, double *x) {
    const int64_t here = i - a, there = j - b;
    double left = (double)(known->lengths[0][i] - known->lengths[0][here]);
    const double right = (double)(known->lengths[1][j] - known->lengths[1][there]);
    for (int f = 0; f < FEATURES; f++) x[f] = 0.0;
    if (a == 0 || b == 0) {
        x[4] = log(1.0 + left + right);
        x[5] = known->loose;
        return;
    }
    double total = 0.0;
    for (int64_t row = here; row < i; row++) {
        const float *own = known->flat + known->flat_first[row] - known->flat_low[row];
        for (int64_t column = there; column < j; column++) total += (double)own[column];
    }
    const int64_t one = here * known->width + a - 1, other = there * known->width + b - 1;
    const float norm = known->norms[0][one] * known->norms[1][other];
    const float usual = known->usual[0][one] + known->usual[1][other];
    const double cosine = norm > 0.0f ? total / (double)norm / known->level : 0.0;
    x[0] = (double)(a * b) * cosine;
    x[1] = (double)(a * b) * (double)usual / 2.0 / known->level;
    x[2] = cosine;
    left *= known->ratio;
    const double delta = fabs(left - right) / sqrt(VARIANCE * (left + right + 2.0) / 2.0);
    x[3] = MIN(LARGEST_DELTA, delta);
}

void EXPORT(score_beads)(const int64_t *low, const int64_t *first, const float *flat,
                         const int64_t *flat_low, const int64_t *flat_first, const float *norms,
                         const float *other_norms, const float *usual, const float *other_usual,
                         const int64_t *lengths, const int64_t *other_lengths, double ratio,
                         double loose, double level, const int64_t *kinds, const double *weights,
                         float *scores, int64_t n, int64_t p, int64_t A, int64_t m, int64_t K,
                         int64_t cells) {
    const documents known = {flat, flat_low, flat_first, {norms, other_norms}, {usual, other_usual},
                             {lengths, other_lengths}, ratio, loose, level, A};
    double x[FEATURES];
    for (int64_t i = 0; i <= n; i++)
        for (int64_t cell = first[i]; cell < first[i + 1]; cell++) {
            const int64_t j = low[i] + cell - first[i];
            for (int64_t kind = 0; kind < K; kind++) {
                const int64_t a = kinds[2 * kind], b = kinds[2 * kind + 1];
                float *place = scores + cell * K + kind;
                *place = -INFINITY;
                if (cell_of(i - a, j - b, low, first) < 0) continue;
                features(i, j, a, b, &known, x);
                double score = weights[kind];
                for (int f = 0; f < FEATURES; f++) score += weights[K + f] * x[f];
                *place = (float)score;
            }
        }
}

void EXPORT(bead_features)(const int64_t *spans, const float *flat, const int64_t *flat_low,
                           const int64_t *flat_first, const float *norms, const float *other_norms,
                           const float *usual, const float *other_usual, const int64_t *lengths,
                           const int64_t *other_lengths, double ratio, double loose, double level,
                           double *out, int64_t beads, int64_t p, int64_t n, int64_t A, int64_t m) {
    const documents known = {flat, flat_low, flat_first, {norms, other_norms}, {usual, other_usual},
                             {lengths, other_lengths}, ratio, loose, level, A};
    for (int64_t row = 0; row < beads; row++) {
        const int64_t *span = spans + 4 * row;
        features(span[1], span[3], span[1] - span[0], span[3] - span[2], &known,
                 out + FEATURES * row);
    }
}

double EXPORT(forward_backward)(const float *scores, const int64_t *low, const int64_t *first,
                                const int64_t *kinds, float *out, double *before, double *after,
                                double *ways, int64_t cells, int64_t K, int64_t n) {
    for (int64_t cell = 0; cell < cells; cell++) before[cell] = after[cell] = -INFINITY;
    before[0] = after[cells - 1] = 0.0;
    for (int64_t i = 0; i <= n; i++)
        for (int64_t cell = MAX(first[i], 1); cell < first[i + 1]; cell++) {
            const int64_t j = low[i] + cell - first[i];
            double most = -INFINITY, total = 0.0;
            for (int64_t kind = 0; kind < K; kind++) {
                const float score = scores[cell * K + kind];
                ways[kind] = -INFINITY;
                if (!(score > -INFINITY)) continue;
                const int64_t origin =
                    cell_of(i - kinds[2 * kind], j - kinds[2 * kind + 1], low, first);
                if (origin >= 0) ways[kind] = before[origin] + (double)score;
                most = MAX(ways[kind], most);
            }
            if (most == -INFINITY) continue;
            for (int64_t kind = 0; kind < K; kind++)
                if (ways[kind] > -INFINITY) total += exp(ways[kind] - most);
            before[cell] = most + log(total);
        }
    const double whole = before[cells - 1];
    for (int64_t i = n; i >= 0; i--)
        for (int64_t cell = first[i + 1] - 1; cell >= first[i]; cell--) {
            const int64_t j = low[i] + cell - first[i];
            for (int64_t kind = 0; kind < K; kind++) {
                const float score = scores[cell * K + kind];
                out[cell * K + kind] = 0.0f;
                if (score == -INFINITY || after[cell] == -INFINITY) continue;
                const int64_t origin =
                    cell_of(i - kinds[2 * kind], j - kinds[2 * kind + 1], low, first);
                if (origin < 0 || before[origin] == -INFINITY) continue;
                const double way = (double)score + after[cell];
                out[cell * K + kind] = (float)exp(before[origin] + way - whole);
                const double high = MAX(way, after[origin]), less = MIN(way, after[origin]);
                after[origin] = high + log1p(exp(less - high));
            }
        }
    return whole;
}

int64_t EXPORT(best_path)(const float *values, const int64_t *low, const int64_t *first,
                          const int64_t *kinds, int64_t *beads, double *best, int8_t *choice,
                          int64_t cells, int64_t K, int64_t n, int64_t most) {
    for (int64_t cell = 0; cell < cells; cell++) best[cell] = -INFINITY;
    best[0] = 0.0;
    for (int64_t i = 0; i <= n; i++)
        for (int64_t cell = first[i]; cell < first[i + 1]; cell++) {
            const int64_t j = low[i] + cell - first[i];
            choice[cell] = -1;
            for (int64_t kind = 0; kind < K; kind++) {
                const float own = values[cell * K + kind];
                if (!(own > -INFINITY)) continue;
                const int64_t origin =
                    cell_of(i - kinds[2 * kind], j - kinds[2 * kind + 1], low, first);
                if (origin < 0 || !(best[origin] + (double)own > best[cell])) continue;
                best[cell] = best[origin] + (double)own;
                choice[cell] = (int8_t)kind;
            }
        }
    int64_t i = n, cell = cells - 1, size = 0;
    int64_t j = low[n] + cell - first[n];
    for (; cell != 0; size++) {
        const int64_t kind = choice[cell];
        if (kind < 0 || size == most) return 0;
        beads[2 * size] = cell;
        beads[2 * size + 1] = kind;
        i -= kinds[2 * kind];
        j -= kinds[2 * kind + 1];
        cell = cell_of(i, j, low, first);
    }
    return size;
}

void EXPORT(widen_band)(const int64_t *starts, const int64_t *ends, int64_t width,
                        int64_t rectangle, int64_t *low, int64_t *high, int64_t g, int64_t n) {
    for (int64_t gap = 0; gap < g; gap++) {
        const int64_t i = starts[2 * gap], i_end = ends[2 * gap];
        const int64_t j = starts[2 * gap + 1], j_end = ends[2 * gap + 1];
        const double rise = (double)(j_end - j) / (double)MAX(1, i_end - i);
        const int whole = (i_end - i + 1) * (j_end - j + 1) <= rectangle;
        const double longest = (double)MAX(i_end - i, j_end - j);
        const int64_t slack = width + (whole ? 0 : (int64_t)rint(sqrt(longest)));
        for (int64_t row = i; row <= i_end; row++) {
            const double line = (double)j + rise * (double)(row - i);
            const int64_t left = whole ? j : MAX(j, (int64_t)(line - rise));
            const int64_t right = whole ? j_end : MIN(j_end, (int64_t)ceil(line + rise));
            low[row] = MIN(low[row], left - slack);
            high[row] = MAX(high[row], right + slack);
        }
    }
}

void EXPORT(band_products)(const float *source, const float *target, const int64_t *left,
                           const int64_t *starts, float *out, int64_t n, int64_t d, int64_t m,
                           int64_t p) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t place = starts[i]; place < starts[i + 1]; place++)
            out[place] = rough(source + i * d, target + (left[i] + place - starts[i]) * d, d);
}

void EXPORT(block_norms)(const float *sums, const float *usual, float *norms, float *cosines,
                         float *total, int64_t n, int64_t d, int64_t A) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < d; c++) total[c] = 0.0f;
        for (int64_t count = 0; count < MIN(A, n - i); count++) {
            const float *own = sums + (i + count) * d;
            for (int64_t c = 0; c < d; c++) total[c] += own[c];
            const float norm = sqrtf(rough(total, total, d));
            norms[i * A + count] = norm;
            cosines[i * A + count] = rough(total, usual, d) / MAX(1e-9f, norm);
        }
    }
}

/* The heaviest chain that ends at place or before, in a Fenwick tree of chains. */
static double heaviest(const double *tree, const int64_t *last, int64_t place, int64_t *pair) {
    double most = 0.0;
    *pair = -1;
    for (; place > 0; place -= place & -place)
        if (tree[place] > most) {
            most = tree[place];
            *pair = last[place];
        }
    return most;
}

void EXPORT(heaviest_chain)(const int64_t *target, const double *weight, uint8_t *keep,
                            double *tree, int64_t *last, int64_t *before, int64_t p, int64_t size) {
    for (int64_t place = 0; place <= size; place++) tree[place] = 0.0;
    for (int64_t pair = 0; pair < p; pair++) {
        const double most = heaviest(tree, last, target[pair], before + pair) + weight[pair];
        for (int64_t place = target[pair] + 1; place <= size; place += place & -place)
            if (most > tree[place]) {
                tree[place] = most;
                last[place] = pair;
            }
    }
    int64_t pair;
    for (heaviest(tree, last, size, &pair); pair >= 0; pair = before[pair]) keep[pair] = 1;
}
