/* Possibly invalid UTF-8, and character properties by utf8proc. */
#include <lib/text/tokenizer/utf8.h>

#include <utf8proc.h>

/* First bytes determine the length and bound the second byte (RFC 3629, table 3-7 of the Unicode
 * standard). */
static int64_t expected_length(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

int64_t gnn__utf8_part(const unsigned char *c, int64_t n, bool *whole, bool *open)
{
    unsigned char low, high;
    int64_t length = expected_length(c[0], &low, &high), k = 1;
    *open = false;
    *whole = length == 1;
    if (length <= 1)
        return 1;
    for (; k < length && k < n; k++) {
        if (c[k] < low || c[k] > high)
            return k;
        low = 0x80;
        high = 0xbf;
    }
    *whole = k == length;
    *open = k < length;
    return k;
}

static int category(int32_t c)
{
    return utf8proc_get_property(c)->category;
}

static bool between(int c, int low, int high)
{
    return c >= low && c <= high;
}

bool gnn__is_space(int32_t c)
{
    if (c < 0x80)
        return c == ' ' || between(c, 9, 13);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || between(c, 0x2000, 0x200a) ||
           between(c, 0x2028, 0x2029) || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool gnn__is_letter(int32_t c)
{
    if (c < 0x80)
        return between(c | 32, 'a', 'z');
    return between(category(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool gnn__is_number(int32_t c)
{
    if (c < 0x80)
        return between(c, '0', '9');
    return between(category(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool gnn__is_mark(int32_t c)
{
    return between(category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool gnn__is_mark_nonspacing(int32_t c)
{
    return c >= 0x300 && category(c) == UTF8PROC_CATEGORY_MN;
}

bool gnn__is_other(int32_t c)
{
    return between(category(c), UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool gnn__is_punctuation(int32_t c)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7f && !between(c | 32, 'a', 'z') && !between(c, '0', '9');
    return between(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool gnn__is_word(int32_t c)
{
    int kind = category(c);
    return between(kind, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
           kind == UTF8PROC_CATEGORY_PC || between(c, 0x200c, 0x200d) ||
           between(c, 0x24b6, 0x24e9) || between(c, 0x1f130, 0x1f149) ||
           between(c, 0x1f150, 0x1f169) || between(c, 0x1f170, 0x1f189);
}

bool gnn__is_ideograph(int32_t c)
{
    return between(c, 0x4e00, 0x9fff) || between(c, 0x3400, 0x4dbf) ||
           between(c, 0x20000, 0x2a6df) || between(c, 0x2a700, 0x2b73f) ||
           between(c, 0x2b740, 0x2b81f) || between(c, 0x2b920, 0x2ceaf) ||
           between(c, 0xf900, 0xfaff) || between(c, 0x2f800, 0x2fa1f);
}

int gnn__to_lower(int32_t c, int32_t out[2])
{
    out[0] = utf8proc_tolower(c);
    out[1] = 0x307;
    if (c != 0x130) /* the only one that becomes two in any context */
        return 1;
    out[0] = 'i';
    return 2;
}

int gnn__decompose(int32_t c, bool compatible, int32_t out[18])
{
    int last = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(
        c, out, 18, compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE, &last);
    if (n >= 1 && n <= 18)
        return (int)n;
    out[0] = c;
    return 1;
}

int gnn__combining_class(int32_t c)
{
    return c < 0x300 ? 0 : utf8proc_get_property(c)->combining_class;
}

int32_t gnn__compose(int32_t a, int32_t b)
{
    int32_t pair[2] = {a, b};
    return utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1 ? pair[0] : -1;
}

bool gnn__grapheme_break(int32_t before, int32_t after, int32_t *state)
{
    return utf8proc_grapheme_break_stateful(before, after, state);
}
