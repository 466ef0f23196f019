/* Special tokens around a text or a pair of texts. */
#include <lib/text/tokenizer/tokenizer.h>

int gnn__template_add(gnn__template_t *list, gnn__item_t item)
{
    int64_t texts = item.id < 0;
    for (int64_t k = 0; k < list->n && item.id < 0; k++)
        texts += list->at[k].id < 0;
    if (list->n == GNN__MOST_TEMPLATE || texts > GNN__MOST_SEQUENCES)
        return gnn__error(GNN_EOVERFLOW, "a template of more than %d tokens, or of %d texts",
                          GNN__MOST_TEMPLATE, GNN__MOST_SEQUENCES);
    GNN_TRY(gnn__one_more(&list->at, list->n, sizeof *list->at, "a template"));
    list->at[list->n++] = item;
    return GNN_OK;
}

int gnn__template_plain(gnn_tokenizer_t *t)
{
    GNN_TRY(gnn__template_add(&t->single, (gnn__item_t){-1, 0, 0}));
    GNN_TRY(gnn__template_add(&t->pair, (gnn__item_t){-1, 0, 0}));
    return gnn__template_add(&t->pair, (gnn__item_t){-1, 1, 1});
}

/* ---- TemplateProcessing ---- */

static int add_special(gnn_tokenizer_t *t, gnn__template_t *list, const json_t *tokens,
                       gnn__string_t name, int64_t type)
{
    const json_t *ids = json_object_get(json_object_get(tokens, name.at), "ids");
    GNN_TRY(gnn__json_closed(json_object_get(tokens, name.at), "id ids tokens"));
    if (!json_is_array(ids))
        return gnn__error(GNN_EFORMAT, "special token \"%.40s\" has no list \"ids\"", name.at);
    for (size_t k = 0; k < json_array_size(ids); k++) {
        const json_t *id = json_array_get(ids, k);
        const int64_t value = json_is_integer(id) ? (int64_t)json_integer_value(id) : -1;
        if (value < 0 || value >= t->size || !t->tokens[value].at)
            return gnn__error(GNN_EFORMAT, "special token \"%.40s\": no token has the id %lld",
                              name.at, (long long)value);
        GNN_TRY(gnn__template_add(list, (gnn__item_t){(int32_t)value, (int32_t)type, 0}));
    }
    return GNN_OK;
}

static int read_item(gnn_tokenizer_t *t, gnn__template_t *list, const json_t *item,
                     const json_t *tokens)
{
    const json_t *special = json_object_get(item, "SpecialToken"),
                 *sequence = json_object_get(item, "Sequence");
    gnn__string_t name = {0};
    int64_t type = 0;
    GNN_TRY(gnn__json_closed(item, special ? "SpecialToken" : "Sequence"));
    GNN_TRY(gnn__json_closed(special ? special : sequence, "id type_id"));
    GNN_TRY(gnn__json_string(special ? special : sequence, "id", true, &name));
    GNN_TRY(gnn__json_number(special ? special : sequence, "type_id", false, &type));
    if (special)
        return add_special(t, list, tokens, name, type);
    if (strcmp(name.at, "A") != 0 && strcmp(name.at, "B") != 0)
        return gnn__error(GNN_EFORMAT, "a template has texts A and B, not \"%.20s\"", name.at);
    return gnn__template_add(list, (gnn__item_t){-1, (int32_t)type, name.at[0] == 'B'});
}

static int read_template(gnn_tokenizer_t *t, gnn__template_t *list, const json_t *processor,
                         const char *key)
{
    const json_t *items = json_object_get(processor, key),
                 *tokens = json_object_get(processor, "special_tokens");
    if (!json_is_array(items))
        return gnn__error(GNN_EFORMAT, "\"%s\" is %s, a list is expected", key,
                          gnn__json_type(items));
    for (size_t k = 0; k < json_array_size(items); k++)
        GNN_TRY(read_item(t, list, json_array_get(items, k), tokens));
    if (list->n == 0 && list == &t->single)
        return gnn__error(GNN_EUNSUPPORTED, "\"%s\" is empty", key);
    for (int64_t k = 0; k < list->n; k++)
        if (list->at[k].which == 1 && list == &t->single)
            return gnn__error(GNN_EFORMAT, "\"single\" has text B");
    return GNN_OK;
}

/* ---- BertProcessing and RobertaProcessing: [CLS] A [SEP] B [SEP], <s> A </s> </s> B </s> ---- */

static int read_pair(gnn_tokenizer_t *t, const json_t *processor, const char *key, int32_t *id)
{
    const json_t *pair = json_object_get(processor, key), *number = json_array_get(pair, 1);
    const int64_t value = json_is_integer(number) ? (int64_t)json_integer_value(number) : -1;
    if (value < 0 || value >= t->size || !t->tokens[value].at)
        return gnn__error(GNN_EFORMAT, "\"%s\" is not a list of a token and its id", key);
    *id = (int32_t)value;
    return GNN_OK;
}

static int read_around(gnn_tokenizer_t *t, const json_t *processor, bool roberta)
{
    int32_t cls, sep;
    const int32_t second = !roberta;
    GNN_TRY(read_pair(t, processor, "cls", &cls));
    GNN_TRY(read_pair(t, processor, "sep", &sep));
    const gnn__item_t items[] = {{cls, 0, 0}, {-1, 0, 0},      {sep, 0, 0},
                                 {sep, 0, 0}, {-1, second, 1}, {sep, second, 0}};
    for (int k = 0; k < 6; k++) {
        if (k < 3)
            GNN_TRY(gnn__template_add(&t->single, items[k]));
        if (k != 3 || roberta)
            GNN_TRY(gnn__template_add(&t->pair, items[k]));
    }
    return GNN_OK;
}

static int read_trims(gnn_tokenizer_t *t, const json_t *processor, bool wrapped)
{
    bool trims = true, prefix = true;
    GNN_TRY(gnn__json_bool(processor, "trim_offsets", &trims));
    GNN_TRY(gnn__json_bool(processor, "add_prefix_space", &prefix));
    if (!trims)
        return GNN_OK;
    GNN_TRY(gnn__one_more(&t->trims, t->n_trims, sizeof *t->trims, "a template"));
    t->trims[t->n_trims++] = (gnn__trim_t){prefix, wrapped};
    return GNN_OK;
}

/* `wrapped`: a processor before this one puts special tokens into the sentence. */
static int read_processor(gnn_tokenizer_t *t, const json_t *processor, bool *wrapped)
{
    gnn__string_t type;
    GNN_TRY(gnn__json_string(processor, "type", true, &type));
    if (strcmp(type.at, "ByteLevel") == 0) {
        GNN_TRY(gnn__json_closed(processor, "type add_prefix_space trim_offsets use_regex"));
        return read_trims(t, processor, *wrapped);
    }
    if (t->single.n > 0)
        return gnn__error(GNN_EUNSUPPORTED, "two templates, one is expected");
    if (strcmp(type.at, "TemplateProcessing") == 0) {
        GNN_TRY(gnn__json_closed(processor, "type single pair special_tokens"));
        GNN_TRY(read_template(t, &t->single, processor, "single"));
        return read_template(t, &t->pair, processor, "pair");
    }
    const bool roberta = strcmp(type.at, "RobertaProcessing") == 0;
    if (!roberta && strcmp(type.at, "BertProcessing") != 0)
        return gnn__error(GNN_EUNSUPPORTED, "a step \"%.60s\" is not known", type.at);
    GNN_TRY(gnn__json_closed(processor, roberta ? "type cls sep trim_offsets add_prefix_space"
                                                : "type cls sep"));
    if (roberta)
        GNN_TRY(read_trims(t, processor, *wrapped));
    *wrapped = true;
    return read_around(t, processor, roberta);
}

static int read_all(gnn_tokenizer_t *t, const json_t *processor)
{
    const json_t *type = json_object_get(processor, "type"),
                 *list = json_object_get(processor, "processors");
    bool wrapped = false;
    if (!json_is_string(type) || strcmp(json_string_value(type), "Sequence") != 0)
        return read_processor(t, processor, &wrapped);
    if (!json_is_array(list))
        return gnn__error(GNN_EFORMAT, "\"processors\" is %s, a list is expected",
                          gnn__json_type(list));
    GNN_TRY(gnn__json_closed(processor, "type processors"));
    for (size_t k = 0; k < json_array_size(list); k++)
        GNN_TRY(read_processor(t, json_array_get(list, k), &wrapped));
    return GNN_OK;
}

int gnn__template_read(gnn_tokenizer_t *t, const json_t *processor)
{
    int rc = processor && !json_is_null(processor) ? read_all(t, processor) : GNN_OK;
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "post_processor");
    return t->single.n > 0 ? GNN_OK : gnn__template_plain(t);
}
