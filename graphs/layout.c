/* Force-directed layout, Fruchterman and Reingold 1991, with an ideal edge length of 1. Nodes
 * repel each other with 1 / d, edges attract with weight * d^2; a step moves a node by its force,
 * limited by a temperature that falls to 0. Initial positions come from the seed and all sums have
 * a fixed order, so the result is reproducible. */
#include <graphs/undirected.h>

#include <math.h>

/* Up to EXACT nodes, all pairs repel each other. Beyond, distant nodes repel from their centroid
 * (Barnes and Hut 1986): those of a square whose side / distance is below ANGLE. */
enum { STEPS = 500, EXACT = 300, LEAF = 8, DEPTH = 30 };
static const double ANGLE = 0.8, LEAST_WEIGHT = 1e-6, MOST_WEIGHT = 1e30, INWARD = 0.5;

/* A square of the quadtree with nodes order[first] .. order[end - 1]. */
typedef struct square {
    int64_t first, end, child; /* child: the first of four consecutive ones; 0: a leaf */
    double centroid[2];        /* centroid */
    double left, low, side;    /* lower left corner, side length */
} square_t;

typedef struct layout {
    int64_t n, m;
    gnn__undirected_edge_t *edges; /* (m) */
    double *at, *force;            /* (n x 2) each */
    double inward;                 /* attraction to the origin per unit of distance */
    /* the quadtree, for more than EXACT nodes */
    square_t *squares; /* capacity n */
    int64_t n_squares;
    int64_t *order; /* (n): nodes, ordered by square */
} layout_t;

static void layout_free(layout_t *l)
{
    gnn_free(l->edges);
    gnn_free(l->at);
    gnn_free(l->force);
    gnn_free(l->squares);
    gnn_free(l->order);
}

/* Components would drift apart without bound: if there are several, nodes are attracted to the
 * origin. */
static int set_inward(layout_t *l)
{
    int64_t *parent, components = l->n;
    GNN_TRY(gnn__components_new(&parent, l->n));
    for (int64_t k = 0; k < l->m; k++)
        components -= gnn__components_join(parent, l->edges[k].a, l->edges[k].b);
    gnn_free(parent);
    l->inward = components > 1 ? INWARD : 0;
    return GNN_OK;
}

static int layout_new(layout_t *l, const gnn_graph_t *graph, const gnn_real_t *weight, uint64_t seed)
{
    l->n = graph->n_dst;
    GNN_TRY(gnn__undirected_edges(graph, weight, GNN_BOTH_SUM, &l->edges, &l->m));
    GNN_TRY(gnn__new(&l->at, 2 * l->n, sizeof *l->at, "positions"));
    GNN_TRY(gnn__new(&l->force, 2 * l->n, sizeof *l->force, "forces"));
    GNN_TRY(set_inward(l));
    for (int64_t k = 0; k < l->m; k++)
        l->edges[k].weight = fmin(fmax(l->edges[k].weight, LEAST_WEIGHT), MOST_WEIGHT);
    for (int64_t k = 0; k < 2 * l->n; k++)
        l->at[k] =
            sqrt((double)l->n) * (gnn__uniform(seed, gnn__hash_string("layout"), (uint64_t)k) - 0.5);
    if (l->n <= EXACT)
        return GNN_OK;
    GNN_TRY(gnn__new(&l->squares, l->n, sizeof *l->squares, "squares of nodes"));
    return gnn__new(&l->order, l->n, sizeof *l->order, "nodes by square");
}

/* ---- forces ---- */

/* Repulsion of node i by `count` nodes at `from`; coincident nodes are separated by their
 * indices. */
static void repel(layout_t *l, int64_t i, const double *from, int64_t count, int64_t j)
{
    double x = l->at[2 * i] - from[0], y = l->at[2 * i + 1] - from[1], squared = x * x + y * y;
    if (squared < 1e-18) {
        const double sign = i < j ? -1 : 1, angle = (double)(i < j ? j - i : i - j);
        x = sign * 1e-9 * cos(angle);
        y = sign * 1e-9 * sin(angle);
        squared = 1e-18;
    }
    l->force[2 * i] += (double)count * x / squared;
    l->force[2 * i + 1] += (double)count * y / squared;
}

static void repel_all(layout_t *l)
{
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->n; j++)
            if (j != i)
                repel(l, i, l->at + 2 * j, 1, j);
}

/* ---- the quadtree ---- */

/* Moves nodes of order[first] .. order[end - 1] whose coordinate c is below `limit` to the front;
 * returns the end of that range. */
static int64_t partition(layout_t *l, int64_t first, int64_t end, int c, double limit)
{
    for (int64_t k = first; k < end; k++)
        if (l->at[2 * l->order[k] + c] < limit) {
            const int64_t node = l->order[k];
            l->order[k] = l->order[first];
            l->order[first++] = node;
        }
    return first;
}

static void split(layout_t *l, square_t *s)
{
    const double half = s->side / 2;
    const int64_t middle = partition(l, s->first, s->end, 1, s->low + half);
    const int64_t cuts[5] = {s->first, partition(l, s->first, middle, 0, s->left + half), middle,
                             partition(l, middle, s->end, 0, s->left + half), s->end};
    s->child = l->n_squares;
    l->n_squares += 4;
    for (int q = 0; q < 4; q++)
        l->squares[s->child + q] = (square_t){.first = cuts[q],
                                              .end = cuts[q + 1],
                                              .left = s->left + q % 2 * half,
                                              .low = s->low + q / 2 * half,
                                              .side = half};
}

static void set_centroid(const layout_t *l, square_t *s)
{
    const double count = (double)(s->end - s->first);
    for (int64_t k = s->first; k < s->end; k++) {
        s->centroid[0] += l->at[2 * l->order[k]] / count;
        s->centroid[1] += l->at[2 * l->order[k] + 1] / count;
    }
}

static void build_tree(layout_t *l)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < 2 * l->n; k++) {
        low[k % 2] = fmin(low[k % 2], l->at[k]);
        high[k % 2] = fmax(high[k % 2], l->at[k]);
        l->order[k / 2] = k / 2;
    }
    const double side = fmax(high[0] - low[0], high[1] - low[1]) * (1 + 1e-9) + 1e-30;
    l->squares[0] = (square_t){.end = l->n, .left = low[0], .low = low[1], .side = side};
    l->n_squares = 1;
    for (int64_t k = 0; k < l->n_squares; k++) {
        square_t *s = &l->squares[k];
        set_centroid(l, s);
        if (s->end - s->first > LEAF && s->side > ldexp(side, -DEPTH) && l->n_squares + 4 <= l->n)
            split(l, s);
    }
}

/* Stack of squares to visit: at most three per level, and four of the last. */
static void repel_by_tree(layout_t *l, int64_t i)
{
    int64_t stack[3 * DEPTH + 5] = {0};
    for (int height = 1; height > 0;) {
        const square_t *s = &l->squares[stack[--height]];
        const double x = l->at[2 * i] - s->centroid[0], y = l->at[2 * i + 1] - s->centroid[1];
        if (s->end > s->first && s->side * s->side < ANGLE * ANGLE * (x * x + y * y))
            repel(l, i, s->centroid, s->end - s->first, -1);
        else if (s->child)
            for (int q = 0; q < 4; q++)
                stack[height++] = s->child + q;
        else
            for (int64_t k = s->first; k < s->end; k++)
                if (l->order[k] != i)
                    repel(l, i, l->at + 2 * l->order[k], 1, l->order[k]);
    }
}

/* ---- a step ---- */

static void attract(layout_t *l)
{
    for (int64_t k = 0; k < l->m; k++) {
        double *a = l->at + 2 * l->edges[k].a, *b = l->at + 2 * l->edges[k].b;
        const double x = a[0] - b[0], y = a[1] - b[1], f = l->edges[k].weight * sqrt(x * x + y * y);
        double *on_a = l->force + 2 * l->edges[k].a, *on_b = l->force + 2 * l->edges[k].b;
        on_a[0] -= f * x;
        on_a[1] -= f * y;
        on_b[0] += f * x;
        on_b[1] += f * y;
    }
    for (int64_t k = 0; k < 2 * l->n; k++)
        l->force[k] -= l->inward * l->at[k];
}

static void move(layout_t *l, double most)
{
    for (int64_t i = 0; i < l->n; i++) {
        const double length = hypot(l->force[2 * i], l->force[2 * i + 1]);
        const double scale = length > most ? most / length : 1;
        l->at[2 * i] += scale * l->force[2 * i];
        l->at[2 * i + 1] += scale * l->force[2 * i + 1];
    }
}

static void run(layout_t *l)
{
    const double start = sqrt((double)l->n) / 10;
    for (int step = 0; step < STEPS; step++) {
        memset(l->force, 0, (size_t)(2 * l->n) * sizeof *l->force);
        if (l->n <= EXACT)
            repel_all(l);
        else
            build_tree(l);
        for (int64_t i = 0; i < l->n && l->n > EXACT; i++)
            repel_by_tree(l, i);
        attract(l);
        move(l, start * (STEPS - step) / STEPS);
    }
}

/* ---- entry points ---- */

static int check_positions(const gnn_graph_t *graph, const gnn_tensor_t *positions)
{
    GNN__NEED(positions);
    if (positions->rows != graph->n_dst || positions->cols != 2)
        return gnn__error(GNN_ESHAPE, "positions: got %lld x %lld, %lld nodes need %lld x 2",
                          (long long)positions->rows, (long long)positions->cols,
                          (long long)graph->n_dst, (long long)graph->n_dst);
    if (graph->n_dst > 0 && (!positions->data || (positions->stride != 0 && positions->stride < 2)))
        return gnn__error(GNN_ESHAPE, "positions have %s",
                          positions->data ? "rows that overlap" : "no data");
    return GNN_OK;
}

int gnn_graph_layout_weighted(const gnn_graph_t *graph, const gnn_real_t *weight, uint64_t seed,
                              const gnn_tensor_t *positions)
{
    GNN__NEED(graph);
    GNN__NEED(positions);
    layout_t l = {.n = 0};
    GNN_TRY(gnn__undirected_check(graph, weight, "layout"));
    GNN_TRY(check_positions(graph, positions));
    int rc = layout_new(&l, graph, weight, seed);
    if (rc == GNN_OK)
        run(&l);
    for (int64_t k = 0; rc == GNN_OK && k < 2 * l.n; k++)
        gnn__row(positions, k / 2)[k % 2] = (gnn_real_t)l.at[k];
    layout_free(&l);
    return rc;
}
