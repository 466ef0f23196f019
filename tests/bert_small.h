/* A folder with a tiny BERT, which the suites of pretrained models damage. */
#ifndef GNN_TESTS_BERT_SMALL_H
#define GNN_TESTS_BERT_SMALL_H

#include "io_bytes.h"

#include <gnn/pretrained.h>

/* ---- a small BERT ---- */

enum { WORDS = 11, WIDTH = 8, INNER = 12, PLACES = 9, LAYERS = 2, MOST = 64 };

#define CONFIG_BUT(type, width, heads, layers)                                               \
    "{\"model_type\": " type ", \"hidden_size\": " width ", \"num_attention_heads\": " heads \
    ", \"num_hidden_layers\": " layers ", \"vocab_size\": 11, \"intermediate_size\": 12, "   \
    "\"max_position_embeddings\": 9, \"type_vocab_size\": 2, \"layer_norm_eps\": 1e-12, "    \
    "\"hidden_act\": \"gelu\", \"id2label\": {\"0\": \"bad\", \"1\": \"good\"}}"
#define CONFIG CONFIG_BUT("\"bert\"", "8", "2", "2")

typedef struct bert {
    gnn_array_t arrays[MOST];
    char names[MOST][96];
    float numbers[MOST][WIDTH * INNER + 32];
    unsigned short halves[MOST][WIDTH * INNER + 32];
    int64_t n;
} bert_t;

static bert_t bert; /* as the suite's folder holds it */

/* Multiples of 1/16 below 4: exact in 16 bits of either kind. */
static inline void add(const char *name, int64_t rows, int64_t cols)
{
    const int64_t k = bert.n++, count = rows * (cols ? cols : 1);
    uint64_t seed = (uint64_t)k + 1;
    ck_assert_int_lt(k, MOST);
    ck_assert_int_le(count, (int64_t)(sizeof bert.numbers[k] / sizeof(float)));
    snprintf(bert.names[k], sizeof bert.names[k], "%s", name);
    for (int64_t i = 0; i < count; i++)
        bert.numbers[k][i] = (float)(test_below(&seed, 17) - 8) / 16;
    bert.arrays[k] = (gnn_array_t){.name = bert.names[k],
                                   .dtype = GNN_DTYPE_FLOAT32,
                                   .ndim = cols ? 2 : 1,
                                   .shape = {rows, cols},
                                   .count = count,
                                   .data = bert.numbers[k]};
}

static inline void add_both(const char *prefix, const char *name, int64_t out, int64_t in)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(full, out, in);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    add(full, out, 0);
}

static inline void make_bert(void)
{
    bert.n = 0;
    add("embeddings.word_embeddings.weight", WORDS, WIDTH);
    add("embeddings.position_embeddings.weight", PLACES, WIDTH);
    add("embeddings.token_type_embeddings.weight", 2, WIDTH);
    add_both("embeddings.", "LayerNorm", WIDTH, 0);
    for (int k = 0; k < LAYERS; k++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "encoder.layer.%d.", k);
        add_both(prefix, "attention.self.query", WIDTH, WIDTH);
        add_both(prefix, "attention.self.key", WIDTH, WIDTH);
        add_both(prefix, "attention.self.value", WIDTH, WIDTH);
        add_both(prefix, "attention.output.dense", WIDTH, WIDTH);
        add_both(prefix, "attention.output.LayerNorm", WIDTH, 0);
        add_both(prefix, "intermediate.dense", INNER, WIDTH);
        add_both(prefix, "output.dense", WIDTH, INNER);
        add_both(prefix, "output.LayerNorm", WIDTH, 0);
    }
}

static inline int64_t find(const char *name)
{
    for (int64_t k = 0; k < bert.n; k++)
        if (strcmp(bert.names[k], name) == 0)
            return k;
    ck_abort_msg("no array %s", name);
    return -1;
}

static inline void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static inline void write_weights(void)
{
    ck_ok(gnn_safetensors_write(in_folder("model.safetensors"), bert.n, bert.arrays, 0, NULL));
}

static inline void write_all(void)
{
    make_bert();
    write_text("config.json", CONFIG);
    write_weights();
    remove(in_folder("model.safetensors.index.json"));
    remove(in_folder("modules.json"));
}

/* ---- what it computes ---- */

static const int64_t lengths[] = {4, 1, 0, 3};
static const int32_t ids[] = {1, 2, 3, 4, 10, 5, 6, 7};
enum { ROWS = 8 };

/* A step's value for those sentences (rows x cols). */
static inline int value_of(const char *name, int64_t rows, int64_t cols, gnn_real_t *out)
{
    gnn_context_t *context = NULL;
    gnn_pretrained_t *p = NULL;
    gnn_pretrained_batch_t *batch = NULL;
    const gnn_tensor_t y = gnn_tensor(out, rows, cols);
    int rc = gnn_context_new(&context, NULL);
    rc = rc == GNN_OK ? gnn_pretrained_open(&p, context, test_folder) : rc;
    rc = rc == GNN_OK
             ? gnn_pretrained_batch_new(
                   &batch, p, &(gnn_sequences_t){.count = 4, .lengths = lengths, .ids = ids})
             : rc;
    rc = rc == GNN_OK ? gnn_model_value(gnn_pretrained_model(p), context,
                                        gnn_pretrained_batch_inputs(batch), name, &y)
                      : rc;
    gnn_pretrained_batch_free(batch);
    gnn_pretrained_free(p);
    gnn_context_free(context);
    return rc;
}

static inline int run(gnn_real_t out[ROWS * WIDTH])
{
    return value_of("hidden", ROWS, WIDTH, out);
}

static inline void ck_same(const gnn_real_t *expected)
{
    gnn_real_t out[ROWS * WIDTH];
    ck_ok(run(out));
    ck_assert_mem_eq(out, expected, sizeof out);
}

#endif
