/* Partitions of a set's nodes: a part for each node, borders at slices, sizes of the exchanges. */
#include <lib/base/settings.h>
#include <lib/data/partition.h>

#include <graphs/sample/sample.h>
#include <stdlib.h>

/* The node's part while a partition is made, and what it is made of. */
typedef struct maker {
    const gnn_data_t *data;
    const gnn_partition_config_t *config;
    const gnn__pairs_t *pairs;
    const uint8_t *training;
    int64_t n, parts, cost;
    int32_t *part_of; /* (n) */
    int64_t *count;   /* (parts) nodes of each */
} maker_t;

static int64_t degree(const maker_t *m, int64_t i)
{
    return m->pairs->indptr[i + 1] - m->pairs->indptr[i];
}

/* ---- a part for each node ---- */

/* Weights of METIS: in-degree plus the cost of a node, and 1 for training nodes where there are
 * some. Halved until their sum fits METIS's indices. */
static int by_metis(const maker_t *m)
{
    int64_t trained = 0, sum = m->pairs->count + m->n * m->cost, shift = 0;
    int32_t *weights;
    for (int64_t i = 0; m->training && i < m->n; i++)
        trained += m->training[i];
    while (sum >> shift > INT32_MAX / 2)
        shift++;
    const int64_t kinds = trained >= m->parts ? 2 : 1;
    GNN_TRY(gnn__new(&weights, m->n * kinds, sizeof *weights, "weights of nodes"));
    for (int64_t i = 0; i < m->n; i++) {
        weights[i * kinds] = (int32_t)gnn__max(1, (degree(m, i) + m->cost) >> shift);
        if (kinds == 2)
            weights[i * kinds + 1] = m->training[i];
    }
    const int rc = gnn__metis(
        &(gnn__metis_t){.pairs = m->pairs,
                        .parts = m->parts,
                        .constraints = kinds,
                        .weights = weights,
                        .seed = m->config->seed,
                        .what = "parts",
                        .otherwise = "method \"metis\" is not available, \"hash\" and \"range\" are"},
        m->part_of);
    gnn_free(weights);
    if (rc == GNN_EMEMORY || rc == GNN_EUNSUPPORTED)
        return gnn__error_prefix(rc,
                                 "partition (methods \"hash\" and \"range\" need O(nodes) memory)");
    return rc;
}

static int by_hash(const maker_t *m)
{
    for (int64_t i = 0; i < m->n; i++)
        m->part_of[i] = (int32_t)(gnn__uniform(m->config->seed, 37, (uint64_t)i) * (double)m->parts);
    return GNN_OK;
}

/* Slices in their order, cut where the sum of weights reaches a part's share; every part gets at
 * least one slice. */
static int by_range(const maker_t *m)
{
    const int64_t total = m->pairs->count + m->n * m->cost,
                  slices = (m->n + GNN_SLICE - 1) / GNN_SLICE;
    int64_t part = 0;
    for (int64_t s = 0; s < slices; s++) {
        const int64_t lo = s * GNN_SLICE, hi = gnn__min(m->n, lo + GNN_SLICE);
        const double middle =
            (double)(m->pairs->indptr[lo] + m->pairs->indptr[hi] + (lo + hi) * m->cost) / 2;
        const bool full = middle * (double)m->parts >= (double)total * (double)(part + 1),
                   needed = slices - s < m->parts - part;
        part += s > 0 && part + 1 < m->parts && (full || needed);
        for (int64_t i = lo; i < hi; i++)
            m->part_of[i] = (int32_t)part;
    }
    return GNN_OK;
}

static int by_given(const maker_t *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t part = gnn__int(m->config->part_of, i);
        if (part < 0 || part >= m->parts)
            return gnn__error(GNN_EINVALID,
                              "partition: part_of[%lld]: expected a part from 0 to %lld, got %lld",
                              (long long)i, (long long)m->parts - 1, (long long)part);
        m->part_of[i] = (int32_t)part;
    }
    return GNN_OK;
}

static const struct {
    const char *name;
    int (*assign)(const maker_t *m);
} methods[] = {{"metis", by_metis}, {"hash", by_hash}, {"range", by_range}, {"given", by_given}};

enum { METHODS = sizeof methods / sizeof *methods, GIVEN = METHODS - 1 };

const char *gnn__partition_method_at(size_t index)
{
    return index < METHODS ? methods[index].name : NULL;
}

/* Methods that a config names. */
static const char *named_at(size_t index)
{
    return index < GIVEN ? methods[index].name : NULL;
}

static int find_method(const gnn_partition_config_t *config, int *method)
{
    const char *name = config->method ? config->method : methods[0].name;
    *method = GIVEN;
    if (config->part_of.data && config->method)
        return gnn__error(GNN_EINVALID, "partition: expected part_of or method, got both (\"%s\")",
                          config->method);
    if (config->part_of.data)
        return GNN_OK;
    for (*method = 0; *method < GIVEN; ++*method)
        if (strcmp(name, methods[*method].name) == 0)
            return GNN_OK;
    return gnn__unknown_name("method of partition", name, named_at);
}

static int check_unread(const gnn_partition_config_t *c, int method)
{
    enum { METIS = 1, HASH = 2, RANGE = 4 }; /* bits of `methods` */
    const gnn__setting_use_t uses[] = {{"node_cost", c->node_cost != 0, METIS | RANGE},
                                       {"seed", c->seed != 0, METIS | HASH}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, 1u << method);
    if (!unread)
        return GNN_OK;
    return method == GIVEN
               ? gnn__error(GNN_EINVALID, "partition: given parts (part_of) read no %s", unread)
               : gnn__error(GNN_EINVALID, "partition: method \"%s\" reads no %s",
                            methods[method].name, unread);
}

/* ---- borders at slices ---- */

typedef struct candidate {
    int64_t cost;
    int32_t node;
} candidate_t;

static int by_cost(const void *a, const void *b)
{
    const candidate_t *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
                              : (x->node > y->node) - (x->node < y->node);
}

/* Moves `count` nodes, those of low degree with few neighbours in their own part and many in the
 * other: they change balance and halo least. */
static int move(const maker_t *m, int64_t from, int64_t to, int64_t count)
{
    candidate_t *list;
    int64_t n = 0;
    GNN_TRY(gnn__new(&list, m->count[from], sizeof *list, "nodes at a border"));
    for (int64_t i = 0; i < m->n; i++) {
        if (m->part_of[i] != from)
            continue;
        int64_t cost = degree(m, i);
        for (int64_t k = m->pairs->indptr[i]; k < m->pairs->indptr[i + 1]; k++) {
            const int32_t other = m->part_of[m->pairs->indices[k]];
            cost += (other == from) - (other == to);
        }
        list[n++] = (candidate_t){cost, (int32_t)i};
    }
    qsort(list, (size_t)n, sizeof *list, by_cost);
    for (int64_t k = 0; k < count; k++)
        m->part_of[list[k].node] = (int32_t)to;
    m->count[from] -= count;
    m->count[to] += count;
    gnn_free(list);
    return GNN_OK;
}

/* Part p gets `wanted` nodes, at the expense of the parts after it. */
static int resize(const maker_t *m, int64_t p, int64_t wanted)
{
    if (m->count[p] > wanted)
        return move(m, p, p + 1, m->count[p] - wanted);
    for (int64_t q = p + 1; q < m->parts && m->count[p] < wanted; q++) {
        const int64_t some = gnn__min(m->count[q], wanted - m->count[p]);
        if (some > 0)
            GNN_TRY(move(m, q, p, some));
    }
    return GNN_OK;
}

static int place_borders(const maker_t *m, int64_t *book)
{
    const int64_t slices = (m->n + GNN_SLICE - 1) / GNN_SLICE;
    int64_t sum = 0;
    for (int64_t i = 0; i < m->n; i++)
        m->count[m->part_of[i]]++;
    for (int64_t p = 0, at = 0; p + 1 < m->parts; p++) {
        sum += m->count[p];
        int64_t slice = (sum + GNN_SLICE / 2) / GNN_SLICE;
        slice = gnn__min(gnn__max(slice, at + 1), slices - (m->parts - p - 1));
        book[p + 1] = slice * GNN_SLICE;
        at = slice;
    }
    book[m->parts] = m->n;
    for (int64_t p = 0; p + 1 < m->parts; p++)
        GNN_TRY(resize(m, p, book[p + 1] - book[p]));
    return GNN_OK;
}

/* Within a part nodes keep the set's order. `at` (parts) is scratch. */
static void sort_nodes(const maker_t *m, const int64_t *book, int64_t *at, int64_t *order)
{
    memcpy(at, book, (size_t)m->parts * sizeof *at);
    for (int64_t i = 0; i < m->n; i++)
        order[at[m->part_of[i]]++] = i;
}

/* ---- sizes ---- */

static int64_t feature_bytes(const gnn_data_t *data, int64_t i)
{
    const int64_t other = (int64_t)sizeof(int32_t) + 3 * data->split->count;
    if (data->sparse.indptr)
        return other + (int64_t)sizeof(int64_t) +
               (data->sparse.indptr[i + 1] - data->sparse.indptr[i]) *
                   (int64_t)(sizeof(int32_t) + sizeof(gnn_real_t));
    return other + data->features * (int64_t)sizeof(gnn_real_t);
}

/* One receiver: `heard` (n) holds the last part that counted a sender, `pulled` (parts) the last
 * receiver that a sender's part counted. */
static void count_row(gnn_partition_t *p, const maker_t *m, int64_t i, int32_t *heard, int64_t *pulled)
{
    const int32_t own = m->part_of[i];
    for (int64_t k = m->pairs->indptr[i]; k < m->pairs->indptr[i + 1]; k++) {
        const int32_t j = m->pairs->indices[k], other = m->part_of[j];
        if (other == own)
            continue;
        p->cut++;
        if (heard[j] != own + 1) {
            heard[j] = own + 1;
            p->traffic[other * p->parts + own]++;
        }
        if (pulled[other] != i + 1) {
            pulled[other] = i + 1;
            p->back[own * p->parts + other]++;
        }
    }
}

static void sum_traffic(gnn_partition_t *p)
{
    for (int64_t r = 0; r < p->parts; r++)
        for (int64_t c = 0; c < p->parts; c++) {
            const int64_t rows = p->traffic[r * p->parts + c], back = p->back[r * p->parts + c];
            p->sizes[r].sent += rows;
            p->sizes[c].halo += rows;
            p->sizes[r].peers += rows > 0;
            p->sizes[c].from += rows > 0;
            p->sizes[r].sent_back += back;
            p->sizes[c].halo_back += back;
            p->sizes[r].peers_back += back > 0;
            p->sizes[c].from_back += back > 0;
        }
}

static int measure(gnn_partition_t *p, const maker_t *m)
{
    int32_t *heard = NULL;
    int64_t *pulled = NULL;
    int rc;
    GNN_CHECK(gnn__new(&heard, m->n, sizeof *heard, "a partition"));
    GNN_CHECK(gnn__new(&pulled, m->parts, sizeof *pulled, "a partition"));
    for (int64_t part = 0; part < p->parts; part++) {
        gnn_partition_part_t *s = &p->sizes[part];
        for (int64_t r = p->book[part]; r < p->book[part + 1]; r++) {
            const int64_t i = p->order[r];
            s->nodes++;
            s->edges += degree(m, i);
            s->training += m->training ? m->training[i] : 0;
            s->features += feature_bytes(m->data, i);
            count_row(p, m, i, heard, pulled);
        }
    }
    sum_traffic(p);
    rc = GNN_OK;
done:
    gnn_free(heard);
    gnn_free(pulled);
    return rc;
}

/* ---- the calls ---- */

static int check(maker_t *m, int *method)
{
    const gnn_partition_config_t *c = m->config;
    const int64_t slices = (m->n + GNN_SLICE - 1) / GNN_SLICE;
    GNN_TRY(gnn__data_one_graph(m->data, "partitioned"));
    const gnn_graph_t *graph = m->data->graph;
    if (graph->n_segments > 0 || graph->base.n_parts != 1 || !graph->base.parts[0].pairs.indptr)
        return gnn__error(GNN_EUNSUPPORTED,
                          "partition: expected a graph of one part of edges without segments, got "
                          "%lld parts and %lld segments",
                          (long long)graph->base.n_parts, (long long)graph->n_segments);
    m->pairs = &graph->base.parts[0].pairs;
    if (c->parts < 1 || c->parts > GNN_MAX_PARTS)
        return gnn__error(GNN_EINVALID, "partition: parts: expected 1 to %d, got %lld",
                          GNN_MAX_PARTS, (long long)c->parts);
    if (c->parts > slices)
        return gnn__error(GNN_EINVALID,
                          "partition: parts: expected at most %lld, the slices of %d rows of %lld "
                          "nodes, got %lld",
                          (long long)slices, GNN_SLICE, (long long)m->n, (long long)c->parts);
    if (c->node_cost < 0 || c->node_cost > 1 << 20)
        return gnn__error(GNN_EINVALID, "partition: node_cost: expected 0 to %d, got %lld", 1 << 20,
                          (long long)c->node_cost);
    m->training = gnn_data_mask(m->data, GNN_TRAIN, c->split);
    if (!m->training)
        return gnn__error(GNN_EINVALID, "partition: split: expected 0 to %lld, got %lld",
                          (long long)gnn_data_splits(m->data) - 1, (long long)c->split);
    if (c->part_of.data)
        GNN_TRY(gnn__ints_check("part_of", c->part_of, m->n));
    GNN_TRY(find_method(c, method));
    return check_unread(c, *method);
}

static int make(gnn_partition_t *p, maker_t *m)
{
    int method;
    GNN_TRY(check(m, &method));
    p->n = m->n;
    p->m = m->pairs->count;
    p->parts = m->parts;
    p->method = methods[method].name;
    GNN_TRY(gnn__new(&m->part_of, m->n, sizeof *m->part_of, "a partition"));
    GNN_TRY(gnn__new(&m->count, m->parts, sizeof *m->count, "a partition"));
    GNN_TRY(gnn__new(&p->order, m->n, sizeof *p->order, "a partition"));
    GNN_TRY(gnn__new(&p->book, m->parts + 1, sizeof *p->book, "a partition"));
    GNN_TRY(gnn__new(&p->traffic, m->parts * m->parts, sizeof *p->traffic, "a partition"));
    GNN_TRY(gnn__new(&p->back, m->parts * m->parts, sizeof *p->back, "a partition"));
    GNN_TRY(gnn__new(&p->sizes, m->parts, sizeof *p->sizes, "a partition"));
    if (m->parts > 1)
        GNN_TRY(methods[method].assign(m));
    GNN_TRY(place_borders(m, p->book));
    sort_nodes(m, p->book, m->count, p->order);
    return measure(p, m);
}

int gnn_partition_new(gnn_partition_t **partition, const gnn_data_t *data,
                      const gnn_partition_config_t *config)
{
    gnn_partition_t *p = NULL;
    GNN__NEED(partition);
    *partition = NULL;
    GNN__NEED(data);
    GNN__NEED(config);
    maker_t m = {.data = data, .config = config, .n = data->n, .parts = config->parts};
    m.cost = config->node_cost ? config->node_cost : GNN__NODE_COST;
    GNN_TRY(gnn__new(&p, 1, sizeof *p, "a partition"));
    const int rc = make(p, &m);
    gnn_free(m.part_of);
    gnn_free(m.count);
    if (rc == GNN_OK)
        *partition = p;
    else
        gnn_partition_free(p);
    return rc;
}

void gnn_partition_free(gnn_partition_t *p)
{
    if (!p)
        return;
    gnn_free(p->order);
    gnn_free(p->book);
    gnn_free(p->traffic);
    gnn_free(p->back);
    gnn_free(p->sizes);
    gnn_free(p);
}

gnn_partition_sizes_t gnn_partition_sizes(const gnn_partition_t *partition)
{
    GNN__NEED_OR(partition, (gnn_partition_sizes_t){0});
    return (gnn_partition_sizes_t){.parts = partition->parts,
                                   .cut = partition->cut,
                                   .method = partition->method,
                                   .book = partition->book,
                                   .traffic = partition->traffic};
}

int gnn_partition_part(const gnn_partition_t *partition, int64_t part, gnn_partition_part_t *sizes)
{
    GNN__NEED(partition);
    GNN__NEED(sizes);
    if (part < 0 || part >= partition->parts)
        return gnn__error(GNN_EINVALID, "partition: part: expected 0 to %lld, got %lld",
                          (long long)partition->parts - 1, (long long)part);
    *sizes = partition->sizes[part];
    return GNN_OK;
}

int gnn_partition_step(const gnn_partition_t *partition, int64_t part, int64_t layers,
                       const int64_t *widths, gnn_partition_step_t *step)
{
    GNN__NEED(partition);
    gnn_partition_part_t s;
    int64_t w = 0, rows;
    GNN__NEED(widths);
    GNN__NEED(step);
    GNN_TRY(gnn_partition_part(partition, part, &s));
    if (layers < 1)
        return gnn__error(GNN_EINVALID, "partition: layers: expected at least 1, got %lld",
                          (long long)layers);
    for (int64_t l = 0; l < layers; l++) {
        if (widths[l] < 1)
            return gnn__error(GNN_EINVALID,
                              "partition: width of layer %lld is %lld, expected at least 1",
                              (long long)l, (long long)widths[l]);
        if (!gnn__add(w, widths[l], &w))
            return gnn__error(GNN_EOVERFLOW, "partition: the sum of the widths does not fit");
    }
    /* partition->n x partition->parts bounds every count of rows */
    if (!gnn__mul(w, 4 * (int64_t)sizeof(gnn_real_t), &w) ||
        !gnn__mul(partition->n + 1, partition->parts, &rows) || !gnn__mul(w, rows, &rows))
        return gnn__error(GNN_EOVERFLOW, "partition: bytes of a step do not fit");
    w /= 4;
    step->bytes_sent = w * (s.sent + s.sent_back);
    step->bytes_received = w * (s.halo + s.halo_back);
    step->messages_sent = layers * (s.peers + s.peers_back);
    step->messages_received = layers * (s.from + s.from_back);
    step->memory =
        s.features + 8 * (2 * s.nodes + s.halo + 2) + 16 * s.edges + 2 * w * (s.nodes + s.halo);
    return GNN_OK;
}
