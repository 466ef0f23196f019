/* The state of incremental decoding: the KV cache of a model. Values are indexed as in
 * gnn__model_step_t.in: steps, then inputs. */
#ifndef GNN_LIB_MODEL_STATE_H
#define GNN_LIB_MODEL_STATE_H

#include <lib/model/steps.h>

/* The graph of a slot. */
typedef enum {
    GNN__SLOT_UNUSED,
    GNN__SLOT_FIXED, /* given to gnn_state_new, for steps that do not grow */
    GNN__SLOT_GROWS, /* made per call: rows attend to earlier rows */
    GNN__SLOT_ACROSS /* made per call: rows attend to fixed rows */
} gnn__slot_kind_t;

typedef struct gnn__slot {
    gnn__slot_kind_t kind;
    int64_t window;   /* GROWS: earlier rows that a row attends to; 0: all */
    int64_t *lengths; /* ACROSS: (segments or more) counts of senders */
} gnn__slot_t;

struct gnn_state {
    const gnn_model_t *model;
    int64_t segments, capacity;
    int64_t room;     /* sequences that memory is allocated for, at least `segments` */
    int64_t *lengths; /* (room) counts of rows */
    int64_t *origin;  /* (room) index of the first sequence whose fixed rows it attends to */
    gnn__slot_t *slots;
    bool *grows; /* by value */
    /* by value: fixed values that growing steps read; data NULL for others */
    gnn_tensor_t *saved;
    /* by step: projected rows of its senders (gnn__step_row_t.send); of growing ones segments *
     * capacity rows, in memory for room * capacity */
    gnn_tensor_t (*sent)[GNN__SENT];
    /* by step: linear attention, which keeps the sums over earlier rows, a row per sequence in
     * sent[0], in place of the rows */
    bool *linear;
    const gnn_graph_t **graphs; /* by slot, during a call */
    const gnn_graph_t **fresh;  /* by slot: the new rows alone, for steps that keep sums */
};

/* True if the senders of a step with a cache grow. */
bool gnn__state_senders_grow(const gnn_state_t *state, const gnn__model_step_t *s);
/* Finds the steps that grow, checks that they can, and chooses the graphs of their slots. */
int gnn__state_classify(gnn_state_t *state, const gnn_state_config_t *config);
/* Rows that a store of step k keeps per sequence. */
static inline int64_t gnn__state_rows(const gnn_state_t *state, int64_t k)
{
    return state->linear[k] ? 1 : state->capacity;
}

/* Allocates rows x cols zeros. */
int gnn__state_tensor(gnn_tensor_t *tensor, int64_t rows, int64_t cols);

#endif
