/* Reading a block's types and relations. */
#include <lib/model/blocks/type_list.h>

#include <ctype.h>
#include <stdlib.h>

enum { LONGEST = 160 };

/* The next word of a list that is separated by blanks; false at its end. */
static bool next(const char **at, gnn__type_word_t *word)
{
    while (isspace((unsigned char)**at))
        ++*at;
    word->text = *at;
    while (**at && !isspace((unsigned char)**at))
        ++*at;
    word->length = (int)(*at - word->text);
    return word->length > 0;
}

static bool same(gnn__type_word_t word, const char *text, int64_t length)
{
    return word.length == length && memcmp(word.text, text, (size_t)length) == 0;
}

static int find(const gnn__type_list_t *list, const char *text, int64_t length)
{
    for (int t = 0; t < list->n_types; t++)
        if (same(list->types[t].name, text, length))
            return t;
    return -1;
}

/* ---- types: "paper:128 author:64", or without a width: then .width is that of all ---- */

static int add_type(gnn__type_list_t *list, const gnn_block_t *b, gnn__type_word_t word)
{
    const char *colon = memchr(word.text, ':', (size_t)word.length);
    const int length = colon ? (int)(colon - word.text) : word.length;
    char *end = NULL;
    long long width = colon ? strtoll(colon + 1, &end, 10) : b->width;
    if (list->n_types == GNN__MOST_TYPES)
        return gnn__error(GNN_EINVALID, "more than %d types", (int)GNN__MOST_TYPES);
    if (length < 1 || length > LONGEST || find(list, word.text, length) >= 0)
        return gnn__error(GNN_EINVALID,
                          ".types: \"%.*s\": a name of 1 to %d characters that comes once is expected",
                          word.length < LONGEST ? word.length : LONGEST, word.text, LONGEST);
    if ((colon && (end == colon + 1 || end != word.text + word.length)) || width < 1 ||
        width > INT32_MAX)
        return gnn__error(GNN_EINVALID,
                          ".types: the width of \"%.*s\" (NAME:WIDTH, or .width) is %lld", length,
                          word.text, width);
    list->types[list->n_types].name = (gnn__type_word_t){word.text, length};
    list->types[list->n_types++].width = width;
    return GNN_OK;
}

/* ---- relations: "author__writes__paper paper__cites__paper" ---- */

/* The first "__" in the word behind place `from`, -1: none. */
static int64_t separator(gnn__type_word_t word, int64_t from)
{
    for (int64_t k = from; k + 1 < word.length; k++)
        if (word.text[k] == '_' && word.text[k + 1] == '_')
            return k;
    return -1;
}

static int add_relation(gnn__type_list_t *list, gnn__type_word_t word)
{
    const int shown = word.length < LONGEST ? word.length : LONGEST;
    if (list->n_relations == GNN__MOST_RELATIONS)
        return gnn__error(GNN_EINVALID, "more than %d relations", (int)GNN__MOST_RELATIONS);
    if (word.length > LONGEST)
        return gnn__error(GNN_EINVALID, ".relations: \"%.*s...\" has more than %d characters",
                          shown, word.text, LONGEST);
    for (int r = 0; r < list->n_relations; r++)
        if (same(list->relations[r].name, word.text, word.length))
            return gnn__error(GNN_EINVALID, ".relations: \"%.*s\" comes twice", shown, word.text);
    /* Names may hold "__" themselves: the ends must be types. */
    for (int64_t a = separator(word, 1); a >= 0; a = separator(word, a + 1))
        for (int64_t z = separator(word, a + 2); z >= 0; z = separator(word, z + 1)) {
            const int from = find(list, word.text, a),
                      to = find(list, word.text + z + 2, word.length - z - 2);
            if (from < 0 || to < 0)
                continue;
            list->relations[list->n_relations].name = word;
            list->relations[list->n_relations].from = from;
            list->relations[list->n_relations++].to = to;
            list->types[from].is_heard = list->types[to].hears = true;
            return GNN_OK;
        }
    return gnn__error(GNN_EINVALID,
                      ".relations: \"%.*s\": FROM__NAME__TO with two of .types is expected", shown,
                      word.text);
}

bool gnn__type_list_read(gnn__type_list_t *list, gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__type_word_t word;
    int rc = GNN_OK;
    *list = (gnn__type_list_t){.n_types = 0};
    gnn__block_need(steps, b, "types", b->types);
    gnn__block_need(steps, b, "relations", b->relations);
    if (steps->status != GNN_OK)
        return false;
    for (const char *at = b->types; rc == GNN_OK && next(&at, &word);)
        rc = add_type(list, b, word);
    for (const char *at = b->relations; rc == GNN_OK && next(&at, &word);)
        rc = add_relation(list, word);
    if (rc == GNN_OK && list->n_relations == 0)
        rc = gnn__error(GNN_EINVALID, ".relations names none");
    if (rc != GNN_OK)
        gnn__steps_fail(steps, gnn__error_prefix(rc, "block %.60s", b->name));
    return rc == GNN_OK;
}

/* ---- values one under another ---- */

const char *gnn__piece_stack(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             const char *const *values, int count)
{
    char more[400];
    const char *stacked = values[0];
    for (int at = 1, level = 0; at < count; level++) {
        const char *in[8] = {stacked};
        int n = 1;
        while (n < 8 && at < count)
            in[n++] = values[at++];
        snprintf(more, sizeof more, level ? "%s:%d" : "%s", part, level);
        stacked = gnn__piece_of_eight(steps, b, more, GNN_STEP_STACK, in);
    }
    return stacked;
}
