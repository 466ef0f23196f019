/* Inside of a model: steps with their layers, one parameter block for all, and the names that everything is known by. */
#ifndef GNN_LIB_MODEL_MODEL_H
#define GNN_LIB_MODEL_MODEL_H

#include <gnn/model.h>
#include <lib/layer/layer.h>

enum { GNN__STEP_INPUTS = 7 };

typedef struct gnn__model_step {
    gnn_step_t step;      /* strings are the model's own */
    char *name, *where;   /* "0" or the user's; "layer 0" or "step decoder" for messages */
    gnn_layer_t *layer;   /* NULL for ops */
    int32_t weight, bias; /* of an op: linear, norm's gain and shift, embed's table; -1: none */
    gnn_real_t *running;  /* of a batch norm op: (2 x in) */
} gnn__model_step_t;

typedef struct gnn__model_field {
    char *name; /* "STEP.FIELD" */
    int64_t step;
    const char *field; /* of its layer; NULL: the op's parameter `id` */
    int32_t id;
} gnn__model_field_t;

typedef struct gnn__model_buffer {
    char *name;
    gnn_tensor_t value;
} gnn__model_buffer_t;

struct gnn_model {
    gnn__model_step_t *steps;
    int64_t n_steps;
    gnn_parameters_t *parameters;
    gnn__model_field_t *fields;
    int64_t n_fields;
    gnn__model_buffer_t *buffers;
    int64_t n_buffers;
    int n_graphs;
};

/* Records steps 0..last; attention of the last one goes to `weights` (NULL: not wanted). */
gnn_var_t gnn__model_record(const gnn_model_t *model, gnn_tape_t *tape,
                            const gnn_model_inputs_t *inputs, gnn_var_t *vars, int64_t last,
                            const gnn__attention_out_t *weights);
int gnn__model_name_fields(gnn_model_t *model);
/* gnn_model_from_steps, or with `named` false gnn_model_new; GNN_ESHAPE before anything large is allocated if there are over `most` parameters (-1: any). */
int gnn__model_make(gnn_model_t **model, gnn_context_t *context, int64_t count,
                    const gnn_step_t *steps, bool named, int64_t most);

#endif
