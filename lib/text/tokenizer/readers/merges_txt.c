/* merges.txt: byte-level byte-pair encoding (GPT-2), two tokens per line; vocab.json in the same
 * folder has the ids. A vocabulary with <s>, </s> and <mask> is RoBERTa's, which puts the first two
 * around a text. */
#include <lib/data/arrays/text_file.h>
#include <lib/text/tokenizer/tokenizer.h>

/* Does the first line that is not a comment have two parts? */
static bool is(const gnn__tokenizer_file_t *file)
{
    const char *line = file->data;
    if (strncmp(line, "#version", 8) == 0)
        return true;
    const int64_t n = (int64_t)strcspn(line, "\r\n"), left = (int64_t)strcspn(line, " ");
    return left > 0 && left < n - 1 && !memchr(line + left + 1, ' ', (size_t)(n - left - 1));
}

int gnn__merges_of_text(json_t *merges, const gnn__tokenizer_file_t *file)
{
    int64_t row = 1;
    for (int64_t k = 0, end; k < file->size; k = end + 1, row++) {
        const char *line = file->data + k, *newline = memchr(line, '\n', (size_t)(file->size - k));
        end = newline ? newline - file->data : file->size;
        int64_t n = end - k;
        while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
            n--;
        if (n == 0 || (row == 1 && strncmp(line, "#version", 8) == 0))
            continue;
        if (memchr(line, '\0', (size_t)n) || !gnn__is_utf8(line, n))
            return gnn__error(GNN_EFORMAT, "line %lld: is not UTF-8, two tokens are expected",
                              (long long)row);
        if (json_array_append_new(merges, json_stringn_nocheck(line, (size_t)n)) != 0)
            return gnn__error(GNN_EMEMORY, "no memory for merges");
    }
    return GNN_OK;
}

/* vocab.json in the same folder. */
static int read_vocabulary(gnn_tokenizer_t *t, const char *path, json_t **vocabulary)
{
    const char *slash = strrchr(path, '/');
    char *beside, *data;
    int64_t size;
    GNN_TRY(gnn__asprintf(&beside, "%.*svocab.json", slash ? (int)(slash - path + 1) : 0, path));
    int rc = gnn__bytes_of_file(beside, &data, &size);
    gnn_free(beside);
    if (rc == GNN_EIO) /* fallback for any text of no other format */
        return gnn__error_prefix(rc, "is not another tokenizer, and merges.txt needs vocab.json next to "
                                     "it");
    GNN_TRY(rc);
    rc = gnn__root_of(t, data, size);
    gnn_free(data);
    *vocabulary = t->root;
    t->root = NULL;
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "vocab.json");
}

static int id_in(const json_t *vocabulary, const char *token)
{
    const json_t *id = json_object_get(vocabulary, token);
    return json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) <= INT32_MAX
               ? (int)json_integer_value(id)
               : -1;
}

static json_t *added_of(const json_t *vocabulary, bool roberta)
{
    static const char *const names[] = {"<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    json_t *list = json_array();
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const int id = id_in(vocabulary, names[k]);
        if (id < 0 || (k > 0 && !roberta))
            continue;
        json_t *token = json_pack("{s:i, s:s, s:b, s:b, s:b}", "id", id, "content", names[k],
                                  "special", 1, "normalized", k != 5, "lstrip", k == 5);
        if (json_array_append_new(list, token) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Takes ownership of both. */
static int describe(gnn_tokenizer_t *t, json_t *vocabulary, json_t *merges)
{
    const int cls = id_in(vocabulary, "<s>"), sep = id_in(vocabulary, "</s>");
    const bool roberta = cls >= 0 && sep >= 0 && id_in(vocabulary, "<mask>") >= 0;
    json_t *added = added_of(vocabulary, roberta);
    json_t *around = roberta ? json_pack("{s:s, s:[s,i], s:[s,i], s:b, s:b}", "type",
                                         "RobertaProcessing", "cls", "<s>", cls, "sep", "</s>", sep,
                                         "trim_offsets", 1, "add_prefix_space", 0)
                             : json_pack("{s:s, s:b}", "type", "ByteLevel", "trim_offsets", 0);
    t->root = json_pack("{s:{s:s, s:b}, s:{s:s, s:o, s:o}, s:o, s:o, s:{s:s}}", "pre_tokenizer",
                        "type", "ByteLevel", "add_prefix_space", 0, "model", "type", "BPE", "vocab",
                        vocabulary, "merges", merges, "added_tokens", added, "post_processor",
                        around, "decoder", "type", "ByteLevel");
    return t->root ? GNN_OK : gnn__error(GNN_EMEMORY, "out of memory for a tokenizer");
}

static int read(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    json_t *vocabulary = NULL, *merges = json_array();
    int rc = gnn__merges_of_text(merges, file);
    if (rc == GNN_OK)
        rc = read_vocabulary(t, file->path, &vocabulary);
    if (rc != GNN_OK) {
        json_decref(merges);
        json_decref(vocabulary);
        return rc;
    }
    GNN_TRY(describe(t, vocabulary, merges));
    return gnn__tokenizer_build(t);
}

const gnn__reader_t gnn__reader_merges_txt = {is, read};
