/* The tokens of mteval-v13a: blanks are put around punctuation, except for points and commas
 * between digits, and the line is split at blanks. Post 2018. */
#include <lib/text/bleu.h>
#include <lib/text/tokenizer/utf8.h>

static int reserve(void *memory, int64_t *room, int64_t count, size_t element, const char *what)
{
    if (count <= *room)
        return GNN_OK;
    GNN_TRY(gnn__grow(memory, *room, 2 * count, element, what));
    *room = 2 * count;
    return GNN_OK;
}

/* ---- the line ---- */

/* Four characters by the names that HTML has for them, one name after another, so that "&amp;lt;"
 * becomes "<" in the end. */
static void replace_entities(char *text)
{
    static const struct {
        const char *name;
        char is;
    } names[] = {{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const size_t n = strlen(names[k].name);
        char *to = text;
        for (const char *at = text; *at;) {
            const bool is_name = strncmp(at, names[k].name, n) == 0;
            *to++ = is_name ? names[k].is : *at;
            at += is_name ? n : 1;
        }
        *to = '\0';
    }
}

static void remove_word(char *text, const char *word)
{
    const size_t n = strlen(word);
    char *to = text;
    for (const char *at = text; *at;) {
        if (strncmp(at, word, n) == 0) {
            at += n;
            continue;
        }
        *to++ = *at++;
    }
    *to = '\0';
}

/* A copy between two blanks, in lower case if wanted; line ends are blanks, and what is no UTF-8 is
 * U+FFFD. A byte becomes at most three. */
static int copy_text(gnn__bleu_line_t *l, const char *text, bool lower)
{
    const int64_t n = (int64_t)strlen(text);
    int64_t to = 1, room;
    if (!gnn__mul(n, 3, &room) || !gnn__add(room, 8, &room))
        return gnn__error(GNN_EOVERFLOW, "a line of %lld bytes does not fit", (long long)n);
    GNN_TRY(reserve(&l->text, &l->text_room, room, 1, "a line"));
    for (int64_t k = 0; k < n;) {
        bool whole, open;
        const int64_t part = gnn__utf8_part((const unsigned char *)text + k, n - k, &whole, &open);
        int64_t at = k;
        int32_t characters[2] = {whole ? gnn__utf8_next(text, &at) : GNN__REPLACEMENT};
        const int count = lower ? gnn__to_lower(characters[0], characters) : 1;
        for (int i = 0; i < count; i++)
            to += gnn__utf8_put(l->text + to, characters[i]);
        k += part;
    }
    l->text[0] = ' ';
    l->text[to] = '\0';
    remove_word(l->text + 1, "<skipped>");
    remove_word(l->text + 1, "-\n");
    for (char *c = l->text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    replace_entities(l->text + 1);
    memcpy(l->text + strlen(l->text), " ", 2);
    return GNN_OK;
}

/* ---- blanks between tokens ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Punctuation and blanks of ASCII without apostrophe, comma, hyphen and point. */
static bool stands_alone(char c)
{
    return (c >= ' ' && c <= '/' && c != '\'' && c != ',' && c != '-' && c != '.') ||
           (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

/* The four rules one after another, each from left to right; what a rule has matched it does not
 * look at again. */
static int64_t space_alone(const char *from, char *to)
{
    char *at = to;
    for (; *from; from++) {
        const bool alone = stands_alone(*from);
        if (alone)
            *at++ = ' ';
        *at++ = *from;
        if (alone)
            *at++ = ' ';
    }
    *at = '\0';
    return at - to;
}

static int64_t space_points_behind(const char *from, char *to)
{
    char *at = to;
    while (*from) {
        const bool both = !is_digit(from[0]) && is_point(from[1]);
        *at++ = *from++;
        if (!both)
            continue;
        *at++ = ' ';
        *at++ = *from++;
        *at++ = ' ';
    }
    *at = '\0';
    return at - to;
}

static int64_t space_points_before(const char *from, char *to)
{
    char *at = to;
    while (*from) {
        const bool both = is_point(from[0]) && from[1] && !is_digit(from[1]);
        if (both)
            *at++ = ' ';
        *at++ = *from++;
        if (!both)
            continue;
        *at++ = ' ';
        *at++ = *from++;
    }
    *at = '\0';
    return at - to;
}

static int64_t space_hyphens(const char *from, char *to)
{
    char *at = to;
    while (*from) {
        const bool both = is_digit(from[0]) && from[1] == '-';
        *at++ = *from++;
        if (!both)
            continue;
        *at++ = ' ';
        *at++ = *from++;
        *at++ = ' ';
    }
    *at = '\0';
    return at - to;
}

static int apply(gnn__bleu_line_t *l, int64_t (*rule)(const char *, char *))
{
    const int64_t n = (int64_t)strlen(l->text);
    int64_t room;
    if (!gnn__mul(n, 3, &room))
        return gnn__error(GNN_EOVERFLOW, "a line of %lld bytes does not fit", (long long)n);
    GNN_TRY(reserve(&l->spaced, &l->spaced_room, room + 1, 1, "a line with blanks"));
    const int64_t written = rule(l->text, l->spaced);
    GNN_TRY(reserve(&l->text, &l->text_room, written + 1, 1, "a line"));
    memcpy(l->text, l->spaced, (size_t)written + 1);
    return GNN_OK;
}

/* ---- tokens ---- */

/* What Python's str.split takes for a blank. */
static bool is_blank(int32_t c)
{
    return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

static int cut_tokens(gnn__bleu_line_t *l)
{
    const int64_t n = (int64_t)strlen(l->text);
    int64_t begin = -1;
    l->count = 0;
    for (int64_t k = 0; k < n;) {
        const int64_t at = k;
        const bool blank = is_blank(gnn__utf8_next(l->text, &k));
        if (!blank) {
            begin = begin < 0 ? at : begin;
            continue;
        }
        if (begin >= 0) {
            GNN_TRY(reserve(&l->tokens, &l->room, l->count + 1, sizeof *l->tokens, "tokens"));
            l->tokens[l->count++] = (gnn__slice_t){l->text + begin, at - begin};
        }
        begin = -1;
    }
    return GNN_OK;
}

int gnn__bleu_split(gnn__bleu_line_t *line, const char *text, bool lower)
{
    GNN_TRY(copy_text(line, text, lower));
    GNN_TRY(apply(line, space_alone));
    GNN_TRY(apply(line, space_points_behind));
    GNN_TRY(apply(line, space_points_before));
    GNN_TRY(apply(line, space_hyphens));
    return cut_tokens(line);
}

void gnn__bleu_line_free(gnn__bleu_line_t *line)
{
    gnn_free(line->text);
    gnn_free(line->spaced);
    gnn_free(line->tokens);
}
