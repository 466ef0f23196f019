/* The writer: its model, and the folder's generation settings and special tokens. */
#include <lib/base/settings.h>
#include <lib/generate/generate.h>

#include <lib/base/room.h>

#include <lib/pretrained/pretrained.h>

/* ---- tokens that a folder names ---- */

static const json_t *named(const gnn_pretrained_t *p, const char *key)
{
    return json_object_get(p->generation, key);
}

static int32_t id_of(const json_t *value, int32_t otherwise)
{
    const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    return id >= 0 && id <= INT32_MAX ? (int32_t)id : otherwise;
}

static int add_id(int32_t **list, int64_t *n, int32_t id)
{
    if (id < 0)
        return GNN_OK;
    GNN_TRY(gnn__one_more(list, *n, sizeof **list, "a list of tokens"));
    (*list)[(*n)++] = id;
    return GNN_OK;
}

/* One id, or a list of ids. */
static int take_ends(gnn__author_t *a, const json_t *value)
{
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t k = 0; k < count; k++)
        GNN_TRY(add_id(&a->end, &a->how.n_end,
                       id_of(json_is_array(value) ? json_array_get(value, k) : value, -1)));
    a->how.end = a->end;
    return GNN_OK;
}

/* The caller's forbidden tokens. */
static int take_never(gnn__author_t *a, const gnn_generation_t *how)
{
    int64_t n = 0;
    for (int64_t k = 0; k < how->n_never; k++)
        GNN_TRY(add_id(&a->never, &n, how->never[k]));
    a->how.never = a->never;
    a->how.n_never = n;
    return GNN_OK;
}

static double number_of(const json_t *config, const char *key, double otherwise)
{
    const json_t *value = json_object_get(config, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static gnn_real_t setting_of(double x)
{
    return x == 0 ? GNN_ZERO : (gnn_real_t)x;
}

/* The folder's sampling settings, where the folder or the caller's temperature selects sampling. */
static void take_sampling(gnn_generation_t *h, const json_t *config)
{
    enum { LIKELIEST = 50 }; /* default of transformers */
    const bool folder_samples =
        h->temperature == 0 && h->beams <= 1 && json_is_true(json_object_get(config, "do_sample"));
    if (folder_samples)
        h->temperature = (gnn_real_t)number_of(config, "temperature", 1);
    if (h->beams > 1 || gnn__setting(h->temperature, 0) <= 0)
        return;
    if (h->top_k == 0)
        h->top_k = (int64_t)number_of(config, "top_k", folder_samples ? LIKELIEST : 0);
    if (h->top_p == 0)
        h->top_p = setting_of(number_of(config, "top_p", 1));
}

/* Defaults of counts of tokens, texts and beams. */
static void take_sizes(gnn__author_t *a, const json_t *config)
{
    gnn_generation_t *h = &a->how;
    if (h->length == 0) {
        h->length = (int64_t)number_of(config, "max_new_tokens", 0);
        a->whole = h->length ? 0 : (int64_t)number_of(config, "max_length", 0);
    }
    if (h->beams == 0 && gnn__setting(h->temperature, 0) == 0)
        h->beams = (int64_t)number_of(config, "num_beams", 0);
    if (h->samples == 0)
        h->samples = (int64_t)number_of(config, "num_return_sequences", 0);
    if (h->length_penalty == 0)
        h->length_penalty = setting_of(number_of(config, "length_penalty", 1));
    if (h->early_stopping == GNN_FLAG_DEFAULT)
        h->early_stopping =
            json_is_true(json_object_get(config, "early_stopping")) ? GNN_ON : GNN_OFF;
    if (h->repetition == 0)
        h->repetition = (gnn_real_t)number_of(config, "repetition_penalty", 1);
}

static int take_settings(gnn__author_t *a, const gnn_pretrained_t *p)
{
    GNN_TRY(gnn__arch_check_file(p->generation, p->generation_file, "generation_config.json"));
    const bool samples = json_is_true(json_object_get(p->generation, "do_sample"));
    if (samples && number_of(p->generation, "num_beams", 1) > 1 && a->how.beams == 0 &&
        a->how.temperature == 0)
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s: \"num_beams\" is %g and \"do_sample\" true, but a beam search "
                          "does not sample: set .beams or .temperature",
                          p->generation_file, number_of(p->generation, "num_beams", 1));
    take_sampling(&a->how, p->generation);
    take_sizes(a, p->generation);
    return gnn__constraints_read(&a->constraints, p->generation, p->generation_file);
}

/* One id, or a list of one. */
static int32_t last_of(const json_t *value)
{
    return id_of(json_is_array(value) ? json_array_get(value, 0) : value, -1);
}

static int take_folder(gnn__author_t *a, const gnn_pretrained_t *p, const gnn_generation_t *how)
{
    a->model = gnn_pretrained_model(p);
    a->tokenizer = gnn_pretrained_tokenizer(p);
    a->max_length = gnn_pretrained_max_length(p);
    a->reads = gnn__pretrained_reads(p, "decoder_ids");
    a->start = id_of(named(p, "bos_token_id"), -1);
    if (a->reads)
        a->start = id_of(named(p, "decoder_start_token_id"), a->start);
    a->last = last_of(named(p, "forced_eos_token_id"));
    GNN_TRY(take_settings(a, p));
    if (p->language)
        a->constraints.forced_first = p->language_id;
    if (gnn_model_find(a->model, "logits") != gnn_model_step_count(a->model) - 1)
        return gnn__error(
            GNN_EUNSUPPORTED,
            "%s: the last step of the folder's model is not the logits of next tokens, expected a causal model or an encoder-decoder",
            gnn_pretrained_architecture(p));
    if (!how->end)
        GNN_TRY(take_ends(a, named(p, "eos_token_id")));
    return take_never(a, how);
}

/* ---- the whole ---- */

static int check(const gnn_generation_t *h)
{
    GNN_TRY(gnn__generation_check(h));
    GNN_TRY(gnn__check_flag(h->early_stopping, ".early_stopping"));
    if (h->n_end > 0 && !h->end)
        return gnn__error(GNN_EINVALID, ".n_end = %lld, but .end is NULL", (long long)h->n_end);
    if (h->length < 0 || h->samples < 0 || h->beams < 0 || h->n_end < 0 || h->n_stop < 0)
        return gnn__error(
            GNN_EINVALID,
            ".length = %lld, .samples = %lld, .beams = %lld, .n_end = %lld, .n_stop = %lld, expected at least 0 each",
            (long long)h->length, (long long)h->samples, (long long)h->beams, (long long)h->n_end,
            (long long)h->n_stop);
    for (int64_t k = 0; k < h->n_stop; k++)
        if (!h->stop || !h->stop[k] || !*h->stop[k])
            return gnn__error(GNN_EINVALID, ".stop[%lld] is NULL or \"\", expected text",
                              (long long)k);
    if (h->beams > 1 && h->samples > h->beams)
        return gnn__error(GNN_EINVALID, ".samples = %lld, expected at most .beams = %lld",
                          (long long)h->samples, (long long)h->beams);
    return GNN_OK;
}

/* Fields of the writer that its model does not read. */
static int check_writer(const gnn_writer_t *w)
{
    enum { FOLDER = 1, OWN = 2 };
    const gnn_state_config_t *state = w->state;
    const gnn__setting_use_t uses[] = {
        {"model", w->model, OWN},         {"ids", w->ids, OWN},
        {"positions", w->positions, OWN}, {"state", state, OWN},
        {"tokenizer", w->tokenizer, OWN}, {"max_length", w->max_length != 0, OWN}};
    const char *unread =
        gnn__unread_setting(uses, sizeof uses / sizeof *uses, w->pretrained ? FOLDER : OWN);
    if (!w->pretrained && !w->model)
        return gnn__error(GNN_EINVALID, "the writer has neither .pretrained nor .model");
    if (unread)
        return gnn__error(GNN_EINVALID, "a writer with .pretrained reads no .%s", unread);
    if (w->max_length < 0)
        return gnn__error(GNN_EINVALID, "the writer's .max_length = %lld, expected at least 0",
                          (long long)w->max_length);
    if (state && (state->segments != 0 || state->capacity != 0))
        return gnn__error(GNN_EINVALID,
                          "the writer's .state has .segments = %lld and .capacity = %lld, expected 0: "
                          "they are those of the prompts",
                          (long long)state->segments, (long long)state->capacity);
    return GNN_OK;
}

static void fill_in(gnn_generation_t *h)
{
    enum { LENGTH = 128 };
    h->length = h->length ? h->length : LENGTH;
    h->samples = h->samples ? h->samples : 1;
    h->beams = h->beams ? h->beams : 1;
}

int gnn__author_new(gnn__author_t *author, const gnn_writer_t *writer, const gnn_generation_t *how)
{
    const gnn_generation_t plain = {0};
    how = how ? how : &plain;
    *author = (gnn__author_t){.writer = writer, .how = *how, .start = -1, .last = -1};
    author->constraints.forced_first = -1;
    GNN_TRY(check(how));
    GNN_TRY(check_writer(writer));
    if (writer->pretrained) {
        GNN_TRY(take_folder(author, writer->pretrained, how));
    } else {
        author->model = writer->model;
        author->tokenizer = writer->tokenizer;
        author->max_length = writer->max_length;
    }
    GNN_TRY(check(&author->how));
    GNN_TRY(gnn__generation_check_unread(&author->how, how));
    fill_in(&author->how);
    author->words = gnn_model_width(author->model, gnn_model_step_count(author->model) - 1);
    if (author->words < 1)
        return gnn__error(GNN_EUNSUPPORTED, "the width of the model's last step is not known");
    if ((how->n_stop > 0 || how->on_text) && !author->tokenizer)
        return gnn__error(GNN_EINVALID, ".%s is given, but the writer has no tokenizer",
                          how->n_stop > 0 ? "stop" : "on_text");
    return GNN_OK;
}

void gnn__author_free(gnn__author_t *author)
{
    gnn_free(author->end);
    gnn_free(author->never);
    gnn__constraints_free(&author->constraints);
}

int gnn__author_advance(const gnn__author_t *author, gnn_context_t *context, gnn_state_t *state,
                        const int64_t *counts, const int32_t *ids, const gnn_tensor_t *logits)
{
    const gnn_writer_t *w = author->writer;
    int32_t *places = NULL;
    int64_t n = 0;
    if (w->pretrained)
        return gnn_pretrained_advance(w->pretrained, context, state, counts, ids, logits);
    GNN_TRY(gnn__new(&places, logits->rows, sizeof *places, "positions"));
    for (int64_t s = 0; s < gnn_state_segments(state); s++)
        for (int64_t k = 0; k < counts[s]; k++)
            places[n++] = (int32_t)(gnn_state_length(state, s) + k);
    const gnn_named_t values[] = {{.name = w->ids ? w->ids : "ids", .ids = ids, .count = n},
                                  {.name = w->positions, .ids = places, .count = n}};
    const int rc = gnn_model_advance(
        w->model, context, state, counts,
        &(gnn_model_inputs_t){.values = values, .n_values = w->positions ? 2 : 1}, logits);
    gnn_free(places);
    return rc;
}
