/* Numerals: see miner/kernels/numbers.py. Bytes from place on, before end, are of one sentence. */

/* Return the length in bytes of a digit, or 0. */
static inline int digit(const uint8_t *place, const uint8_t *end) {
    if (place >= end) return 0;
    const uint8_t byte = place[0];
    if (byte < 0xD9) return byte >= '0' && byte <= '9';
    if (end - place < 2) return 0;
    const uint8_t second = place[1];
    if (byte == 0xD9) return second >= 0xA0 && second <= 0xA9 ? 2 : 0; /* Arabic */
    if (byte == 0xDB) return second >= 0xB0 && second <= 0xB9 ? 2 : 0; /* Persian */
    if (end - place < 3) return 0;
    const uint8_t third = place[2];
    if (byte == 0xE0 && second >= 0xA5 && second <= 0xB5) /* Devanagari to Malayalam */
        return second & 1 && third >= 0xA6 && third <= 0xAF ? 3 : 0;
    const int thai = byte == 0xE0 && (second == 0xB9 || second == 0xBB);
    const int wide = byte == 0xEF && second == 0xBC;
    return (thai || wide) && third >= 0x90 && third <= 0x99 ? 3 : 0;
}

/* Return the value of a digit of this many bytes. */
static inline uint64_t digit_value(const uint8_t *place, int width) {
    const uint8_t last = place[width - 1];
    return (uint64_t)((last & 15) - (width == 3 && last >= 0xA6 ? 6 : 0));
}

/* Return the length in bytes of a mark that joins two digits, or 0. */
static inline int joiner(const uint8_t *place, const uint8_t *end) {
    if (place < end && (*place == '.' || *place == ',')) return 1;
    return end - place >= 2 && place[0] == 0xD9 && (place[1] == 0xAB || place[1] == 0xAC) ? 2 : 0;
}

/* Return the length in bytes of a space or apostrophe between thousands, or 0. */
static inline int separator(const uint8_t *place, const uint8_t *end) {
    if (place >= end) return 0;
    if (*place == ' ' || *place == '\'') return 1;
    if (*place == 0xC2 && end - place >= 2 && place[1] == 0xA0) return 2;
    if (*place != 0xE2 || end - place < 3 || place[1] != 0x80) return 0;
    return place[2] == 0xAF || place[2] == 0x99 ? 3 : 0;
}

/* Append a run of digits to value; return its end. */
static const uint8_t *digits(const uint8_t *place, const uint8_t *end, uint64_t *value,
                             int64_t *count) {
    *count = 0;
    for (int width; (width = digit(place, end)) > 0; place += width, ++*count)
        *value = *value * 10 + digit_value(place, width);
    return place;
}

/* Read a numeral, modulo 2^64; return its end. */
static const uint8_t *numeral(const uint8_t *place, const uint8_t *end, uint64_t *value) {
    int64_t count;
    *value = 0;
    place = digits(place, end, value, &count);
    if (count <= 3)
        for (int width; (width = separator(place, end)) > 0;) {
            const uint8_t *group = place + width;
            if (digit(group, end) != 1 || digit(group + 1, end) != 1 ||
                digit(group + 2, end) != 1 || digit(group + 3, end))
                break;
            for (int k = 0; k < 3; k++) *value = *value * 10 + (uint64_t)(group[k] - '0');
            place = group + 3;
        }
    for (int mark; (mark = joiner(place, end)) > 0 && digit(place + mark, end);)
        place = digits(place + mark, end, value, &count);
    return place;
}

/* Write the distinct numbers of a sentence, ascending; return their count. */
static int64_t numerals(const uint8_t *place, const uint8_t *end, uint64_t *out) {
    int64_t count = 0;
    while (place < end) {
        if (!digit(place, end)) {
            place++;
            continue;
        }
        uint64_t value;
        place = numeral(place, end, &value);
        int64_t at = count;
        while (at > 0 && out[at - 1] > value) at--;
        if (at > 0 && out[at - 1] == value) continue;
        memmove(out + at + 1, out + at, (size_t)(count - at) * sizeof(uint64_t));
        out[at] = value;
        count++;
    }
    return count;
}

void EXPORT(find_numbers)(const uint8_t *text, const int64_t *offsets, uint64_t *values,
                          int64_t *bounds, int64_t b, int64_t n) {
    bounds[0] = 0;
    for (int64_t i = 0; i < n; i++)
        bounds[i + 1] = bounds[i] + numerals(text + offsets[i], text + offsets[i + 1],
                                             values + bounds[i]);
}

void EXPORT(shared_numbers)(const uint64_t *source, const int64_t *source_offsets,
                            const uint64_t *target, const int64_t *target_offsets,
                            const int64_t *source_row, const int64_t *target_row, int64_t *out,
                            int64_t a, int64_t n, int64_t b, int64_t m, int64_t count) {
    for (int64_t c = 0; c < count; c++) {
        int64_t i = source_offsets[source_row[c]], j = target_offsets[target_row[c]], shared = 0;
        const int64_t last = source_offsets[source_row[c] + 1];
        const int64_t end = target_offsets[target_row[c] + 1];
        while (i < last && j < end) {
            const uint64_t left = source[i], right = target[j];
            shared += left == right;
            i += left <= right;
            j += right <= left;
        }
        out[c] = shared;
    }
}
