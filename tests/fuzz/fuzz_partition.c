/* libFuzzer: bytes as changes to the folder of a partition: to its header as JSON, and to elements
 * and headers of its arrays; checksums are those of the result. What opens as a folder, as the set
 * of one rank and as a whole set holds together. */
#include "fuzz.h"
#include "fuzz_json.h"

#include <gnn/gnn.h>
#include <gnn/partition.h>
#include <gnn/ranks.h>
#include <lib/data/partition.h>

enum {
    NODES = 600,
    HEADER = 1 << 14,
    LONGEST = 1 << 15,
    MOST_ARRAYS = 16,
    FIELDS = 128,
    MOST_CHANGES = 4
};

typedef struct {
    char name[64];
    uint8_t data[LONGEST];
    size_t size;
} file_t;

/* ---- the folder that is changed ---- */

static file_t files[MOST_ARRAYS + 1];
static int n_files; /* the header is the first */

static void read_one(const char *folder, const char *name)
{
    char path[512];
    file_t *f = &files[n_files++];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(f->name, sizeof f->name, "%.60s", name);
    FILE *in = fopen(path, "rb");
    if (!in || n_files > MOST_ARRAYS)
        abort();
    f->size = fread(f->data, 1, LONGEST, in);
    if (f->size == LONGEST)
        abort();
    fclose(in);
    unlink(path);
}

static const char *put(const file_t *f)
{
    return fuzz_file(f->name, f->data, f->size);
}

/* A ring with features, labels and split masks, in two parts. */
static void write_folder(const char *folder)
{
    static char links[NODES * 12], features[NODES * 8], labels[NODES * 4];
    size_t n_links = 0, n_features = 0, n_labels = 0;
    gnn_data_t *data = NULL;
    gnn_partition_t *partition = NULL;
    for (int k = 0; k < NODES; k++) {
        n_links += (size_t)sprintf(links + n_links, "%d %d\n", k, (k + 1) % NODES);
        n_features += (size_t)sprintf(features + n_features, "%d,0.5\n", k % 3);
        n_labels += (size_t)sprintf(labels + n_labels, "%c\n", 'a' + k % 2);
    }
    fuzz_must(gnn_data_open(&data, fuzz_file("f.edges", (const uint8_t *)links, n_links)));
    char x[128];
    snprintf(x, sizeof x, "%s", fuzz_file("x.csv", (const uint8_t *)features, n_features));
    fuzz_must(gnn_data_add_csv(data, x, fuzz_file("y.csv", (const uint8_t *)labels, n_labels)));
    fuzz_must(gnn_partition_new(&partition, data,
                                &(gnn_partition_config_t){.parts = 2, .method = "range"}));
    fuzz_must(gnn_partition_write(partition, data, folder));
    gnn_partition_free(partition);
    gnn_data_free(data);
    for (int k = 0; k < FUZZ_FILES; k++)
        free(fuzz_memory[k].data);
    memset(fuzz_memory, 0, sizeof fuzz_memory);
}

static void read_folder(void)
{
    char folder[] = "/tmp/gnn-fuzz-XXXXXX", path[512];
    struct dirent *entry;
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/p", folder);
    write_folder(path);
    read_one(path, GNN__FOLDER_HEADER);
    DIR *list = opendir(path);
    while (list && (entry = readdir(list)))
        if (strstr(entry->d_name, ".npy"))
            read_one(path, entry->d_name);
    closedir(list);
    rmdir(path);
    rmdir(folder);
    for (int k = 1; k < n_files; k++)
        put(&files[k]);
}

/* ---- changes ---- */

static int draw_16(fuzz_bytes_t *b)
{
    const int high = fuzz_draw(b, 256);
    return high * 256 + fuzz_draw(b, 256);
}

/* An element, or a byte of the description. */
static void change(file_t *f, fuzz_bytes_t *b)
{
    static const int64_t values[] = {-1, 0, 1, 2, 511, 512, NODES, INT32_MAX, INT64_MAX, INT64_MIN};
    const size_t at = (size_t)draw_16(b), from = f->size > FIELDS ? FIELDS : 0;
    if (fuzz_draw(b, 8) == 7 || f->size - from < sizeof(int64_t)) {
        f->data[at % f->size] = (uint8_t)fuzz_draw(b, 256);
        return;
    }
    const int width = fuzz_draw(b, 2) ? 8 : 4;
    const int64_t value = values[fuzz_draw(b, sizeof values / sizeof *values)];
    const size_t count = (f->size - from) / (size_t)width;
    memcpy(f->data + from + at % count * (size_t)width, &value, (size_t)width);
}

static const fuzz_memory_t *file_of(const char *key)
{
    char path[128];
    snprintf(path, sizeof path, FUZZ_ROOT "folder/%.50s.npy", key);
    return fuzz_memory_find(path);
}

/* The sums of a header that is JSON. */
static void sign(file_t *header)
{
    json_t *root = json_loadb((const char *)header->data, header->size, 0, NULL), *entry;
    const char *key;
    char sum[20];
    json_object_foreach(json_object_get(root, "arrays"), key, entry)
    {
        const fuzz_memory_t *f = file_of(key);
        if (!f || f->size < FIELDS || !json_is_object(entry))
            continue;
        const size_t bytes = f->size - FIELDS;
        gnn__folder_sum_text(
            sum, gnn__hash_words(gnn__hash_start(GNN__HASH_START, bytes), f->data + FIELDS, bytes));
        json_object_set_new(entry, "checksum", json_string(sum));
    }
    if (json_is_object(root) && gnn__folder_checksum(sum, root) == GNN_OK) {
        json_object_set_new(root, "checksum", json_string(sum));
        const size_t n = json_dumpb(root, (char *)header->data, LONGEST, JSON_COMPACT);
        header->size = n <= LONGEST ? n : header->size;
    }
    json_decref(root);
}

/* ---- use ---- */

static void check_words(int rc)
{
    if (rc != GNN_OK && !*gnn_error_message())
        abort();
}

static void read_rows(const gnn_partition_folder_t *folder)
{
    const gnn_partition_folder_sizes_t sizes = gnn_partition_folder_sizes(folder);
    gnn_partition_folder_rows_t rows;
    int64_t book[4];
    volatile double sum = 0;
    check_words(gnn_partition_folder_book(folder, 3, book));
    const int rc = gnn_partition_folder_rows(folder, 0, sizes.nodes, &rows);
    check_words(rc);
    if (rc != GNN_OK)
        return;
    for (int64_t r = 0; r < sizes.nodes; r++) {
        for (int64_t k = rows.indptr[r]; k < rows.indptr[r + 1]; k++)
            if (rows.indices[k] < 0 || rows.indices[k] >= sizes.nodes)
                abort();
        sum = sum + rows.labels[r] + rows.train[r] + rows.validation[r] + rows.test[r];
        for (int64_t c = 0; rows.x.data && c < rows.x.cols; c++)
            sum = sum + (double)rows.x.data[r * rows.x.stride + c];
    }
}

static gnn_context_t *ranks(void)
{
    static gnn_context_t *context;
    gnn_transport_t *one;
    if (context)
        return context;
    fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    fuzz_must(gnn_transport_threads(&one, 1, 0));
    fuzz_must(gnn_context_set_ranks(context, one));
    return context;
}

/* As a folder, as the set of one rank, or as a whole set: each maps all arrays, which takes most of
 * the time. */
static void open_one(const char *path, int as)
{
    gnn_partition_folder_t *folder = NULL;
    gnn_data_t *data = NULL;
    if (as == 0) {
        const int opened = gnn_data_open(&data, path);
        fuzz_set(opened, data);
        return;
    }
    const int rc = as == 1 ? gnn_data_open_rank(&data, ranks(), path)
                           : gnn_partition_folder_open(&folder, path, as == 2);
    check_words(rc);
    if ((rc == GNN_OK) != (folder || data))
        abort();
    if (folder)
        read_rows(folder);
    gnn_partition_folder_free(folder);
    gnn_data_free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static file_t one, header;
    fuzz_bytes_t b = {data, size};
    int changed[MOST_CHANGES];
    if (n_files == 0)
        read_folder();
    const int as = fuzz_draw(&b, 4), edits = fuzz_draw(&b, 4), changes = fuzz_draw(&b, MOST_CHANGES);
    const bool is_signed = fuzz_draw(&b, 16) < 15;
    header = files[0];
    for (int k = 0; k < edits; k++) {
        uint32_t state = (uint32_t)draw_16(&b);
        header.size = fuzz_json_once(header.data, header.size, HEADER, &state);
    }
    for (int k = 0; k < changes; k++) {
        changed[k] = 1 + fuzz_draw(&b, n_files - 1);
        one = files[changed[k]];
        change(&one, &b);
        put(&one);
    }
    if (is_signed && changes + edits > 0)
        sign(&header);
    char path[128];
    snprintf(path, sizeof path, "%s", put(&header));
    *strrchr(path, '/') = '\0';
    open_one(path, as);
    for (int k = 0; k < changes; k++)
        put(&files[changed[k]]);
    return 0;
}
