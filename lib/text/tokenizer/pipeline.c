/* Runs steps in order: each rewrites or splits every span of the text. */
#include <lib/text/tokenizer/tokenizer.h>

int gnn__pipeline_add(gnn__pipeline_t *pipeline, const gnn__text_step_row_t *row,
                      gnn__text_step_t **step)
{
    if (pipeline->n == GNN__MOST_STEPS)
        return gnn__error(GNN_EFORMAT, "more than %d steps", GNN__MOST_STEPS);
    GNN_TRY(gnn__one_more(&pipeline->at, pipeline->n, sizeof *pipeline->at, "steps"));
    pipeline->at[pipeline->n] = (gnn__text_step_t){.row = row};
    *step = &pipeline->at[pipeline->n++];
    return GNN_OK;
}

void gnn__pipeline_free(gnn__pipeline_t *pipeline)
{
    for (int64_t k = 0; k < pipeline->n; k++) {
        if (pipeline->at[k].row->release && pipeline->at[k].options)
            pipeline->at[k].row->release(&pipeline->at[k]);
        gnn_free(pipeline->at[k].options);
    }
    gnn_free(pipeline->at);
}

static void swap_spans(gnn__work_t *work)
{
    const gnn__spans_t made = work->next_spans;
    work->next_spans = work->spans;
    work->spans = made;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work)
{
    gnn__flow_clear(&work->next);
    work->next_spans.n = 0;
    if (work->next.room < work->text.n) /* most steps make as many bytes, or fewer */
        gnn__put_grow(work, work->text.n);
    for (int64_t k = 0; k < work->spans.n && work->rc == GNN_OK; k++) {
        const int64_t begin = work->next.n;
        step->row->rewrite(step, work, work->spans.at[k]);
        gnn__add_span(work, begin, work->next.n);
    }
    gnn__work_count(work);
    swap_spans(work);
    const gnn__flow_t made = work->next;
    work->next = work->text;
    work->text = made;
}

static void split(const gnn__text_step_t *step, gnn__work_t *work)
{
    work->next_spans.n = 0;
    for (int64_t k = 0; k < work->spans.n && work->rc == GNN_OK; k++)
        step->row->split(step, work, work->spans.at[k]);
    swap_spans(work);
}

/* The message names a step whose output exceeds the limit: the file is at fault, not the text. */
static void rewrite_within(const gnn__pipeline_t *pipeline, int64_t k, gnn__work_t *work)
{
    const bool normalises = pipeline == &work->tokenizer->normalisers;
    rewrite(&pipeline->at[k], work);
    if (work->rc == GNN_EOVERFLOW)
        gnn__error_prefix(work->rc, "%s: step %lld, %s", normalises ? "normalizer" : "pre_tokenizer",
                          (long long)k, pipeline->at[k].row->type);
}

void gnn__pipeline_run(const gnn__pipeline_t *pipeline, gnn__work_t *work)
{
    for (int64_t k = 0; k < pipeline->n && work->rc == GNN_OK; k++) {
        if (pipeline->at[k].row->rewrite && !pipeline->at[k].keeps_text)
            rewrite_within(pipeline, k, work);
        if (pipeline->at[k].row->split && !pipeline->at[k].keeps_spans)
            split(&pipeline->at[k], work);
    }
}

int gnn__tokenizer_lower(gnn_tokenizer_t *tokenizer)
{
    gnn__pipeline_t *p = &tokenizer->normalisers;
    gnn__text_step_t *step;
    for (int64_t k = 0; k < p->n; k++)
        if (p->at[k].row == &gnn__text_step_lower)
            return GNN_OK;
    GNN_TRY(gnn__pipeline_add(p, &gnn__text_step_lower, &step));
    const gnn__text_step_t lower = *step;
    memmove(p->at + 1, p->at, (size_t)(p->n - 1) * sizeof *p->at);
    p->at[0] = lower;
    return GNN_OK;
}

/* ---- reading ---- */

enum { MOST_DEPTH = 8 };

static const gnn__text_step_row_t *const rows[] = {
#define GNN_TEXT_STEP(name) &gnn__text_step_##name,
#include <lib/text/tokenizer/steps.def>
#undef GNN_TEXT_STEP
};

static bool is_named(const gnn__text_step_row_t *row, const char *type)
{
    bool named = strcmp(row->type, type) == 0;
    for (size_t k = 0; k < sizeof row->also / sizeof row->also[0]; k++)
        named = named || (row->also[k] && strcmp(row->also[k], type) == 0);
    return named;
}

static int read_options(gnn__text_step_t *step, const json_t *json)
{
    char keys[128];
    snprintf(keys, sizeof keys, "type %s", step->row->keys ? step->row->keys : "");
    GNN_TRY(gnn__json_closed(json, keys));
    return step->row->read ? step->row->read(step, json) : GNN_OK;
}

static int read_step(gnn__pipeline_t *pipeline, const json_t *json, const char *what, int where)
{
    const gnn__text_step_row_t *row = NULL;
    gnn__text_step_t *step;
    gnn__string_t type;
    GNN_TRY(gnn__json_string(json, "type", true, &type));
    for (size_t k = 0; k < sizeof rows / sizeof rows[0] && !row; k++)
        if (is_named(rows[k], type.at) && rows[k]->lists & where)
            row = rows[k];
    if (!row)
        return gnn__error(GNN_EUNSUPPORTED, "%s: a step \"%.60s\" is not known there", what, type.at);
    GNN_TRY(gnn__pipeline_add(pipeline, row, &step));
    const int rc = read_options(step, json);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s: %s", what, type.at);
}

/* Sequences may be nested. */
static int read_steps(gnn__pipeline_t *pipeline, const json_t *json, const char *list,
                      const char *what, int where, int depth)
{
    const json_t *type = json_object_get(json, "type");
    char keys[64];
    if (!json_is_string(type) || strcmp(json_string_value(type), "Sequence") != 0)
        return read_step(pipeline, json, what, where);
    snprintf(keys, sizeof keys, "type %s", list);
    const int rc = gnn__json_closed(json, keys);
    if (rc != GNN_OK)
        return gnn__error_prefix(rc, "%s: Sequence", what);
    if (depth == MOST_DEPTH)
        return gnn__error(GNN_EUNSUPPORTED, "%s: Sequences more than %d deep", what, MOST_DEPTH);
    const json_t *steps = json_object_get(json, list);
    if (!json_is_array(steps))
        return gnn__error(GNN_EFORMAT, "%s: a Sequence has its steps in a list \"%s\", not in %s",
                          what, list, gnn__json_type(steps));
    for (size_t k = 0; k < json_array_size(steps); k++)
        GNN_TRY(read_steps(pipeline, json_array_get(steps, k), list, what, where, depth + 1));
    return GNN_OK;
}

int gnn__pipeline_read(gnn__pipeline_t *pipeline, const json_t *json, const char *list,
                       const char *what, int where)
{
    return json && !json_is_null(json) ? read_steps(pipeline, json, list, what, where, 0) : GNN_OK;
}
