/* Files of tokenizers: reads the bytes and detects the format. */
#include <lib/data/arrays/arrays.h>
#include <lib/text/tokenizer/tokenizer.h>

enum { MOST_BYTES = 256 << 20, MOST_LEVELS = 64 };

static const gnn__reader_t *const readers[] = {
#define GNN_READER(name) &gnn__reader_##name,
#include <lib/text/tokenizer/readers.def>
#undef GNN_READER
};

int gnn__bytes_of_file(const char *path, char **data, int64_t *size)
{
    gnn__file_t file;
    *data = NULL;
    GNN_TRY(gnn__file_open(&file, path));
    *size = file.size;
    int rc = file.size <= MOST_BYTES
                 ? gnn__new(data, file.size + 1, 1, "a file of tokens")
                 : gnn__error(GNN_EFORMAT, "%s: has %lld bytes, at most %d are expected", file.name,
                              (long long)file.size, MOST_BYTES);
    if (rc == GNN_OK)
        rc = gnn__file_read(&file, 0, *data, file.size);
    gnn__file_close(&file);
    if (rc != GNN_OK) {
        gnn_free(*data);
        *data = NULL;
    }
    return rc;
}

int gnn__root_of(gnn_tokenizer_t *t, const char *text, int64_t size)
{
    return gnn__json_parse(&t->root, text, size, GNN__JSON_NUL, MOST_LEVELS);
}

int gnn__tokenizer_read(gnn_tokenizer_t *t, const char *path)
{
    gnn__tokenizer_file_t file = {.path = path};
    GNN_TRY(gnn__bytes_of_file(path, &file.data, &file.size));
    t->block = file.data;
    size_t k = 0;
    while (k + 1 < sizeof readers / sizeof readers[0] && !readers[k]->is(&file))
        k++;
    int rc = readers[k]->read(t, &file);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}
