/* The tokens of mteval-v13a: spaces are put around punctuation, except for periods and commas
 * between digits, and the line is split at whitespace. Post 2018. */
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

/* HTML entities of four characters, replaced one after the other, so that "&amp;lt;" becomes
 * "<". */
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

/* A copy between two spaces, optionally in lower case; line ends become spaces, and invalid UTF-8
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

/* ---- spaces around tokens ---- */

/* The substitutions of mteval-v13a, in its order, each over the whole line. */
static const struct {
    const char *pattern, *replacement;
} rules[GNN__BLEU_RULES] = {
    {"([{-~\\[-` -&(-+:-@/])", " $1 "}, /* punctuation other than ' , - . */
    {"([^0-9])([.,])", "$1 $2 "},
    {"([.,])([^0-9])", " $1 $2"},
    {"([0-9])(-)", "$1 $2 "},
};

static int compile_rules(gnn__bleu_line_t *l)
{
    for (int k = 0; k < GNN__BLEU_RULES; k++) {
        int fault;
        PCRE2_SIZE at;
        if (l->rules[k])
            continue;
        l->rules[k] =
            pcre2_compile((PCRE2_SPTR)rules[k].pattern, PCRE2_ZERO_TERMINATED, 0, &fault, &at, NULL);
        if (!l->rules[k])
            return gnn__error(GNN_EMEMORY, "no memory for the patterns of BLEU's tokens");
        pcre2_jit_compile(l->rules[k], PCRE2_JIT_COMPLETE); /* without it, matches are slower */
    }
    return GNN_OK;
}

/* A rule expands one byte to at most three. */
static int substitute(gnn__bleu_line_t *l, int rule)
{
    const int64_t n = (int64_t)strlen(l->text);
    int64_t room;
    if (!gnn__mul(n, 3, &room))
        return gnn__error(GNN_EOVERFLOW, "a line of %lld bytes does not fit", (long long)n);
    GNN_TRY(reserve(&l->spaced, &l->spaced_room, room + 1, 1, "a line with spaces"));
    PCRE2_SIZE written = (PCRE2_SIZE)room + 1;
    const int rc =
        pcre2_substitute(l->rules[rule], (PCRE2_SPTR)l->text, (PCRE2_SIZE)n, 0,
                         PCRE2_SUBSTITUTE_GLOBAL, NULL, NULL, (PCRE2_SPTR)rules[rule].replacement,
                         PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)l->spaced, &written);
    if (rc < 0)
        return gnn__error(GNN_EMEMORY, "no memory for the tokens of a line (PCRE2 %d)", rc);
    GNN_TRY(reserve(&l->text, &l->text_room, (int64_t)written + 1, 1, "a line"));
    memcpy(l->text, l->spaced, written + 1);
    return GNN_OK;
}

/* ---- tokens ---- */

/* Whitespace as in Python's str.split. */
static bool is_space(int32_t c)
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
        const bool space = is_space(gnn__utf8_next(l->text, &k));
        if (!space) {
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
    GNN_TRY(compile_rules(line));
    GNN_TRY(copy_text(line, text, lower));
    for (int k = 0; k < GNN__BLEU_RULES; k++)
        GNN_TRY(substitute(line, k));
    return cut_tokens(line);
}

void gnn__bleu_line_free(gnn__bleu_line_t *line)
{
    for (int k = 0; k < GNN__BLEU_RULES; k++)
        pcre2_code_free(line->rules[k]);
    gnn_free(line->text);
    gnn_free(line->spaced);
    gnn_free(line->tokens);
}
