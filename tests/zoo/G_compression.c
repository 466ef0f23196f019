/* Prototypes, compression of memory, low rank. */
#include "zoo.h"

#include <math.h>

/* ---- Set Transformer ---- */

static gnn_block_t set_block(zoo_t *z)
{
    return (gnn_block_t){.name = "y", .input = "x", .width = COLS("x"), .heads = N("p.heads")};
}

/* The arrays of one MAB: q, k, v, o with their biases. */
static void bind_mab(zoo_t *z, const char *step, const char *prefix)
{
    const char *const fields[] = {"query", "key", "value", "out"}, *const arrays[] = {"q", "k", "v",
                                                                                      "o"};
    for (int k = 0; k < 4; k++) {
        TURN(NAMED("%s%s.weight", step, fields[k]), NAMED("%s%s", prefix, arrays[k]));
        SET(NAMED("%s%s.bias", step, fields[k]), NAMED("%sb%s", prefix, arrays[k]));
    }
}

/* G6 | MAB | h = Q + heads of softmax(Q K' / sqrt(d)) V, Q = x W_Q + b, K and V of mem; y = h +
 * relu(h W_o + b) | O(n m d) | Lee et al. 2019 */
ENTRY(mab)
{
    gnn_block_t b = set_block(z);
    b.memory = "mem";
    zoo_across(z);
    zoo_block(z, "mab", b);
    bind_mab(z, "y.", "");
}

/* G6 | SAB | y = MAB(X, X): h = Q + heads of softmax(Q K' / sqrt(d)) V, y = h + relu(h W_o + b) |
 * O(n^2 d) | Lee et al. 2019 */
ENTRY(sab)
{
    zoo_complete(z);
    zoo_block(z, "sab", set_block(z));
    bind_mab(z, "y.", "");
}

/* G6 | ISAB | H = MAB(I, X), Y = MAB(X, H), I learned rows | O(n points d) | Lee et al. 2019 */
ENTRY(isab)
{
    gnn_block_t b = set_block(z);
    b.rows = N("p.points");
    zoo_pool(z, b.rows), zoo_unpool(z, b.rows);
    zoo_block(z, "isab", b);
    SET("y.rows.rows", "points"), bind_mab(z, "y.in.", "a."), bind_mab(z, "y.", "b.");
}

/* G6 | PMA | y = MAB(S, relu(X W + b)), S learned seeds | O(n seeds d) | Lee et al. 2019 */
ENTRY(pma)
{
    gnn_block_t b = set_block(z);
    b.rows = N("p.seeds");
    zoo_pool(z, b.rows);
    zoo_block(z, "pma", b);
    TURN("y.linear.weight", "W"), SET("y.linear.bias", "b"), SET("y.rows.rows", "seeds"),
        bind_mab(z, "y.", "");
}

/* One attention of isab-pytorch: to_kv holds keys and values. */
static void plain_attention(zoo_t *z, const char *name, int slot, const char *x, const char *y)
{
    const int64_t d = COLS("x"), all = COUNT("w.attn1.to_q.weight");
    CROSS(name, slot, x, y, d, .heads = N("p.heads"), .d_k = all / N("p.heads"),
          .d_v = all / N("p.heads"));
    TURN(NAMED("%s.query.weight", name), NAMED("%s.to_q.weight", name)),
        TURN(NAMED("%s.out.weight", name), NAMED("%s.to_out.weight", name));
    TURN(NAMED("%s.key.weight", name), NAMED("%s.to_kv.weight", name));
    BIND(NAMED("%s.value.weight", name), NAMED("%s.to_kv.weight", name), .layout = TURNED,
         .base = d * all);
}

/* G6 | ISAB without residual and feed-forward | L = attention(latents, X), Y = attention(X, L)
 * | O(n points d) | Lee et al. 2019 */
ENTRY(isab_plain)
{
    const int pool = zoo_pool(z, N("p.points")), unpool = zoo_unpool(z, N("p.points"));
    EACH("latents", pool, N("p.points"), COLS("x"));
    plain_attention(z, "attn1", pool, "latents", "x"),
        plain_attention(z, "attn2", unpool, "x", "attn1");
}

/* ---- learned rows in between ---- */

/* G7 | Luna | P' = attention(P, X), Y = attention(X, P'), P learned rows carried on | O(n
 * points d) | Ma et al. 2021 */
ENTRY(luna)
{
    const int64_t d = COLS("x"), rows = N("p.points");
    const int pool = zoo_pool(z, rows), unpool = zoo_unpool(z, rows);
    EACH("P", pool, rows, d);
    CROSS("pack", pool, "P", "x", d, .heads = N("p.heads"));
    CROSS("unpack", unpool, "x", "pack", d, .heads = N("p.heads"));
    zoo_also(z, "pack", "packed");
}

/* 6.3 | Perceiver | l = L + attention of learned rows L to x, l <- l + attention(l), y = attention
 * of x to l | O(n latents d) | Jaegle et al. 2021 */
ENTRY(perceiver)
{
    const int64_t d = COLS("x"), rows = N("p.latents");
    const int pool = zoo_pool(z, rows), unpool = zoo_unpool(z, rows), among = zoo_among(z, rows);
    EACH("L", pool, rows, d);
    CROSS("read", pool, "L", "x", d, .heads = N("p.heads"), .residual = GNN_ON);
    ATTENTION("self", among, "read", d, .heads = N("p.heads"), .residual = GNN_ON);
    CROSS("write", unpool, "x", "self", d, .heads = N("p.heads"));
}

/* 6.3 | Agent attention | V' = softmax(A K') V, Y = softmax(Q A') V', A learned rows | O(n
 * agents d) | Han et al. 2024 */
ENTRY(agent_attention)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), rows = N("p.agents");
    const int pool = zoo_pool(z, rows), unpool = zoo_unpool(z, rows);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    EACH("A", pool, rows, d);
    ATTEND("v'", pool, "A", "k", "v", d, .heads = heads);
    ATTEND("a", unpool, "q", "A", "v'", d, .heads = heads);
    LINEAR("o", "a", d, d);
}

/* sum over j of E[j, r] x_j for each of k receivers r of a segment. */
static void compressed(zoo_t *z, const char *name, int pool, const char *x, int64_t d,
                       const char *table)
{
    const int64_t k = N("p.k"), longest = COUNT("w.proj_k");
    STEP(AGGREGATE, name, .graph = pool, .query = "zero", .key = "no keys", .inputs = {x},
         .priors = {table},
         .layer = {.in = d,
                   .d_k = 1,
                   .d_v = d,
                   .aggregator = &gnn_aggregator_attention,
                   .weigher = &gnn_weigher_linear,
                   .priors = {{&gnn_prior_place, {(double)longest}, GNN_ON}}});
    if (!zoo_given(z, "zero")) {
        int64_t count;
        zoo_segments(z, &count);
        zoo_filled(z, "zero", count * k, 1, 0), zoo_filled(z, "no keys", COUNT("x"), 1, 0);
    }
}

static void linformer(zoo_t *z, bool shared)
{
    const int64_t d = COLS("x"), keys = COUNT("w.to_k.weight"), k = N("p.k"),
                  longest = COUNT("w.proj_k"), heads = N("p.heads");
    const int pool = zoo_pool(z, k), unpool = zoo_unpool(z, k);
    LINEAR("to_q", "x", d, d), LINEAR("to_k", "x", d, keys);
    EACH("proj_k", pool, k, longest), TURN("proj_k.rows", "proj_k");
    compressed(z, "keys", pool, "to_k", keys, "proj_k");
    if (!shared) {
        LINEAR("to_v", "x", d, keys);
        EACH("proj_v", pool, k, longest), TURN("proj_v.rows", "proj_v");
        compressed(z, "values", pool, "to_v", keys, "proj_v");
    }
    const int64_t groups = shared ? 1 : heads;
    ATTEND("a", unpool, "to_q", "keys", shared ? "keys" : "values", keys, .heads = heads,
           .key_heads = groups, .value_heads = groups, .d_k = d / heads, .d_v = d / heads);
    AFFINE("to_out", "a", d, d);
}

/* G8 | Linformer | softmax(q (E' K)') F' V, E and F learned over positions | O(n k d) | Wang et
 * al. 2020 */
ENTRY(linformer)
{
    linformer(z, false);
}

/* G8 | Linformer, shared | y = softmax(q (E k)' / sqrt(width)) E v W_O, one E for keys and values,
 * one key and value head | O(n k d) | Wang et al. 2020 */
ENTRY(linformer_shared)
{
    linformer(z, true);
}

/* 6.3 | Soft mixture of experts | softmax over tokens dispatches rows to a slot per expert,
 * softmax over slots combines | O(n experts d) | Puigcerver et al. 2024 */
ENTRY(soft_moe)
{
    const int64_t d = COLS("x"), experts = N("p.experts"), hidden = zoo_shape(z, "w.W1", 1);
    int64_t count;
    zoo_segments(z, &count);
    const int pool = zoo_pool(z, experts), unpool = zoo_unpool(z, experts);
    int32_t *order = zoo_ids(z, "order", count * experts);
    for (int64_t k = 0; k < count * experts; k++)
        order[k] = (int32_t)(k % experts * count + k / experts);
    EACH("phi", pool, experts, d), ATTEND("slots", pool, "phi", "x", "x", d, .scale = 1),
        OP("side", fold_rows, "slots", (double)experts);
    for (int e = 0; e < experts; e++) {
        COLUMNS(NAMED("in%d", e), "side", e * d, d),
            AFFINE(NAMED("inner%d", e), NAMED("in%d", e), d, hidden);
        ACTIVATION(NAMED("relu%d", e), NAMED("inner%d", e), RELU),
            AFFINE(NAMED("out%d", e), NAMED("relu%d", e), hidden, d);
        BIND(NAMED("inner%d.weight", e), "W1", .layout = TURNED, .base = e * hidden * d),
            BIND(NAMED("inner%d.bias", e), "b1", .base = e * hidden);
        BIND(NAMED("out%d.weight", e), "W2", .layout = TURNED, .base = e * hidden * d),
            BIND(NAMED("out%d.bias", e), "b2", .base = e * d);
    }
    zoo_stack(z, "by expert", "out", experts), PICK("by segment", "by expert", "order");
    ATTEND("y", unpool, "x", "phi", "by segment", d, .scale = 1);
}

/* 6.3 | Slot attention | slots compete for inputs: softmax over slots, weights scaled over
 * inputs, a GRU and an mlp, a few rounds | O(n slots d rounds) | Locatello et al. 2020 */
ENTRY(slot_attention)
{
    const int64_t d = COLS("x"), slots = N("p.slots"), hidden = COUNT("w.b1");
    int64_t count;
    zoo_segments(z, &count);
    const int unpool = zoo_unpool(z, slots), one = zoo_pool(z, 1), own = zoo_itself(z, count * slots);
    gnn_real_t *eye = zoo_constant(z, "each slot", count * slots, slots),
               *start = zoo_constant(z, "s0", count * slots, d);
    int32_t *order = zoo_ids(z, "order", count * slots);
    for (int64_t k = 0; k < count * slots; k++) {
        eye[k * slots + k % slots] = 1, order[k] = (int32_t)(k % slots * count + k / slots);
        for (int64_t c = 0; c < d; c++)
            start[k * d + c] = REAL(zoo_element(z, "r.start", k % slots * d + c));
    }
    NORM("norm_input", "x", LAYER, d, 1e-5), LINEAR("k", "norm_input", d, d),
        LINEAR("v", "norm_input", d, d);
    for (int r = 0; r < N("p.rounds"); r++) {
        const char *s = NAMED("s%d", r), *h = NAMED("h%d", r);
#define ROUND(name) (r ? NAMED("%s:%d", name, r) : name)
#define OWNER(name) (r ? name : NULL)
        STEP(NORM, ROUND("norm_slots"), .inputs = {s}, .norm = GNN_NORM_LAYER, .in = d,
             .share = OWNER("norm_slots"));
        STEP(LINEAR, ROUND("q"), .inputs = {ROUND("norm_slots")}, .in = d, .out = d,
             .bias = GNN_OFF, .share = OWNER("q"));
        ATTEND(NAMED("w%d", r), unpool, "k", ROUND("q"), "each slot", slots, .d_k = d, .d_v = slots,
               .scale = REAL(1 / sqrt((double)d)));
        for (int j = 0; j < slots; j++) {
            const char *u = NAMED("u%d_%d", r, j);
            COLUMNS(NAMED("%s.w", u), NAMED("w%d", r), j, 1),
                MULTIPLY(NAMED("%s.v", u), "v", NAMED("%s.w", u));
            HOP(NAMED("%s.above", u), one, NAMED("%s.v", u), d, sum),
                HOP(NAMED("%s.below", u), one, NAMED("%s.w", u), 1, sum);
            OP(NAMED("%s.inverse", u), power, NAMED("%s.below", u), -1),
                MULTIPLY(u, NAMED("%s.above", u), NAMED("%s.inverse", u));
        }
        zoo_stack(z, NAMED("by slot%d", r), NAMED("u%d_", r), slots),
            PICK(NAMED("u%d", r), NAMED("by slot%d", r), "order");
        STEP(LAYER, ROUND("gru"), .graph = own, .inputs = {NAMED("u%d", r)}, .receivers = s,
             .share = OWNER("gru"),
             .layer = GNN_GATED_GRAPH(.in = d, .in_dst = d, .out = d, .message = &gnn_message_none));
        STEP(NORM, ROUND("norm_ff"), .inputs = {ROUND("gru")}, .norm = GNN_NORM_LAYER, .in = d,
             .share = OWNER("norm_ff"));
        STEP(LINEAR, ROUND("W1"), .inputs = {ROUND("norm_ff")}, .in = d, .out = hidden,
             .share = OWNER("W1")),
            ACTIVATION(h, ROUND("W1"), RELU);
        STEP(LINEAR, ROUND("W2"), .inputs = {h}, .in = hidden, .out = d, .share = OWNER("W2")),
            ADD(NAMED("s%d", r + 1), ROUND("gru"), ROUND("W2"));
#undef ROUND
#undef OWNER
    }
    TURN("gru.gru.input.weight", "gru.weight_ih"), SET("gru.gru.input.bias", "gru.bias_ih");
    TURN("gru.gru.hidden.weight", "gru.weight_hh"), SET("gru.gru.hidden.bias", "gru.bias_hh");
}

/* ---- pooled keys ---- */

/* Rows `stride` at a time, the last ones of a segment fewer; *count receivers in all. */
static int blocks_of(zoo_t *z, int64_t stride, int64_t *counts)
{
    int64_t segments, n = COUNT("x"), m = 0, at = 0, *lengths = zoo_segments(z, &segments);
    int64_t *src = zoo_room(z, n), *dst = zoo_room(z, n);
    for (int64_t s = 0; s < segments; at += lengths[s++]) {
        counts[s] = (lengths[s] + stride - 1) / stride;
        for (int64_t p = 0; p < lengths[s]; p++)
            src[at + p] = at + p, dst[at + p] = m + p / stride;
        m += counts[s];
    }
    return zoo_edges_of(z, m, n, n, src, dst);
}

/* G5 | Memory-compressed attention | y_i = softmax over r < floor((i + 1) / stride) of q_i . K_r,
 * V_r; K_r = C [k_(r stride) .. k_(r stride + stride - 1)], V_r the same of v | O(n^2 d / 3) | Liu
 * et al. 2018 */
ENTRY(memory_compressed)
{
    const int64_t d = COLS("x"), n = COUNT("x"), stride = N("p.stride");
    int64_t segments, at = 0, m = 0, places = 0, *lengths = zoo_segments(z, &segments);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    for (int64_t s = 0; s < segments; s++)
        places += (lengths[s] + stride - 1) / stride;
    int32_t *ids = zoo_ids(z, "three", places * stride);
    for (int64_t s = 0; s < segments; at += lengths[s], m += (lengths[s] + stride - 1) / stride, s++) {
        const int64_t blocks = (lengths[s] + stride - 1) / stride;
        for (int64_t k = 0; k < blocks * stride; k++)
            ids[m * stride + k] = k < lengths[s] ? (int32_t)(at + k) : -1;
        for (int64_t p = 0; p < lengths[s]; p++)
            low[at + p] = (int32_t)m, high[at + p] = (int32_t)(m + (p + 1) / stride);
    }
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    PICK("k3", "k", "three"), OP("kf", fold_rows, "k3", (double)stride),
        LINEAR("ck", "kf", stride * d, d);
    PICK("v3", "v", "three"), OP("vf", fold_rows, "v3", (double)stride),
        LINEAR("cv", "vf", stride * d, d);
    ATTEND("a", zoo_spans_of(z, n, m, low, high), "q", "ck", "cv", d, .heads = N("p.heads"));
    LINEAR("o", "a", d, d);
}

/* G9 | Poolingformer | y = a + W_O softmax over blocks b with |pool b - i| <= window2 of q K_b,
 * V_b; K_b, V_b the means of pool rows of k, v; q, k, v of a = attention over |i - j| <= window |
 * O(n (window + window2 / pool) d) | Zhang et al. 2021 */
ENTRY(poolingformer)
{
    const int64_t d = COLS("x"), n = COUNT("x"), pool = N("p.pool"), wide = N("p.window2"),
                  *place = zoo_positions(z);
    int64_t segments, row = 0, from = 0, *lengths = zoo_segments(z, &segments),
                      *counts = zoo_room(z, segments);
    int32_t *low = zoo_room32(z, n), *high = zoo_room32(z, n);
    const int pairs = blocks_of(z, pool, counts);
    for (int64_t s = 0; s < segments; from += counts[s++])
        for (int64_t p = 0; p < lengths[s]; p++, row++) {
            const int64_t first = place[row] - wide < 0 ? 0 : (place[row] - wide + pool - 1) / pool,
                          last = (place[row] + wide) / pool + 1;
            low[row] = (int32_t)(from + first),
            high[row] = (int32_t)(from + (last < counts[s] ? last : counts[s]));
        }
    ATTENTION("a", zoo_window(z, N("p.window"), 1, GNN_OFF), "x", d, .heads = N("p.heads"));
    LINEAR("b.q", "a", d, d), LINEAR("b.k", "a", d, d), LINEAR("b.v", "a", d, d);
    HOP("keys", pairs, "b.k", d, mean), HOP("values", pairs, "b.v", d, mean);
    ATTEND("second", zoo_spans_of(z, n, from, low, high), "b.q", "keys", "values", d,
           .heads = N("p.heads"));
    LINEAR("b.o", "second", d, d), ADD("y", "a", "b.o");
}

/* N2 | Funnel, pooling | queries pooled by pairs, keys not: y = LN(q + attention(q, x)) | O(n^2
 * d / 2) | Dai et al. 2020 */
ENTRY(funnel_pooling)
{
    const int64_t d = COLS("x");
    int64_t segments, *lengths = zoo_segments(z, &segments), *counts = zoo_room(z, segments);
    HOP("pooled", blocks_of(z, N("p.stride"), counts), "x", d, mean);
    CROSS("a", zoo_bipartite(z, segments, counts, lengths), "pooled", "x", d, .heads = N("p.heads"));
    ADD("sum", "pooled", "a"), NORM("norm", "sum", LAYER, d, R("p.eps"));
}

/* N2 | Funnel, upsampling | y_i = mem_floor(i / 2) + x_i, x the rows of the first block | O(n d) |
 * Dai et al. 2020 */
ENTRY(funnel_upsampling)
{
    int64_t segments, row = 0, from = 0, *lengths = zoo_segments(z, &segments),
                      *pooled = zoo_segments_mem(z);
    int32_t *ids = zoo_ids(z, "half", COUNT("x"));
    for (int64_t s = 0; s < segments; from += pooled[s++])
        for (int64_t p = 0; p < lengths[s]; p++)
            ids[row++] = (int32_t)(from + (p / 2 < pooled[s] ? p / 2 : pooled[s] - 1));
    PICK("up", "mem", "half"), ADD("y", "x", "up");
}

/* G4 | Informer, distilling | y_r = max over i = 2 r - 1 .. 2 r + 1 of ELU(BN(W [x_(i-1), x_i,
 * x_(i+1)] + b)), a circle of rows, BN over all rows | O(n d^2) | Zhou et al. 2021 */
ENTRY(informer_distilling)
{
    const int64_t n = COUNT("x"), d = COLS("x"), out = (n + 1) / 2;
    int64_t m = 0, *src = zoo_room(z, 3 * out), *dst = zoo_room(z, 3 * out);
    for (int k = 0; k < 3; k++) {
        int32_t *ids = zoo_ids(z, NAMED("at%d", k), n);
        for (int64_t i = 0; i < n; i++)
            ids[i] = (int32_t)((i + n + k - 1) % n);
        PICK(NAMED("x%d", k), "x", NAMED("at%d", k));
    }
    for (int64_t r = 0; r < out; r++)
        for (int64_t j = 2 * r - 1; j <= 2 * r + 1; j++)
            if (j >= 0 && j < n)
                src[m] = j, dst[m++] = r;
    CONCAT("around", "x0", "x1", "x2"), AFFINE("conv", "around", 3 * d, d), SET("conv.bias", "b");
    zoo_block(z, "instance_norm",
              (gnn_block_t){.name = "normal", .input = "conv", .width = d, .graph = zoo_whole(z, n)});
    SET("normal.weight.rows", "norm"), SET("normal.bias.rows", "bias");
    ACTIVATION("elu", "normal", ELU), HOP("y", zoo_edges_of(z, out, n, m, src, dst), "elu", d, max);
}

/* H1 | Low rank and band | y = attention over all with keys of `narrow` columns + attention over |i
 * - j| <= band | O(n^2 narrow + n d) | Guo et al. 2019 */
ENTRY(low_rank_and_band)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    ATTENTION("2", zoo_complete(z), "x", d, .heads = heads, .d_k = N("p.narrow"), .d_v = d / heads);
    ATTENTION("1", zoo_window(z, N("p.band"), 1, GNN_OFF), "x", d, .heads = heads);
    ADD("y", "2", "1");
}

/* Of head h: the columns of q, k and v, the mean query of each cluster, and its weights "w" over
 * all rows; the cluster of a row is an id, which op choose gives a program that has centroids. */
static void cluster_weights(zoo_t *z, int h)
{
    const int64_t d = COUNT("w.q"), width = d / N("p.heads"), n = COUNT("x"),
                  clusters = N("p.clusters"),
                  *cluster = zoo_integers_of(z, "r.cluster", n * N("p.heads"));
    const int whole = zoo_complete_of(z, 1, &n);
    const char *kinds[] = {"q", "k", "v"};
    gnn_real_t *ids = zoo_constant(z, NAMED("cluster%d", h), n, 1),
               *rows = zoo_constant(z, NAMED("rows%d", h), clusters, n);
    for (int64_t i = 0; i < n; i++)
        ids[i] = REAL(cluster[h * n + i]);
    for (int64_t e = 0; e < clusters * n; e++)
        rows[e] = REAL(e % n);
    zoo_filled(z, NAMED("like%d", h), n, clusters, 0), zoo_filled(z, NAMED("one%d", h), n, 1, 1);
    for (int p = 0; p < 3; p++)
        COLUMNS(NAMED("%s%d", kinds[p], h), kinds[p], h * width, width);
    OP2(NAMED("own%d", h), mark_columns, NAMED("cluster%d", h), NAMED("like%d", h));
    STEP(OP, NAMED("sum%d", h), .op = &gnn_op_segment_matmul, .graph = whole,
         .inputs = {NAMED("own%d", h), NAMED("q%d", h)}, .options = {1, 1});
    STEP(OP, NAMED("size%d", h), .op = &gnn_op_segment_matmul, .graph = whole,
         .inputs = {NAMED("own%d", h), NAMED("one%d", h)}, .options = {1, 1});
    OP(NAMED("by%d", h), power, NAMED("size%d", h), -1);
    MULTIPLY(NAMED("mean%d", h), NAMED("sum%d", h), NAMED("by%d", h));
    OP2(NAMED("dots%d", h), score_rows, NAMED("mean%d", h), NAMED("k%d", h), NAMED("rows%d", h));
    SCALE(NAMED("scores%d", h), NAMED("dots%d", h), 1 / sqrt((double)width));
    OP(NAMED("w%d", h), softmax_rows, NAMED("scores%d", h), 1);
}

static void projections(zoo_t *z)
{
    const int64_t d = COUNT("w.q");
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
}

/* G1 | clustered attention | y_i = softmax(Q_c . k / sqrt(width)) v, c the cluster of i, Q_c the
 * mean of its queries | O(clusters n d) | Vyas et al. 2020 */
ENTRY(clustered)
{
    const int64_t d = COUNT("w.q"), heads = N("p.heads");
    projections(z);
    for (int h = 0; h < (int)heads; h++) {
        cluster_weights(z, h);
        OP2(NAMED("y%d", h), weigh_rows, NAMED("w%d", h), NAMED("v%d", h), NAMED("rows%d", h));
        OP2(NAMED("head%d", h), gather_rows, NAMED("y%d", h), NAMED("cluster%d", h));
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* G2 | improved clustered attention | on the keys that a cluster likes best a row's own softmax,
 * times the cluster's mass on them; elsewhere the cluster's weights | O((clusters + top) n d) |
 * Vyas et al. 2020 */
ENTRY(clustered_improved)
{
    const int64_t d = COUNT("w.q"), heads = N("p.heads");
    projections(z);
    for (int h = 0; h < (int)heads; h++) {
        const char *cluster = NAMED("cluster%d", h), *top = NAMED("top%d", h);
        cluster_weights(z, h);
        OP(top, choose, NAMED("w%d", h), (double)N("p.top"));
        OP2(NAMED("marks%d", h), mark_columns, top, NAMED("w%d", h));
        MULTIPLY(NAMED("best%d", h), NAMED("w%d", h), NAMED("marks%d", h));
        SUBTRACT(NAMED("others%d", h), NAMED("w%d", h), NAMED("best%d", h));
        OP2(NAMED("far%d", h), weigh_rows, NAMED("others%d", h), NAMED("v%d", h), NAMED("rows%d", h));
        OP(NAMED("mass%d", h), head_sum, NAMED("best%d", h), 1);
        OP2(NAMED("rest%d", h), gather_rows, NAMED("far%d", h), cluster);
        OP2(NAMED("share%d", h), gather_rows, NAMED("mass%d", h), cluster);
        OP2(NAMED("ids%d", h), gather_rows, top, cluster);
        OP2(NAMED("s%d", h), score_rows, NAMED("q%d", h), NAMED("k%d", h), NAMED("ids%d", h));
        SCALE(NAMED("e%d", h), NAMED("s%d", h), 1 / sqrt((double)d / (double)heads));
        OP(NAMED("a%d", h), softmax_rows, NAMED("e%d", h), 1);
        OP2(NAMED("near%d", h), weigh_rows, NAMED("a%d", h), NAMED("v%d", h), NAMED("ids%d", h));
        MULTIPLY(NAMED("part%d", h), NAMED("near%d", h), NAMED("share%d", h));
        ADD(NAMED("head%d", h), NAMED("part%d", h), NAMED("rest%d", h));
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, d);
}

/* The u rows of each head with the largest maximum minus mean score over sampled keys attend to the
 * rows that "rows" lists for them; the others get the sum, or the mean, of values over `slot`. */
static void prob_sparse(zoo_t *z, int slot, const gnn_aggregator_t *others)
{
    const int64_t d = COUNT("w.q"), heads = N("p.heads"), n = COUNT("x"), each = N("p.sampled"),
                  u = N("p.u"), width = d / heads,
                  *sample = zoo_integers_of(z, "r.sample", n * each);
    zoo_one_segment(z);
    gnn_real_t *sampled = zoo_constant(z, "sampled", n, each);
    for (int64_t e = 0; e < n * each; e++)
        sampled[e] = REAL(sample[e]);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    STEP(OP, "dots", .op = &gnn_op_score_rows, .inputs = {"q", "k", "sampled"},
         .options = {(double)heads});
    SCALE("s", "dots", 1 / sqrt((double)width)), OP("of heads", transpose_heads, "s", (double)heads);
    for (int64_t e = 0; e < each; e++)
        COLUMNS(NAMED("s%d", (int)e), "of heads", e * heads, heads);
    zoo_maximum(z, "largest", "s", each), OP("sums", head_sum, "s", (double)heads);
    ADD_TIMES("M", "largest", -1 / (double)n, "sums");
    STEP(OP, "best", .op = &gnn_op_choose_rows, .graph = zoo_whole(z, n), .inputs = {"M"},
         .options = {(double)u});
    STEP(AGGREGATE, "lazy", .graph = slot, .inputs = {"v"}, .layer = {.in = d, .aggregator = others});
    for (int h = 0; h < heads; h++) {
        for (const char *c = "qkv"; *c; c++)
            COLUMNS(NAMED("%c%d", *c, h), NAMED("%c", *c), h * width, width);
        COLUMNS(NAMED("lazy%d", h), "lazy", h * width, width);
        ROWS(NAMED("row%d", h), "best", h, 1),
            OP(NAMED("ids%d", h), unfold_rows, NAMED("row%d", h), (double)u);
        OP2(NAMED("own%d", h), gather_rows, NAMED("q%d", h), NAMED("ids%d", h));
        OP2(NAMED("read%d", h), gather_rows, "rows", NAMED("ids%d", h));
        OP2(NAMED("e%d", h), score_rows, NAMED("own%d", h), NAMED("k%d", h), NAMED("read%d", h));
        SCALE(NAMED("f%d", h), NAMED("e%d", h), 1 / sqrt((double)width)),
            OP(NAMED("a%d", h), softmax_rows, NAMED("f%d", h), 0);
        OP2(NAMED("full%d", h), weigh_rows, NAMED("a%d", h), NAMED("v%d", h), NAMED("read%d", h));
        OP2(NAMED("less%d", h), gather_rows, NAMED("lazy%d", h), NAMED("ids%d", h));
        SUBTRACT(NAMED("more%d", h), NAMED("full%d", h), NAMED("less%d", h));
        OP2(NAMED("change%d", h), scatter_rows, NAMED("more%d", h), NAMED("ids%d", h), "x");
        ADD(NAMED("head%d", h), NAMED("lazy%d", h), NAMED("change%d", h));
    }
    zoo_concat(z, "heads", "head", heads), LINEAR("o", "heads", d, COUNT("w.o"));
}

/* G3 | Informer, ProbSparse | y_i = softmax over j of s_ij v_j for the u rows of each head with the
 * largest max - sum / n of sampled scores, the mean of v for the others | O((u + sampled) n d) |
 * Zhou et al. 2021 */
ENTRY(probsparse)
{
    zoo_rows_of_segment(z, "rows"), prob_sparse(z, zoo_complete(z), &gnn_aggregator_mean);
}

/* G3 | Informer, ProbSparse, causal | y_i = softmax over j <= i of s_ij v_j for the u rows of each
 * head with the largest max - sum / n of sampled scores, the running sum of v for the others | O((u
 * + sampled) n d) | Zhou et al. 2021 */
ENTRY(probsparse_causal)
{
    const int64_t n = COUNT("x");
    zoo_one_segment(z);
    gnn_real_t *rows = zoo_rows_of_segment(z, "rows");
    for (int64_t e = 0; e < n * n; e++)
        rows[e] = REAL(e % n <= e / n ? e % n : -1);
    prob_sparse(z, zoo_causal(z), &gnn_aggregator_sum);
}

/* 6.3 | Memorizing Transformer | causal attention, and every head attends to the k keys of a bank
 * with the largest products; y = g far + (1 - g) near, g a gate per head | O(n (n + bank) d), bank
 * the rows of the memory | Wu et al. 2022 */
ENTRY(memorizing)
{
    const int64_t n = COUNT("x"), d = COUNT("w.q"), heads = N("p.heads"), k = N("p.k"),
                  bank = zoo_shape(z, "bank_k", 1);
    LINEAR("q", "x", COLS("x"), d), LINEAR("k", "x", COLS("x"), d), LINEAR("v", "x", COLS("x"), d);
    for (const char *c = "kv"; *c; c++) {
        OP(NAMED("rows %c", *c), unfold_rows, NAMED("bank_%c", *c), (double)bank);
        for (int h = 0; h < heads; h++)
            ROWS(NAMED("bank %c%d", *c, h), NAMED("rows %c", *c), h * bank, bank);
        zoo_concat(z, NAMED("bank %c", *c), NAMED("bank %c", *c), heads);
    }
    STEP(OP, "ids", .op = &gnn_op_choose_senders, .inputs = {"q", "bank k"},
         .graph = zoo_bipartite(z, 1, &n, &bank), .options = {(double)k, (double)heads});
    STEP(OP, "products", .op = &gnn_op_score_rows, .inputs = {"q", "bank k", "ids"},
         .options = {(double)heads, 1});
    SCALE("scores", "products", 1 / sqrt((double)d / (double)heads));
    OP("w", softmax_rows, "scores", (double)heads);
    STEP(OP, "far", .op = &gnn_op_weigh_rows, .inputs = {"w", "bank v", "ids"},
         .options = {(double)heads});
    ATTEND("near", zoo_causal(z), "q", "k", "v", d, .heads = heads);
    PARAMETER("b", 1, heads), ACTIVATION("gate", "b", SIGMOID), zoo_filled(z, "ones", n, heads, 1),
        MULTIPLY("gates", "ones", "gate");
    SUBTRACT("apart", "far", "near"), SCALE_HEADS("part", "apart", "gates"),
        ADD("heads", "near", "part"), LINEAR("o", "heads", d, d);
}

FAMILY(G, AT(mab), AT(sab), AT(isab), AT(pma), AT(isab_plain), AT(luna), AT(perceiver),
       AT(agent_attention), AT(soft_moe), AT(slot_attention), AT(linformer), AT(linformer_shared),
       AT(memory_compressed), AT(poolingformer), AT(funnel_pooling), AT(funnel_upsampling),
       AT(informer_distilling), AT(low_rank_and_band), AT(clustered), AT(clustered_improved),
       AT(probsparse), AT(probsparse_causal), AT(memorizing))
