/* Random BA-Shapes: houses attached to a Barabasi-Albert graph, a ground truth for explanations.
 * Ying et al. 2019, after Barabasi and Albert 1999. */
#include <lib/data/data.h>

#include <gnn/explain.h>

enum {
    TIES = 5, /* links of a new node of the Barabasi-Albert graph */
    HOUSE = 5,
    WALLS = 6, /* links of a house */
    COLUMNS = 10
};

static const int8_t walls[WALLS][2] = {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 4}, {3, 4}};
static const int8_t classes[HOUSE] = {1, 2, 2, 3, 3};

typedef struct shapes {
    gnn_ba_shapes_t config;
    int64_t nodes, links, draws;
    int64_t *src, *dst;
    gnn_real_t *motif, *x;
    int32_t *labels;
    gnn_split_t *split;
} shapes_t;

static int64_t draw(shapes_t *s, int64_t n)
{
    const uint64_t stream = gnn__hash_string("ba_shapes");
    return (int64_t)(gnn__uniform(s->config.seed, stream, (uint64_t)s->draws++) * (double)n);
}

static bool linked(const shapes_t *s, int64_t a, int64_t b, int64_t from)
{
    for (int64_t k = from; k < s->links; k++)
        if ((s->src[k] == a && s->dst[k] == b) || (s->src[k] == b && s->dst[k] == a))
            return true;
    return false;
}

static void add(shapes_t *s, int64_t a, int64_t b, bool motif)
{
    s->src[s->links] = a;
    s->dst[s->links] = b;
    s->motif[s->links++] = motif;
}

/* An end of a random earlier link picks a node in proportion to its degree. */
static void draw_tied(shapes_t *s)
{
    for (int64_t i = 1; i <= TIES; i++)
        add(s, i, 0, false);
    for (int64_t i = TIES + 1; i < s->config.nodes; i++) {
        const int64_t before = s->links;
        while (s->links < before + TIES) {
            const int64_t link = draw(s, before);
            const int64_t j = draw(s, 2) ? s->src[link] : s->dst[link];
            if (!linked(s, i, j, before))
                add(s, i, j, false);
        }
    }
}

static void draw_houses(shapes_t *s)
{
    for (int64_t h = 0; h < s->config.houses; h++) {
        const int64_t first = s->config.nodes + h * HOUSE;
        for (int k = 0; k < WALLS; k++)
            add(s, first + walls[k][0], first + walls[k][1], true);
        for (int k = 0; k < HOUSE; k++)
            s->labels[first + k] = classes[k];
        add(s, first + 3, draw(s, s->config.nodes), false);
    }
}

static void draw_extra(shapes_t *s, int64_t count)
{
    for (int64_t k = 0; k < count;) {
        const int64_t a = draw(s, s->nodes), b = draw(s, s->nodes);
        if (a == b || linked(s, a, b, 0))
            continue;
        add(s, a, b, false);
        k++;
    }
}

static int draw_split(shapes_t *s)
{
    int32_t *order;
    GNN_TRY(gnn__new(&order, s->nodes, sizeof *order, "nodes"));
    gnn__data_shuffle(order, s->nodes, s->config.seed);
    for (int64_t k = 0; k < s->nodes; k++) {
        const int part = 10 * k < 8 * s->nodes   ? GNN_TRAIN
                         : 10 * k < 9 * s->nodes ? GNN_VALIDATION
                                                 : GNN_TEST;
        s->split->masks[part][order[k]] = 1;
    }
    gnn_free(order);
    return GNN_OK;
}

static int make_room(shapes_t *s, int64_t links)
{
    GNN_TRY(gnn__new(&s->src, links, sizeof *s->src, "links"));
    GNN_TRY(gnn__new(&s->dst, links, sizeof *s->dst, "links"));
    GNN_TRY(gnn__new(&s->motif, 2 * links, sizeof *s->motif, "links"));
    GNN_TRY(gnn__new(&s->x, s->nodes * COLUMNS, sizeof *s->x, "features"));
    GNN_TRY(gnn__new(&s->labels, s->nodes, sizeof *s->labels, "labels"));
    return gnn_split_new(&s->split, s->nodes, 1);
}

static int fill(shapes_t *s)
{
    const int64_t n = s->config.nodes, houses = s->config.houses;
    s->nodes = n + houses * HOUSE;
    const int64_t extra = (int64_t)(s->config.extra * (double)s->nodes);
    GNN_TRY(make_room(s, TIES * n + houses * (WALLS + 1) + extra));
    draw_tied(s);
    draw_houses(s);
    draw_extra(s, extra);
    for (int64_t k = 0; k < s->links; k++)
        s->motif[s->links + k] = s->motif[k];
    for (int64_t k = 0; k < s->nodes * COLUMNS; k++)
        s->x[k] = 1;
    return draw_split(s);
}

static int make(gnn_data_t **data, shapes_t *s)
{
    static const char *const names[] = {"graph", "roof", "below the roof", "at the ground"};
    const gnn_tensor_t x = gnn_tensor(s->x, s->nodes, COLUMNS);
    const gnn_array_t motif = {.name = "motif",
                               .dtype = GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32,
                               .ndim = 2,
                               .shape = {2 * s->links, 1},
                               .count = 2 * s->links,
                               .data = s->motif};
    GNN_TRY(gnn_data_new(data, &(gnn_data_config_t){.name = "ba-shapes",
                                                    .nodes = s->nodes,
                                                    .edges = s->links,
                                                    .src = gnn_ints(s->src),
                                                    .dst = gnn_ints(s->dst),
                                                    .both_ways = GNN_ON,
                                                    .x = &x,
                                                    .labels = gnn_ints(s->labels),
                                                    .classes = 4,
                                                    .class_names = names,
                                                    .split = s->split}));
    const int rc = gnn_data_array_set(*data, GNN_ON_EDGES, &motif);
    if (rc != GNN_OK) {
        gnn_data_free(*data);
        *data = NULL;
    }
    return rc;
}

static int check(gnn_ba_shapes_t *c)
{
    enum { MOST = 1000000 };
    c->nodes = c->nodes == 0 ? 300 : c->nodes;
    c->houses = c->houses == 0 ? 80 : c->houses;
    c->extra = c->extra == 0 ? 0.1 : c->extra < 0 ? 0 : c->extra;
    if (c->nodes <= TIES || c->nodes > MOST || c->houses < 1 || c->houses > MOST || !(c->extra <= 1))
        return gnn__error(
            GNN_EINVALID,
            "BA-Shapes: .nodes = %lld, expected %d to %d; .houses = %lld, expected 1 to %d; .extra = %g, expected at most 1 link per node",
            (long long)c->nodes, TIES + 1, MOST, (long long)c->houses, MOST, c->extra);
    return GNN_OK;
}

int gnn_data_ba_shapes(gnn_data_t **data, const gnn_ba_shapes_t *shapes)
{
    GNN__NEED(data);
    *data = NULL;
    shapes_t s = {.config = shapes ? *shapes : (gnn_ba_shapes_t){0}};
    int rc;
    GNN_TRY(check(&s.config));
    GNN_CHECK(fill(&s));
    rc = make(data, &s);
done:
    gnn_free(s.src);
    gnn_free(s.dst);
    gnn_free(s.motif);
    gnn_free(s.x);
    gnn_free(s.labels);
    gnn_split_free(s.split);
    return rc;
}
