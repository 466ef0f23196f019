/* Topologies of sparse attention: patterns over the positions of a segment, as spans. A pattern is
 * a list of parts, each with one run of senders per receiver, so that memory is O(n) per part. */
#include <graphs/build.h>

enum { OPTIONS = 5, MOST_PARTS = 200, MOST_OPTION = 1 << 30 };

/* The settings of a pattern, and the segment that is filled. */
typedef struct {
    int64_t option[OPTIONS]; /* at most MOST_OPTION, so that products of two fit */
    int64_t seed;
    int64_t n_dst, n_src; /* of the segment */
    int64_t length;       /* that was given for it */
    int64_t index;        /* of the part */
} shape_t;

/* A run of senders: from .. to - 1, positions in the segment or, where a part sorts its senders,
 * ranks. An empty one may have any value, also to < from. */
typedef struct {
    int64_t from, to;
} run_t;

/* One part. By position: the run of receiver i. By group: nodes of one key follow one another in
 * the order of their positions, and `run` has the bounds of i's group in from and to. */
typedef struct {
    run_t (*run)(const shape_t *s, int64_t i, run_t group);
    int64_t (*key)(const shape_t *s, int64_t position); /* NULL: natural order */
    bool grouped;                                       /* receivers are sorted by key as well */
    int64_t index;
} part_t;

/* ---- from parts to a graph ---- */

typedef struct {
    int32_t *lo, *hi, *order; /* order NULL: natural */
    int64_t *starts;          /* (longest + 3) of the keys */
} fill_t;

/* Positions of a segment in a stable order by key: order[from + rank], offset by `first`. */
static void sort_by_key(const part_t *part, const shape_t *s, int64_t from, fill_t *f)
{
    const int64_t n = s->n_src;
    memset(f->starts, 0, sizeof *f->starts * (size_t)(n + 3));
    for (int64_t p = 0; p < n; p++)
        f->starts[part->key(s, p) + 2]++;
    for (int64_t k = 2; k < n + 3; k++)
        f->starts[k] += f->starts[k - 1];
    for (int64_t p = 0; p < n; p++)
        f->order[from + f->starts[part->key(s, p) + 1]++] = (int32_t)(from + p);
}

static void fill_segment(const part_t *part, const shape_t *s, int64_t dst, int64_t src, fill_t *f)
{
    if (part->key)
        sort_by_key(part, s, src, f);
    for (int64_t r = 0; r < s->n_dst; r++) {
        run_t group = {0, s->n_src};
        if (part->grouped) {
            const int64_t key = part->key(s, f->order[src + r] - src);
            group = (run_t){f->starts[key], f->starts[key + 1]};
        }
        run_t run = part->run(s, r, group);
        run.from = gnn__min(gnn__max(run.from, 0), s->n_src);
        run.to = gnn__min(gnn__max(run.to, run.from), s->n_src);
        f->lo[dst + r] = (int32_t)(src + run.from);
        f->hi[dst + r] = (int32_t)(src + run.to);
    }
}

static int fill_part(gnn_graph_t *g, int64_t p, const part_t *part, shape_t s,
                     const int64_t *lengths, int64_t *starts)
{
    gnn__pairs_t *pairs = &g->base.parts[p].pairs;
    fill_t f = {.starts = starts};
    s.index = part->index;
    GNN_TRY(gnn__graph_own(g, &f.lo, g->n_dst, sizeof *f.lo, "spans"));
    GNN_TRY(gnn__graph_own(g, &f.hi, g->n_dst, sizeof *f.hi, "spans"));
    if (part->key)
        GNN_TRY(gnn__graph_own(g, &f.order, g->n_src, sizeof *f.order, "order of senders"));
    for (int64_t k = 0; k < g->n_segments; k++) {
        s.n_dst = g->dst_segments[k + 1] - g->dst_segments[k];
        s.n_src = g->src_segments[k + 1] - g->src_segments[k];
        s.length = lengths[k];
        fill_segment(part, &s, g->dst_segments[k], g->src_segments[k], &f);
    }
    pairs->col_order = f.order;
    if (!part->grouped)
        return gnn__spans_settle(g, pairs, f.lo, f.hi);
    pairs->row_order = f.order;
    gnn__spans_set(pairs, f.lo, f.hi);
    return GNN_OK;
}

/* The lengths of receivers and senders of each segment from those that were given. */
typedef void sizes_t(const shape_t *s, int64_t length, int64_t *dst, int64_t *src);

static void equal_sizes(const shape_t *s, int64_t length, int64_t *dst, int64_t *src)
{
    (void)s;
    *dst = *src = length;
}

static int check_lengths(int64_t segments, const int64_t *lengths)
{
    gnn_graph_t *check = NULL;
    const int rc = gnn__graph_new_segments(&check, segments, lengths, lengths, 0);
    gnn_graph_free(check);
    return rc;
}

static int make_segments(gnn_graph_t **g, const shape_t *s, sizes_t *sizes, int64_t segments,
                         const int64_t *lengths, int64_t n_parts)
{
    int64_t *dst = NULL;
    int rc;
    GNN_TRY(check_lengths(segments, lengths));
    GNN_TRY(gnn__new(&dst, 2 * segments, sizeof *dst, "segment lengths"));
    for (int64_t k = 0; k < segments; k++)
        sizes(s, lengths[k], &dst[k], &dst[segments + k]);
    rc = gnn__graph_new_segments(g, segments, dst, dst + segments, n_parts);
    gnn_free(dst);
    return rc;
}

/* Spans of all parts; `extra` further parts are left to the caller. */
static int make_parts(gnn_graph_t **graph, const shape_t *s, sizes_t *sizes, int64_t segments,
                      const int64_t *lengths, int64_t n_parts, const part_t *parts, int64_t extra)
{
    int64_t longest = 0, *starts = NULL;
    int rc;
    GNN_TRY(make_segments(graph, s, sizes, segments, lengths, n_parts + extra));
    for (int64_t k = 0; k < segments; k++)
        longest = gnn__max(longest, (*graph)->src_segments[k + 1] - (*graph)->src_segments[k]);
    GNN_CHECK(gnn__new(&starts, longest + 3, sizeof *starts, "counts of keys"));
    for (int64_t p = 0; p < n_parts; p++)
        GNN_CHECK(fill_part(*graph, p, &parts[p], *s, lengths, starts));
done:
    gnn_free(starts);
    return rc;
}

static int deliver_parts(gnn_graph_t **graph, const shape_t *s, sizes_t *sizes, int64_t segments,
                         const int64_t *lengths, int64_t n_parts, const part_t *parts)
{
    gnn_graph_t *g = NULL;
    const int rc = make_parts(&g, s, sizes, segments, lengths, n_parts, parts, 0);
    return gnn__graph_deliver(graph, g, rc);
}

#define PARTS(...)                                                          \
    (int64_t)(sizeof((part_t[]){__VA_ARGS__}) / sizeof(part_t)), (part_t[]) \
    {                                                                       \
        __VA_ARGS__                                                         \
    }

/* Reads options into s->option, in their order, and an option `seed` into s->seed. */
typedef struct {
    const char *name;
    int64_t least, most; /* most 0: MOST_OPTION; of a seed, any */
} setting_t;

static int read_settings(gnn_graph_t **graph, const char *topology, const char *text, shape_t *s,
                         const setting_t *settings)
{
    gnn__topology_option_t options[OPTIONS + 1];
    int64_t count = 0;
    for (; settings[count].name; count++) {
        const setting_t *own = &settings[count];
        const bool seed = strcmp(own->name, "seed") == 0;
        options[count] =
            (gnn__topology_option_t){own->name, seed ? &s->seed : &s->option[count], own->least,
                                     own->most || seed ? own->most : MOST_OPTION};
    }
    return gnn__topology_options(graph, topology, text, count, options);
}

#define SETTINGS(...) ((const setting_t[]){__VA_ARGS__, {.name = NULL}})

/* ---- block ---- */

/* Blocks of `size` positions: a node receives from its own, `back` before and `ahead` after it.
 * Blockwise attention (Qiu et al. 2019), local blocks of Image Transformer (Parmar et al. 2018). */

enum { SIZE, BACK, AHEAD, CAUSAL };

static run_t block_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t block = i / s->option[SIZE];
    (void)group;
    if (s->option[CAUSAL])
        return (run_t){(block - s->option[BACK]) * s->option[SIZE], i + 1};
    return (run_t){(block - s->option[BACK]) * s->option[SIZE],
                   (block + s->option[AHEAD] + 1) * s->option[SIZE]};
}

int gnn__topology_block(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                        const char *options)
{
    shape_t s = {.option = {4, 0, 0, 0}};
    GNN_TRY(
        read_settings(graph, "block", options, &s,
                      SETTINGS({"size", 1, 0}, {"back", 0, 0}, {"ahead", 0, 0}, {"causal", 0, 1})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths, PARTS({.run = block_run}));
}

/* ---- strided ---- */

/* The last `stride` positions and every stride-th one before them, or on both sides. Sparse
 * Transformer, Child et al. 2019, figure 3b. */

enum { STRIDE, STRIDED_CAUSAL };

static run_t near_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i - s->option[STRIDE],
                   s->option[STRIDED_CAUSAL] ? i + 1 : i + s->option[STRIDE] + 1};
}

static int64_t residue(const shape_t *s, int64_t position)
{
    return position % s->option[STRIDE];
}

/* Two or more positions of the class earlier, or later: the one next to i is within the window. */
static run_t earlier_run(const shape_t *s, int64_t r, run_t group)
{
    (void)s;
    return (run_t){group.from, gnn__max(group.from, r - 1)};
}

static run_t later_run(const shape_t *s, int64_t r, run_t group)
{
    (void)s;
    return (run_t){gnn__min(group.to, r + 2), group.to};
}

int gnn__topology_strided(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                          const char *options)
{
    shape_t s = {.option = {4, 1}};
    GNN_TRY(
        read_settings(graph, "strided", options, &s, SETTINGS({"stride", 1, 0}, {"causal", 0, 1})));
    const part_t parts[] = {{.run = near_run},
                            {.run = earlier_run, .key = residue, .grouped = true},
                            {.run = later_run, .key = residue, .grouped = true}};
    return deliver_parts(graph, &s, equal_sizes, segments, lengths,
                         s.option[STRIDED_CAUSAL] ? 2 : 3, parts);
}

/* ---- fixed ---- */

/* The earlier positions of the own block, and the last `summaries` positions of each block before
 * it. Sparse Transformer, Child et al. 2019, figure 3c. */

enum { FIXED_SIZE, SUMMARIES };

static run_t own_block_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i / s->option[FIXED_SIZE] * s->option[FIXED_SIZE], i + 1};
}

static int64_t is_no_summary(const shape_t *s, int64_t position)
{
    return position % s->option[FIXED_SIZE] < s->option[FIXED_SIZE] - s->option[SUMMARIES];
}

static run_t summaries_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){0, i / s->option[FIXED_SIZE] *
                          gnn__min(s->option[SUMMARIES], s->option[FIXED_SIZE])};
}

int gnn__topology_fixed(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                        const char *options)
{
    shape_t s = {.option = {4, 1}};
    GNN_TRY(read_settings(graph, "fixed", options, &s, SETTINGS({"size", 1, 0}, {"summaries", 1, 0})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths,
                         PARTS({.run = own_block_run}, {.run = summaries_run, .key = is_no_summary}));
}

/* ---- prefix ---- */

/* Causal, but the first `prefix` positions receive from one another in both directions: prefix
 * language models (Raffel et al. 2019, figure 4). */

static run_t prefix_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){0, gnn__max(i + 1, s->option[0])};
}

int gnn__topology_prefix(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    shape_t s = {.option = {1}};
    GNN_TRY(read_settings(graph, "prefix", options, &s, SETTINGS({"prefix", 0, 0})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths, PARTS({.run = prefix_run}));
}

/* ---- sink ---- */

/* A causal window, and the first `sinks` positions. StreamingLLM, Xiao et al. 2023. */

enum { WIDTH, SINKS };

static run_t last_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i - s->option[WIDTH], i + 1};
}

static run_t sink_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){0, gnn__min(s->option[SINKS], i - s->option[WIDTH])};
}

int gnn__topology_sink(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                       const char *options)
{
    shape_t s = {.option = {4, 1}};
    GNN_TRY(read_settings(graph, "sink", options, &s, SETTINGS({"width", 0, 0}, {"sinks", 0, 0})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths,
                         PARTS({.run = last_run}, {.run = sink_run}));
}

/* ---- pool, unpool ---- */

/* One receiver per `stride` positions, which receives from `size` of them: pooling, compressed
 * memory (Liu et al. 2018), Poolingformer (Zhang et al. 2021). And the reverse: every position
 * receives from the row of its block. */

enum { POOL_SIZE, POOL_STRIDE };

static int64_t stride_of(const shape_t *s)
{
    return s->option[POOL_STRIDE] > 0 ? s->option[POOL_STRIDE] : s->option[POOL_SIZE];
}

static void pooled_sizes(const shape_t *s, int64_t length, int64_t *dst, int64_t *src)
{
    const int64_t stride = stride_of(s);
    *dst = length / stride + (length % stride != 0);
    *src = length;
}

static run_t pool_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i * stride_of(s), i * stride_of(s) + s->option[POOL_SIZE]};
}

int gnn__topology_pool(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                       const char *options)
{
    shape_t s = {.option = {1}};
    GNN_TRY(read_settings(graph, "pool", options, &s, SETTINGS({"size", 1, 0}, {"stride", 0, 0})));
    return deliver_parts(graph, &s, pooled_sizes, segments, lengths, PARTS({.run = pool_run}));
}

static void unpooled_sizes(const shape_t *s, int64_t length, int64_t *dst, int64_t *src)
{
    pooled_sizes(s, length, src, dst);
}

static run_t unpool_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i / s->option[POOL_SIZE], i / s->option[POOL_SIZE] + 1};
}

int gnn__topology_unpool(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    shape_t s = {.option = {1}};
    GNN_TRY(read_settings(graph, "unpool", options, &s, SETTINGS({"size", 1, 0})));
    return deliver_parts(graph, &s, unpooled_sizes, segments, lengths, PARTS({.run = unpool_run}));
}

/* ---- grid ---- */

/* The pixels of a picture of `columns` columns, row by row, each receiving from those up to `width`
 * away in both directions: one part per row above and below. Image Transformer, Parmar et al.
 * 2018; neighbourhood attention, Hassani et al. 2022, without its shift at borders. */

enum { COLUMNS, REACH };

static run_t grid_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t columns = s->option[COLUMNS], reach = s->option[REACH],
                  row = i / columns + s->index, column = i % columns;
    (void)group;
    if (row < 0)
        return (run_t){0, 0};
    return (run_t){row * columns + gnn__max(0, column - reach),
                   row * columns + gnn__min(columns, column + reach + 1)};
}

int gnn__topology_grid(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                       const char *options)
{
    shape_t s = {.option = {4, 1}};
    part_t parts[MOST_PARTS];
    GNN_TRY(read_settings(graph, "grid", options, &s, SETTINGS({"columns", 1, 0}, {"width", 0, 0})));
    const int64_t reach = s.option[REACH];
    if (reach > MOST_PARTS / 2 - 1)
        return gnn__error(GNN_EUNSUPPORTED, "topology grid: width=%lld, expected at most %d",
                          (long long)reach, MOST_PARTS / 2 - 1);
    for (int64_t o = -reach; o <= reach; o++)
        parts[o + reach] = (part_t){.run = grid_run, .index = o};
    return deliver_parts(graph, &s, equal_sizes, segments, lengths, 2 * reach + 1, parts);
}

/* ---- axial ---- */

/* The pixels of the own row, and of the own column. Ho et al. 2019; criss-cross attention, Huang et
 * al. 2019. */

static run_t row_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return (run_t){i / s->option[COLUMNS] * s->option[COLUMNS],
                   (i / s->option[COLUMNS] + 1) * s->option[COLUMNS]};
}

static int64_t column_of(const shape_t *s, int64_t position)
{
    return position % s->option[COLUMNS];
}

static run_t above_run(const shape_t *s, int64_t r, run_t group)
{
    (void)s;
    return (run_t){group.from, r};
}

static run_t below_run(const shape_t *s, int64_t r, run_t group)
{
    (void)s;
    return (run_t){r + 1, group.to};
}

int gnn__topology_axial(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                        const char *options)
{
    shape_t s = {.option = {4}};
    GNN_TRY(read_settings(graph, "axial", options, &s, SETTINGS({"columns", 1, 0})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths,
                         PARTS({.run = row_run}, {.run = above_run, .key = column_of, .grouped = true},
                               {.run = below_run, .key = column_of, .grouped = true}));
}

/* ---- grid_windows ---- */

/* Windows of `size` rows and `across` columns that do not overlap, and begin `shift` rows and
 * columns before the first pixel: Swin, Liu et al. 2021. Windows at the border are smaller, where
 * Swin masks. */

enum { DOWN = 1, ACROSS, SHIFT };

static int64_t band(const shape_t *s, int which, int64_t at)
{
    const int64_t size = s->option[which] > 0 ? s->option[which] : s->option[DOWN];
    return (at + s->option[SHIFT] % size) / size;
}

static int64_t window_of(const shape_t *s, int64_t position)
{
    const int64_t columns = s->option[COLUMNS];
    return band(s, DOWN, position / columns) * (band(s, ACROSS, gnn__min(columns, s->n_src) - 1) + 1) +
           band(s, ACROSS, position % columns);
}

static run_t group_run(const shape_t *s, int64_t r, run_t group)
{
    (void)s;
    (void)r;
    return group;
}

int gnn__topology_grid_windows(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                               const char *options)
{
    shape_t s = {.option = {4, 2}};
    GNN_TRY(read_settings(
        graph, "grid_windows", options, &s,
        SETTINGS({"columns", 1, 0}, {"size", 1, 0}, {"across", 0, 0}, {"shift", 0, 0})));
    return deliver_parts(graph, &s, equal_sizes, segments, lengths,
                         PARTS({.run = group_run, .key = window_of, .grouped = true}));
}

/* ---- tree ---- */

/* A binary tree over the positions, whose nodes follow the leaves level by level: a leaf receives
 * from the `width` leaves on either side and, further out, from `width` nodes on either side of
 * each level; a node receives from the leaves under it. BP-Transformer, Ye et al. 2019. Memory
 * O(n levels), pairs O(n width log n). */

enum { TREE_WIDTH, LEVELS, MOST_LEVELS = 31 };

/* Count of the nodes of a level, 0: of the leaves, and of all levels before it. */
static int64_t level_size(const shape_t *s, int64_t length, int64_t level, int64_t *before)
{
    int64_t size = length;
    *before = 0;
    for (int64_t k = 0; k < level; k++) {
        *before += size;
        if (size <= 1 || k >= s->option[LEVELS])
            return 0;
        size = size / 2 + size % 2;
    }
    return size;
}

static void tree_sizes(const shape_t *s, int64_t length, int64_t *dst, int64_t *src)
{
    int64_t nodes = 0, before;
    for (int64_t level = 0, size = length; size > 0; level++) {
        size = level_size(s, length, level, &before);
        nodes += size;
    }
    *dst = *src = nodes;
}

/* The run of leaf i at a level: index 2 level is the left side, 2 level + 1 the right one; at level
 * 0 the left one has both, and i. */
static run_t tree_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t width = s->option[TREE_WIDTH], leaves = s->length, level = s->index / 2;
    int64_t left = i - 1, right = i + 1, before;
    (void)group;
    if (i >= leaves)
        return (run_t){0, 0};
    if (level == 0)
        return (run_t){i - width, gnn__min(leaves, i + width + 1)};
    for (int64_t k = 0; k < level; k++) {
        left = (left - width) < 0 ? -1 : (left - width) >> 1;
        right = (right + width) >> 1;
    }
    const int64_t size = level_size(s, leaves, level, &before);
    if (s->index % 2 == 0)
        return (run_t){before + gnn__max(0, left - width + 1), before + gnn__min(size, left + 1)};
    return (run_t){before + right, before + gnn__min(size, right + width)};
}

/* The leaves under node i of a level. */
static run_t leaves_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t leaves = s->length;
    int64_t before;
    (void)group;
    const int64_t size = level_size(s, leaves, s->index, &before), at = i - before;
    if (at < 0 || at >= size)
        return (run_t){0, 0};
    return (run_t){at << s->index, gnn__min(leaves, (at + 1) << s->index)};
}

int gnn__topology_tree(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                       const char *options)
{
    shape_t s = {.option = {1, MOST_LEVELS}};
    part_t parts[1 + 3 * MOST_LEVELS];
    int64_t longest = 0, n_parts = 0;
    GNN_TRY(read_settings(graph, "tree", options, &s, SETTINGS({"width", 1, 0}, {"levels", 0, 0})));
    GNN_TRY(check_lengths(segments, lengths));
    for (int64_t k = 0; k < segments; k++)
        longest = gnn__max(longest, lengths[k]);
    parts[n_parts++] = (part_t){.run = tree_run};
    for (int64_t level = 1; level <= gnn__min(s.option[LEVELS], MOST_LEVELS) && longest > 1; level++) {
        parts[n_parts++] = (part_t){.run = tree_run, .index = 2 * level};
        parts[n_parts++] = (part_t){.run = tree_run, .index = 2 * level + 1};
        parts[n_parts++] = (part_t){.run = leaves_run, .index = level};
        longest = longest / 2 + longest % 2;
    }
    return deliver_parts(graph, &s, tree_sizes, segments, lengths, n_parts, parts);
}

/* ---- random, bigbird ---- */

/* `senders` random nodes of the segment and the node itself; and in blocks of `size`: a window of
 * blocks, `globals` blocks at either end that receive from all and send to all, and `random` blocks
 * that a block draws among the others. Drawn ones are stored as edges. BigBird, Zaheer et al. 2020;
 * Exphormer's expander, Shirzad et al. 2023. */

enum { BLOCK, BLOCK_WINDOW, GLOBALS, RANDOM };

static int64_t count_blocks(const shape_t *s)
{
    return s->n_src / s->option[BLOCK] + (s->n_src % s->option[BLOCK] != 0);
}

static bool is_global(const shape_t *s, int64_t block)
{
    return block < s->option[GLOBALS] || block >= count_blocks(s) - s->option[GLOBALS];
}

static run_t blocks_run(const shape_t *s, int64_t from, int64_t to)
{
    return (run_t){from * s->option[BLOCK], gnn__max(from, to) * s->option[BLOCK]};
}

static run_t whole_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return is_global(s, i / s->option[BLOCK]) ? (run_t){0, s->n_src} : (run_t){0, 0};
}

static run_t first_run(const shape_t *s, int64_t i, run_t group)
{
    (void)group;
    return is_global(s, i / s->option[BLOCK]) ? (run_t){0, 0} : blocks_run(s, 0, s->option[GLOBALS]);
}

static run_t end_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t blocks = count_blocks(s);
    (void)group;
    return is_global(s, i / s->option[BLOCK]) ? (run_t){0, 0}
                                              : blocks_run(s, blocks - s->option[GLOBALS], blocks);
}

/* The window of a block among those that are not global. */
static run_t window_blocks(const shape_t *s, int64_t block)
{
    const int64_t blocks = count_blocks(s), globals = s->option[GLOBALS],
                  window = s->option[BLOCK_WINDOW];
    return (run_t){gnn__max(globals, block - window), gnn__min(blocks - globals, block + window + 1)};
}

static run_t near_blocks_run(const shape_t *s, int64_t i, run_t group)
{
    const int64_t block = i / s->option[BLOCK];
    const run_t window = window_blocks(s, block);
    (void)group;
    return is_global(s, block) ? (run_t){0, 0} : blocks_run(s, window.from, window.to);
}

/* Count of blocks that a block draws, and the blocks, rising: Floyd's sample of those that are
 * neither global nor in its window. */
static int64_t drawn_blocks(const shape_t *s, int64_t segment, int64_t block, int64_t *drawn)
{
    const run_t window = window_blocks(s, block);
    const int64_t others = count_blocks(s) - 2 * s->option[GLOBALS] - (window.to - window.from),
                  count = is_global(s, block) ? 0 : gnn__max(0, gnn__min(s->option[RANDOM], others));
    const uint64_t stream = (uint64_t)segment << 32 | (uint64_t)block;
    for (int64_t k = 0; k < count; k++) {
        const int64_t last = others - count + k;
        int64_t one = (int64_t)(gnn__uniform((uint64_t)s->seed, stream, (uint64_t)k) *
                                (double)(last + 1)),
                at = 0;
        for (int64_t j = 0; j < k; j++)
            one = drawn[j] == one ? last : one;
        for (at = k; at > 0 && drawn[at - 1] > one; at--)
            drawn[at] = drawn[at - 1];
        drawn[at] = one;
    }
    for (int64_t k = 0; k < count; k++) { /* from indices among the others to blocks */
        drawn[k] += s->option[GLOBALS];
        drawn[k] += drawn[k] >= window.from ? window.to - window.from : 0;
    }
    return count;
}

/* Calls of `drawn_blocks` for every receiver: counts its senders, or writes them. */
static void draw_segment(const shape_t *s, int64_t segment, int64_t first, int64_t *drawn,
                         int64_t *indptr, int32_t *indices)
{
    const int64_t size = s->option[BLOCK];
    for (int64_t i = 0, count = 0; i < s->n_src; i++) {
        if (i % size == 0)
            count = drawn_blocks(s, segment, i / size, drawn);
        int64_t at = indices ? indptr[first + i] : 0;
        for (int64_t k = 0; k < count; k++)
            for (int64_t j = drawn[k] * size; j < gnn__min(s->n_src, (drawn[k] + 1) * size); j++, at++)
                if (indices)
                    indices[at] = (int32_t)(first + j);
        if (!indices)
            indptr[first + i + 1] = at;
    }
}

/* The part of drawn blocks, stored as edges. */
static int draw_part(gnn_graph_t *g, shape_t s, gnn__pairs_t *pairs)
{
    int64_t *indptr = NULL, *drawn = NULL;
    int32_t *indices = NULL;
    int rc;
    GNN_TRY(gnn__graph_own(g, &indptr, g->n_dst + 1, sizeof *indptr, "offsets of edges"));
    GNN_CHECK(gnn__new(&drawn, gnn__min(s.option[RANDOM], g->n_src) + 1, sizeof *drawn, "blocks"));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < g->n_segments; k++) {
            s.n_dst = s.n_src = g->src_segments[k + 1] - g->src_segments[k];
            draw_segment(&s, k, g->src_segments[k], drawn, indptr, indices);
        }
        for (int64_t i = 0; pass == 0 && i < g->n_dst; i++)
            indptr[i + 1] += indptr[i];
        if (pass == 0)
            GNN_CHECK(gnn__graph_own(g, &indices, indptr[g->n_dst], sizeof *indices, "edges"));
    }
    pairs->indptr = indptr;
    pairs->indices = indices;
    pairs->count = indptr[g->n_dst];
done:
    gnn_free(drawn);
    return rc;
}

static int draw_pattern(gnn_graph_t **graph, shape_t s, int64_t segments, const int64_t *lengths,
                        int64_t n_parts, const part_t *parts)
{
    gnn_graph_t *g = NULL;
    int rc;
    GNN_CHECK(make_parts(&g, &s, equal_sizes, segments, lengths, n_parts, parts, 1));
    GNN_CHECK(draw_part(g, s, &g->base.parts[n_parts].pairs));
    g->n_edges = g->base.parts[n_parts].pairs.count;
done:
    return gnn__graph_deliver(graph, g, rc);
}

int gnn__topology_random(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                         const char *options)
{
    shape_t read = {.option = {1}, .seed = 1};
    GNN_TRY(read_settings(graph, "random", options, &read,
                          SETTINGS({"senders", 0, 0}, {"seed", 0, 0})));
    const shape_t s = {.option = {[BLOCK] = 1, [RANDOM] = read.option[0]}, .seed = read.seed};
    return draw_pattern(graph, s, segments, lengths, PARTS({.run = near_blocks_run}));
}

int gnn__topology_bigbird(gnn_graph_t **graph, int64_t segments, const int64_t *lengths,
                          const char *options)
{
    shape_t s = {.option = {1, 1, 1, 1}, .seed = 1};
    GNN_TRY(read_settings(graph, "bigbird", options, &s,
                          SETTINGS({"size", 1, 0}, {"window", 0, 0}, {"globals", 0, 0},
                                   {"random", 0, 0}, {"seed", 0, 0})));
    return draw_pattern(
        graph, s, segments, lengths,
        PARTS({.run = whole_run}, {.run = near_blocks_run}, {.run = first_run}, {.run = end_run}));
}
