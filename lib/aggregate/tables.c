/* Entries of the tables by index and by name, checks of their functions and options, and the
 * sizes of the parameters that they declare. */
#include <lib/aggregate/tables.h>
#include <lib/base/base.h>
#include <string.h>

#define GNN_MESSAGE(name) &gnn_message_##name,
#define GNN_AGGREGATOR(name) &gnn_aggregator_##name,
#define GNN_SCORE(name) &gnn_score_##name,
#define GNN_MAP(name) &gnn_map_##name,
#define GNN_PRIOR(name) &gnn_prior_##name,
#define GNN_WEIGHER(name) &gnn_weigher_##name,
static const gnn_message_t *const messages[] = {
#include <lib/aggregate/messages.def>
};
static const gnn_aggregator_t *const aggregators[] = {
#include <lib/aggregate/aggregators.def>
};
static const gnn_score_t *const scores[] = {
#include <lib/aggregate/scores.def>
};
static const gnn_map_t *const maps[] = {
#include <lib/aggregate/maps.def>
};
static const gnn_prior_t *const priors[] = {
#include <lib/aggregate/priors.def>
};
static const gnn_weigher_t *const weighers[] = {
#include <lib/aggregate/weighers.def>
};

/* The error of a name that a table does not have. */
static void not_found(const char *kind, const char *name, size_t count,
                      const char *(*name_at)(size_t index))
{
    char names[512] = "";
    for (size_t k = 0; k < count; k++)
        gnn__append_name(names, sizeof names, k + 1 == count ? " or " : ", ", name_at(k));
    (void)gnn__error(GNN_ENOTFOUND, "no %s is called \"%s\"; expected %s", kind, name, names);
    for (size_t k = 0; strcmp(kind, "aggregator") == 0 && k < sizeof scores / sizeof *scores; k++)
        if (strcmp(gnn__score_at(k)->name, name) == 0)
            (void)gnn__error(GNN_ENOTFOUND,
                             "%s is a score: set .aggregator = attention and .score = %s", name,
                             name);
}

/* The functions of one table: by index, and the public one by name. */
#define TABLE(kind, rows)                                               \
    const gnn_##kind##_t *gnn__##kind##_at(size_t index)                \
    {                                                                   \
        return index < sizeof rows / sizeof *rows ? rows[index] : NULL; \
    }                                                                   \
    static const char *kind##_name(size_t index)                        \
    {                                                                   \
        return rows[index]->name;                                       \
    }                                                                   \
    const gnn_##kind##_t *gnn_##kind##_find(const char *name)           \
    {                                                                   \
        const size_t count = sizeof rows / sizeof *rows;                \
        GNN__NEED_OR(name, NULL);                                       \
        for (size_t k = 0; k < count; k++)                              \
            if (strcmp(rows[k]->name, name) == 0)                       \
                return rows[k];                                         \
        not_found(#kind, name, count, kind##_name);                     \
        return NULL;                                                    \
    }

TABLE(message, messages)
TABLE(score, scores)
TABLE(aggregator, aggregators)
TABLE(map, maps)
TABLE(prior, priors)
TABLE(weigher, weighers)

/* ---- members of entries: they may come from a program ---- */

/* Checks what every entry has; `lacks` is the first function that this one has not. */
static int check_entry(const char *kind, const char *name, const char *lacks,
                       const gnn_option_t *options, size_t n_options)
{
    if (!name || !*name)
        return gnn__error(GNN_EINVALID, "%s without a name", kind);
    if (lacks)
        return gnn__error(GNN_EINVALID, "%s %s has no function .%s", kind, name, lacks);
    return gnn__check_options(kind, name, options, n_options);
}

static int check_flags(const char *kind, const char *name, unsigned flags, unsigned known)
{
    return flags & ~known ? gnn__error(GNN_EINVALID, "%s %s: .flags is 0x%x, expected bits of 0x%x",
                                       kind, name, flags, known)
                          : GNN_OK;
}

static int check_aggregator(const gnn_aggregator_t *a)
{
    const char *lacks = NULL;
    if (!a->state || !a->accumulate || !a->finish)
        lacks = !a->state ? "state" : !a->accumulate ? "accumulate" : "finish";
    else if (!a->finish_grad || !a->accumulate_grad)
        lacks = !a->finish_grad ? "finish_grad" : "accumulate_grad";
    GNN_TRY(check_entry("aggregator", a->name, lacks, a->options, a->n_options));
    return check_flags("aggregator", a->name, a->flags,
                       GNN_AGGREGATOR_SCORED | GNN_AGGREGATOR_LINEAR);
}

static int check_message(const gnn_message_t *m)
{
    const char *lacks = !m->message ? "message" : !m->message_grad ? "message_grad" : NULL;
    GNN_TRY(check_entry("message", m->name, lacks, m->options, m->n_options));
    if (m->src_parts < 0 || m->dst_parts < 0 || m->edge_parts < 0)
        return gnn__error(GNN_EINVALID,
                          "message %s: .src_parts, .dst_parts and .edge_parts are %d, %d and %d, "
                          "expected 0 or more",
                          m->name, m->src_parts, m->dst_parts, m->edge_parts);
    return check_flags("message", m->name, m->flags, GNN_MESSAGE_READS_DISTANCE);
}

static int check_score(const gnn_score_t *s)
{
    const char *lacks = !s->score ? "score" : !s->score_grad ? "score_grad" : NULL;
    GNN_TRY(check_entry("score", s->name, lacks, s->options, s->n_options));
    if (s->width != GNN_SCORE_PER_KEY && s->width != GNN_SCORE_PER_HEAD)
        return gnn__error(GNN_EINVALID, "score %s: .width is %d, expected a gnn_score_width_t",
                          s->name, (int)s->width);
    return check_flags("score", s->name, s->flags, GNN_SCORE_KEY_IS_MESSAGE);
}

/* A map without any function changes nothing. */
static int check_map_entry(const gnn_map_t *m)
{
    const bool none = !m->wrong && !m->numbers && !m->prepare && !m->apply_grad && !m->width &&
                      !m->declare && !m->parameters_grad;
    const char *lacks = NULL;
    if (m->apply || !none)
        lacks = !m->apply                   ? "apply"
                : !m->apply_grad            ? "apply_grad"
                : m->numbers && !m->prepare ? "prepare"
                                            : NULL;
    return check_entry("map", m->name, lacks, m->options, m->n_options);
}

static int check_weigher(const gnn_weigher_t *w)
{
    const char *lacks = !w->weight                      ? "weight"
                        : !w->weight_grad               ? "weight_grad"
                        : w->declare && !w->settle_grad ? "settle_grad"
                        : w->again && !w->enter         ? "enter"
                                                        : NULL;
    GNN_TRY(check_entry("weigher", w->name, lacks, w->options, w->n_options));
    if (w->state < 0 || w->state > GNN_WEIGHER_STATE)
        return gnn__error(GNN_EINVALID, "weigher %s: .state is %lld, expected 0 to %d", w->name,
                          (long long)w->state, GNN_WEIGHER_STATE);
    return check_flags("weigher", w->name, w->flags, GNN_WEIGHER_FACTORS);
}

/* The three forms of a prior: a pair's scores, a strip of distances, keys of distances. */
enum { OF_PAIRS, OF_STRIPS, OF_KEYS, FORMS };

static int check_form(const gnn_prior_t *p)
{
    const bool has[FORMS] = {p->score || p->score_grad, p->strip || p->strip_grad,
                             p->key_row || p->key_column},
               whole[FORMS] = {p->score && p->score_grad, p->strip && p->strip_grad,
                               p->key_row && p->key_column};
    static const unsigned needed[FORMS] = {0, GNN_PRIOR_READS_DISTANCE,
                                           GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_QUERY};
    int form = -1;
    for (int f = 0; f < FORMS; f++)
        if (has[f] && (form >= 0 || !whole[f]))
            return gnn__error(GNN_EINVALID,
                              "prior %s: expected either .score and .score_grad, or .strip and "
                              ".strip_grad, or .key_row and .key_column",
                              p->name);
        else if (has[f])
            form = f;
    if (form < 0)
        return gnn__error(GNN_EINVALID, "prior %s has no function .score", p->name);
    if ((p->flags & needed[form]) != needed[form])
        return gnn__error(GNN_EINVALID, "prior %s: .%s needs the flags 0x%x, .flags is 0x%x",
                          p->name, form == OF_KEYS ? "key_row" : "strip", needed[form], p->flags);
    if (form != OF_PAIRS && (p->numbers != GNN_PRIOR_SHARED || (p->flags & GNN_PRIOR_RUNNING)))
        return gnn__error(GNN_EINVALID,
                          "prior %s: .%s reads values that all pairs share, expected "
                          ".numbers GNN_PRIOR_SHARED without GNN_PRIOR_RUNNING",
                          p->name, form == OF_KEYS ? "key_row" : "strip");
    return GNN_OK;
}

static int check_prior(const gnn_prior_t *p)
{
    GNN_TRY(check_entry("prior", p->name, p->declare ? NULL : "declare", p->options, p->n_options));
    if (p->numbers != GNN_PRIOR_SHARED && p->numbers != GNN_PRIOR_PER_RECEIVER &&
        p->numbers != GNN_PRIOR_PER_SENDER)
        return gnn__error(GNN_EINVALID, "prior %s: .numbers is %d, expected a gnn_prior_numbers_t",
                          p->name, (int)p->numbers);
    GNN_TRY(check_flags("prior", p->name, p->flags,
                        GNN_PRIOR_READS_QUERY | GNN_PRIOR_READS_DISTANCE | GNN_PRIOR_READS_KEY |
                            GNN_PRIOR_RUNNING));
    return check_form(p);
}

int gnn__check_entries(const gnn_aggregate_t *how)
{
    GNN_TRY(check_aggregator(how->aggregator));
    GNN_TRY(check_message(how->message));
    if (how->score)
        GNN_TRY(check_score(how->score));
    if (how->map)
        GNN_TRY(check_map_entry(how->map));
    if (how->weigher)
        GNN_TRY(check_weigher(how->weigher));
    for (int p = 0; p < GNN_PRIORS; p++)
        if (how->priors[p].row)
            GNN_TRY(check_prior(how->priors[p].row));
    return GNN_OK;
}

/* ---- a map at a place ---- */

int gnn__check_map(const gnn_map_t *map, const gnn_score_t *score, const gnn_aggregate_shape_t *shape)
{
    if (!map || !map->apply)
        return GNN_OK;
    if (!gnn__scores_keys(score))
        return gnn__error(GNN_EUNSUPPORTED,
                          "map %s needs queries and keys of d_k values per head, %s has one",
                          map->name, score ? score->name : "an aggregator without scores");
    const char *wrong = map->wrong ? map->wrong(shape) : NULL;
    if (wrong)
        return gnn__error(GNN_EINVALID, "map %s: %s (d_k is %lld)", map->name, wrong,
                          (long long)shape->d_k);
    const int64_t width = gnn__map_width(map, shape);
    if (map->width && (width < 1 || width > GNN_MAP_WIDEST))
        return gnn__error(GNN_EUNSUPPORTED,
                          "map %s makes %lld values of a head of %lld, expected 1 to %d", map->name,
                          (long long)width, (long long)shape->d_k, GNN_MAP_WIDEST);
    if (width != shape->d_k && score->declare)
        return gnn__error(GNN_EUNSUPPORTED,
                          "map %s makes %lld values of a head of %lld, score %s has parameters for "
                          "rows as they were",
                          map->name, (long long)width, (long long)shape->d_k, score->name);
    return GNN_OK;
}

int gnn__declared_size(gnn_row_declare_t *declare, const gnn_aggregate_shape_t *shape,
                       int64_t *rows, int64_t *cols)
{
    gnn_piece_t pieces[GNN_ROW_PIECES] = {{0}};
    const size_t n = declare ? declare(shape, pieces) : 0;
    int64_t sum = 0;
    if (n > GNN_ROW_PIECES)
        return gnn__error(GNN_EINVALID, "a row declares %zu pieces, expected at most %d", n,
                          GNN_ROW_PIECES);
    for (size_t k = 0; k < n; k++)
        if (!pieces[k].name || pieces[k].rows < 0 || pieces[k].cols < 0)
            return gnn__error(GNN_EINVALID, "piece %zu has %s, and %lld x %lld values", k,
                              pieces[k].name ? "a name" : "no name", (long long)pieces[k].rows,
                              (long long)pieces[k].cols);
    *rows = n == 1 ? pieces[0].rows : n > 0;
    *cols = n == 1 ? pieces[0].cols : 0;
    for (size_t k = 0; n > 1 && k < n; k++) {
        int64_t count = 0;
        if (!gnn__mul(pieces[k].rows, pieces[k].cols, &count) || !gnn__add(sum, count, &sum))
            return gnn__error(GNN_EOVERFLOW, "the parameters of a row do not fit");
        *cols = sum;
    }
    return GNN_OK;
}
