/* Replaces matches of a string or pattern. Runs of spaces, the most common pattern, are matched
 * without PCRE2. */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct options {
    gnn__string_t from, to;
    int64_t blanks; /* > 0: minimum length of a run of spaces, for the patterns " {2,}" and " +" */
    gnn__regex_t *regex; /* any other pattern; NULL: none */
} options_t;

static int read_pattern(options_t *o, const json_t *json)
{
    const json_t *pattern = json_object_get(json, "pattern");
    gnn__string_t regex = {0};
    GNN_TRY(gnn__json_closed(pattern, json_object_get(pattern, "Regex") ? "Regex" : "String"));
    GNN_TRY(gnn__json_string(pattern, "Regex", false, &regex));
    if (!regex.at) {
        GNN_TRY(gnn__json_string(pattern, "String", true, &o->from));
        return o->from.length > 0
                   ? GNN_OK
                   : gnn__error(GNN_EUNSUPPORTED, "a string is expected that has characters");
    }
    o->blanks = strcmp(regex.at, " {2,}") == 0 ? 2 : strcmp(regex.at, " +") == 0 ? 1 : 0;
    return o->blanks ? GNN_OK : gnn__regex_new(&o->regex, regex);
}

static void release(gnn__text_step_t *step)
{
    gnn__regex_free(((options_t *)step->options)->regex);
}

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    options_t *o = step->options;
    GNN_TRY(read_pattern(o, json));
    return gnn__json_string(json, "content", true, &o->to);
}

/* Length of the match at k; 0: no match. */
static int64_t match(const options_t *o, const gnn__flow_t *text, int64_t k, int64_t end)
{
    if (o->blanks == 0)
        return o->from.length > 0 && o->from.length <= end - k &&
                       memcmp(text->at + k, o->from.at, (size_t)o->from.length) == 0
                   ? o->from.length
                   : 0;
    int64_t run = k;
    while (run < end && text->at[run] == ' ')
        run++;
    return run - k >= o->blanks ? run - k : 0;
}

typedef struct place {
    const options_t *options;
    bool repeated; /* by a later step: text before the first character */
    gnn__work_t *work;
    int64_t begin; /* start of the unmatched text */
} place_t;

static void put_before(const place_t *p, int64_t end)
{
    for (int64_t k = p->begin; k < end; k++)
        gnn__put_byte(p->work, p->work->text.at[k], gnn__origin(p->work, k));
}

/* As in the package, text before all others is an empty span of the input. */
static gnn__span_t at_start(const gnn__work_t *work)
{
    return (gnn__span_t){work->start, work->start};
}

static void put_match(void *user, gnn__span_t match)
{
    place_t *p = user;
    const gnn__string_t *to = &p->options->to;
    put_before(p, match.begin);
    p->begin = match.end;
    if (p->repeated && match.end == 0 && to->length > 0 && p->work->rc == GNN_OK)
        p->work->rc = gnn__error(GNN_EUNSUPPORTED,
                                 "normalizer: Replace: a match before the first character of a "
                                 "text, which a later step of the package repeats");
    if (p->work->text.n > 0)
        gnn__put_bytes(p->work, to->at, to->length,
                       match.end > 0 ? gnn__origin(p->work, match.end - 1) : at_start(p->work));
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    if (o->regex) {
        place_t p = {o, step->repeated, work, span.begin};
        gnn__regex_each(o->regex, work, span, put_match, &p);
        put_before(&p, span.end);
        return;
    }
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t found = match(o, &work->text, k, span.end);
        gnn__span_t origin = gnn__origin(work, k);
        if (found == 0) {
            gnn__put_byte(work, work->text.at[k++], origin);
            continue;
        }
        origin = gnn__origin(work, k + found - 1);
        gnn__put_bytes(work, o->to.at, o->to.length, origin);
        k += found;
    }
}

const gnn__text_step_row_t gnn__text_step_replace = {.type = "Replace",
                                                     .keys = "pattern content",
                                                     .lists = GNN__NORMALISES,
                                                     .read = read,
                                                     .rewrite = rewrite,
                                                     .release = release};
