/* The exchange of rows around an aggregation over ranks. halo_rows appends the halo's rows, pulled
 * from their owners; its gradient is that of the own rows, which are complete. own_rows drops them;
 * in backward it pulls the gradients of the halo's receivers instead. Both start the exchange:
 * while rows travel, the aggregation computes those that need none of them. */
#include <graphs/halo.h>
#include <lib/ops/support.h>
#include <lib/ops/traits.h>

static const gnn__halo_settings_t *settings(const gnn_op_call_t *call)
{
    return call->attributes;
}

static gnn__halo_t *halo_of(const gnn_op_call_t *call)
{
    return settings(call)->graph->halo;
}

static gnn_tensor_t own_of(const gnn_tensor_t *t, const gnn__halo_t *halo)
{
    return (gnn_tensor_t){t->data, halo->n_own, t->cols, gnn__stride(t)};
}

/* The aggregation that reads these rows awaits them. */
static int pull(const gnn_op_call_t *call, const gnn_tensor_t *t)
{
    return gnn__halo_start(halo_of(call), t->data, sizeof(gnn_real_t) * (size_t)gnn__stride(t),
                           sizeof(gnn_real_t) * (size_t)t->cols);
}

static int check_rows(const gnn_op_call_t *call, const char *name, int64_t rows)
{
    GNN_TRY(gnn__op_dense(call, name, 0, 0, 1));
    if (call->in[0].rows != rows)
        return gnn_op_fail(call, GNN_ESHAPE,
                           "ranks: op %s expects the %lld rows of this rank's nodes, got %lld",
                           name, (long long)rows, (long long)call->in[0].rows);
    return GNN_OK;
}

static gnn__over_t over_wide(const gnn_op_call_t *call, int *rc)
{
    (void)call, (void)rc;
    return GNN__OVER_WIDE;
}

static gnn__over_t over_own(const gnn_op_call_t *call, int *rc)
{
    (void)call, (void)rc;
    return GNN__OVER_OWN;
}

/* ---- halo_rows ---- */

static int halo_shape(gnn_op_call_t *call)
{
    GNN_TRY(check_rows(call, "halo_rows", halo_of(call)->n_own));
    gnn__op_output(call, halo_of(call)->n_wide, call->in[0].cols);
    return GNN_OK;
}

/* Rows of receivers are read by backward alone, by the sums of their senders. */
static int halo_forward(gnn_op_call_t *call)
{
    const gnn__halo_t *halo = halo_of(call);
    const gnn_tensor_t *y = &call->out[0].value, own = own_of(y, halo);
    gnn__op_send(call, 1, &call->in[0].value, &own, false);
    if (settings(call)->senders || call->recording)
        return gnn__halo_start_rows(halo_of(call), &call->in[0].value, y);
    const gnn_tensor_t rest = gnn__rows(y, halo->n_own, halo->n_wide - halo->n_own);
    for (int64_t r = 0; r < rest.rows; r++)
        memset(gnn__row(&rest, r), 0, sizeof(gnn_real_t) * (size_t)rest.cols);
    return GNN_OK;
}

static int halo_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t own = own_of(&call->out[0].grad, halo_of(call));
    if (gnn__wants(call, 0))
        gnn__op_send(call, 1, &own, &call->in[0].grad, call->in[0].accumulate);
    return GNN_OK;
}

static const gnn__op_traits_t halo_traits = {.over = over_wide, .of_nodes = true};
const gnn_op_t gnn__op_halo_rows = {.name = "halo_rows",
                                    .shape = halo_shape,
                                    .forward = halo_forward,
                                    .backward = halo_backward,
                                    .traits = &halo_traits};

/* ---- own_rows ---- */

static int own_shape(gnn_op_call_t *call)
{
    GNN_TRY(check_rows(call, "own_rows", halo_of(call)->n_wide));
    gnn__op_output(call, halo_of(call)->n_own, call->in[0].cols);
    return GNN_OK;
}

static int own_forward(gnn_op_call_t *call)
{
    const gnn_tensor_t own = own_of(&call->in[0].value, halo_of(call));
    gnn__op_send(call, 1, &own, &call->out[0].value, false);
    return GNN_OK;
}

static int own_backward(gnn_op_call_t *call)
{
    const gnn_tensor_t own = own_of(&call->in[0].grad, halo_of(call));
    if (!gnn__wants(call, 0))
        return GNN_OK;
    gnn__op_send(call, 1, &call->out[0].grad, &own, call->in[0].accumulate);
    return pull(call, &call->in[0].grad);
}

static const gnn__op_traits_t own_traits = {.over = over_own};
const gnn_op_t gnn__op_own_rows = {.name = "own_rows",
                                   .shape = own_shape,
                                   .forward = own_forward,
                                   .backward = own_backward,
                                   .traits = &own_traits};
