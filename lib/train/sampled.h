/* Internals of sampled batches: one batch, and the state shared by all. */
#ifndef GNN_TRAIN_SAMPLED_H
#define GNN_TRAIN_SAMPLED_H

#include <graphs/sample/sample.h>
#include <lib/model/part_rows.h>
#include <lib/train/train.h>

/* The key of a batch: training epochs count from 1, validation is always epoch 0. */
typedef struct gnn__batch_key {
    int part;
    int64_t epoch, index;
} gnn__batch_key_t;

/* One batch, whose memory is reused. */
typedef struct gnn__filled {
    gnn__batch_key_t key;
    bool there; /* holds the batch of `key`, or the error rc */
    int rc;
    char message[400];
    gnn_sample_t *sample;
    int32_t *seeds;             /* (batch) */
    const gnn_graph_t **graphs; /* by slot of the model */
    gnn_named_t *values;
    gnn__part_rows_t *rows; /* of each value */
    gnn_tensor_t *scales;   /* of each value: edge scales alone if the set has no weights */
    int64_t n_values;
    int32_t *labels;
    uint8_t *mask;
    gnn_real_t *numbers; /* of the targets */
    gnn_tensor_t targets;
    int64_t labels_room, mask_room, numbers_room;
    gnn_batch_t batch;
} gnn__filled_t;

/* An input of the model from the set. */
typedef struct gnn__sampled_input {
    gnn__data_input_t of_set;
    bool weighs; /* the edge array that edge scales multiply */
} gnn__sampled_input_t;

typedef struct gnn__sampled_source {
    gnn__source_state_t base;
    const gnn_model_t *model;
    gnn_context_t *context;
    gnn__training_set_t set;
    gnn_train_config_t config;
    int64_t batch; /* seeds of one */
    gnn_sampler_t *sampler;
    gnn__sampled_input_t *inputs; /* that the model reads */
    int64_t n_inputs;
    const int32_t *seeds[2]; /* of training and validation */
    int32_t *own_seeds[2];
    int64_t n_seeds[2];
    int32_t *order; /* order of training seeds in epoch `ordered` */
    int64_t ordered;
    gnn__filled_t filled[2];
    int current;           /* the batch returned last */
    gnn__worker_t *worker; /* prefetches the other batch; may be NULL */
} gnn__sampled_source_t;

/* ---- sampled_fill.c ---- */

int gnn__filled_open(gnn__filled_t *filled, const gnn__sampled_source_t *batches);
void gnn__filled_close(gnn__filled_t *filled);
/* Draws and gathers the batch of filled->key; `context` NULL: the calling thread alone. */
void gnn__filled_fill(gnn__filled_t *filled, gnn__sampled_source_t *batches, gnn_context_t *context);

#endif
