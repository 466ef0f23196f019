/* Attention whose operands are not as tiles read them, by copies that are:
 *
 *     unlike counts of key and value heads    rows of both with the heads of the least common
 *                                             multiple, each repeated
 *     priors receiver (r) and sender (s)      two columns more per head:
 *                                             scale (q, 1 / scale, r / scale) . (k, s, 1)
 *
 * The copies cost O(n heads d) time and memory, and the strategy of tiles and rows runs the call.
 * Backward adds the gradients of the copies up. */
#include <lib/aggregate/fast/attention_call.h>
#include <lib/aggregate/strategies.h>

#include <math.h>

/* The columns that node priors add to a head: the sender's term, then the receiver's. */
enum { NODE_COLUMNS = 2 };

/* Copies of three inputs, in this order. */
enum { QUERIES, KEYS, VALUES, COPIES };
static const int inputs[COPIES] = {GNN_AGGREGATE_QUERY, GNN_AGGREGATE_KEY, GNN_AGGREGATE_SRC_MESSAGE};

static bool is_node_prior(const gnn__plan_t *plan, int p)
{
    return plan->hints.prior[p] == GNN__PRIOR_RECEIVER || plan->hints.prior[p] == GNN__PRIOR_SENDER;
}

static bool has_node_prior(const gnn__plan_t *plan)
{
    bool found = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        found |= is_node_prior(plan, p);
    return found;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y > 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Count and width of an input's heads: those of the call, or of the aligned one. */
static int64_t heads_of(const gnn__plan_t *plan, int copy)
{
    return copy == QUERIES ? plan->shape.heads
           : copy == KEYS  ? plan->shape.key_heads
                           : plan->shape.value_heads;
}

static int64_t width_of(const gnn__plan_t *plan, int copy)
{
    return copy == VALUES ? plan->shape.d_v : plan->shape.d_k;
}

/* True if the strategy reads a copy in place of the input. */
static bool is_copied(const gnn__plan_t *plan, const gnn__plan_t *aligned, int copy)
{
    return heads_of(plan, copy) != heads_of(aligned, copy) ||
           width_of(plan, copy) != width_of(aligned, copy);
}

/* The shape of the call with copies; the copies themselves are still missing. */
static gnn__plan_t aligned_plan(const gnn__plan_t *plan)
{
    gnn__plan_t aligned = *plan;
    gnn_aggregate_shape_t *s = &aligned.shape;
    const bool nodes = has_node_prior(plan);
    const int64_t heads = nodes ? s->heads : common_multiple(s->key_heads, s->value_heads);
    s->key_heads = s->value_heads = heads;
    s->d_k += nodes ? NODE_COLUMNS : 0;
    s->message_width = aligned.message_width = heads * s->d_v;
    aligned.query_width = s->heads * s->d_k;
    aligned.key_width = heads * s->d_k;
    aligned.has_priors = false;
    for (int p = 0; p < GNN_PRIORS; p++) {
        const bool node = is_node_prior(plan, p);
        aligned.prior[p] = node ? NULL : plan->prior[p];
        aligned.hints.prior[p] = node ? GNN__PRIOR_NONE : plan->hints.prior[p];
        aligned.has[GNN_AGGREGATE_PRIOR_0 + p] &= !node;
        if (node)
            aligned.d[GNN_AGGREGATE_PRIOR_0 + p].data = NULL;
        aligned.has_priors |= aligned.prior[p] != NULL;
    }
    return aligned;
}

/* Keys by distance multiply the query's own columns, and a softcap is not for priors; products in
 * 16 bits would round them. */
static bool takes_node_priors(const gnn__plan_t *plan)
{
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->prior[p] && plan->prior[p]->key_row)
            return false;
    return plan->shape.softcap == 0 && fabs((double)plan->shape.scale) > 1e-6 &&
           gnn__attention_level(plan->context) == GNN_PRECISION_HIGHEST;
}

static bool takes(const gnn__plan_t *plan)
{
    const bool nodes = has_node_prior(plan);
    /* Sizes are asked for before rows are mapped. */
    if (plan->map && plan->shape.d_k != plan->map_shape.d_k)
        return false;
    if (!plan->scored || plan->hints.score != GNN__SCORE_DOT || plan->edge_key ||
        plan->hints.message != GNN__MESSAGE_SENDER ||
        (!nodes && plan->shape.key_heads == plan->shape.value_heads) ||
        (nodes && !takes_node_priors(plan)) || plan->shape.d_k == 0 || plan->shape.d_v == 0)
        return false;
    const gnn__plan_t aligned = aligned_plan(plan);
    return gnn__strategy_attention.takes(&aligned);
}

/* ---- memory ---- */

typedef struct {
    gnn_tensor_t rows[COPIES], d_rows[COPIES]; /* data NULL where the input is read in place */
} copies_t;

static int carve_copies(const gnn__plan_t *plan, const gnn__plan_t *aligned, void *scratch,
                        bool backward, copies_t *copies, size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    *copies = (copies_t){0};
    for (int c = 0; c < COPIES; c++) {
        const int64_t rows = plan->in[inputs[c]].rows,
                      cols = heads_of(aligned, c) * width_of(aligned, c);
        int64_t count = 0;
        if (!is_copied(plan, aligned, c))
            continue;
        carve.overflow |= !gnn__mul(rows, cols, &count);
        copies->rows[c] =
            (gnn_tensor_t){gnn__carve(&carve, count, sizeof(gnn_real_t)), rows, cols, cols};
        if (backward)
            copies->d_rows[c] =
                (gnn_tensor_t){gnn__carve(&carve, count, sizeof(gnn_real_t)), rows, cols, cols};
    }
    return gnn__carved(&carve, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    const gnn__plan_t aligned = aligned_plan(plan);
    copies_t copies;
    size_t bytes;
    GNN_TRY(gnn__strategy_attention.sizes(&aligned, call));
    GNN_TRY(carve_copies(plan, &aligned, NULL, false, &copies, &bytes));
    call->forward_scratch += bytes;
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(carve_copies(plan, &aligned, NULL, true, &copies, &bytes));
    call->backward_scratch += bytes;
    gnn__attention_keep(plan, call);
    return GNN_OK;
}

/* ---- copies ---- */

/* The sum of a node's priors of one kind for a head; 0 where there is none. */
static gnn_real_t node_term(const gnn__plan_t *plan, gnn__prior_kind_t kind, int64_t node,
                            int64_t head)
{
    gnn_real_t sum = 0;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (plan->hints.prior[p] == kind)
            sum += gnn__row(&plan->in[GNN_AGGREGATE_PRIOR_0 + p], node)[head];
    return sum;
}

/* The columns after a head's own. */
static void fill_node_columns(const gnn__plan_t *plan, int copy, int64_t node, int64_t head,
                              gnn_real_t *columns)
{
    if (copy == KEYS) {
        columns[0] = node_term(plan, GNN__PRIOR_SENDER, node, head);
        columns[1] = 1;
    } else {
        columns[0] = 1 / plan->shape.scale;
        columns[1] = node_term(plan, GNN__PRIOR_RECEIVER, node, head) / plan->shape.scale;
    }
}

static int row_threads(const gnn__plan_t *plan, const gnn_tensor_t *rows)
{
    return gnn__plan_threads(plan, rows->rows * rows->cols);
}

/* Each of the `heads` of the copy is one of the input's `from`, or wider than it. */
static void copy_rows(const gnn__plan_t *plan, const gnn__plan_t *aligned, int copy,
                      const gnn_tensor_t *to)
{
    const gnn_tensor_t *x = &plan->in[inputs[copy]];
    const int64_t heads = heads_of(aligned, copy), width = width_of(aligned, copy),
                  own = width_of(plan, copy), repeats = heads / heads_of(plan, copy);
    GNN__PARALLEL_FOR (row_threads(plan, to), int64_t i = 0; i < x->rows; i++) {
        const gnn_real_t *from = gnn__row(x, i);
        gnn_real_t *row = gnn__row(to, i);
        for (int64_t a = 0; a < heads; a++, row += width) {
            memcpy(row, from + a / repeats * own, (size_t)own * sizeof *row);
            if (width > own)
                fill_node_columns(plan, copy, i, a, row + own);
        }
    }
}

/* True if the gradient of a copy is needed: for the input, or for a prior in its columns. */
static bool wants_copy(const gnn__plan_t *plan, int copy)
{
    const gnn__prior_kind_t kind = copy == QUERIES ? GNN__PRIOR_RECEIVER : GNN__PRIOR_SENDER;
    bool wants = gnn__wants_gradient(plan, inputs[copy]);
    for (int p = 0; copy != VALUES && p < GNN_PRIORS; p++)
        wants |= plan->hints.prior[p] == kind && gnn__wants_gradient(plan, GNN_AGGREGATE_PRIOR_0 + p);
    return wants;
}

/* Makes the copies and puts them, and the memory of their gradients, into the aligned plan. */
static void copy_inputs(const gnn__plan_t *plan, const copies_t *copies, gnn__plan_t *aligned)
{
    for (int c = 0; c < COPIES; c++) {
        if (!copies->rows[c].data)
            continue;
        copy_rows(plan, aligned, c, &copies->rows[c]);
        aligned->in[inputs[c]] = copies->rows[c];
        aligned->d[inputs[c]] = wants_copy(plan, c) ? copies->d_rows[c] : (gnn_tensor_t){0};
        aligned->d_added[inputs[c]] = false;
    }
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__plan_t aligned = aligned_plan(plan);
    copies_t copies;
    size_t bytes;
    GNN_TRY(carve_copies(plan, &aligned, call->scratch, false, &copies, &bytes));
    copy_inputs(plan, &copies, &aligned);
    call->scratch = (char *)call->scratch + bytes;
    const int rc = gnn__strategy_attention.forward(&aligned, call);
    call->scratch = (char *)call->scratch - bytes;
    return rc;
}

/* ---- gradients ---- */

/* The gradients of one row's heads, added up where the copy repeats a head. */
static void add_row(const gnn_real_t *from, int64_t heads, int64_t width, int64_t repeats,
                    int64_t own, gnn_real_t *to)
{
    for (int64_t a = 0; a < heads; a++)
        for (int64_t c = 0; c < own; c++)
            to[a / repeats * own + c] += from[a * width + c];
}

static void add_gradient(const gnn__plan_t *plan, const gnn__plan_t *aligned, int copy,
                         const gnn_tensor_t *d_rows)
{
    const gnn_tensor_t *d_x = &plan->d[inputs[copy]], *x = &plan->in[inputs[copy]];
    const int64_t heads = heads_of(aligned, copy), width = width_of(aligned, copy),
                  own = width_of(plan, copy), repeats = heads / heads_of(plan, copy);
    if (!d_x->data)
        return;
    GNN__PARALLEL_FOR (gnn__gradient_threads(plan, x->rows * heads * width), int64_t i = 0;
                       i < x->rows; i++)
        add_row(gnn__row(d_rows, i), heads, width, repeats, own, gnn__row(d_x, i));
}

/* A sender's prior stands in its key as it is, a receiver's in its query over the scale. */
static void add_prior_gradient(const gnn__plan_t *plan, int p, const copies_t *copies)
{
    const bool sender = plan->hints.prior[p] == GNN__PRIOR_SENDER;
    const gnn_tensor_t *d = &plan->d[GNN_AGGREGATE_PRIOR_0 + p],
                       *d_rows = &copies->d_rows[sender ? KEYS : QUERIES];
    const int64_t own = plan->shape.d_k, width = own + NODE_COLUMNS, heads = plan->shape.heads;
    const gnn_real_t factor = sender ? 1 : 1 / plan->shape.scale;
    if (!d->data || !is_node_prior(plan, p))
        return;
    for (int64_t i = 0; i < d->rows; i++)
        for (int64_t a = 0; a < heads; a++)
            gnn__row(d, i)[a] += factor * gnn__row(d_rows, i)[a * width + own + (sender ? 0 : 1)];
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    gnn__plan_t aligned = aligned_plan(plan);
    copies_t copies;
    size_t bytes;
    GNN_TRY(carve_copies(plan, &aligned, call->scratch, true, &copies, &bytes));
    gnn__zero_gradients(plan, 0);
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        aligned.d_added[k] = true;
    copy_inputs(plan, &copies, &aligned);
    call->scratch = (char *)call->scratch + bytes;
    const int rc = gnn__strategy_attention.backward(&aligned, call);
    call->scratch = (char *)call->scratch - bytes;
    for (int c = 0; rc == GNN_OK && c < COPIES; c++)
        if (copies.rows[c].data)
            add_gradient(plan, &aligned, c, &copies.d_rows[c]);
    for (int p = 0; rc == GNN_OK && p < GNN_PRIORS; p++)
        add_prior_gradient(plan, p, &copies);
    return rc;
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    const gnn__plan_t aligned = aligned_plan(plan);
    char under[32];
    gnn__strategy_attention.describe(&aligned, under, sizeof under);
    snprintf(text, size, "aligned+%s", under);
}

const gnn__strategy_t gnn__strategy_aligned = {
    .takes = takes, .sizes = sizes, .forward = forward, .backward = backward, .describe = describe};
