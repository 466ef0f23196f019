/* Degrees, and rows selected by in-degree. */
#include <graphs/halo.h>
#include <lib/ops/named/named_ops.h>
#include <lib/ops/traits.h>

/* ---- degree ---- */

/* In-degrees of receivers (n_dst x 1), or out-degrees of senders (n_src x 1) if option 0 is 1.
 * Option 1: lower bound of the output. The input orders the steps and is not read; the gradient is
 * 0. */

static bool of_senders(const gnn_op_call_t *call)
{
    return gnn__op_options(call)->options[0] == 1;
}

static int degree_shape(gnn_op_call_t *call)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    if (!graph)
        return gnn_op_fail(call, GNN_EINVALID, "degree needs a graph");
    gnn__op_output(call, of_senders(call) ? graph->n_src : graph->n_dst, 1);
    return GNN_OK;
}

/* The graph that has the edges: over ranks the one with the halo, whose first rows are own ones. */
static const gnn_graph_t *with_edges(const gnn_graph_t *graph)
{
    return graph->halo ? graph->halo->wide : graph;
}

/* Over ranks an edge of an own sender may be another rank's. */
static void count_sent(const gnn__pairs_t *pairs, const gnn_tensor_t *y)
{
    for (int64_t j = 0; j < y->rows; j++)
        gnn__row(y, j)[0] += (gnn_real_t)(pairs->indptr[j + 1] - pairs->indptr[j]);
}

static void count_out_degrees(const gnn__pairs_t *pairs, const gnn_tensor_t *y)
{
    for (int64_t r = 0; r < pairs->n_rows; r++)
        for (int64_t at = gnn__pairs_from(pairs, r); at < gnn__pairs_to(pairs, r); at++)
            gnn__row(y, gnn__pairs_col(pairs, at))[0] += 1;
}

static int degree_forward(gnn_op_call_t *call)
{
    const gnn_graph_t *own = gnn__op_options(call)->graph, *graph = with_edges(own);
    const gnn_tensor_t *y = &call->out[0].value;
    const gnn_real_t least = (gnn_real_t)gnn__op_options(call)->options[1];
    for (int64_t i = 0; i < y->rows; i++)
        gnn__row(y, i)[0] = of_senders(call) ? 0 : (gnn_real_t)graph->base.degree[i];
    for (int64_t p = 0; of_senders(call) && p < graph->base.n_parts; p++)
        if (own->halo)
            count_sent(&graph->base.transposed[p].pairs, y);
        else
            count_out_degrees(&graph->base.parts[p].pairs, y);
    for (int64_t i = 0; i < y->rows; i++)
        if (gnn__row(y, i)[0] < least)
            gnn__row(y, i)[0] = least;
    return GNN_OK;
}

static int degree_backward(gnn_op_call_t *call)
{
    gnn__op_begin(call, 0);
    return GNN_OK;
}

static gnn__over_t degree_over(const gnn_op_call_t *call, int *rc)
{
    (void)call, (void)rc;
    return GNN__OVER_OWN;
}

static const gnn__op_traits_t degree_traits = {.over = degree_over};
static const gnn_option_t degree_options[] = {
    GNN__CHOICE_OPTION("out", 1, "1: out-degrees of senders"),
    GNN__REAL_OPTION("least", 0, "lower bound of the output")};

const gnn_op_t gnn_op_degree = {.name = "degree",
                                GNN__OPTIONS(degree_options),
                                .shape = degree_shape,
                                .forward = degree_forward,
                                .backward = degree_backward,
                                .flags = GNN_OP_READS_GRAPH,
                                .traits = &degree_traits};

/* ---- rows_of_degree ---- */

/* The rows of x (n_dst x c) whose receivers have an in-degree from option 0 to option 1, in order:
 * for weights that differ by degree. place_by_degree is the inverse. */

typedef struct {
    double least, most; /* in-degrees, both included */
} degrees_t;

/* Reads options 0 and 1; GNN_EINVALID unless 0 <= least <= most. */
static int read_degrees(const gnn_op_call_t *call, const char *name, degrees_t *degrees)
{
    const double *options = gnn__op_options(call)->options;
    if (!gnn__op_options(call)->graph)
        return gnn_op_fail(call, GNN_EINVALID, "%s needs a graph", name);
    if (!(options[0] >= 0 && options[1] >= options[0]))
        return gnn_op_fail(call, GNN_EINVALID,
                           "%s: expected degrees 0 <= least <= most, got %g and %g", name,
                           options[0], options[1]);
    *degrees = (degrees_t){options[0], options[1]};
    return GNN_OK;
}

static bool is_among(const gnn_graph_t *graph, int64_t i, degrees_t degrees)
{
    const double degree = (double)graph->base.degree[i];
    return degree >= degrees.least && degree <= degrees.most;
}

static int64_t count_selected(const gnn_op_call_t *call, degrees_t degrees)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    int64_t count = 0;
    for (int64_t i = 0; i < graph->n_dst; i++)
        count += is_among(graph, i, degrees);
    return count;
}

/* Copies the rows `selected`, in order, to their receivers' rows of `all`, or back; adds if
 * `add`. */
static void move_selected(const gnn_op_call_t *call, degrees_t degrees, const gnn_tensor_t *selected,
                          const gnn_tensor_t *all, bool to_all, bool add)
{
    const gnn_graph_t *graph = gnn__op_options(call)->graph;
    int64_t at = 0;
    for (int64_t i = 0; selected->cols > 0 && i < graph->n_dst; i++) {
        if (!is_among(graph, i, degrees))
            continue;
        gnn_real_t *own = gnn__row(selected, at++), *row = gnn__row(all, i);
        const gnn_real_t *from = to_all ? own : row;
        gnn_real_t *to = to_all ? row : own;
        if (add)
            gnn__elementwise_kernels()->scale(selected->cols, 1, from, true, to);
        else
            memcpy(to, from, (size_t)selected->cols * sizeof *to);
    }
}

static int rows_of_degree_shape(gnn_op_call_t *call)
{
    degrees_t degrees;
    GNN_TRY(gnn__op_dense(call, "rows_of_degree", 0, 0, 1));
    GNN_TRY(read_degrees(call, "rows_of_degree", &degrees));
    GNN_TRY(gnn__op_expect(call, "rows_of_degree", 0, gnn__op_options(call)->graph->n_dst,
                           call->in[0].cols));
    gnn__op_output(call, count_selected(call, degrees), call->in[0].cols);
    return GNN_OK;
}

static int rows_of_degree_forward(gnn_op_call_t *call)
{
    degrees_t degrees;
    GNN_TRY(read_degrees(call, "rows_of_degree", &degrees));
    move_selected(call, degrees, &call->out[0].value, &call->in[0].value, false, false);
    return GNN_OK;
}

static int rows_of_degree_backward(gnn_op_call_t *call)
{
    degrees_t degrees;
    GNN_TRY(read_degrees(call, "rows_of_degree", &degrees));
    gnn__op_begin(call, 0);
    if (gnn__wants(call, 0))
        move_selected(call, degrees, &call->out[0].grad, &call->in[0].grad, true, true);
    return GNN_OK;
}

static const gnn_option_t rows_of_degree_options[] = {GNN__REAL_OPTION("least", 0, ""),
                                                      GNN__REAL_OPTION("most", 0, "")};

const gnn_op_t gnn_op_rows_of_degree = {.name = "rows_of_degree",
                                        GNN__OPTIONS(rows_of_degree_options),
                                        .shape = rows_of_degree_shape,
                                        .forward = rows_of_degree_forward,
                                        .backward = rows_of_degree_backward,
                                        .flags = GNN_OP_READS_GRAPH};

/* ---- place_by_degree ---- */

/* The inverse of rows_of_degree for a range of degrees: input k holds the rows of receivers with
 * in-degree option 0 + k, the last input those up to option 1. y (n_dst x c) has each at its
 * receiver, 0 elsewhere. */

static int count_inputs(const gnn_op_call_t *call)
{
    int count = 0;
    while (gnn__has_input(call, count))
        count++;
    return count;
}

/* The degrees of input k among `count` inputs. */
static degrees_t degrees_of(const gnn_op_call_t *call, int k, int count)
{
    const double *options = gnn__op_options(call)->options, least = options[0] + k;
    return (degrees_t){least, k + 1 < count ? least : options[1]};
}

static int place_by_degree_shape(gnn_op_call_t *call)
{
    const int count = count_inputs(call);
    degrees_t all;
    GNN_TRY(gnn__op_dense(call, "place_by_degree", 0, count - 1, 1));
    GNN_TRY(read_degrees(call, "place_by_degree", &all));
    for (int k = 0; k < count; k++)
        GNN_TRY(gnn__op_expect(call, "place_by_degree", k,
                               count_selected(call, degrees_of(call, k, count)), call->in[0].cols));
    gnn__op_output(call, gnn__op_options(call)->graph->n_dst, call->in[0].cols);
    return GNN_OK;
}

static int place_by_degree_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t *y = &call->out[0].value;
    const int count = count_inputs(call);
    for (int64_t i = 0; i < y->rows; i++)
        memset(gnn__row(y, i), 0, (size_t)y->cols * sizeof *y->data);
    for (int k = 0; k < count; k++)
        move_selected(call, degrees_of(call, k, count), &call->in[k].value, y, true, false);
    return GNN_OK;
}

static int place_by_degree_backward(gnn_op_call_t *call)
{
    const int count = count_inputs(call);
    for (int k = 0; k < count; k++)
        if (gnn__wants(call, k))
            move_selected(call, degrees_of(call, k, count), &call->in[k].grad, &call->out[0].grad,
                          false, call->in[k].accumulate);
    return GNN_OK;
}

static const gnn_option_t place_by_degree_options[] = {
    {"least", 0, 0, INT32_MAX, "degree of the rows of input 0", GNN_OPTION_INTEGER},
    GNN__REAL_OPTION("most", 0, "of the last input")};

const gnn_op_t gnn_op_place_by_degree = {.name = "place_by_degree",
                                         GNN__OPTIONS(place_by_degree_options),
                                         .shape = place_by_degree_shape,
                                         .forward = place_by_degree_forward,
                                         .backward = place_by_degree_backward,
                                         .flags = GNN_OP_READS_GRAPH};
