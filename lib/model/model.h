/* The inside of a model: steps with their inputs, one block of parameters, and the names of fields
 * and buffers. The kinds of steps are in steps.h. */
#ifndef GNN_LIB_MODEL_MODEL_H
#define GNN_LIB_MODEL_MODEL_H

#include <gnn/model.h>
#include <lib/base/name_index.h>
#include <lib/layer/layer.h>

enum {
    GNN__STEP_INPUTS = 12, /* most inputs of a kind, with those of scores */
    GNN__NOT_READ = -1     /* in gnn__model_step_t.in: not given */
};

/* Incremental decoding of a step. */
typedef enum {
    GNN__NOT_INCREMENTAL, /* it cannot */
    GNN__ROW_BY_ROW,      /* an output row depends on the same row of the inputs alone */
    GNN__NEEDS_CACHE      /* an output row depends on other rows, whose projections a state keeps */
} gnn__incremental_t;

typedef struct gnn__step_parameter {
    char field[GNN__NAME]; /* "weight" */
    int32_t id;
    bool shared; /* with an earlier step, under which it is listed */
} gnn__step_parameter_t;

typedef struct {
    gnn_step_t step; /* owns its strings; config resolved */
    const struct gnn__step_row *row;
    const char *name;           /* the step's: "0", or that of the program */
    char *where;                /* "layer 0" or "step decoder", for messages */
    gnn_layer_t *layer;         /* NULL for ops */
    gnn__step_parameter_t *own; /* (n_own) parameters of an op */
    int n_own;
    bool transposed; /* the first of them is used transposed */
    bool uses_graph; /* the graph of slot step.graph must be given */
    gnn__incremental_t incremental;
    gnn_real_t *running;          /* statistics of a batch norm op: (2 x in); else NULL */
    int64_t in[GNN__STEP_INPUTS]; /* per input of the kind: a step, n_steps + k for input k
                                     of the model, or GNN__NOT_READ */
    int64_t width;                /* columns of the output; -1: not known before it runs */
    int64_t *body; /* (n_body) of a loop: the earlier steps that it runs again; NULL: none */
    int64_t n_body;
} gnn__model_step_t;

typedef struct {
    char *name; /* "STEP.FIELD" */
    int64_t step;
    const char *field; /* of its layer; NULL: the op's parameter `id` */
    int32_t id;
} gnn__model_field_t;

typedef struct {
    char *name;
    gnn_tensor_t value;
} gnn__model_buffer_t;

/* The declared graph of a slot: an entry of the table in slots.c. */
typedef struct gnn__slot_graph {
    const struct gnn__slot_kind *row;
    char *source; /* NULL: none */
    int64_t number;
    const gnn_topology_t *topology; /* of the entry of topologies; NULL: another */
} gnn__slot_graph_t;

struct gnn_model {
    gnn__model_step_t *steps;
    int64_t n_steps, n_made;     /* n_made: steps that are complete, while a model is made */
    gnn__name_index_t step_ids;  /* of complete steps */
    gnn__name_index_t input_ids; /* index in .inputs */
    bool declares_inputs;        /* a step declares one: there are no others */
    const char **inputs; /* (n_inputs) names that are not names of steps; strings of steps */
    int64_t n_inputs;
    /* values that the model's file holds; -1: there is no file, and parameters are drawn */
    int64_t most;
    gnn_parameters_t *parameters;
    gnn__model_field_t *fields;
    int64_t n_fields;
    gnn__name_index_t field_ids; /* of two fields of one name, that of the first */
    gnn__model_buffer_t *buffers;
    int64_t n_buffers;
    int n_graphs;
    gnn__slot_graph_t *slots; /* (n_slots) NULL: not declared */
    int64_t n_slots;
    char *note; /* of gnn_model_set_note; NULL: none */
    /* (n_segments - 1) first steps of the segments of gnn_model_set_recompute, but for the first */
    int64_t *borders;
    int64_t n_segments; /* 0: none */
};

/* Options of recording a model. */
typedef struct gnn__record_how {
    int64_t last;              /* the step whose value is returned */
    bool all;                  /* records every step up to it; else those that it needs */
    gnn__hop_extras_t extras;  /* of the last step: output of its attention weights */
    const gnn_graph_t *masked; /* messages of all hops over this graph are multiplied by .edge_mask,
                                  in any slot; NULL: none */
    gnn_var_t edge_mask;       /* (edges of it x 1), by edge id */
} gnn__record_how_t;
/* Records steps and returns the value of the last. `vars` (n_values) and `outputs` (n_steps;
 * GNN_NONE where a step was not needed) may be NULL. */
gnn_var_t gnn__model_record_to(const gnn_model_t *model, gnn_tape_t *tape,
                               const gnn_model_inputs_t *inputs, gnn_var_t *vars,
                               gnn_var_t *outputs, const gnn__record_how_t *how);
/* Marks the steps that step `last` needs. */
void gnn__model_needs(const gnn_model_t *model, int64_t last, bool *needed);
int gnn__model_name_fields(gnn_model_t *model);
/* GNN_EINVALID with the name of a field that is set and that this kind of step does not read. */
int gnn__step_check_unread(const gnn_step_t *step);
/* As gnn_model_from_steps, for steps of this library: fields that a kind does not read may have a
 * value. GNN_ESHAPE before anything large is allocated if there are over `most` parameters (-1:
 * any). */
int gnn__model_make(gnn_model_t **model, gnn_context_t *context, int64_t count,
                    const gnn_step_t *steps, int64_t most);
/* The same without memory of parameters, whose values have no data until it is allocated: for
 * comparisons of shapes. */
int gnn__model_outline(gnn_model_t **model, gnn_context_t *context, int64_t count,
                       const gnn_step_t *steps, int64_t most);
int gnn__model_allocate(gnn_model_t *model, gnn_context_t *context);
/* The step's own parameter of a field; NULL: none. */
const gnn__step_parameter_t *gnn__step_own(const gnn__model_step_t *s, const char *field);
/* The values of a field: all rows and some columns of a parameter. GNN_ENOTFOUND. */
typedef struct gnn__field_place {
    int32_t id;
    int64_t col, cols;
    gnn_step_kind_t kind; /* of its step */
} gnn__field_place_t;
int gnn__model_field_place(const gnn_model_t *model, const char *name, gnn__field_place_t *place);
/* Allocates slots; gnn__model_set_slot declares them, and copies the string. GNN_EFORMAT with the
 * list of kinds. */
int gnn__model_new_slots(gnn_model_t *model, int64_t count);
int gnn__model_set_slot(gnn_model_t *model, int64_t slot, const char *kind, const char *source,
                        int64_t number);
void gnn__model_free_slots(gnn_model_t *model);
/* Resolves the inputs of the newest step, and finds its width; GNN_ESHAPE if widths do not fit. */
int gnn__model_connect(gnn_model_t *model, gnn__model_step_t *s);

/* gnn_predict_layers of any inputs, whose graphs have one part of edges and need no preparation.
 * rows_at_once 0: 16,384 rows. */
int gnn__model_infer_layers(const gnn_model_t *model, gnn_context_t *context,
                            const gnn_model_inputs_t *inputs, int64_t rows_at_once,
                            const gnn_tensor_t *out);

/* Count of the steps that a staged run has computed so far, for tests. */
int64_t gnn__staged_steps(const gnn_staged_t *run);

#endif
