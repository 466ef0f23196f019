/* Splits into pieces of a fixed count of characters; the last one has the remaining ones. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(int64_t), "a step"));
    int64_t *length = step->options;
    *length = 5;
    GNN_TRY(gnn__json_number(json, "length", false, length));
    return *length >= 1 ? GNN_OK
                        : gnn__error(GNN_EFORMAT, "\"length\" is %lld, at least 1 is expected",
                                     (long long)*length);
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const int64_t length = *(const int64_t *)step->options;
    int64_t begin = span.begin, characters = 0;
    for (int64_t k = span.begin; k < span.end;) {
        gnn__utf8_next(work->text.at, &k);
        if (++characters == length || k >= span.end) {
            gnn__add_span(work, begin, k);
            begin = k;
            characters = 0;
        }
    }
}

const gnn__text_step_row_t gnn__text_step_fixed_length = {
    .type = "FixedLength", .keys = "length", .lists = GNN__SPLITS, .read = read, .split = split};
