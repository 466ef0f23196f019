/* A tokenizer from JSON, part by part. */
#include <lib/text/tokenizer/tokenizer.h>

static const gnn__token_kind_t *const kinds[] = {
#define GNN_TOKENIZER(name) &gnn__token_kind_##name,
#include <lib/text/tokenizer/kinds.def>
#undef GNN_TOKENIZER
};

/* Files of older versions omit the type. */
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

/* Steps after the ByteLevel at index k split its characters: the text is in these around them, and
 * of bytes before and after, as the vocabulary is. */
static int enclose_rest(gnn__pipeline_t *p, int64_t k)
{
    gnn__text_step_t *step;
    for (int64_t later = k + 1; later < p->n; later++)
        if (p->at[later].row->rewrite)
            return gnn__error(GNN_EUNSUPPORTED, "pre_tokenizer: \"%s\" is given after ByteLevel",
                              p->at[later].row->type);
    GNN_TRY(gnn__pipeline_add(p, &gnn__text_step_bytes, &step));
    GNN_TRY(gnn__pipeline_add(p, &gnn__text_step_byte_characters, &step));
    const gnn__text_step_t characters = *step;
    memmove(p->at + k + 2, p->at + k + 1, (size_t)(p->n - k - 2) * sizeof *p->at);
    p->at[k + 1] = characters;
    return GNN_OK;
}

static int check_bytewise(gnn_tokenizer_t *t)
{
    gnn__pipeline_t *p = &t->splitters;
    int64_t found = -1;
    if (!t->rules.bytewise)
        return GNN_OK;
    for (int64_t k = 0; k < p->n; k++)
        if (p->at[k].row == &gnn__text_step_byte_level) {
            if (found >= 0)
                return gnn__error(GNN_EUNSUPPORTED, "pre_tokenizer: ByteLevel is given twice");
            found = k;
        }
    if (found < p->n - 1)
        GNN_TRY(enclose_rest(p, found));
    return t->kind == &gnn__token_kind_byte_pairs || t->kind == &gnn__token_kind_word_level
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "pre_tokenizer: ByteLevel before a model of type %s, BPE or WordLevel "
                            "is expected",
                            t->kind->name);
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
    int rc = gnn__json_closed(model, t->kind->keys);
    rc = rc == GNN_OK ? t->kind->read(t, model) : rc;
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "model");
}

static bool has_step(const gnn__pipeline_t *p, const gnn__text_step_row_t *row)
{
    bool has = false;
    for (int64_t k = 0; k < p->n; k++)
        has = has || p->at[k].row == row;
    return has;
}

/* Steps that rewrite whole characters. In the package they begin at the first character of the
 * input and repeat what a Replace has put before it. */
static void find_repeated(gnn_tokenizer_t *t)
{
    static const gnn__text_step_row_t *const rows[] = {
        &gnn__text_step_normal_form,     &gnn__text_step_lower, &gnn__text_step_strip_accents,
        &gnn__text_step_bert_normaliser, &gnn__text_step_strip, &gnn__text_step_precompiled};
    bool repeats = has_step(&t->splitters, &gnn__text_step_byte_level);
    for (int64_t k = t->normalisers.n - 1; k >= 0; k--) {
        gnn__text_step_t *step = &t->normalisers.at[k];
        step->repeated = repeats && step->row == &gnn__text_step_replace;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            repeats = repeats || step->row == rows[i];
    }
}

/* The caller sets the maximum length, the file the side of truncation. A pair is cut longest first,
 * as calls of the package do whatever the file's strategy. There is no padding. */
static int read_truncation(gnn_tokenizer_t *t)
{
    const json_t *cut = json_object_get(t->root, "truncation"),
                 *pad = json_object_get(t->root, "padding");
    gnn__string_t side = {"Right", 5}, strategy = {"LongestFirst", 12};
    if (json_is_object(cut)) {
        GNN_TRY(gnn__json_closed(cut, "direction max_length strategy stride"));
        GNN_TRY(gnn__json_string(cut, "direction", false, &side));
        GNN_TRY(gnn__json_string(cut, "strategy", false, &strategy));
    }
    t->cuts_start = strcmp(side.at, "Left") == 0;
    if (!t->cuts_start && strcmp(side.at, "Right") != 0)
        return gnn__error(GNN_EFORMAT, "\"direction\" is \"%.20s\", Left or Right is expected",
                          side.at);
    if (!gnn__list_has("LongestFirst OnlyFirst OnlySecond", strategy.at))
        return gnn__error(
            GNN_EFORMAT,
            "\"strategy\" is \"%.20s\", LongestFirst, OnlyFirst or OnlySecond is expected",
            strategy.at);
    return json_is_object(pad) ? gnn__json_closed(pad, "strategy direction pad_to_multiple_of pad_id "
                                                       "pad_type_id pad_token")
                               : GNN_OK;
}

static int check_root(gnn_tokenizer_t *t)
{
    gnn__string_t version = {"1.0", 3};
    GNN_TRY(gnn__json_closed(t->root, "version truncation padding added_tokens normalizer "
                                      "pre_tokenizer post_processor decoder model"));
    GNN_TRY(gnn__json_string(t->root, "version", false, &version));
    if (strcmp(version.at, "1.0") != 0)
        return gnn__error(GNN_EUNSUPPORTED, "\"version\" is \"%.20s\", \"1.0\" is expected",
                          version.at);
    const int rc = read_truncation(t);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "truncation or padding");
}

/* A suffix of words must not occur elsewhere in a token. */
static int check_suffix(const gnn_tokenizer_t *t)
{
    const char *suffix = t->speech.suffix;
    for (int64_t id = 0; *suffix && id < t->size; id++) {
        const char *text = t->tokens[id].at, *found = text ? strstr(text, suffix) : NULL;
        if (found && found[strlen(suffix)])
            return gnn__error(GNN_EUNSUPPORTED,
                              "decoder: \"suffix\" is \"%.20s\", which token %lld has inside: "
                              "\"%.60s\"",
                              suffix, (long long)id, text);
    }
    return GNN_OK;
}

int gnn__tokenizer_build(gnn_tokenizer_t *t)
{
    const json_t *root = t->root;
    if (!json_is_object(root))
        return gnn__error(GNN_EFORMAT, "is %s of JSON, an object is expected", gnn__json_type(root));
    GNN_TRY(check_root(t));
    GNN_TRY(gnn__pipeline_read(&t->normalisers, json_object_get(root, "normalizer"), "normalizers",
                               "normalizer", GNN__NORMALISES));
    GNN_TRY(gnn__pipeline_read(&t->splitters, json_object_get(root, "pre_tokenizer"),
                               "pretokenizers", "pre_tokenizer", GNN__SPLITS));
    for (int64_t k = 0; k < t->splitters.n; k++)
        t->needs_origins =
            t->needs_origins || (t->splitters.at[k].by_origin && t->normalisers.n + k > 0);
    find_repeated(t);
    t->rules.bytewise = has_step(&t->splitters, &gnn__text_step_byte_level);
    GNN_TRY(read_model(t));
    GNN_TRY(check_bytewise(t));
    GNN_TRY(gnn__added_read(t, json_object_get(root, "added_tokens")));
    GNN_TRY(gnn__added_prepare(t));
    GNN_TRY(gnn__template_read(t, json_object_get(root, "post_processor")));
    GNN_TRY(gnn__speech_read(&t->speech, json_object_get(root, "decoder")));
    GNN_TRY(check_suffix(t));
    return t->speech.bytewise && !t->rules.bytewise &&
                   !has_step(&t->normalisers, &gnn__text_step_byte_characters)
               ? gnn__error(GNN_EUNSUPPORTED,
                            "\"decoder\" is ByteLevel, neither \"pre_tokenizer\" nor \"normalizer\" is")
               : GNN_OK;
}
