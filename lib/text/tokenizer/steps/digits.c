/* Splits off digits, runs of them or each individually. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(bool), "a step"));
    return gnn__json_bool(json, "individual_digits", step->options);
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const bool alone = *(bool *)step->options;
    bool before = false;
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        const bool digit = gnn__is_number(gnn__utf8_next(work->text.at, &k));
        if (digit != before || (digit && alone)) {
            gnn__add_span(work, begin, at);
            begin = at;
        }
        before = digit;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_digits = {
    .type = "Digits", .keys = "individual_digits", .lists = GNN__SPLITS, .read = read, .split = split};
