/* Estimate of the memory of a training run: its batches are made as in training, and the tape of
 * each is planned but not run. */
#include <gnn/memory.h>
#include <graphs/graph.h>
#include <lib/tape/tape.h>
#include <lib/train/train.h>

enum { MOST_BATCHES = 4 };

/* Arguments and results of an estimate. */
typedef struct {
    const gnn_model_t *model;
    gnn_context_t *context;
    const gnn_data_t *data;
    const gnn_train_config_t *config;
    gnn_train_memory_t *memory;
    size_t scratch;
} question_t;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes of values on the tape of a batch; adds the maximum scratch of an op to q->scratch. */
static int step_bytes(question_t *q, const gnn_batch_t *batch, int training, size_t *bytes)
{
    gnn_tape_t *tape;
    size_t scratch = 0;
    GNN_TRY(gnn_tape_new(&tape, q->context));
    gnn_tape_reset(tape, training, training);
    const gnn_var_t logits = gnn_model_record(q->model, tape, &batch->inputs, NULL),
                    loss = gnn_tape_loss(tape, logits, &batch->loss);
    gnn_tape_keep(tape, logits);
    gnn_tape_keep(tape, loss);
    int rc = gnn_tape_status(tape);
    if (rc == GNN_OK)
        rc = gnn__tape_size(tape, bytes, &scratch);
    q->scratch = larger(q->scratch, scratch);
    gnn_tape_free(tape);
    return rc;
}

/* Bytes of the gathered rows of a batch and of its graphs. */
static size_t batch_bytes(const gnn_batch_t *batch)
{
    size_t bytes = 0;
    for (int64_t v = 0; v < batch->inputs.n_values; v++) {
        const gnn_named_t *value = &batch->inputs.values[v];
        if (value->dense)
            bytes += (size_t)(value->dense->rows * value->dense->cols) * sizeof(gnn_real_t);
        if (value->sparse)
            bytes += (size_t)(value->sparse->rows + 1) * sizeof(int64_t) +
                     (size_t)value->sparse->indptr[value->sparse->rows] *
                         (sizeof(int32_t) + sizeof(gnn_real_t));
        bytes += value->ids ? (size_t)value->count * sizeof *value->ids : 0;
    }
    for (int64_t g = 0; g < batch->inputs.n_graphs; g++)
        if (g == 0 || batch->inputs.graphs[g] != batch->inputs.graphs[g - 1])
            bytes += gnn__graph_bytes(batch->inputs.graphs[g], false);
    return bytes;
}

static int measure_part(question_t *q, const gnn_source_t *source, int part, size_t *values)
{
    const int64_t most = gnn__min(source->count[part], MOST_BATCHES);
    for (int64_t k = 0; k < most; k++) {
        gnn_batch_t batch = {0};
        size_t bytes = 0;
        GNN_TRY(source->get(source->user, part, 1, k, &batch));
        GNN_TRY(step_bytes(q, &batch, part == GNN_TRAIN, &bytes));
        *values = larger(*values, bytes);
        /* With dropped edges there is a second graph, with samples there are two batches. */
        if (q->config->sampling || q->config->drop_edge != 0 || q->config->drop_node != 0)
            q->memory->batches =
                larger(q->memory->batches, batch_bytes(&batch) * (q->config->sampling ? 2 : 1));
    }
    return GNN_OK;
}

/* State of the optimiser and copies, in blocks of the length of the weights. */
static int64_t blocks_of(const gnn_optimizer_config_t *optimizer)
{
    switch (optimizer->kind) {
    case GNN_SGD: return optimizer->momentum != 0 ? 1 : 0;
    case GNN_RMSPROP: return 1;
    default: return 2;
    }
}

static int measure_weights(question_t *q)
{
    gnn__best_t best = {0};
    int64_t length = 0;
    gnn_parameters_block(gnn_model_parameters(q->model), 0, &length);
    GNN_TRY(gnn__best_open(&best, q->model));
    q->memory->weights =
        (size_t)(length * (1 + blocks_of(&q->config->optimizer)) + gnn__best_count(&best)) *
        sizeof(gnn_real_t);
    gnn__best_close(&best);
    return GNN_OK;
}

/* Bytes of views of the model's graphs. */
static int measure_views(question_t *q)
{
    gnn__training_set_t set;
    const int rc = gnn__training_set_open(&set, q->model, q->data, NULL);
    for (int slot = 0; rc == GNN_OK && slot < (set.several ? set.n_slots : 1); slot++)
        q->memory->views += gnn__graph_bytes(set.several ? set.graphs[slot] : set.graph, true);
    gnn__training_set_close(&set);
    return rc;
}

static int measure(question_t *q, const gnn_source_t *source)
{
    gnn_train_memory_t *m = q->memory;
    size_t train = 0, validate = 0;
    GNN_TRY(measure_part(q, source, GNN_TRAIN, &train));
    GNN_TRY(measure_part(q, source, GNN_VALIDATION, &validate));
    GNN_TRY(measure_weights(q));
    m->activations = train + validate + q->scratch;
    if (!q->config->sampling)
        GNN_TRY(measure_views(q));
    m->total = m->weights + m->activations + m->views + m->batches;
    return GNN_OK;
}

int gnn_train_memory(const gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                     const gnn_train_config_t *config, gnn_train_memory_t *memory)
{
    gnn_train_config_t own = config ? *config : (gnn_train_config_t){0};
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    GNN__NEED(memory);
    gnn_train_memory_t found = {0};
    question_t q = {
        .model = model, .context = context, .data = data, .config = &own, .memory = &found};
    gnn_source_t *source;
    GNN_TRY(gnn__batches_of_data(&source, model, context, data, &own));
    const int rc = measure(&q, source);
    gnn_source_free(source);
    if (rc == GNN_OK)
        *memory = found;
    return rc;
}
