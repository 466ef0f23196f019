/* What stands before each text: prompts of config_sentence_transformers.json. */
#include <lib/text/pretrained/pretrained.h>
#include <lib/text/tokenizer/tokenizer.h>

#define PROMPTS "config_sentence_transformers.json"

/* Is the prompt's share of a sentence's rows left out of its vector? */
static bool is_left_out(const gnn__parts_t *parts)
{
    for (int k = 0; k < parts->count; k++)
        if (json_is_false(json_object_get(parts->list[k].config, "include_prompt")))
            return true;
    return false;
}

int gnn__prompts_open(gnn_pretrained_t *p, const gnn__parts_t *parts)
{
    json_t *config;
    GNN_TRY(gnn__json_open_any(&config, p->folder, PROMPTS));
    p->prompts = json_incref(json_object_get(config, "prompts"));
    p->prompts_left_out = is_left_out(parts);
    const char *name = json_string_value(json_object_get(config, "default_prompt_name"));
    const int rc = name ? gnn_pretrained_choose_prompt(p, name) : GNN_OK;
    json_decref(config);
    return rc == GNN_OK ? GNN_OK : gnn__error_prefix(rc, PROMPTS ": \"default_prompt_name\"");
}

int gnn_pretrained_choose_prompt(gnn_pretrained_t *pretrained, const char *name)
{
    const char *key, *text;
    char known[512] = "";
    json_t *value;
    if (!pretrained)
        return gnn__error(GNN_EINVALID, "no pretrained model");
    text = name ? json_string_value(json_object_get(pretrained->prompts, name)) : "";
    if (text && *text && pretrained->prompts_left_out)
        return gnn__error(GNN_EUNSUPPORTED,
                          "vectors of sentences without the rows of their prompt (include_prompt)");
    if (text) {
        pretrained->prompt = text;
        return GNN_OK;
    }
    json_object_foreach(pretrained->prompts, key, value)
        gnn__append_name(known, sizeof known, ", ", key);
    return gnn__error(GNN_ENOTFOUND, "the folder has no prompt \"%.80s\"; it has: %s", name,
                      *known ? known : "none");
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
    GNN_TRY(gnn__new(&made->at, texts->count, sizeof *made->at, "texts behind a prompt"));
    GNN_TRY(gnn__new(&made->bytes, texts->count, sizeof *made->bytes, "texts behind a prompt"));
    GNN_TRY(gnn__new(&made->letters, room, 1, "texts behind a prompt"));
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
