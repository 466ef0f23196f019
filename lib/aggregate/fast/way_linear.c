/* The way of attention whose weights are its scores, dot products, on spans whose receivers hear
 * the same senders in groups (complete and bipartite graphs): the sum over j of (q_i . k_j) v_j is
 * q_i S, S the sum of k_j v_j' over the group, so that a group costs O((receivers + senders) d_k
 * d_v) instead of O(receivers senders d). Nothing is saved: backward makes S anew.
 *
 *     d_q_i = S d_y_i      dS = sum over i of q_i d_y_i'      d_k_j = dS v_j      d_v_j = dS' k_j
 *
 * Katharopoulos et al. 2020. */
#include <lib/aggregate/fast/fast.h>
#include <lib/kernels/dense/dense.h>

/* Receivers row0 .. row1 - 1 hear senders lo .. hi - 1. */
typedef struct group {
    int64_t row0, row1, lo, hi;
} group_t;

/* The group that begins with g->row1; false: there is none. Receivers of an empty run are passed
 * over. */
static bool next_group(const gnn__pairs_t *pairs, group_t *g)
{
    while (g->row1 < pairs->n_rows && pairs->lo[g->row1] == pairs->hi[g->row1])
        g->row1++;
    if (g->row1 == pairs->n_rows)
        return false;
    g->row0 = g->row1;
    g->lo = pairs->lo[g->row0];
    g->hi = pairs->hi[g->row0];
    while (g->row1 < pairs->n_rows && pairs->lo[g->row1] == g->lo && pairs->hi[g->row1] == g->hi)
        g->row1++;
    return true;
}

/* Multiply-adds of a head, and whether nodes stand where rows do. */
static bool is_cheaper(const gnn__plan_t *plan, int64_t p)
{
    const gnn__part_t *part = &plan->view->parts[p];
    const gnn__pairs_t *pairs = &part->pairs;
    const double d_k = (double)plan->shape.d_k, d_v = (double)plan->shape.d_v;
    double grouped = 0;
    if (gnn__pairs_form(pairs) != GNN__SPANS || pairs->row_order || pairs->col_order ||
        part->scale_row || part->scale_col)
        return false;
    for (group_t g = {0}; next_group(pairs, &g);)
        grouped += (double)(g.row1 - g.row0 + g.hi - g.lo) * d_k * d_v;
    return grouped <= (double)pairs->count * (d_k + d_v);
}

static bool takes(const gnn__plan_t *plan)
{
    bool all = plan->hints.score == GNN__SCORE_DOT && plan->hints.weigher == GNN__WEIGHER_LINEAR &&
               plan->hints.message == GNN__MESSAGE_SENDER && plan->has[GNN_AGGREGATE_SRC_MESSAGE] &&
               plan->shape.key_heads == plan->shape.value_heads && plan->shape.softcap == 0 &&
               !plan->has_priors && !plan->dropping && !plan->how->edge_weights_out &&
               !plan->how->segment_weights_out && plan->edge_width == 0 && !plan->edge_key &&
               !plan->has[GNN_AGGREGATE_EDGE_WEIGHT] && !plan->has[GNN_AGGREGATE_EDGE_BIAS] &&
               plan->shape.d_k > 0 && plan->shape.d_v > 0 && plan->view->n_parts > 0;
    for (int64_t p = 0; all && p < plan->view->n_parts; p++)
        all = is_cheaper(plan, p);
    return all;
}

/* S, and dS in backward. */
static int sums(const gnn__plan_t *plan, int count, size_t *bytes)
{
    gnn__carve_t carve = {0};
    int64_t numbers = 0;
    carve.overflow |= !gnn__mul(plan->shape.d_k, plan->shape.d_v, &numbers) ||
                      !gnn__mul(numbers, count, &numbers);
    gnn__carve(&carve, numbers, sizeof(gnn_real_t));
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    GNN_TRY(sums(plan, 1, &call->forward_scratch));
    GNN_TRY(sums(plan, 2, &call->backward_scratch));
    call->in[GNN_AGGREGATE_QUERY].keep = call->in[GNN_AGGREGATE_KEY].keep =
        call->in[GNN_AGGREGATE_SRC_MESSAGE].keep = 1;
    return GNN_OK;
}

/* ---- products of blocks ---- */

/* Rows row0 .. row1 - 1 of a head's columns. */
typedef struct block {
    gnn_real_t *data;
    int64_t rows, cols, stride;
} block_t;

static block_t block_of(const gnn_tensor_t *t, int64_t row0, int64_t row1, int64_t head, int64_t width)
{
    return (block_t){gnn__row(t, row0) + head * width, row1 - row0, width, t->stride};
}

/* c = alpha a' b + beta c, over their rows. */
static int outer(const gnn__plan_t *plan, gnn_real_t alpha, block_t a, block_t b, gnn_real_t beta,
                 gnn_real_t *c)
{
    return gnn__dense(plan->context, &(gnn__product_t){.transpose_a = true,
                                                       .m = a.cols,
                                                       .n = b.cols,
                                                       .k = a.rows,
                                                       .lda = a.stride,
                                                       .ldb = b.stride,
                                                       .ldc = b.cols,
                                                       .alpha = alpha,
                                                       .beta = beta,
                                                       .a = a.data,
                                                       .b = b.data,
                                                       .c = c,
                                                       .threads = 1});
}

/* to += alpha from s, or from s'; s is d_k x d_v. */
static int through(const gnn__plan_t *plan, gnn_real_t alpha, block_t from, const gnn_real_t *s,
                   bool transposed, block_t to)
{
    return gnn__dense(plan->context, &(gnn__product_t){.transpose_b = transposed,
                                                       .m = from.rows,
                                                       .n = to.cols,
                                                       .k = from.cols,
                                                       .lda = from.stride,
                                                       .ldb = plan->shape.d_v,
                                                       .ldc = to.stride,
                                                       .alpha = alpha,
                                                       .beta = 1,
                                                       .a = from.data,
                                                       .b = s,
                                                       .c = to.data,
                                                       .threads = 1});
}

/* ---- one group and one head of keys and values ---- */

static int group_forward(const gnn__plan_t *plan, const group_t *g, int64_t shared, gnn_real_t *s)
{
    const int64_t each = plan->shape.heads / plan->shape.key_heads, d_k = plan->shape.d_k,
                  d_v = plan->shape.d_v;
    GNN_TRY(outer(plan, 1, block_of(&plan->in[GNN_AGGREGATE_KEY], g->lo, g->hi, shared, d_k),
                  block_of(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], g->lo, g->hi, shared, d_v), 0, s));
    for (int64_t a = shared * each; a < (shared + 1) * each; a++)
        GNN_TRY(through(plan, plan->shape.scale,
                        block_of(&plan->in[GNN_AGGREGATE_QUERY], g->row0, g->row1, a, d_k), s,
                        false, block_of(&plan->out, g->row0, g->row1, a, d_v)));
    return GNN_OK;
}

static int group_backward(const gnn__plan_t *plan, const group_t *g, int64_t shared, gnn_real_t *s)
{
    const int64_t each = plan->shape.heads / plan->shape.key_heads, d_k = plan->shape.d_k,
                  d_v = plan->shape.d_v;
    const gnn_tensor_t *d = plan->d;
    const block_t k = block_of(&plan->in[GNN_AGGREGATE_KEY], g->lo, g->hi, shared, d_k),
                  v = block_of(&plan->in[GNN_AGGREGATE_SRC_MESSAGE], g->lo, g->hi, shared, d_v);
    gnn_real_t *d_s = s + d_k * d_v;
    GNN_TRY(outer(plan, 1, k, v, 0, s));
    for (int64_t a = shared * each; a < (shared + 1) * each; a++) {
        const block_t q = block_of(&plan->in[GNN_AGGREGATE_QUERY], g->row0, g->row1, a, d_k),
                      d_y = block_of(&plan->d_out, g->row0, g->row1, a, d_v);
        GNN_TRY(outer(plan, plan->shape.scale, q, d_y, a == shared * each ? 0 : 1, d_s));
        if (gnn__wants_gradient(plan, GNN_AGGREGATE_QUERY))
            GNN_TRY(through(plan, plan->shape.scale, d_y, s, true,
                            block_of(&d[GNN_AGGREGATE_QUERY], g->row0, g->row1, a, d_k)));
    }
    if (gnn__wants_gradient(plan, GNN_AGGREGATE_KEY))
        GNN_TRY(through(plan, 1, v, d_s, true,
                        block_of(&d[GNN_AGGREGATE_KEY], g->lo, g->hi, shared, d_k)));
    if (gnn__wants_gradient(plan, GNN_AGGREGATE_SRC_MESSAGE))
        GNN_TRY(through(plan, 1, k, d_s, false,
                        block_of(&d[GNN_AGGREGATE_SRC_MESSAGE], g->lo, g->hi, shared, d_v)));
    return GNN_OK;
}

static int each_group(const gnn__plan_t *plan, gnn_real_t *s,
                      int (*run)(const gnn__plan_t *, const group_t *, int64_t, gnn_real_t *))
{
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        for (group_t g = {0}; next_group(&plan->view->parts[p].pairs, &g);)
            for (int64_t shared = 0; shared < plan->shape.key_heads; shared++)
                GNN_TRY(run(plan, &g, shared, s));
    return GNN_OK;
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    for (int64_t i = 0; i < plan->out.rows; i++)
        memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    return each_group(plan, call->scratch, group_forward);
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__zero_gradients(plan, 0);
    return each_group(plan, call->scratch, group_backward);
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "linear");
}

const gnn__way_t gnn__way_linear = {takes, sizes, forward, backward, NULL, describe};
