/* tokenizer.json written. */
#include <lib/io/arrays/arrays.h>
#include <lib/text/tokenizer/tokenizer.h>

#include <stdlib.h>

/* The tokens that came from a file of their own join the model. */
static json_t *whole_of(const gnn_tokenizer_t *t)
{
    json_t *root = json_copy(t->root), *model = json_copy(json_object_get(t->root, "model"));
    if (model && !json_object_get(model, "vocab")) {
        json_t *tokens = json_object();
        for (int64_t id = 0; id < t->size; id++)
            if (t->tokens[id].at)
                json_object_set_new(tokens, t->tokens[id].at, json_integer(id));
        json_object_set_new(model, "vocab", tokens);
    }
    json_object_set_new(root, "model", model);
    return root;
}

static int write(gnn__output_t *output, const char *text)
{
    GNN_TRY(gnn__output_write(output, text, (int64_t)strlen(text)));
    return gnn__output_commit(output);
}

int gnn_tokenizer_save(const gnn_tokenizer_t *tokenizer, const char *path)
{
    gnn__output_t output;
    if (!tokenizer || !path)
        return gnn__error(GNN_EINVALID, "the %s is NULL", tokenizer ? "path" : "tokenizer");
    if (!tokenizer->root)
        return gnn__error(GNN_EUNSUPPORTED,
                          "a tokenizer of SentencePiece or llama2.c is saved by copying its file");
    json_t *whole = whole_of(tokenizer);
    char *text = json_dumps(whole, JSON_INDENT(1));
    json_decref(whole);
    if (!text)
        return gnn__error(GNN_EMEMORY, "out of memory for writing a tokenizer");
    int rc = gnn__output_open(&output, path);
    if (rc == GNN_OK) {
        rc = write(&output, text);
        gnn__output_close(&output);
    }
    free(text);
    return rc;
}
