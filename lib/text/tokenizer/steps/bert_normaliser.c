/* BERT's normaliser: removes control characters, unifies whitespace, separates ideographs, strips
 * accents and lower-cases. Devlin et al. 2019. */
#include <lib/text/tokenizer/tokenizer.h>

typedef struct options {
    bool clean, ideographs, accents, lower;
    signed char ascii[128]; /* replacement of each ASCII character; -1: removed */
} options_t;

static signed char ascii_becomes(const options_t *o, int c)
{
    const bool blank = c == '\t' || c == '\n' || c == '\r';
    if (o->clean && (blank || c < ' ' || c == 0x7f))
        return blank ? ' ' : -1;
    return (signed char)(o->lower && c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static int read(gnn__text_step_t *step, const json_t *json)
{
    options_t *o;
    GNN_TRY(gnn__new(&step->options, 1, sizeof *o, "a step"));
    o = step->options;
    *o = (options_t){.clean = true, .ideographs = true, .lower = true};
    GNN_TRY(gnn__json_bool(json, "clean_text", &o->clean));
    GNN_TRY(gnn__json_bool(json, "handle_chinese_chars", &o->ideographs));
    GNN_TRY(gnn__json_bool(json, "lowercase", &o->lower));
    o->accents = o->lower;
    GNN_TRY(gnn__json_bool(json, "strip_accents", &o->accents));
    for (int c = 0; c < 128; c++)
        o->ascii[c] = ascii_becomes(o, c);
    return GNN_OK;
}

static void put_lower(const options_t *o, gnn__work_t *work, int32_t c, gnn__span_t origin)
{
    int32_t lower[2] = {c};
    int n = o->lower ? gnn__to_lower(c, lower) : 1;
    for (int k = 0; k < n; k++)
        gnn__put(work, lower[k], origin);
}

static void put_plain(const options_t *o, gnn__work_t *work, int32_t c, gnn__span_t origin)
{
    int32_t parts[18] = {c};
    int n = o->accents ? gnn__decompose(c, false, parts) : 1;
    for (int k = 0; k < n; k++)
        if (!o->accents || !gnn__is_mark_nonspacing(parts[k]))
            put_lower(o, work, parts[k], origin);
}

static void put_other(const options_t *o, gnn__work_t *work, int32_t c, gnn__span_t origin)
{
    if (o->clean && (c == GNN__REPLACEMENT || gnn__is_other(c)))
        return;
    if (o->clean && gnn__is_space(c)) {
        gnn__put_byte(work, ' ', origin);
        return;
    }
    const bool apart = o->ideographs && gnn__is_ideograph(c);
    if (apart)
        gnn__put_byte(work, ' ', origin);
    put_plain(o, work, c, origin);
    if (apart)
        gnn__put_byte(work, ' ', origin);
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    for (int64_t k = span.begin; k < span.end;) {
        const gnn__span_t origin = gnn__origin(work, k);
        const char c = work->text.at[k];
        if ((unsigned char)c >= 0x80) {
            put_other(o, work, gnn__utf8_next(work->text.at, &k), origin);
            continue;
        }
        k++;
        if (o->ascii[(unsigned char)c] >= 0)
            gnn__put_byte(work, (char)o->ascii[(unsigned char)c], origin);
    }
}

const gnn__text_step_row_t gnn__text_step_bert_normaliser = {
    .type = "BertNormalizer",
    .keys = "clean_text handle_chinese_chars strip_accents lowercase",
    .lists = GNN__NORMALISES,
    .read = read,
    .rewrite = rewrite};
