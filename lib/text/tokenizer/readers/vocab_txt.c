/* vocab.txt: BERT's WordPiece, one token per line; the id of a token is its line, counted from
 * 0. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/tokenizer/tokenizer.h>

static bool is(const gnn__tokenizer_file_t *file)
{
    (void)file;
    return true;
}

int64_t gnn__without_blanks(const char *line, int64_t n)
{
    while (n > 0 && gnn__is_space(gnn__utf8_before(line, n))) {
        do
            n--;
        while (n > 0 && ((unsigned char)line[n] & 0xc0) == 0x80);
    }
    return n;
}

/* Terminates each line with a zero byte. */
static int read_lines(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    int64_t row = 0;
    for (int64_t k = 0, end; k < file->size; k = end + 1, row++) {
        const char *line = file->data + k, *newline = memchr(line, '\n', (size_t)(file->size - k));
        end = newline ? newline - file->data : file->size;
        if (memchr(line, '\0', (size_t)(end - k)) || !gnn__is_utf8(line, end - k))
            return gnn__error(GNN_EFORMAT, "line %lld: is not UTF-8, a token is expected",
                              (long long)row + 1);
        const int64_t n = gnn__without_blanks(line, end - k);
        file->data[k + n] = '\0';
        int rc = gnn__token_add(t, row, (gnn__string_t){line, n});
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "line %lld", (long long)row + 1);
    }
    return GNN_OK;
}

static bool has_capitals(const gnn_tokenizer_t *t)
{
    for (int64_t id = 0; id < t->size; id++)
        for (int64_t k = 0; t->tokens[id].at[0] != '[' && k < t->tokens[id].length; k++)
            if (t->tokens[id].at[k] >= 'A' && t->tokens[id].at[k] <= 'Z')
                return true;
    return false;
}

static const char *const specials[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};

static int no_memory(void)
{
    return gnn__error(GNN_EMEMORY, "out of memory for a tokenizer");
}

static int describe(gnn_tokenizer_t *t)
{
    const int lower = !has_capitals(t);
    json_t *added = json_array();
    for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++) {
        const int id = gnn_tokenizer_find(t, specials[k]);
        json_t *token =
            id < 0 ? NULL
                   : json_pack("{s:i, s:s, s:b}", "id", id, "content", specials[k], "special", 1);
        if (id >= 0 && json_array_append_new(added, token) != 0) {
            json_decref(added);
            return no_memory();
        }
    }
    const int cls = gnn_tokenizer_find(t, "[CLS]"), sep = gnn_tokenizer_find(t, "[SEP]");
    t->root = json_pack("{s:{s:s, s:b}, s:{s:s}, s:{s:s, s:s}, s:o, s:{s:s}}", "normalizer", "type",
                        "BertNormalizer", "lowercase", lower, "pre_tokenizer", "type",
                        "BertPreTokenizer", "model", "type", "WordPiece", "unk_token", "[UNK]",
                        "added_tokens", added, "decoder", "type", "WordPiece");
    if (!t->root)
        return no_memory();
    if (cls < 0 || sep < 0)
        return GNN_OK;
    json_t *around = json_pack("{s:s, s:[s,i], s:[s,i]}", "type", "BertProcessing", "cls", "[CLS]",
                               cls, "sep", "[SEP]", sep);
    return json_object_set_new(t->root, "post_processor", around) == 0 ? GNN_OK : no_memory();
}

static int read(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    GNN_TRY(read_lines(t, file));
    if (gnn_tokenizer_find(t, "[UNK]") < 0)
        return gnn__error(GNN_EFORMAT,
                          "has %lld lines, and none is [UNK]: a vocabulary of BERT is expected, "
                          "one token per line",
                          (long long)t->size);
    GNN_TRY(describe(t));
    return gnn__tokenizer_build(t);
}

const gnn__reader_t gnn__reader_vocab_txt = {is, read};
