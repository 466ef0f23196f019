/* Writes tokenizer.json. */
#include <lib/data/arrays/arrays.h>
#include <lib/text/tokenizer/tokenizer.h>

/* A shallow copy; NULL if out of memory, where jansson's own drops keys. */
static json_t *copy_of(const json_t *object)
{
    json_t *copy = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!copy || json_object_set_nocheck(copy, key, value) != 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *vocabulary_of(const gnn_tokenizer_t *t)
{
    json_t *tokens = json_object();
    for (int64_t id = 0; id < t->size && tokens; id++)
        if (t->tokens[id].at &&
            json_object_set_new_nocheck(tokens, t->tokens[id].at, json_integer(id)) != 0) {
            json_decref(tokens);
            return NULL;
        }
    return tokens;
}

/* Adds the tokens of a separate file to the model. NULL if out of memory. */
static json_t *whole_of(const gnn_tokenizer_t *t)
{
    json_t *root = copy_of(t->root), *model = copy_of(json_object_get(t->root, "model"));
    bool failed = !model;
    if (model && !json_object_get(model, "vocab"))
        failed = json_object_set_new(model, "vocab", vocabulary_of(t)) != 0;
    /* takes ownership of the model, even on failure */
    failed = json_object_set_new(root, "model", model) != 0 || failed;
    if (!failed)
        return root;
    json_decref(root);
    return NULL;
}

static int write(gnn__output_t *output, const char *text)
{
    GNN_TRY(gnn__output_write(output, text, (int64_t)strlen(text)));
    return gnn__output_commit(output);
}

int gnn_tokenizer_save(const gnn_tokenizer_t *tokenizer, const char *path)
{
    gnn__output_t output;
    GNN__NEED(tokenizer);
    GNN__NEED(path);
    if (!tokenizer->root || tokenizer->cutter)
        return gnn__error(GNN_EUNSUPPORTED,
                          "a tokenizer of SentencePiece or llama2.c is saved by copying its file");
    json_t *whole = whole_of(tokenizer);
    char *text;
    int rc = gnn__json_write(&text, whole, JSON_INDENT(1));
    json_decref(whole);
    GNN_TRY(rc);
    rc = gnn__output_open(&output, path);
    if (rc == GNN_OK) {
        rc = write(&output, text);
        gnn__output_close(&output);
    }
    gnn_free(text);
    return rc;
}
