/* tokenizer.json: the whole tokenizer as JSON. */
#include <lib/text/tokenizer/tokenizer.h>

static bool is(const gnn__tokenizer_file_t *file)
{
    return file->data[strspn(file->data, " \t\r\n")] == '{';
}

static int read(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    GNN_TRY(gnn__root_of(t, file->data, file->size));
    gnn_free(t->block);
    t->block = NULL;
    return gnn__tokenizer_build(t);
}

const gnn__reader_t gnn__reader_tokenizer_json = {is, read};
