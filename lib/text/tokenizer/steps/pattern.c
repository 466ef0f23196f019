/* Cuts at a string, or into what one of the known regular expressions matches. */
#include <lib/text/tokenizer/tokenizer.h>

typedef enum { REMOVED, ISOLATED, WITH_PREVIOUS, WITH_NEXT, CONTIGUOUS, BEHAVIORS } behavior_t;

typedef struct options {
    const gnn__word_rules_t *rules; /* of words that follow on each other without gaps */
    gnn__string_t text;             /* else a string */
    bool characters;                /* else every character */
    behavior_t behavior;
} options_t;

static int read_behavior(options_t *o, const json_t *json)
{
    static const char *const names[BEHAVIORS] = {"Removed", "Isolated", "MergedWithPrevious",
                                                 "MergedWithNext", "Contiguous"};
    gnn__string_t name;
    GNN_TRY(gnn__json_string(json, "behavior", true, &name));
    for (int b = 0; b < BEHAVIORS; b++)
        if (strcmp(names[b], name.at) == 0) {
            o->behavior = (behavior_t)b;
            return GNN_OK;
        }
    return gnn__error(GNN_EFORMAT, "the behavior \"%.40s\" is not known", name.at);
}

static int read_regex(options_t *o, gnn__string_t regex, bool invert)
{
    o->rules = gnn__word_rules_find(regex.at);
    o->characters =
        !o->rules && (strcmp(regex.at, "[\\s\\S]") == 0 || strcmp(regex.at, "(?s).") == 0);
    if (!o->rules && !o->characters)
        return gnn__error(GNN_EUNSUPPORTED, "the pattern \"%.120s\" is not known", regex.at);
    if (o->behavior == (invert ? REMOVED : ISOLATED))
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED,
                      "the pattern's matches are words: behavior Isolated is expected");
}

static int read(gnn__step_t *step, const json_t *json)
{
    bool invert = false;
    gnn__string_t regex = {0};
    const json_t *pattern = json_object_get(json, "pattern");
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    options_t *o = step->options;
    GNN_TRY(read_behavior(o, json));
    GNN_TRY(gnn__json_bool(json, "invert", &invert));
    GNN_TRY(gnn__json_string(pattern, "Regex", false, &regex));
    if (regex.at)
        return read_regex(o, regex, invert);
    GNN_TRY(gnn__json_string(pattern, "String", true, &o->text));
    return !invert && o->text.length > 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "a string is expected that has characters and is not inverted");
}

/* Behind the match at k, or k. */
static int64_t match(const options_t *o, const char *at, int64_t k, int64_t end)
{
    if (o->rules)
        return gnn__word_end(o->rules, at, k, end);
    if (o->characters)
        gnn__utf8_next(at, &k);
    else if (o->text.length <= end - k && memcmp(at + k, o->text.at, (size_t)o->text.length) == 0)
        k += o->text.length;
    return k;
}

static int64_t runs_on(const options_t *o, const char *at, int64_t k, int64_t end)
{
    int64_t next = match(o, at, k, end);
    while (o->behavior == CONTIGUOUS && next > k && next < end) {
        k = next;
        next = match(o, at, k, end);
    }
    return next;
}

static void split(const gnn__step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    const behavior_t b = o->behavior;
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t end = runs_on(o, work->text.at, k, span.end);
        if (end == k) {
            k++;
            continue;
        }
        gnn__add_span(work, begin, b == WITH_PREVIOUS && !o->rules ? end : k);
        if (b == ISOLATED || b == CONTIGUOUS || o->rules || o->characters)
            gnn__add_span(work, k, end);
        begin = b == WITH_NEXT ? k : end;
        k = end;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__step_row_t gnn__step_pattern = {.type = "Split", .read = read, .split = split};
