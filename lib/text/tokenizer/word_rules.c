/* Pre-tokenizers of GPT-2 and its successors, hand-coded instead of a regular expression. All use
 * four kinds of characters: whitespace, letters, digits, others. */
#include <lib/text/tokenizer/tokenizer.h>

struct gnn__word_rules {
    const char *regex;
    bool any_case;  /* 'S ends a word as 's does */
    bool any_lead;  /* any mark may precede letters, else only a space */
    int64_t digits; /* maximum run of digits, no space before; 0: any, one space may precede */
    bool newlines;  /* line ends belong to the marks or whitespace before them */
};

#define ENDINGS "'s|'t|'re|'ve|'m|'ll|'d"
#define LATER "(?i:" ENDINGS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define LATER_TAIL "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const gnn__word_rules_t gnn__gpt2_words = {
    .regex = ENDINGS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"};
static const gnn__word_rules_t others[] = {
    {LATER "\\p{N}{1,3}" LATER_TAIL, true, true, 3, true},
    {LATER "\\p{N}" LATER_TAIL, true, true, 1, true},
};

const gnn__word_rules_t *gnn__word_rules_find(const char *regex)
{
    if (strcmp(regex, gnn__gpt2_words.regex) == 0)
        return &gnn__gpt2_words;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (strcmp(regex, others[k].regex) == 0)
            return &others[k];
    return NULL;
}

typedef enum { BLANK, LETTER, NUMBER, OTHER } kind_t;

static kind_t kind_of(int32_t c)
{
    return gnn__is_letter(c)   ? LETTER
           : gnn__is_space(c)  ? BLANK
           : gnn__is_number(c) ? NUMBER
                               : OTHER;
}

static bool is_at(const char *at, int64_t k, int64_t end, kind_t kind)
{
    return k < end && kind_of(gnn__utf8_next(at, &k)) == kind;
}

/* End of a run of at most `most` characters of a kind. */
static int64_t run(const char *at, int64_t k, int64_t end, kind_t kind, int64_t most)
{
    for (int64_t next = k; next < end && most > 0; k = next, most--)
        if (kind_of(gnn__utf8_next(at, &next)) != kind)
            break;
    return k;
}

/* End of a contraction ('s and the like), or k. */
static int64_t ending(const gnn__word_rules_t *r, const char *at, int64_t k, int64_t end)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (at[k] != '\'')
        return k;
    if (r->any_case && end - k >= 3 && memcmp(at + k + 1, "\xc5\xbf", 2) == 0) /* a long s */
        return k + 3;
    for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++) {
        int64_t n = (int64_t)strlen(endings[e]), same = 0;
        while (same < n && k + 1 + same < end &&
               (r->any_case ? (char)gnn__lower_case(at[k + 1 + same]) : at[k + 1 + same]) ==
                   endings[e][same])
            same++;
        if (same == n)
            return k + 1 + n;
    }
    return k;
}

/* Whitespace up to the last line end among them; else all but the last, which belongs to the next
 * word. */
static int64_t blanks(const gnn__word_rules_t *r, const char *at, int64_t k, int64_t end)
{
    int64_t last = k, line = k, e = k;
    for (int64_t next = k; next < end; e = next) {
        const int32_t c = gnn__utf8_next(at, &next);
        if (!gnn__is_space(c))
            break;
        last = e;
        if (c == '\r' || c == '\n')
            line = next;
    }
    if (r->newlines && line > k)
        return line;
    return e == end || last == k ? e : last;
}

int64_t gnn__word_end(const gnn__word_rules_t *r, const char *at, int64_t k, int64_t end)
{
    int64_t next = k, e = ending(r, at, k, end);
    if (e > k)
        return e;
    const int32_t c = gnn__utf8_next(at, &next);
    const kind_t kind = kind_of(c);
    const bool leads = r->any_lead ? kind != NUMBER && c != '\r' && c != '\n' : c == ' ';
    if (kind == LETTER || (leads && is_at(at, next, end, LETTER)))
        return run(at, next, end, LETTER, INT64_MAX);
    if (kind == NUMBER)
        return run(at, next, end, NUMBER, r->digits ? r->digits - 1 : INT64_MAX);
    if (c == ' ' && r->digits == 0 && is_at(at, next, end, NUMBER))
        return run(at, next, end, NUMBER, INT64_MAX);
    if (kind != OTHER && !(c == ' ' && is_at(at, next, end, OTHER)))
        return blanks(r, at, k, end);
    e = run(at, next, end, OTHER, INT64_MAX);
    while (r->newlines && e < end && (at[e] == '\r' || at[e] == '\n'))
        e++;
    return e;
}
