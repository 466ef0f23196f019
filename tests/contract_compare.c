/* Comparing: max|a - b| / max(max|b|, max B) per array, and keeping book of what failed. */
#include "contract.h"

#include <stdarg.h>

static int64_t arrays_compared, runs_compared;
static int failures;
static double worst_out, worst_grad, allowed;

void contract_allow(double error)
{
    allowed = error;
}

static const char *prior_name(const contract_case_t *c, int p)
{
    return c->priors[p].row ? c->priors[p].row->name : "-";
}

void contract_failure(const contract_case_t *c, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (++failures > 25)
        return;
    static const char *const norms[] = {"default", "none", "symmetric", "row"};
    fprintf(
        stderr,
        "%s\n  message %s, aggregator %s, graph %s (%lld <- %lld, %lld pairs, %lld parts, "
        "%s), heads %lld/%lld, d_k %lld, d_v %lld, seed %llu\n"
        "  features %d (loops %d, width %d) weight %d (loops %d) bias %d message_bias %d gate %d "
        "map %s priors %s %s %s (query %d) weigher %s softcap %g value heads %lld shared %d strided %d loops %s norm %s dropout %g scale %g\n",
        words, c->message->name, c->score ? c->score->name : c->aggregator->name, c->graph_name,
        (long long)gnn_graph_n_dst(c->graph), (long long)gnn_graph_n_src(c->graph),
        (long long)gnn_graph_n_pairs(c->graph), (long long)gnn_graph_n_parts(c->graph),
        contract_has_spans(c->graph) ? "spans" : "edges", (long long)c->heads,
        (long long)c->kv_heads, (long long)c->d_k, (long long)c->d_v, (unsigned long long)c->seed,
        c->features, c->loop_features, (int)c->edge_dim, c->weight, c->loop_weights, c->bias,
        c->message_bias, c->gate, c->map ? c->map->name : "none", prior_name(c, 0), prior_name(c, 1),
        prior_name(c, 2), c->prior_query, c->weigher ? c->weigher->name : "softmax", c->softcap,
        (long long)contract_value_heads(c), c->shared, c->strided,
        c->view.self_loops == GNN_ON ? "on" : "off", norms[c->view.norm], c->dropout, c->scale);
}

void contract_assert(const char *what)
{
    printf("contract: %s: %lld runs, %lld arrays, worst error %.2g of outputs, %.2g of "
           "gradients, %d failures\n",
           what, (long long)runs_compared, (long long)arrays_compared, worst_out, worst_grad,
           failures);
    fflush(stdout);
    int failed = failures;
    bool ran = arrays_compared > 0;
    failures = 0;
    arrays_compared = runs_compared = 0;
    worst_out = worst_grad = 0;
    ck_assert_msg(failed == 0, "%s: %d comparisons failed", what, failed);
    ck_assert_msg(ran, "%s compared nothing", what);
}

/* A deviation next to its clamp may be 0 here and not there, and the best of scores that are nearly
 * equal another one: such outputs are left out. */
static bool clamped(const contract_run_t *r, int64_t k)
{
    const oracle_t *o = r->oracle;
    return (o->aggregator == ORACLE_STD || o->weigher == ORACLE_BEST || o->weigher == ORACLE_TOP) &&
           o->margin[k] < 1e-6;
}

/* NaN is never near anything. */
static double difference(const contract_run_t *r, int array, const gnn_real_t *a,
                         const gnn_real_t *b, int64_t n)
{
    double worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double d = fabs((double)a[k] - (double)b[k]);
        if (!(d <= worst) && !(array == GNN_AGGREGATE_INPUTS && clamped(r, k)))
            worst = isnan(d) ? INFINITY : d;
    }
    return worst == 0 ? 0 : worst / r->largest[array];
}

static double largest_of(const term_t *b, int64_t n)
{
    double largest = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, fmax(fabs(b[k].v), b[k].b));
    return largest;
}

static double error_of(const contract_run_t *r, int array, const gnn_real_t *a, const term_t *b,
                       int64_t n)
{
    double worst = 0;
    for (int64_t k = 0; k < n; k++) {
        double d = fabs((double)a[k] - b[k].v);
        if (!(d <= worst) && !(array == GNN_AGGREGATE_INPUTS && clamped(r, k)))
            worst = isnan(d) ? INFINITY : d;
    }
    return worst == 0 ? 0 : worst / r->largest[array];
}

void contract_judge(const contract_case_t *c, const char *array, double error, double limit,
                    const char *what)
{
    double *worst = limit > 0 && strcmp(array, "output") == 0 ? &worst_out : &worst_grad;
    arrays_compared++;
    if (error > *worst)
        *worst = error;
    if (!(error <= limit))
        contract_failure(c, "%s: error %.3g, limit %.1g (%s)", array, error, limit, what);
}

static void judge(const contract_run_t *r, int array, double error, const char *what)
{
    contract_judge(&r->c, contract_input_name(array), error,
                   fmax(allowed, array == GNN_AGGREGATE_INPUTS ? TOLERANCE_OUT : TOLERANCE_GRAD),
                   what);
}

void contract_compare(contract_run_t *r)
{
    const oracle_t *o = r->oracle;
    int64_t n = r->n_dst * r->out_width;
    runs_compared++;
    r->largest[GNN_AGGREGATE_INPUTS] = largest_of(o->out, n);
    judge(r, GNN_AGGREGATE_INPUTS, error_of(r, GNN_AGGREGATE_INPUTS, r->out, o->out, n),
          "against the oracle");
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++) {
        if (!r->grad[k])
            continue;
        n = o->in[k].rows * o->in[k].cols;
        r->largest[k] = largest_of(o->in[k].grad, n);
        judge(r, k, error_of(r, k, r->grad[k], o->in[k].grad, n), "against the oracle");
    }
}

void contract_compare_runs(const contract_run_t *a, const contract_run_t *b)
{
    int output = GNN_AGGREGATE_INPUTS;
    judge(a, output, difference(a, output, a->out, b->out, a->n_dst * a->out_width),
          "against its other form");
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        if (a->grad[k] && b->grad[k])
            judge(a, k, difference(a, k, a->grad[k], b->grad[k], a->in[k].rows * a->in[k].cols),
                  "against its other form");
}

contract_run_t *contract_run(const contract_case_t *c)
{
    contract_run_t *r = contract_run_new(c);
    gnn_view_t view = c->view;
    view.backward = GNN_ON;
    ck_ok(gnn_graph_prepare(c->graph, &view));
    contract_oracle(r, 1e-6);
    contract_library(r);
    contract_compare(r);
    return r;
}

void contract_check(const contract_case_t *c)
{
    contract_run_free(contract_run(c));
}
