/* Regular expressions of tokenizer.json, in Oniguruma's Ruby syntax. What PCRE2 reads differently
 * is rewritten; what has no counterpart is rejected. A match over the step limit fails the call. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <lib/text/tokenizer/tokenizer.h>
#include <pcre2.h>

enum { MOST_PATTERN = 1 << 14, MATCH_STEPS = 1 << 20, MATCH_HEAP = 1 << 14 /* KiB */ };

struct gnn__regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* ---- from Ruby's syntax ---- */

typedef struct rewriter {
    const char *at, *end;
    char *to;
    int64_t n, atom; /* bytes written; start of the last item that a quantifier may follow */
    int64_t groups[64];
    int depth;
    bool meeting; /* inside the right side of an intersection of classes */
    int rc;
} rewriter_t;

#define SPACES \
    "\\t-\\r\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

/* Oniguruma's \\w, inside a class and outside. */
#define LETTERS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD LETTERS "\\xb2\\xb3\\xb9\\xbc-\\xbe"
#define EDGE "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))"

static void put(rewriter_t *r, const char *text, int64_t n)
{
    if (r->n + n > 4 * MOST_PATTERN)
        r->rc = r->rc == GNN_OK ? gnn__error(GNN_EOVERFLOW, "the pattern is too long") : r->rc;
    if (r->rc != GNN_OK)
        return;
    memcpy(r->to + r->n, text, (size_t)n);
    r->n += n;
}

static void put_text(rewriter_t *r, const char *text)
{
    put(r, text, (int64_t)strlen(text));
}

static void refuse(rewriter_t *r, const char *what)
{
    if (r->rc == GNN_OK)
        r->rc = gnn__error(GNN_EUNSUPPORTED, "a pattern with %s", what);
}

/* Is the name in braces at `at` a script? PCRE2 takes a bare name for the script's extensions. */
static bool is_script(const char *at, const char *end)
{
    static const char *const others[] = {
        "Any",       "Emoji",     "Alphabetic",           "Ideographic",
        "Uppercase", "Lowercase", "Extended_Pictographic"};
    const char *close = memchr(at, '}', (size_t)(end - at));
    const int64_t n = close ? close - at - 1 : 0;
    bool script =
        n >= 3 && at[1] != '^' && !memchr(at, ':', (size_t)n) && !memchr(at, '=', (size_t)n);
    for (size_t k = 0; k < sizeof others / sizeof *others && script; k++)
        script = (int64_t)strlen(others[k]) != n || memcmp(others[k], at + 1, (size_t)n) != 0;
    return script;
}

/* A backslash and what follows it. */
static void escape(rewriter_t *r, bool in_class)
{
    const char c = r->at + 1 < r->end ? r->at[1] : '\0';
    if (c == '\0' || strchr("hHKGg", c))
        refuse(r, c ? "\\h, \\H, \\K, \\G or \\g" : "a backslash at its end");
    else if (c == 's')
        put_text(r, in_class ? SPACES : "[" SPACES "]");
    else if (c == 'S')
        put_text(r, in_class ? "\\S\\x{180e}" : "[^" SPACES "]"); /* white space to PCRE2 */
    else if (c == 'w')
        put_text(r, in_class ? LETTERS : "[" WORD "]");
    else if (c == 'W' && !in_class)
        put_text(r, "[^" WORD "]");
    else if (c == 'b' && !in_class)
        put_text(r, EDGE);
    else if (c == 'W' || (c == 'B' && !in_class))
        refuse(r, c == 'W' ? "\\W in a class" : "\\B");
    else
        put(r, r->at, 2);
    r->at += 2;
    const bool property = c == 'p' || c == 'P';
    if ((property || c == 'x' || c == 'u') && r->at < r->end && *r->at == '{') {
        const bool script = property && is_script(r->at, r->end);
        put(r, r->at++, 1);
        if (script)
            put_text(r, "sc:");
        while (r->rc == GNN_OK && r->at < r->end) {
            put(r, r->at, 1);
            if (*r->at++ == '}')
                break;
        }
    }
}

static void class(rewriter_t *r, int depth);

/* "&&[...]" after the characters of a class that begins at byte `from` of the output:
 * (?:(?=[...])[characters]). */
static void intersect(rewriter_t *r, int64_t from)
{
    char *right;
    put(r, "]", 1);
    const int64_t left = r->n - from;
    r->at += 2;
    if (r->to[from + 1] == '^' || r->at >= r->end || *r->at != '[') {
        refuse(r, "an intersection of classes that is negated, or has no class at its right");
        return;
    }
    r->meeting = true;
    class(r, 0);
    r->meeting = false;
    const int64_t n = r->n - from - left;
    if (r->rc == GNN_OK)
        r->rc = gnn__new(&right, n + 1, 1, "a pattern");
    if (r->rc != GNN_OK)
        return;
    memcpy(right, r->to + from + left, (size_t)n);
    r->n += 8;
    memmove(r->to + from + n + 7, r->to + from, (size_t)left);
    memcpy(r->to + from, "(?:(?=", 6);
    memcpy(r->to + from + 6, right, (size_t)n);
    r->to[from + 6 + n] = ')';
    r->to[r->n - 1] = ')';
    gnn_free(right);
}

/* A class in brackets; a nested one adds its characters. */
static void class(rewriter_t *r, int depth)
{
    const int64_t from = r->n;
    bool closed = false;
    put(r, r->at++, depth == 0);
    if (r->at < r->end && *r->at == '^') {
        if (depth > 0)
            refuse(r, "a negated class in another one");
        put(r, r->at++, 1);
    }
    for (bool first = true; r->rc == GNN_OK && r->at < r->end; first = false) {
        if (*r->at == ']' && !first)
            break;
        if (closed) {
            refuse(r, "characters after an intersection of classes");
        } else if (*r->at == '\\') {
            escape(r, true);
        } else if (*r->at == '[' && r->at + 1 < r->end && r->at[1] == ':') {
            const char *close = strstr(r->at, ":]");
            const int64_t n = close ? close + 2 - r->at : 1;
            put(r, r->at, n);
            r->at += n;
        } else if (*r->at == '[') {
            depth < 8 ? class(r, depth + 1) : refuse(r, "classes nine deep");
        } else {
            const bool meets = *r->at == '&' && r->at + 1 < r->end && r->at[1] == '&';
            if (meets && (depth > 0 || r->meeting || r->n + 16 > 4 * MOST_PATTERN))
                refuse(r, "an intersection of classes in another one");
            else if (meets)
                intersect(r, from);
            else
                put(r, r->at++, 1);
            closed = meets;
        }
    }
    if (r->at >= r->end)
        refuse(r, "a class without an end");
    else
        put(r, r->at++, depth == 0 && !closed);
}

/* {n,m}+ is a repeated repetition, not a possessive one. */
static void count(rewriter_t *r)
{
    const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
    const bool numbers = close && strspn(r->at + 1, "0123456789,") == (size_t)(close - r->at - 1) &&
                         close > r->at + 1;
    if (!numbers) {
        put(r, r->at++, 1);
        return;
    }
    put(r, r->at, close + 1 - r->at);
    r->at = close + 1;
    if (r->at < r->end && *r->at == '+' && r->rc == GNN_OK && r->n + 8 < 4 * MOST_PATTERN) {
        memmove(r->to + r->atom + 3, r->to + r->atom, (size_t)(r->n - r->atom));
        memcpy(r->to + r->atom, "(?:", 3);
        r->n += 3;
        put_text(r, ")+");
        r->at++;
    }
}

static void group(rewriter_t *r)
{
    if (*r->at == '(') {
        if (r->depth < 64)
            r->groups[r->depth++] = r->n;
        else
            refuse(r, "groups more than 64 deep");
    } else if (r->depth > 0) {
        r->atom = r->groups[--r->depth];
    }
    put(r, r->at++, 1);
}

static void rewrite(rewriter_t *r)
{
    while (r->rc == GNN_OK && r->at < r->end) {
        const char c = *r->at;
        const bool atom = !strchr("(){}*+?|", c) && ((unsigned char)c & 0xc0) != 0x80;
        if (atom)
            r->atom = r->n;
        if (c == '\\')
            escape(r, false);
        else if (c == '[')
            class(r, 0);
        else if (c == '{')
            count(r);
        else if (c == '(' || c == ')')
            group(r);
        else
            put(r, r->at++, 1);
    }
}

/* ---- compiling ---- */

static int compile(gnn__regex_t *regex, const char *pattern, int64_t n)
{
    int fault;
    PCRE2_SIZE at;
    PCRE2_UCHAR words[128] = "";
    pcre2_compile_context *how = pcre2_compile_context_create(NULL);
    if (!how)
        return gnn__error(GNN_EMEMORY, "no memory for a pattern");
    pcre2_set_newline(how, PCRE2_NEWLINE_LF);
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, (PCRE2_SIZE)n,
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_UTF_CHECK,
                                &fault, &at, how);
    pcre2_compile_context_free(how);
    if (!regex->code) {
        pcre2_get_error_message(fault, words, sizeof words);
        return gnn__error(GNN_EUNSUPPORTED, "the pattern \"%.120s\": %s", pattern, (char *)words);
    }
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* without it, matches are only slower */
    regex->limits = pcre2_match_context_create(NULL);
    if (!regex->limits)
        return gnn__error(GNN_EMEMORY, "no memory for a pattern");
    pcre2_set_match_limit(regex->limits, MATCH_STEPS);
    pcre2_set_heap_limit(regex->limits, MATCH_HEAP);
    return GNN_OK;
}

int gnn__regex_new(gnn__regex_t **regex, gnn__string_t pattern)
{
    rewriter_t r = {.at = pattern.at, .end = pattern.at + pattern.length};
    int rc;
    *regex = NULL;
    if (pattern.length > MOST_PATTERN)
        return gnn__error(GNN_EUNSUPPORTED, "a pattern of %lld bytes, at most %d are read",
                          (long long)pattern.length, (int)MOST_PATTERN);
    GNN_TRY(gnn__new(&r.to, 4 * MOST_PATTERN + 8, 1, "a pattern"));
    GNN_CHECK(gnn__new(regex, 1, sizeof **regex, "a pattern"));
    rewrite(&r);
    GNN_CHECK(r.rc);
    r.to[r.n] = '\0';
    rc = compile(*regex, r.to, r.n);
done:
    gnn_free(r.to);
    if (rc != GNN_OK) {
        gnn__regex_free(*regex);
        *regex = NULL;
    }
    return rc;
}

void gnn__regex_free(gnn__regex_t *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    gnn_free(regex);
}

/* ---- matching ---- */

/* The next match at or after byte *at of the span; false: none, or an error. */
static bool next_match(const gnn__regex_t *regex, gnn__work_t *work, gnn__span_t span,
                       pcre2_match_data *match, PCRE2_SIZE at, gnn__span_t *found)
{
    const int rc = pcre2_match(regex->code, (PCRE2_SPTR)work->text.at + span.begin,
                               (PCRE2_SIZE)(span.end - span.begin), at, PCRE2_NO_UTF_CHECK, match,
                               regex->limits);
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(match);
    if (rc == PCRE2_ERROR_NOMATCH)
        return false;
    if (rc < 0)
        work->rc = gnn__error(GNN_EOVERFLOW,
                              "byte %lld of a text: the tokenizer's pattern takes more steps "
                              "than are allowed (PCRE2 %d)",
                              (long long)(span.begin + (int64_t)at), rc);
    *found = (gnn__span_t){(int64_t)place[0], (int64_t)place[1]};
    return rc >= 0;
}

void gnn__regex_each(const gnn__regex_t *regex, gnn__work_t *work, gnn__span_t span,
                     gnn__regex_found_t found, void *user)
{
    const char *text = work->text.at + span.begin;
    const int64_t n = span.end - span.begin;
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(regex->code, NULL);
    gnn__span_t m;
    if (!match)
        work->rc = gnn__error(GNN_EMEMORY, "no memory for a match");
    for (int64_t at = 0, last = -1; at <= n && work->rc == GNN_OK;) {
        if (!next_match(regex, work, span, match, (PCRE2_SIZE)at, &m))
            break;
        if (m.begin == m.end && m.end == last) {
            for (at++; at < n && ((unsigned char)text[at] & 0xc0) == 0x80;)
                at++;
            continue;
        }
        at = last = m.end;
        found(user, (gnn__span_t){span.begin + m.begin, span.begin + m.end});
    }
    pcre2_match_data_free(match);
}

typedef struct cut {
    gnn__cutter_t *cutter;
    int64_t begin; /* start of the unmatched text */
    bool invert;
} cut_t;

static void cut_at(void *user, gnn__span_t match)
{
    cut_t *c = user;
    gnn__cut(c->cutter, c->begin, match.begin, c->invert);
    gnn__cut_at(c->cutter, match.begin, match.end, !c->invert);
    c->begin = match.end;
}

void gnn__regex_cut(const gnn__regex_t *regex, gnn__cutter_t *cutter, gnn__span_t span, bool invert)
{
    cut_t c = {cutter, span.begin, invert};
    gnn__regex_each(regex, cutter->work, span, cut_at, &c);
    gnn__cut(cutter, c.begin, span.end, invert);
}
