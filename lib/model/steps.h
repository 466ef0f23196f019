/* A kind of step is one row: the inputs that it names, and what it does when a model is made,
 * prepared and run. Adding one takes steps/step_NAME.c and a line in steps.def; nothing else knows
 * its name. */
#ifndef GNN_LIB_MODEL_STEPS_H
#define GNN_LIB_MODEL_STEPS_H

#include <lib/model/model.h>
#include <stddef.h>

/* An input that a step names in a field of gnn_step_t. */
typedef struct gnn__step_input {
    const char *name; /* of the field, for messages */
    size_t offset;    /* of the field */
    bool needed;      /* the field may not be NULL */
    bool declared;    /* the name is that of an input of the model, which is hereby declared */
} gnn__step_input_t;

/* clang-format off */
#define GNN__INPUT(field) {#field, offsetof(gnn_step_t, field), false, false}
#define GNN__NEEDED(field) {#field, offsetof(gnn_step_t, field), true, false}
/* clang-format on */
/* inputs[0] NULL means the previous step's output. Lists of up to eight: any number of them, or at
 * least two. */
#define GNN__OTHERS                                                                             \
    GNN__INPUT(inputs[2]), GNN__INPUT(inputs[3]), GNN__INPUT(inputs[4]), GNN__INPUT(inputs[5]), \
        GNN__INPUT(inputs[6]), GNN__INPUT(inputs[7])
#define GNN__MANY_INPUTS GNN__INPUT(inputs[0]), GNN__INPUT(inputs[1]), GNN__OTHERS
#define GNN__MANY_NEEDED GNN__INPUT(inputs[0]), GNN__NEEDED(inputs[1]), GNN__OTHERS

/* Fields that a kind of step reads, as their places: GNN__READS(GNN__AT(in), GNN__AT(out)). */
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

/* What scores read beside the rows that a step projects or is given: the last inputs of steps that
 * attend. */
#define GNN__SCORE_INPUTS                                                                    \
    GNN__INPUT(gate), GNN__INPUT(prior_query), GNN__INPUT(priors[0]), GNN__INPUT(priors[1]), \
        GNN__INPUT(priors[2])
enum { GNN__N_SCORE_INPUTS = 2 + GNN_PRIORS };

/* What one run of a model onto a tape knows. */
typedef struct gnn__recording {
    const gnn_model_t *model;
    gnn_tape_t *tape;
    const gnn_model_inputs_t *inputs;
    gnn_var_t *vars;           /* of the inputs that the caller gave, in their order */
    gnn_var_t *outputs;        /* of the steps so far */
    gnn__hop_extras_t extras;  /* of the running step, but for the mask */
    const gnn_graph_t *masked; /* messages over this graph are masked; NULL: none are */
    gnn_var_t edge_mask;       /* (edges of it x 1) */
    const gnn_var_t *sent; /* while a state goes on: what all senders have sent to the running step,
                              by its `send`; NULL: what they send is worked out */
} gnn__recording_t;

enum { GNN__SENT = 2 }; /* values that senders may send to one step */

typedef struct gnn__step_row {
    const char *name; /* in files and messages */
    const gnn__step_input_t *inputs;
    int n_inputs;
    bool uses_graph;      /* the graph of .graph must be given; `declare` may say otherwise */
    gnn__offsets_t reads; /* its fields besides kind, name, inputs, .layer and .graph */
    bool has_config;      /* .layer is a part of the step */
    gnn__offsets_t config_reads; /* the fields of .layer that it reads; none listed: all */
    gnn__growth_t growth;        /* `declare` may say otherwise */
    unsigned senders;            /* where it hears: bit k, input k is the senders' */
    unsigned edges;              /* and bit k, input k is on edges */
    int priors;   /* the input that is .priors[0], which the others follow; 0: there is none */
    bool attends; /* can give its attention weights, where its aggregator has scores */
    /* Sets defaults of .layer that differ from a layer's, before it is resolved; NULL: none. */
    void (*set_defaults)(gnn_layer_config_t *config);
    /* Checks the step's own fields, and its widths where they stand in them; NULL: nothing to
     * check. */
    int (*check)(const gnn_model_t *model, const gnn__model_step_t *s);
    /* Declares its parameters, makes what it owns; NULL: nothing. */
    int (*declare)(gnn_model_t *model, gnn__model_step_t *s);
    /* Columns that go out, given those that come in (-1: not known, or not given); GNN_ESHAPE in
     * words. NULL: those of the first. */
    int (*width)(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in);
    /* Puts it on the tape; in[k] is GNN_NONE where input k is not given. */
    gnn_var_t (*record)(gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in);
    /* Where it hears: what its senders send, to be kept by a state; GNN_NONE where there is
     * nothing. */
    void (*send)(const gnn__recording_t *r, const gnn__model_step_t *s, const gnn_var_t *in,
                 gnn_var_t sent[GNN__SENT]);
    /* Builds the view of its graph that it needs; NULL: the plain one does. */
    int (*prepare)(const gnn__model_step_t *s, gnn_graph_t *graph, gnn_flag_t backward);
} gnn__step_row_t;

#define GNN_STEP(id, name) extern const gnn__step_row_t gnn__step_kind_##name;
#include <lib/model/steps.def>
#undef GNN_STEP

/* The row of a kind; NULL if there is none. */
const gnn__step_row_t *gnn__step_row(gnn_step_kind_t kind);

/* Puts the result of step k on the tape; NONE after an error. */
gnn_var_t gnn__record_step(gnn__recording_t *r, int64_t k, const gnn_var_t *in);
/* The variable of an input; it fails if the caller has not given it. */
gnn_var_t gnn__record_named(const gnn__recording_t *r, const gnn__model_step_t *s, const char *name);
/* Puts all inputs on the tape, into r->vars. */
void gnn__record_inputs(const gnn__recording_t *r);
/* x lands in `out` when the tape runs; views, inputs and parameters live elsewhere and are
 * copied. */
void gnn__record_into(gnn_tape_t *tape, gnn_var_t x, const gnn_tensor_t *out);

/* ---- for rows ---- */

/* The error of a step whose graph is not there. */
int gnn__no_graph(const char *where, int slot, int64_t given);
/* Declares a parameter of an op, or finds it in the step that `share` names: there a field of the
 * same name, or for the first field of this step the first one. Its rows x cols may lie the other
 * way round where `turned` is given; *turned says so. */
int gnn__step_parameter(gnn_model_t *model, gnn__model_step_t *s, const char *field, int64_t rows,
                        int64_t cols, gnn_init_t init, double argument, bool *turned);
/* A `check` of steps with a matrix of .in x .out. */
int gnn__step_check_sides(const gnn__model_step_t *s);
/* Input k has `expected` columns, or it is not known yet how many. */
int gnn__step_expect(const gnn_model_t *model, const gnn__model_step_t *s, const int64_t *in, int k,
                     int64_t expected, const char *what);
/* A `width` of rows whose inputs have the same columns, which go out. */
int gnn__step_same_widths(const gnn_model_t *model, gnn__model_step_t *s, const int64_t *in);
/* The step's parameter of this field as a value; GNN_NONE: it has none. */
gnn_var_t gnn__step_value(const gnn__recording_t *r, const gnn__model_step_t *s, const char *field);
/* What is asked of a hop of the running step over this graph. */
gnn__hop_extras_t gnn__step_extras(const gnn__recording_t *r, const gnn_graph_t *graph);
/* The graph of the step's slot; NULL after gnn_tape_fail. */
const gnn_graph_t *gnn__step_graph(const gnn__recording_t *r, const gnn__model_step_t *s);
/* The step's score inputs, from the first of them on. */
gnn_score_vars_t gnn__step_score_vars(const gnn_var_t *in);
/* The inputs that are given, in their order, without the gaps between them; returns how many. */
int gnn__step_given(const gnn__step_row_t *row, const gnn_var_t *in, gnn_var_t *given);
/* GNN_ESHAPE if running statistics of `width` columns are more numbers than the file holds that the
 * model comes from. */
int gnn__step_check_running(const gnn_model_t *model, const gnn__model_step_t *s, int64_t width);

#endif
