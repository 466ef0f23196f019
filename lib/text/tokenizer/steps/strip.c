/* Strips whitespace from the ends of a text. */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct options {
    bool left, right;
} options_t;

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    options_t *o = step->options;
    *o = (options_t){true, true};
    GNN_TRY(gnn__json_bool(json, "strip_left", &o->left));
    return gnn__json_bool(json, "strip_right", &o->right);
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    int64_t begin = span.end, end = span.begin;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        if (gnn__is_space(gnn__utf8_next(work->text.at, &k)))
            continue;
        begin = gnn__min(begin, at);
        end = k;
    }
    begin = o->left ? begin : span.begin;
    end = o->right ? end : span.end;
    for (int64_t k = begin; k < end; k++)
        gnn__put_byte(work, work->text.at[k], gnn__origin(work, k));
}

const gnn__text_step_row_t gnn__text_step_strip = {.type = "Strip",
                                                   .keys = "strip_left strip_right",
                                                   .lists = GNN__NORMALISES,
                                                   .read = read,
                                                   .rewrite = rewrite};
