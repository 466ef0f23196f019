/* Samplers: configuration, and the table of methods. */
#include <graphs/sample/sample.h>
#include <lib/base/settings.h>

#include <math.h>

#define GNN_SAMPLER(name, help) extern const gnn__sampling_method_t gnn__sampler_##name;
#include <graphs/sample/samplers.def>
#undef GNN_SAMPLER

static const gnn__sampling_method_t *const implementations[] = {
#define GNN_SAMPLER(name, help) &gnn__sampler_##name,
#include <graphs/sample/samplers.def>
#undef GNN_SAMPLER
};

static const gnn_sampler_method_t methods[] = {
#define GNN_SAMPLER(name, help) {#name, help},
#include <graphs/sample/samplers.def>
#undef GNN_SAMPLER
};

const gnn_sampler_method_t *gnn_sampler_method_at(size_t index)
{
    return index < sizeof methods / sizeof *methods ? &methods[index] : NULL;
}

static const char *name_at(size_t index)
{
    const gnn_sampler_method_t *method = gnn_sampler_method_at(index);
    return method ? method->name : NULL;
}

static int find_row(gnn_sampler_t *s, const char *name)
{
    for (size_t k = 0; k < sizeof implementations / sizeof *implementations; k++)
        if (strcmp(methods[k].name, name) == 0) {
            s->row = implementations[k];
            s->method = &methods[k];
            return GNN_OK;
        }
    return gnn__unknown_name("sampler", name, name_at);
}

unsigned gnn__sampler_reads(const char *name)
{
    for (size_t k = 0; k < sizeof implementations / sizeof *implementations; k++)
        if (strcmp(methods[k].name, name ? name : methods[0].name) == 0)
            return implementations[k]->reads;
    return 0;
}

static int check_graph(const gnn_graph_t *graph)
{
    if (graph->n_dst != graph->n_src)
        return gnn__error(
            GNN_ETOPOLOGY,
            "a sampler needs the same nodes on both sides, but the graph has %lld receivers and %lld senders",
            (long long)graph->n_dst, (long long)graph->n_src);
    if (graph->base.n_parts != 1 || gnn__graph_part_is_spans(graph, 0))
        return gnn__error(
            GNN_EUNSUPPORTED,
            "a sampler expects a graph of one part of edges, got %lld parts%s: see gnn_graph_to_edges, gnn_graph_part",
            (long long)graph->base.n_parts, graph->base.n_parts == 1 ? " of spans" : "");
    return GNN_OK;
}

static int check_weight(const gnn_real_t *weight, int64_t m)
{
    for (int64_t k = 0; weight && k < m; k++)
        if (!(weight[k] >= 0) || isinf(weight[k]))
            return gnn__error(GNN_ENUMERIC, "weight[%lld]: expected a finite value >= 0, got %g",
                              (long long)k, (double)weight[k]);
    return GNN_OK;
}

/* Settings that only other methods read must be 0, so that none is silently ignored. */
static int check_unread(const gnn_sampler_t *s)
{
    const gnn_sampler_config_t *c = &s->config;
    const gnn__setting_use_t uses[] = {{"hops", c->hops != 0, GNN__SAMPLES_HOPS},
                                       {"fan_outs", c->fan_outs != NULL, GNN__SAMPLES_HOPS},
                                       {"replace", c->replace == GNN_ON, GNN__SAMPLES_REPLACE},
                                       {"weight", c->weight != NULL, GNN__SAMPLES_WEIGHT},
                                       {"walk_length", c->walk_length != 0, GNN__SAMPLES_WALKS},
                                       {"rounds", c->rounds != 0, GNN__SAMPLES_WALKS},
                                       {"batch", c->batch != 0, GNN__SAMPLES_WALKS},
                                       {"roots", c->roots != NULL, GNN__SAMPLES_WALKS},
                                       {"n_roots without roots", c->n_roots != 0 && !c->roots, 0},
                                       {"cluster_of", c->cluster_of != NULL, GNN__SAMPLES_CLUSTERS},
                                       {"clusters", c->clusters != 0, GNN__SAMPLES_CLUSTERS},
                                       {"clusters with cluster_of", c->clusters && c->cluster_of, 0}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, s->row->reads);
    return unread ? gnn__error(GNN_EINVALID, "sampler \"%s\" reads no %s", s->method->name, unread)
                  : GNN_OK;
}

static int check_config(const gnn_sampler_t *s)
{
    const gnn_sampler_config_t *c = &s->config;
    GNN_TRY(check_unread(s));
    if (c->hops < 0 || (c->hops > 0 && !c->fan_outs) || (c->hops == 0 && s->row->needs_hops))
        return gnn__error(
            GNN_EINVALID, "sampler \"%s\": hops: expected at least 1 and fan_outs, got %lld%s",
            s->method->name, (long long)c->hops, c->fan_outs ? "" : ", fan_outs is NULL");
    for (int64_t h = 0; h < c->hops; h++)
        if (c->fan_outs[h] < -1 || c->fan_outs[h] > INT32_MAX)
            return gnn__error(GNN_EINVALID, "fan_outs[%lld] = %lld, expected -1 (all) to 2^31 - 1",
                              (long long)h, (long long)c->fan_outs[h]);
    GNN_TRY(gnn__check_flag(c->replace, "replace"));
    if (c->walk_length < 0 || c->rounds < 0 || c->clusters < 0)
        return gnn__error(GNN_EINVALID,
                          "walk_length, rounds, clusters: expected >= 0, got %lld, %lld and %lld",
                          (long long)c->walk_length, (long long)c->rounds, (long long)c->clusters);
    return check_weight(c->weight, s->graph->n_edges);
}

/* Copies the configuration and fills in defaults. */
static int take_config(gnn_sampler_t *s, const gnn_sampler_config_t *config)
{
    int64_t *fan_outs;
    GNN_TRY(gnn__new(&fan_outs, s->config.hops, sizeof *fan_outs, "fan-outs"));
    if (s->config.hops > 0)
        memcpy(fan_outs, config->fan_outs, (size_t)s->config.hops * sizeof *fan_outs);
    s->config.fan_outs = s->own[0] = fan_outs;
    if (s->config.walk_length == 0)
        s->config.walk_length = 2;
    if (s->config.rounds == 0)
        s->config.rounds = 50;
    return GNN_OK;
}

static int open_sampler(gnn_sampler_t *s, const gnn_sampler_config_t *config)
{
    int64_t count;
    GNN_TRY(find_row(s, config->method ? config->method : methods[0].name));
    GNN_TRY(check_graph(s->graph));
    s->pairs = &s->graph->base.parts[0].pairs;
    GNN_TRY(check_config(s));
    GNN_TRY(take_config(s, config));
    GNN_TRY(gnn__view_missing_loops(&s->graph->base, s->graph->n_dst, &s->missing, &count));
    return s->row->open ? s->row->open(s, config) : GNN_OK;
}

int gnn_sampler_new(gnn_sampler_t **sampler, const gnn_graph_t *graph,
                    const gnn_sampler_config_t *config)
{
    GNN__NEED(sampler);
    GNN__NEED(graph);
    GNN__NEED(config);
    gnn_sampler_t *made;
    *sampler = NULL;
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a sampler"));
    made->graph = graph;
    made->config = *config;
    const int rc = open_sampler(made, config);
    if (rc == GNN_OK)
        *sampler = made;
    else
        gnn_sampler_free(made);
    return rc;
}

void gnn_sampler_free(gnn_sampler_t *sampler)
{
    if (!sampler)
        return;
    for (size_t k = 0; k < sizeof sampler->own / sizeof *sampler->own; k++)
        gnn_free(sampler->own[k]);
    gnn_free(sampler->missing);
    gnn_free(sampler);
}

int64_t gnn_sampler_graphs(const gnn_sampler_t *sampler)
{
    GNN__NEED_OR(sampler, 0);
    return sampler->row->blocks ? sampler->config.hops : 1;
}
