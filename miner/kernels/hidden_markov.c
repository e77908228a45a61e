/* Alignment of tokens by a hidden Markov model: see miner/kernels/hidden_markov.py. */

#define COSINES 16
#define EVIDENCES 12
#define FARTHEST_JUMP 6
#define JUMPS (2 * FARTHEST_JUMP + 2)
#define POSTERIOR_FLOOR 0.001

typedef struct {
    const float *emission, *jump, *unaligned;
} Aligner;

/* Tables (5, s, s) of all pairs of tokens, and what aligning works in: vectors of positions, the
   likelihoods of both sides' tokens, jumps forward and back in time, and emissions. x has
   FARTHEST_JUMP zeros before and after its numbers. */
typedef struct {
    float *tables;
    int64_t s;
    float *x, *jumped, *inside, *here, *likelihood[2], *turned;
    float jumps[2][JUMPS];
} Alignment;

static float *table_of(const Alignment *own, int table) {
    return own->tables + table * own->s * own->s;
}

/* Allocate for sentences of s tokens; tables may be given. Free tables, if they are not, and x. */
static int allocate_alignment(Alignment *own, float *tables, int64_t s) {
    own->s = s;
    own->tables = tables ? tables : malloc((size_t)(5 * s * s + 1) * sizeof(float));
    own->x = malloc((size_t)(s * s + 6 * s + 2 * FARTHEST_JUMP) * sizeof(float));
    if (own->tables == NULL || own->x == NULL) return 0;
    own->jumped = own->x + s + 2 * FARTHEST_JUMP;
    own->inside = own->jumped + s;
    own->here = own->inside + s;
    own->likelihood[0] = own->here + s;
    own->likelihood[1] = own->likelihood[0] + s;
    own->turned = own->likelihood[1] + s;
    return 1;
}

/* Return the place of a pair of tokens in the table of emissions. */
static int emission_bin(float cosine, float evidence, int same) {
    const double left = ((double)cosine + 0.2) * 13.0, right = (double)evidence * 12.0;
    const int row = same ? COSINES - 1 : (int)MIN(MAX(left, 0), COSINES - 2);
    const int column = evidence > 0 ? 1 + (int)MIN(right, EVIDENCES - 2) : 0;
    return row * EVIDENCES + column;
}

/* Write the probability of each position (n) after a jump from x. */
static void jump_from(const float *restrict x, int64_t n, const float *restrict jump,
                      float *restrict out) {
    float far = 0.0f;
    for (int64_t i = 0; i < n; i++) far += x[FARTHEST_JUMP + i];
    far *= jump[2 * FARTHEST_JUMP + 1] / (float)n;
    for (int64_t i = 0; i < n; i++) {
        float total = far;
#pragma GCC unroll 13
        for (int d = 0; d < 2 * FARTHEST_JUMP + 1; d++)
            total += jump[d] * x[i + 2 * FARTHEST_JUMP - d];
        out[i] = total;
    }
}

/* Write the posterior (m, n) of each position for each token, by the forward-backward algorithm.
   Rows of emissions and posteriors are s apart. The likelihood (m) is how much likelier than chance
   a token is after the tokens before it. */
static void posteriors(int64_t m, int64_t n, const float *emission, float unaligned,
                       const Alignment *own, float *posterior, float *restrict likelihood) {
    float *restrict x = own->x, *restrict jumped = own->jumped;
    float *restrict inside = own->inside, *restrict here = own->here;
    const float aligned = 1.0f - unaligned;
    for (int64_t i = 0; i < n + 2 * FARTHEST_JUMP; i++)
        x[i] = i >= FARTHEST_JUMP && i < n + FARTHEST_JUMP ? 1.0f : 0.0f;
    jump_from(x, n, own->jumps[1], inside);
    for (int64_t i = 0; i < n; i++) {
        /* Jumps out of the sentence are impossible; their share goes to the others. */
        inside[i] = aligned / inside[i];
        jumped[i] = (float)((double)aligned / (double)n);
        here[i] = (float)(1.0 / (double)n);
    }
    for (int64_t j = 0; j < m; j++) {
        const float *restrict given = emission + j * own->s;
        float *restrict row = posterior + j * own->s;
        float total = 0.0f;
        for (int64_t i = 0; i < n; i++) {
            row[i] = jumped[i] * given[i];
            here[i] = row[i] + unaligned * here[i];
        }
        for (int64_t i = 0; i < n; i++) total += here[i];
        likelihood[j] = total;
        const float share = 1.0f / total;
        for (int64_t i = 0; i < n; i++) {
            row[i] *= share;
            here[i] *= share;
            x[FARTHEST_JUMP + i] = here[i] * inside[i];
        }
        jump_from(x, n, own->jumps[0], jumped);
    }
    /* Most that the tokens after it tell of a position: float32 would overflow. */
    const float highest = 1e30f;
    for (int64_t i = 0; i < n; i++) here[i] = 1.0f;
    for (int64_t j = m - 1; j > 0; j--) {
        const float *restrict given = emission + j * own->s;
        float *restrict row = posterior + j * own->s;
        for (int64_t i = 0; i < n; i++) {
            row[i] *= here[i];
            x[FARTHEST_JUMP + i] = given[i] * here[i];
        }
        jump_from(x, n, own->jumps[1], jumped);
        const float share = 1.0f / likelihood[j];
        for (int64_t i = 0; i < n; i++) {
            const float after = (jumped[i] * inside[i] + unaligned * here[i]) * share;
            here[i] = MIN(highest, after);
        }
    }
    for (int64_t i = 0; i < n; i++) posterior[i] *= here[i];
}

/* Align two sentences in both directions. The first table holds cosines, the fourth lexical
   evidence, with a row for each token of b (m) and a column for each of a (n). The second gets the
   posteriors (m, n) of positions in a, the third (n, m) in b, and the fifth emissions. */
static void align_both(const int32_t *a, int64_t n, const int32_t *b, int64_t m,
                       const Aligner *aligner, Alignment *own) {
    for (int64_t j = 0; j < m; j++) {
        const float *cosine = table_of(own, 0) + j * own->s, *evidence = table_of(own, 3) + j * own->s;
        float *emitted = table_of(own, 4) + j * own->s;
        for (int64_t i = 0; i < n; i++) {
            const int bin = emission_bin(cosine[i], evidence[i], a[i] == b[j]);
            own->turned[i * own->s + j] = emitted[i] = aligner->emission[bin];
        }
    }
    for (int d = 0; d < JUMPS; d++)
        own->jumps[0][d] = own->jumps[1][d < JUMPS - 1 ? JUMPS - 2 - d : d] = aligner->jump[d];
    const float unaligned = *aligner->unaligned;
    posteriors(m, n, table_of(own, 4), unaligned, own, table_of(own, 1), own->likelihood[1]);
    posteriors(n, m, own->turned, unaligned, own, table_of(own, 2), own->likelihood[0]);
}

/* Write how well each token of a, then of b, is matched (n + m, 2): the logarithm of how much
   likelier than chance it is, and of the posterior of its best counterpart in both directions. */
static void match(const int32_t *a, int64_t n, const int32_t *b, int64_t m, const Aligner *aligner,
                  Alignment *own, float *out) {
    align_both(a, n, b, m, aligner, own);
    for (int64_t i = 0; i < n + m; i++) {
        out[2 * i] = logf(i < n ? own->likelihood[0][i] : own->likelihood[1][i - n]);
        out[2 * i + 1] = 0.0f;
    }
    for (int64_t j = 0; j < m; j++) {
        const float *row = table_of(own, 1) + j * own->s, *column = table_of(own, 2) + j;
        float *right = out + 2 * (n + j) + 1;
        for (int64_t i = 0; i < n; i++) {
            const float both = row[i] * column[i * own->s];
            out[2 * i + 1] = MAX(both, out[2 * i + 1]);
            *right = MAX(both, *right);
        }
    }
    for (int64_t i = 0; i < n + m; i++)
        out[2 * i + 1] = (float)log((double)out[2 * i + 1] + POSTERIOR_FLOOR);
}

/* Add what one pair tells of an aligner to counts: see `count_pair` in hidden_markov.py. */
static void count_one(const int32_t *a, int64_t n, const int32_t *b, int64_t m,
                      const Aligner *aligner, Alignment *own, double *emissions, double *jumps,
                      int64_t farthest, double *unaligned) {
    const double counted = 0.02; /* least posterior of a counterpart whose jumps are counted */
    align_both(a, n, b, m, aligner, own);
    const int64_t s = own->s;
    const float *forward = table_of(own, 1), *backward = table_of(own, 2);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = j * s + i;
            double *to = emissions + emission_bin(own->tables[at], table_of(own, 3)[at], a[i] == b[j]);
            to[0] += (double)(forward[at] + backward[i * s + j]) / 2;
            to[COSINES * EVIDENCES] += 1.0 / (double)MAX(n, m);
        }
    for (int side = 0; side < 2; side++) {
        const float *posterior = side ? backward : forward;
        const int64_t rows = side ? n : m, columns = side ? m : n;
        for (int64_t j = 0; j < rows; j++) {
            const float *row = posterior + j * s;
            double aligned = 0;
            for (int64_t i = 0; i < columns; i++) {
                aligned += row[i];
                if (j == 0 || row[i] < counted) continue;
                for (int64_t k = 0; k < columns; k++)
                    jumps[farthest + MIN(MAX(i - k, -farthest), farthest)] += row[i] * row[k - s];
            }
            unaligned[0] += 1.0 - aligned;
            unaligned[1] += 1.0;
        }
    }
}

int64_t EXPORT(match_tokens)(const int32_t *a, const int32_t *b, float *tables,
                             const float *emission, const float *jump, const float *unaligned,
                             float *out, int64_t n, int64_t m, int64_t s, int64_t r) {
    const Aligner aligner = {emission, jump, unaligned};
    Alignment own;
    const int whole = allocate_alignment(&own, tables, s);
    if (whole) match(a, n, b, m, &aligner, &own, out);
    free(own.x);
    return !whole;
}

int64_t EXPORT(count_pair)(const int32_t *a, const int32_t *b, float *tables, const float *emission,
                           const float *jump, const float *unaligned, double *emissions,
                           double *jumps, double *counts, int64_t n, int64_t m, int64_t s,
                           int64_t j) {
    const Aligner aligner = {emission, jump, unaligned};
    Alignment own;
    const int whole = allocate_alignment(&own, tables, s);
    if (whole) count_one(a, n, b, m, &aligner, &own, emissions, jumps, j / 2, counts);
    free(own.x);
    return !whole;
}
