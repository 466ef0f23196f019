/* The strategy of attention by strip: dot scores on one part of spans, any weigher, priors of
 * nodes and of positions, unlike counts of key and value heads. A strip of receivers meets all of
 * its senders, so that weighers see whole rows of scores; nothing is saved, backward makes scores
 * and weights anew.
 *
 *     forward    for each strip and head:  s = q k'   terms   w = weigher(s)   y = w v
 *     backward   for each chunk of strips: the same, d = dY v'   derivatives by s   d_q = d k
 *                and, in sums of the chunk:  d_k += d' q    d_v += w' dY
 *
 * Chunks follow from the graph alone, and their sums are added in order. */
#include <lib/aggregate/fast/attention_call.h>
#include <lib/aggregate/fast/strip_terms.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>

#include <omp.h>

enum { ROWS = GNN__STRIP_ROWS, TILE = GNN__STRIP_TILE, REGISTER = 16 };

/* ---- which strips there are ---- */

/* Strips of `rows` rows each; the widest meets `widest` columns. c0 is the first column that any
 * row attends, `columns` those up to the last one, in whole tiles. */
typedef struct layout {
    int64_t rows, count, widest, c0, columns;
} layout_t;

static const gnn__pairs_t *part_of(const gnn__plan_t *plan)
{
    return &plan->view->parts[0].pairs;
}

static int64_t widest_strip(const gnn__pairs_t *pairs, int64_t rows)
{
    int64_t widest = 0;
    for (int64_t r = 0; r < pairs->n_rows; r += rows) {
        const int64_t end = gnn__min(r + rows, pairs->n_rows);
        widest = gnn__max(widest, pairs->hi[end - 1] - pairs->lo[r]);
    }
    return gnn__round_up(widest + REGISTER, REGISTER);
}

/* Fewer rows where they are long, so that a strip stays in the cache. */
static layout_t lay_out(const gnn__pairs_t *pairs)
{
    enum { MOST = 1 << 17, FEWEST = 12 };
    layout_t l = {.rows = ROWS};
    if (pairs->n_rows == 0)
        return l;
    l.widest = widest_strip(pairs, l.rows);
    while (l.rows > FEWEST && l.rows * l.widest > MOST) {
        l.rows /= 2;
        l.widest = widest_strip(pairs, l.rows);
    }
    l.count = (pairs->n_rows + l.rows - 1) / l.rows;
    l.c0 = pairs->lo[0];
    l.columns = gnn__round_up(gnn__max(pairs->hi[pairs->n_rows - 1] - l.c0, 0), TILE);
    return l;
}

/* Scores are additive_tanh. Keys by distance multiply queries times the scale, which these have
 * not. One segment: a value that is too large changes the last bits of all rows, and must not
 * change those of another sentence. */
static bool scores_are_tanh(const gnn__plan_t *plan)
{
    bool keys = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        keys |= plan->hints.prior[p] == GNN__PRIOR_SENDER_KEYS ||
                (plan->prior[p] && plan->prior[p]->key_row);
    return plan->hints.score == GNN__SCORE_ADDITIVE_TANH && !keys && plan->graph->n_segments <= 1;
}

/* Factor of the queries, and of their gradients. */
static gnn_real_t query_scale(const gnn__plan_t *plan)
{
    return plan->hints.score == GNN__SCORE_DOT ? plan->shape.scale : 1;
}

static bool takes(const gnn__plan_t *plan)
{
    const gnn__part_t *part = plan->view->n_parts == 1 ? &plan->view->parts[0] : NULL;
    if (!part || !plan->scored || gnn__parts_differ(plan) ||
        plan->hints.reduction != GNN__REDUCTION_ATTENTION ||
        (plan->hints.score != GNN__SCORE_DOT && !scores_are_tanh(plan)) ||
        plan->hints.message != GNN__MESSAGE_SENDER || gnn__pairs_form(&part->pairs) != GNN__SPANS ||
        part->scale_row || part->scale_col || plan->edge_key || plan->edge_width > 0 ||
        plan->has[GNN_AGGREGATE_EDGE_BIAS] || plan->has[GNN_AGGREGATE_EDGE_WEIGHT] ||
        plan->weigher->declare || plan->how->edge_weights_out || plan->how->segment_weights_out ||
        plan->shape.d_k == 0 || plan->shape.d_v == 0)
        return false;
    return gnn__strip_terms_known(plan, lay_out(&part->pairs).columns);
}

/* ---- memory ---- */

typedef struct scratch {
    gnn_real_t *q, *key_q, *y, *d_q, *d_key_q; /* rows x ldk or ldv */
    gnn_real_t *s, *w, *d;                     /* rows x ld: scores, weights, derivatives */
    gnn_real_t *capped, *factors;              /* the same: scores before terms, exp(terms) */
    gnn_real_t *terms;                         /* of gnn__strip_terms_scratch */
    uint8_t *bits;                             /* with dropout: rows x (ld + GNN__STRIP_DRAWN) */
    gnn_real_t *kept;                          /* the weights that are left, rows x ld; backward */
    gnn_real_t state[ROWS][GNN_WEIGHER_STATE];
    bool q_finite, y_finite;
    gnn__strip_tanh_t tanh;
} scratch_t;

/* Sums of one chunk: heads x columns x ldk or ldv. */
typedef struct sums {
    gnn_real_t *k, *v;
    gnn_real_t *vector; /* additive_tanh: heads x ldk */
    gnn__strip_sums_t terms;
} sums_t;

enum { MOST_CHUNKS = 16 };

typedef struct run {
    const gnn__plan_t *plan;
    const gnn__pairs_t *pairs;
    layout_t layout;
    gnn__weigher_rows_t weigher;
    int64_t ldk, ldv;
    int64_t chunks, groups, begin[MOST_CHUNKS + 1]; /* strips of each chunk */
    uint32_t *col_node;                             /* (columns) */
    gnn_real_t *k, *k_t, *v, *v_t; /* heads x columns x ldk or ldv, and their tiles transposed */
    bool *k_finite, *v_finite;     /* (heads) */
    char *scratch;                 /* bytes per thread */
    int64_t scratch_bytes;
    gnn__strip_terms_t terms;
    sums_t sums[MOST_CHUNKS];
} run_t;

/* Memory of one thread. */
static scratch_t carve_scratch(const run_t *run, gnn__carve_t *c, bool backward)
{
    const gnn__plan_t *plan = run->plan;
    const int64_t rows = run->layout.rows, ld = run->layout.widest;
    scratch_t s = {0};
    s.q = gnn__carve_cube(c, rows, run->ldk, 1);
    s.key_q = gnn__carve_cube(c, rows, plan->has[GNN_AGGREGATE_PRIOR_QUERY] ? run->ldk : 0, 1);
    s.y = gnn__carve_cube(c, rows, run->ldv, 1);
    s.s = gnn__carve_cube(c, rows, ld, 1);
    s.w = gnn__carve_cube(c, rows, ld, 1);
    s.factors = gnn__carve_cube(c, gnn__multiplies(plan) ? rows : 0, ld, 1);
    s.capped = gnn__carve_cube(c, plan->shape.softcap > 0 && backward ? rows : 0, ld, 1);
    s.terms = gnn__carve_cube(c, gnn__strip_terms_scratch(plan), 1, 1);
    s.bits = gnn__carve(c, plan->dropping ? rows * (ld + GNN__STRIP_DRAWN) : 0, 1);
    if (backward) {
        s.d = gnn__carve_cube(c, rows, ld, 1);
        s.d_q = gnn__carve_cube(c, rows, run->ldk, 1);
        s.kept = gnn__carve_cube(c, plan->dropping ? rows : 0, ld, 1);
        s.d_key_q = gnn__carve_cube(c, rows, plan->has[GNN_AGGREGATE_PRIOR_QUERY] ? run->ldk : 0, 1);
    }
    return s;
}

static scratch_t own_scratch(const run_t *run, bool backward)
{
    gnn__carve_t c = {.base = run->scratch + omp_get_thread_num() * run->scratch_bytes};
    return carve_scratch(run, &c, backward);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Groups of heads that share no head of keys or values. With dropout, whose draws serve eight
 * heads, few. */
static int64_t groups_of(const gnn__plan_t *plan)
{
    enum { DRAWN = 8 };
    const gnn_aggregate_shape_t *s = &plan->shape;
    int64_t groups = greatest_divisor(s->key_heads, s->value_heads);
    while (plan->dropping && groups % 2 == 0 && s->heads / groups < DRAWN)
        groups /= 2;
    return groups;
}

/* Chunks of about as many pairs, for some eight units of work. */
static void cut_chunks(run_t *run)
{
    enum { UNITS = 8, STRIPS = 4 };
    const gnn__pairs_t *p = run->pairs;
    const int64_t most = gnn__min(run->layout.count / STRIPS, MOST_CHUNKS),
                  wanted = gnn__max(UNITS / run->groups, 2);
    run->chunks = gnn__max(gnn__min(most, wanted), 1);
    int64_t pairs = 0, chunk = 1;
    for (int64_t s = 0; s < run->layout.count; s++) {
        const int64_t end = gnn__min((s + 1) * run->layout.rows, p->n_rows);
        for (int64_t r = s * run->layout.rows; r < end; r++)
            pairs += p->hi[r] - p->lo[r];
        while (chunk < run->chunks && pairs * run->chunks >= p->count * chunk)
            run->begin[chunk++] = s + 1;
    }
    while (chunk <= run->chunks)
        run->begin[chunk++] = run->layout.count;
    run->begin[0] = 0;
    run->begin[run->chunks] = run->layout.count;
}

static void carve_sums(run_t *run, gnn__carve_t *c)
{
    const gnn_aggregate_shape_t *s = &run->plan->shape;
    for (int64_t k = 0; k < run->chunks; k++) {
        run->sums[k].k = gnn__carve_cube(c, s->key_heads, run->layout.columns, run->ldk);
        run->sums[k].v = gnn__carve_cube(c, s->value_heads, run->layout.columns, run->ldv);
        run->sums[k].vector = gnn__carve_cube(c, s->heads, run->ldk, 1);
        gnn__strip_sums_carve(&run->terms, c, &run->sums[k].terms);
    }
}

static int memory(const gnn__plan_t *plan, void *scratch, bool backward, run_t *run, size_t *bytes)
{
    gnn__carve_t c = {.base = scratch}, own = {0};
    const gnn_aggregate_shape_t *s = &plan->shape;
    int64_t all = 0;
    memset(run, 0, sizeof *run);
    run->plan = plan;
    run->pairs = part_of(plan);
    run->layout = lay_out(run->pairs);
    run->weigher = gnn__weigher_rows_of(plan->weigher);
    run->ldk = gnn__round_up(s->d_k, REGISTER);
    run->ldv = gnn__round_up(s->d_v, REGISTER);
    run->groups = groups_of(plan);
    cut_chunks(run);
    const int64_t columns = run->layout.columns;
    run->col_node = gnn__carve(&c, columns, sizeof *run->col_node);
    run->k = gnn__carve_cube(&c, s->key_heads, columns, run->ldk);
    run->k_t = gnn__carve_cube(&c, s->key_heads, columns, run->ldk);
    run->v = gnn__carve_cube(&c, s->value_heads, columns, run->ldv);
    run->v_t = gnn__carve_cube(&c, backward ? s->value_heads : 0, columns, run->ldv);
    run->k_finite = gnn__carve(&c, s->key_heads, sizeof *run->k_finite);
    run->v_finite = gnn__carve(&c, s->value_heads, sizeof *run->v_finite);
    gnn__strip_terms_carve(plan, &c, columns, run->ldk, &run->terms);
    if (backward)
        carve_sums(run, &c);
    carve_scratch(run, &own, backward);
    run->scratch_bytes = gnn__round_up(own.used, 64);
    c.overflow |= own.overflow || !gnn__mul(run->scratch_bytes, plan->threads, &all);
    run->scratch = gnn__carve(&c, all, 1);
    return gnn__carved(&c, bytes);
}

static int sizes(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    GNN_TRY(memory(plan, NULL, false, &run, &call->forward_scratch));
    if (!plan->recording)
        return GNN_OK;
    gnn__attention_keep(plan, call);
    call->out[0].keep = 0;
    return memory(plan, NULL, true, &run, &call->backward_scratch);
}

/* ---- packing ---- */

/* Packs a head of keys or values; columns that no row attends are 0. */
static bool pack_head(const run_t *run, int input, int64_t head, int64_t width, int64_t ld,
                      gnn_real_t *rows)
{
    const gnn_real_t factor = input == GNN_AGGREGATE_KEY && scores_are_tanh(run->plan) ? 2 : 1;
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const gnn__matrix_t m = gnn__matrix_of(&run->plan->in[input]);
    const gnn__pairs_t *p = run->pairs;
    const int64_t c0 = run->layout.c0;
    int64_t done = 0;
    bool finite = true;
    for (int64_t r = 0, end; r < p->n_rows; r = end) {
        int64_t to = gnn__max(p->hi[r] - c0, done);
        const int64_t from = gnn__max(p->lo[r] - c0, done);
        for (end = r + 1; end < p->n_rows && p->lo[end] <= to + c0; end++)
            to = gnn__max(to, p->hi[end] - c0);
        if (p->hi[end - 1] <= p->lo[r] || to <= from)
            continue;
        memset(rows + done * ld, 0, sizeof *rows * (size_t)((from - done) * ld));
        finite &= kernels->pack(&m, run->col_node + from, to - from, to - from, head * width, width,
                                ld, factor, rows + from * ld);
        done = to;
    }
    memset(rows + done * ld, 0, sizeof *rows * (size_t)((run->layout.columns - done) * ld));
    return finite;
}

/* additive_tanh: e^2k in the transposed tiles, where that is small enough that products of two do
 * not overflow. */
enum { MOST_EXPONENT = 40 };

static void raise_keys(const run_t *run, int64_t head)
{
    const int64_t count = run->layout.columns * run->ldk;
    run->k_finite[head] =
        gnn__attention_strips()->within(count, run->k + head * count, MOST_EXPONENT);
    gnn__attention_strips()->exp(count, run->k_t + head * count);
}

static void pack_senders(run_t *run, bool backward, int threads)
{
    const gnn_aggregate_shape_t *s = &run->plan->shape;
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const int64_t columns = run->layout.columns, tiles = columns / TILE, end = run->pairs->n_rows;
    const int64_t last = end > 0 ? run->pairs->hi[end - 1] - 1 : 0;
    for (int64_t c = 0; c < columns; c++)
        run->col_node[c] = (uint32_t)gnn__pairs_col(run->pairs, gnn__min(run->layout.c0 + c, last));
    GNN__PARALLEL_FOR (threads, int64_t h = 0; h < s->key_heads + s->value_heads; h++) {
        const int64_t v = h - s->key_heads;
        if (v < 0) {
            const int64_t at = h * columns * run->ldk;
            run->k_finite[h] = pack_head(run, GNN_AGGREGATE_KEY, h, s->d_k, run->ldk, run->k + at);
            kernels->to_columns(run->k + at, tiles, run->ldk, run->k_t + at);
            if (scores_are_tanh(run->plan))
                raise_keys(run, h);
        } else {
            const int64_t at = v * columns * run->ldv;
            run->v_finite[v] =
                pack_head(run, GNN_AGGREGATE_SRC_MESSAGE, v, s->d_v, run->ldv, run->v + at);
            if (backward)
                kernels->to_columns(run->v + at, tiles, run->ldv, run->v_t + at);
        }
    }
    run->terms.col_node = run->col_node;
    gnn__strip_terms_fill(&run->terms, run->k, threads);
}

/* ---- products of a strip ---- */

static gnn__strip_t strip_at(const run_t *run, int64_t index)
{
    const gnn__pairs_t *p = run->pairs;
    gnn__strip_t s = {.row0 = index * run->layout.rows};
    s.rows = gnn__min(run->layout.rows, p->n_rows - s.row0);
    s.first = (p->lo[s.row0] - run->layout.c0) / REGISTER * REGISTER;
    const int64_t end = p->hi[s.row0 + s.rows - 1] - run->layout.c0;
    s.width = gnn__round_up(gnn__max(end - s.first, 0), REGISTER);
    s.ld = run->layout.widest;
    for (int64_t r = 0; r < s.rows; r++) {
        s.from[r] = p->lo[s.row0 + r] - run->layout.c0 - s.first;
        s.to[r] = p->hi[s.row0 + r] - run->layout.c0 - s.first;
        s.node[r] = (uint32_t)gnn__pairs_node(p, s.row0 + r);
    }
    return s;
}

/* out = a b', where b is in transposed tiles. */
static void multiply_tiles(const gnn__strip_t *s, const gnn_real_t *a, int64_t ld, int64_t width,
                           const gnn_real_t *tiles, gnn_real_t *out)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    for (int64_t c = 0, end; c < s->width; c = end) {
        const int64_t at = s->first + c, within = at % TILE;
        end = gnn__min(c + TILE - within, s->width);
        kernels->multiply(a, ld, 1, s->rows, tiles + at / TILE * TILE * ld + within, TILE, width,
                          out + c, s->ld, end - c, false);
    }
}

/* out (rows x ld) += p b over the strip's columns. p is 0 outside of a row's span, and 0 x NaN is
 * NaN: where b is not finite, row by row over the span. */
static void multiply_rows(const gnn__strip_t *s, const gnn_real_t *p, const gnn_real_t *b,
                          int64_t ld, bool finite, gnn_real_t *out)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    b += s->first * ld;
    for (int64_t c = 0; finite && c < s->width; c += TILE)
        kernels->multiply(p + c, s->ld, 1, s->rows, b + c * ld, ld, gnn__min(s->width - c, TILE),
                          out, ld, ld, true);
    for (int64_t r = 0; !finite && r < s->rows; r++)
        if (s->from[r] < s->to[r])
            kernels->multiply(p + r * s->ld + s->from[r], s->ld, 1, 1, b + s->from[r] * ld, ld,
                              s->to[r] - s->from[r], out + r * ld, ld, ld, true);
}

/* out (columns x ld) += p' b, where b has the strip's rows. */
static void add_columns(const gnn__strip_t *s, const gnn_real_t *p, const gnn_real_t *b, int64_t ld,
                        bool finite, gnn_real_t *out)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    out += s->first * ld;
    if (finite) {
        kernels->multiply(p, 1, s->ld, s->width, b, ld, s->rows, out, ld, ld, true);
        return;
    }
    for (int64_t r = 0; r < s->rows; r++)
        if (s->from[r] < s->to[r])
            kernels->multiply(p + r * s->ld + s->from[r], 1, s->ld, s->to[r] - s->from[r],
                              b + r * ld, ld, 1, out + s->from[r] * ld, ld, ld, true);
}

/* ---- scores and weights ---- */

static void load_queries(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    const gnn__plan_t *plan = run->plan;
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const gnn__matrix_t q = gnn__matrix_of(&plan->in[GNN_AGGREGATE_QUERY]),
                        key_q = gnn__matrix_of(&plan->in[GNN_AGGREGATE_PRIOR_QUERY]);
    const int64_t d = plan->shape.d_k;
    own->q_finite = kernels->pack(&q, s->node, s->rows, s->rows, head * d, d, run->ldk,
                                  scores_are_tanh(plan) ? 2 : plan->shape.scale, own->q);
    if (plan->has[GNN_AGGREGATE_PRIOR_QUERY])
        kernels->pack(&key_q, s->node, s->rows, s->rows, head * d, d, run->ldk, plan->shape.scale,
                      own->key_q);
}

static const gnn_real_t *key_queries(const run_t *run, const scratch_t *own)
{
    return run->plan->has[GNN_AGGREGATE_PRIOR_QUERY] ? own->key_q : own->q;
}

/* Offset of a row's first attended column, and their count. */
static int64_t begin_of(const gnn__strip_t *s, int64_t r)
{
    return r * s->ld + s->from[r];
}

static int64_t length_of(const gnn__strip_t *s, int64_t r)
{
    return s->to[r] - s->from[r];
}

/* exp(terms) into `factors`, which multiply the scores. */
static void multiply_factors(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    memset(own->factors, 0, sizeof *own->factors * (size_t)(s->rows * s->ld));
    gnn__strip_terms_add(&run->terms, s, head, key_queries(run, own), own->terms, own->factors);
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t at = begin_of(s, r), n = length_of(s, r);
        gnn__attention_strips()->exp(n, own->factors + at);
        for (int64_t c = at; c < at + n; c++)
            own->s[c] *= own->factors[c];
    }
}

/* Queries become factors where they and the head's keys may. */
static gnn__strip_tanh_t tanh_operands(const run_t *run, const gnn__strip_t *s, int64_t head,
                                       const scratch_t *own)
{
    const gnn_aggregate_shape_t *shape = &run->plan->shape;
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const int64_t k = head / (shape->heads / shape->key_heads), count = s->rows * run->ldk,
                  at = k * run->layout.columns * run->ldk;
    const bool factors = run->k_finite[k] && kernels->within(count, own->q, MOST_EXPONENT);
    if (factors)
        kernels->exp(count, own->q);
    return (gnn__strip_tanh_t){.rows = s->rows,
                               .first = s->first,
                               .width = s->width,
                               .ld = s->ld,
                               .ldk = run->ldk,
                               .d_k = shape->d_k,
                               .from = s->from,
                               .to = s->to,
                               .q = own->q,
                               .k = (factors ? run->k_t : run->k) + at,
                               .v = run->plan->score_shape.parameters.data + head * shape->d_k,
                               .factors = factors};
}

static void make_scores(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    const gnn__plan_t *plan = run->plan;
    const int64_t kv = head / (plan->shape.heads / plan->shape.key_heads);
    load_queries(run, s, head, own);
    if (scores_are_tanh(plan)) {
        own->tanh = tanh_operands(run, s, head, own);
        gnn__attention_strips()->tanh_scores(&own->tanh, own->s);
    } else {
        multiply_tiles(s, own->q, run->ldk, plan->shape.d_k,
                       run->k_t + kv * run->layout.columns * run->ldk, own->s);
    }
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t at = begin_of(s, r), n = length_of(s, r);
        if (plan->shape.softcap > 0)
            gnn__attention_strips()->cap(n, plan->shape.softcap, own->s + at);
        if (plan->shape.softcap > 0 && own->d)
            memcpy(own->capped + at, own->s + at, sizeof *own->s * (size_t)n);
    }
    if (gnn__multiplies(plan))
        multiply_factors(run, s, head, own);
    else if (plan->has_priors)
        gnn__strip_terms_add(&run->terms, s, head, key_queries(run, own), own->terms, own->s);
}

static void clear_outside(const gnn__strip_t *s, gnn_real_t *x)
{
    for (int64_t r = 0; r < s->rows; r++, x += s->ld) {
        const int64_t from = s->from[r] < s->to[r] ? s->from[r] : s->width,
                      to = s->from[r] < s->to[r] ? s->to[r] : s->width;
        memset(x, 0, sizeof *x * (size_t)from);
        memset(x + to, 0, sizeof *x * (size_t)(s->width - to));
    }
}

static void make_weights(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    const gnn__weigher_call_t call = {run->plan->weigher, &run->plan->weigher_shape, head};
    for (int64_t r = 0; r < s->rows; r++)
        run->weigher.weigh(&call, own->s + begin_of(s, r), length_of(s, r), own->state[r],
                           own->w + begin_of(s, r));
    clear_outside(s, own->w);
}

static void draw_bits(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    const int64_t ld = s->ld + GNN__STRIP_DRAWN;
    for (int64_t r = 0; r < s->rows; r++)
        gnn__attention_strips()->draw(&run->plan->dropout, s->node[r], length_of(s, r),
                                      run->col_node + s->first + s->from[r], (uint32_t)(head / 8),
                                      own->bits + r * ld);
}

/* Dropout of weights or of their derivatives. */
static void drop(const run_t *run, const gnn__strip_t *s, int64_t head, const scratch_t *own,
                 gnn_real_t *x)
{
    const int64_t ld = s->ld + GNN__STRIP_DRAWN;
    for (int64_t r = 0; r < s->rows; r++)
        gnn__attention_strips()->drop(length_of(s, r), own->bits + r * ld, (int)(head % 8),
                                      run->plan->dropout.scale, x + begin_of(s, r));
}

/* ---- forward ---- */

static void forward_strip(const run_t *run, const gnn__strip_t *s, int64_t head, scratch_t *own)
{
    const gnn__plan_t *plan = run->plan;
    const int64_t d_v = plan->shape.d_v, kv = head / (plan->shape.heads / plan->shape.value_heads);
    make_scores(run, s, head, own);
    make_weights(run, s, head, own);
    if (plan->dropping)
        drop(run, s, head, own, own->w);
    memset(own->y, 0, sizeof *own->y * (size_t)(s->rows * run->ldv));
    multiply_rows(s, own->w, run->v + kv * run->layout.columns * run->ldv, run->ldv,
                  run->v_finite[kv], own->y);
    for (int64_t r = 0; r < s->rows; r++)
        memcpy(gnn__row(&plan->out, s->node[r]) + head * d_v, own->y + r * run->ldv,
               sizeof *own->y * (size_t)d_v);
}

static int forward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, false, &run, &bytes));
    const int threads = gnn__plan_threads(plan, gnn__attention_work(plan));
    const int64_t block = plan->dropping ? 8 : 1, heads = plan->shape.heads,
                  blocks = (heads + block - 1) / block;
    for (int64_t i = 0; run.pairs->n_rows < plan->graph->n_dst && i < plan->graph->n_dst; i++)
        memset(gnn__row(&plan->out, i), 0, sizeof(gnn_real_t) * (size_t)plan->out_width);
    pack_senders(&run, false, threads);
    GNN__EACH_CHUNK (u, blocks * run.layout.count, threads) {
        scratch_t own = own_scratch(&run, false);
        const gnn__strip_t s = strip_at(&run, u % run.layout.count);
        const int64_t first = u / run.layout.count * block;
        if (plan->dropping)
            draw_bits(&run, &s, first, &own);
        for (int64_t head = first; head < gnn__min(first + block, heads); head++)
            forward_strip(&run, &s, head, &own);
    }
    return GNN_OK;
}

/* ---- backward ---- */

/* own->d: turns derivatives with respect to the weigher's scores into those with respect to the
 * products; those with respect to the terms are added to the gradients of the priors. */
static void terms_grad(const run_t *run, const gnn__strip_t *s, int64_t head, const sums_t *sums,
                       scratch_t *own)
{
    const gnn__plan_t *plan = run->plan;
    const bool apart = plan->has[GNN_AGGREGATE_PRIOR_QUERY];
    const gnn_real_t *q = key_queries(run, own);
    gnn_real_t *d_q = apart ? own->d_key_q : own->d_q;
    if (apart)
        memset(d_q, 0, sizeof *d_q * (size_t)(s->rows * run->ldk));
    for (int64_t r = 0; gnn__multiplies(plan) && r < s->rows; r++)
        for (int64_t c = begin_of(s, r), end = c + length_of(s, r); c < end; c++)
            own->s[c] *= own->d[c];
    if (plan->has_priors)
        gnn__strip_terms_grad(&run->terms, s, head, q, gnn__multiplies(plan) ? own->s : own->d, d_q,
                              &sums->terms, own->terms);
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t at = begin_of(s, r), n = length_of(s, r);
        for (int64_t c = at; gnn__multiplies(plan) && c < at + n; c++)
            own->d[c] *= own->factors[c];
        if (plan->shape.softcap > 0)
            gnn__attention_strips()->cap_grad(n, plan->shape.softcap, own->capped + at, own->d + at);
    }
}

static void put_queries(const run_t *run, const gnn__strip_t *s, int64_t head, int input,
                        const gnn_real_t *d_q)
{
    const int64_t d = run->plan->shape.d_k;
    for (int64_t r = 0; gnn__wants_gradient(run->plan, input) && r < s->rows; r++)
        gnn__attention_strips()->put(d_q + r * run->ldk, d, query_scale(run->plan), true,
                                     gnn__row(&run->plan->d[input], s->node[r]) + head * d);
}

/* d_v += the weights that dropout left, transposed, times dY. */
static void values_grad(const run_t *run, const gnn__strip_t *s, int64_t head, const sums_t *sums,
                        scratch_t *own)
{
    const int64_t v = head / (run->plan->shape.heads / run->plan->shape.value_heads);
    const gnn_real_t *weights = own->w;
    if (run->plan->dropping) {
        memcpy(own->kept, own->w, sizeof *own->w * (size_t)(s->rows * s->ld));
        drop(run, s, head, own, own->kept);
        drop(run, s, head, own, own->d);
        weights = own->kept;
    }
    add_columns(s, weights, own->y, run->ldv, own->y_finite,
                sums->v + v * run->layout.columns * run->ldv);
}

static void backward_strip(const run_t *run, const gnn__strip_t *s, int64_t head,
                           const sums_t *sums, scratch_t *own)
{
    const gnn__plan_t *plan = run->plan;
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const gnn__weigher_call_t call = {plan->weigher, &plan->weigher_shape, head};
    const gnn__matrix_t d_out = gnn__matrix_of(&plan->d_out);
    const int64_t d_v = plan->shape.d_v, columns = run->layout.columns,
                  k = head / (plan->shape.heads / plan->shape.key_heads),
                  v = head / (plan->shape.heads / plan->shape.value_heads);
    make_scores(run, s, head, own);
    make_weights(run, s, head, own);
    own->y_finite =
        kernels->pack(&d_out, s->node, s->rows, s->rows, head * d_v, d_v, run->ldv, 1, own->y);
    multiply_tiles(s, own->y, run->ldv, d_v, run->v_t + v * columns * run->ldv, own->d);
    clear_outside(s, own->d);
    values_grad(run, s, head, sums, own);
    for (int64_t r = 0; r < s->rows; r++) {
        const int64_t at = begin_of(s, r);
        run->weigher.grad(&call, own->s + at, length_of(s, r), own->state[r], own->w + at,
                          own->d + at);
    }
    memset(own->d_q, 0, sizeof *own->d_q * (size_t)(s->rows * run->ldk));
    terms_grad(run, s, head, sums, own);
    if (scores_are_tanh(plan)) {
        kernels->tanh_grad(&own->tanh, own->d, own->d_q, sums->k + k * columns * run->ldk,
                           sums->vector + head * run->ldk);
    } else {
        multiply_rows(s, own->d, run->k + k * columns * run->ldk, run->ldk, run->k_finite[k],
                      own->d_q);
        add_columns(s, own->d, own->q, run->ldk, own->q_finite, sums->k + k * columns * run->ldk);
    }
    put_queries(run, s, head, GNN_AGGREGATE_QUERY, own->d_q);
    if (plan->has[GNN_AGGREGATE_PRIOR_QUERY])
        put_queries(run, s, head, GNN_AGGREGATE_PRIOR_QUERY, own->d_key_q);
}

/* Columns c0 .. c1 - 1 that the strips of a chunk meet. */
static void chunk_columns(const run_t *run, int64_t chunk, int64_t *c0, int64_t *c1)
{
    *c0 = *c1 = 0;
    if (run->begin[chunk] == run->begin[chunk + 1])
        return;
    const gnn__strip_t first = strip_at(run, run->begin[chunk]),
                       last = strip_at(run, run->begin[chunk + 1] - 1);
    *c0 = first.first;
    *c1 = gnn__max(last.first + last.width, *c0);
}

static void zero_heads(gnn_real_t *x, int64_t head0, int64_t head1, int64_t columns, int64_t ld,
                       int64_t c0, int64_t c1)
{
    for (int64_t h = head0; h < head1; h++)
        memset(x + (h * columns + c0) * ld, 0, sizeof *x * (size_t)((c1 - c0) * ld));
}

/* The heads of one group and the strips of one chunk. */
static void backward_unit(const run_t *run, int64_t group, int64_t chunk)
{
    const gnn_aggregate_shape_t *s = &run->plan->shape;
    const sums_t *sums = &run->sums[chunk];
    const int64_t columns = run->layout.columns, heads = s->heads / run->groups,
                  keys = s->key_heads / run->groups, values = s->value_heads / run->groups,
                  head0 = group * heads, per_key = s->heads / s->key_heads;
    int64_t c0, c1;
    scratch_t own = own_scratch(run, true);
    chunk_columns(run, chunk, &c0, &c1);
    const bool tiles = scores_are_tanh(run->plan); /* sums of keys are transposed, in whole tiles */
    zero_heads(sums->k, group * keys, (group + 1) * keys, columns, run->ldk,
               tiles ? c0 / TILE * TILE : c0, tiles ? gnn__round_up(c1, TILE) : c1);
    zero_heads(sums->v, group * values, (group + 1) * values, columns, run->ldv, c0, c1);
    memset(sums->vector + head0 * run->ldk, 0, sizeof *sums->vector * (size_t)(heads * run->ldk));
    for (int64_t head = head0; head < head0 + heads; head++)
        gnn__strip_sums_open(&run->terms, &sums->terms, head);
    for (int64_t k = run->begin[chunk]; k < run->begin[chunk + 1]; k++) {
        const gnn__strip_t strip = strip_at(run, k);
        for (int64_t head = head0; head < head0 + heads; head++) {
            if (run->plan->dropping && (head == head0 || head % 8 == 0))
                draw_bits(run, &strip, head, &own);
            backward_strip(run, &strip, head, sums, &own);
        }
    }
    for (int64_t head = head0; head < head0 + heads; head++) {
        const int64_t at = head / per_key * columns * run->ldk;
        gnn__strip_sums_close(&run->terms, &sums->terms, head, c0, c1, run->k + at, sums->k + at);
    }
}

/* Adds a column of transposed tiles. */
static void add_transposed(const gnn_real_t *tiles, int64_t c, int64_t width, int64_t ld,
                           gnn_real_t *to)
{
    const gnn_real_t *from = tiles + c / TILE * TILE * ld + c % TILE;
    for (int64_t x = 0; x < width; x++)
        to[x] += from[x * TILE];
}

static void add_vector(const run_t *run, int64_t chunk)
{
    const gnn_tensor_t *d = &run->plan->d[GNN_AGGREGATE_SCORE_PARAMETERS];
    const int64_t d_k = run->plan->shape.d_k;
    for (int64_t x = 0; d->data && x < run->plan->shape.heads * d_k; x++)
        d->data[x] += run->sums[chunk].vector[x / d_k * run->ldk + x % d_k];
}

/* Adds the sums of all chunks for one sender to its gradient, in order. */
static void add_sender(const run_t *run, int input, int64_t c, int64_t heads, int64_t width,
                       int64_t ld, bool keys)
{
    gnn_real_t *to = gnn__row(&run->plan->d[input], run->col_node[c]);
    for (int64_t k = 0; k < run->chunks; k++) {
        int64_t c0, c1;
        chunk_columns(run, k, &c0, &c1);
        const gnn_real_t *from = keys ? run->sums[k].k : run->sums[k].v;
        for (int64_t h = 0; c0 <= c && c < c1 && h < heads; h++) {
            const gnn_real_t *sums = from + h * run->layout.columns * ld;
            if (keys && scores_are_tanh(run->plan))
                add_transposed(sums, c, width, ld, to + h * width);
            else
                gnn__attention_strips()->put(sums + c * ld, width, 1, true, to + h * width);
        }
    }
}

static void add_senders(const run_t *run, int threads)
{
    const gnn_aggregate_shape_t *s = &run->plan->shape;
    const int64_t n = run->pairs->n_rows,
                  count = n > 0 ? gnn__max(run->pairs->hi[n - 1] - run->layout.c0, 0) : 0;
    GNN__PARALLEL_FOR (threads, int64_t c = 0; c < count; c++) {
        if (gnn__wants_gradient(run->plan, GNN_AGGREGATE_KEY))
            add_sender(run, GNN_AGGREGATE_KEY, c, s->key_heads, s->d_k, run->ldk, true);
        if (gnn__wants_gradient(run->plan, GNN_AGGREGATE_SRC_MESSAGE))
            add_sender(run, GNN_AGGREGATE_SRC_MESSAGE, c, s->value_heads, s->d_v, run->ldv, false);
    }
}

/* Heads of one receiver are different units: two gradients of receivers that overlap have no owner
 * then. */
static bool receivers_overlap(const gnn__plan_t *plan)
{
    static const int inputs[] = {GNN_AGGREGATE_QUERY, GNN_AGGREGATE_PRIOR_QUERY,
                                 GNN_AGGREGATE_PRIOR_0, GNN_AGGREGATE_PRIOR_1, GNN_AGGREGATE_PRIOR_2};
    const int count = (int)(sizeof inputs / sizeof *inputs);
    bool overlap = false;
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            overlap |= !gnn__gradients_apart(&plan->d[inputs[a]], &plan->d[inputs[b]]);
    return overlap;
}

static int backward(const gnn__plan_t *plan, gnn_op_call_t *call)
{
    run_t run;
    size_t bytes;
    GNN_TRY(memory(plan, call->scratch, true, &run, &bytes));
    gnn__zero_gradients(plan, 0);
    const int threads =
        receivers_overlap(plan) ? 1 : gnn__gradient_threads(plan, gnn__attention_work(plan));
    pack_senders(&run, true, threads);
    GNN__EACH_CHUNK (u, run.groups * run.chunks, threads)
        backward_unit(&run, u / run.chunks, u % run.chunks);
    add_senders(&run, threads);
    for (int64_t k = 0; k < run.chunks; k++) {
        gnn__strip_sums_add(&run.terms, &run.sums[k].terms);
        add_vector(&run, k);
    }
    return GNN_OK;
}

static void describe(const gnn__plan_t *plan, char *text, size_t size)
{
    (void)plan;
    snprintf(text, size, "by_strip");
}

const gnn__strategy_t gnn__strategy_by_strip = {
    .takes = takes, .sizes = sizes, .forward = forward, .backward = backward, .describe = describe};
