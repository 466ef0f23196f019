/* Sparse attention by position. Each pattern is a graph; the layer is the same. */
#include "zoo.h"

/* The layer of every pattern, on the last graph: of rows x, or of x over rows mem. */
static void attend(zoo_t *z)
{
    const int slot = z->n_graphs - 1;
    zoo_same_pairs(z, slot);
    if (zoo_has(z, "mem"))
        CROSS("y", slot, "x", "mem", COLS("x"), .heads = N("p.heads"));
    else
        ATTENTION("y", slot, "x", COLS("x"), .heads = N("p.heads"));
}

/* ---- bands ---- */

/* D2 | Band | softmax over j with |i - j| <= w | O(n w d) | Beltagy et al. 2020 */
ENTRY(pattern_window)
{
    zoo_window(z, N("p.w"), 1, GNN_OFF);
    attend(z);
}

/* D2 | Causal band | softmax over j with 0 <= i - j <= w | O(n w d) | Child et al. 2019 */
ENTRY(pattern_window_causal)
{
    zoo_window(z, N("p.w"), 1, GNN_ON);
    attend(z);
}

/* D3 | Dilated band | softmax over j = i + k dilation, |k| <= w | O(n w d) | Beltagy et al. 2020 */
ENTRY(pattern_dilated)
{
    zoo_window(z, N("p.w"), N("p.dilation"), GNN_OFF);
    attend(z);
}

/* D4 | Strided | softmax over j = i modulo s | O(n^2 d / s) | Child et al. 2019 */
ENTRY(pattern_strided_endless)
{
    zoo_window(z, zoo_longest(z), N("p.s"), GNN_OFF);
    attend(z);
}

/* D4 | LogSparse | softmax over j = i, or i - j a power of two | O(edges d) | Li et al. 2019 */
ENTRY(pattern_log)
{
    zoo_edges(z);
    attend(z);
}

static span_t uneven(zoo_t *z, int64_t at, int64_t length, int64_t senders)
{
    (void)length, (void)senders;
    return (span_t){at - N("p.back"), at + N("p.ahead") + 1};
}

/* C11 | Restricted self-attention, uneven band | softmax over j with -ahead <= i - j <= back | O(n
 * (back + ahead) d) | Vaswani et al. 2017 */
ENTRY(pattern_window_uneven)
{
    zoo_spans(z, uneven);
    attend(z);
}

/* ---- global nodes ---- */

/* D8 | Longformer: a band and global nodes | softmax over j with |i - j| <= w, or i or j below g,
 * positions in the segment | O(n (w + g) d) | Beltagy et al. 2020 */
ENTRY(pattern_window_global)
{
    int64_t count, at = 0, m = 0, *lengths = zoo_segments(z, &count);
    int64_t *globals = zoo_room(z, COUNT("x"));
    for (int64_t s = 0; s < count; at += lengths[s++])
        for (int64_t g = 0; g < N("p.g") && g < lengths[s]; g++)
            globals[m++] = at + g;
    ck_ok(gnn_graph_window_global(&z->graphs[z->n_graphs++], count, lengths, N("p.w"), m, globals));
    attend(z);
}

/* 6.3 | Attention sinks (StreamingLLM) | softmax over j <= i with i - j < w or j < k | O(n (w + k)
 * d) | Xiao et al. 2024 */
ENTRY(pattern_sink)
{
    zoo_topology(z, "sink", NAMED("width=%d,sinks=%d", (int)N("p.w") - 1, (int)N("p.k")));
    attend(z);
}

/* 6.3 | Prefix LM | softmax over j < k or j <= i | O(n^2 d) | Raffel et al. 2020 */
ENTRY(pattern_prefix)
{
    zoo_topology(z, "prefix", NAMED("prefix=%d", (int)N("p.k")));
    attend(z);
}

/* D1 | External global rows | softmax over j with |i - j| <= w and over learned rows of each
 * segment, which read all; y: rows of x, then the learned rows | O(n (w + rows) d) | Ainslie et al.
 * 2020 */
ENTRY(external_global_rows)
{
    int64_t count, n = COUNT("x"), m = 0, at = 0, *lengths = zoo_segments(z, &count);
    const int64_t d = COLS("x"), rows = N("p.rows"), all = n + rows * count;
    int64_t *src = zoo_room(z, all * all), *dst = zoo_room(z, all * all);
    for (int64_t s = 0; s < count; at += lengths[s++])
        for (int64_t i = -rows; i < lengths[s]; i++)
            for (int64_t j = -rows; j < lengths[s]; j++)
                if (i < 0 || j < 0 || llabs(i - j) <= N("p.w")) {
                    dst[m] = i < 0 ? n + s * rows + rows + i : at + i;
                    src[m++] = j < 0 ? n + s * rows + rows + j : at + j;
                }
    zoo_edges_of(z, all, all, m, src, dst);
    EACH("rows", zoo_complete(z), rows, d);
    STACK("both", "x", "rows");
    ATTENTION("y", 0, "both", d, .heads = N("p.heads"));
}

/* ---- blocks ---- */

/* D6 | Block local | softmax over j in the block of i; blocks are b rows | O(n b d) | Qiu et al.
 * 2020 */
ENTRY(pattern_block)
{
    zoo_topology(z, "block", NAMED("size=%d", (int)N("p.b")));
    attend(z);
}

/* D14 | Image Transformer, 1-D | softmax over j <= i in the block of i or the block before; blocks
 * are b rows | O(n b d) | Parmar et al. 2018 */
ENTRY(pattern_block_causal)
{
    zoo_topology(z, "block", NAMED("size=%d,back=1,causal=1", (int)N("p.b")));
    attend(z);
}

/* S7 | Streaming Transformer | softmax over j with -back <= floor(j / b) - floor(i / b) <= ahead |
 * O(n (back + ahead + 1) b d) | Tsunoo et al. 2019 */
ENTRY(pattern_block_back_ahead)
{
    zoo_topology(
        z, "block",
        NAMED("size=%d,back=%d,ahead=%d", (int)N("p.b"), (int)N("p.back"), (int)N("p.ahead")));
    attend(z);
}

/* D6 | Local attention, exact window | i - b <= j <= i | O(n b d) | Roy et al. 2021 */
ENTRY(local_attention)
{
    zoo_window(z, N("p.b"), 1, GNN_ON);
    attend(z);
}

/* D10 | BigBird's pattern | softmax over j in the first or the last block, the block of i and its
 * neighbours, and drawn blocks; rows of the first and the last block read all; edges are given |
 * O(edges d) | Zaheer et al. 2020 */
ENTRY(pattern_bigbird)
{
    zoo_edges(z);
    attend(z);
}

/* D5 | Random | softmax over j = i and senders drawn for each i; edges are given | O(edges d) |
 * Zaheer et al. 2020 */
ENTRY(pattern_random)
{
    zoo_edges(z);
    attend(z);
}

/* 6.3 | Expander (Exphormer) | softmax over j = i and the neighbours of i, on both sides, in random
 * cycles through all nodes; edges are given | O(edges d) | Shirzad et al. 2023 */
ENTRY(pattern_expander)
{
    zoo_edges(z);
    attend(z);
}

/* D7 | Ring of Star-Transformer | softmax over j = i - 1, i, i + 1 modulo the length of the
 * segment; edges are given | O(edges d) | Guo et al. 2019 */
ENTRY(pattern_star_ring)
{
    zoo_edges(z);
    attend(z);
}

/* ---- Sparse Transformer ---- */

/* D11 | Sparse Transformer, strided, first head | softmax over j with i - s <= j <= i | O(n s d) |
 * Child et al. 2019 */
ENTRY(pattern_sparse_strided_1)
{
    zoo_window(z, N("p.s"), 1, GNN_ON);
    attend(z);
}

/* D11 | Sparse Transformer, strided, second head | softmax over j <= i with j = i modulo s | O(n^2
 * d / s) | Child et al. 2019 */
ENTRY(pattern_sparse_strided_2)
{
    zoo_window(z, zoo_longest(z), N("p.s"), GNN_ON);
    attend(z);
}

/* D11 | Sparse Transformer, strided, both heads merged | softmax over j <= i with i - j < s or j =
 * i modulo s | O(n (s + n / s) d) | Child et al. 2019 */
ENTRY(pattern_sparse_strided)
{
    zoo_topology(z, "strided", NAMED("stride=%d", (int)N("p.s")));
    attend(z);
}

/* D12 | Sparse Transformer, fixed | softmax over j <= i in the block of i, or among the last c rows
 * of an earlier block; blocks are s rows | O(n (s + c n / s) d) | Child et al. 2019 */
ENTRY(pattern_sparse_fixed)
{
    zoo_topology(z, "fixed", NAMED("size=%d,summaries=%d", (int)N("p.s"), (int)N("p.c")));
    attend(z);
}

/* D12 | Sparse Transformer, fixed, second head | softmax over j <= i whose position in its block of
 * s rows is one of the last c; edges are given | O(edges d) | Child et al. 2019 */
ENTRY(pattern_sparse_fixed_2)
{
    zoo_edges(z);
    attend(z);
}

/* D11 | Sparse Transformer, a pattern per head | even heads i - s .. i, odd heads i = j modulo s |
 * O(n (s + n / s) d) | Child et al. 2019 */
ENTRY(sparse_transformer_heads)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    const int near = zoo_window(z, N("p.s"), 1, GNN_ON),
              far = zoo_window(z, zoo_longest(z), N("p.s"), GNN_ON);
    LINEAR("q", "x", d, d), LINEAR("k", "x", d, d), LINEAR("v", "x", d, d);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d", h), "q", h * width, width);
        COLUMNS(NAMED("k%d", h), "k", h * width, width);
        COLUMNS(NAMED("v%d", h), "v", h * width, width);
        ATTEND(NAMED("head%d", h), h % 2 ? far : near, NAMED("q%d", h), NAMED("k%d", h),
               NAMED("v%d", h), width, .heads = 1);
    }
    zoo_concat(z, "heads", "head", heads);
    LINEAR("o", "heads", d, d);
}

/* ---- between sequences of different lengths ---- */

static span_t around_scaled(zoo_t *z, int64_t at, int64_t length, int64_t senders)
{
    const int64_t centre = at * senders / length;
    return (span_t){centre - N("p.D"), centre + N("p.D") + 1};
}

/* B18 | Local attention, monotonic | softmax over j with |j - i m / n| <= D, n and m the lengths of
 * both sides | O(n D d) | Luong et al. 2015 */
ENTRY(pattern_local_monotonic)
{
    zoo_spans(z, around_scaled);
    attend(z);
}

static span_t pooled(zoo_t *z, int64_t at, int64_t length, int64_t senders)
{
    (void)length, (void)senders;
    return (span_t){at * N("p.stride"), at * N("p.stride") + N("p.width")};
}

/* G5 | Pooling | receiver r: softmax over j = r stride .. r stride + width - 1 | O(n width d) | Liu
 * et al. 2018 */
ENTRY(pattern_pool)
{
    zoo_spans(z, pooled);
    attend(z);
}

static span_t unpooled(zoo_t *z, int64_t at, int64_t length, int64_t senders)
{
    (void)length, (void)senders;
    return (span_t){at / N("p.s"), at / N("p.s") + 1};
}

/* N2 | Unpooling | w_ij = 1 for j = floor(i / s), else 0 | O(n d) | Dai et al. 2020 */
ENTRY(pattern_unpool)
{
    zoo_spans(z, unpooled);
    attend(z);
}

/* ---- grids: rows of x are pixels, row by row ---- */

/* D16 | Axial, rows | softmax over the pixels of the receiver's row | O(n columns d) | Ho et al.
 * 2019 */
ENTRY(grid_rows)
{
    int64_t *lengths = zoo_room(z, N("p.rows"));
    for (int64_t r = 0; r < N("p.rows"); r++)
        lengths[r] = N("p.columns");
    zoo_complete_of(z, N("p.rows"), lengths);
    attend(z);
}

/* D16 | Axial, columns | softmax over the pixels of the receiver's column | O(n rows d) | Ho et al.
 * 2019 */
ENTRY(grid_columns)
{
    zoo_window(z, N("p.rows"), N("p.columns"), GNN_OFF);
    attend(z);
}

/* D16 | Axial, columns, causal | softmax over the pixels of the receiver's column, at the receiver
 * or above | O(n rows d) | Ho et al. 2019 */
ENTRY(grid_columns_causal)
{
    zoo_window(z, N("p.rows"), N("p.columns"), GNN_ON);
    attend(z);
}

static void grid_windows(zoo_t *z, int64_t s)
{
    zoo_topology(z, "grid_windows",
                 NAMED("columns=%d,size=%d,across=%d,shift=%d", (int)N("p.columns"), (int)N("p.h"),
                       (int)N("p.w"), (int)s));
    attend(z);
}

/* S4 | Swin, windows | softmax over pixels with the same floor(y / h) and floor(x / w) | O(n h w d)
 * | Liu et al. 2021 */
ENTRY(grid_blocks)
{
    grid_windows(z, 0);
}

/* S4 | Swin, shifted windows | softmax over pixels with the same floor((y + s) / h) and floor((x +
 * s) / w) | O(n h w d) | Liu et al. 2021 */
ENTRY(grid_blocks_shifted)
{
    grid_windows(z, N("p.s"));
}

/* K16 | Neighbourhood on a grid | softmax over pixels with |dy| <= r and |dx| <= r | O(n r^2 d) |
 * Hassani et al. 2023 */
ENTRY(grid_window)
{
    zoo_topology(z, "grid", NAMED("columns=%d,width=%d", (int)N("p.columns"), (int)N("p.r")));
    attend(z);
}

/* 6.3 | Dilated neighbourhood (DiNAT) | softmax over pixels with |dy| and |dx| multiples of the
 * dilation, at most r times it; edges are given | O(edges d) | Hassani and Shi 2022 */
ENTRY(grid_dilated)
{
    zoo_edges(z);
    attend(z);
}

/* 6.3 | HaloNet | softmax over the pixels of the receiver's block of b x b and of a halo around it;
 * edges are given | O(edges d) | Vaswani et al. 2021 */
ENTRY(grid_halo)
{
    zoo_edges(z);
    attend(z);
}

/* D15 | Image Transformer, 2-D | softmax over the pixels of the receiver's block of h x w, and of m
 * rows above it and m columns on either side, up to the receiver in reading order; edges are given
 * | O(edges d) | Parmar et al. 2018 */
ENTRY(grid_image_2d)
{
    zoo_edges(z);
    attend(z);
}

/* ---- systems ---- */

/* Edges of pairs (i, j) for which `reads` is true, over n rows. */
static int edges_where(zoo_t *z, int64_t n, bool (*reads)(zoo_t *z, int64_t i, int64_t j, int head),
                       int head)
{
    int64_t m = 0, *src = zoo_room(z, n * n), *dst = zoo_room(z, n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (reads(z, i, j, head))
                src[m] = j, dst[m++] = i;
    return zoo_edges_of(z, n, n, m, src, dst);
}

static bool of_bigbird(zoo_t *z, int64_t i, int64_t j, int head)
{
    const int64_t b = N("p.block"), blocks = COUNT("x") / b, own = i / b, other = j / b,
                  drawn = zoo_shape(z, "r.random", 2);
    if (own == 0 || own == blocks - 1 || other == 0 || other == blocks - 1 || llabs(own - other) <= 1)
        return true;
    for (int64_t k = 0; k < drawn; k++)
        if ((int64_t)zoo_element(z, "r.random", (head * (blocks - 2) + own - 1) * drawn + k) == other)
            return true;
    return false;
}

/* D10 | BigBird | softmax over j in the first or last block, the block of i and its neighbours, and
 * blocks drawn for each head; rows of the first and the last block read all; no W_O | O(n block d)
 * | Zaheer et al. 2020 */
ENTRY(bigbird_attention)
{
    const int64_t d = COLS("x"), heads = N("p.heads"), width = d / heads;
    AFFINE("query", "x", d, d), AFFINE("key", "x", d, d), AFFINE("value", "x", d, d);
    for (int h = 0; h < heads; h++) {
        COLUMNS(NAMED("q%d", h), "query", h * width, width),
            COLUMNS(NAMED("k%d", h), "key", h * width, width);
        COLUMNS(NAMED("v%d", h), "value", h * width, width);
        ATTEND(NAMED("head%d", h), edges_where(z, COUNT("x"), of_bigbird, h), NAMED("q%d", h),
               NAMED("k%d", h), NAMED("v%d", h), width, .heads = 1);
    }
    zoo_concat(z, "y", "head", heads);
}

/* D8 | Longformer | y_i = softmax over |i - j| <= w and global j; global i: softmax over all j, by
 * query_global, key_global, value_global | O(n (w + globals) d), globals the count of global rows |
 * Beltagy et al. 2020 */
ENTRY(longformer_attention)
{
    const int64_t d = COLS("x"), n = COUNT("x"), heads = N("p.heads"),
                  *global = zoo_integers_of(z, "r.is_global", n), w = N("p.w");
    int64_t count, at = 0, m = 0, far = 0, globals = 0, *lengths = zoo_segments(z, &count);
    int64_t *src = zoo_room(z, n * n), *dst = zoo_room(z, n * n), *src2 = zoo_room(z, n * n),
            *dst2 = zoo_room(z, n * n);
    int32_t *rows = zoo_ids(z, "global rows", n), *order = zoo_ids(z, "order", n);
    for (int64_t s = 0; s < count; at += lengths[s++])
        for (int64_t i = at; i < at + lengths[s]; i++) {
            order[i] = (int32_t)(global[i] ? n + globals : i);
            for (int64_t j = at; j < at + lengths[s]; j++) {
                if (llabs(i - j) <= w || global[j])
                    src[m] = j, dst[m++] = i;
                if (global[i])
                    src2[far] = j, dst2[far++] = globals;
            }
            if (global[i])
                rows[globals++] = (int32_t)i;
        }
    z->values[z->n_values - 2].count = globals;
    AFFINE("query", "x", d, d), AFFINE("key", "x", d, d), AFFINE("value", "x", d, d);
    AFFINE("query_global", "x", d, d), AFFINE("key_global", "x", d, d),
        AFFINE("value_global", "x", d, d);
    ATTEND("near", zoo_edges_of(z, n, n, m, src, dst), "query", "key", "value", d, .heads = heads);
    PICK("q", "query_global", "global rows");
    ATTEND("far", zoo_edges_of(z, globals, n, far, src2, dst2), "q", "key_global", "value_global",
           d, .heads = heads);
    STACK("both", "near", "far"), PICK("y", "both", "order");
}

/* D7 | Star-Transformer | h_i <- LN(relu(attention of h_i to [h_(i-1), h_i, h_(i+1), x_i, s]))
 * around a ring, s <- relu(attention of s to [s, h]); at first h = x, s = mean of x | O(n d^2) |
 * Guo et al. 2019 */
ENTRY(star_transformer)
{
    const int64_t n = COUNT("x"), d = COLS("x");
    int64_t count, at = 0, m = 0, r = 0, *lengths = zoo_segments(z, &count);
    int64_t *src = zoo_room(z, 5 * n), *dst = zoo_room(z, 5 * n), *from = zoo_room(z, n + count),
            *to = zoo_room(z, n + count);
    for (int64_t s = 0; s < count; at += lengths[s++]) {
        from[r] = s, to[r++] = s;
        for (int64_t i = 0; i < lengths[s]; i++) {
            const int64_t l = lengths[s], five[] = {at + (i + l - 1) % l, at + i, at + (i + 1) % l,
                                                    n + at + i, 2 * n + s};
            for (int k = 0; k < 5; k++)
                src[m] = five[k], dst[m++] = at + i;
            from[r] = count + at + i, to[r++] = s;
        }
    }
    const int ring = zoo_edges_of(z, n, 2 * n + count, m, src, dst),
              relay = zoo_edges_of(z, count, count + n, r, from, to);
    SCALE("h0", "x", 1), HOP("s0", zoo_pool(z, 1), "x", d, mean);
    for (int k = 1; k <= N("p.rounds"); k++) {
        const char *h = NAMED("h%d", k), *s = NAMED("s%d", k),
                   *norm = k > 1 ? NAMED("norm:%d", k) : "norm";
        STACK(NAMED("context%d", k), NAMED("h%d", k - 1), "x", NAMED("s%d", k - 1));
        CROSS(NAMED("%d.ring", k), ring, NAMED("h%d", k - 1), NAMED("context%d", k), d,
              .heads = N("p.heads"));
        ACTIVATION(NAMED("ring%d", k), NAMED("%d.ring", k), RELU);
        STEP(NORM, norm, .inputs = {NAMED("ring%d", k)}, .norm = GNN_NORM_LAYER, .in = d,
             .share = k > 1 ? "norm" : NULL);
        SCALE(h, norm, 1), STACK(NAMED("all%d", k), NAMED("s%d", k - 1), h);
        CROSS(NAMED("%d.relay", k), relay, NAMED("s%d", k - 1), NAMED("all%d", k), d,
              .heads = N("p.heads"));
        ACTIVATION(s, NAMED("%d.relay", k), RELU);
    }
    zoo_also(z, NAMED("s%d", (int)N("p.rounds")), "relay");
    SCALE("y", NAMED("h%d", (int)N("p.rounds")), 1);
}

/* q, k and v of "all", a term by relation, and W_O; receivers are rows of "x" or of all. */
static void by_relation(zoo_t *z, int slot, const char *receivers, const char *table,
                        int64_t relations, const int64_t *ids)
{
    const int64_t d = COLS("x"), heads = N("p.heads");
    LINEAR("q", receivers, d, d), LINEAR("k", "all", d, d), LINEAR("v", "all", d, d);
    zoo_relation_bias(z, "bias", slot, "q", table, relations, heads, d / heads, ids);
    STEP(AGGREGATE, "a", .graph = slot, .query = "q", .key = "k", .inputs = {"v"},
         .edge_bias = "bias",
         .layer = {.in = d, .heads = heads, .aggregator = &gnn_aggregator_attention});
    LINEAR("o", "a", d, d);
}

/* D13 | BP-Transformer | s_ij = q_i . (k_j + r of the level of j) / sqrt(width); a leaf reads nodes
 * of a binary tree, finer ones nearby, a node the leaves under it | O(k n d log(n / k)) | Ye et al.
 * 2019 */
ENTRY(bp_transformer)
{
    const int64_t n = COUNT("x"), d = COLS("x"), heads = N("p.heads"), all = n + COUNT("mem"),
                  *spans = zoo_segments_mem(z);
    int64_t count, at = 0, from = 0, row = 0, *lengths = zoo_segments(z, &count);
    int32_t *order = zoo_ids(z, "order", all), *level = zoo_ids(z, "level", all),
            *leaf = zoo_ids(z, "leaf", n);
    for (int64_t s = 0; s < count; at += lengths[s], from += spans[s++]) {
        for (int64_t p = 0; p < lengths[s]; p++)
            leaf[at + p] = (int32_t)row, order[row++] = (int32_t)(at + p);
        for (int64_t p = 0, size = (lengths[s] + 1) / 2, left = size, depth = 1; p < spans[s]; p++) {
            level[row] = (int32_t)depth, order[row++] = (int32_t)(n + from + p);
            if (--left == 0)
                left = size = (size + 1) / 2, depth++;
        }
    }
    STACK("both", "x", "mem"), PICK("all", "both", "order");
    LINEAR("q", "all", d, d), LINEAR("k", "all", d, d), LINEAR("v", "all", d, d);
    PARAMETER("r", COUNT("w.r"), COLS("w.r")), PICK("r0", "r", "level");
    for (int h = 1; h < heads; h++)
        SCALE(NAMED("r%d", h), "r0", 1);
    zoo_concat(z, "of level", "r", heads), ADD("keys", "k", "of level");
    ATTEND("a", zoo_topology(z, "tree", NAMED("width=%d", (int)N("p.k"))), "q", "keys", "v", d,
           .heads = heads);
    PICK("leaves", "a", "leaf"), LINEAR("o", "leaves", d, d);
}

/* D9 | ETC | global and long rows in one softmax, a key per relation | O(n (radius + globals) d),
 * globals the rows of mem of a segment | Ainslie et al. 2020 */
ENTRY(etc_attention)
{
    const int64_t n = COUNT("x"), all = n + COUNT("mem"), clip = N("p.clip"),
                  radius = N("p.radius"), labels = 2 * clip + 1, *globals = zoo_segments_mem(z);
    int64_t count, at = 0, from = n, m = 0, *lengths = zoo_segments(z, &count);
    int64_t *src = zoo_room(z, all * all), *dst = zoo_room(z, all * all),
            *ids = zoo_room(z, all * all);
    for (int64_t s = 0; s < count; at += lengths[s], from += globals[s++])
        for (int64_t i = -globals[s]; i < lengths[s]; i++)
            for (int64_t j = -globals[s]; j < lengths[s]; j++) {
                const int64_t far = j - i < -clip ? -clip : j - i,
                              near = (far > clip ? clip : far) + clip;
                if (i >= 0 && j >= 0 && llabs(i - j) > radius)
                    continue;
                dst[m] = i < 0 ? from + globals[s] + i : at + i,
                src[m] = j < 0 ? from + globals[s] + j : at + j;
                ids[m++] = i >= 0 && j >= 0 ? near
                           : i < 0 && j < 0 ? labels + near
                           : i < 0          ? 2 * labels
                                            : 2 * labels + 1;
            }
    STACK("all", "x", "mem");
    PARAMETER("ll", labels, COLS("w.ll")), PARAMETER("gg", labels, COLS("w.ll")),
        PARAMETER("gl", 1, COLS("w.ll")), PARAMETER("lg", 1, COLS("w.ll"));
    STACK("table", "ll", "gg", "gl", "lg");
    const int slot = zoo_edges_of(z, all, all, m, src, dst);
    by_relation(z, slot, "all", "table", 2 * labels + 2, ids);
}

/* Attention over rows of a picture, the channels as heads whose width is a row's pixels. */
static void along(zoo_t *z, const char *name, const char *prefix, int64_t rows, int64_t pixels,
                  int64_t channels)
{
    for (const char *c = "qkv"; *c; c++) {
        const char *x = NAMED("%s%c", prefix, *c), *folded = NAMED("%s folded", x);
        OP(folded, fold_rows, x, (double)pixels);
        OP(NAMED("%s heads", x), transpose_heads, folded, (double)pixels);
    }
    ATTEND(NAMED("%s heads", name), zoo_complete_of(z, 1, &rows), NAMED("%sq heads", prefix),
           NAMED("%sk heads", prefix), NAMED("%sv heads", prefix), channels * pixels,
           .heads = channels);
    OP(NAMED("%s folded", name), transpose_heads, NAMED("%s heads", name), (double)channels);
    OP(name, unfold_rows, NAMED("%s folded", name), (double)pixels);
}

/* S6 | Speech-Transformer, 2-D attention | y = conv([attention over times, attention over
 * frequencies], of each channel), q, k, v = conv(x), all 3 x 3 | O(n (times + frequencies) d) |
 * Dong et al. 2018 */
ENTRY(two_dimensional_attention)
{
    const int64_t times = N("p.times"), pixels = N("p.frequencies"), c = COLS("x");
    int32_t *turned = zoo_ids(z, "turned", times * pixels),
            *back = zoo_ids(z, "back", times * pixels);
    for (int64_t t = 0; t < times; t++)
        for (int64_t f = 0; f < pixels; f++) {
            turned[f * times + t] = (int32_t)(t * pixels + f);
            back[t * pixels + f] = (int32_t)(f * times + t);
        }
    zoo_unfold_grid(z, "around", "x", 1);
    for (const char *p = "qkv"; *p; p++) {
        LINEAR(NAMED("%c", *p), "around", 9 * c, c);
        PICK(NAMED("turned %c", *p), NAMED("%c", *p), "turned");
    }
    along(z, "by time", "", times, pixels, c);
    along(z, "turned by frequency", "turned ", pixels, times, c);
    PICK("by frequency", "turned by frequency", "back"), CONCAT("both", "by time", "by frequency");
    zoo_unfold_grid(z, "around both", "both", 1), LINEAR("o", "around both", 9 * 2 * c, c);
}

FAMILY(D, AT(pattern_window), AT(pattern_window_causal), AT(pattern_dilated),
       AT(pattern_strided_endless), AT(pattern_log), AT(pattern_window_uneven),
       AT(pattern_window_global), AT(pattern_sink), AT(pattern_prefix), AT(external_global_rows),
       AT(pattern_block), AT(pattern_block_causal), AT(pattern_block_back_ahead),
       AT(local_attention), AT(pattern_bigbird), AT(pattern_random), AT(pattern_expander),
       AT(pattern_star_ring), AT(pattern_sparse_strided_1), AT(pattern_sparse_strided_2),
       AT(pattern_sparse_strided), AT(pattern_sparse_fixed), AT(pattern_sparse_fixed_2),
       AT(sparse_transformer_heads), AT(pattern_local_monotonic), AT(pattern_pool),
       AT(pattern_unpool), AT(grid_rows), AT(grid_columns), AT(grid_columns_causal),
       AT(grid_blocks), AT(grid_blocks_shifted), AT(grid_window), AT(grid_dilated), AT(grid_halo),
       AT(grid_image_2d), AT(bigbird_attention), AT(longformer_attention), AT(star_transformer),
       AT(bp_transformer), AT(etc_attention), AT(two_dimensional_attention))
