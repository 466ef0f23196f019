/* Splits at punctuation marks, by the configured behaviour. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__behavior_t), "a step"));
    *(gnn__behavior_t *)step->options = GNN__ISOLATED;
    return gnn__behavior_read(json, false, step->options);
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    gnn__cutter_t cutter = {.work = work, .behavior = *(const gnn__behavior_t *)step->options};
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        if (!gnn__is_punctuation(gnn__utf8_next(work->text.at, &k)))
            continue;
        gnn__cut(&cutter, begin, at, false);
        gnn__cut(&cutter, at, k, true);
        begin = k;
    }
    gnn__cut(&cutter, begin, span.end, false);
    gnn__cut_end(&cutter);
}

const gnn__text_step_row_t gnn__text_step_punctuation = {
    .type = "Punctuation", .keys = "behavior", .lists = GNN__SPLITS, .read = read, .split = split};
