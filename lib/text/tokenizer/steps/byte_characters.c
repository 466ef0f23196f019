/* Writes each byte as its character of GPT-2's alphabet: as a normalizer, for a vocabulary of these
 * characters, and around the steps that follow the pre-tokenizer ByteLevel. */
#include <lib/text/tokenizer/tokenizer.h>

static void write_characters(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    (void)step;
    for (int64_t k = span.begin; k < span.end; k++) {
        char character[4];
        const int64_t n =
            gnn__utf8_put(character, gnn__character_of((unsigned char)work->text.at[k]));
        gnn__put_bytes(work, character, n, gnn__origin(work, k));
    }
}

const gnn__text_step_row_t gnn__text_step_byte_characters = {
    .type = "ByteLevel", .lists = GNN__NORMALISES, .rewrite = write_characters};
