/* A tokenizer from JSON, part by part. */
#include <lib/text/tokenizer/tokenizer.h>

static const gnn__kind_t *const kinds[] = {
#define GNN_TOKENIZER(name) &gnn__kind_##name,
#include <lib/text/tokenizer/kinds.def>
#undef GNN_TOKENIZER
};

/* Files of older versions leave the type out. */
static const char *type_of(const json_t *model)
{
    const json_t *type = json_object_get(model, "type");
    if (json_is_string(type))
        return json_string_value(type);
    return json_object_get(model, "merges")                     ? "BPE"
           : json_object_get(model, "unk_id")                   ? "Unigram"
           : json_object_get(model, "max_input_chars_per_word") ? "WordPiece"
                                                                : "WordLevel";
}

static int read_model(gnn_tokenizer_t *t)
{
    const json_t *model = json_object_get(t->root, "model");
    if (!json_is_object(model))
        return gnn__error(GNN_EFORMAT, "\"model\" is %s, an object is expected",
                          gnn__json_type(model));
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && !t->kind; k++)
        if (strcmp(kinds[k]->name, type_of(model)) == 0)
            t->kind = kinds[k];
    if (!t->kind)
        return gnn__error(GNN_EUNSUPPORTED, "the model \"%.60s\" is not known", type_of(model));
    int rc = t->kind->read(t, model);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "model");
}

static bool has_step(const gnn__pipeline_t *p, const gnn__step_row_t *row)
{
    bool has = false;
    for (int64_t k = 0; k < p->n; k++)
        has = has || p->at[k].row == row;
    return has;
}

int gnn__tokenizer_build(gnn_tokenizer_t *t)
{
    const json_t *root = t->root;
    if (!json_is_object(root))
        return gnn__error(GNN_EFORMAT, "is %s of JSON, an object is expected", gnn__json_type(root));
    GNN_TRY(gnn__pipeline_read(&t->normalisers, json_object_get(root, "normalizer"), "normalizers",
                               "normalizer"));
    GNN_TRY(gnn__pipeline_read(&t->splitters, json_object_get(root, "pre_tokenizer"),
                               "pretokenizers", "pre_tokenizer"));
    t->rules.bytewise = has_step(&t->splitters, &gnn__step_byte_level);
    GNN_TRY(read_model(t));
    GNN_TRY(gnn__added_read(t, json_object_get(root, "added_tokens")));
    GNN_TRY(gnn__added_prepare(t));
    GNN_TRY(gnn__template_read(t, json_object_get(root, "post_processor")));
    return gnn__speech_read(&t->speech, json_object_get(root, "decoder"));
}
