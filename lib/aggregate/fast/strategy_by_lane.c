/* The strategy of attention on edges with few heads, by the kernels that keep heads in lanes
 * (lib/kernels/attention/by_lane/by_lane.h): copies with heads fastest where rows do not lie
 * right already, then one pass by receiver; backward one pass over receivers without edges,
 * one by receiver unless scores are additive, and one by sender unless receivers have done its
 * work. */
#include <graphs/halo.h>
#include <lib/aggregate/fast/attention_call.h>
#include <lib/aggregate/fast/lane_edges.h>
#include <lib/aggregate/strategies.h>
#include <lib/kernels/attention/by_lane/by_lane.h>

#include <omp.h>

/* The gradient of a dot score's bias is found by dividing by the scale. */
static bool takes_edges(const gnn__plan_t *plan)
{
    if (plan->hints.score != GNN__SCORE_DOT)
        return plan->edge_width == 0;
    return !plan->has[GNN_AGGREGATE_EDGE_MESSAGE_BIAS] &&
           (!plan->has[GNN_AGGREGATE_EDGE_BIAS] || plan->shape.scale != 0);
}

/* Dot scores on spans go in tiles. */
static bool takes(const gnn__plan_t *plan)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const bool dot = plan->hints.score == GNN__SCORE_DOT;
    if (!gnn__attention_is_fast(plan) || !gnn__attention_lanes() || s->heads > GNN__LANES_HEADS ||
        s->key_heads != s->heads || !(s->slope >= 0 && s->slope <= 1) ||
        plan->has[GNN_AGGREGATE_EDGE_WEIGHT] || plan->has_priors || plan->by_distance ||
        plan->shape.softcap > 0 || plan->hints.weigher != GNN__WEIGHER_SOFTMAX || !takes_edges(plan))
        return false;
    for (int64_t p = 0; p < plan->view->n_parts; p++) {
        const gnn__part_t *part = &plan->view->parts[p];
        if (part->scale_row || part->scale_col ||
            (dot && gnn__pairs_form(&part->pairs) != GNN__EDGES))
            return false;
    }
    return true;
}

/* Passes by sender read values of pairs that a pass by receiver stored, and write gradients of
 * edges: with edge inputs both ends of a pair must be at one rank. */
static bool takes_over_ranks(const gnn__plan_t *plan)
{
    return !plan->edge_key && !plan->edge_message && !plan->has[GNN_AGGREGATE_EDGE_BIAS];
}

/* ---- choices ---- */

/* Mean pairs per node from which a choice pays (docs/decisions/006-heads-in-lanes.md). */
enum {
    /* packed copies are faster than permuting both weights of a pair in place, in training; so
     * are matrices of groups */
    COPY_FROM = 64,
    FACTORS_FROM = 8, /* most pairs lie in rows that are long enough for factors */
    FILL_FROM = 16    /* pairs fill registers */
};

static int64_t pairs_per_node(const gnn__plan_t *plan)
{
    const int64_t nodes = (plan->graph->n_dst + plan->graph->n_src) / 2;
    int64_t pairs = 0;
    if (plan->graph->wide_of) /* the same choices on all ranks */
        return plan->view->mean_pairs;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs.count;
    return nodes > 0 ? pairs / nodes : 0;
}

/* The first that fits. The kernels of GNN__NARROW and GNN__SHARED are for additive scores,
 * those of GNN__COLUMNS for the others. */
static gnn__layout_t choose_layout(const gnn__plan_t *plan, const gnn__lane_choices_t *c)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const bool additive = c->score == GNN__SCORE_ADDITIVE;
    const int64_t in_place = additive ? gnn__attention_lanes()->in_place : 0, row = s->heads * s->d_v;
    if (!additive && s->heads == 1 && s->d_k <= GNN__LANES_COLUMNS &&
        s->d_v <= GNN__LANES_COLUMNS && pairs_per_node(plan) >= FILL_FROM)
        return GNN__COLUMNS;
    if (s->d_v % 16 == 0 &&
        (additive ? s->heads == 1 || s->d_v % 64 == 0 : s->heads == 1 && s->d_k % 16 == 0))
        return GNN__WHOLE;
    if (s->heads == 1 && s->d_v < in_place)
        return GNN__NARROW;
    if (s->heads == c->width && additive && gnn__attention_lanes()->shares && row % 16 == 0 &&
        (s->d_v == 2 || s->d_v == 4 || s->d_v == 8) &&
        !(plan->recording && pairs_per_node(plan) >= COPY_FROM))
        return GNN__SHARED;
    return GNN__PACKED;
}

static int choose_factors(const gnn__plan_t *plan, const gnn__lane_choices_t *c)
{
    const int64_t of_one = 2 + plan->shape.d_v;
    const bool narrow = c->layout == GNN__NARROW && of_one <= gnn__attention_lanes()->in_place;
    if (c->score != GNN__SCORE_ADDITIVE || !(narrow || plan->shape.heads == 8) ||
        !gnn__attention_lanes()->factors || pairs_per_node(plan) < FACTORS_FROM || c->edge_terms)
        return 0;
    return !narrow || of_one > 8 ? 16 : of_one > 4 ? 8 : 4;
}

/* If keys are values, backward goes through pairs once for both their ends. Receivers form
 * groups, each with a matrix of its own for the gradients of senders, which no two threads
 * write; in the end the matrices are added up. The cost, in time and memory, is some values
 * per pair: eight heads of eight need many pairs to be worth it. */
static int64_t choose_groups(const gnn__plan_t *plan, const gnn__lane_choices_t *c)
{
    enum { FEWEST = 8, MOST = 32, OF_A_PAIR = 4 };
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t pairs = pairs_per_node(plan);
    if (c->score != GNN__SCORE_ADDITIVE_V2 || plan->view->n_parts != 1 || s->d_k != s->d_v ||
        plan->graph->wide_of)
        return 0;
    if (c->layout != GNN__COLUMNS && (!gnn__attention_lanes()->both_ends || c->layout != GNN__PACKED ||
                                      c->width != 8 || s->d_k != 8 || pairs < COPY_FROM))
        return 0;
    return gnn__max(FEWEST, gnn__min(OF_A_PAIR * pairs / (s->heads * s->d_k), MOST));
}

/* Values of a row whose heads are d wide: whole registers. */
static int64_t numbers_of(const gnn__lane_choices_t *c, int64_t heads, int64_t d)
{
    return c->layout == GNN__COLUMNS
               ? 16 * d
               : gnn__round_up(d * (c->layout == GNN__PACKED ? c->width : heads), 16);
}

static void choose_edges(const gnn__plan_t *plan, gnn__lane_choices_t *c)
{
    const bool bias = plan->has[GNN_AGGREGATE_EDGE_BIAS],
               features = plan->edge_key || plan->edge_message;
    c->edge_terms = c->score == GNN__SCORE_ADDITIVE && (plan->edge_key || bias);
    c->edge_rows = c->score == GNN__SCORE_DOT && features;
    c->edge_keys = c->score == GNN__SCORE_ADDITIVE_V2 && plan->edge_key;
    c->edge_products = c->score != GNN__SCORE_ADDITIVE && (features || bias);
    c->wants_edge_weights = gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_KEY_WEIGHT) ||
                            gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT);
    c->wants_edges = c->wants_edge_weights ||
                     gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES) ||
                     gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_BIAS);
}

/* A map makes keys of their own. */
static void choose(gnn__plan_t *plan)
{
    const gnn_aggregate_shape_t *s = &plan->shape;
    const gnn__attention_t a = gnn__attention_describe(plan);
    const bool additive = a.score == GNN__SCORE_ADDITIVE;
    gnn__lane_choices_t *c = &plan->lanes;
    *c = (gnn__lane_choices_t){.score = a.score,
                               .width = s->heads == 1   ? 1
                                        : s->heads <= 4 ? 4
                                                        : 8};
    choose_edges(plan, c);
    c->layout = choose_layout(plan, c);
    c->value_numbers = numbers_of(c, s->heads, s->d_v);
    c->key_numbers = additive ? c->width : numbers_of(c, s->heads, s->d_k);
    c->one_matrix = !plan->map && gnn__keys_are_values(&a);
    c->copies_values = c->layout == GNN__PACKED;
    c->copies_keys = additive ? s->heads != c->width : c->copies_values;
    c->factors = choose_factors(plan, c);
    c->groups = choose_groups(plan, c);
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    static const char *const layouts[] = {[GNN__WHOLE] = "whole",
                                          [GNN__PACKED] = "packed",
                                          [GNN__NARROW] = "narrow",
                                          [GNN__SHARED] = "shared",
                                          [GNN__COLUMNS] = "columns"};
    const gnn__lane_choices_t *c = &plan->lanes;
    snprintf(text, size, "by_lane/%s%s%s", layouts[c->layout], c->factors > 0 ? "+factors" : "",
             plan->recording && c->one_matrix && c->groups > 0 ? "+groups" : "");
}

/* ---- memory ---- */

typedef struct lane_run {
    gnn__attention_t a;
    gnn__lanes_t l;
    const gnn__lane_choices_t *choice; /* the plan's */
    int64_t *bounds;
    gnn_real_t *scratch; /* scratch_size values per thread */
    int64_t scratch_size;
    gnn_real_t *q, *k, *v, *dy, *weights; /* copies; NULL: not needed */
    gnn_real_t *d_a;                      /* chunks x heads * d_k */
    gnn__lane_edges_t edges;
    bool has_halo; /* over ranks: the halo's rows are packed, or have their records */
} lane_run_t;

/* Everything that needs no memory. */
static void begin(const gnn__plan_t *plan, lane_run_t *run)
{
    memset(run, 0, sizeof *run);
    run->a = gnn__attention_describe(plan);
    run->choice = &plan->lanes;
    if (gnn__has_loop_features(plan)) /* loops that a view adds have the ids after the edges' */
        run->a.edges += plan->graph->n_dst;
    run->l = (gnn__lanes_t){
        .a = &run->a,
        .width = run->choice->width,
        .layout = run->choice->layout,
        .value_numbers = run->choice->value_numbers,
        .key_numbers = run->choice->key_numbers,
        .slope = run->choice->score == GNN__SCORE_ADDITIVE && !plan->has[GNN_AGGREGATE_EDGE_BIAS]
                     ? plan->shape.slope
                     : 1,
        .q = run->a.q,
        .k = run->a.k,
        .v = run->a.v,
        .n_src = plan->graph->n_src,
        .row_numbers = run->choice->edge_keys && run->choice->layout != GNN__COLUMNS
                           ? run->choice->key_numbers
                           : 0};
    run->scratch_size = gnn__attention_lanes_scratch(&run->l);
}

/* NULL if it is not needed. */
static gnn_real_t *matrix(gnn__carve_t *carve, bool needed, int64_t rows, int64_t cols)
{
    int64_t count = 0;
    carve->overflow |= !gnn__mul(rows, cols, &count);
    return needed ? gnn__carve(carve, count, sizeof(gnn_real_t)) : NULL;
}

static void carve_both(const gnn__plan_t *plan, gnn__carve_t *carve, lane_run_t *run)
{
    const gnn__lane_choices_t *c = run->choice;
    const int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src;
    run->bounds = gnn__carve(carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    run->scratch = matrix(carve, true, run->scratch_size, plan->threads);
    run->q = matrix(carve, c->copies_keys, n_dst, c->key_numbers);
    run->k = matrix(carve, c->copies_keys, n_src, c->key_numbers);
    run->v = matrix(carve, c->copies_values && !c->one_matrix, n_src, c->value_numbers);
    run->weights = matrix(carve, plan->has[GNN_AGGREGATE_SCORE_PARAMETERS], 1, c->key_numbers);
}

static void carve_forward(const gnn__plan_t *plan, gnn__carve_t *carve, lane_run_t *run)
{
    const bool parts = plan->view->n_parts > 1; /* a single part has no state to hand on */
    const int64_t n_dst = plan->graph->n_dst, heads = plan->shape.heads;
    run->l.factors = run->choice->factors;
    run->l.key_factors = matrix(carve, run->l.factors > 0, plan->graph->n_src, run->l.factors);
    run->a.state.sum = matrix(carve, parts, n_dst, heads);
    run->a.state.largest = matrix(carve, parts && !plan->recording, n_dst, heads);
}

static void carve_backward(const gnn__plan_t *plan, gnn__carve_t *carve, lane_run_t *run)
{
    const gnn__lane_choices_t *c = run->choice;
    const gnn_aggregate_shape_t *s = &plan->shape;
    const int64_t n_dst = plan->graph->n_dst, n_src = plan->graph->n_src;
    const bool columns = c->layout == GNN__COLUMNS;
    gnn__lanes_t *l = &run->l;
    run->dy = matrix(carve, c->copies_values, n_dst, c->value_numbers);
    l->records.stride =
        (c->score == GNN__SCORE_ADDITIVE ? 3 : 2) * c->width + (columns ? s->d_k + s->d_v : 0);
    l->records.at = matrix(carve, true, n_dst, l->records.stride);
    run->d_a = matrix(carve, plan->has[GNN_AGGREGATE_SCORE_PARAMETERS],
                      gnn__most_chunks(plan->view), s->heads * s->d_k);
    l->groups = c->groups;
    l->sender_numbers = columns ? s->d_k : c->key_numbers;
    l->d_senders = matrix(carve, l->groups > 0, l->groups * n_src, l->sender_numbers);
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, lane_run_t *run,
                  size_t *bytes)
{
    gnn__carve_t carve = {.base = scratch};
    begin(plan, run);
    carve_both(plan, &carve, run);
    if (backward)
        carve_backward(plan, &carve, run);
    else
        carve_forward(plan, &carve, run);
    gnn__lane_edges_carve(plan, &carve, &run->l, backward, &run->edges);
    return gnn__carved(&carve, bytes);
}

/* Values per receiver in saved[k]. */
static int64_t per_receiver(const lane_run_t *run, int k)
{
    const int64_t values[] = {run->a.heads, run->l.value_numbers, run->l.width};
    return k < (run->choice->score == GNN__SCORE_ADDITIVE ? 3 : 1) ? values[k] : 0;
}

static int64_t saved_row(const gnn__plan_t *plan, int k)
{
    lane_run_t run;
    size_t bytes;
    return memory(plan, NULL, false, &run, &bytes) == GNN_OK ? per_receiver(&run, k) : 0;
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    lane_run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    GNN_TRY(memory(plan, NULL, true, &run, &call->backward_scratch));
    for (int k = 0; k < GNN_OP_SAVED && per_receiver(&run, k) > 0; k++) {
        gnn__carve_t saved = {0};
        matrix(&saved, true, plan->graph->n_dst, per_receiver(&run, k));
        GNN_TRY(gnn__carved(&saved, &call->saved_bytes[k]));
    }
    gnn__attention_keep(plan, call);
    return GNN_OK;
}

/* ---- passes ---- */

enum { ROWS_AT_ONCE = 256, EDGES_AT_ONCE = 1024 };

/* Rows of nodes: those at hand, or those of the halo, which are none without ranks. */
typedef struct {
    int64_t first, end;
} nodes_t;

static nodes_t nodes_at_hand(const gnn__plan_t *plan, int64_t rows)
{
    return (nodes_t){0, gnn__rows_at_hand(plan, rows)};
}

static nodes_t nodes_of_halo(const gnn__plan_t *plan, int64_t rows)
{
    return (nodes_t){gnn__rows_at_hand(plan, rows), rows};
}

/* Copies rows of `from`, heads of width d, if `copy` is there, and points `to` to the copy. */
static void pack(const gnn__matrix_t *from, nodes_t nodes, int64_t d, int64_t cols,
                 const lane_run_t *run, gnn_real_t *copy, gnn__matrix_t *to, int threads)
{
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    const int64_t pieces = (nodes.end - nodes.first + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    if (!copy)
        return;
    *to = (gnn__matrix_t){copy, cols};
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        const int64_t i0 = nodes.first + k * ROWS_AT_ONCE, i1 = i0 + ROWS_AT_ONCE;
        kernels->pack(from, i0, gnn__min(i1, nodes.end), run->a.heads, d, run->l.width, to, cols);
    }
}

/* Runs a kernel over rows of nodes. */
static void sweep(const lane_run_t *run, nodes_t nodes, int threads,
                  void (*kernel)(const gnn__lanes_t *, int64_t, int64_t, gnn_real_t *))
{
    const int64_t pieces = (nodes.end - nodes.first + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    GNN__PARALLEL_FOR (threads, int64_t k = 0; k < pieces; k++) {
        const int64_t i0 = nodes.first + k * ROWS_AT_ONCE, i1 = i0 + ROWS_AT_ONCE;
        kernel(&run->l, i0, gnn__min(i1, nodes.end),
               run->scratch + omp_get_thread_num() * run->scratch_size);
    }
}

static void pack_nodes(lane_run_t *run, nodes_t dst, nodes_t src, int threads)
{
    const int64_t d_k = run->choice->score == GNN__SCORE_ADDITIVE ? 1 : run->a.d_k;
    pack(&run->a.q, dst, d_k, run->l.key_numbers, run, run->q, &run->l.q, threads);
    pack(&run->a.k, src, d_k, run->l.key_numbers, run, run->k, &run->l.k, threads);
    pack(&run->a.v, src, run->a.d_v, run->l.value_numbers, run, run->v, &run->l.v, threads);
    if (run->choice->copies_values && run->choice->one_matrix)
        run->l.v = run->l.k;
    if (run->l.key_factors)
        sweep(run, src, threads, gnn__attention_lanes()->factors);
}

static void pack_inputs(const gnn__plan_t *plan, lane_run_t *run, int threads)
{
    const int64_t d_k = run->choice->score == GNN__SCORE_ADDITIVE ? 1 : run->a.d_k;
    pack_nodes(run, nodes_at_hand(plan, plan->graph->n_dst),
               nodes_at_hand(plan, plan->graph->n_src), threads);
    gnn__lane_edges_fill(plan, run->l.records.at != NULL, threads, &run->edges, &run->l);
    if (run->l.edge_logits.at)
        sweep(run, (nodes_t){0, plan->graph->n_edges}, threads, gnn__attention_lanes()->edge_logits);
    if (run->l.edge_logits.at && gnn__has_loop_features(plan))
        gnn__lane_loop_logits(plan, &run->l, threads);
    if (run->weights) {
        const gnn_tensor_t *a = &plan->in[GNN_AGGREGATE_SCORE_PARAMETERS];
        const gnn__matrix_t flat = {a->data, a->rows * a->cols};
        gnn__matrix_t to;
        pack(&flat, (nodes_t){0, 1}, d_k, run->l.key_numbers, run, run->weights, &to, 1);
        run->l.weights = run->weights;
    }
}

/* Pairs of a group: at least those of a chunk. */
static int64_t per_group(const gnn__pairs_t *pairs, int64_t groups)
{
    return gnn__max(gnn__per_chunk(pairs), (pairs->count + pairs->n_rows) / groups + 1);
}

typedef struct {
    const gnn__plan_t *plan;
    lane_run_t *run;
    gnn__pass_t pass;
    int threads;
} lane_pass_t;

/* Rows of a pass without sums of chunks. */
static void lane_rows(const void *user, int64_t row0, int64_t row1)
{
    const lane_pass_t *pass = user;
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    gnn_real_t *scratch = pass->run->scratch + omp_get_thread_num() * pass->run->scratch_size;
    if (pass->pass == GNN__FORWARD)
        kernels->forward(&pass->run->l, row0, row1, scratch);
    else
        kernels->send(&pass->run->l, row0, row1, scratch, NULL, NULL);
}

static void lane_phase(void *user, gnn__phase_t phase)
{
    const lane_pass_t *pass = user;
    pass->run->a.pairs.phase = phase;
    pass->run->l.early_rows =
        phase == GNN__EARLY_ROWS ? &pass->plan->graph->wide_of->ranks->transport->early_rows : NULL;
}

/* Packs the rows of the halo; before the pass by sender they get their records. The first part has
 * done so for the others. */
static void lane_halo(void *user)
{
    const lane_pass_t *pass = user;
    const gnn_graph_t *graph = pass->plan->graph;
    if (!pass->run->has_halo && pass->pass == GNN__FORWARD)
        pack_nodes(pass->run, nodes_of_halo(pass->plan, graph->n_dst),
                   nodes_of_halo(pass->plan, graph->n_src), pass->threads);
    if (!pass->run->has_halo && pass->pass == GNN__SEND)
        sweep(pass->run, nodes_of_halo(pass->plan, graph->n_dst), pass->threads,
              gnn__attention_lanes()->prepare);
    pass->run->has_halo = true;
}

static int run_part(const gnn__plan_t *plan, lane_run_t *run, int64_t p, gnn__pass_t pass, int threads)
{
    const bool transposed = pass == GNN__SEND, both = pass == GNN__RECEIVE && run->l.d_senders,
               whole = run->l.d_senders || run->l.edge_keys, /* receivers compute all of d_a */
        parameters = gnn__wants_gradient(plan, GNN_AGGREGATE_SCORE_PARAMETERS) &&
                     (pass == GNN__RECEIVE || (transposed && !whole)),
               edges = plan->lanes.wants_edge_weights &&
                       pass == (run->l.edge_weights ? GNN__SEND : GNN__RECEIVE) &&
                       !run->l.edge_logits.at;
    const int64_t width = run->a.heads * run->a.d_k,
                  of_a_group = run->l.n_src * run->l.sender_numbers;
    const gnn__attention_lanes_t *kernels = gnn__attention_lanes();
    lane_pass_t rows = {plan, run, pass, threads};
    gnn__attention_part(plan, p, pass, &run->a);
    const gnn__pairs_t *pairs = &run->a.pairs;
    if (pass != GNN__RECEIVE && !parameters && !edges)
        return gnn__pass_rows(
            plan, pairs, run->bounds, threads,
            &(gnn__row_pass_t){.rows = lane_rows,
                               .arrived = lane_halo,
                               .phase = run->choice->score == GNN__SCORE_ADDITIVE ? lane_phase : NULL,
                               .user = &rows});
    if (pass == GNN__SEND) {
        GNN_TRY(gnn__await_halo(plan));
        lane_halo(&rows);
    }
    const int64_t per = both ? per_group(pairs, run->l.groups) : gnn__per_chunk(pairs),
                  chunks = gnn__pairs_chunks(pairs, per, run->bounds);
    GNN__EACH_CHUNK (c, chunks, threads) {
        const int64_t row0 = run->bounds[c], row1 = run->bounds[c + 1];
        gnn_real_t *scratch = run->scratch + omp_get_thread_num() * run->scratch_size,
                   *d_a = parameters ? run->d_a + c * width : NULL,
                   *d_edges = edges ? run->edges.partials + c * run->edges.size : NULL,
                   *d_senders = both ? run->l.d_senders + c * of_a_group : NULL;
        if (both)
            memset(d_senders, 0, sizeof *d_senders * (size_t)of_a_group);
        if (edges)
            memset(d_edges, 0, sizeof *d_edges * (size_t)run->edges.size);
        if (transposed)
            kernels->send(&run->l, row0, row1, scratch, d_a, d_edges);
        else
            kernels->receive(&run->l, row0, row1, scratch, d_a, d_edges, d_senders);
    }
    if (both)
        run->l.groups = chunks; /* the count that there is */
    if (parameters)
        GNN_TRY(gnn__add_partials(plan, &plan->d[GNN_AGGREGATE_SCORE_PARAMETERS], run->d_a, chunks,
                                  width));
    return edges ? gnn__lane_edges_add(plan, &run->edges, &run->l, chunks) : GNN_OK;
}

/* Gradients of features and of their weights from those of logits. */
static int spend_logits(const gnn__plan_t *plan, lane_run_t *run, int threads)
{
    const bool weights = plan->lanes.wants_edge_weights;
    const int64_t size = run->edges.size, edges = run->a.edges,
                  most = gnn__max(gnn__most_chunks(plan->view), 1),
                  per = gnn__max(edges / most + 1, EDGES_AT_ONCE), chunks = (edges + per - 1) / per;
    GNN__EACH_CHUNK (c, chunks, threads) {
        gnn_real_t *d_weights = weights ? run->edges.partials + c * size : NULL;
        if (weights)
            memset(d_weights, 0, sizeof *d_weights * (size_t)size);
        gnn__attention_lanes()->logits_backward(&run->l, c * per, gnn__min((c + 1) * per, edges),
                                                d_weights);
    }
    return weights ? gnn__lane_edges_add(plan, &run->edges, &run->l, chunks) : GNN_OK;
}

/* f(y + bias). */
static void finish(const void *how, gnn_real_t *y, int64_t rows, int64_t stride)
{
    const gnn__plan_t *plan = how;
    const gnn_tensor_t sums = {y, rows, plan->out_width, stride};
    gnn__bias_rows(&plan->f, &plan->last_dropout, &sums, plan->bias, 0, &sums);
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    lane_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    if (plan->recording)
        run.a.state.largest = call->saved[0];
    if (plan->recording && run.choice->score == GNN__SCORE_ADDITIVE) {
        run.l.p_sums = call->saved[1];
        run.l.a_sums = call->saved[2];
    }
    run.l.finish = plan->bias ? finish : NULL;
    run.l.how = plan;
    run.l.at_once = gnn__rows_at_once(plan->out_width);
    const int threads = gnn__plan_threads(plan, gnn__attention_work(plan));
    pack_inputs(plan, &run, threads);
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, p, GNN__FORWARD, threads));
    return GNN_OK;
}

/* Sets where gradients go, and which of them are written rather than added to. */
static void bind_gradients(const gnn__plan_t *plan, const gnn_op_call_t *call, lane_run_t *run)
{
    gnn__attention_t *a = &run->a;
    gnn__lanes_t *l = &run->l;
    const bool additive = run->choice->score == GNN__SCORE_ADDITIVE;
    gnn__attention_gradients(plan, call, a);
    l->p_sums = additive ? call->saved[1] : NULL;
    l->a_sums = additive ? call->saved[2] : NULL;
    l->dy = run->dy ? (gnn__matrix_t){run->dy, l->value_numbers} : a->grad.y;
    const unsigned written = additive ? gnn__written_gradients(plan, GNN__EDGES) : 0;
    l->writes_q = written >> GNN_AGGREGATE_QUERY & 1;
    l->writes_k = written >> GNN_AGGREGATE_KEY & 1;
    l->writes_v = written >> GNN_AGGREGATE_SRC_MESSAGE & 1;
    l->same_gradient = run->choice->one_matrix && a->grad.k.at && a->grad.k.at == a->grad.v.at;
    if (!run->choice->one_matrix)
        l->d_senders = NULL;
    l->term_grads = plan->lanes.edge_terms && plan->lanes.wants_edges;
    gnn__zero_gradients(plan, written);
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    lane_run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    bind_gradients(plan, call, &run);
    const gnn__attention_grads_t *grad = &run.a.grad;
    const bool terms = run.l.term_grads,
               edge_rows = plan->lanes.edge_products && plan->lanes.wants_edges;
    const int threads = (terms || edge_rows) && gnn__gradients_cross(plan)
                            ? 1
                            : gnn__gradient_threads(plan, gnn__attention_work(plan));
    pack_inputs(plan, &run, threads);
    pack_nodes(&run, nodes_of_halo(plan, plan->graph->n_dst),
               nodes_of_halo(plan, plan->graph->n_src), threads);
    sweep(&run, nodes_at_hand(plan, plan->graph->n_dst), threads, gnn__attention_lanes()->prepare);
    const bool additive = run.choice->score == GNN__SCORE_ADDITIVE, once = run.l.d_senders != NULL,
               collects = once && run.l.same_gradient,
               parameters = gnn__wants_gradient(plan, GNN_AGGREGATE_SCORE_PARAMETERS),
               rows = grad->k.at || grad->v.at,
               by_receiver = !additive && (grad->q.at || parameters || collects || edge_rows),
               by_sender = once ? rows && !collects : rows || parameters || terms;
    if (!by_receiver || !by_sender)
        run.l.pair_weights.at = NULL;
    for (int64_t p = 0; by_receiver && p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, p, GNN__RECEIVE, threads));
    if (collects)
        sweep(&run, (nodes_t){0, plan->graph->n_src}, threads, gnn__attention_lanes()->collect);
    for (int64_t p = 0; by_sender && p < plan->view->n_parts; p++)
        GNN_TRY(run_part(plan, &run, p, GNN__SEND, threads));
    const bool spends =
        run.l.edge_logits.at && terms && (plan->lanes.wants_edge_weights || grad->features.at);
    return spends ? spend_logits(plan, &run, threads) : GNN_OK;
}

/* With one part rows are complete when they are stored, and backward does not read them. */
static unsigned finishes(const gnn__plan_t *plan)
{
    return !plan->recording && plan->view->n_parts == 1 ? GNN__FINISH_BIAS : 0;
}

const gnn__strategy_t gnn__strategy_by_lane = {.takes = takes,
                                               .saved_row = saved_row,
                                               .takes_over_ranks = takes_over_ranks,
                                               .choose = choose,
                                               .sizes = sizes,
                                               .forward = forward,
                                               .backward = backward,
                                               .finishes = finishes,
                                               .describe = describe,
                                               .loop_features = true};
