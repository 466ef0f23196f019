/* BERT's pre-tokenizer: splits at whitespace; every punctuation mark is a word. */
#include <lib/text/tokenizer/tokenizer.h>

static void split(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    int64_t begin = span.begin;
    (void)step;
    for (int64_t k = span.begin; k < span.end;) {
        const int64_t at = k;
        const int32_t c = gnn__utf8_next(work->text.at, &k);
        const bool blank = gnn__is_space(c), mark = !blank && gnn__is_punctuation(c);
        if (!blank && !mark)
            continue;
        gnn__add_span(work, begin, at);
        if (mark)
            gnn__add_span(work, at, k);
        begin = k;
    }
    gnn__add_span(work, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_bert_words = {
    .type = "BertPreTokenizer", .lists = GNN__SPLITS, .split = split};
