/* SentencePiece's spaces: replaces each with U+2581, prepends one to the text, and begins words at
 * them. */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct options {
    gnn__string_t blank;
    bool always, first;
} options_t;

static int read_scheme(options_t *o, const json_t *json)
{
    gnn__string_t scheme = {0};
    bool prefix = true;
    GNN_TRY(gnn__json_string(json, "prepend_scheme", false, &scheme));
    GNN_TRY(gnn__json_bool(json, "add_prefix_space", &prefix));
    if (!scheme.at)
        scheme.at = prefix ? "always" : "never";
    o->always = strcmp(scheme.at, "always") == 0;
    o->first = strcmp(scheme.at, "first") == 0;
    if (!o->always && !o->first && strcmp(scheme.at, "never") != 0)
        return gnn__error(GNN_EFORMAT,
                          "\"prepend_scheme\" is \"%.20s\": always, first and never are known",
                          scheme.at);
    return GNN_OK;
}

static int read(gnn__text_step_t *step, const json_t *json)
{
    bool splits = true;
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    options_t *o = step->options;
    o->blank = (gnn__string_t){GNN__BLANK, 3};
    GNN_TRY(gnn__json_string(json, "replacement", false, &o->blank));
    GNN_TRY(gnn__json_bool(json, "split", &splits));
    step->keeps_spans = !splits;
    GNN_TRY(read_scheme(o, json));
    step->by_origin = o->first;
    return GNN_OK;
}

static bool is_blank(const options_t *o, const gnn__work_t *work, int64_t k, int64_t end)
{
    return o->blank.length > 0 && o->blank.length <= end - k &&
           memcmp(work->text.at + k, o->blank.at, (size_t)o->blank.length) == 0;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    const bool has = work->text.at[span.begin] == ' ' || is_blank(o, work, span.begin, span.end);
    const bool at_start =
        work->places ? work->text.from[span.begin] == 0 : work->first && span.begin == 0;
    const bool always = o->always && (!step->first_only || (work->first && at_start));
    if (!has && (always || (o->first && at_start)))
        gnn__put_bytes(work, o->blank.at, o->blank.length, gnn__origin(work, span.begin));
    for (int64_t k = span.begin; k < span.end; k++)
        if (work->text.at[k] == ' ')
            gnn__put_bytes(work, o->blank.at, o->blank.length, gnn__origin(work, k));
        else
            gnn__put_byte(work, work->text.at[k], gnn__origin(work, k));
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k < span.end; k++)
        if (is_blank(step->options, work, k, span.end)) {
            gnn__add_span(work, begin, k);
            begin = k;
        }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_metaspace = {
    .type = "Metaspace",
    .keys = "replacement prepend_scheme split add_prefix_space str_rep",
    .lists = GNN__SPLITS,
    .read = read,
    .rewrite = rewrite,
    .split = split};
