/* UTF-8 and Unicode properties of characters. */
#ifndef GNN_LIB_TEXT_UTF8_H
#define GNN_LIB_TEXT_UTF8_H

#include <stdbool.h>
#include <stdint.h>

enum { GNN__REPLACEMENT = 0xfffd };

/* Decodes the character at at[*k] (valid UTF-8) and moves *k past it. */
static inline int32_t gnn__utf8_next(const char *at, int64_t *k)
{
    const unsigned char *c = (const unsigned char *)at + *k;
    if (c[0] < 0x80) {
        *k += 1;
        return c[0];
    }
    if (c[0] < 0xe0) {
        *k += 2;
        return (c[0] & 0x1f) << 6 | (c[1] & 0x3f);
    }
    if (c[0] < 0xf0) {
        *k += 3;
        return (c[0] & 0xf) << 12 | (c[1] & 0x3f) << 6 | (c[2] & 0x3f);
    }
    *k += 4;
    return (c[0] & 7) << 18 | (c[1] & 0x3f) << 12 | (c[2] & 0x3f) << 6 | (c[3] & 0x3f);
}

/* The character before at[k], where k > 0. */
static inline int32_t gnn__utf8_before(const char *at, int64_t k)
{
    do
        k--;
    while (k > 0 && ((unsigned char)at[k] & 0xc0) == 0x80);
    return gnn__utf8_next(at, &k);
}

/* Writes at most 4 bytes; returns their count. */
static inline int gnn__utf8_put(char *to, int32_t c)
{
    unsigned char *u = (unsigned char *)to;
    if (c < 0x80) {
        u[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        u[0] = (unsigned char)(0xc0 | c >> 6);
        u[1] = (unsigned char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        u[0] = (unsigned char)(0xe0 | c >> 12);
        u[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        u[2] = (unsigned char)(0x80 | (c & 0x3f));
        return 3;
    }
    u[0] = (unsigned char)(0xf0 | c >> 18);
    u[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
    u[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    u[3] = (unsigned char)(0x80 | (c & 0x3f));
    return 4;
}

/* For n > 0 arbitrary bytes: the length of the character at the start, or of the longest part of
 * one, to be replaced by one U+FFFD; *whole: it is a character. *open: the part reaches the end and
 * more bytes could complete it. */
int64_t gnn__utf8_part(const unsigned char *c, int64_t n, bool *whole, bool *open);

bool gnn__is_space(int32_t c);  /* White_Space */
bool gnn__is_letter(int32_t c); /* L */
bool gnn__is_number(int32_t c); /* N */
bool gnn__is_mark(int32_t c);   /* M */
bool gnn__is_mark_nonspacing(int32_t c);
bool gnn__is_other(int32_t c); /* Cc, Cf, Co, Cs */
/* P, and ASCII's that are neither letters, digits, whitespace nor control characters. */
bool gnn__is_punctuation(int32_t c);
bool gnn__is_word(int32_t c); /* \w of regular expressions */
/* Chinese characters as BERT separates them: CJK ideographs without kana and hangul.
 */
bool gnn__is_ideograph(int32_t c);

/* Lower case of a character: 1 or 2 characters. */
int gnn__to_lower(int32_t c, int32_t out[2]);
/* Full decomposition, canonical or compatibility; returns the count of characters, at most 18. */
int gnn__decompose(int32_t c, bool compatible, int32_t out[18]);
/* Canonical combining class. */
int gnn__combining_class(int32_t c);
/* The composed character, or -1. */
int32_t gnn__compose(int32_t a, int32_t b);
/* Is there a grapheme boundary between the two? *state is 0 at the start of a text. */
bool gnn__grapheme_break(int32_t before, int32_t after, int32_t *state);

#endif
