/* What a model keeps while it goes on row by row. Values are numbered as gnn__model_step_t.in does:
 * steps, then inputs. */
#ifndef GNN_LIB_MODEL_STATE_H
#define GNN_LIB_MODEL_STATE_H

#include <lib/model/steps.h>

/* How a graph slot comes to its graph. */
typedef enum {
    GNN__SLOT_UNUSED,
    GNN__SLOT_FIXED, /* by the caller of gnn_state_new, for steps that do not grow */
    GNN__SLOT_GROWS, /* rows hear earlier rows */
    GNN__SLOT_ACROSS /* rows hear fixed rows */
} gnn__slot_kind_t;

typedef struct gnn__slot {
    gnn__slot_kind_t kind;
    int64_t window;
    int64_t *lengths; /* ACROSS: (segments or more) senders */
} gnn__slot_t;

struct gnn_state {
    const gnn_model_t *model;
    int64_t segments, capacity;
    int64_t room;     /* sequences that there is memory for, at least `segments` */
    int64_t *lengths; /* (room) rows so far */
    int64_t *origin;  /* (room) which of the first sequences' fixed rows each hears */
    gnn__slot_t *slots;
    bool *grows; /* by value */
    /* By value: what is fixed and read by steps that grow; data NULL elsewhere. */
    gnn_tensor_t *saved;
    /* By step: what its senders have sent; of growing ones segments * capacity rows, in memory for
     * room * capacity. */
    gnn_tensor_t (*sent)[GNN__SENT];
    const gnn_graph_t **graphs; /* by slot, while it runs */
};

/* Do the senders of a step that hears grow? */
bool gnn__state_senders_grow(const gnn_state_t *state, const gnn__model_step_t *s);
/* Which steps grow, whether they can, and how their slots get their graphs. */
int gnn__state_classify(gnn_state_t *state, const gnn_state_config_t *config);
/* Room for rows x cols; the numbers are zero. */
int gnn__state_tensor(gnn_tensor_t *tensor, int64_t rows, int64_t cols);

#endif
