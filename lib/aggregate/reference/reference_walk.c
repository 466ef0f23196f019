/* Shared by forward and backward of the reference: the memory of a run, and the walk over the rows
 * of a part, the gradients of projected features that wait for the end of a chunk. */
#include <lib/aggregate/reference/reference.h>

#include <omp.h>

int64_t gnn__driver_work(const gnn__plan_t *plan)
{
    const int64_t most = (int64_t)1 << 40; /* beyond that all threads are busy */
    int64_t pairs = 0;
    for (int64_t p = 0; p < plan->view->n_parts; p++)
        pairs += plan->view->parts[p].pairs.count;
    return gnn__min(pairs, most) *
           (plan->message_width + plan->key_width + plan->d_e * plan->edge_width + 16);
}

void gnn__driver_common_memory(const gnn__plan_t *plan, gnn__carve_t *carve, gnn__driver_run_t *run)
{
    int64_t scratch = 0;
    run->bounds = gnn__carve(carve, gnn__most_chunks(plan->view) + 1, sizeof *run->bounds);
    if (plan->by_distance)
        run->positions =
            gnn__carve(carve, plan->graph->n_dst + plan->graph->n_src, sizeof *run->positions);
    run->scratch_bytes = gnn__pair_scratch_bytes(plan, carve);
    run->state_size = plan->scored ? plan->shape.heads * plan->weigher->state
                                   : (int64_t)plan->aggregator->state(&plan->shape);
    carve->overflow |= !gnn__mul(run->scratch_bytes, plan->threads, &scratch);
    run->scratch = gnn__carve(carve, scratch, 1);
}

void gnn__driver_positions(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    if (!plan->by_distance)
        return;
    gnn__positions(plan->graph, true, run->positions);
    gnn__positions(plan->graph, false, run->positions + plan->graph->n_dst);
}

gnn__pair_scratch_t gnn__driver_scratch(const gnn__plan_t *plan, const gnn__driver_run_t *run)
{
    return gnn__pair_scratch(plan, run->scratch + omp_get_thread_num() * run->scratch_bytes);
}

/* ---- gradients of projected features that wait ---- */

static void end_waiting(const gnn__plan_t *plan, const gnn__driver_run_t *run, int input,
                        const gnn__waiting_t *waiting, gnn_real_t *sums)
{
    const gnn__feature_weight_t projection = gnn__pair_projection(plan, input);
    if (*waiting->count > 0)
        gnn__pair_kernels()->project_weights(&projection, *waiting->count, waiting->features,
                                             waiting->d, sums + run->shared[input]);
    *waiting->count = 0;
}

void gnn__driver_project_grad(const gnn__plan_t *plan, const gnn__driver_run_t *run, int input,
                              int64_t number, const gnn__waiting_t *waiting, gnn_real_t *sums)
{
    if (!gnn__has_features(plan, number))
        return;
    const gnn__feature_weight_t projection = gnn__pair_projection(plan, input);
    if (gnn__wants_gradient(plan, GNN_AGGREGATE_EDGE_FEATURES))
        gnn__pair_kernels()->project_features(
            &projection, gnn__driver_free_row(waiting, projection.n),
            gnn__row(&plan->d[GNN_AGGREGATE_EDGE_FEATURES], number));
    waiting->features[(*waiting->count)++] = gnn__row(&plan->in[GNN_AGGREGATE_EDGE_FEATURES], number);
    if (*waiting->count == GNN__WAITING)
        end_waiting(plan, run, input, waiting, sums);
}

void gnn__driver_end_waiting(const gnn__plan_t *plan, const gnn__driver_run_t *run,
                             const gnn__pair_scratch_t *scratch, gnn_real_t *sums)
{
    end_waiting(plan, run, GNN_AGGREGATE_EDGE_MESSAGE_WEIGHT, &scratch->d_edge, sums);
    end_waiting(plan, run, GNN_AGGREGATE_EDGE_KEY_WEIGHT, &scratch->d_key, sums);
}

/* ---- the walk ---- */

/* The walk of a part, with the rows that it prefetches: of senders, or of receivers, whose
 * states backward reads. */
static gnn__walk_t walk_ahead(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                              bool transposed)
{
    gnn__walk_t walk = gnn__walk(plan, p, transposed, run->positions);
    const gnn_tensor_t states = {run->states, plan->graph->n_dst, run->state_size, run->state_size};
    walk.silent = run->silent;
    walk.far_features = plan->edge_message || plan->edge_key;
    if (transposed) {
        gnn__walk_far_rows(&walk, &states);
        gnn__walk_far_rows(&walk, &plan->in[GNN_AGGREGATE_DST_MESSAGE]);
        gnn__walk_far_rows(&walk, &plan->in[GNN_AGGREGATE_QUERY]);
        if (plan->scored)
            gnn__walk_far_rows(&walk, &plan->d_out);
    } else {
        gnn__walk_far_rows(&walk, &plan->in[GNN_AGGREGATE_SRC_MESSAGE]);
        gnn__walk_far_rows(&walk, &plan->in[GNN_AGGREGATE_KEY]);
    }
    return walk;
}

typedef struct {
    const gnn__plan_t *plan;
    const gnn__driver_run_t *run;
    const gnn__walk_t *walk;
    gnn__visit_t *visit;
} visit_pass_t;

/* Visits rows; `sums`: those of their chunk, or NULL. */
static void visit_rows(const visit_pass_t *pass, int64_t row0, int64_t row1, gnn_real_t *sums)
{
    const gnn__pair_scratch_t scratch = gnn__driver_scratch(pass->plan, pass->run);
    *scratch.d_edge.count = *scratch.d_key.count = 0;
    for (int64_t r = row0; r < row1; r++)
        pass->visit(pass->walk, pass->run, &scratch, r, sums);
    gnn__driver_end_waiting(pass->plan, pass->run, &scratch, sums);
}

static void visit_without_sums(const void *pass, int64_t row0, int64_t row1)
{
    visit_rows(pass, row0, row1, NULL);
}

static void prepare_halo(void *user)
{
    const visit_pass_t *pass = user;
    if (pass->run->arrived)
        pass->run->arrived(pass->run->user);
}

int gnn__driver_visit(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                      bool transposed, int threads, gnn__visit_t *visit)
{
    const gnn__walk_t walk = walk_ahead(plan, run, p, transposed);
    visit_pass_t pass = {plan, run, &walk, visit};
    return gnn__pass_rows(
        plan, walk.pairs, run->bounds, threads,
        &(gnn__row_pass_t){.rows = visit_without_sums, .arrived = prepare_halo, .user = &pass});
}

int64_t gnn__driver_sum(const gnn__plan_t *plan, const gnn__driver_run_t *run, int64_t p,
                        int threads, gnn__visit_t *visit)
{
    const gnn__walk_t walk = walk_ahead(plan, run, p, false);
    const visit_pass_t pass = {plan, run, &walk, visit};
    const int64_t chunks = gnn__chunks(walk.pairs, run->bounds);
    GNN__EACH_CHUNK (c, chunks, threads) {
        gnn_real_t *sums = run->partials + c * run->shared_size;
        memset(sums, 0, sizeof *sums * (size_t)run->shared_size);
        visit_rows(&pass, run->bounds[c], run->bounds[c + 1], sums);
    }
    return chunks;
}
