/* Pair features of tokens: see miner/kernels/tokens.py and long_texts.py. */

/* Constants of these modules. */
#define LONGEST 128
#define SLOTS 4096
#define PAIR_FEATURES 9
#define ORDER_FEATURES 4
#define EMPTY 0.02
#define MATCHED 0.35
#define NEAR 2
#define FEWEST 4

/* Tokens whose codes are unpacked at a time. */
#define UNPACKED 64

/* Tokens and their translations, as the arguments of `compare`. A row of codes has d numbers in w
   bytes: w = d, or d / 2 for 4 bits, of which byte j has the numbers j and d / 2 + j. */
typedef struct {
    const uint8_t *codes;
    const float *scale, *weight, *frequency, *information;
    const int64_t *offsets;
    const int32_t *translations;
    const float *probability;
    int64_t size, w, d;
} Tokens;

/* A side of a pair: token ids, and for each token the similarity to its counterpart, the summed
   probability as a translation, the position of the counterpart, the tokens that it is compared
   with, and 1 if these have the same token. */
typedef struct {
    const int32_t *ids;
    int64_t n;
    float *best, *total;
    int32_t *place, *others;
    uint8_t *shared;
} Side;

/* What `compare` works in. Consecutive pairs share a source (n tokens). For each token: its slot, -1
   for none; its first position in the source, -1 for none, `following` being the next; its summed
   probability given the source. For each of the `count` slots: similarities to the source's tokens,
   and their probabilities given the token; the best similarity and its position; the summed
   probability; the token. For each token of the source: codes and scale. */
typedef struct {
    const int32_t *source;
    int64_t n, count, longest;
    int16_t *slot;
    int8_t *position;
    float *translated;
    float *similar, *backward, *nearest, *forward;
    int32_t *where, *used;
    int32_t *following;
    float *scale;
    int16_t *rows;
    int8_t *room;
    Side side[2];
    void *of_sides;
} Work;

/* Allocate the arrays of both sides for texts of `longest` tokens. */
static int fit(Work *work, int64_t longest) {
    if (longest <= work->longest) return 1;
    free(work->of_sides);
    work->longest = longest;
    float *at = work->of_sides = malloc((size_t)longest * 2 * (4 * sizeof(float) + 1));
    if (at == NULL) return 0;
    for (int k = 0; k < 2; k++, at += 4 * longest) {
        Side *side = work->side + k;
        side->best = at;
        side->total = at + longest;
        side->place = (int32_t *)(at + 2 * longest);
        side->others = (int32_t *)(at + 3 * longest);
        side->shared = (uint8_t *)work->of_sides + longest * (8 * (int64_t)sizeof(float) + k);
    }
    return 1;
}

static void release(Work *work) {
    free(work->translated);
    free(work->of_sides);
}

static int allocate(Work *work, int64_t size, int64_t d) {
    memset(work, 0, sizeof *work);
    const int64_t items = 2 * size + SLOTS * (2 * LONGEST + 4) + LONGEST * (2 + d / 2) + UNPACKED * d / 4;
    float *at = malloc((size_t)items * sizeof(float));
    work->translated = at;
    if (at == NULL || !fit(work, LONGEST)) return 0;
    work->slot = (int16_t *)(at + size);
    work->position = (int8_t *)(work->slot + size);
    memset(work->translated, 0, (size_t)size * sizeof(float));
    memset(work->slot, -1, (size_t)size * (sizeof(int16_t) + sizeof(int8_t)));
    work->similar = at += 2 * size;
    work->backward = at += SLOTS * LONGEST;
    work->nearest = at += SLOTS * LONGEST;
    work->forward = at += SLOTS;
    work->where = (int32_t *)(at += SLOTS);
    work->used = (int32_t *)(at += SLOTS);
    work->following = (int32_t *)(at += SLOTS);
    work->scale = at += LONGEST;
    work->rows = (int16_t *)(at += LONGEST);
    work->room = (int8_t *)(work->rows + LONGEST * d);
    memset(work->rows, 0, (size_t)(LONGEST * d) * sizeof(int16_t));
    return 1;
}

/* Write the codes of a token. */
#define UNPACK(name, number)                                                                       \
    static void name(const Tokens *all, int32_t token, number *restrict row) {                     \
        const int8_t *restrict code = (const int8_t *)all->codes + token * all->w;                 \
        if (all->w == all->d) {                                                                    \
            for (int64_t k = 0; k < all->d; k++) row[k] = code[k];                                 \
            return;                                                                                \
        }                                                                                          \
        for (int64_t k = 0; k < all->w; k++) {                                                     \
            row[k] = (int8_t)((uint8_t)code[k] << 4) >> 4;                                         \
            row[all->w + k] = code[k] >> 4;                                                        \
        }                                                                                          \
    }

UNPACK(unpack, int8_t)
UNPACK(unpack_wide, int16_t)

/* Write the products of the first n of rows (r, d) with the codes of tokens (m) to out (m, r), as
   `dots`. `room` (UNPACKED * d) is scratch. */
static void dots_with(const Tokens *all, const int16_t *rows, int64_t n, const int32_t *tokens,
                      int64_t m, float *out, int64_t r, int8_t *room) {
    if (all->w == all->d) {
        dots(rows, n, (const int8_t *)all->codes, tokens, m, out, r, all->d);
        return;
    }
    int32_t place[UNPACKED];
    for (int64_t first = 0; first < m; first += UNPACKED) {
        const int64_t count = MIN(UNPACKED, m - first);
        for (int64_t j = 0; j < count; j++) {
            place[j] = (int32_t)j;
            unpack(all, tokens[first + j], room + j * all->d);
        }
        dots(rows, n, room, place, count, out + first * r, r, all->d);
    }
}

/* Copy the scales of tokens (n), and their codes as int16, for `dots`. */
static void copy_tokens(const Tokens *all, const int32_t *ids, int64_t n, Work *work) {
    for (int64_t i = 0; i < n; i++) {
        unpack_wide(all, ids[i], work->rows + i * all->d);
        work->scale[i] = all->scale[ids[i]];
    }
}

/* Add the probabilities of the translations of tokens (n), or set them to 0. */
static void translate(const Tokens *all, const int32_t *ids, int64_t n, int add, float *translated) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = all->offsets[ids[i]]; e < all->offsets[ids[i] + 1]; e++) {
            float *to = translated + all->translations[e];
            *to = add ? *to + all->probability[e] : 0.0f;
        }
}

/* Write the four features of a side, number `column`, to a row of the result. */
static void describe_side(const Side *side, const Tokens *all, int column, float *row) {
    double heavy = 0, rare = 0, aligned = 0, unmatched = 0, association = 0, covered = 0;
    for (int64_t i = 0; i < side->n; i++) {
        const int32_t token = side->ids[i];
        const float weight = all->weight[token], information = all->information[token];
        const double frequency = all->frequency[token];
        heavy += weight;
        rare += information;
        aligned += weight * side->best[i];
        if (side->best[i] < MATCHED) unmatched += weight;
        const double chance = (double)side->total[i] / side->others[i] + EMPTY * frequency;
        association += log(chance / ((1 + EMPTY) * frequency));
        covered += information * MIN(1.0f, side->total[i]);
    }
    row[column] = (float)(aligned / heavy);
    row[2 + column] = (float)(unmatched / heavy);
    row[4 + column] = (float)(association / (double)side->n);
    row[6 + column] = (float)(covered / rare);
}

/* Write the share of the information of a side in tokens that the other has, too. */
static void describe_shared(const Side *side, double shared, const Tokens *all, float *row) {
    double known = 0;
    for (int64_t i = 0; i < side->n; i++) known += all->information[side->ids[i]];
    row[8] = (float)(shared / known);
}

/* Write the two features of order of the tokens `first` to `last` of a side to row[column] and
   row[2 + column]; those that are undefined stay. */
static void describe_order(const Side *side, int64_t first, int64_t last, const float *weight,
                           int column, float *row) {
    double heavy = 0, near = 0;
    double n = 0, ranks = 0, places = 0, squares = 0, place_squares = 0, products = 0;
    for (int64_t i = first; i < last; i++) {
        if (side->best[i] < MATCHED) continue;
        const double place = side->place[i];
        if (i > first && side->best[i - 1] >= MATCHED) {
            const float own = weight[side->ids[i]], before = weight[side->ids[i - 1]];
            const float lighter = MIN(own, before);
            heavy += lighter;
            if (fabs(place - side->place[i - 1]) <= NEAR) near += lighter;
        }
        ranks += n;
        squares += n * n;
        places += place;
        place_squares += place * place;
        products += n * place;
        n++;
    }
    if (heavy > 0) row[column] = (float)(near / heavy);
    /* Sums of whole numbers are exact in float64, and so are these differences. */
    const double spread = (n * squares - ranks * ranks) * (n * place_squares - places * places);
    if (n >= FEWEST && spread > 0)
        row[2 + column] = (float)((n * products - ranks * places) / sqrt(spread));
}

/* Round n up to 16: numbers behind those of n tokens are computed, too, and not used, because the
   scalar rest of a loop takes as long as many vectors. */
static inline int64_t whole_vectors(int64_t n) { return (n + 15) / 16 * 16; }

/* Compute the largest of own (n) in eight lanes, the maximum being the same in any order. */
static float largest_of(const float *own, int64_t n) {
    float lane[8];
    for (int k = 0; k < 8; k++) lane[k] = -INFINITY;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lane[k] = own[i + k] > lane[k] ? own[i + k] : lane[k];
    for (; i < n; i++) lane[0] = MAX(own[i], lane[0]);
    for (int k = 1; k < 8; k++) lane[0] = MAX(lane[0], lane[k]);
    return lane[0];
}

/* Take the tokens of a source (n) into `position` and `translated`. */
static void begin_source(const Tokens *all, const int32_t *source, int64_t n, Work *work) {
    work->source = source;
    work->n = n;
    copy_tokens(all, source, n, work);
    for (int64_t i = n - 1; i >= 0; i--) {
        work->following[i] = work->position[source[i]];
        work->position[source[i]] = (int8_t)i;
    }
    translate(all, source, n, 1, work->translated);
}

/* Take them out, and clear the slots. */
static void end_source(const Tokens *all, Work *work) {
    for (int64_t slot = 0; slot < work->count; slot++) work->slot[work->used[slot]] = -1;
    for (int64_t i = 0; i < work->n; i++) work->position[work->source[i]] = -1;
    translate(all, work->source, work->n, 0, work->translated);
    work->source = NULL;
    work->n = work->count = 0;
}

/* Give slots to the tokens of a target (m) that have none, and compare these with the source. */
static void fill_slots(const Tokens *all, const int32_t *target, int64_t m, Work *work) {
    const int64_t n = work->n, whole = whole_vectors(n), first = work->count;
    for (int64_t j = 0; j < m; j++)
        if (work->slot[target[j]] < 0) {
            work->slot[target[j]] = (int16_t)work->count;
            work->used[work->count++] = target[j];
        }
    dots_with(all, work->rows, n, work->used + first, work->count - first,
              work->similar + first * LONGEST, LONGEST, work->room);
    for (int64_t slot = first; slot < work->count; slot++) {
        const int32_t token = work->used[slot];
        float *restrict own = work->similar + slot * LONGEST;
        float *restrict back = work->backward + slot * LONGEST;
        const float *restrict scale = work->scale, other = all->scale[token];
        for (int64_t i = 0; i < whole; i++) own[i] *= other * scale[i];
        work->nearest[slot] = largest_of(own, n);
        int32_t where = 0;
        while (where < n - 1 && own[where] != work->nearest[slot]) where++;
        work->where[slot] = where;
        work->forward[slot] = work->translated[token];
        for (int64_t i = 0; i < whole; i++) back[i] = 0.0f;
        for (int64_t e = all->offsets[token]; e < all->offsets[token + 1]; e++)
            for (int32_t i = work->position[all->translations[e]]; i >= 0; i = work->following[i])
                back[i] = all->probability[e];
    }
}

/* Write the features of a pair, the tokens of whose target have slots. */
static void compare_short(const Tokens *all, Work *work, float *row, float *order) {
    Side *a = work->side, *b = work->side + 1;
    const int64_t n = a->n, m = b->n, whole = whole_vectors(n);
    for (int64_t i = 0; i < whole; i++) {
        a->best[i] = -INFINITY;
        a->total[i] = 0.0f;
        a->place[i] = 0;
        a->others[i] = (int32_t)m;
        a->shared[i] = 0;
    }
    for (int64_t j = 0; j < m; j++) {
        const int32_t slot = work->slot[b->ids[j]];
        const float *restrict own = work->similar + slot * LONGEST;
        const float *restrict back = work->backward + slot * LONGEST;
        b->best[j] = work->nearest[slot];
        b->total[j] = work->forward[slot];
        b->place[j] = work->where[slot];
        b->others[j] = (int32_t)n;
        for (int64_t i = 0; i < whole; i++) {
            const int nearer = own[i] > a->best[i];
            a->place[i] = nearer ? (int32_t)j : a->place[i];
            a->best[i] = nearer ? own[i] : a->best[i];
            a->total[i] += back[i];
        }
    }
    double shared = 0;
    for (int64_t j = 0; j < m; j++)
        for (int32_t i = work->position[b->ids[j]]; i >= 0 && !a->shared[i]; i = work->following[i]) {
            shared += all->information[b->ids[j]];
            a->shared[i] = 1;
        }
    describe_shared(a, shared, all, row);
    for (int column = 0; column < 2; column++) {
        describe_side(work->side + column, all, column, row);
        if (order)
            describe_order(work->side + column, 0, work->side[column].n, all->weight, column, order);
    }
}

/* Bounds of a part of a text, and of its window in the other text. */
typedef struct {
    int64_t first, last, begin, end;
} Window;

static int64_t part_count(int64_t own, int64_t others, int64_t size) {
    return MAX(1, (MAX(own, others) + size - 1) / size);
}

static Window window_of(int64_t own, int64_t others, int64_t parts, int64_t w, int64_t reach) {
    const int64_t low = MAX(0, w - reach), high = MIN(parts, w + reach + 1);
    return (Window){own * w / parts, own * (w + 1) / parts, others * low / parts,
                    others * high / parts};
}

/* Compare every token of a side with its window of the tokens `others` (m). */
static void compare_windows(const Tokens *all, const Side *side, const int32_t *others, int64_t m,
                            int64_t part, int64_t reach, Work *work) {
    const int64_t parts = part_count(side->n, m, part);
    for (int64_t w = 0; w < parts; w++) {
        const Window at = window_of(side->n, m, parts, w, reach);
        const int32_t *own = side->ids + at.first, *window = others + at.begin;
        const int64_t n = at.last - at.first, width = at.end - at.begin;
        if (n == 0) continue;
        float *restrict best = side->best + at.first;
        int32_t *restrict place = side->place + at.first;
        copy_tokens(all, own, n, work);
        dots_with(all, work->rows, n, window, width, work->similar, LONGEST, work->room);
        for (int64_t j = 0; j < width; j++) work->position[window[j]] = 0;
        translate(all, window, width, 1, work->translated);
        for (int64_t i = 0; i < n; i++) {
            best[i] = width ? -INFINITY : 0.0f;
            place[i] = 0;
            side->total[at.first + i] = work->translated[own[i]];
            side->others[at.first + i] = (int32_t)MAX(1, width);
            side->shared[at.first + i] = work->position[own[i]] == 0;
        }
        for (int64_t j = 0; j < width; j++) {
            const float *restrict similar = work->similar + j * LONGEST;
            const float *restrict scale = work->scale, other = all->scale[window[j]];
            for (int64_t i = 0; i < n; i++) {
                const float value = similar[i] * (other * scale[i]);
                const int nearer = value > best[i];
                place[i] = nearer ? (int32_t)(at.begin + j) : place[i];
                best[i] = nearer ? value : best[i];
            }
        }
        for (int64_t j = 0; j < width; j++) work->position[window[j]] = -1;
        translate(all, window, width, 0, work->translated);
    }
}

/* Write the features of a pair with a side longer than LONGEST, by windows. */
static void compare_long(const Tokens *all, Work *work, float *row, float *order) {
    /* Most tokens of a part, and parts on either side of its place that a token is compared with;
       for the features, and for those of order. */
    enum { PART = 40, REACH = 1, ORDER_PART = 128, ORDER_REACH = 0 };
    for (int column = 0; column < 2; column++) {
        const Side *side = work->side + column, *other = work->side + 1 - column;
        compare_windows(all, side, other->ids, other->n, PART, REACH, work);
        describe_side(side, all, column, row);
        if (column == 0) {
            double shared = 0;
            for (int64_t i = 0; i < side->n; i++)
                if (side->shared[i]) shared += all->information[side->ids[i]];
            describe_shared(side, shared, all, row);
        }
        if (order == NULL) continue;
        compare_windows(all, side, other->ids, other->n, ORDER_PART, ORDER_REACH, work);
        double adjacent = 0, correlation = 0;
        const int64_t parts = part_count(side->n, other->n, ORDER_PART);
        for (int64_t w = 0; w < parts; w++) {
            const Window at = window_of(side->n, other->n, parts, w, ORDER_REACH);
            float part[ORDER_FEATURES] = {1.0f, 1.0f, 1.0f, 1.0f};
            describe_order(side, at.first, at.last, all->weight, column, part);
            adjacent += (double)part[column] * (double)(at.last - at.first);
            correlation += (double)part[2 + column] * (double)(at.last - at.first);
        }
        order[column] = (float)(adjacent / (double)side->n);
        order[2 + column] = (float)(correlation / (double)side->n);
    }
}

void EXPORT(negative_logarithms)(const float *values, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = -logf(values[i]);
}

int64_t EXPORT(compare)(const int64_t *pairs, int64_t first, int64_t last, const int32_t *ids_a,
                        const int64_t *offsets_a, const int32_t *ids_b, const int64_t *offsets_b,
                        const int64_t *rows_a, const int64_t *rows_b, const uint8_t *codes,
                        int64_t d, const float *scale, const float *weight, const float *frequency,
                        const float *information, const int64_t *offsets,
                        const int32_t *translations, const float *probability, float *out,
                        float *order, int64_t c, int64_t t, int64_t n, int64_t u, int64_t k,
                        int64_t m, int64_t V, int64_t w, int64_t e, int64_t o) {
    const Tokens all = {codes,   scale,        weight,      frequency, information,
                        offsets, translations, probability, V,         w,           d};
    Work work;
    if (!allocate(&work, V, d)) {
        release(&work);
        return 1;
    }
    Side *a = work.side, *b = work.side + 1;
    for (int64_t at = first; at < last; at++) {
        const int64_t pair = pairs[at], row_a = rows_a[pair], row_b = rows_b[pair];
        a->ids = ids_a + offsets_a[row_a];
        b->ids = ids_b + offsets_b[row_b];
        a->n = offsets_a[row_a + 1] - offsets_a[row_a];
        b->n = offsets_b[row_b + 1] - offsets_b[row_b];
        float *features = out + pair * PAIR_FEATURES, *own = o ? order + pair * ORDER_FEATURES : NULL;
        for (int column = 0; column < PAIR_FEATURES; column++) features[column] = 0.0f;
        for (int column = 0; own && column < ORDER_FEATURES; column++) own[column] = 1.0f;
        if (a->n == 0 || b->n == 0) continue;
        const int longer = MAX(a->n, b->n) > LONGEST;
        if (longer || work.source != a->ids || work.count + b->n > SLOTS)
            end_source(&all, &work);
        if (!longer) {
            if (work.source == NULL) begin_source(&all, a->ids, a->n, &work);
            fill_slots(&all, b->ids, b->n, &work);
            compare_short(&all, &work, features, own);
        } else if (fit(&work, MAX(a->n, b->n))) {
            compare_long(&all, &work, features, own);
        } else {
            release(&work);
            return 1;
        }
    }
    release(&work);
    return 0;
}
