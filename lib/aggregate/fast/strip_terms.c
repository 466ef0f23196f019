/* Priors in attention by strip (strip_terms.h): shared tables first, then a strip's terms, then
 * gradients. */
#include <lib/aggregate/fast/distances.h>
#include <lib/aggregate/fast/strip_terms.h>
#include <lib/aggregate/strategies.h>
#include <lib/aggregate/tables.h>

/* ---- kinds ---- */

typedef enum { NONE, BY_DISTANCE, QUERY_KEYS, SENDER_KEYS, NODE, PLACE, UNKNOWN } kind_t;

static kind_t kind_of(const gnn__plan_t *plan, int p)
{
    const gnn_prior_t *prior = plan->prior[p];
    if (!prior)
        return NONE;
    if (prior->strip)
        return BY_DISTANCE;
    if (prior->key_row)
        return QUERY_KEYS;
    switch (plan->hints.prior[p]) {
    case GNN__PRIOR_RECEIVER:
    case GNN__PRIOR_SENDER:
    case GNN__PRIOR_DECAY: return NODE;
    case GNN__PRIOR_PLACE: return PLACE;
    case GNN__PRIOR_SENDER_KEYS: return SENDER_KEYS;
    default: return UNKNOWN;
    }
}

static bool has_kind(const gnn__plan_t *plan, kind_t kind)
{
    bool has = false;
    for (int p = 0; p < GNN_PRIORS; p++)
        has |= kind_of(plan, p) == kind;
    return has;
}

static bool is_keys(kind_t kind)
{
    return kind == QUERY_KEYS || kind == SENDER_KEYS;
}

/* Rows of a table of keys, rounded up to whole registers. */
static int64_t key_rows(const gnn__plan_t *plan, int p)
{
    return gnn__round_up(plan->in[GNN_AGGREGATE_PRIOR_0 + p].rows, 16);
}

/* The table's row of a distance, and the first column of a head. */
static int64_t key_row(const gnn__plan_t *plan, int p, int64_t distance)
{
    const gnn_prior_t *prior = plan->prior[p];
    return prior->key_row ? prior->key_row(&plan->prior_shape[p], distance)
                          : gnn__sender_key_row(&plan->prior_shape[p], distance);
}

static int64_t key_column(const gnn__plan_t *plan, int p, int64_t head)
{
    const gnn_prior_t *prior = plan->prior[p];
    return prior->key_column ? prior->key_column(&plan->prior_shape[p], head)
                             : gnn__sender_key_column(&plan->prior_shape[p], head);
}

bool gnn__strip_terms_known(const gnn__plan_t *plan, int64_t columns)
{
    enum { MOST = 1 << 24 };
    int64_t products = 0, by_distance = 0, first, count = 0;
    if (has_kind(plan, UNKNOWN) || !gnn__distance_prior_fits(plan))
        return false;
    gnn__distance_places(plan, &first, &count);
    if (!gnn__mul(count, plan->shape.heads, &by_distance) || by_distance > MOST)
        return false;
    for (int p = 0; p < GNN_PRIORS; p++) {
        const kind_t kind = kind_of(plan, p);
        if (kind == SENDER_KEYS &&
            (!gnn__mul(columns, plan->shape.heads * key_rows(plan, p), &products) || products > MOST))
            return false;
    }
    return true;
}

/* ---- memory ---- */

static bool reads_positions(const gnn__plan_t *plan)
{
    return has_kind(plan, BY_DISTANCE) || has_kind(plan, QUERY_KEYS) ||
           has_kind(plan, SENDER_KEYS) || has_kind(plan, PLACE);
}

void gnn__strip_terms_carve(const gnn__plan_t *plan, gnn__carve_t *carve, int64_t columns,
                            int64_t ldk, gnn__strip_terms_t *t)
{
    const int64_t heads = plan->shape.heads;
    *t = (gnn__strip_terms_t){.plan = plan, .columns = columns, .ldk = ldk};
    if (reads_positions(plan)) {
        gnn__distance_places(plan, &t->first, &t->count);
        t->dst_position =
            gnn__carve(carve, plan->graph->n_dst + plan->graph->n_src, sizeof *t->dst_position);
        t->position = gnn__carve(carve, columns, sizeof *t->position);
        t->place = gnn__carve(carve, columns, sizeof *t->place);
    }
    if (has_kind(plan, BY_DISTANCE))
        t->by_distance = gnn__carve_cube(carve, heads, t->count, 1);
    if (has_kind(plan, NODE))
        t->column_term = gnn__carve_cube(carve, heads, columns, 1);
    for (int p = 0; p < GNN_PRIORS; p++) {
        if (!is_keys(kind_of(plan, p)))
            continue;
        const int64_t rows = key_rows(plan, p);
        t->row_of[p] = gnn__carve(carve, t->count, sizeof *t->row_of[p]);
        t->keys[p] = gnn__carve_cube(carve, heads, rows, ldk);
        t->keys_t[p] = gnn__carve_cube(carve, heads, rows, ldk);
        if (kind_of(plan, p) == SENDER_KEYS)
            t->products[p] = gnn__carve_cube(carve, heads, columns, rows);
    }
}

void gnn__strip_sums_carve(const gnn__strip_terms_t *t, gnn__carve_t *carve, gnn__strip_sums_t *sums)
{
    const gnn__plan_t *plan = t->plan;
    const int64_t heads = plan->shape.heads;
    *sums = (gnn__strip_sums_t){0};
    if (has_kind(plan, BY_DISTANCE))
        sums->by_distance = gnn__carve_cube(carve, heads, t->count, 1);
    if (has_kind(plan, NODE))
        sums->columns = gnn__carve_cube(carve, heads, t->columns, 1);
    for (int p = 0; p < GNN_PRIORS; p++) {
        if (!is_keys(kind_of(plan, p)))
            continue;
        sums->tables[p] = gnn__carve_cube(carve, heads, key_rows(plan, p), t->ldk);
        if (kind_of(plan, p) == SENDER_KEYS)
            sums->products[p] = gnn__carve_cube(carve, heads, t->columns, key_rows(plan, p));
    }
}

int64_t gnn__strip_terms_scratch(const gnn__plan_t *plan)
{
    int64_t most = 0;
    for (int p = 0; p < GNN_PRIORS; p++)
        if (kind_of(plan, p) == QUERY_KEYS)
            most = gnn__max(most, GNN__STRIP_ROWS * key_rows(plan, p));
    return most;
}

/* ---- what all strips read ---- */

static void fill_positions(gnn__strip_terms_t *t)
{
    const gnn_graph_t *g = t->plan->graph;
    int64_t *src = t->dst_position + g->n_dst;
    gnn__positions(g, true, t->dst_position);
    gnn__positions(g, false, src);
    t->most_dst = INT64_MIN;
    for (int64_t i = 0; i < g->n_dst; i++)
        t->most_dst = gnn__max(t->most_dst, t->dst_position[i]);
    const int64_t least = t->first + t->most_dst;
    for (int64_t c = 0; c < t->columns; c++) {
        t->place[c] = src[t->col_node[c]];
        t->position[c] = (int32_t)(t->place[c] - least);
    }
}

/* The rows of a head's table, and their columns. */
static void fill_keys(const gnn__strip_terms_t *t, int p, int64_t head)
{
    const gnn__plan_t *plan = t->plan;
    const gnn_tensor_t *table = &plan->in[GNN_AGGREGATE_PRIOR_0 + p];
    const int64_t rows = key_rows(plan, p), ldk = t->ldk, d = plan->shape.d_k,
                  column = key_column(plan, p, head);
    const gnn_real_t factor = kind_of(plan, p) == SENDER_KEYS ? plan->shape.scale : 1;
    gnn_real_t *to = t->keys[p] + head * rows * ldk, *columns = t->keys_t[p] + head * rows * ldk;
    memset(to, 0, sizeof *to * (size_t)(rows * ldk));
    memset(columns, 0, sizeof *to * (size_t)(rows * ldk));
    for (int64_t r = 0; r < table->rows; r++)
        for (int64_t c = 0; c < d; c++)
            columns[c * rows + r] = to[r * ldk + c] = factor * gnn__row(table, r)[column + c];
}

static void fill_column_terms(const gnn__strip_terms_t *t, int64_t head)
{
    gnn_real_t *term = t->column_term + head * t->columns;
    memset(term, 0, sizeof *term * (size_t)t->columns);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const gnn__prior_kind_t kind = t->plan->hints.prior[p];
        const gnn_tensor_t *in = &t->plan->in[GNN_AGGREGATE_PRIOR_0 + p];
        for (int64_t c = 0; kind == GNN__PRIOR_SENDER && c < t->columns; c++)
            term[c] += gnn__row(in, t->col_node[c])[head];
    }
}

static void fill_head(gnn__strip_terms_t *t, const gnn_real_t *k_rows, int64_t head)
{
    const gnn__plan_t *plan = t->plan;
    const int64_t kv = gnn__key_head(&plan->shape, head);
    gnn_real_t *values = t->by_distance ? t->by_distance + head * t->count : NULL;
    if (values)
        memset(values, 0, sizeof *values * (size_t)t->count);
    if (t->column_term)
        fill_column_terms(t, head);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const kind_t kind = kind_of(plan, p);
        const int64_t rows = is_keys(kind) ? key_rows(plan, p) : 0;
        if (kind == BY_DISTANCE)
            plan->prior[p]->strip(&plan->prior_shape[p], head, t->first, t->count, values);
        if (is_keys(kind))
            fill_keys(t, p, head);
        if (kind == SENDER_KEYS)
            gnn__attention_strips()->multiply(
                k_rows + kv * t->columns * t->ldk, t->ldk, 1, t->columns,
                t->keys_t[p] + head * rows * t->ldk, rows, plan->shape.d_k,
                t->products[p] + head * t->columns * rows, rows, rows, false);
    }
}

void gnn__strip_terms_fill(gnn__strip_terms_t *t, const gnn_real_t *k_rows, int threads)
{
    if (t->position)
        fill_positions(t);
    for (int p = 0; p < GNN_PRIORS; p++)
        for (int64_t x = 0; t->row_of[p] && x < t->count; x++)
            t->row_of[p][x] = (int32_t)key_row(t->plan, p, t->first + x);
    GNN__PARALLEL_FOR (threads, int64_t h = 0; h < t->plan->shape.heads; h++)
        fill_head(t, k_rows, h);
}

/* ---- a strip's terms ---- */

/* Offset of a row's elements in arrays by distance, to which a column's position is added. */
static int64_t row_offset(const gnn__strip_terms_t *t, const gnn__strip_t *s, int64_t r)
{
    return t->most_dst - t->dst_position[s->node[r]];
}

static void add_node(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                     int64_t r, gnn_real_t *out)
{
    const gnn_tensor_t *in = &t->plan->in[GNN_AGGREGATE_PRIOR_0 + p];
    const gnn__prior_kind_t kind = t->plan->hints.prior[p];
    const uint32_t *node = t->col_node + s->first;
    if (kind == GNN__PRIOR_SENDER)
        return;
    const gnn_real_t own = gnn__row(in, s->node[r])[head];
    for (int64_t c = s->from[r]; kind == GNN__PRIOR_RECEIVER && c < s->to[r]; c++)
        out[c] += own;
    for (int64_t c = s->from[r]; kind == GNN__PRIOR_DECAY && c < s->to[r]; c++)
        out[c] += own - gnn__row(in, node[c])[head];
}

/* The values of a receiver's positions, and the last of them. */
static int64_t places_of(const gnn__strip_terms_t *t, int p, int64_t head, int64_t *first)
{
    const int64_t places = (int64_t)t->plan->prior_shape[p].options[0];
    *first = head * places;
    return places - 1;
}

static void add_places(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                       int64_t r, gnn_real_t *out)
{
    int64_t first;
    const int64_t last = places_of(t, p, head, &first), *place = t->place + s->first;
    const gnn_real_t *values = gnn__row(&t->plan->in[GNN_AGGREGATE_PRIOR_0 + p], s->node[r]) + first;
    for (int64_t c = s->from[r]; c < s->to[r]; c++)
        out[c] += values[gnn__max(gnn__min(place[c], last), 0)];
}

static void add_sender_keys(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                            int64_t r, gnn_real_t *out)
{
    const int64_t rows = key_rows(t->plan, p);
    const gnn_real_t *product = t->products[p] + (head * t->columns + s->first) * rows;
    const int32_t *row = t->row_of[p] + row_offset(t, s, r), *position = t->position + s->first;
    for (int64_t c = s->from[r]; c < s->to[r]; c++)
        out[c] += product[c * rows + row[position[c]]];
}

static void add_prior(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                      int64_t r, const gnn_real_t *products, gnn_real_t *out)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const int64_t from = s->from[r], n = s->to[r] - from;
    switch (kind_of(t->plan, p)) {
    case QUERY_KEYS:
        kernels->gather_rows(n, products + r * key_rows(t->plan, p),
                             t->row_of[p] + row_offset(t, s, r), t->position + s->first + from,
                             out + from);
        break;
    case SENDER_KEYS: add_sender_keys(t, s, p, head, r, out); break;
    case NODE: add_node(t, s, p, head, r, out); break;
    case PLACE: add_places(t, s, p, head, r, out); break;
    default: break;
    }
}

/* Terms that are sums of several priors. */
static void add_shared(const gnn__strip_terms_t *t, const gnn__strip_t *s, int64_t head, int64_t r,
                       gnn_real_t *out)
{
    const int64_t from = s->from[r], n = s->to[r] - from;
    if (t->by_distance)
        gnn__attention_strips()->gather(n, t->by_distance + head * t->count + row_offset(t, s, r),
                                        t->position + s->first + from, out + from);
    if (!t->column_term)
        return;
    const gnn_real_t *term = t->column_term + head * t->columns + s->first;
    for (int64_t c = from; c < s->to[r]; c++)
        out[c] += term[c];
}

void gnn__strip_terms_add(const gnn__strip_terms_t *t, const gnn__strip_t *strip, int64_t head,
                          const gnn_real_t *q, gnn_real_t *scratch, gnn_real_t *out)
{
    const gnn__plan_t *plan = t->plan;
    for (int64_t r = 0; r < strip->rows; r++)
        if (strip->from[r] < strip->to[r])
            add_shared(t, strip, head, r, out + r * strip->ld);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const int64_t rows = kind_of(plan, p) == QUERY_KEYS ? key_rows(plan, p) : 0;
        if (rows > 0)
            gnn__attention_strips()->multiply(q, t->ldk, 1, strip->rows,
                                              t->keys_t[p] + head * rows * t->ldk, rows,
                                              plan->shape.d_k, scratch, rows, rows, false);
        for (int64_t r = 0; plan->prior[p] && r < strip->rows; r++)
            if (strip->from[r] < strip->to[r])
                add_prior(t, strip, p, head, r, scratch, out + r * strip->ld);
    }
}

/* ---- gradients ---- */

static bool wants(const gnn__strip_terms_t *t, int p)
{
    return gnn__wants_gradient(t->plan, GNN_AGGREGATE_PRIOR_0 + p);
}

static void grad_shared(const gnn__strip_terms_t *t, const gnn__strip_t *s, int64_t head, int64_t r,
                        const gnn_real_t *d, const gnn__strip_sums_t *sums)
{
    if (sums->by_distance) {
        gnn_real_t *to = sums->by_distance + head * t->count + row_offset(t, s, r);
        const int32_t *position = t->position + s->first;
        for (int64_t c = s->from[r]; c < s->to[r]; c++)
            to[position[c]] += d[c];
    }
    if (sums->columns) {
        gnn_real_t *to = sums->columns + head * t->columns + s->first;
        for (int64_t c = s->from[r]; c < s->to[r]; c++)
            to[c] += d[c];
    }
}

static void grad_places(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                        int64_t r, const gnn_real_t *d)
{
    int64_t first;
    const int64_t last = places_of(t, p, head, &first), *place = t->place + s->first;
    gnn_real_t *to = gnn__row(&t->plan->d[GNN_AGGREGATE_PRIOR_0 + p], s->node[r]) + first;
    for (int64_t c = s->from[r]; c < s->to[r]; c++)
        to[gnn__max(gnn__min(place[c], last), 0)] += d[c];
}

static void grad_sender_keys(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                             int64_t r, const gnn_real_t *d, const gnn__strip_sums_t *sums)
{
    const int64_t rows = key_rows(t->plan, p);
    gnn_real_t *to = sums->products[p] + (head * t->columns + s->first) * rows;
    const int32_t *row = t->row_of[p] + row_offset(t, s, r), *position = t->position + s->first;
    for (int64_t c = s->from[r]; c < s->to[r]; c++)
        to[c * rows + row[position[c]]] += d[c];
}

/* Of one row: what belongs to the receiver, and sums. products: += derivatives by products of
 * queries with keys. */
static void grad_prior(const gnn__strip_terms_t *t, const gnn__strip_t *s, int p, int64_t head,
                       int64_t r, const gnn_real_t *d, const gnn__strip_sums_t *sums,
                       gnn_real_t *products)
{
    const int64_t from = s->from[r], to = s->to[r];
    if (kind_of(t->plan, p) == QUERY_KEYS) {
        gnn_real_t *product = products + r * key_rows(t->plan, p);
        const int32_t *row = t->row_of[p] + row_offset(t, s, r), *position = t->position + s->first;
        for (int64_t c = from; c < to; c++)
            product[row[position[c]]] += d[c];
    } else if (kind_of(t->plan, p) == SENDER_KEYS) {
        grad_sender_keys(t, s, p, head, r, d, sums);
    } else if (kind_of(t->plan, p) == PLACE && wants(t, p)) {
        grad_places(t, s, p, head, r, d);
    } else if (kind_of(t->plan, p) == NODE && t->plan->hints.prior[p] != GNN__PRIOR_SENDER &&
               wants(t, p)) {
        gnn__row(&t->plan->d[GNN_AGGREGATE_PRIOR_0 + p], s->node[r])[head] +=
            gnn__attention_strips()->sum(to - from, d + from);
    }
}

void gnn__strip_terms_grad(const gnn__strip_terms_t *t, const gnn__strip_t *strip, int64_t head,
                           const gnn_real_t *q, const gnn_real_t *d, gnn_real_t *d_q,
                           const gnn__strip_sums_t *sums, gnn_real_t *scratch)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const gnn__plan_t *plan = t->plan;
    const int64_t ldk = t->ldk;
    for (int64_t r = 0; r < strip->rows; r++)
        if (strip->from[r] < strip->to[r])
            grad_shared(t, strip, head, r, d + r * strip->ld, sums);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const int64_t rows = kind_of(plan, p) == QUERY_KEYS ? key_rows(plan, p) : 0;
        if (rows > 0)
            memset(scratch, 0, sizeof *scratch * (size_t)(strip->rows * rows));
        for (int64_t r = 0; plan->prior[p] && r < strip->rows; r++)
            if (strip->from[r] < strip->to[r])
                grad_prior(t, strip, p, head, r, d + r * strip->ld, sums, scratch);
        if (rows > 0 && d_q)
            kernels->multiply(scratch, rows, 1, strip->rows, t->keys[p] + head * rows * ldk, ldk,
                              rows, d_q, ldk, ldk, true);
        if (rows > 0)
            kernels->multiply(scratch, 1, rows, rows, q, ldk, strip->rows,
                              sums->tables[p] + head * rows * ldk, ldk, ldk, true);
    }
}

/* ---- sums of a chunk ---- */

static void zero(gnn_real_t *x, int64_t count)
{
    memset(x, 0, sizeof *x * (size_t)count);
}

void gnn__strip_sums_open(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int64_t head)
{
    if (sums->by_distance)
        zero(sums->by_distance + head * t->count, t->count);
    if (sums->columns)
        zero(sums->columns + head * t->columns, t->columns);
    for (int p = 0; p < GNN_PRIORS; p++) {
        const int64_t rows = sums->tables[p] ? key_rows(t->plan, p) : 0;
        if (sums->tables[p])
            zero(sums->tables[p] + head * rows * t->ldk, rows * t->ldk);
        if (sums->products[p])
            zero(sums->products[p] + head * t->columns * rows, t->columns * rows);
    }
}

void gnn__strip_sums_close(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int64_t head,
                           int64_t c0, int64_t c1, const gnn_real_t *k_rows, gnn_real_t *d_k)
{
    const gnn__attention_strips_t *kernels = gnn__attention_strips();
    const int64_t ldk = t->ldk;
    for (int p = 0; p < GNN_PRIORS; p++) {
        const int64_t rows = sums->products[p] ? key_rows(t->plan, p) : 0;
        if (rows == 0 || c0 >= c1)
            continue;
        const gnn_real_t *d = sums->products[p] + (head * t->columns + c0) * rows;
        kernels->multiply(d, rows, 1, c1 - c0, t->keys[p] + head * rows * ldk, ldk, rows,
                          d_k + c0 * ldk, ldk, ldk, true);
        kernels->multiply(d, 1, rows, rows, k_rows + c0 * ldk, ldk, c1 - c0,
                          sums->tables[p] + head * rows * ldk, ldk, ldk, true);
    }
}

static void add_table(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int p)
{
    const gnn__plan_t *plan = t->plan;
    const int64_t rows = key_rows(plan, p), d = plan->shape.d_k;
    const gnn_real_t factor = kind_of(plan, p) == SENDER_KEYS ? plan->shape.scale : 1;
    const gnn_tensor_t *to = &plan->d[GNN_AGGREGATE_PRIOR_0 + p];
    for (int64_t h = 0; h < plan->shape.heads; h++)
        for (int64_t r = 0; r < to->rows; r++) {
            const gnn_real_t *from = sums->tables[p] + (h * rows + r) * t->ldk;
            gnn_real_t *row = gnn__row(to, r) + key_column(plan, p, h);
            for (int64_t c = 0; c < d; c++)
                row[c] += factor * from[c];
        }
}

/* The senders' side of terms of nodes. */
static void add_columns(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int p)
{
    const gnn_tensor_t *to = &t->plan->d[GNN_AGGREGATE_PRIOR_0 + p];
    const gnn__prior_kind_t kind = t->plan->hints.prior[p];
    const gnn_real_t sign = kind == GNN__PRIOR_DECAY ? -1 : 1;
    if (kind == GNN__PRIOR_RECEIVER)
        return;
    for (int64_t h = 0; h < t->plan->shape.heads; h++)
        for (int64_t c = 0; c < t->columns; c++)
            gnn__row(to, t->col_node[c])[h] += sign * sums->columns[h * t->columns + c];
}

void gnn__strip_sums_add(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums)
{
    const gnn__plan_t *plan = t->plan;
    for (int p = 0; p < GNN_PRIORS; p++) {
        if (!plan->prior[p] || !wants(t, p))
            continue;
        const kind_t kind = kind_of(plan, p);
        for (int64_t h = 0; kind == BY_DISTANCE && h < plan->shape.heads; h++)
            plan->prior[p]->strip_grad(&plan->prior_shape[p], h, t->first, t->count,
                                       sums->by_distance + h * t->count,
                                       &plan->d[GNN_AGGREGATE_PRIOR_0 + p]);
        if (is_keys(kind))
            add_table(t, sums, p);
        if (kind == NODE)
            add_columns(t, sums, p);
    }
}
