/* The context: threads, determinism, precision, allocator, workspace. */
#include <lib/base/settings.h>
#include <lib/base/ranks.h>
#include <lib/base/room.h>

#include <omp.h>
#include <stdlib.h>

enum { MAX_THREADS = 1024, GRAIN = 6000 };

/* `wanted` threads whatever the processors; by default OpenMP's count, at most the available
 * processors, because threads that share one wait for each other. */
static int count_threads(int wanted)
{
    const int threads = wanted ? wanted : (int)gnn__min(omp_get_max_threads(), gnn__processors());
    return (int)gnn__max(gnn__min(threads, MAX_THREADS), 1);
}

/* Work that is worth one more thread: less than a microsecond, the cost of a region. It is that
 * small because rows in the caches of several cores are cheaper to process there than to move.
 * GNN_GRAIN reduces it, so that tests reach every loop with several threads. */
static int read_grain(int64_t *grain)
{
    const char *wish = getenv("GNN_GRAIN");
    char *end;
    *grain = GRAIN;
    if (!wish || !*wish)
        return GNN_OK;
    *grain = strtoll(wish, &end, 10);
    return *grain > 0 && !*end ? GNN_OK
                               : gnn__error(GNN_EINVALID,
                                            "the environment variable GNN_GRAIN: expected an "
                                            "integer from 1, got \"%.40s\"",
                                            wish);
}

int gnn_context_new(gnn_context_t **context, const gnn_context_config_t *config)
{
    gnn_context_config_t c = config ? *config : (gnn_context_config_t){0};
    GNN__NEED(context);
    if (c.threads < 0 || c.threads > MAX_THREADS)
        return gnn__error(GNN_EINVALID, "a context's config: threads: expected 0 to %d, got %d",
                          MAX_THREADS, c.threads);
    if (c.precision < GNN_PRECISION_DEFAULT || c.precision > GNN_PRECISION_MEDIUM)
        return gnn__error(GNN_EINVALID, "a context's config: expected a known precision, got %d",
                          (int)c.precision);
    GNN_TRY(gnn__check_flag(c.deterministic, "a context's config: deterministic"));
    if (!c.allocator.allocate != !c.allocator.release || (c.allocator.user && !c.allocator.allocate))
        return gnn__error(GNN_EINVALID,
                          "a context's config: allocator: expected both allocate and release%s",
                          c.allocator.user ? " with a user" : "");
    gnn_context_t *made;
    int64_t grain;
    GNN_TRY(gnn__isa_check());
    GNN_TRY(read_grain(&grain));
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "a context"));
    made->threads = count_threads(c.threads);
    made->grain = grain;
    made->deterministic = c.deterministic == GNN_ON;
    made->precision = c.precision ? c.precision : GNN_PRECISION_HIGHEST;
    made->seed = c.seed;
    made->allocator = c.allocator;
    made->scratch.allocator = &made->allocator;
    int rc = gnn__profile_new(&made->profile);
    if (rc == GNN_OK)
        *context = made;
    else
        gnn_free(made);
    return rc;
}

void gnn_context_free(gnn_context_t *context)
{
    if (!context)
        return;
    if (context->tape)
        context->tape_free(context->tape);
    if (context->primitives)
        context->primitives_free(context->primitives);
    if (context->map_tables)
        context->map_tables_free(context->map_tables);
    gnn__arena_free(&context->scratch);
    gnn__profile_free(context->profile);
    gnn__ranks_free(context->ranks);
    gnn__buffers_return(context, 0);
    gnn_free(context);
}

int gnn_context_threads(const gnn_context_t *context)
{
    GNN__NEED_OR(context, 0);
    return gnn__most_threads(context, 0);
}

uint64_t gnn_context_seed(const gnn_context_t *context)
{
    GNN__NEED_OR(context, 0);
    return context->seed;
}

void gnn_context_set_seed(gnn_context_t *context, uint64_t seed)
{
    GNN__NEED_OR(context, );
    context->seed = seed;
}

static int threads_of(const gnn_context_t *context, int fewer, int64_t work)
{
    const int64_t useful = work / context->grain;
    const int team = gnn__team_size(context), all = fewer > 0 && fewer < team ? fewer : team;
    return (int)gnn__max(gnn__min(useful, all), 1);
}

int gnn__threads(const gnn_context_t *context, int64_t work)
{
    return context ? threads_of(context, context->fewer, work) : 1;
}

int gnn__threads_after(const gnn_context_t *context, int64_t work)
{
    return threads_of(context, context->after, work);
}

gnn__deal_t gnn__deal(int64_t n, int threads)
{
    gnn__deal_t deal = {.n = n, .shares = threads < GNN__DEALT ? threads : GNN__DEALT};
    for (int s = 0; s < deal.shares; s++)
        deal.of[s].next = gnn__share(n, s, deal.shares);
    return deal;
}

int64_t gnn__deal_next(gnn__deal_t *deal)
{
    const int own = (int)((int64_t)omp_get_thread_num() * deal->shares / omp_get_num_threads());
    for (int k = 0; k < deal->shares; k++) {
        const int s = (own + k) % deal->shares;
        int64_t chunk;
#pragma omp atomic capture
        chunk = deal->of[s].next++;
        if (chunk < gnn__share(deal->n, s + 1, deal->shares))
            return chunk;
    }
    return -1;
}
