/* Splits at whitespace. */
#include <lib/text/tokenizer/tokenizer.h>

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    int64_t begin = span.begin;
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        if (!gnn__is_space(gnn__utf8_next(work->text.at, &k)))
            continue;
        gnn__add_span(work, begin, at);
        begin = k;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_whitespace_split = {
    .type = "WhitespaceSplit", .lists = GNN__SPLITS, .split = split};
