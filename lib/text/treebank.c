/* Sentences with dependency trees: CoNLL-U, as Universal Dependencies publish it. */
#include <lib/data/arrays/text_file.h>

#include <gnn/text.h>

enum { COLUMNS = 10, FORM = 1, UPOS = 3, HEAD = 6 };

typedef struct {
    gnn_treebank_t view; /* the public view; its arrays are those below */
    char *text;          /* of the file: words point into it */
    int64_t *lengths, *heads;
    const char **words;
    uint8_t *punctuation;
    int64_t room[4];
} treebank_t;

/* ---- one line ---- */

typedef struct {
    const char *at;
    int64_t length;
} column_t;

/* The ten tab-separated columns. */
static int split(const gnn__text_t *text, column_t columns[COLUMNS])
{
    const char *at = text->cursor;
    int n = 0;
    for (;; n++) {
        const char *tab = memchr(at, '\t', (size_t)(text->end - at)), *end = tab ? tab : text->end;
        if (n < COLUMNS)
            columns[n] = (column_t){at, end - at};
        if (!tab)
            break;
        at = tab + 1;
    }
    if (n + 1 != COLUMNS)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "%d columns, %d parted by tabs are expected", n + 1, COLUMNS);
    for (n = 0; n < COLUMNS; n++)
        if (columns[n].length == 0)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "column %d is empty", n + 1);
    return GNN_OK;
}

static bool has(const column_t *c, char mark)
{
    return memchr(c->at, mark, (size_t)c->length) != NULL;
}

/* An integer of at most nine digits; -1 if invalid. */
static int64_t number(const column_t *c)
{
    int64_t value = 0;
    for (int64_t k = 0; k < c->length; k++) {
        if (c->at[k] < '0' || c->at[k] > '9' || c->length > 9)
            return -1;
        value = 10 * value + c->at[k] - '0';
    }
    return value;
}

/* ---- a sentence ---- */

/* Follows each word to the root until a visited word, then marks the path. */
enum { REACHES = 2 }; /* in addition to punctuation's 1 */

static bool reaches_root(const int64_t *heads, uint8_t *marks, int64_t n, int64_t from)
{
    int64_t steps = 0, at = from;
    for (; at >= 0 && !(marks[at] & REACHES); at = heads[at])
        if (steps++ >= n)
            return false;
    for (at = from; at >= 0 && !(marks[at] & REACHES); at = heads[at])
        marks[at] |= REACHES;
    return true;
}

/* Checks that heads are in the sentence, and that there is no cycle. */
static int check_tree(const gnn__text_t *text, const int64_t *heads, uint8_t *marks, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (heads[k] >= n)
            return gnn__error(
                GNN_EFORMAT,
                "%s: the sentence before line %lld: word %lld has head %lld, expected 0 to %lld",
                text->name, (long long)text->line, (long long)k + 1, (long long)heads[k] + 1,
                (long long)n);
    for (int64_t k = 0; k < n; k++)
        if (!reaches_root(heads, marks, n, k))
            return gnn__error(GNN_EFORMAT,
                              "%s: the sentence before line %lld: the heads of word %lld form a cycle",
                              text->name, (long long)text->line, (long long)k + 1);
    for (int64_t k = 0; k < n; k++)
        marks[k] &= (uint8_t)~REACHES;
    return GNN_OK;
}

static int end_sentence(treebank_t *t, const gnn__text_t *text)
{
    if (t->view.count == 0)
        return GNN_OK;
    const int64_t n = t->lengths[t->view.count - 1];
    return check_tree(text, t->heads + t->view.rows - n, t->punctuation + t->view.rows - n, n);
}

static int begin_sentence(treebank_t *t, const gnn__text_t *text)
{
    GNN_TRY(end_sentence(t, text));
    GNN_TRY(gnn__room(&t->lengths, t->view.count, &t->room[0], sizeof *t->lengths, "a treebank"));
    t->lengths[t->view.count++] = 0;
    return GNN_OK;
}

/* Words are numbered 1, 2, ...; 1 starts a sentence, which an empty line separates from the
 * previous one. */
static int check_place(treebank_t *t, const gnn__text_t *text, int64_t id)
{
    const bool begins = t->view.count == 0 || text->blank > 0;
    const int64_t expected = begins ? 1 : t->lengths[t->view.count - 1] + 1;
    if (id != expected)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "word %lld of the sentence is expected%s",
                               (long long)expected, begins ? ", after a blank line" : "");
    return begins ? begin_sentence(t, text) : GNN_OK;
}

static int add_word(treebank_t *t, const gnn__text_t *text, const column_t columns[COLUMNS])
{
    const int64_t head = number(&columns[HEAD]), k = t->view.rows;
    GNN_TRY(check_place(t, text, number(&columns[0])));
    if (head < 0)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "column 7 is not the id of a word: %.*s",
                               (int)gnn__min(columns[HEAD].length, 40), columns[HEAD].at);
    if (!gnn__is_utf8(columns[FORM].at, columns[FORM].length))
        return gnn__text_error(text, NULL, GNN_EFORMAT, "the word is not UTF-8");
    GNN_TRY(gnn__room(&t->heads, k, &t->room[1], sizeof *t->heads, "a treebank"));
    GNN_TRY(gnn__room(&t->words, k, &t->room[2], sizeof *t->words, "a treebank"));
    GNN_TRY(gnn__room(&t->punctuation, k, &t->room[3], sizeof *t->punctuation, "a treebank"));
    t->heads[k] = head - 1;
    t->words[k] = columns[FORM].at;
    t->punctuation[k] = columns[UPOS].length == 5 && memcmp(columns[UPOS].at, "PUNCT", 5) == 0;
    /* Overwrites the tab after the word, which is not read again. */
    text->data[columns[FORM].at - text->data + columns[FORM].length] = '\0';
    t->view.rows++;
    t->lengths[t->view.count - 1]++;
    return GNN_OK;
}

/* ---- the file ---- */

/* "3-4" is a multiword token, "5.1" an empty node. */
static int read(treebank_t *t, gnn__text_t *text)
{
    column_t columns[COLUMNS];
    int64_t blank = 0;
    text->comments = "#";
    while (gnn__text_line(text)) {
        GNN_TRY(split(text, columns));
        blank = text->blank += blank;
        if (has(&columns[0], '-') || has(&columns[0], '.'))
            continue;
        GNN_TRY(add_word(t, text, columns));
        blank = 0;
    }
    GNN_TRY(end_sentence(t, text));
    if (t->view.count == 0)
        return gnn__error(GNN_EFORMAT, "%s: no sentence", text->name);
    t->view.lengths = t->lengths;
    t->view.words = t->words;
    t->view.heads = t->heads;
    t->view.punctuation = t->punctuation;
    t->text = text->data;
    text->data = NULL;
    return GNN_OK;
}

int gnn_treebank_read(gnn_treebank_t **treebank, const char *path)
{
    GNN__NEED(path);
    gnn__text_t text;
    treebank_t *t = NULL;
    GNN__NEED(treebank);
    *treebank = NULL;
    GNN_TRY(gnn__text_open(&text, path));
    int rc = gnn__new(&t, 1, sizeof *t, "a treebank");
    if (rc == GNN_OK)
        rc = read(t, &text);
    gnn__text_free(&text);
    if (rc != GNN_OK) {
        gnn_treebank_free(t ? &t->view : NULL);
        return rc;
    }
    *treebank = &t->view;
    return GNN_OK;
}

void gnn_treebank_free(gnn_treebank_t *treebank)
{
    treebank_t *t = (treebank_t *)treebank; /* its first member */
    if (!t)
        return;
    gnn_free(t->text);
    gnn_free(t->lengths);
    gnn_free(t->heads);
    gnn_free(t->words);
    gnn_free(t->punctuation);
    gnn_free(t);
}
