/* Positions. */
#include "zoo.h"

#include <math.h>

/* ---- added to the features ---- */

/* C8 | Sinusoidal positions | p_2t = sin(i f_t), p_2t+1 = cos(i f_t), f_t = 10000^(-2t/d) | O(n
 * d) | Vaswani et al. 2017 */
ENTRY(sinusoidal)
{
    const int64_t n = COUNT("x"), d = COLS("x"), *place = zoo_positions(z);
    const gnn_tensor_t table = gnn_tensor(golden_reals(&z->g, zoo_longest(z) * d), zoo_longest(z), d);
    gnn_real_t *rows = zoo_constant(z, "positions", n, d);
    ck_ok(gnn_positions_sinusoidal(&table));
    for (int64_t i = 0; i < n; i++)
        memcpy(rows + i * d, table.data + place[i] * d, sizeof *rows * (size_t)d);
    ADD("y", "x", "positions");
}

/* K1 | Integers, scaled, binary codes | y = [x, p, p / n, four bits of p] | O(n d) | before
 * sines */
ENTRY(simple_positions)
{
    int64_t count, row = 0, *lengths = zoo_segments(z, &count);
    gnn_real_t *codes = zoo_constant(z, "codes", COUNT("x"), 6);
    for (int64_t s = 0; s < count; s++)
        for (int64_t p = 0; p < lengths[s]; p++, row++) {
            codes[row * 6] = (gnn_real_t)p;
            codes[row * 6 + 1] = (gnn_real_t)p / (gnn_real_t)lengths[s];
            for (int b = 0; b < 4; b++)
                codes[row * 6 + 2 + b] = (gnn_real_t)(p >> b & 1);
        }
    CONCAT("y", "x", "codes");
}

/* C9 | Embeddings times sqrt(d), one matrix for inputs and logits | x = sqrt(d) E[id], logits h E'
 * | O(n words d), words the rows of the table | Vaswani et al. 2017, Press and Wolf 2017 */
ENTRY(tied_embedding)
{
    const int64_t words = COUNT("w.E"), d = COLS("w.E");
    zoo_complete(z);
    STEP(EMBED, "E", .inputs = {"ids"}, .in = words, .out = d);
    SCALE("x", "E", sqrt((double)d));
    STEP(LAYER, "layer",
         .layer = GNN_TRANSFORMER(.in = d, .heads = N("p.heads"), .feed_forward = COUNT("w.b1"),
                                  .norm_position = GNN_NORM_BEFORE, .norm_eps = REAL(R("p.eps")),
                                  .bias_project = GNN_OFF, .bias_out = GNN_OFF));
    STEP(LINEAR, "logits", .in = d, .out = words, .bias = GNN_OFF, .share = "E");
}

/* h(p, t) = W2 tanh(W1 [p, t] + b1) + b2; the first call owns the parameters. */
static void slope(zoo_t *z, const char *name, const char *p, const char *time)
{
    const bool first = !zoo_step_exists(z, "W1");
    const int64_t d = COUNT("w.b2"), hidden = COUNT("w.b1");
    const char *inner = first ? "W1" : NAMED("%s.W1", name),
               *out = first ? "W2" : NAMED("%s.W2", name);
    CONCAT(NAMED("%s.in", name), p, time);
    STEP(LINEAR, inner, .inputs = {NAMED("%s.in", name)}, .in = d + 1, .out = hidden,
         .share = first ? NULL : "W1");
    ACTIVATION(NAMED("%s.tanh", name), inner, TANH);
    STEP(LINEAR, out, .inputs = {NAMED("%s.tanh", name)}, .in = hidden, .out = d,
         .share = first ? NULL : "W2");
    SCALE(name, out, 1);
}

/* K4 | FLOATER | p(t + 1) = p(t) + integral of h(p, t), one step of Runge-Kutta 4 per word |
 * O(n d^2) | Liu et al. 2020 */
ENTRY(floater)
{
    const double step = R("p.step");
    const int64_t longest = zoo_longest(z), *place = zoo_positions(z);
    const int one = zoo_complete_of(z, 1, &longest);
    zoo_filled(z, "start", 1, 1, 0), zoo_filled(z, "half", 1, 1, step / 2);
    PARAMETER("p0", 1, COUNT("w.b2")), SCALE("t", "start", 1), ADD("t half", "t", "half"),
        ADD_TIMES("t next", "t", 2, "half");
    slope(z, "k1", "p0", "t"), ADD_TIMES("p half", "p0", step / 2, "k1");
    slope(z, "k2", "p half", "t half"), ADD_TIMES("p half again", "p0", step / 2, "k2");
    slope(z, "k3", "p half again", "t half"), ADD_TIMES("p end", "p0", step, "k3");
    slope(z, "k4", "p end", "t next"), ADD("ends", "k1", "k4"), ADD("middle", "k2", "k3");
    ADD_TIMES("sum", "ends", 2, "middle"), ADD_TIMES("p1", "p0", step / 6, "sum");
    REPEAT("table", one, 0, ALL, "p0", "p0", "p1", "t", "t next");
    int32_t *ids = zoo_ids(z, "place", COUNT("x"));
    for (int64_t i = 0; i < COUNT("x"); i++)
        ids[i] = (int32_t)place[i];
    PICK("positions", "table", "place");
    ADD("y", "x", "positions");
}

/* K16 | Conditional positions (CPE) | y = x + depthwise 3 x 3 convolution | O(n d) | Chu et al.
 * 2021 */
ENTRY(cpe)
{
    zoo_depthwise_grid(z, "conv", "x", "proj.0.weight", 1);
    PARAMETER("proj.0.bias", 1, COLS("x"));
    ADD("sum", "x", "conv"), ADD("y", "sum", "proj.0.bias");
}

/* ---- rotations ---- */

static void rope(zoo_t *z, int slot, double adjacent)
{
    ATTENTION("y", slot, "x", COLS("x"), .heads = N("p.heads"), .map = &gnn_map_rope,
              .map_options = {R("p.base"), zoo_has(z, "p.part") ? R("p.part") : 0,
                              zoo_has(z, "p.factor") ? R("p.factor") : 0, adjacent});
}

/* K13 | RoFormer, pairs t and t + width / 2 | s_ij = R(i) q_i . R(j) k_j; R(p) rotates column c
 * with column c + width / 2 by p base^(-2 c / width) | O(n^2 d) | Su et al. 2021 */
ENTRY(rope_half)
{
    rope(z, zoo_causal(z), 0);
}

/* K13 | RoFormer, pairs 2t and 2t + 1 | s_ij = R(i) q_i . R(j) k_j; R(p) rotates column 2 c with
 * column 2 c + 1 by p base^(-2 c / width) | O(n^2 d) | Su et al. 2021 */
ENTRY(rope_interleaved)
{
    rope(z, zoo_complete(z), 1);
}

/* K13 | Partial rotation (GPT-NeoX) | s_ij = R(i) q_i . R(j) k_j, R on the first `part` columns of
 * a head, the others as they are | O(n^2 d) | Black et al. 2022 */
ENTRY(rope_partial)
{
    rope(z, zoo_causal(z), 0);
}

/* K13 | Position interpolation | s_ij = R(i / factor) q_i . R(j / factor) k_j | O(n^2 d) | Chen et
 * al. 2023 */
ENTRY(rope_scaled_linear)
{
    rope(z, zoo_causal(z), 0);
}

/* x cos + x T sin in every head, T the signed exchange of the pairs: (2t, 2t + 1), or (t, t +
 * half) of each `part` columns. */
static void add_exchange(zoo_t *z, int64_t heads, int64_t width, int64_t part, bool adjacent)
{
    gnn_real_t *turn = zoo_constant(z, "exchange", heads * width, width);
    for (int64_t r = 0; r < heads * width; r++) {
        const int64_t k = r % width, at = k % part;
        const bool low = adjacent ? at % 2 == 0 : at < part / 2;
        const int64_t half = adjacent ? 1 : part / 2;
        turn[r * width + (low ? k + half : k - half)] = low ? 1 : -1;
    }
}

static void turned(zoo_t *z, const char *name, const char *x, int64_t heads, const char *cosines,
                   const char *sines)
{
    STEP(OP, NAMED("%s:turned", x), .op = &gnn_op_block_product, .inputs = {x, "exchange"},
         .options = {(double)heads});
    MULTIPLY(NAMED("%s:c", x), x, cosines);
    MULTIPLY(NAMED("%s:s", x), NAMED("%s:turned", x), sines);
    ADD(name, NAMED("%s:c", x), NAMED("%s:s", x));
}

/* K13 | xPos | s_ij = zeta^(p_i / base) R(i) q_i . zeta^(-p_j / base) R(j) k_j, j <= i, p the
 * position less half of the length, zeta = (2 c / width + 0.4) / 1.4 of columns 2 c, 2 c + 1 |
 * O(n^2 d) | Sun et al. 2022 */
ENTRY(xpos)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    int64_t count, row = 0, *lengths = zoo_segments(z, &count);
    gnn_real_t *table[4];
    const char *const names[] = {"qc", "qs", "kc", "ks"};
    for (int k = 0; k < 4; k++)
        table[k] = zoo_constant(z, names[k], COUNT("x"), d);
    for (int64_t s = 0; s < count; s++)
        for (int64_t p = 0; p < lengths[s]; p++, row++)
            for (int64_t c = 0; c < d; c++) {
                const double t = (double)(c % width / 2),
                             angle = (double)p * pow(10000, -2 * t / (double)width),
                             zeta = pow((2 * t / (double)width + 0.4) / 1.4,
                                        (double)(p - lengths[s] / 2) / R("p.scale_base"));
                table[0][row * d + c] = REAL(cos(angle) * zeta),
                                   table[1][row * d + c] = REAL(sin(angle) * zeta);
                table[2][row * d + c] = REAL(cos(angle) / zeta),
                                   table[3][row * d + c] = REAL(sin(angle) / zeta);
            }
    add_exchange(z, heads, width, width, true);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    turned(z, "qt", "q", heads, "qc", "qs"), turned(z, "kt", "k", heads, "kc", "ks");
    ATTEND("a", zoo_causal(z), "qt", "kt", "v", d, .heads = heads);
    LINEAR("o", "a", d, d);
}

/* K13 | Rotations in two dimensions | s_ij = R(i) q_i . R(j) k_j, R of the row of a pixel on half
 * of a head's columns, of its column on the other half | O(n^2 d) | Heo et al. 2024 */
ENTRY(rope_2d)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"), width = d / heads,
                  half = width / 2;
    gnn_real_t *cosines = zoo_constant(z, "c", n, d), *sines = zoo_constant(z, "s", n, d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++) {
            const int64_t k = c % width, at = k < half ? i / N("p.columns") : i % N("p.columns");
            const double angle =
                (double)at * pow(R("p.base"), -2 * (double)(k % (half / 2)) / (double)half);
            cosines[i * d + c] = REAL(cos(angle)), sines[i * d + c] = REAL(sin(angle));
        }
    add_exchange(z, heads, width, half, false);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    turned(z, "qt", "q", heads, "c", "s"), turned(z, "kt", "k", heads, "c", "s");
    ATTEND("a", zoo_complete_of(z, 1, &n), "qt", "kt", "v", d, .heads = heads);
    LINEAR("o", "a", d, d);
}

/* ---- terms by distance ---- */

/* 6.3 | ALiBi | s_ij - m_h (i - j), causal | O(n^2 d) | Press et al. 2022 */
ENTRY(alibi_causal)
{
    zoo_row(z, "r.slopes");
    STEP(LAYER, "y", .graph = zoo_causal(z), .inputs = {"x"}, .priors = {"r.slopes"},
         .layer = {.in = COLS("x"),
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .priors = {{&gnn_prior_slope, .given = GNN_ON}}});
}

/* 6.3 | ALiBi, both directions, learned slopes | s_ij - m_h |i - j| | O(n^2 d) | Press et al.
 * 2022 */
ENTRY(alibi_symmetric)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .priors = {{.prior = &gnn_prior_slope_absolute}});
    BIND("y.prior_0.slopes", "slopes", .base = 0);
}

/* K9 | Learned bias by clipped distance | s_ij + table[h][clip(j - i)] | O(n^2 d) | Raffel et
 * al. 2020 */
ENTRY(distance_table_clip)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .priors = {{.prior = &gnn_prior_table, .options = {2 * R("p.clip") + 1}}});
    BIND("y.prior_0.table", "table", .base = 0);
}

static void t5(zoo_t *z, int slot, gnn_bucket_t rule)
{
    ATTENTION(
        "y", slot, "x", COLS("x"), .heads = N("p.heads"), .scale = 1,
        .priors = {{.prior = &gnn_prior_table, .options = {R("p.buckets"), rule, R("p.reach")}}});
    BIND("y.prior_0.table", "table", .base = 0);
}

/* K9 | T5, both directions | softmax(q_i . k_j + table[h][bucket(j - i)]), no scale | O(n^2 d) |
 * Raffel et al. 2020 */
ENTRY(t5_buckets_both)
{
    t5(z, zoo_complete(z), GNN_BUCKET_LOG);
}

/* K9 | T5, causal | softmax(q_i . k_j + table[h][bucket(j - i)]) over j <= i, no scale | O(n^2 d) |
 * Raffel et al. 2020 */
ENTRY(t5_buckets_causal)
{
    t5(z, zoo_causal(z), GNN_BUCKET_LOG_CAUSAL);
}

/* K6 | Shaw, keys | s_ij = q_i . (k_j + r[clip(j - i)]) / sqrt(width) | O(n^2 d) | Shaw et al.
 * 2018 */
ENTRY(shaw_keys)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .priors = {{.prior = &gnn_prior_keys,
                          .options = {2 * R("p.clip") + 1, GNN_BUCKET_CLIP, 0, 1}}});
    BIND("y.prior_0.keys", "rk", .base = 0);
}

/* K6 | Shaw, keys and values | s_ij = q_i . (k_j + r[clip(j - i)]), y_i = sum over j of
 * softmax_j(s_ij) (v_j + r'[clip(j - i)]) | O(n^2 d) | Shaw et al. 2018 */
ENTRY(shaw_keys_values)
{
    ATTENTION("y", zoo_complete(z), "x", COLS("x"), .heads = N("p.heads"),
              .priors = {{.prior = &gnn_prior_keys,
                          .options = {2 * R("p.clip") + 1, GNN_BUCKET_CLIP, 0, 1}}},
              .message = &gnn_message_by_distance,
              .message_options = {2 * R("p.clip") + 1, GNN_BUCKET_CLIP, 0, 1});
    BIND("y.prior_0.keys", "rk", .base = 0), BIND("y.message.distance", "rv", .base = 0);
}

/* K8 | Music Transformer | s_ij = q_i . (k_j + E_h[j - i]) / sqrt(width), causal | O(n^2 d) |
 * Huang et al. 2018 */
ENTRY(music_transformer)
{
    ATTENTION("y", zoo_causal(z), "x", COLS("x"), .heads = N("p.heads"),
              .priors = {{.prior = &gnn_prior_keys,
                          .options = {(double)zoo_shape(z, "w.E", 1), GNN_BUCKET_CLIP_CAUSAL}}});
    BIND("y.prior_0.keys", "E", .layout = BY_HEAD);
}

/* The rows of an array in reverse order, repeated for each head. */
static void add_reversed(zoo_t *z, const char *name, const char *array, int64_t heads)
{
    const gnn_tensor_t r = golden_tensor(&z->g, array);
    gnn_real_t *rows = zoo_constant(z, name, r.rows, heads * r.cols);
    for (int64_t k = 0; k < r.rows; k++)
        for (int64_t c = 0; c < heads * r.cols; c++)
            rows[k * heads * r.cols + c] = r.data[(r.rows - 1 - k) * r.cols + c % r.cols];
}

/* K10 | Transformer-XL, relative positions | s_ij = ((q_i + u) . k_j + (q_i + v) . W R_ij) /
 * sqrt(width), causal | O(n^2 d) | Dai et al. 2019 */
ENTRY(transformer_xl_attention)
{
    const int64_t d = COLS("x");
    add_reversed(z, "sines", "r.R", 1);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    LINEAR("r", "sines", d, d);
    PARAMETER("u", 1, d), PARAMETER("vb", 1, d);
    ADD("qu", "q", "u"), ADD("qv", "q", "vb");
    STEP(AGGREGATE, "a", .graph = zoo_causal(z), .query = "qu", .key = "k", .inputs = {"v"},
         .prior_query = "qv", .priors = {"r"},
         .layer = {.in = d,
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{.prior = &gnn_prior_keys,
                               .options = {(double)COUNT("r.R"), GNN_BUCKET_CLIP_CAUSAL},
                               GNN_ON}}});
    LINEAR("o", "a", d, d);
}

/* K10 | Transformer-XL's layer with memory | s_ij = ((q_i + u) . k_j + (q_i + v) . W R_ij) /
 * sqrt(width), j over the rows of mem, which come before x, and the rows of x up to i | O(n (n +
 * memory) d), memory the rows of mem | Dai et al. 2019 */
ENTRY(transformer_xl_package)
{
    const int64_t d = COLS("x"), n = COUNT("x"), memory = COUNT("mem"), all = n + memory;
    add_reversed(z, "sines", "r.R", 1);
    zoo_filled(z, "nothing", memory, d, 0);
    STACK("both", "mem", "x");
    LINEAR("q", "x", d, d), LINEAR("k", "both", d, d), LINEAR("v", "both", d, d),
        LINEAR("r_net", "sines", d, d);
    BIND("q.weight", "qkv_net.weight", .layout = TURNED);
    BIND("k.weight", "qkv_net.weight", .layout = TURNED, .base = d * d);
    BIND("v.weight", "qkv_net.weight", .layout = TURNED, .base = 2 * d * d);
    PARAMETER("r_w_bias", 1, d), PARAMETER("r_r_bias", 1, d);
    ADD("qu", "q", "r_w_bias"), ADD("qv", "q", "r_r_bias");
    STACK("query", "nothing", "qu"), STACK("prior", "nothing", "qv");
    ck_ok(gnn_graph_causal(&z->graphs[z->n_graphs++], 1, &all));
    STEP(AGGREGATE, "a", .query = "query", .key = "k", .inputs = {"v"}, .prior_query = "prior",
         .priors = {"r_net"},
         .layer = {.in = d,
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .priors = {{.prior = &gnn_prior_keys,
                               .options = {(double)COUNT("r.R"), GNN_BUCKET_CLIP_CAUSAL},
                               GNN_ON}}});
    ROWS("own", "a", memory, n);
    LINEAR("o_net", "own", d, d);
    ADD("sum", "x", "o_net");
    NORM("layer_norm", "sum", LAYER, d, R("p.eps"));
}

/* P10 | TENER | s_ij = (q_i + u) . k_j + (q_i + v) . R_ij with direction, no scale, keys x |
 * O(n^2 d) | Yan et al. 2019 */
ENTRY(tener)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    add_reversed(z, "sines", "r.R", heads);
    LINEAR("q", "x", d, d), LINEAR("v", "x", d, d);
    PARAMETER("u", 1, d), PARAMETER("vb", 1, d);
    ADD("qu", "q", "u"), ADD("qv", "q", "vb");
    STEP(AGGREGATE, "a", .graph = zoo_complete(z), .query = "qu", .key = "x", .inputs = {"v"},
         .prior_query = "qv", .priors = {"sines"},
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .scale = 1,
                   .priors = {{.prior = &gnn_prior_keys, .options = {(double)COUNT("r.R")}, GNN_ON}}});
}

/* Part `part` of q, k, v, which are concatenated within each head of one product. */
static void packed_by_head(zoo_t *z, const char *name, int64_t part)
{
    const int64_t d = COLS("x"), width = d / N("p.heads");
    LINEAR(name, "x", d, d);
    BIND(NAMED("%s.weight", name), "in_proj.weight", .strided = true, .base = part * width * d,
         .row_step = 1, .col_block = width, .col_outer = 3 * width * d, .col_step = d);
}

/* K11 | DeBERTa, disentangled attention | s_ij = (q_i . k_j + q_i . kr_ij + k_j . qr_ji) /
 * sqrt(3 width) | O(n^2 d) | He et al. 2021 */
ENTRY(deberta)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    const double rows = 2 * R("p.clip");
    packed_by_head(z, "q0", 0), packed_by_head(z, "k", 1), packed_by_head(z, "v0", 2);
    PARAMETER("q_bias", 1, d), PARAMETER("v_bias", 1, d);
    ADD("q", "q0", "q_bias"), ADD("v", "v0", "v_bias");
    LINEAR("pos_proj", "rel", d, d), AFFINE("pos_q_proj", "rel", d, d);
    STEP(AGGREGATE, "y", .graph = zoo_complete(z), .query = "q", .key = "k", .inputs = {"v"},
         .priors = {"pos_proj", "pos_q_proj"},
         .layer = {
             .in = d,
             .heads = heads,
             .aggregator = &gnn_aggregator_attention,
             .scale = REAL(1 / sqrt(3 * (double)d / (double)heads)),
             .priors = {{.prior = &gnn_prior_keys, .options = {rows, GNN_BUCKET_CLIP_BACK}, GNN_ON},
                        {&gnn_prior_sender_keys, {rows, GNN_BUCKET_CLIP_BACK}, GNN_ON}}});
}

/* A table of scores by distance, computed by steps: heads x distances, as prior_table reads it. */
static void by_table(zoo_t *z, int slot, const char *table, double buckets, gnn_bucket_t rule)
{
    STEP(LAYER, "y", .graph = slot, .inputs = {"x"}, .priors = {table},
         .layer = {.in = COLS("x"),
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF,
                   .priors = {{.prior = &gnn_prior_table, .options = {buckets, rule}, GNN_ON}}});
}

/* Distances i - j of a causal table, the receiver itself last: heads x longest. */
static void add_distances(zoo_t *z, double shift)
{
    const int64_t heads = N("p.heads"), n = zoo_longest(z);
    gnn_real_t *t = zoo_constant(z, "distance", heads, n);
    for (int64_t k = 0; k < heads * n; k++)
        t[k] = REAL(shift + (shift != 0 ? -1 : 1) * (double)(n - 1 - k % n));
}

/* 6.3 | KERPLE, logarithmic | s_ij - r1 log(1 + r2 |i - j|), causal | O(n^2 d) | Chi et al.
 * 2022 */
ENTRY(kerple_log)
{
    add_distances(z, 0);
    PARAMETER("r1", N("p.heads"), 1), PARAMETER("r2", N("p.heads"), 1);
    MULTIPLY("scaled", "distance", "r2");
    OP("log", log, "scaled", 1);
    MULTIPLY("weighted", "log", "r1");
    SCALE("table", "weighted", -1);
    by_table(z, zoo_causal(z), "table", (double)zoo_longest(z), GNN_BUCKET_CLIP_CAUSAL);
}

/* J5 | Adaptive span | s_ij + log clamp((R + z_h - |i - j|) / R, 0, 1) over a causal window of the
 * largest span, max z + R, which a program makes anew when it has shrunk | O(n span d), span the
 * largest z + R | Sukhbaatar et al. 2019 */
ENTRY(adaptive_span)
{
    const int64_t heads = N("p.heads"), longest = zoo_longest(z);
    double largest = 0;
    for (int64_t h = 0; h < heads; h++)
        largest = fmax(largest, zoo_element(z, "w.z", h));
    const int64_t span = (int64_t)ceil(largest + R("p.ramp")),
                  width = span < longest ? span : longest - 1;
    gnn_real_t *distance = zoo_constant(z, "distance", 1, width + 1);
    for (int64_t t = 0; t <= width; t++)
        distance[t] = REAL((double)(t - width) + R("p.ramp"));
    zoo_filled(z, "ones", heads, width + 1, 1), PARAMETER("z", heads, 1);
    MULTIPLY("span", "ones", "z"), ADD("left", "span", "distance"),
        SCALE("ramp", "left", 1 / R("p.ramp"));
    OP("mask", clamp, "ramp", 0, 1), OP("table", log, "mask", 1e-30);
    by_table(z, zoo_window(z, width, 1, GNN_ON), "table", (double)(width + 1),
             GNN_BUCKET_CLIP_CAUSAL);
}

/* ---- on stored pairs ---- */

/* 6.3 | FIRE | s_ij + mlp(psi(i - j) / psi(max(i + 1, L))), psi(t) = log(c t + 1) | O(n^2 d) |
 * Li et al. 2024 */
ENTRY(fire)
{
    const int64_t *place = zoo_positions(z), d = COLS("x");
    int64_t *src, *dst;
    const int slot = zoo_as_edges(z, zoo_causal(z));
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    gnn_real_t *distance = zoo_constant(z, "distance", m, 1), *at = zoo_constant(z, "at", m, 1);
    zoo_filled(z, "ones", m, 1, 1);
    for (int64_t e = 0; e < m; e++)
        distance[e] = (gnn_real_t)(place[dst[e]] - place[src[e]]),
        at[e] = (gnn_real_t)(place[dst[e]] + 1);
    PARAMETER("c", 1, 1), PARAMETER("L", 1, 1);
    MULTIPLY("floor", "ones", "L"), STEP(MAXIMUM, "top", .inputs = {"at", "floor"});
    MULTIPLY("cd", "distance", "c"), OP("a", log, "cd", 1);
    MULTIPLY("ct", "top", "c"), OP("b", log, "ct", 1), OP("1/b", power, "b", -1);
    MULTIPLY("ratio", "a", "1/b");
    FEED_FORWARD("bias", "ratio", "", RELU);
    STEP(LAYER, "y", .graph = slot, .inputs = {"x"}, .edge_bias = "bias",
         .layer = {.in = d,
                   .heads = N("p.heads"),
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF});
}

/* K7 | InDIGO | s_ij = q_i . (k_j + A[r_ij]) / sqrt(width), r the order of the final places |
 * O(n^2 d) | Gu et al. 2019 */
ENTRY(indigo)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads,
                  *place = zoo_integers_of(z, "r.place", COUNT("x"));
    int64_t *src, *dst;
    const int slot = zoo_as_edges(z, zoo_causal(z));
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    int64_t *relation = zoo_room(z, m);
    for (int64_t e = 0; e < m; e++)
        relation[e] = (place[src[e]] > place[dst[e]]) - (place[src[e]] < place[dst[e]]) + 1;
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    PARAMETER("A", 3, width);
    zoo_relation_bias(z, "bias", slot, "q", "A", 3, heads, width, relation);
    STEP(AGGREGATE, "a", .graph = slot, .query = "q", .key = "k", .inputs = {"v"},
         .edge_bias = "bias",
         .layer = {.in = d, .heads = heads, .aggregator = &gnn_aggregator_attention});
    LINEAR("o", "a", d, d);
}

/* Q3 | Mask attention network | weights M_ij exp(s_ij), M = sigmoid(x_i . w + P[j - i] + U) |
 * O(n^2 d) | Fan et al. 2021 */
ENTRY(mask_attention_network)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), clip = N("p.clip"), *place = zoo_positions(z);
    int64_t *src, *dst;
    const int slot = zoo_as_edges(z, zoo_complete(z));
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    int32_t *ids = zoo_ids(z, "bucket", m);
    for (int64_t e = 0; e < m; e++) {
        const int64_t far = place[src[e]] - place[dst[e]], near = far < -clip ? -clip : far;
        ids[e] = (int32_t)((near > clip ? clip : near) + clip);
    }
    LINEAR("w", "x", d, heads), EDGE_ROWS("of", slot, "w", RECEIVERS);
    STEP(EMBED, "P", .inputs = {"bucket"}, .in = 2 * clip + 1, .out = heads);
    BIND("P.table", "P", .layout = TURNED);
    PARAMETER("U", 1, heads);
    ADD("e0", "of", "P"), ADD("e", "e0", "U");
    SCALE("-e", "e", -1), ACTIVATION("soft", "-e", SOFTPLUS), SCALE("bias", "soft", -1);
    STEP(LAYER, "y", .graph = slot, .inputs = {"x"}, .edge_bias = "bias",
         .layer = {.in = d,
                   .heads = heads,
                   .aggregator = &gnn_aggregator_attention,
                   .update = &gnn_update_linear,
                   .bias_out = GNN_OFF});
}

/* K12 | TUPE | s_ij = (q_i . k_j + p_i U . p_j U') / sqrt(2 width) + b[j - i], the first word
 * untied | O(n^2 d) | Ke et al. 2021 */
ENTRY(tupe)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"), width = d / heads,
                  clip = N("p.clip");
    int64_t *src, *dst, *place = zoo_positions(z);
    const int slot = zoo_as_edges(z, zoo_complete(z));
    const int64_t m = zoo_pairs(z, slot, &src, &dst);
    int32_t *at = zoo_ids(z, "place", n), *ids = zoo_ids(z, "bucket", m);
    gnn_real_t *later = zoo_constant(z, "later", n, 1);
    for (int64_t i = 0; i < n; i++)
        at[i] = (int32_t)place[i], later[i] = place[i] > 0;
    for (int64_t e = 0; e < m; e++) {
        const int64_t i = place[dst[e]], j = place[src[e]], far = j - i < -clip ? -clip : j - i;
        ids[e] = (int32_t)(i == 0   ? 2 * clip + 1
                           : j == 0 ? 2 * clip + 2
                                    : (far > clip ? clip : far) + clip);
    }
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    STEP(EMBED, "p", .inputs = {"place"}, .in = COUNT("w.p"), .out = d);
    LINEAR("uq", "p", d, d), LINEAR("uk", "p", d, d);
    MULTIPLY("pq", "uq", "later"), MULTIPLY("pk", "uk", "later");
    zoo_beside(z, "query", "q", "pq", heads, width), zoo_beside(z, "key", "k", "pk", heads, width);
    PARAMETER("b", 2 * clip + 1, heads), PARAMETER("t1", 1, heads), PARAMETER("t2", 1, heads);
    BIND("b.rows", "b", .layout = TURNED);
    STACK("table", "b", "t1", "t2"), PICK("bias", "table", "bucket");
    STEP(AGGREGATE, "a", .graph = slot, .query = "query", .key = "key", .inputs = {"v"},
         .edge_bias = "bias",
         .layer = {.in = d,
                   .heads = heads,
                   .d_k = 2 * width,
                   .d_v = width,
                   .aggregator = &gnn_aggregator_attention,
                   .scale = REAL(1 / sqrt(2 * (double)width))});
    LINEAR("o", "a", d, d);
}

/* K15 | R-Transformer | h_i = GRU over x_(i - window + 1) .. x_i, y_i = h_i + attention over h_j, j
 * <= i | O(n^2 d) | Wang et al. 2019 */
ENTRY(r_transformer)
{
    const int64_t d = COLS("w.weight_hh"), last = N("p.window") - 1;
    const int own = zoo_itself(z, COUNT("x")), causal = zoo_causal(z);
    zoo_filled(z, "h0", COUNT("x"), d, 0);
    for (int k = 0; k <= last; k++) {
        zoo_shift(z, NAMED("word%d", k), "x", k - last);
        STEP(LAYER, NAMED("h%d", k + 1), .graph = own, .inputs = {NAMED("word%d", k)},
             .receivers = NAMED("h%d", k), .share = k ? "h1" : NULL,
             .layer = GNN_GATED_GRAPH(.in = COLS("x"), .in_dst = d, .out = d,
                                      .message = &gnn_message_none));
    }
    BIND("h1.gru.input.weight", "weight_ih", .layout = TURNED),
        BIND("h1.gru.input.bias", "bias_ih", .base = 0);
    BIND("h1.gru.hidden.weight", "weight_hh", .layout = TURNED),
        BIND("h1.gru.hidden.bias", "bias_hh", .base = 0);
    const char *h = NAMED("h%d", (int)last + 1);
    ATTENTION("attention", causal, h, d, .heads = N("p.heads"));
    ADD("y", h, "attention");
}

FAMILY(K, AT(sinusoidal), AT(simple_positions), AT(tied_embedding), AT(floater), AT(cpe),
       AT(rope_half), AT(rope_interleaved), AT(rope_partial), AT(rope_scaled_linear), AT(xpos),
       AT(rope_2d), AT(alibi_causal), AT(alibi_symmetric), AT(distance_table_clip),
       AT(t5_buckets_both), AT(t5_buckets_causal), AT(shaw_keys), AT(shaw_keys_values),
       AT(music_transformer), AT(transformer_xl_attention), AT(transformer_xl_package), AT(tener),
       AT(deberta), AT(kerple_log), AT(adaptive_span), AT(fire), AT(indigo),
       AT(mask_attention_network), AT(tupe), AT(r_transformer))
