/* Splits at a string or at matches of a regular expression. The expressions of the largest families
 * are hand-coded; PCRE2 runs the others. */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct options {
    const gnn__word_rules_t *rules; /* adjacent words without gaps */
    gnn__regex_t *regex;            /* else a pattern */
    gnn__string_t text;             /* else a string */
    bool invert;
    gnn__behavior_t behavior;
} options_t;

static int read(gnn__text_step_t *step, const json_t *json)
{
    gnn__string_t regex = {0};
    const json_t *pattern = json_object_get(json, "pattern");
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    options_t *o = step->options;
    GNN_TRY(gnn__behavior_read(json, true, &o->behavior));
    GNN_TRY(gnn__json_bool(json, "invert", &o->invert));
    GNN_TRY(gnn__json_closed(pattern, json_object_get(pattern, "Regex") ? "Regex" : "String"));
    GNN_TRY(gnn__json_string(pattern, "Regex", false, &regex));
    if (regex.at) {
        if (o->behavior == (o->invert ? GNN__REMOVED : GNN__ISOLATED))
            o->rules = gnn__word_rules_find(regex.at);
        return o->rules ? GNN_OK : gnn__regex_new(&o->regex, regex);
    }
    GNN_TRY(gnn__json_string(pattern, "String", true, &o->text));
    return o->text.length > 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "a string is expected that has characters");
}

static void release(gnn__text_step_t *step)
{
    gnn__regex_free(((options_t *)step->options)->regex);
}

static void cut_at_text(const options_t *o, gnn__cutter_t *cutter, gnn__span_t span)
{
    const char *at = cutter->work->text.at;
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k + o->text.length <= span.end;) {
        if (memcmp(at + k, o->text.at, (size_t)o->text.length) != 0) {
            k++;
            continue;
        }
        gnn__cut(cutter, begin, k, o->invert);
        begin = k + o->text.length;
        gnn__cut(cutter, k, begin, !o->invert);
        k = begin;
    }
    gnn__cut(cutter, begin, span.end, o->invert);
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    gnn__cutter_t cutter = {.work = work, .behavior = o->behavior};
    if (o->regex)
        gnn__regex_cut(o->regex, &cutter, span, o->invert);
    else if (!o->rules)
        cut_at_text(o, &cutter, span);
    gnn__cut_end(&cutter);
    for (int64_t k = span.begin, end; o->rules && k < span.end; k = end) {
        end = gnn__word_end(o->rules, work->text.at, k, span.end);
        gnn__add_span(work, k, end);
    }
}

const gnn__text_step_row_t gnn__text_step_pattern = {.type = "Split",
                                                     .keys = "pattern behavior invert",
                                                     .lists = GNN__SPLITS,
                                                     .read = read,
                                                     .split = split,
                                                     .release = release};
