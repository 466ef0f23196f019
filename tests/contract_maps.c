/* Maps of rows against their papers: attention with a map on every graph in both storages against
 * the oracle without a map on rows that are mapped here, in double precision. Gradients of the
 * oracle's rows are pulled back through central differences of these formulas. The list is closed:
 * an entry of the table without a formula fails. */
#include "contract.h"

#include <graphs/graph.h>
#include <lib/aggregate/tables.h>

enum { D = 4, HEADS = 2, FEATURES = 5, WIDEST = 64 };

/* One head's row x (D), its position and the map's parameters -> y; returns the count of values. */
typedef struct {
    double position, options[GNN_ROW_OPTIONS];
    const gnn_tensor_t *parameters;
} at_t;
typedef int64_t map_t(const at_t *at, const double *x, double *y);

static int64_t of_elu1(const at_t *at, const double *x, double *y)
{
    (void)at;
    for (int c = 0; c < D; c++)
        y[c] = x[c] > 0 ? x[c] + 1 : exp(x[c]);
    return D;
}

static int64_t of_relu(const at_t *at, const double *x, double *y)
{
    for (int c = 0; c < D; c++)
        y[c] = fmax(x[c], 0) + at->options[0];
    return D;
}

static int64_t of_exp(const at_t *at, const double *x, double *y)
{
    (void)at;
    for (int c = 0; c < D; c++)
        y[c] = exp(x[c]);
    return D;
}

/* p (FEATURES) = by x W; returns |by x|^2. */
static double projected(const at_t *at, const double *x, double by, double *p)
{
    double squares = 0;
    for (int c = 0; c < D; c++)
        squares += by * by * x[c] * x[c];
    for (int f = 0; f < FEATURES; f++) {
        p[f] = 0;
        for (int c = 0; c < D; c++)
            p[f] += by * x[c] * (double)gnn__row(at->parameters, c)[f];
    }
    return squares;
}

static int64_t of_favor(const at_t *at, const double *x, double *y)
{
    double p[FEATURES];
    const double squares = projected(at, x, pow(D, -0.25), p);
    for (int f = 0; f < FEATURES; f++)
        y[f] = exp(p[f] - squares / 2) / sqrt(FEATURES);
    return FEATURES;
}

static int64_t of_favor_relu(const at_t *at, const double *x, double *y)
{
    double p[FEATURES];
    projected(at, x, pow(D, -0.25), p);
    for (int f = 0; f < FEATURES; f++)
        y[f] = fmax(p[f], 0) + at->options[1];
    return FEATURES;
}

static int64_t of_favor_trigonometric(const at_t *at, const double *x, double *y)
{
    double p[FEATURES];
    const double by = exp(projected(at, x, pow(D, -0.25), p) / 2) / sqrt(FEATURES);
    for (int f = 0; f < FEATURES; f++) {
        y[f] = by * sin(p[f]);
        y[FEATURES + f] = by * cos(p[f]);
    }
    return 2 * FEATURES;
}

static int64_t of_rfa(const at_t *at, const double *x, double *y)
{
    double p[FEATURES], squares = 0;
    for (int c = 0; c < D; c++)
        squares += x[c] * x[c];
    projected(at, x, 1 / (at->options[1] * sqrt(squares)), p);
    for (int f = 0; f < FEATURES; f++) {
        y[f] = sin(p[f]) / sqrt(FEATURES);
        y[FEATURES + f] = cos(p[f]) / sqrt(FEATURES);
    }
    return 2 * FEATURES;
}

/* Any order of the products of two values: a dot score adds them up. */
static int64_t of_taylor(const at_t *at, const double *x, double *y)
{
    const double s = pow(D, -0.25);
    int64_t n = 0;
    (void)at;
    y[n++] = 1;
    for (int c = 0; c < D; c++)
        y[n++] = s * x[c];
    for (int c = 0; c < D; c++)
        for (int e = 0; e < D; e++)
            y[n++] = s * s * x[c] * x[e] / sqrt(2);
    return n;
}

static int64_t of_dpfp(const at_t *at, const double *x, double *y)
{
    double r[2 * D], sum = at->options[1];
    int64_t n = 0;
    for (int c = 0; c < 2 * D; c++)
        r[c] = fmax(c < D ? x[c] : -x[c - D], 0);
    for (int i = 1; i <= (int)at->options[0]; i++)
        for (int c = 0; c < 2 * D; c++) {
            y[n] = r[c] * r[(c - i + 2 * D) % (2 * D)];
            sum += y[n++];
        }
    for (int64_t k = 0; k < n; k++)
        y[k] /= sum;
    return n;
}

static int64_t of_cosformer(const at_t *at, const double *x, double *y)
{
    const double angle = M_PI / 2 * at->position / at->options[0];
    for (int c = 0; c < D; c++) {
        y[c] = cos(angle) * fmax(x[c], 0);
        y[D + c] = sin(angle) * fmax(x[c], 0);
    }
    return 2 * D;
}

static int64_t of_rope_given(const at_t *at, const double *x, double *y)
{
    for (int t = 0; t < D / 2; t++) {
        const double angle = at->position * (double)at->parameters->data[t], gain = at->options[2];
        y[t] = gain * (cos(angle) * x[t] - sin(angle) * x[t + D / 2]);
        y[t + D / 2] = gain * (sin(angle) * x[t] + cos(angle) * x[t + D / 2]);
    }
    return D;
}

static int64_t of_rope_table(const at_t *at, const double *x, double *y)
{
    const double row = fmin(at->position, at->options[0] - 1);
    for (int t = 0; t < D / 2; t++) {
        const double sine = (double)at->parameters->data[(int64_t)row * D + t],
                     cosine = (double)at->parameters->data[(int64_t)row * D + D / 2 + t];
        y[t] = cosine * x[t] - sine * x[t + D / 2];
        y[t + D / 2] = sine * x[t] + cosine * x[t + D / 2];
    }
    return D;
}

/* Options, in the entry's order; those of no meaning are 0. The entries below NULL have their
 * formulas in tests/oracle_rows.c, and are drawn by all cases of the contract. */
static const struct {
    const char *name;
    map_t *formula;
    double options[GNN_ROW_OPTIONS];
} formulas[] = {
    {"elu1", of_elu1, {0}},
    {"relu", of_relu, {0.25}},
    {"exp", of_exp, {0}},
    {"favor", of_favor, {FEATURES}},
    {"favor_relu", of_favor_relu, {FEATURES, 0.125}},
    {"favor_trigonometric", of_favor_trigonometric, {FEATURES}},
    {"rfa", of_rfa, {FEATURES, 1.5}},
    {"taylor", of_taylor, {0}},
    {"dpfp", of_dpfp, {2, 0.0625}},
    {"cosformer", of_cosformer, {40}},
    {"rope_given", of_rope_given, {0}},
    {"rope_table", of_rope_table, {7}},
    {"none", NULL, {0}},
    {"rope", NULL, {0}},
    {"rope_llama3", NULL, {0}},
    {"rope_yarn", NULL, {0}},
    {"l2", NULL, {0}},
};
enum { FORMULAS = sizeof formulas / sizeof *formulas };

static size_t formula_of(const char *name)
{
    size_t k = 0;
    while (k < FORMULAS && strcmp(formulas[k].name, name) != 0)
        k++;
    ck_assert_msg(k < FORMULAS, "map %s has no formula in tests/contract_maps.c", name);
    return k;
}

/* ---- rows ---- */

static double position_in(const int64_t *segments, const int64_t *starts, int64_t n, int64_t row)
{
    for (int64_t s = 0; segments && s < n; s++)
        if (row >= segments[s] && row < segments[s + 1])
            return (double)(row - segments[s] + starts[s]);
    return (double)row;
}

static at_t at_of(const contract_run_t *r, bool sender, int64_t row)
{
    const gnn_graph_t *g = r->c.graph;
    at_t at = {.parameters = &r->in[GNN_AGGREGATE_MAP_PARAMETERS]};
    at.position = sender ? position_in(gnn_graph_src_segments(g), g->src_start, g->n_segments, row)
                         : position_in(gnn_graph_dst_segments(g), g->dst_start, g->n_segments, row);
    for (size_t k = 0; k < GNN_ROW_OPTIONS; k++)
        at.options[k] = r->c.map_options[k] != 0  ? r->c.map_options[k]
                        : k < r->c.map->n_options ? r->c.map->options[k].initial
                                                  : 0;
    return at;
}

/* Away from the kinks of formulas at 0. */
static void leave_zero(const gnn_tensor_t *t)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            if (fabs((double)gnn__row(t, r)[c]) < 0.01)
                gnn__row(t, r)[c] = (gnn_real_t)0.02;
}

/* All heads of a row in double precision; returns values of a head. */
static int64_t map_row(map_t *formula, const at_t *at, const double *x, double *y)
{
    int64_t width = 0;
    for (int a = 0; a < HEADS; a++)
        width = formula(at, x + a * D, y + a * WIDEST);
    return width;
}

static void read_row(const gnn_tensor_t *t, int64_t row, double *x)
{
    for (int64_t c = 0; c < t->cols; c++)
        x[c] = (double)gnn__row(t, row)[c];
}

/* The rows of `from` mapped, in memory of the caller. */
static gnn_tensor_t mapped(const contract_run_t *r, map_t *formula, int input)
{
    const gnn_tensor_t *from = &r->in[input];
    double x[HEADS * D], y[HEADS * WIDEST];
    const at_t first = at_of(r, input == GNN_AGGREGATE_KEY, 0);
    const int64_t width = map_row(formula, &first, (double[HEADS * D]){1}, y);
    gnn_tensor_t to = gnn_tensor(calloc((size_t)(from->rows * HEADS * width + 1), sizeof(gnn_real_t)),
                                 from->rows, HEADS * width);
    for (int64_t i = 0; i < from->rows; i++) {
        const at_t at = at_of(r, input == GNN_AGGREGATE_KEY, i);
        read_row(from, i, x);
        map_row(formula, &at, x, y);
        for (int64_t c = 0; c < to.cols; c++)
            gnn__row(&to, i)[c] = (gnn_real_t)y[c / width * WIDEST + c % width];
    }
    return to;
}

/* The gradient of row i of an input from that of its mapped row. */
static void pull_back(const contract_run_t *r, map_t *formula, int input, int64_t i,
                      const term_t *d_mapped, double *d)
{
    const double step = 1e-5;
    double x[HEADS * D], above[HEADS * WIDEST], below[HEADS * WIDEST];
    const at_t at = at_of(r, input == GNN_AGGREGATE_KEY, i);
    read_row(&r->in[input], i, x);
    for (int c = 0; c < HEADS * D; c++) {
        const double own = x[c];
        x[c] = own + step;
        const int64_t width = map_row(formula, &at, x, above);
        x[c] = own - step;
        map_row(formula, &at, x, below);
        x[c] = own;
        d[c] = 0;
        for (int64_t k = 0; k < HEADS * width; k++) {
            const int64_t e = k / width * WIDEST + k % width;
            d[c] += d_mapped[k].v * (above[e] - below[e]) / (2 * step);
        }
    }
}

/* ---- a case ---- */

static void judge(const contract_run_t *r, const char *what, const gnn_real_t *got,
                  const double *expected, int64_t count)
{
    double largest = 0, off = 0;
    for (int64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(expected[k]));
    for (int64_t k = 0; k < count; k++) {
        const double error = fabs((double)got[k] - expected[k]);
        off = isnan(error) ? INFINITY : fmax(off, error);
    }
    contract_judge(&r->c, what, off / fmax(largest, 1), 1e-4, r->c.map->name);
}

static void judge_rows(const contract_run_t *r, map_t *formula, int input, const oracle_t *o)
{
    const int64_t rows = r->in[input].rows;
    double *expected = calloc((size_t)(rows * HEADS * D + 1), sizeof *expected);
    for (int64_t i = 0; i < rows; i++)
        pull_back(r, formula, input, i, o->in[input].grad + i * o->in[input].cols,
                  expected + i * HEADS * D);
    judge(r, contract_input_name(input), r->grad[input], expected, rows * HEADS * D);
    free(expected);
}

static void judge_values(const contract_run_t *r, const oracle_t *o)
{
    const oracle_array_t *v = &o->in[GNN_AGGREGATE_SRC_MESSAGE];
    const int64_t n = r->n_dst * r->out_width, m = v->rows * v->cols;
    double *expected = calloc((size_t)(n + m + 1), sizeof *expected);
    for (int64_t k = 0; k < n; k++)
        expected[k] = o->out[k].v;
    judge(r, "output", r->out, expected, n);
    for (int64_t k = 0; k < m; k++)
        expected[k] = v->grad[k].v;
    judge(r, "values", r->grad[GNN_AGGREGATE_SRC_MESSAGE], expected, m);
    free(expected);
}

static void check_map(const contract_case_t *c, map_t *formula)
{
    ck_ok(gnn_graph_prepare(c->graph, &c->view));
    contract_run_t *r = contract_run_new(c);
    leave_zero(&r->in[GNN_AGGREGATE_QUERY]);
    leave_zero(&r->in[GNN_AGGREGATE_KEY]);
    gnn_aggregate_t how = r->how;
    gnn_tensor_t in[GNN_AGGREGATE_INPUTS];
    memcpy(in, r->in, sizeof in);
    in[GNN_AGGREGATE_QUERY] = mapped(r, formula, GNN_AGGREGATE_QUERY);
    in[GNN_AGGREGATE_KEY] = mapped(r, formula, GNN_AGGREGATE_KEY);
    in[GNN_AGGREGATE_MAP_PARAMETERS] = (gnn_tensor_t){0};
    how.map = NULL;
    how.shape.d_k = in[GNN_AGGREGATE_QUERY].cols / HEADS;
    oracle_t *o = oracle_new(&how, in, r->d_out, r->rng, 1);
    oracle_run(o);
    contract_library(r);
    judge_values(r, o);
    judge_rows(r, formula, GNN_AGGREGATE_QUERY, o);
    judge_rows(r, formula, GNN_AGGREGATE_KEY, o);
    free(in[GNN_AGGREGATE_QUERY].data);
    free(in[GNN_AGGREGATE_KEY].data);
    oracle_free(o);
    contract_run_free(r);
}

/* The graph as it is and as edges, by softmax and by the weigher that is linear. */
START_TEST(every_map_on_every_topology)
{
    const gnn_weigher_t *const weighers[] = {NULL, &gnn_weigher_linear};
    contract_open(2);
    for (size_t k = 0; gnn__map_at(k); k++) {
        const size_t at = formula_of(gnn__map_at(k)->name);
        for (int n = 0; formulas[at].formula && n < 4; n++) {
            const uint64_t seed = test_seed() + 97 * k + (uint64_t)n;
            contract_case_t c = contract_case_of("dot", contract_graph((size_t)_i, 13, seed),
                                                 contract_graph_name((size_t)_i), seed);
            gnn_graph_t *own = c.graph, *edges = contract_edges_of(own);
            c.graph = n % 2 ? edges : own;
            c.map = gnn__map_at(k);
            memcpy(c.map_options, formulas[at].options, sizeof c.map_options);
            c.weigher = weighers[n / 2];
            c.scale = 0.7;
            check_map(&c, formulas[at].formula);
            gnn_graph_free(edges);
            gnn_graph_free(own);
        }
    }
    contract_close();
    contract_assert(contract_graph_name((size_t)_i));
}
END_TEST

TCase *contract_map_tests(void)
{
    TCase *c = tcase_create("maps");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, every_map_on_every_topology, 0, (int)contract_graph_count());
    return c;
}
