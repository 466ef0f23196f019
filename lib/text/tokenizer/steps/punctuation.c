/* Every punctuation mark stands apart. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__step_t *step, const json_t *json)
{
    gnn__string_t behavior = {"Isolated", 8};
    (void)step;
    GNN_TRY(gnn__json_string(json, "behavior", false, &behavior));
    return strcmp(behavior.at, "Isolated") == 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "the behavior \"%.40s\", only Isolated is known",
                            behavior.at);
}

static void split(const gnn__step_t *step, gnn__work_t *work, gnn__span_t span)
{
    int64_t begin = span.begin;
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        if (!gnn__is_punctuation(gnn__utf8_next(work->text.at, &k)))
            continue;
        gnn__add_span(work, begin, at);
        gnn__add_span(work, at, k);
        begin = k;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__step_row_t gnn__step_punctuation = {.type = "Punctuation", .read = read, .split = split};
