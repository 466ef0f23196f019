/* Prepends a string to every non-empty text. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__string_t), "a step"));
    return gnn__json_string(json, "prepend", true, step->options);
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const gnn__string_t *prefix = step->options;
    if (!step->first_only || (work->first && span.begin == 0))
        gnn__put_bytes(work, prefix->at, prefix->length, gnn__origin(work, span.begin));
    for (int64_t k = span.begin; k < span.end; k++)
        gnn__put_byte(work, work->text.at[k], gnn__origin(work, k));
}

const gnn__text_step_row_t gnn__text_step_prepend = {
    .type = "Prepend", .keys = "prepend", .lists = GNN__NORMALISES, .read = read, .rewrite = rewrite};
