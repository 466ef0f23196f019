/* Gradients against finite differences, away from kinks: the oracle's own, and in the double
 * build the library's. */
#include "contract.h"

enum { NODES = 7 };

static double loss(const oracle_t *o)
{
    double sum = 0;
    for (int64_t k = 0; k < o->n_dst * o->out_width; k++)
        sum += o->d_out[k] * o->out[k].v;
    return sum;
}

static double oracle_loss_at(oracle_t *o, double *x, double value)
{
    double keep = *x;
    *x = value;
    oracle_forward(o);
    *x = keep;
    return loss(o);
}

/* Every element of every input, by central differences. */
static void check_oracle(const contract_case_t *c)
{
    const double step = 1e-5;
    contract_run_t *r = contract_run_new(c);
    contract_oracle(r, 1e-3);
    oracle_t *o = r->oracle;
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        int64_t n = o->in[k].rows * o->in[k].cols;
        double largest = 1e-30, worst = 0;
        for (int64_t at = 0; at < n; at++) {
            double *x = &o->in[k].value[at], g = o->in[k].grad[at].v;
            double slope =
                (oracle_loss_at(o, x, *x + step) - oracle_loss_at(o, x, *x - step)) / (2 * step);
            worst = fmax(worst, fabs(slope - g));
            largest = fmax(largest, fmax(fabs(slope), o->in[k].grad[at].b));
            ck_assert(o->in[k].grad[at].b >= fabs(g) * (1 - 1e-12));
        }
        contract_judge(c, contract_input_name(k), worst / largest, 1e-6,
                       "the oracle's gradient against finite differences");
    }
    contract_run_free(r);
}

static gnn_graph_t *small_graph(int which, uint64_t seed)
{
    switch (which) {
    case 0: return contract_random_edges(NODES, NODES, 15, seed);
    case 1: return contract_random_edges(NODES - 2, NODES, 15, seed);
    default: return contract_random_merge(NODES, 3, seed);
    }
}

static void each_case(void (*check)(const contract_case_t *c))
{
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++)
            for (int which = 0; which < 3; which++)
                for (uint64_t variant = 0; variant < (test_small() ? 1 : 4); variant++) {
                    uint64_t seed = test_seed() + 1000 * m + 100 * a + 10 * (uint64_t)which + variant;
                    gnn_graph_t *g = small_graph(which, seed);
                    contract_case_t c = contract_case(m, a, g, "small", seed);
                    if (contract_scored(&c))
                        c.heads = variant % 2 ? 4 : 2;
                    contract_draw_switches(&c, true);
                    c.shared = false;
                    /* its gradients are straight-through, not those of what it computes */
                    if (c.weigher == &gnn_weigher_best) {
                        c.weigher = &gnn_weigher_softmax;
                        memset(c.weigher_options, 0, sizeof c.weigher_options);
                    }
                    ck_ok(gnn_graph_prepare(g, &c.view));
                    check(&c);
                    gnn_graph_free(g);
                }
}

START_TEST(oracle_gradients_match_finite_differences)
{
    contract_open(1);
    each_case(check_oracle);
    contract_close();
    contract_assert("oracle by finite differences");
}
END_TEST

/* ---- the library ---- */

static double library_loss(const contract_run_t *r, gnn_var_t y)
{
    ck_ok(gnn_tape_forward(contract_tape()));
    gnn_tensor_t out = gnn_tape_value(contract_tape(), y);
    double sum = 0;
    for (int64_t i = 0; i < r->n_dst; i++)
        for (int64_t c = 0; c < r->out_width; c++)
            sum += (double)(r->d_out[i * r->out_width + c] * gnn__row(&out, i)[c]);
    return sum;
}

static void shift(gnn_tensor_t *x, const gnn_real_t *direction, double step)
{
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t c = 0; c < x->cols; c++)
            gnn__row(x, i)[c] += (gnn_real_t)(step * (double)direction[i * x->cols + c]);
}

/* Along one random direction per input; the program stays on the tape and runs again on changed
 * values. */
static void check_library(const contract_case_t *c)
{
    const double step = 1e-6;
    gnn_var_t vars[GNN_AGGREGATE_INPUTS];
    contract_run_t *r = contract_run_new(c);
    contract_oracle(r, 1e-3);
    contract_library(r);
    gnn_var_t y = contract_record(r, vars);
    ck_ok(gnn_tape_status(contract_tape()));
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!r->grad[k])
            continue;
        int64_t n = r->in[k].rows * r->in[k].cols;
        gnn_real_t *direction = test_reals(n, c->seed + (uint64_t)k);
        double along = 0, bound = 1e-30;
        for (int64_t at = 0; at < n; at++) {
            along += (double)(direction[at] * r->grad[k][at]);
            bound += fabs((double)direction[at]) * r->oracle->in[k].grad[at].b;
        }
        shift(&r->in[k], direction, step);
        double up = library_loss(r, y);
        shift(&r->in[k], direction, -2 * step);
        double down = library_loss(r, y);
        shift(&r->in[k], direction, step);
        contract_judge(c, contract_input_name(k), fabs((up - down) / (2 * step) - along) / bound,
                       1e-5, "against finite differences");
        free(direction);
    }
    contract_run_free(r);
}

START_TEST(library_gradients_match_finite_differences)
{
    contract_open(1);
    each_case(check_library);
    contract_close();
    contract_assert("library by finite differences");
}
END_TEST

TCase *contract_numeric_tests(void)
{
    TCase *t = tcase_create("numeric");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, oracle_gradients_match_finite_differences);
    if (GNN_DOUBLE)
        tcase_add_test(t, library_gradients_match_finite_differences);
    return t;
}
