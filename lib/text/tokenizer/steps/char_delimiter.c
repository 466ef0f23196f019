/* Splits at a character, which is dropped. */
#include <lib/text/tokenizer/tokenizer.h>

static int read(gnn__text_step_t *step, const json_t *json)
{
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__string_t), "a step"));
    gnn__string_t *delimiter = step->options;
    int64_t end = 0;
    GNN_TRY(gnn__json_string(json, "delimiter", true, delimiter));
    if (delimiter->length > 0)
        gnn__utf8_next(delimiter->at, &end);
    return delimiter->length > 0 && end == delimiter->length
               ? GNN_OK
               : gnn__error(GNN_EFORMAT, "\"delimiter\" is \"%.20s\", one character is expected",
                            delimiter->at);
}

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const gnn__string_t *delimiter = step->options;
    int64_t begin = span.begin;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        gnn__utf8_next(work->text.at, &k);
        if (k - at != delimiter->length ||
            memcmp(work->text.at + at, delimiter->at, (size_t)delimiter->length) != 0)
            continue;
        gnn__add_span(work, begin, at);
        begin = k;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_char_delimiter = {.type = "CharDelimiterSplit",
                                                            .keys = "delimiter",
                                                            .lists = GNN__SPLITS,
                                                            .read = read,
                                                            .split = split};
