/* Removes non-spacing marks; a decomposing step before this one separates accents. */
#include <lib/text/tokenizer/tokenizer.h>

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const gnn__span_t origin = gnn__origin(work, k);
        const int32_t c = gnn__utf8_next(work->text.at, &k);
        if (!gnn__is_mark(c))
            gnn__put(work, c, origin);
    }
}

const gnn__text_step_row_t gnn__text_step_strip_accents = {
    .type = "StripAccents", .lists = GNN__NORMALISES, .rewrite = rewrite};
