/* Regular expressions of tokenizer.json, in Oniguruma's Ruby syntax. What PCRE2 reads differently
 * is rewritten; what has no counterpart is rejected. A match over the step limit fails the call. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <lib/text/tokenizer/tokenizer.h>
#include <ctype.h>
#include <pcre2.h>

enum { MOST_PATTERN = 1 << 14, MATCH_STEPS = 1 << 20, MATCH_HEAP = 1 << 14 /* KiB */ };

struct gnn__regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

/* ---- from Ruby's syntax ---- */

enum { MOST_DEPTH = 64, MOST_COMPLEMENTS = 16 };

/* Options of a group. */
typedef struct level {
    bool folds;    /* letters match in both cases */
    bool extended; /* white space and comments are skipped */
    int options;   /* groups that end with this one: "(?i)" holds to the end of its group */
} level_t;

typedef struct rewriter {
    const char *at, *end;
    char *to;
    int64_t n, atom; /* bytes written; start of the last item that a quantifier may follow */
    int64_t groups[MOST_DEPTH];
    level_t outer[MOST_DEPTH], level;
    int depth;
    uint32_t before; /* the literal character before `at`; 0: another item */
    bool meeting;    /* inside the right side of an intersection of classes */
    const char *complements[MOST_COMPLEMENTS]; /* all characters but these are in the class, too */
    int n_complements;
    int rc;
} rewriter_t;

/* White space. No range begins with its last item. */
#define SPACES "\\t-\\r\\x85\\p{Z}"

/* Oniguruma's \\w, inside a class and outside. */
#define LETTERS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD LETTERS "\\xb2\\xb3\\xb9\\xbc-\\xbe"
#define EDGE "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))"
#define NO_EDGE "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))"
#define HEX "0-9A-Fa-f"
#define VISIBLE "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"

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

/* ---- letters in both cases ---- */

/* Is one of first .. last a character that is several letters in the other case, as U+00DF is "SS"?
 * Oniguruma matches it with these, too. Ranges of Unicode's full case folding. */
static bool is_several(uint32_t first, uint32_t last)
{
    static const uint16_t ranges[][2] = {
        {0xdf, 0xdf},     {0x130, 0x130},   {0x149, 0x149},   {0x1f0, 0x1f0},   {0x390, 0x390},
        {0x3b0, 0x3b0},   {0x587, 0x587},   {0x1e96, 0x1e9a}, {0x1e9e, 0x1e9e}, {0x1f50, 0x1f56},
        {0x1f80, 0x1faf}, {0x1fb2, 0x1fb7}, {0x1fbc, 0x1fbc}, {0x1fc2, 0x1fc7}, {0x1fcc, 0x1fcc},
        {0x1fd2, 0x1fd7}, {0x1fe2, 0x1fe7}, {0x1ff2, 0x1ff7}, {0x1ffc, 0x1ffc}, {0xfb00, 0xfb06},
        {0xfb13, 0xfb17}};
    bool is = false;
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges && !is; k++)
        is = last >= ranges[k][0] && first <= ranges[k][1];
    return is;
}

static uint32_t lower(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c == 0x17f ? 's' : c;
}

/* May one character stand for the two, as U+FB01 for "fi"? */
static bool is_joined(uint32_t a, uint32_t b)
{
    static const uint16_t ends[] = {0x2be, 0x300, 0x301, 0x307, 0x308, 0x30a, 0x30c,
                                    0x313, 0x331, 0x342, 0x345, 0x399, 0x3b9, 0x1fbe};
    const uint32_t first = lower(a), second = lower(b);
    bool is = (first == 'f' && (second == 'f' || second == 'i' || second == 'l')) ||
              (first == 's' && (second == 's' || second == 't')) || a == 0x2bc ||
              (a >= 0x531 && a < 0x587);
    for (size_t k = 0; k < sizeof ends / sizeof *ends && !is; k++)
        is = b == ends[k];
    return a != 0 && is;
}

/* A character outside of classes; its quantifier, if any, makes it an item of its own. */
static void literal(rewriter_t *r, uint32_t c, const char *next)
{
    const bool alone = next < r->end && strchr("*+?{", *next);
    if (r->level.folds && (is_several(c, c) || (!alone && is_joined(r->before, c))))
        refuse(r, "(?i) and letters that are one character in the other case, as \"SS\" for U+00DF");
    r->before = alone ? 0 : c;
}

/* ---- properties ---- */

typedef struct class_name {
    const char *name, *members;
} class_name_t;

/* Oniguruma's classes as PCRE2 has their characters. */
static const class_name_t posix[] = {
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"alpha", "\\p{Alphabetic}"},
    {"ascii", "\\x00-\\x7f"},
    {"blank", "\\t\\p{Zs}"},
    {"cntrl", "\\p{Cc}"},
    {"digit", "\\p{Nd}"},
    {"graph", VISIBLE},
    {"lower", "\\p{Lowercase}"},
    {"print", VISIBLE "\\p{Zs}"},
    {"punct", "\\p{P}\\p{S}"},
    {"space", SPACES},
    {"upper", "\\p{Uppercase}"},
    {"word", LETTERS},
    {"xdigit", "0-9A-Fa-f"},
};

/* General categories by their long names. */
static const class_name_t categories[] = {
    {"letter", "L"},
    {"mark", "M"},
    {"number", "N"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"symbol", "S"},
    {"separator", "Z"},
    {"other", "C"},
    {"uppercase_letter", "Lu"},
    {"lowercase_letter", "Ll"},
    {"decimal_number", "Nd"},
};

/* Names that both engines give one meaning; other long ones are scripts. */
static const class_name_t others[] = {
    {"any", "Any"},
    {"emoji", "Emoji"},
    {"alphabetic", "Alphabetic"},
    {"ideographic", "Ideographic"},
    {"uppercase", "Uppercase"},
    {"lowercase", "Lowercase"},
    {"extended_pictographic", "Extended_Pictographic"},
};

static const char *named(const class_name_t *list, size_t n, const char *at, int64_t bytes)
{
    const char *found = NULL;
    for (size_t k = 0; k < n && !found; k++)
        if ((int64_t)strlen(list[k].name) == bytes &&
            strncasecmp(list[k].name, at, (size_t)bytes) == 0)
            found = list[k].members;
    return found;
}

#define NAMED(list, at, bytes) named(list, sizeof list / sizeof *list, at, bytes)

/* (?i) adds the other cases of the letters of a class: none to these categories. */
static void check_fold(rewriter_t *r, const char *category)
{
    if (r->level.folds && !strchr("NPSZ", *category))
        refuse(r, "(?i) and a property of letters in a class");
}

/* Adds to a class all characters that are not in `members`. */
static void add_complement(rewriter_t *r, const char *members)
{
    if (r->n_complements == MOST_COMPLEMENTS)
        refuse(r, "more than 16 negated classes in a class");
    else
        r->complements[r->n_complements++] = members;
}

/* Members of a POSIX class. */
static void put_posix(rewriter_t *r, const char *members, bool in_class, bool not )
{
    const char *end = strchr(members, '}');
    const bool single = members[1] == 'p' && end && end[1] == '\0',
               space = strcmp(members, SPACES) == 0;
    if (in_class && !space)
        check_fold(r, strncmp(members, "\\p{", 3) == 0 ? members + 3 : "L");
    if (!in_class) {
        put_text(r, not ? "[^" : "[");
        put_text(r, strcmp(members, LETTERS) == 0 ? WORD : members);
        put_text(r, "]");
    } else if (!not ) {
        put_text(r, members);
    } else if (single) {
        put_text(r, "\\P");
        put_text(r, members + 2);
    } else if (space) {
        put_text(r, "\\x{180e}\\S"); /* white space to PCRE2 */
    } else {
        add_complement(r, members);
    }
}

/* "[:name:]" in a class. */
static void posix_class(rewriter_t *r)
{
    const char *name = r->at + 2;
    const bool not = name < r->end && *name == '^';
    name += not ;
    const char *close = name < r->end ? memchr(name, ':', (size_t)(r->end - name)) : NULL;
    const bool closed = close && close + 1 < r->end && close[1] == ']';
    const char *members = closed ? NAMED(posix, name, close - name) : NULL;
    if (members)
        put_posix(r, members, true, not );
    else
        refuse(r, "\"[:\" and a name that POSIX lacks, in a class");
    r->at = closed ? close + 2 : r->end;
}

/* \\p{name} or \\P{name}. PCRE2 takes a bare name of a script for the script's extensions. */
static void property(rewriter_t *r, bool in_class)
{
    const char *name = r->at + 3;
    const char *close =
        name < r->end && name[-1] == '{' ? memchr(name, '}', (size_t)(r->end - name)) : NULL;
    if (!close || close == name) {
        refuse(r, "\\p or \\P without a name in braces");
        return;
    }
    const bool caret = *name == '^', not = (r->at[1] == 'P') != caret;
    name += caret;
    const int64_t n = close - name;
    const char *category = NAMED(categories, name, n),
               *members = category ? NULL : NAMED(posix, name, n), *other = NAMED(others, name, n);
    r->at = close + 1;
    if (members) {
        put_posix(r, members, in_class, not );
        return;
    }
    const char *known = category ? category : other;
    const bool letters = !not &&(known ? strcmp(known, "L") == 0 : n == 1 && strchr("Ll", *name));
    if (in_class && !letters)
        check_fold(r, known ? known : n <= 2 && !not ? name : "L");
    if (in_class && letters && r->level.folds)
        put_text(r, "\\x{345}"); /* a mark, of which the capital letter is U+0399 */
    const bool named_so = !memchr(name, ':', (size_t)n) && !memchr(name, '=', (size_t)n);
    put_text(r, not ? "\\P{" : "\\p{");
    put_text(r, n > 2 && !known && named_so ? "sc:" : "");
    put(r, known ? known : name, known ? (int64_t)strlen(known) : n);
    put_text(r, "}");
}

/* ---- escapes ---- */

/* \\u and four digits, \\x and two, or \\x{...}: a character; -1: something else. */
static int64_t character(rewriter_t *r)
{
    const bool braces = r->at[1] == 'x' && r->at + 2 < r->end && r->at[2] == '{';
    const char *digits = r->at + 2 + braces;
    const int most = braces ? 6 : r->at[1] == 'u' ? 4 : 2;
    int64_t c = 0, n = 0;
    char text[32];
    for (; n < most && digits + n < r->end && isxdigit((unsigned char)digits[n]); n++)
        c = c * 16 + (digits[n] <= '9' ? digits[n] - '0' : (digits[n] & 0x0f) + 9);
    const bool ends = !braces || (digits + n < r->end && digits[n] == '}');
    r->at = digits + n + braces;
    if (n == 0 || !ends || (most == 4 && n != 4) || c > 0x10ffff) {
        refuse(r, "\\x or \\u without its digits");
    } else if (most == 2 && c > 0x7f) {
        refuse(r, "\\x and two digits beyond 7f: a byte, and no character");
    } else {
        snprintf(text, sizeof text, "\\x{%llx}", (long long)c);
        put_text(r, text);
    }
    return r->rc == GNN_OK ? c : -1;
}

/* Letters that are themselves after a backslash, inside a class and outside. */
#define OUTSIDE "EFIJLQTUVijlmq"
#define IN_CLASS OUTSIDE "ABGKNORXYZgkyz"

/* A letter after a backslash; NULL: none that has a counterpart. */
static const char *letter(char c, bool in_class)
{
    static const struct {
        char letter;
        const char *in_class, *outside;
    } known[] = {
        {'s', SPACES, "[" SPACES "]"},
        {'S', "\\x{180e}\\S", "[^" SPACES "]"}, /* white space to PCRE2 */
        {'w', LETTERS, "[" WORD "]"},
        {'W', NULL, "[^" WORD "]"},
        {'h', HEX, "[" HEX "]"},
        {'H', NULL, "[^" HEX "]"},
        {'b', "\\x08", EDGE},
        {'B', NULL, NO_EDGE},
        {'d', "\\p{Nd}", "\\d"},
        {'D', "\\P{Nd}", "\\D"},
        {'v', "\\x0b", "\\x0b"},
        {'n', "\\n", "\\n"},
        {'r', "\\r", "\\r"},
        {'t', "\\t", "\\t"},
        {'f', "\\f", "\\f"},
        {'a', "\\a", "\\a"},
        {'e', "\\e", "\\e"},
        {'A', NULL, "\\A"},
        {'z', NULL, "\\z"},
        {'Z', NULL, "\\Z"},
        {'R', NULL, "\\R"},
        {'N', NULL, "\\N"},
        {'O', NULL, "(?s:.)"},
        {'k', NULL, "\\k"},
    };
    const char *found = NULL;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].letter == c)
            found = in_class ? known[k].in_class : known[k].outside;
    return found;
}

/* A backslash and what follows it. Returns a character, or -1. */
static int64_t escape(rewriter_t *r, bool in_class)
{
    const char c = r->at + 1 < r->end ? r->at[1] : '\0';
    const char *known = letter(c, in_class);
    char what[48];
    if (c == 'x' || c == 'u')
        return character(r);
    if (c == 'p' || c == 'P') {
        property(r, in_class);
        return -1;
    }
    if (c == '\0') {
        refuse(r, "a backslash at its end");
    } else if (known) {
        put_text(r, known);
    } else if (in_class && (c == 'W' || c == 'H')) {
        if (c == 'H')
            check_fold(r, "L");
        add_complement(r, c == 'W' ? LETTERS : HEX);
    } else if (c != '\0' && strchr(in_class ? IN_CLASS : OUTSIDE, c)) {
        put(r, r->at + 1, 1);
        r->at += 2;
        return c;
    } else if (isalpha((unsigned char)c)) {
        snprintf(what, sizeof what, "\\%c%s", c, in_class ? " in a class" : "");
        refuse(r, what);
    } else if ((unsigned char)c < 0x80) {
        put(r, r->at, 2);
    } else {
        r->at--; /* itself */
    }
    r->at += 2;
    return -1;
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

/* A class of the members written from byte `from` on, "[" included, and of the complements:
 * (?>[members]|[^set]), (?:(?=[set])[^members]). One character matches once. */
static void put_complements(rewriter_t *r, int64_t from, bool not, int first)
{
    const int64_t n = r->n - from - 1 - not ;
    char *members = NULL;
    if (r->rc == GNN_OK)
        r->rc = gnn__new(&members, n + 1, 1, "a pattern");
    if (r->rc != GNN_OK)
        return;
    memcpy(members, r->to + r->n - n, (size_t)n);
    r->n = from;
    put_text(r, not ? "(?:" : "(?>");
    for (int k = first; k < r->n_complements; k++) {
        put_text(r, not ? "(?=[" : k > first ? "|[^" : "[^");
        put_text(r, r->complements[k]);
        put_text(r, not ? "])" : "]");
    }
    put_text(r, n == 0 ? (not ? "(?s:.)" : "") : not ? "[^" : "|[");
    put(r, members, n);
    put_text(r, n > 0 ? "])" : ")");
    gnn_free(members);
}

/* One character of a class, which may end a range that begins with `*from`; -1: none does. */
static void member(rewriter_t *r, int64_t c, int64_t *from, bool range, bool not )
{
    if (c >= 0 && !not &&r->level.folds && is_several((uint32_t)(range ? *from : c), (uint32_t)c))
        refuse(r, "(?i) and a class with a character that is several in the other case");
    *from = c;
}

/* A character of a class that is itself. `after`: a complement comes before. */
static int64_t plain_member(rewriter_t *r, bool after)
{
    int64_t next = 0;
    const int64_t c = (int64_t)gnn__utf8_next(r->at, &next);
    if (after && c == '-' && (r->at + 1 >= r->end || r->at[1] != ']'))
        refuse(r, "a hyphen after a negated class in a class");
    if (after && (c == '^' || c == '-'))
        put_text(r, "\\"); /* itself, which may now follow on a bracket or a member */
    put(r, r->at, next);
    r->at += next;
    return c;
}

/* A class in brackets; a nested one adds its characters. */
static void class(rewriter_t *r, int depth)
{
    const int64_t begin = r->n;
    const int first_complement = r->n_complements;
    int64_t from = -1; /* the character before */
    bool closed = false, range = false;
    put(r, r->at++, depth == 0);
    const bool not = r->at < r->end && *r->at == '^';
    if (not &&depth > 0)
        refuse(r, "a negated class in another one");
    if (not )
        put(r, r->at++, 1);
    for (bool first = true; r->rc == GNN_OK && r->at < r->end; first = false) {
        const bool dash = *r->at == '-' && from >= 0 && !range;
        const int complements = r->n_complements;
        int64_t c = -1;
        if (*r->at == ']' && !first)
            break;
        if (closed) {
            refuse(r, "characters after an intersection of classes");
        } else if (*r->at == '\\') {
            c = escape(r, true);
        } else if (*r->at == '[' && r->at + 1 < r->end && r->at[1] == ':') {
            posix_class(r);
        } else if (*r->at == '[') {
            if (range || depth >= 8)
                refuse(r, range ? "a range that ends with a class" : "classes nine deep");
            class(r, depth + 1);
            if (r->at < r->end && *r->at == '-')
                refuse(r, "a hyphen after a class in a class");
        } else if (*r->at == '&' && r->at + 1 < r->end && r->at[1] == '&') {
            if (depth > 0 || r->meeting || r->n + 16 > 4 * MOST_PATTERN)
                refuse(r, "an intersection of classes in another one");
            else if (r->n_complements > first_complement)
                refuse(r, "an intersection of classes with \\W or a negated class at its left");
            else
                intersect(r, begin);
            closed = true;
        } else {
            c = plain_member(r, !dash && !range && r->n_complements > first_complement);
        }
        if (range && r->n_complements > complements)
            refuse(r, "a range that ends with a class");
        if (!dash)
            member(r, c, &from, range, not );
        range = dash;
    }
    if (r->at >= r->end) {
        refuse(r, "a class without an end");
    } else if (depth == 0 && !closed && r->n_complements > first_complement) {
        put_complements(r, begin, not, first_complement);
        r->at++;
    } else {
        put(r, r->at++, depth == 0 && !closed);
    }
    if (depth == 0)
        r->n_complements = first_complement;
}

/* The last item becomes a group, and the quantifier after it one of the group. */
static void wrap(rewriter_t *r)
{
    if (r->rc != GNN_OK || r->n + 8 >= 4 * MOST_PATTERN)
        return;
    memmove(r->to + r->atom + 3, r->to + r->atom, (size_t)(r->n - r->atom));
    memcpy(r->to + r->atom, "(?:", 3);
    r->n += 3;
    put_text(r, ")");
}

/* A repetition. {n,m}+ is a repeated one, not possessive, and {n}? an optional one, not lazy. */
static void count(rewriter_t *r)
{
    const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
    const int64_t n = close ? close - r->at - 1 : 0;
    const bool numbers = n > 0 && strspn(r->at + 1, "0123456789,") == (size_t)n;
    if (!numbers || (n == 1 && r->at[1] == ',')) {
        put(r, r->at++, 1);
        return;
    }
    put_text(r, r->at[1] == ',' ? "{0" : "{");
    put(r, r->at + 1, n + 1);
    const bool exact = !memchr(r->at, ',', (size_t)n + 1);
    r->at = close + 1;
    if (r->at < r->end && (*r->at == '+' || (*r->at == '?' && exact)))
        wrap(r);
}

/* ---- groups ---- */

static void close_options(rewriter_t *r)
{
    for (; r->level.options > 0; r->level.options--)
        put_text(r, ")");
}

/* "(?i)", "(?im-x:": Ruby's m is PCRE2's s. The first kind holds to the end of its group, over
 * alternatives, too. Returns false for something else. */
static bool options(rewriter_t *r)
{
    const char *at = r->at + 2;
    const size_t n = strspn(at, "imx-");
    const char ends = at + n < r->end ? at[n] : '\0';
    level_t level = r->level;
    if (n == 0 || (ends != ')' && ends != ':'))
        return false;
    bool on = true;
    put_text(r, "(?");
    for (size_t k = 0; k < n; k++) {
        on = on && at[k] != '-';
        level.folds = at[k] == 'i' ? on : level.folds;
        level.extended = at[k] == 'x' ? on : level.extended;
        put(r, at[k] == 'm' ? "s" : at + k, at[k] != 'x');
    }
    put_text(r, ":");
    r->at = at + n + 1;
    if (ends == ')') {
        level.options++;
        r->level = level;
    } else {
        level.options = 0;
        r->outer[r->depth - 1] = r->level;
        r->level = level;
    }
    return true;
}

/* An opening parenthesis, with the kind of its group. */
static void open_group(rewriter_t *r)
{
    const char *mark = r->at + 1 < r->end && r->at[1] == '?' ? r->at + 2 : NULL;
    if (r->depth >= MOST_DEPTH) {
        refuse(r, "groups more than 64 deep");
        return;
    }
    if (mark && mark < r->end && *mark == '#') { /* a comment */
        const char *close = memchr(mark, ')', (size_t)(r->end - mark));
        r->at = close ? close + 1 : r->end;
        return;
    }
    r->groups[r->depth] = r->n;
    r->outer[r->depth++] = r->level;
    if (mark && options(r)) {
        r->depth -= r->at[-1] == ')';
        return;
    }
    r->level.options = 0;
    if (mark ? mark >= r->end || !strchr(":=!><'(", *mark) : r->at + 1 < r->end && r->at[1] == '*')
        refuse(r, "\"(?\" or \"(*\" of a kind that has no counterpart");
    const char *name = mark ? mark + 1 : NULL;
    const bool names =
        name && name < r->end && (*mark == '\'' || (*mark == '<' && !strchr("=!", *name)));
    const char *close =
        names ? memchr(name, *mark == '<' ? '>' : '\'', (size_t)(r->end - name)) : NULL;
    const char *last = close ? close + 1 : mark ? mark + (*mark != '(') : r->at + 1;
    put(r, r->at, last - r->at);
    r->at = last;
}

static void close_group(rewriter_t *r)
{
    close_options(r);
    if (r->depth > 0) {
        r->atom = r->groups[--r->depth];
        r->level = r->outer[r->depth];
    }
    put(r, r->at++, 1);
}

static void skip_comment(rewriter_t *r)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = *r->at != '#' ? r->at + 1 : end ? end + 1 : r->end;
}

static void rewrite(rewriter_t *r)
{
    while (r->rc == GNN_OK && r->at < r->end) {
        const char c = *r->at;
        int64_t made = -1, next = 0;
        if (r->level.extended && strchr(" \t\n\r\f\v#", c)) {
            skip_comment(r);
            continue;
        }
        if (!strchr("(){}*+?|", c))
            r->atom = r->n;
        if (c == '\\') {
            made = escape(r, false);
        } else if (c == '[') {
            class(r, 0);
        } else if (c == '{') {
            count(r);
        } else if (c == '(') {
            open_group(r);
            continue;
        } else if (c == ')') {
            close_group(r);
            continue;
        } else {
            made = (int64_t)gnn__utf8_next(r->at, &next);
            put(r, r->at, next);
            r->at += next;
        }
        if (made >= 0 && !strchr("*+?|{}.^$", c))
            literal(r, (uint32_t)made, r->at);
        else
            r->before = 0;
    }
    close_options(r);
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
