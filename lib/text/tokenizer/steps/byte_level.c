/* GPT-2's pre-tokenizer, optionally with a space before the text. Its byte alphabet is decoded when
 * the vocabulary is read. Radford et al. 2019. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    bool prefix = true, regex = true;
    GNN_TRY(gnn__json_bool(json, "add_prefix_space", &prefix));
    GNN_TRY(gnn__json_bool(json, "use_regex", &regex));
    step->keeps_text = !prefix;
    step->keeps_spans = !regex;
    return GNN_OK;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    if (work->text.at[span.begin] != ' ')
        gnn__put_byte(work, ' ', gnn__origin(work, span.begin));
    for (int64_t k = span.begin; k < span.end; k++)
        gnn__put_byte(work, work->text.at[k], gnn__origin(work, k));
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin, end; k < span.end; k = end) {
        end = gnn__word_end(&gnn__gpt2_words, work->text.at, k, span.end);
        gnn__add_span(work, k, end);
    }
}

const gnn__text_step_row_t gnn__text_step_byte_level = {
    .type = "ByteLevel",
    .keys = "add_prefix_space trim_offsets use_regex",
    .lists = GNN__SPLITS,
    .read = read,
    .rewrite = rewrite,
    .split = split};

/* ---- steps after ByteLevel read its characters, not the text's ---- */

static void write_bytes(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        const int byte = gnn__byte_of(gnn__utf8_next(work->text.at, &k));
        gnn__put_byte(work, (char)byte, gnn__origin(work, at));
    }
}

const gnn__text_step_row_t gnn__text_step_bytes = {.type = "ByteLevel's bytes",
                                                   .rewrite = write_bytes};
