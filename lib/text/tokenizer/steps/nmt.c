/* SentencePiece's rules for translation: control characters are removed, separators, characters of
 * no width and U+2581 become spaces. */
#include <lib/text/tokenizer/tokenizer.h>

static bool is_removed(int32_t c)
{
    return (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
           c == 0x8f || c == 0x9f;
}

static bool is_separator(int32_t c)
{
    return c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xfeff || c == 0xfffd;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const gnn__span_t origin = gnn__origin(work, k);
        const int32_t c = gnn__utf8_next(work->text.at, &k);
        if (!is_removed(c))
            gnn__put(work, is_separator(c) ? ' ' : c, origin);
    }
}

const gnn__text_step_row_t gnn__text_step_nmt = {
    .type = "Nmt", .lists = GNN__NORMALISES, .rewrite = rewrite};
