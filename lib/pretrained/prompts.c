/* Prompts of config_sentence_transformers.json, put before each text. */
#include <lib/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

#define PROMPTS "config_sentence_transformers.json"

int64_t gnn__pretrained_most(const gnn_pretrained_t *p)
{
    const int64_t own = p->tokenizer ? p->tokenizer->max_length : 0;
    if (p->refuses_longer)
        return own;
    return own > 0 && p->max_length > 0 ? gnn__min(own, p->max_length) : gnn__max(own, p->max_length);
}

int gnn__pretrained_no_tokenizer(void)
{
    return gnn__error(GNN_EUNSUPPORTED, "the folder of this model has no tokenizer: no "
                                        "tokenizer.json, nor other files that its family has");
}

/* Are the rows of the prompt left out of pooling? */
static bool is_left_out(const gnn__parts_t *parts)
{
    for (int k = 0; k < parts->count; k++)
        if (json_is_false(json_object_get(parts->list[k].config, "include_prompt")))
            return true;
    return false;
}

/* Prompts are strings; null is the empty one. */
static int check_prompts(const json_t *prompts)
{
    const char *key;
    const json_t *value;
    json_object_foreach(
        (json_t *)prompts, key,
        value) if (!json_is_string(value) &&
                   !json_is_null(value)) return gnn__error(GNN_EUNSUPPORTED,
                                                           PROMPTS
                                                           ": \"prompts\": \"%.80s\" is not text",
                                                           key);
    return GNN_OK;
}

/* Default similarity of a sparse encoder: the dot product. */
static const char *similarity_of(const json_t *config)
{
    const char *name = json_string_value(json_object_get(config, "similarity_fn_name")),
               *kind = json_string_value(json_object_get(config, "model_type"));
    return gnn__similarity_find(name                                         ? name
                                : kind && strcmp(kind, "SparseEncoder") == 0 ? "dot"
                                                                             : "cosine");
}

static int take_config(gnn_pretrained_t *p, const json_t *config)
{
    const json_t *columns = json_object_get(config, "truncate_dim");
    const char *name = json_string_value(json_object_get(config, "default_prompt_name"));
    p->prompts = json_incref(json_object_get(config, "prompts"));
    p->columns = json_integer_value(columns);
    p->similarity = similarity_of(config);
    GNN_TRY(check_prompts(p->prompts));
    const int rc = name ? gnn_pretrained_choose_prompt(p, name) : GNN_OK;
    return rc == GNN_OK ? GNN_OK : gnn__error_prefix(rc, PROMPTS ": \"default_prompt_name\"");
}

/* Without modules.json the settings are ignored, but the file must still be readable. */
int gnn__prompts_open(gnn_pretrained_t *p, const gnn__parts_t *parts)
{
    json_t *config = NULL;
    GNN_TRY(gnn__json_open_any(&config, p->folder, PROMPTS));
    if (!parts->modules) {
        json_decref(config);
        config = NULL;
    }
    p->prompts_left_out = is_left_out(parts);
    int rc = config ? gnn__arch_check_file(config, PROMPTS, PROMPTS) : GNN_OK;
    if (rc == GNN_OK)
        rc = take_config(p, config);
    json_decref(config);
    return rc;
}

/* Tokens of the prompt alone, without a final special token. */
int gnn__prompts_skipped(const gnn_pretrained_t *p, int64_t *count)
{
    gnn_tokens_t *tokens;
    *count = 0;
    if (!p->prompts_left_out || !p->prompt || !*p->prompt)
        return GNN_OK;
    GNN_TRY(gnn_tokenizer_encode(p->tokenizer, &(gnn_texts_t){1, &p->prompt, NULL}, NULL,
                                 &(gnn_encoding_t){.max_length = gnn__pretrained_most(p)}, &tokens));
    const int32_t last = tokens->rows > 0 ? tokens->ids[tokens->rows - 1] : -1;
    *count = tokens->rows - (last >= 0 && (p->tokenizer->flags[last] & GNN__TOKEN_SPECIAL) != 0);
    gnn_tokens_free(tokens);
    return GNN_OK;
}

int gnn_pretrained_choose_prompt(gnn_pretrained_t *pretrained, const char *name)
{
    const char *key, *text;
    char known[512] = "";
    json_t *value;
    GNN__NEED(pretrained);
    value = name ? json_object_get(pretrained->prompts, name) : NULL;
    text = !name || json_is_null(value) ? "" : json_string_value(value);
    if (text) {
        pretrained->prompt = text;
        return GNN_OK;
    }
    json_object_foreach(pretrained->prompts, key, value)
        gnn__append_name(known, sizeof known, ", ", key);
    return gnn__error(GNN_ENOTFOUND, "the folder has no prompt \"%.80s\"; it has: %s", name,
                      *known ? known : "none");
}

int gnn_pretrained_choose_language(gnn_pretrained_t *pretrained, const char *token)
{
    GNN__NEED(pretrained);
    if (token && !pretrained->tokenizer)
        return gnn__pretrained_no_tokenizer();
    const int32_t id = token ? gnn_tokenizer_find(pretrained->tokenizer, token) : -1;
    if (token && id < 0)
        return gnn__error(GNN_ENOTFOUND, "the folder's tokenizer has no token \"%.80s\"", token);
    pretrained->language = token != NULL;
    pretrained->language_id = id;
    return GNN_OK;
}

void gnn__prompted_free(gnn__prompted_t *prompted)
{
    gnn_free(prompted->at);
    gnn_free(prompted->bytes);
    gnn_free(prompted->letters);
}

int gnn__prompted_make(gnn__prompted_t *made, const gnn_pretrained_t *p, const gnn_texts_t *texts)
{
    const int64_t before = p->prompt ? (int64_t)strlen(p->prompt) : 0;
    int64_t room = 0;
    *made = (gnn__prompted_t){.texts = *texts};
    if (before == 0)
        return GNN_OK;
    GNN_TRY(gnn__texts_check(texts, "prompted"));
    for (int64_t k = 0; k < texts->count; k++)
        room += before + gnn__texts_bytes(texts, k);
    GNN_TRY(gnn__new(&made->at, texts->count, sizeof *made->at, "texts with a prompt"));
    GNN_TRY(gnn__new(&made->bytes, texts->count, sizeof *made->bytes, "texts with a prompt"));
    GNN_TRY(gnn__new(&made->letters, room, 1, "texts with a prompt"));
    for (int64_t k = 0, from = 0; k < texts->count; from += made->bytes[k++]) {
        const int64_t n = gnn__texts_bytes(texts, k);
        made->at[k] = made->letters + from;
        made->bytes[k] = before + n;
        memcpy(made->letters + from, p->prompt, (size_t)before);
        if (n > 0)
            memcpy(made->letters + from + before, texts->at[k], (size_t)n);
    }
    made->texts = (gnn_texts_t){texts->count, made->at, made->bytes};
    return GNN_OK;
}
