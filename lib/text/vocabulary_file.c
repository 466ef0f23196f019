/* Vocabularies as text: "gnn-vocabulary 1 LABELS WORDS", then one label or word per line, without
 * the unknown word. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/corpus.h>

static int write_line(gnn__output_t *output, const char *line)
{
    GNN_TRY(gnn__output_write(output, line, (int64_t)strlen(line)));
    return gnn__output_write(output, "\n", 1);
}

static int write_all(gnn__output_t *output, const gnn_vocabulary_t *v)
{
    char head[80];
    snprintf(head, sizeof head, "gnn-vocabulary 1 %lld %lld", (long long)v->n_labels,
             (long long)v->n_words - 1);
    GNN_TRY(write_line(output, head));
    for (int64_t k = 0; k < v->n_labels; k++)
        GNN_TRY(write_line(output, v->labels[k]));
    for (int64_t k = 1; k < v->n_words; k++)
        GNN_TRY(write_line(output, v->words[k]));
    return gnn__output_commit(output);
}

int gnn_vocabulary_save(const gnn_vocabulary_t *vocabulary, const char *path)
{
    GNN__NEED(path);
    gnn__output_t output;
    GNN__NEED(vocabulary);
    int rc = gnn__output_open(&output, path);
    if (rc == GNN_OK)
        rc = write_all(&output, vocabulary);
    gnn__output_close(&output);
    return rc;
}

static int read_head(gnn__text_t *text, int64_t count[2])
{
    gnn__text_field_t field;
    int64_t version = 0;
    bool line = gnn__text_line(text);
    if (line)
        GNN_TRY(gnn__text_field(text, &field));
    if (!line || field.length != 14 || memcmp(field.at, "gnn-vocabulary", 14) != 0)
        return gnn__error(GNN_EFORMAT,
                          "%s: no vocabulary: its first line does not begin with \"gnn-vocabulary\"",
                          text->name);
    GNN_TRY(gnn__text_field(text, &field));
    GNN_TRY(gnn__text_integer(text, &field, "the version, 1,", &version));
    if (version != 1)
        return gnn__text_error(text, &field, GNN_EFORMAT, "version %lld, only 1 is known",
                               (long long)version);
    for (int k = 0; k < 2; k++) {
        GNN_TRY(gnn__text_field(text, &field));
        GNN_TRY(gnn__text_integer(text, &field, k ? "the count of words" : "the count of labels",
                                  &count[k]));
        if (count[k] < 0 || count[k] > (k ? text->size : GNN__MAX_LABELS))
            return gnn__text_error(text, &field, GNN_EFORMAT, "%lld %s in a file of %lld bytes",
                                   (long long)count[k], k ? "words" : "labels",
                                   (long long)text->size);
    }
    GNN_TRY(gnn__text_field(text, &field));
    return field.at ? gnn__text_error(text, &field, GNN_EFORMAT, "more than two counts") : GNN_OK;
}

/* A word of the file must be a valid word of a sentence. */
static const char *word_fault(gnn__slice_t word)
{
    const char *cursor = word.at, *fault = gnn__sentence_fault(word);
    if (fault)
        return fault;
    return gnn__word_next(&cursor, word.at + word.length).length == word.length
               ? NULL
               : "more than one word";
}

static int read_entries(gnn__text_t *text, int64_t labels, int64_t all, gnn__slice_t *entries)
{
    for (int64_t k = 0; k < all; k++) {
        if (!gnn__text_line(text))
            return gnn__error(GNN_EFORMAT, "%s: ends after %lld of %lld labels and words",
                              text->name, (long long)k, (long long)all);
        entries[k] = (gnn__slice_t){text->cursor, text->end - text->cursor};
        const char *fault = k < labels ? gnn__label_fault(entries[k]) : word_fault(entries[k]);
        if (fault)
            return gnn__text_error(text, NULL, GNN_EFORMAT, "%s", fault);
    }
    return gnn__text_line(text)
               ? gnn__text_error(text, NULL, GNN_EFORMAT, "more than the first line counts")
               : GNN_OK;
}

static int read(gnn_vocabulary_t **vocabulary, gnn__text_t *text)
{
    int64_t count[2], at_fault = -1;
    gnn__slice_t *entries = NULL;
    int rc;
    GNN_CHECK(read_head(text, count));
    int64_t all = count[0] + count[1];
    GNN_CHECK(gnn__new(&entries, all, sizeof *entries, "labels and words"));
    GNN_CHECK(read_entries(text, count[0], all, entries));
    rc = gnn__vocabulary_make(vocabulary, count[0], entries, count[1], entries + count[0], &at_fault);
    if (at_fault >= 0)
        gnn__error_prefix(rc, "%s: entry %lld", text->name, (long long)at_fault + 1);
done:
    gnn_free(entries);
    return rc;
}

int gnn_vocabulary_load(gnn_vocabulary_t **vocabulary, const char *path)
{
    GNN__NEED(path);
    gnn__text_t text;
    GNN__NEED(vocabulary);
    GNN_TRY(gnn__text_open(&text, path));
    int rc = read(vocabulary, &text);
    gnn__text_free(&text);
    return rc;
}
