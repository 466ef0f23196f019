/* Lower-case, character by character. */
#include <lib/text/tokenizer/tokenizer.h>

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const gnn__span_t origin = gnn__origin(work, k);
        int32_t lower[2];
        const int n = gnn__to_lower(gnn__utf8_next(work->text.at, &k), lower);
        for (int i = 0; i < n; i++)
            gnn__put(work, lower[i], origin);
    }
}

const gnn__text_step_row_t gnn__text_step_lower = {
    .type = "Lowercase", .lists = GNN__NORMALISES, .rewrite = rewrite};
