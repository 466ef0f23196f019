/* llama2.c's tokenizer.bin: int32 the longest token's bytes; for each token float32 score, int32
 * bytes, the bytes. Tokens 0 to 2 are <unk>, <s> and </s>, then come 256 single bytes. Everything
 * is little-endian. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/tokenizer/tokenizer.h>

enum { LONGEST = 4096, FIRST_BYTE = 3, FIRST_PIECE = FIRST_BYTE + 256 };

static uint32_t number_at(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    return (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

static bool is(const gnn__tokenizer_file_t *file)
{
    return file->size >= 12 && number_at(file->data) > 0 && number_at(file->data) <= LONGEST;
}

static int64_t count_tokens(const gnn__tokenizer_file_t *file)
{
    int64_t count = 0;
    for (int64_t k = 4; k + 8 <= file->size; count++) {
        const uint32_t n = number_at(file->data + k + 4);
        if (n > LONGEST || (int64_t)n > file->size - k - 8)
            break;
        k += 8 + n;
    }
    return count;
}

/* Token `id` at byte k; *next: one past it. Its text is terminated by a zero byte, written over the
 * next token's score, which has been read before. */
static int read_token(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file, int64_t id, int64_t k,
                      uint32_t score, int64_t *next)
{
    const int64_t n = number_at(file->data + k + 4);
    gnn__string_t text = {file->data + k + 8, n};
    float value;
    memcpy(&value, &score, sizeof value);
    *next = k + 8 + n;
    file->data[*next] = '\0';
    if (value != value || memchr(text.at, '\0', (size_t)n) || !gnn__is_utf8(text.at, n))
        return gnn__error(GNN_EFORMAT, "token %lld: %s", (long long)id,
                          value != value ? "the score is not a number" : "its text is not UTF-8");
    t->rules.scores[id] = (double)value;
    GNN_TRY(gnn__token_add(t, id, text));
    return id >= FIRST_PIECE && n > 0 ? gnn__piece_add(t, (int32_t)id) : GNN_OK;
}

static int read_tokens(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    const int64_t count = count_tokens(file);
    int64_t k = 4;
    if (count < FIRST_PIECE)
        return gnn__error(
            GNN_EFORMAT,
            "holds %lld whole tokens, at least %d are expected: 3 special ones and 256 bytes",
            (long long)count, FIRST_PIECE);
    GNN_TRY(gnn__new(&t->rules.scores, count, sizeof *t->rules.scores, "scores"));
    uint32_t score = number_at(file->data + k);
    for (int64_t id = 0; id < count; id++) {
        const int64_t end = k + 8 + number_at(file->data + k + 4);
        const uint32_t following = end + 4 <= file->size ? number_at(file->data + end) : 0;
        GNN_TRY(read_token(t, file, id, k, score, &k));
        score = following;
    }
    return k == file->size ? GNN_OK
                           : gnn__error(GNN_EFORMAT, "token %lld is cut off or longer than %d bytes",
                                        (long long)count, LONGEST);
}

static int add_steps(gnn_tokenizer_t *t)
{
    gnn__text_step_t *step;
    GNN_TRY(gnn__pipeline_add(&t->normalisers, &gnn__text_step_sentencepiece, &step));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__sentencepiece_options_t), "a step"));
    *(gnn__sentencepiece_options_t *)step->options =
        (gnn__sentencepiece_options_t){.prefix = true, .kept = &t->kept};
    return gnn__split_at_blanks(t, " ");
}

static int read(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    GNN_TRY(read_tokens(t, file));
    t->kind = &gnn__token_kind_byte_pairs;
    t->rules.unknown = 0;
    t->rules.byte_fallback = true;
    for (int b = 0; b < 256; b++)
        t->rules.bytes[b] = FIRST_BYTE + b;
    t->flags[0] = t->flags[1] = t->flags[2] = GNN__TOKEN_SPECIAL;
    GNN_TRY(gnn__merges_of_scores(t));
    GNN_TRY(add_steps(t));
    t->speech = (gnn__speech_t){
        .byte_tokens = true, .strip_left = 1, .blank = "", .prefix = "", .suffix = ""};
    GNN_TRY(gnn__template_add(&t->single, (gnn__item_t){1, 0, 0}));
    return gnn__template_plain(t);
}

const gnn__reader_t gnn__reader_llama2c = {is, read};
