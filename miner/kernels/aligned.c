/* Tokens beside their counterparts, and the comparer's network: see miner/kernels/aligned.py. */

/* Constants of this module. */
#define MOST 384
#define EVIDENCE 10.0
#define DISTANCE 0.15
#define NUMBERS 22
#define SURPRISE 21
#define BINS 24
#define COUNTED_PAIRS 256
#define FARTHEST 40

/* What is known of tokens, and the rows of pairs. */
typedef struct {
    Tokens tokens;
    Aligner aligner;
    const uint8_t *surprise;
} Knowledge;

/* A pair, and what is computed of it: positions of the counterparts of both sides, matches (n + m,
   2), and numbers (n + m, NUMBERS) of the tokens. `position` (V) is -1 between pairs. */
typedef struct {
    const int32_t *a, *b;
    int64_t n, m;
    Alignment alignment;
    int32_t *position, *following, *places[2], *load;
    float *matches, *numbers;
    int16_t *rows;
    int8_t *room;
    double *along;
} Pair;

static int allocate_pair(Pair *pair, const Tokens *tokens) {
    const int64_t floats = tokens->size + 8 * MOST + 2 * MOST * NUMBERS + MOST * tokens->d / 2 +
                           UNPACKED * tokens->d / 4;
    pair->along = malloc((size_t)MOST * sizeof(double) + (size_t)floats * sizeof(float));
    if (!allocate_alignment(&pair->alignment, NULL, MOST) || pair->along == NULL) return 0;
    int32_t *at = (int32_t *)(pair->along + MOST);
    pair->following = at;
    pair->places[0] = at + MOST;
    pair->places[1] = at + 2 * MOST;
    pair->load = at + 3 * MOST;
    pair->matches = (float *)(at + 4 * MOST);
    pair->numbers = pair->matches + 4 * MOST;
    pair->rows = (int16_t *)(pair->numbers + 2 * MOST * NUMBERS);
    memset(pair->rows, 0, (size_t)(MOST * tokens->d) * sizeof(int16_t));
    pair->room = (int8_t *)(pair->rows + MOST * tokens->d);
    pair->position = (int32_t *)(pair->room + UNPACKED * tokens->d);
    for (int64_t token = 0; token < tokens->size; token++) pair->position[token] = -1;
    return 1;
}

static void release_pair(Pair *pair) {
    free(pair->alignment.tables);
    free(pair->alignment.x);
    free(pair->along);
}

/* Write the probabilities of others (m) as translations of own (n): of token j given i, to
   out[i * step + j * other_step], which is 0. */
static void write_translations(const Tokens *all, Pair *pair, const int32_t *own, int64_t n,
                               const int32_t *others, int64_t m, int64_t step, int64_t other_step,
                               float *out) {
    for (int64_t j = m - 1; j >= 0; j--) {
        pair->following[j] = pair->position[others[j]];
        pair->position[others[j]] = (int32_t)j;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = all->offsets[own[i]]; e < all->offsets[own[i] + 1]; e++)
            for (int32_t j = pair->position[all->translations[e]]; j >= 0; j = pair->following[j])
                out[i * step + j * other_step] = all->probability[e];
    for (int64_t j = 0; j < m; j++) pair->position[others[j]] = -1;
}

/* Write the tables of all pairs of tokens: cosines, the probabilities of b given a and of a given b,
   the evidence of the likelier of both, and scores. */
static void relate(const Tokens *all, Pair *pair) {
    const int32_t *a = pair->a, *b = pair->b;
    const int64_t n = pair->n, m = pair->m;
    float *const tables[5] = {
        table_of(&pair->alignment, 0), table_of(&pair->alignment, 1), table_of(&pair->alignment, 2),
        table_of(&pair->alignment, 3), table_of(&pair->alignment, 4),
    };
    for (int64_t i = 0; i < n; i++) {
        unpack_wide(all, a[i], pair->rows + i * all->d);
        pair->along[i] = ((double)i + 0.5) / (double)n;
    }
    dots_with(all, pair->rows, n, b, m, tables[0], MOST, pair->room);
    for (int side = 1; side < 3; side++)
        for (int64_t j = 0; j < m; j++)
            memset(tables[side] + j * MOST, 0, (size_t)n * sizeof(float));
    write_translations(all, pair, a, n, b, m, 1, MOST, tables[1]);
    write_translations(all, pair, b, m, a, n, MOST, 1, tables[2]);
    for (int64_t j = 0; j < m; j++) {
        float *restrict similar = tables[0] + j * MOST, *restrict evidence = tables[3] + j * MOST;
        float *restrict score = tables[4] + j * MOST;
        const float *restrict forward = tables[1] + j * MOST, *restrict back = tables[2] + j * MOST;
        const double place = ((double)j + 0.5) / (double)m;
        const float scale = all->scale[b[j]], frequency = all->frequency[b[j]];
        for (int64_t i = 0; i < n; i++) {
            similar[i] *= scale * all->scale[a[i]];
            const float one = forward[i] / frequency, other = back[i] / all->frequency[a[i]];
            const float ratio = MAX(other, one);
            const double lexical = ratio > 0 ? log(1.0 + (double)ratio) / EVIDENCE : 0.0;
            evidence[i] = (float)lexical;
            score[i] = (float)(similar[i] + lexical - DISTANCE * fabs(pair->along[i] - place));
        }
    }
}

/* Write the first 18 numbers of each token of a side. Token i of the side and j of the other are at
   i * step + j * other_step of the tables. */
static void describe_tokens(const Tokens *all, Pair *pair, int side) {
    const int32_t *own = side ? pair->b : pair->a, *others = side ? pair->a : pair->b;
    const int64_t n = side ? pair->m : pair->n, m = side ? pair->n : pair->m;
    const int64_t step = side ? MOST : 1, other_step = side ? 1 : MOST;
    const float *similar = table_of(&pair->alignment, 0), *evidence = table_of(&pair->alignment, 3);
    const float *score = table_of(&pair->alignment, 4);
    const float *there = table_of(&pair->alignment, 1 + side);
    const float *back = table_of(&pair->alignment, 2 - side);
    int32_t *partner = pair->places[side], *mutual = pair->places[1 - side];
    float *out = pair->numbers + (side ? pair->n * NUMBERS : 0);
    memset(pair->load, 0, (size_t)m * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        float best = -INFINITY, second = -INFINITY, nearest = -INFINITY, most = 0, total = 0;
        int32_t place = 0;
        for (int64_t j = 0, at = i * step; j < m; j++, at += other_step) {
            if (score[at] > best) {
                second = best;
                best = score[at];
                place = (int32_t)j;
            } else if (score[at] > second) {
                second = score[at];
            }
            nearest = MAX(similar[at], nearest);
            most = MAX(evidence[at], most);
            total += there[at];
        }
        partner[i] = place;
        pair->load[place]++;
        float *row = out + i * NUMBERS;
        row[9] = MIN(1.0f, best - second);
        row[11] = nearest;
        row[12] = most;
        row[15] = MIN(1.0f, total);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = partner[i], at = i * step + j * other_step;
        float *row = out + i * NUMBERS;
        row[0] = similar[at];
        row[1] = evidence[at];
        row[2] = there[at];
        row[3] = back[at];
        row[4] = own[i] == others[j] ? 1.0f : 0.0f;
        row[5] = (float)(((double)j + 0.5) / (double)m - ((double)i + 0.5) / (double)n);
        row[6] = fabsf(row[5]);
        row[7] = mutual[j] == i ? 1.0f : 0.0f;
        row[8] = (float)(MIN(pair->load[j] - 1, 3) / 3.0);
        row[10] = i + 1 < n ? (float)(MAX(-3, MIN(3, partner[i + 1] - j)) / 3.0) : 0.0f;
        row[13] = all->weight[own[i]];
        row[14] = (float)(-logf(all->frequency[own[i]]) / EVIDENCE);
    }
    for (int64_t i = 0; i < n; i++) {
        float *row = out + i * NUMBERS, *before = row - NUMBERS, *after = row + NUMBERS;
        row[16] = i > 0 ? MAX(before[1], before[0]) : 1.0f;
        row[17] = i + 1 < n ? MAX(after[1], after[0]) : 1.0f;
    }
}

/* Describe the tokens of both sides of a pair. */
static void describe_pair(const Knowledge *known, Pair *pair) {
    const int64_t n = pair->n, m = pair->m;
    relate(&known->tokens, pair);
    for (int64_t j = 0; j < m; j++) {
        const float *score = table_of(&pair->alignment, 4) + j * MOST;
        int32_t place = 0;
        for (int64_t i = 1; i < n; i++)
            if (score[i] > score[place]) place = (int32_t)i;
        pair->places[1][j] = place;
    }
    describe_tokens(&known->tokens, pair, 0);
    describe_tokens(&known->tokens, pair, 1);
    match(pair->a, n, pair->b, m, &known->aligner, &pair->alignment, pair->matches);
    const float *forward = table_of(&pair->alignment, 1), *backward = table_of(&pair->alignment, 2);
    for (int64_t i = 0; i < n + m; i++) {
        const int64_t left = i < n ? i : pair->places[1][i - n];
        const int64_t right = i < n ? pair->places[0][i] : i - n;
        const float *found = pair->matches + 2 * i;
        float *row = pair->numbers + i * NUMBERS;
        const float both = forward[right * MOST + left] * backward[left * MOST + right];
        /* Half a nat a column, from -9 on; 16 codes a nat. */
        const int bin = (int)MIN(MAX(((double)(found[0] + found[1]) + 9.0) * 2.0, 0), BINS - 1);
        row[18] = found[0];
        row[19] = found[1];
        row[20] = (float)log((double)both + POSTERIOR_FLOOR);
        row[SURPRISE] = known->surprise[(i < n ? pair->a[i] : pair->b[i - n]) * BINS + bin] / 16.0f;
    }
}

static void write_ids(const int32_t *own, int64_t n, const int32_t *others, const int32_t *places,
                      int32_t *ids) {
    for (int64_t i = 0; i < n; i++) {
        ids[4 * i] = own[i];
        ids[4 * i + 1] = others[places[i]];
        ids[4 * i + 2] = i > 0 ? own[i - 1] : -1;
        ids[4 * i + 3] = i + 1 < n ? own[i + 1] : -1;
    }
}

/* The network, and the inputs and outputs of its layers: of the first layer, which follow the
   numbers of a token; mean and maximum over the tokens of each side; the second layer's input. */
typedef struct {
    const float *units, *token, *token_bias, *pair, *pair_bias, *logit, *logit_bias;
    int64_t size, hidden;
    float *given, *value, *pooled, *both;
} Network;

/* Write max(0, given (g) @ weight + bias) to out (h). Products are added in order, eight inputs at a
   time: fewer loads and stores of the sums. */
static void layer(const float *restrict given, int64_t g, const float *restrict weight,
                  const float *restrict bias, float *restrict out, int64_t h) {
    memcpy(out, bias, (size_t)h * sizeof(float));
    int64_t i = 0;
    for (; i + 8 <= g; i += 8) {
        const float *own = given + i, *row = weight + i * h;
        for (int64_t k = 0; k < h; k++) {
            float total = out[k] + own[0] * row[k];
            total += own[1] * row[h + k];
            total += own[2] * row[2 * h + k];
            total += own[3] * row[3 * h + k];
            total += own[4] * row[4 * h + k];
            total += own[5] * row[5 * h + k];
            total += own[6] * row[6 * h + k];
            out[k] = total + own[7] * row[7 * h + k];
        }
    }
    for (; i < g; i++)
        for (int64_t k = 0; k < h; k++) out[k] += given[i] * weight[i * h + k];
    for (int64_t k = 0; k < h; k++) out[k] = MAX(0.0f, out[k]);
}

/* Write the input of the first layer: a token, its counterpart, and the tokens beside it, -1 for
   none. */
static void give(const Network *network, const float *numbers, int32_t own, int32_t other,
                 int32_t before, int32_t after) {
    const int64_t size = network->size;
    const float *one = network->units + own * size, *two = network->units + other * size;
    float *restrict to = network->given + NUMBERS;
    memcpy(network->given, numbers, NUMBERS * sizeof(float));
    for (int64_t k = 0; k < size; k++) {
        to[k] = one[k];
        to[size + k] = two[k];
        to[2 * size + k] = fabsf(one[k] - two[k]);
        to[3 * size + k] = one[k] * two[k];
        to[4 * size + k] = before < 0 ? 0.0f : network->units[before * size + k];
        to[5 * size + k] = after < 0 ? 0.0f : network->units[after * size + k];
    }
}

/* Write the mean surprise and the logit of a pair that is described. */
static void compare_described(const Pair *pair, const Network *network, float *out) {
    const int64_t h = network->hidden, inputs = NUMBERS + 6 * network->size;
    out[0] = 0.0f;
    for (int side = 0; side < 2; side++) {
        const int32_t *own = side ? pair->b : pair->a, *others = side ? pair->a : pair->b;
        const int64_t n = side ? pair->m : pair->n;
        const float *numbers = pair->numbers + (side ? pair->n * NUMBERS : 0);
        float *restrict pool = network->pooled + side * 2 * h, *restrict value = network->value;
        for (int64_t k = 0; k < 2 * h; k++) pool[k] = 0.0f; /* outputs are never negative */
        double total = 0;
        for (int64_t i = 0; i < n; i++) total += numbers[i * NUMBERS + SURPRISE];
        out[0] += (float)(total / (double)(2 * n));
        for (int64_t i = 0; i < n; i++) {
            give(network, numbers + i * NUMBERS, own[i], others[pair->places[side][i]],
                 i > 0 ? own[i - 1] : -1, i + 1 < n ? own[i + 1] : -1);
            layer(network->given, inputs, network->token, network->token_bias, value, h);
            for (int64_t k = 0; k < h; k++) {
                pool[k] = (float)((double)pool[k] + (double)value[k] / (double)n);
                pool[h + k] = MAX(value[k], pool[h + k]);
            }
        }
    }
    for (int64_t k = 0; k < 2 * h; k++) {
        network->both[k] = network->pooled[k] + network->pooled[2 * h + k];
        network->both[2 * h + k] = fabsf(network->pooled[k] - network->pooled[2 * h + k]);
    }
    const float n = logf((float)pair->n), m = logf((float)pair->m);
    network->both[4 * h] = (n + m) / 2;
    network->both[4 * h + 1] = fabsf(n - m);
    layer(network->both, 4 * h + 2, network->pair, network->pair_bias, network->value, h);
    out[1] = network->logit_bias[0];
    for (int64_t k = 0; k < h; k++) out[1] += network->value[k] * network->logit[k];
}

/* Arguments that the functions below have in common, and what they tell of tokens. */
#define PAIRS                                                                                      \
    int64_t first, int64_t last, const int32_t *ids_a, const int64_t *offsets_a,                   \
        const int32_t *ids_b, const int64_t *offsets_b, const int64_t *rows_a,                     \
        const int64_t *rows_b, const uint8_t *codes, int64_t d, const float *scale,               \
        const float *weight,                                                                       \
        const float *frequency, const int64_t *offsets, const int32_t *translations,               \
        const float *probability, const float *emission, const float *jump, const float *unaligned
#define SIZES                                                                                      \
    int64_t t, int64_t sentences_a, int64_t u, int64_t sentences_b, int64_t pairs, int64_t V,      \
        int64_t w, int64_t e
#define KNOWN                                                                                      \
    {{codes, scale, weight, frequency, NULL, offsets, translations, probability, V, w, d},         \
     {emission, jump, unaligned}, surprise}
#define OPEN(c) open_pair(&pair, ids_a, offsets_a, rows_a[c], ids_b, offsets_b, rows_b[c])

/* Take the first MOST tokens of both sides of a pair; return 0 if one has none. */
static int open_pair(Pair *pair, const int32_t *ids_a, const int64_t *offsets_a, int64_t a,
                     const int32_t *ids_b, const int64_t *offsets_b, int64_t b) {
    pair->a = ids_a + offsets_a[a];
    pair->b = ids_b + offsets_b[b];
    pair->n = MIN(MOST, offsets_a[a + 1] - offsets_a[a]);
    pair->m = MIN(MOST, offsets_b[b + 1] - offsets_b[b]);
    return pair->n > 0 && pair->m > 0;
}

int64_t EXPORT(count_pairs)(PAIRS, double *emissions, double *jumps, double *counts, SIZES,
                            int64_t chunks) {
    const uint8_t *surprise = NULL;
    const Knowledge known = KNOWN;
    Pair pair;
    const int whole = allocate_pair(&pair, &known.tokens);
    for (int64_t c = first; whole && c < last; c++) {
        if (!OPEN(c)) continue;
        const int64_t chunk = c / COUNTED_PAIRS;
        relate(&known.tokens, &pair);
        count_one(pair.a, pair.n, pair.b, pair.m, &known.aligner, &pair.alignment,
                  emissions + chunk * 2 * COSINES * EVIDENCES, jumps + chunk * (2 * FARTHEST + 1),
                  FARTHEST, counts + chunk * 2);
    }
    release_pair(&pair);
    return !whole;
}

int64_t EXPORT(describe_pairs)(PAIRS, const uint8_t *surprise, const int64_t *starts, int32_t *ids,
                               float *numbers, SIZES, int64_t r) {
    const Knowledge known = KNOWN;
    Pair pair;
    const int whole = allocate_pair(&pair, &known.tokens);
    for (int64_t c = first; whole && c < last; c++) {
        if (!OPEN(c)) continue;
        describe_pair(&known, &pair);
        int32_t *own = ids + starts[c] * 4;
        write_ids(pair.a, pair.n, pair.b, pair.places[0], own);
        write_ids(pair.b, pair.m, pair.a, pair.places[1], own + pair.n * 4);
        memcpy(numbers + starts[c] * NUMBERS, pair.numbers,
               (size_t)((pair.n + pair.m) * NUMBERS) * sizeof(float));
    }
    release_pair(&pair);
    return !whole;
}

int64_t EXPORT(compare_pairs)(PAIRS, const uint8_t *surprise, const float *units,
                              const float *token, const float *token_bias, const float *layer_2,
                              const float *layer_2_bias, const float *logit,
                              const float *logit_bias, float *out, SIZES, int64_t size, int64_t g,
                              int64_t h, int64_t p) {
    const Knowledge known = KNOWN;
    Pair pair;
    float *given = malloc((size_t)(NUMBERS + 6 * size + 9 * h + 2) * sizeof(float));
    float *value = given + NUMBERS + 6 * size, *pooled = value + h, *both = pooled + 4 * h;
    const Network network = {units, token, token_bias, layer_2, layer_2_bias, logit, logit_bias,
                             size,  h,     given,      value,   pooled,       both};
    const int whole = allocate_pair(&pair, &known.tokens) && given != NULL;
    for (int64_t c = first; whole && c < last; c++) {
        out[2 * c] = out[2 * c + 1] = 0.0f;
        if (!OPEN(c)) continue;
        describe_pair(&known, &pair);
        compare_described(&pair, &network, out + 2 * c);
    }
    release_pair(&pair);
    free(given);
    return !whole;
}
