/* Inference layer by layer over all nodes: each step runs on one chunk of rows after another, so
 * that memory holds the values that later steps read, and one chunk. */
#include <graphs/graph.h>
#include <gnn/sample.h>
#include <lib/model/part_rows.h>
#include <lib/model/steps.h>

enum { ROWS_AT_ONCE = 16384 };

typedef struct {
    const gnn_model_t *model;
    gnn_context_t *context;
    const gnn_model_inputs_t *inputs;
    const gnn_tensor_t *out;
    int64_t at_once;
    gnn_tensor_t *values; /* by step; data NULL: not computed, or no longer needed */
    int64_t *last_use;    /* by step: the last step that reads it; -1: not needed */
    gnn_var_t *outputs;   /* by step, of the current chunk */
    gnn__part_rows_t parts[GNN__STEP_INPUTS];
    gnn_sampler_t **samplers; /* by slot, made when needed: whole neighbourhoods */
    gnn_sample_t **samples;
    const gnn_graph_t **graphs; /* by slot: the block of the current chunk */
    int32_t *seeds;
} inference_t;

/* ---- the inputs of a step ---- */

/* A declared input is the value that the caller gave. */
static bool is_input(const gnn__model_step_t *s)
{
    return s->row->n_inputs > 0 && s->row->inputs[0].declared;
}

static const gnn_named_t *given(const inference_t *f, const gnn__model_step_t *s, const char *name)
{
    for (int64_t k = 0; k < f->inputs->n_values; k++) {
        const gnn_named_t *v = &f->inputs->values[k];
        if ((v->slot == 0 || v->slot == s->step.graph + 1) && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

/* Input i of a step, with all its rows. */
static int operand(const inference_t *f, const gnn__model_step_t *s, int i, gnn_named_t *whole)
{
    const int64_t steps = f->model->n_steps;
    int64_t from = s->in[i];
    if (from < steps && is_input(&f->model->steps[from]))
        from = f->model->steps[from].in[0];
    if (from < steps) {
        *whole = (gnn_named_t){.name = f->model->steps[from].name, .dense = &f->values[from]};
        return GNN_OK;
    }
    const char *name = f->model->inputs[from - steps];
    const gnn_named_t *v = given(f, s, name);
    if (!v)
        return gnn__error(GNN_ENOTFOUND, "%s reads \"%s\": no input has this name", s->where, name);
    if (!!v->dense + !!v->sparse + !!v->ids != 1)
        return gnn__error(GNN_EINVALID,
                          "input %s: exactly one of dense, sparse and ids is expected", name);
    *whole = *v;
    return GNN_OK;
}

static int64_t rows_of(const gnn_named_t *v)
{
    return v->dense ? v->dense->rows : v->sparse ? v->sparse->rows : v->count;
}

/* Puts those rows of input i on the tape. */
static int record_rows(inference_t *f, gnn_tape_t *tape, int i, const gnn_named_t *whole,
                       const gnn__part_index_t *index, gnn_var_t *var)
{
    gnn_named_t part;
    GNN_TRY(gnn__part_rows_take(&f->parts[i], whole, index, f->context, &part));
    *var = part.dense    ? gnn_tape_input(tape, part.dense, 0)
           : part.sparse ? gnn_tape_sparse(tape, part.sparse)
                         : gnn_tape_ids(tape, part.ids, part.count);
    return GNN_OK;
}

/* ---- one chunk of a step ---- */

/* The block of receivers from .. to - 1 with all their senders, as the graph of the step's slot. */
static int draw_block(inference_t *f, const gnn__model_step_t *s, int64_t from, int64_t to)
{
    const int slot = s->step.graph;
    const gnn_graph_t *graph = f->inputs->graphs[slot];
    if (!f->samplers[slot]) {
        GNN_TRY(
            gnn_sampler_new(&f->samplers[slot], graph,
                            &(gnn_sampler_config_t){.hops = 1, .fan_outs = (const int64_t[]){-1}}));
        GNN_TRY(gnn_sample_new(&f->samples[slot], f->samplers[slot]));
    }
    for (int64_t i = from; i < to; i++)
        f->seeds[i - from] = (int32_t)i;
    GNN_TRY(gnn_sample_draw(f->samples[slot], f->context, to - from, f->seeds, 0, 0));
    gnn_graph_t *block = gnn_sample_graph(f->samples[slot], 0);
    f->graphs[slot] = block;
    return s->row->prepare ? s->row->prepare(s, block, GNN_OFF) : GNN_OK;
}

/* Inputs of a message-passing step: rows of senders and edges are those of the block. */
static int record_block(inference_t *f, const gnn__model_step_t *s, gnn_tape_t *tape, int64_t from,
                        int64_t to, gnn_var_t *in)
{
    gnn_sample_t *sample = f->samples[s->step.graph];
    int64_t nodes;
    const gnn__part_index_t rows = {.first = from, .count = to - from},
                            senders = {.nodes = gnn_sample_nodes(sample, &nodes), .count = nodes},
                            edges = {.edges = gnn_sample_edges(sample, 0),
                                     .count = gnn_graph_n_edges(gnn_sample_graph(sample, 0))};
    for (int i = 0; i < s->row->n_inputs; i++) {
        gnn_named_t whole;
        in[i] = GNN_NONE;
        if (s->in[i] == GNN__NOT_READ)
            continue;
        if (s->row->priors && i >= s->row->priors)
            return gnn__error(GNN_EUNSUPPORTED, "%s: priors cannot be computed by chunks of rows",
                              s->where);
        GNN_TRY(operand(f, s, i, &whole));
        GNN_TRY(record_rows(f, tape, i, &whole,
                            s->row->senders >> i & 1 ? &senders
                            : s->row->edges >> i & 1 ? &edges
                                                     : &rows,
                            &in[i]));
    }
    return GNN_OK;
}

/* Inputs of a step that runs row by row; a single row is broadcast. */
static int record_by_row(inference_t *f, const gnn__model_step_t *s, gnn_tape_t *tape, int64_t from,
                         int64_t to, gnn_var_t *in)
{
    for (int i = 0; i < s->row->n_inputs; i++) {
        gnn_named_t whole;
        in[i] = GNN_NONE;
        if (s->in[i] == GNN__NOT_READ)
            continue;
        GNN_TRY(operand(f, s, i, &whole));
        const bool one = rows_of(&whole) == 1;
        const gnn__part_index_t rows = {.first = one ? 0 : from, .count = one ? 1 : to - from};
        GNN_TRY(record_rows(f, tape, i, &whole, &rows, &in[i]));
    }
    return GNN_OK;
}

/* Allocates a step's output once its width is known. */
static int place_output(inference_t *f, int64_t k, int64_t rows, int64_t cols)
{
    int64_t count;
    gnn_tensor_t *value = &f->values[k];
    if (value->data)
        return GNN_OK;
    if (k == f->model->n_steps - 1) {
        if (f->out->rows != rows || f->out->cols != cols)
            return gnn__error(GNN_ESHAPE, "the output is %lld x %lld, the tensor for it %lld x %lld",
                              (long long)rows, (long long)cols, (long long)f->out->rows,
                              (long long)f->out->cols);
        *value = *f->out;
        return GNN_OK;
    }
    if (!gnn__mul(rows, cols, &count))
        return gnn__error(GNN_EOVERFLOW, "a value of %lld x %lld does not fit", (long long)rows,
                          (long long)cols);
    GNN_TRY(gnn__new(&value->data, count, sizeof *value->data, "the values of a step"));
    *value = gnn_tensor(value->data, rows, cols);
    return GNN_OK;
}

static int run_chunk(inference_t *f, int64_t k, bool by_block, int64_t rows, int64_t from, int64_t to)
{
    const gnn__model_step_t *s = &f->model->steps[k];
    const gnn_model_inputs_t inputs = {.graphs = f->graphs, .n_graphs = f->model->n_graphs};
    gnn_var_t in[GNN__STEP_INPUTS];
    gnn_tape_t *tape;
    if (by_block)
        GNN_TRY(draw_block(f, s, from, to));
    GNN_TRY(gnn__context_tape(f->context, &tape));
    gnn__recording_t r = {.model = f->model, .tape = tape, .inputs = &inputs, .outputs = f->outputs};
    GNN_TRY(by_block ? record_block(f, s, tape, from, to, in)
                     : record_by_row(f, s, tape, from, to, in));
    const gnn_var_t x = gnn__record_step(&r, k, in);
    GNN_TRY(gnn_tape_status(tape));
    GNN_TRY(place_output(f, k, rows, gnn_tape_cols(tape, x)));
    gnn_tensor_t part = f->values[k];
    part.data = gnn__row(&f->values[k], from);
    part.rows = to - from;
    gnn__record_into(tape, x, &part);
    return gnn_tape_forward(tape);
}

/* ---- all steps ---- */

/* Rows of a step's output: receivers, or those of its longest input. */
static int count_rows(const inference_t *f, const gnn__model_step_t *s, bool by_block, int64_t *rows)
{
    *rows = 0;
    if (by_block) {
        const int slot = s->step.graph;
        if (slot >= f->inputs->n_graphs || !f->inputs->graphs[slot])
            return gnn__no_graph(s->where, slot, f->inputs->n_graphs);
        *rows = gnn_graph_n_dst(f->inputs->graphs[slot]);
        return GNN_OK;
    }
    for (int i = 0; i < s->row->n_inputs; i++) {
        gnn_named_t whole;
        if (s->in[i] == GNN__NOT_READ)
            continue;
        GNN_TRY(operand(f, s, i, &whole));
        *rows = gnn__max(*rows, rows_of(&whole));
    }
    return GNN_OK;
}

static int run_step(inference_t *f, int64_t k)
{
    const gnn__model_step_t *s = &f->model->steps[k];
    const bool by_block = s->uses_graph && s->incremental == GNN__NEEDS_CACHE;
    int64_t rows;
    if (!by_block && (s->incremental != GNN__ROW_BY_ROW || s->uses_graph))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s cannot run by chunks of rows: run the model on the whole graph",
                          s->where);
    GNN_TRY(count_rows(f, s, by_block, &rows));
    for (int64_t from = 0; from < rows; from += f->at_once)
        GNN_TRY(run_chunk(f, k, by_block, rows, from, gnn__min(from + f->at_once, rows)));
    return GNN_OK;
}

/* The last reader of each step, and the steps that the last one needs. */
static void find_uses(inference_t *f)
{
    const int64_t steps = f->model->n_steps;
    for (int64_t k = 0; k < steps; k++)
        f->last_use[k] = -1;
    f->last_use[steps - 1] = steps;
    for (int64_t k = steps - 1; k >= 0; k--) {
        const gnn__model_step_t *s = &f->model->steps[k];
        for (int i = 0; i < s->row->n_inputs && f->last_use[k] >= 0; i++)
            if (s->in[i] >= 0 && s->in[i] < steps && f->last_use[s->in[i]] < 0)
                f->last_use[s->in[i]] = k;
    }
}

static void free_values(inference_t *f, int64_t before)
{
    for (int64_t k = 0; k < f->model->n_steps - 1; k++)
        if (f->last_use[k] < before) {
            gnn_free(f->values[k].data);
            f->values[k].data = NULL;
        }
}

static int run(inference_t *f)
{
    const int64_t steps = f->model->n_steps;
    const int slots = f->model->n_graphs;
    GNN_TRY(gnn__new(&f->values, steps, sizeof *f->values, "values of steps"));
    GNN_TRY(gnn__new(&f->last_use, steps, sizeof *f->last_use, "uses of steps"));
    GNN_TRY(gnn__new(&f->outputs, steps, sizeof *f->outputs, "values of steps"));
    GNN_TRY(gnn__new(&f->samplers, slots, sizeof(gnn_sampler_t *), "samplers"));
    GNN_TRY(gnn__new(&f->samples, slots, sizeof(gnn_sample_t *), "samples"));
    GNN_TRY(gnn__new(&f->graphs, slots, sizeof(gnn_graph_t *), "blocks"));
    GNN_TRY(gnn__new(&f->seeds, f->at_once, sizeof *f->seeds, "a chunk's nodes"));
    find_uses(f);
    for (int64_t k = 0; k < steps; k++) {
        if (f->last_use[k] >= 0 && !is_input(&f->model->steps[k]))
            GNN_TRY(run_step(f, k));
        free_values(f, k + 1);
    }
    return GNN_OK;
}

static void close(inference_t *f)
{
    if (f->values && f->last_use)
        free_values(f, INT64_MAX);
    for (int k = 0; k < f->model->n_graphs; k++) {
        if (f->samples)
            gnn_sample_free(f->samples[k]);
        if (f->samplers)
            gnn_sampler_free(f->samplers[k]);
    }
    for (int i = 0; i < GNN__STEP_INPUTS; i++)
        gnn__part_rows_free(&f->parts[i]);
    gnn_free(f->values);
    gnn_free(f->last_use);
    gnn_free(f->outputs);
    gnn_free(f->samplers);
    gnn_free(f->samples);
    gnn_free(f->graphs);
    gnn_free(f->seeds);
}

int gnn__model_infer_layers(const gnn_model_t *model, gnn_context_t *context,
                            const gnn_model_inputs_t *inputs, int64_t rows_at_once,
                            const gnn_tensor_t *out)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(inputs);
    GNN__NEED(out);
    if (rows_at_once < 0 || rows_at_once > INT32_MAX)
        return gnn__error(GNN_EINVALID, "rows_at_once = %lld, expected 0 to 2^31 - 1",
                          (long long)rows_at_once);
    inference_t f = {.model = model,
                     .context = context,
                     .inputs = inputs,
                     .out = out,
                     .at_once = rows_at_once ? rows_at_once : ROWS_AT_ONCE};
    const int rc = run(&f);
    close(&f);
    return rc;
}
