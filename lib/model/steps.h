/* The table of the kinds of steps. An entry has the inputs that a kind names, and its functions to
 * make, prepare and run a step. Its constant is in one of the files of steps/, and steps.def lists
 * it. */
#ifndef GNN_LIB_MODEL_STEPS_H
#define GNN_LIB_MODEL_STEPS_H

#include <lib/model/model.h>
#include <stddef.h>

/* An input that is named in a field of gnn_step_t. */
typedef struct gnn__step_input {
    const char *name; /* of the field, for messages */
    size_t offset;    /* of the field */
    bool needed;      /* the field must not be NULL */
    bool declared;    /* the field declares an input of the model */
} gnn__step_input_t;

/* clang-format off */
#define GNN__INPUT(field) {#field, offsetof(gnn_step_t, field), false, false}
#define GNN__NEEDED(field) {#field, offsetof(gnn_step_t, field), true, false}
/* clang-format on */
/* inputs[0] NULL means the previous step's output. Lists of up to eight: all may be NULL, or at
 * least two are needed. */
#define GNN__OTHERS                                                                             \
    GNN__INPUT(inputs[2]), GNN__INPUT(inputs[3]), GNN__INPUT(inputs[4]), GNN__INPUT(inputs[5]), \
        GNN__INPUT(inputs[6]), GNN__INPUT(inputs[7])
#define GNN__MANY_INPUTS GNN__INPUT(inputs[0]), GNN__INPUT(inputs[1]), GNN__OTHERS
#define GNN__MANY_NEEDED GNN__INPUT(inputs[0]), GNN__NEEDED(inputs[1]), GNN__OTHERS

/* Fields that a kind of step reads, by offset: GNN__READS(GNN__AT(in), GNN__AT(out)). */
typedef struct gnn__offsets {
    const size_t *at;
    size_t count;
} gnn__offsets_t;

/* clang-format off */
#define GNN__READS(...) \
    {(const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t)}
#define GNN__AT(field) offsetof(gnn_step_t, field)
#define GNN__CONFIG_AT(field) offsetof(gnn_layer_config_t, field)
/* clang-format on */

/* Additional inputs of scores: the last inputs of steps with attention. */
#define GNN__SCORE_INPUTS                                                                    \
    GNN__INPUT(gate), GNN__INPUT(prior_query), GNN__INPUT(priors[0]), GNN__INPUT(priors[1]), \
        GNN__INPUT(priors[2])
enum { GNN__N_SCORE_INPUTS = 2 + GNN_PRIORS };

/* One recording of a model on a tape. */
typedef struct gnn__recording {
    const gnn_model_t *model;
    gnn_tape_t *tape;
    const gnn_model_inputs_t *inputs;
    gnn_var_t *vars;           /* variables of inputs->values, in their order */
    gnn_var_t *outputs;        /* by step: its value, once recorded */
    gnn__hop_extras_t extras;  /* of the current step, without the mask */
    const gnn_graph_t *masked; /* messages over this graph are masked; NULL: none */
    gnn_var_t edge_mask;       /* (edges of it x 1) */
    const gnn_var_t *sent;     /* the cache of the current step; NULL: the senders are projected */
    int64_t round;             /* of the loop whose steps are recorded; 0 outside */
} gnn__recording_t;

enum { GNN__SENT = 2 }; /* most values per sender in the cache of a step */

typedef struct gnn__step_row {
    const char *name; /* in files and messages */
    const gnn__step_input_t *inputs;
    int n_inputs;
    bool uses_graph;                /* the graph of .graph must be given; `declare` may change it */
    gnn__offsets_t reads;           /* fields besides kind, name, inputs, .layer and .graph */
    bool has_config;                /* .layer is read */
    gnn__offsets_t config_reads;    /* fields of .layer that are read; empty: all */
    gnn__incremental_t incremental; /* `declare` may change it */
    unsigned senders;               /* of message passing: bit k, input k has a row per sender */
    unsigned edges;                 /* bit k, input k has a row per edge */
    int priors;    /* index of the input .priors[0], which the others follow; 0: none */
    bool attends;  /* has attention weights, if its aggregator has scores */
    bool by_round; /* its value depends on the round of a loop */
    /* Sets defaults of .layer that differ from a layer's, before it is resolved; NULL: none. */
    void (*set_defaults)(gnn_layer_config_t *config);
    /* Checks the step's fields; NULL: nothing to check. */
    int (*check)(const gnn_model_t *model, const gnn__model_step_t *s);
    /* Declares its parameters and makes its layer or buffers; NULL: none. */
    int (*declare)(gnn_model_t *model, gnn__model_step_t *s);
    /* Sets s->width from the columns of the inputs (-1: not known, or not given); GNN_ESHAPE. NULL:
     * that of the first input. */
    int (*width)(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in);
    /* Records it on the tape; in[k] is GNN_NONE if input k is not given. */
    gnn_var_t (*record)(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in);
    /* Of message passing: projected rows of the senders, which a state caches; GNN_NONE for unused
     * ones. */
    void (*send)(const gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in,
                 gnn_var_t sent[GNN__SENT]);
    /* Builds the view of its graph that it needs; NULL: none. */
    int (*prepare)(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward);
} gnn__step_row_t;

#define GNN_STEP(id, name) extern const gnn__step_row_t gnn__step_kind_##name;
#include <lib/model/steps.def>
#undef GNN_STEP

/* The entry of a kind; NULL if there is none. */
const gnn__step_row_t *gnn__step_row(gnn_step_kind_t kind);

/* Records step k; GNN_NONE after an error. */
gnn_var_t gnn__record_step(gnn__recording_t *r, int64_t k, const gnn_var_t *in);
/* Records step k from r->outputs and the inputs of the model. */
gnn_var_t gnn__record_again(gnn__recording_t *r, int64_t k);
/* The variable of an input; fails the tape if it is not given. */
gnn_var_t gnn__record_named(const gnn__recording_t *r, const gnn__model_step_t *s, const char *name);
/* Records all inputs into r->vars. */
void gnn__record_inputs(const gnn__recording_t *r);
/* Binds x to `out`; views, inputs and parameters are copied. */
void gnn__record_into(gnn_tape_t *tape, gnn_var_t x, const gnn_tensor_t *out);

/* ---- for kinds of steps ---- */

/* The error of a step whose graph is not given. */
int gnn__no_graph(const char *where, int slot, int64_t given);
/* Declares a parameter of a step, or finds it in the step that `share` names: its field of the same
 * name, or for the first field of this step its first one. If `transposed` is not NULL, a shared
 * matrix may be used transposed, which sets *transposed. */
int gnn__step_parameter(gnn_model_t *model, gnn__model_step_t *s, const char *field, int64_t rows,
                        int64_t cols, gnn_init_t init, double argument, bool *transposed);
/* Checks .in and .out of steps with a matrix. */
int gnn__step_check_sides(const gnn__model_step_t *s);
/* Checks that input k has `expected` columns, if its width is known. */
int gnn__step_expect(const gnn_model_t *model, const gnn__model_step_t *s, const int64_t *in, int k,
                     int64_t expected, const char *what);
/* A `width` for inputs of equal width, which is that of the output. */
int gnn__step_same_widths(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in);
/* The value of the step's parameter of a field; GNN_NONE: none. */
gnn_var_t gnn__step_value(const gnn__recording_t *r, const gnn__model_step_t *s, const char *field);
/* The optional arguments for recording the current step's hop over this graph: where to write
 * attention weights, running sums, the edge mask. */
gnn__hop_extras_t gnn__step_extras(const gnn__recording_t *r, const gnn_graph_t *graph);
/* The graph of the step's slot; NULL after failing the tape. */
const gnn_graph_t *gnn__step_graph(const gnn__recording_t *r, const gnn__model_step_t *s);
/* GNN__SCORE_INPUTS as a struct; `in` points to the first of them. */
gnn__score_vars_t gnn__step_score_vars(const gnn_var_t *in);
/* Copies the inputs that are given, in order; returns their count. */
int gnn__step_given(const gnn__step_row_t *row, const gnn_var_t *in, gnn_var_t *given);
/* GNN_ESHAPE if running statistics of `width` columns have more values than the model's file. */
int gnn__step_check_running(const gnn_model_t *model, const gnn__model_step_t *s, int64_t width);

/* The name of a kind of steps, such as "linear"; NULL for values that are not kinds. */
const char *gnn__step_kind_name(gnn_step_kind_t kind);

#endif
