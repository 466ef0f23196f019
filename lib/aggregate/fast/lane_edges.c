/* Edge features and biases in attention with heads in lanes: packed weights, projected rows,
 * sums of the gradients of weights. */
#include <lib/aggregate/fast/lane_edges.h>

/* Values of a row of additive weights; features whose sums stay in registers. */
enum { TERM_ROW = 16, TOGETHER = 8 };

/* ---- memory ---- */

static gnn_real_t *matrix(gnn__carve_t *carve, bool needed, int64_t rows, int64_t cols)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(rows, cols, &count);
    return needed ? gnn__carve(carve, count, sizeof(gnn_real_t)) : NULL;
}

/* Edges, and the loops that a view adds, whose ids come after theirs. */
static int64_t logit_rows(const gnn__plan_t *plan)
{
    return plan->graph->n_edges + plan->graph->n_dst;
}

void gnn__lane_edges_carve(const gnn__plan_t *plan, gnn__carve_t *carve, const gnn__lanes_t *l,
                           bool backward, gnn__lane_edges_t *edges)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t n = plan->graph->n_dst + 1, d_e = plan->d_e;
    const bool rows = plan->lanes.edge_rows, terms = plan->lanes.edge_terms;
    const bool keys = rows && plan->edge_key, values = rows && plan->edge_message,
               sends = plan->lanes.edge_keys && l->layout != GNN__COLUMNS &&
                       !(l->groups > 0 && plan->lanes.one_matrix);
    edges->stride = gnn__round_up(d_e * l->width, 16);
    edges->size = terms ? d_e * TERM_ROW : d_e * (l->key_numbers + l->value_numbers);
    edges->weights = matrix(carve, terms && plan->edge_key, d_e, TERM_ROW);
    /* loops that a view adds have rows too; registers reach beyond the last one */
    edges->logits =
        matrix(carve, terms && plan->edge_key && d_e > l->width, logit_rows(plan) + 16, l->width);
    edges->key_rows = matrix(carve, keys || plan->lanes.edge_keys, d_e, l->key_numbers);
    edges->value_rows = matrix(carve, values, d_e, l->value_numbers);
    edges->queries = matrix(carve, keys, n, edges->stride);
    edges->outputs = matrix(carve, values && backward, n, edges->stride);
    edges->transposed =
        matrix(carve, rows, s->heads * gnn__max(s->d_k, s->d_v), gnn__round_up(d_e, TOGETHER));
    edges->pairs = matrix(carve, backward && (rows || sends), logit_rows(plan), 2 * l->width);
    edges->partials = matrix(carve, backward && d_e > 0, gnn__most_chunks(plan->view), edges->size);
}

/* ---- weights and projections ---- */

static void pack_terms(const gnn__plan_t *plan, const gnn__lane_edges_t *edges)
{
    const gnn_tensor_t *weights = &plan->in[GNN_AGGREGATE_EDGE_KEY_WEIGHT];
    if (!edges->weights)
        return;
    memset(edges->weights, 0, sizeof *edges->weights * (size_t)(plan->d_e * TERM_ROW));
    for (int64_t f = 0; f < plan->d_e; f++)
        memcpy(edges->weights + f * TERM_ROW, gnn__row(weights, f),
               sizeof *weights->data * (size_t)weights->cols);
}

static void pack_rows(const gnn__plan_t *plan, int input, int64_t d, int64_t numbers, int width,
                      gnn_real_t *rows)
{
    const gnn_tensor_t *weights = &plan->in[input];
    const gnn__matrix_t from = {weights->data, weights->stride}, to = {rows, numbers};
    if (rows)
        gnn__attention_lanes()->pack(&from, 0, plan->d_e, plan->shape.heads, d, width, &to, numbers);
}

/* Transposes the weights: row x of `to` is column x, padded with zeros. */
static void transpose_weights(const gnn_tensor_t *weights, int64_t d_e, gnn_real_t *to)
{
    const int64_t stride = gnn__round_up(d_e, TOGETHER);
    memset(to, 0, sizeof *to * (size_t)(weights->cols * stride));
    for (int64_t f = 0; f < d_e; f++)
        for (int64_t x = 0; x < weights->cols; x++)
            to[x * stride + f] = gnn__row(weights, f)[x];
}

/* row[f * width + h] = row f of the weights times x, for head h of d values. */
static void project_row(const gnn_real_t *transposed, const gnn_real_t *x, int64_t heads, int64_t d,
                        int64_t d_e, int width, gnn_real_t *row)
{
    const int64_t stride = gnn__round_up(d_e, TOGETHER);
    for (int64_t h = 0; h < heads; h++, x += d, transposed += d * stride)
        for (int64_t f = 0; f < d_e; f += TOGETHER) {
            gnn_real_t sum[TOGETHER] = {0};
            for (int64_t c = 0; c < d; c++)
                for (int k = 0; k < TOGETHER; k++)
                    sum[k] += x[c] * transposed[c * stride + f + k];
            for (int64_t k = 0; k < TOGETHER && f + k < d_e; k++)
                row[(f + k) * width + h] = sum[k];
        }
}

static void project_rows(const gnn__plan_t *plan, int input, const gnn_tensor_t *x, int64_t d,
                         const gnn__lanes_t *l, const gnn__lane_edges_t *edges, int threads,
                         gnn_real_t *to)
{
    const int64_t heads = plan->shape.heads, d_e = plan->d_e, stride = edges->stride;
    if (!to)
        return;
    transpose_weights(&plan->in[input], d_e, edges->transposed);
    GNN__PARALLEL_FOR (threads, int64_t i = 0; i <= x->rows; i++) {
        /* one row more: registers reach beyond the last */
        memset(to + i * stride, 0, sizeof *to * (size_t)stride);
        if (i < x->rows)
            project_row(edges->transposed, gnn__row(x, i), heads, d, d_e, l->width, to + i * stride);
    }
}

void gnn__lane_edges_fill(const gnn__plan_t *plan, bool backward, int threads,
                          gnn__lane_edges_t *edges, gnn__lanes_t *l)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    pack_terms(plan, edges);
    pack_rows(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, s->d_k, l->key_numbers, l->width, edges->key_rows);
    pack_rows(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, s->d_v, l->value_numbers, l->width,
              edges->value_rows);
    if (edges->key_rows && edges->queries)
        l->key_rows = edges->key_rows;
    else
        l->edge_keys = edges->key_rows;
    project_rows(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, &plan->in[GNN_AGGREGATE_QUERY], s->d_k, l,
                 edges, threads, edges->queries);
    if (backward)
        project_rows(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, &plan->d_out, s->d_v, l, edges,
                     threads, edges->outputs);
    if (edges->logits) /* loops add nothing */
        memset(edges->logits + plan->graph->n_edges * l->width, 0,
               sizeof *edges->logits * (size_t)(plan->graph->n_dst * l->width));
    l->pair_weights = (gnn__matrix_t){edges->pairs, 2 * l->width};
    l->edge_weights = edges->weights;
    l->edge_logits = (gnn__matrix_t){edges->logits, l->width};
    l->value_rows = edges->value_rows;
    l->edge_queries = (gnn__matrix_t){edges->queries, edges->stride};
    l->edge_outputs = (gnn__matrix_t){edges->outputs, edges->stride};
}

/* ---- gradients of weights ---- */

/* Heads of d values each, fastest or one after another (l->width 1), `numbers` in a row. */
static void add_rows(const gnn__plan_t *plan, int input, const gnn_real_t *sums, int64_t d,
                     int64_t numbers, int width)
{
    for (int64_t f = 0; f < plan->d_e; f++, sums += numbers) {
        gnn_real_t *to = gnn__row(&plan->d[input], f);
        for (int64_t h = 0; h < plan->shape.heads; h++)
            for (int64_t c = 0; c < d; c++)
                to[h * d + c] += sums[c * width + h];
    }
}

/* With the sums R of additive-v2 scores, a R is the gradient of the weights. */
static void add_vector_sums(const gnn__plan_t *plan, const gnn_real_t *sums, const gnn__lanes_t *l)
{
    const gnn_tensor_t *d_weights = &plan->d[GNN_AGGREGATE_EDGE_KEY_WEIGHT];
    const gnn_real_t *a = plan->in[GNN_AGGREGATE_SCORE_PARAMETERS].data;
    const int64_t d = plan->shape.d_k;
    const int lanes = l->layout == GNN__COLUMNS ? 16 : 1; /* whose sums are added up */
    for (int64_t f = 0; f < plan->d_e; f++, sums += l->key_numbers)
        for (int64_t x = 0; x < plan->shape.heads * d; x++)
            for (int k = 0; k < lanes; k++)
                gnn__row(d_weights, f)[x] += a[x] * sums[(x % d * l->width + x / d) * lanes + k];
}

int gnn__lane_edges_add(const gnn__plan_t *plan, const gnn__lane_edges_t *edges,
                        const gnn__lanes_t *l, int64_t chunks)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const bool keys = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT),
               values = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT);
    const gnn_real_t *sums = edges->partials;
    GNN_TRY(gnn__sum_slices(plan, edges->partials, &chunks, edges->size));
    for (int64_t c = 0; c < chunks; c++, sums += edges->size) {
        if (edges->weights && keys)
            add_rows(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, sums, 1, TERM_ROW, l->width);
        if (l->edge_keys && keys)
            add_vector_sums(plan, sums, l);
        if (l->key_rows && keys)
            add_rows(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT, sums, s->d_k, l->key_numbers, l->width);
        if (edges->value_rows && values)
            add_rows(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, sums + plan->d_e * l->key_numbers,
                     s->d_v, l->value_numbers, l->width);
    }
    return GNN_OK;
}

/* A loop is the last pair of its row. Receivers without one have a row of logits too: it stays
 * 0, and so does its gradient. */
void gnn__lane_loop_logits(const gnn__plan_t *plan, const gnn__lanes_t *l, int threads)
{
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__pairs_t *pairs = &plan->view->parts[p].pairs;
        const int64_t rows = pairs->edge ? pairs->n_rows : 0;
        GNN__PARALLEL_FOR (threads, int64_t i = 0; i < rows; i++) {
            const int64_t to = gnn__pairs_to(pairs, i), edge = to > 0 ? pairs->edge[to - 1] : -1;
            if (edge >= plan->graph->n_edges && to > gnn__pairs_from(pairs, i))
                gnn__attention_lanes()->edge_logits(l, edge, edge + 1, NULL);
        }
    }
}
