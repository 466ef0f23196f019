/* Entries of a program: copies of the library's entries that count their calls. On every graph each
 * is called, forward and backward, and gives what the oracle does: no fast path takes an entry that
 * it does not know for one that it knows. */
#include "contract.h"

#include <lib/aggregate/tables.h>

enum { MESSAGE, AGGREGATOR, SCORE, MAP, PRIOR, WEIGHER, KINDS };

static const char *const kinds[KINDS] = {"message", "aggregator", "score",
                                         "map",     "prior",      "weigher"};

/* The entries that a case may be given. */
typedef struct {
    gnn_message_t message;
    gnn_aggregator_t aggregator;
    gnn_score_t score;
    gnn_map_t map;
    gnn_prior_t prior;
    gnn_weigher_t weigher;
} own_t;

/* The entries that are copied, and the calls of their copies. */
static own_t of;
static int64_t forward_calls[KINDS], backward_calls[KINDS];

static void count(int64_t *calls)
{
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

/* ---- copies ---- */

static void own_message(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                        gnn_real_t *message)
{
    count(&forward_calls[MESSAGE]);
    of.message.message(shape, rows, message);
}

static void own_message_grad(const gnn_aggregate_shape_t *shape, const gnn_message_rows_t *rows,
                             const gnn_real_t *d_message, gnn_message_grad_t *grad)
{
    count(&backward_calls[MESSAGE]);
    of.message.message_grad(shape, rows, d_message, grad);
}

static void own_accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *state,
                           const gnn_edge_t *edge)
{
    count(&forward_calls[AGGREGATOR]);
    of.aggregator.accumulate(shape, state, edge);
}

static void own_accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *state,
                                const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    count(&backward_calls[AGGREGATOR]);
    of.aggregator.accumulate_grad(shape, state, edge, grad);
}

static void own_score(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                      gnn_real_t *scores)
{
    count(&forward_calls[SCORE]);
    of.score.score(shape, rows, scores);
}

static void own_score_grad(const gnn_aggregate_shape_t *shape, const gnn_score_rows_t *rows,
                           const gnn_real_t *d_scores, gnn_score_grad_t *grad)
{
    count(&backward_calls[SCORE]);
    of.score.score_grad(shape, rows, d_scores, grad);
}

static void own_apply(const gnn_aggregate_shape_t *shape, int64_t heads, const gnn_real_t *numbers,
                      const gnn_real_t *x, gnn_real_t *y)
{
    count(&forward_calls[MAP]);
    of.map.apply(shape, heads, numbers, x, y);
}

static void own_apply_grad(const gnn_aggregate_shape_t *shape, int64_t heads,
                           const gnn_real_t *numbers, const gnn_real_t *x, const gnn_real_t *d_y,
                           gnn_real_t *d_x)
{
    count(&backward_calls[MAP]);
    of.map.apply_grad(shape, heads, numbers, x, d_y, d_x);
}

static void own_prior(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                      gnn_real_t *scores)
{
    count(&forward_calls[PRIOR]);
    of.prior.score(shape, pair, scores);
}

static void own_prior_grad(const gnn_aggregate_shape_t *shape, const gnn_prior_pair_t *pair,
                           const gnn_real_t *d_scores, gnn_prior_grad_t *grad)
{
    count(&backward_calls[PRIOR]);
    of.prior.score_grad(shape, pair, d_scores, grad);
}

static void own_strip(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                      int64_t length, gnn_real_t *out)
{
    count(&forward_calls[PRIOR]);
    of.prior.strip(shape, head, first, length, out);
}

static void own_strip_grad(const gnn_aggregate_shape_t *shape, int64_t head, int64_t first,
                           int64_t length, const gnn_real_t *d_strip,
                           const gnn_tensor_t *d_parameters)
{
    count(&backward_calls[PRIOR]);
    of.prior.strip_grad(shape, head, first, length, d_strip, d_parameters);
}

/* Keys have no function for gradients: backward asks where they are. */
static int64_t own_key_row(const gnn_aggregate_shape_t *shape, int64_t distance)
{
    count(&forward_calls[PRIOR]);
    count(&backward_calls[PRIOR]);
    return of.prior.key_row(shape, distance);
}

static gnn_real_t own_weight(const gnn_aggregate_shape_t *shape, int64_t head,
                             const gnn_real_t *state, gnn_real_t score)
{
    count(&forward_calls[WEIGHER]);
    return of.weigher.weight(shape, head, state, score);
}

static gnn_real_t own_weight_grad(const gnn_aggregate_shape_t *shape, int64_t head,
                                  const gnn_real_t *state, gnn_real_t score, gnn_real_t weight,
                                  gnn_real_t d_weight, gnn_real_t delta)
{
    count(&backward_calls[WEIGHER]);
    return of.weigher.weight_grad(shape, head, state, score, weight, d_weight, delta);
}

/* ---- a case with copies ---- */

static void copy_prior(gnn_prior_use_t *use, gnn_prior_t *own)
{
    of.prior = *own = *use->row;
    own->score = own->score ? own_prior : NULL;
    own->score_grad = own->score_grad ? own_prior_grad : NULL;
    own->strip = own->strip ? own_strip : NULL;
    own->strip_grad = own->strip_grad ? own_strip_grad : NULL;
    own->key_row = own->key_row ? own_key_row : NULL;
    use->row = own;
}

static void copy_weigher(contract_case_t *c, gnn_weigher_t *own)
{
    of.weigher = *own = c->weigher ? *c->weigher : gnn_weigher_softmax;
    own->weight = own_weight;
    own->weight_grad = own_weight_grad;
    c->weigher = own;
}

/* Puts a copy in place of the case's entry of a kind. */
static void copy_entry(contract_case_t *c, int kind, own_t *own)
{
    if (kind == MESSAGE) {
        of.message = own->message = *c->message;
        own->message.message = own_message;
        own->message.message_grad = own_message_grad;
        c->message = &own->message;
    } else if (kind == AGGREGATOR) {
        of.aggregator = own->aggregator = *c->aggregator;
        own->aggregator.accumulate = own_accumulate;
        own->aggregator.accumulate_grad = own_accumulate_grad;
        c->aggregator = &own->aggregator;
    } else if (kind == SCORE) {
        of.score = own->score = *c->score;
        own->score.score = own_score;
        own->score.score_grad = own_score_grad;
        c->score = &own->score;
    } else if (kind == MAP) {
        of.map = own->map = *c->map;
        own->map.apply = own_apply;
        own->map.apply_grad = own_apply_grad;
        c->map = &own->map;
    } else if (kind == PRIOR) {
        copy_prior(&c->priors[0], &own->prior);
    } else {
        copy_weigher(c, &own->weigher);
    }
}

static void check_calls(const contract_case_t *c, unsigned copied)
{
    for (int kind = 0; kind < KINDS; kind++)
        if ((copied >> kind & 1) && gnn_graph_n_pairs(c->graph) > 0 &&
            (forward_calls[kind] == 0 || backward_calls[kind] == 0))
            contract_failure(c, "the program's %s was called %lld times forward, %lld backward",
                             kinds[kind], (long long)forward_calls[kind],
                             (long long)backward_calls[kind]);
}

/* `copied`: bits of kinds */
static void check_copies(contract_case_t c, unsigned copied)
{
    static own_t own;
    memset(forward_calls, 0, sizeof forward_calls);
    memset(backward_calls, 0, sizeof backward_calls);
    for (int kind = 0; kind < KINDS; kind++)
        if (copied >> kind & 1)
            copy_entry(&c, kind, &own);
    contract_check(&c);
    check_calls(&c, copied);
}

/* ---- which entries ---- */

/* Entry `index` of a table in a case whose other entries are those of plain attention; false past
 * the last, or where it does not fit. */
static bool fill_entry(contract_case_t *c, int kind, size_t index)
{
    const gnn_prior_t *prior = kind == PRIOR ? gnn__prior_at(index) : NULL;
    if (kind == MAP)
        c->map = gnn__map_at(index);
    if (prior)
        c->priors[0] = (gnn_prior_use_t){.row = prior};
    if (kind == WEIGHER)
        c->weigher = gnn__weigher_at(index);
    if (c->map == &gnn_map_rope_yarn)
        memcpy(c->map_options, (double[]){100, 4, 0, 2}, sizeof c->map_options);
    return kind == MAP     ? c->map && oracle_knows_map(c->map->name) && c->map->apply
           : kind == PRIOR ? !(prior->flags & GNN_PRIOR_RUNNING) || contract_one_side(c->graph)
                           : true;
}

static size_t entries_of(int kind)
{
    return kind == MESSAGE                       ? message_count()
           : kind == AGGREGATOR || kind == SCORE ? combination_count()
           : kind == MAP                         ? map_count()
           : kind == PRIOR                       ? prior_count()
                                                 : weigher_count();
}

/* A copy of each entry of one table; the others are the library's. Then all of a random case. */
static void check_kind(gnn_graph_t *g, const char *name, int kind, uint64_t seed)
{
    for (size_t k = 0; k < entries_of(kind); k++) {
        const size_t by = kind == AGGREGATOR || kind == SCORE ? k : combination_index("dot");
        contract_case_t c = contract_case(kind == MESSAGE ? k : 0, by, g, name, seed + 64 * k);
        ck_ok(gnn_graph_prepare(g, &c.view));
        if (!fill_entry(&c, kind, k) || (kind == SCORE && !contract_scored(&c)))
            continue;
        check_copies(c, 1u << kind);
        contract_draw_switches(&c, true);
        ck_ok(gnn_graph_prepare(g, &c.view));
        check_copies(c, 1u << MESSAGE | 1u << AGGREGATOR |
                            (contract_scored(&c) ? 1u << SCORE | 1u << WEIGHER : 0) |
                            (c.map ? 1u << MAP : 0) | (c.priors[0].row ? 1u << PRIOR : 0));
    }
}

START_TEST(copies_of_entries_run_in_their_own_functions)
{
    const size_t kind = (size_t)_i;
    contract_open(2);
    for (int table = 0; table < KINDS; table++) {
        const uint64_t seed = test_seed() + 1000 * kind + 31 * (uint64_t)table;
        gnn_graph_t *g = contract_graph(kind, test_small() ? 7 : 21, seed),
                    *edges = contract_edges_of(g);
        check_kind(g, contract_graph_name(kind), table, seed);
        check_kind(edges, "its edges", table, seed);
        gnn_graph_free(edges);
        gnn_graph_free(g);
    }
    contract_close();
    contract_assert(contract_graph_name(kind));
}
END_TEST

TCase *contract_own_tests(void)
{
    TCase *c = tcase_create("own");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, copies_of_entries_run_in_their_own_functions, 0,
                        (int)contract_graph_count());
    return c;
}
