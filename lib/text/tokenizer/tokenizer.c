/* Tokenizers: opening a file, and the vocabulary. */
#include <lib/text/tokenizer/tokenizer.h>

void gnn_tokenizer_free(gnn_tokenizer_t *t)
{
    if (!t)
        return;
    gnn__pipeline_free(&t->normalisers);
    gnn__pipeline_free(&t->splitters);
    gnn__pair_free(&t->rules.merges);
    gnn__strings_free(&t->names);
    gnn__trie_free(&t->kept);
    gnn__trie_free(&t->pieces);
    gnn__packed_free(&t->packed);
    gnn__trie_free(&t->raw_added);
    gnn__trie_free(&t->normalised_added);
    gnn_tokenizer_free(t->cutter);
    gnn_free(t->numbering);
    gnn_free(t->rules.scores);
    gnn_free(t->rules.letters);
    gnn_free(t->single.at);
    gnn_free(t->pair.at);
    for (int64_t k = 0; k < t->n_added; k++)
        gnn_free(t->added[k].normal);
    gnn_free(t->added);
    gnn_free(t->trims);
    gnn_free(t->written);
    gnn_free(t->tokens);
    gnn_free(t->flags);
    gnn_free(t->block);
    gnn_free(t->more);
    json_decref(t->root);
    gnn_free(t);
}

int gnn__tokenizer_new(gnn_tokenizer_t **tokenizer)
{
    GNN_TRY(gnn__new(tokenizer, 1, sizeof **tokenizer, "a tokenizer"));
    (*tokenizer)->rules.unknown = -1;
    (*tokenizer)->rules.prefix = (*tokenizer)->rules.suffix = "";
    return GNN_OK;
}

int gnn__tokenizer_finish(gnn_tokenizer_t **tokenizer, int rc)
{
    gnn_tokenizer_t *t = *tokenizer;
    if (rc == GNN_OK && t->kind->ready)
        rc = t->kind->ready(t);
    if (rc == GNN_OK)
        return rc;
    gnn_tokenizer_free(t);
    *tokenizer = NULL;
    return rc;
}

int gnn__tokenizer_open_file(gnn_tokenizer_t **tokenizer, const char *path)
{
    *tokenizer = NULL;
    GNN_TRY(gnn__tokenizer_new(tokenizer));
    return gnn__tokenizer_finish(tokenizer, gnn__tokenizer_read(*tokenizer, path));
}

int gnn__tokenizer_of_root(gnn_tokenizer_t **tokenizer, json_t *root)
{
    int rc = gnn__tokenizer_new(tokenizer);
    if (rc != GNN_OK) {
        json_decref(root);
        return rc;
    }
    (*tokenizer)->root = root;
    return gnn__tokenizer_finish(tokenizer, gnn__tokenizer_build(*tokenizer));
}

const char *gnn_tokenizer_kind(const gnn_tokenizer_t *tokenizer)
{
    GNN__NEED_OR(tokenizer, NULL);
    return tokenizer ? tokenizer->kind->name : "";
}

int64_t gnn_tokenizer_size(const gnn_tokenizer_t *tokenizer)
{
    GNN__NEED_OR(tokenizer, 0);
    return tokenizer ? tokenizer->size : 0;
}

const char *gnn_tokenizer_token(const gnn_tokenizer_t *tokenizer, int64_t id)
{
    GNN__NEED_OR(tokenizer, NULL);
    return tokenizer && id >= 0 && id < tokenizer->size ? tokenizer->tokens[id].at : NULL;
}

int32_t gnn_tokenizer_find(const gnn_tokenizer_t *tokenizer, const char *token)
{
    GNN__NEED_OR(tokenizer, -1);
    GNN__NEED_OR(token, -1);
    const gnn__string_t none = {"", 0};
    return tokenizer && token
               ? gnn__token_find(tokenizer, (gnn__string_t){token, (int64_t)strlen(token)}, none)
               : -1;
}
