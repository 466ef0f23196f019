/* Splits into runs of letters, digits and marks, and runs of any other non-whitespace
 * characters: the pattern \w+|[^\w\s]+. */
#include <lib/text/tokenizer/tokenizer.h>

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    enum { BLANK, WORD, MARKS } before = BLANK;
    int64_t begin = span.begin;
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        const int32_t c = gnn__utf8_next(work->text.at, &k);
        const int kind = gnn__is_word(c) ? WORD : gnn__is_space(c) ? BLANK : MARKS;
        if (kind != (int)before) {
            if (before != BLANK)
                gnn__add_span(work, begin, at);
            begin = at;
        }
        before = kind;
    }
    if (before != BLANK)
        gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_whitespace = {
    .type = "Whitespace", .lists = GNN__SPLITS, .split = split};
