/* Mutations by structure: an input that holds JSON stays JSON, while its values are exchanged,
 * repeated, left out and made extreme. Half of all mutations stay libFuzzer's own, on bytes. */
#ifndef GNN_TESTS_FUZZ_JSON_H
#define GNN_TESTS_FUZZ_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { FUZZ_VALUES = 4096, FUZZ_TEXT = 1 << 16 };

/* Start and end of a value; members of objects include their keys. */
typedef struct {
    size_t begin, end, key; /* `key`: where the member begins, `begin` where there is none */
    bool list;              /* element of an array or object, so that it may be repeated */
} fuzz_value_t;

static inline uint32_t fuzz_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline size_t fuzz_string_end(const uint8_t *at, size_t k, size_t n)
{
    for (k++; k < n && at[k] != '"'; k++)
        k += at[k] == '\\';
    return k < n ? k + 1 : n;
}

static inline size_t fuzz_scalar_end(const uint8_t *at, size_t k, size_t n)
{
    if (at[k] == '"')
        return fuzz_string_end(at, k, n);
    while (k < n && !strchr(",:]}[{\" \t\r\n", at[k]))
        k++;
    return k;
}

/* All values of a text, brackets matched by a stack; how many. */
static inline size_t fuzz_values(const uint8_t *at, size_t n, fuzz_value_t *values)
{
    size_t open[64], depth = 0, count = 0, key = SIZE_MAX;
    for (size_t k = 0; k < n && count < FUZZ_VALUES;) {
        if (strchr(", \t\r\n:", at[k])) {
            k++;
            continue;
        }
        if (at[k] == ']' || at[k] == '}') {
            k++;
            if (depth > 0)
                values[open[--depth]].end = k;
            continue;
        }
        const size_t begin = k;
        const bool bracket = at[k] == '[' || at[k] == '{';
        k = bracket ? k + 1 : fuzz_scalar_end(at, k, n);
        k += k == begin;
        size_t after = k;
        while (after < n && strchr(" \t\r\n", at[after]))
            after++;
        if (!bracket && after < n && at[after] == ':') {
            key = begin;
            continue;
        }
        values[count] = (fuzz_value_t){begin, k, key == SIZE_MAX ? begin : key, depth > 0};
        key = SIZE_MAX;
        if (bracket && depth < 64)
            open[depth++] = count;
        count++;
    }
    while (depth > 0)
        values[open[--depth]].end = n;
    return count;
}

/* A value that a reader may not expect. */
static inline size_t fuzz_extreme(uint8_t *to, uint32_t *state)
{
    static const char *const words[] = {"0",
                                        "-1",
                                        "1",
                                        "2",
                                        "3",
                                        "255",
                                        "4096",
                                        "10000",
                                        "65536",
                                        "16777215",
                                        "2147483647",
                                        "9223372036854775807",
                                        "1e308",
                                        "-0.5",
                                        "1e-30",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "\"a\"",
                                        "\"\\u2581\"",
                                        "\"\\u0120\"",
                                        "[]",
                                        "{}",
                                        "[0]",
                                        "[\"a\", 0]",
                                        "{\"absent\": 5}",
                                        "{\"String\": \"a\"}",
                                        "{\"Regex\": \"\\\\s+\"}"};
    const uint32_t which = fuzz_random(state) % (sizeof words / sizeof *words + 4);
    if (which < sizeof words / sizeof *words)
        return (size_t)sprintf((char *)to, "%s", words[which]);
    const size_t length = (size_t)1 << fuzz_random(state) % 13;
    to[0] = '"';
    memset(to + 1, fuzz_random(state) % 4 ? 'a' : 'b', length);
    to[length + 1] = '"';
    return length + 2;
}

/* Replaces from .. to by `n` bytes; returns the old size if they do not fit. */
static inline size_t fuzz_splice(uint8_t *data, size_t size, size_t most, size_t from, size_t to,
                                 const uint8_t *bytes, size_t n)
{
    if (size - (to - from) + n > most)
        return size;
    memmove(data + from + n, data + to, size - to);
    if (n > 0)
        memcpy(data + from, bytes, n);
    return size - (to - from) + n;
}

/* The value `v`, or its whole member, so often more, with commas. */
static inline size_t fuzz_repeat(uint8_t *data, size_t size, size_t most, fuzz_value_t v,
                                 uint32_t times)
{
    static uint8_t bytes[FUZZ_TEXT];
    size_t n = 0;
    const size_t length = v.end - v.key;
    for (uint32_t k = 0; k < times && n + length + 1 < sizeof bytes; k++) {
        bytes[n++] = ',';
        memcpy(bytes + n, data + v.key, length);
        n += length;
    }
    return fuzz_splice(data, size, most, v.end, v.end, bytes, n);
}

static inline size_t fuzz_leave_out(uint8_t *data, size_t size, size_t most, fuzz_value_t v)
{
    size_t from = v.key, to = v.end;
    if (to < size && data[to] == ',')
        to++;
    else if (from > 0 && data[from - 1] == ',')
        from--;
    return fuzz_splice(data, size, most, from, to, NULL, 0);
}

/* One change to a text of JSON. */
static inline size_t fuzz_json_once(uint8_t *data, size_t size, size_t most, uint32_t *state)
{
    static fuzz_value_t values[FUZZ_VALUES];
    static uint8_t bytes[FUZZ_TEXT];
    const size_t count = fuzz_values(data, size, values);
    if (count == 0)
        return fuzz_splice(data, 0, most, 0, 0, (const uint8_t *)"{}", 2);
    const fuzz_value_t v = values[fuzz_random(state) % count],
                       other = values[fuzz_random(state) % count];
    const size_t n = other.end - other.begin;
    switch (fuzz_random(state) % 5) {
    case 0: return fuzz_splice(data, size, most, v.begin, v.end, bytes, fuzz_extreme(bytes, state));
    case 1: return v.list ? fuzz_repeat(data, size, most, v, 1u << fuzz_random(state) % 10) : size;
    case 2: return v.list ? fuzz_leave_out(data, size, most, v) : size;
    case 3:
        if (n > sizeof bytes)
            return size;
        memcpy(bytes, data + other.begin, n);
        return fuzz_splice(data, size, most, v.begin, v.end, bytes, n);
    default: { /* the content of a string or JSON number again */
        const size_t inner = v.end - v.begin > 2 ? v.end - v.begin - 2 : 0;
        if (data[v.begin] != '"' || inner == 0 || inner > sizeof bytes)
            return size;
        memcpy(bytes, data + v.begin + 1, inner);
        return fuzz_splice(data, size, most, v.begin + 1, v.begin + 1, bytes, inner);
    }
    }
}

/* As LLVMFuzzerMutate, for a text of JSON. */
static inline size_t fuzz_json_mutate(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    uint32_t state = seed;
    if (fuzz_random(&state) % 2 || most > FUZZ_TEXT)
        return LLVMFuzzerMutate(data, size, most);
    for (uint32_t k = fuzz_random(&state) % 4 + 1; k > 0; k--)
        size = fuzz_json_once(data, size, most, &state);
    return size;
}

#endif
