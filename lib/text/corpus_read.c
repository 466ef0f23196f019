/* Files of one labelled sentence per line. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/corpus.h>

/* The state of the reader. */
typedef struct lines {
    gnn__slice_t *labels, *sentences;
    int64_t *number; /* of the line */
    int64_t count, room[3];
    bool tabs; /* "label<TAB>sentence"; otherwise "0 sentence", "1 sentence" */
} lines_t;

static int room_for_one(lines_t *l)
{
    GNN_TRY(gnn__room(&l->labels, l->count, &l->room[0], sizeof *l->labels, "labels"));
    GNN_TRY(gnn__room(&l->sentences, l->count, &l->room[1], sizeof *l->sentences, "sentences"));
    return gnn__room(&l->number, l->count, &l->room[2], sizeof *l->number, "lines");
}

static gnn__slice_t trim(const char *begin, const char *end)
{
    while (begin < end && (*begin == ' ' || *begin == '\t'))
        begin++;
    while (begin < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (gnn__slice_t){begin, end - begin};
}

static int split_line(const gnn__text_t *text, lines_t *l)
{
    const char *at = text->cursor, *end = text->end;
    if (end - at > GNN__MAX_LINE)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "%lld bytes, at most %d are read",
                               (long long)(end - at), GNN__MAX_LINE);
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    if (l->count == 0)
        l->tabs = tab != NULL;
    if (l->tabs && !tab)
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "no tab, \"label<TAB>sentence\" is expected as in the lines before");
    if (!l->tabs) {
        tab = at + 1;
        if (end - at < 2 || (*at != '0' && *at != '1') || *tab != ' ')
            return gnn__text_error(
                text, NULL, GNN_EFORMAT,
                "\"label<TAB>sentence\", \"0 sentence\" or \"1 sentence\" is expected, got %s",
                gnn__field_shown(&(gnn__text_field_t){.at = text->cursor, .length = end - at}));
    }
    l->labels[l->count] = trim(at, tab);
    l->sentences[l->count] = trim(tab, end);
    const gnn__slice_t *sentence = &l->sentences[l->count];
    if (l->tabs && memchr(sentence->at, '\t', (size_t)sentence->length))
        return gnn__text_error(text, NULL, GNN_EFORMAT,
                               "more than two columns, \"label<TAB>sentence\" is expected");
    return GNN_OK;
}

static int take_line(gnn__text_t *text, lines_t *l)
{
    GNN_TRY(room_for_one(l));
    GNN_TRY(split_line(text, l));
    const char *fault = gnn__label_fault(l->labels[l->count]);
    if (!fault)
        fault = gnn__sentence_fault(l->sentences[l->count]);
    if (fault)
        return gnn__text_error(text, NULL, GNN_EFORMAT, "%s", fault);
    l->number[l->count++] = text->line;
    return GNN_OK;
}

/* Column names in the first line would be a class of one sentence. */
static int refuse_names(const gnn__text_t *text, const lines_t *l)
{
    static const char *const names[] = {"label",    "labels",    "class",    "classes",   "target",
                                        "category", "sentiment", "sentence", "sentence1", "text",
                                        "review",   "question",  "id",       "idx",       "index",
                                        "guid",     "qid",       NULL};
    const gnn__slice_t *first = &l->labels[0];
    const gnn__text_field_t field = {.at = (char *)(uintptr_t)first->at,
                                     .length = first->length}; /* only read */
    if (!l->tabs || l->count < 2 || !gnn__field_is_one_of(&field, names))
        return GNN_OK;
    for (int64_t k = 1; k < l->count; k++)
        if (l->labels[k].length == first->length &&
            memcmp(l->labels[k].at, first->at, (size_t)first->length) == 0)
            return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "%s: line %lld: %s, which no other line has, names a column: a first line of "
                      "column names is not expected",
                      text->name, (long long)l->number[0], gnn__field_shown(&field));
}

static int read(gnn_corpus_t **corpus, gnn__text_t *text, lines_t *l, const gnn_vocabulary_t *like)
{
    int64_t at_fault;
    while (gnn__text_line(text))
        GNN_TRY(take_line(text, l));
    if (l->count == 0)
        return gnn__error(GNN_EFORMAT, "%s: no sentence, all lines are blank", text->name);
    GNN_TRY(refuse_names(text, l));
    /* Only now: the byte after the last sentence of the file is already its NUL. */
    for (int64_t k = 0; k < l->count; k++)
        text->data[l->sentences[k].at - text->data + l->sentences[k].length] = '\0';
    int rc = gnn__corpus_make(corpus, l->count, l->labels, l->sentences, like, text->data, &at_fault);
    if (rc == GNN_OK)
        text->data = NULL;
    else if (at_fault >= 0)
        gnn__error_prefix(rc, "%s: line %lld", text->name, (long long)l->number[at_fault]);
    else if (rc == GNN_EFORMAT)
        gnn__error_prefix(rc, "%s", text->name);
    return rc;
}

int gnn_corpus_read(gnn_corpus_t **corpus, const char *path, const gnn_vocabulary_t *like)
{
    GNN__NEED(path);
    gnn__text_t text;
    lines_t l = {.count = 0};
    GNN__NEED(corpus);
    GNN_TRY(gnn__text_open(&text, path));
    int rc = read(corpus, &text, &l, like);
    gnn__text_free(&text);
    gnn_free(l.labels);
    gnn_free(l.sentences);
    gnn_free(l.number);
    return rc;
}
