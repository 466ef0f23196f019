/* Inside of a model: steps with what they read, one parameter block for all, and the names that
 * everything is known by. steps.h says what a kind of step is. */
#ifndef GNN_LIB_MODEL_MODEL_H
#define GNN_LIB_MODEL_MODEL_H

#include <gnn/model.h>
#include <lib/layer/layer.h>

enum {
    GNN__STEP_INPUTS = 12, /* that a kind of step may have */
    GNN__NOT_READ = -1     /* of gnn__model_step_t.in */
};

/* How a step takes rows that are appended. */
typedef enum {
    GNN__GROWS_NOT,    /* it cannot */
    GNN__GROWS_BY_ROW, /* a row that goes out depends on that row of what comes in */
    GNN__GROWS_HEARS   /* a row hears others, whose messages a state keeps */
} gnn__growth_t;

typedef struct gnn__step_parameter {
    char field[GNN__NAME]; /* "weight" */
    int32_t id;
    bool shared; /* with an earlier step, which lists it */
} gnn__step_parameter_t;

typedef struct {
    gnn_step_t step; /* strings are the model's own */
    const struct gnn__step_row *row;
    const char *name;           /* the step's: "0", or that of the program */
    char *where;                /* "layer 0" or "step decoder", for messages */
    gnn_layer_t *layer;         /* NULL for ops */
    gnn__step_parameter_t *own; /* of an op */
    int n_own;
    bool turned;     /* the first of them is read transposed */
    bool uses_graph; /* the graph of .graph must be given */
    gnn__growth_t growth;
    gnn_real_t *running;          /* of a batch norm op: (2 x in) */
    int64_t in[GNN__STEP_INPUTS]; /* by the row's list: the step that is read, n_steps + k for input
                                     k of the model, or GNN__NOT_READ */
    int64_t width;                /* columns that go out; -1: not known before it runs */
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

/* What the graph of a slot is made of: a row of the table in slots.c. */
typedef struct gnn__slot_graph {
    const struct gnn__slot_row *row;
    char *source; /* NULL: none */
    int64_t number;
} gnn__slot_graph_t;

struct gnn_model {
    gnn__model_step_t *steps;
    int64_t n_steps, n_made; /* n_made: steps that are there already, while a model is made */
    const char **inputs;     /* names that no step has; the strings are those of steps */
    int64_t n_inputs;
    int64_t most; /* numbers that running statistics may have while a model is made; -1: any, and
                     parameters are drawn: nothing will fill them */
    gnn_parameters_t *parameters;
    gnn__model_field_t *fields;
    int64_t n_fields;
    gnn__model_buffer_t *buffers;
    int64_t n_buffers;
    int n_graphs;
    gnn__slot_graph_t *slots; /* NULL: no file said what they are */
    int64_t n_slots;
};

/* What of a model is recorded, and what is asked besides. */
typedef struct gnn__record_how {
    int64_t last;              /* the step whose value is wanted */
    bool all;                  /* every step up to it; else those that it needs */
    gnn__hop_extras_t extras;  /* of the last one: where its attention goes */
    const gnn_graph_t *masked; /* messages of all hops over this graph are multiplied by .edge_mask,
                                  whichever slots it is in; NULL: none are */
    gnn_var_t edge_mask;       /* (edges of it x 1), by its edge numbers */
} gnn__record_how_t;
/* Records steps and returns the value of the last. `vars` (n_values) and `outputs` (n_steps;
 * GNN_NONE where a step was not needed) may be NULL. */
gnn_var_t gnn__model_record_to(const gnn_model_t *model, gnn_tape_t *tape,
                               const gnn_model_inputs_t *inputs, gnn_var_t *vars,
                               gnn_var_t *outputs, const gnn__record_how_t *how);
/* Marks the steps that step `last` needs. */
void gnn__model_needs(const gnn_model_t *model, int64_t last, bool *needed);
int gnn__model_name_fields(gnn_model_t *model);
/* A program's step, whose struct and config may be shorter or longer than this library's.
 * GNN_EUNSUPPORTED if it sets what the library does not know. */
int gnn__step_take(gnn_step_t *full, const gnn_step_t *step, size_t size, size_t config_size);
/* GNN_EINVALID with the name of a field that has a value, and that this kind of step does not
 * read. */
int gnn__step_check_unread(const gnn_step_t *step);
/* As gnn_model_from_steps, for steps of this library: fields that a kind does not read may have a
 * value. GNN_ESHAPE before anything large is allocated if there are over `most` parameters (-1:
 * any). */
int gnn__model_make(gnn_model_t **model, gnn_context_t *context, int64_t count,
                    const gnn_step_t *steps, int64_t most);
/* The step's own parameter of this field; NULL: it has none. */
const gnn__step_parameter_t *gnn__step_own(const gnn__model_step_t *s, const char *field);
/* Where the numbers of a field lie: all rows and some columns of a parameter. GNN_ENOTFOUND. `kind`
 * is that of its step. */
typedef struct gnn__field_place {
    int32_t id;
    int64_t col, cols;
    gnn_step_kind_t kind;
} gnn__field_place_t;
int gnn__model_field_place(const gnn_model_t *model, const char *name, gnn__field_place_t *place);
/* Room for as many slots; gnn__model_set_slot fills them, and copies the string. GNN_EFORMAT with
 * the words that there are. */
int gnn__model_new_slots(gnn_model_t *model, int64_t count);
int gnn__model_set_slot(gnn_model_t *model, int64_t slot, const char *kind, const char *source,
                        int64_t number);
void gnn__model_free_slots(gnn_model_t *model);
/* Finds whom the inputs of the newest step name, and the width of what goes out; GNN_ESHAPE where
 * widths do not fit. */
int gnn__model_connect(gnn_model_t *model, gnn__model_step_t *s);

#endif
