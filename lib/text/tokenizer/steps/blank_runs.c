/* Words begin where a space follows another character. Equivalent for a model without tokens
 * across such a boundary, and words can be cached, unlike whole texts. */
#include <lib/text/tokenizer/tokenizer.h>

static bool is_blank(const gnn__string_t *blank, const char *at, int64_t n)
{
    return n >= blank->length && memcmp(at, blank->at, (size_t)blank->length) == 0;
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const gnn__string_t *blank = step->options;
    int64_t begin = span.begin;
    bool before = true;
    for (int64_t k = span.begin; k < span.end;) {
        const bool is = is_blank(blank, work->text.at + k, span.end - k);
        if (is && !before) {
            gnn__add_span(work, begin, k);
            begin = k;
        }
        before = is;
        k += is ? blank->length : 1;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_blank_runs = {.type = "BlankRuns", .split = split};
