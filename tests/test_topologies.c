/* Topologies of sparse attention: every pattern against its definition, pair by pair, with spans
 * whose memory is linear; drawn ones by their counts; graphs of a model's slots by name. */
#include "graph_zoo.h"

#include <gnn/model.h>
#include <graphs/graph.h>

typedef struct {
    int64_t i, j, n; /* positions in a segment of n */
} pair_t;

static int64_t far(pair_t p)
{
    return p.i > p.j ? p.i - p.j : p.j - p.i;
}

static bool block_of_3(pair_t p)
{
    return p.j / 3 <= p.i / 3 + 2 && p.j / 3 >= p.i / 3 - 1;
}

static bool causal_block_of_3(pair_t p)
{
    return p.j <= p.i && p.j / 3 >= p.i / 3 - 1;
}

static bool strided_by_3(pair_t p)
{
    return p.j <= p.i && (far(p) <= 3 || far(p) % 3 == 0);
}

static bool strided_both(pair_t p)
{
    return far(p) <= 3 || far(p) % 3 == 0;
}

static bool fixed_of_4(pair_t p)
{
    return p.j <= p.i && (p.j / 4 == p.i / 4 || p.j % 4 >= 2);
}

static bool prefix_of_3(pair_t p)
{
    return p.j <= p.i || (p.i < 3 && p.j < 3);
}

static bool sink_of_2(pair_t p)
{
    return p.j <= p.i && (far(p) <= 2 || p.j < 2);
}

static bool pool_of_3(pair_t p)
{
    return p.j >= 2 * p.i && p.j < 2 * p.i + 3;
}

static bool unpool_of_3(pair_t p)
{
    return p.j == p.i / 3;
}

static bool grid_of_4(pair_t p)
{
    return llabs(p.i / 4 - p.j / 4) <= 1 && llabs(p.i % 4 - p.j % 4) <= 1;
}

static bool axial_of_4(pair_t p)
{
    return p.i / 4 == p.j / 4 || p.i % 4 == p.j % 4;
}

static bool windows_of_2(pair_t p)
{
    return p.i / 4 / 2 == p.j / 4 / 2 && p.i % 4 / 2 == p.j % 4 / 2;
}

static int64_t shifted(int64_t at)
{
    return (at + 1) / 2;
}

static bool shifted_windows(pair_t p)
{
    return shifted(p.i / 4) == shifted(p.j / 4) && shifted(p.i % 4) == shifted(p.j % 4);
}

/* The node of a tree over n leaves: its level and its index in it. */
static int64_t level_of(int64_t node, int64_t n, int64_t *index)
{
    int64_t level = 0;
    for (; node >= n; level++) {
        node -= n;
        n = (n + 1) / 2;
    }
    *index = node;
    return level;
}

static int64_t floor_half(int64_t x)
{
    return x >= 0 ? x / 2 : -((1 - x) / 2);
}

static bool tree_of_2(pair_t p)
{
    int64_t i, j, n = p.n, left, right;
    const int64_t at = level_of(p.i, n, &i), to = level_of(p.j, n, &j);
    if (at > 0)
        return to == 0 && j >> at == i;
    if (to == 0)
        return llabs(i - j) <= 2;
    left = i - 1, right = i + 1;
    for (int64_t k = 0; k < to; k++)
        left = floor_half(left - 2), right = floor_half(right + 2);
    return (j > left - 2 && j <= left) || (j >= right && j < right + 2);
}

static bool wide_windows(pair_t p)
{
    return p.i / 4 == p.j / 4 && (p.i % 4 + 2) / 3 == (p.j % 4 + 2) / 3;
}

static const struct {
    const char *name, *options;
    bool (*reads)(pair_t p);
} patterns[] = {
    {"block", "size=3,back=1,ahead=2", block_of_3},
    {"block", "size=3,back=1,causal=1", causal_block_of_3},
    {"strided", "stride=3", strided_by_3},
    {"strided", "stride=3,causal=0", strided_both},
    {"fixed", "summaries=2", fixed_of_4},
    {"prefix", "prefix=3", prefix_of_3},
    {"sink", "width=2,sinks=2", sink_of_2},
    {"pool", "size=3,stride=2", pool_of_3},
    {"unpool", "size=3", unpool_of_3},
    {"grid", NULL, grid_of_4},
    {"axial", NULL, axial_of_4},
    {"grid_windows", NULL, windows_of_2},
    {"grid_windows", "shift=1", shifted_windows},
    {"grid_windows", "size=1,across=3,shift=2", wide_windows},
    {"tree", "width=2", tree_of_2},
};

/* Segments of the receivers and senders of a node. */
static void check_pair(const gnn_graph_t *g, const int64_t *lengths, int64_t i, int64_t j, int k,
                       int found)
{
    const int64_t s = gnn__graph_dst_segment(g, i);
    const pair_t p = {i - g->dst_segments[s], j - g->src_segments[s], lengths[s]};
    const bool expected = s == gnn__graph_src_segment(g, j) && patterns[k].reads(p);
    ck_assert_msg(found == expected, "%s: row %lld reads %lld %d times, expected %d",
                  patterns[k].name, (long long)i, (long long)j, found, expected);
}

START_TEST(patterns_are_their_definitions)
{
    const int64_t lengths[] = {21, 0, 1, 6, 2};
    gnn_graph_t *g;
    ck_ok(gnn_graph_topology(&g, patterns[_i].name, 5, lengths, patterns[_i].options));
    ck_ok(gnn__graph_validate(g));
    ck_assert_int_eq(gnn_graph_n_edges(g), 0);
    int *count = table(g);
    for (int64_t i = 0; i < g->n_dst; i++)
        for (int64_t j = 0; j < g->n_src; j++)
            check_pair(g, lengths, i, j, _i, count[i * g->n_src + j]);
    free(count);
    gnn_graph_free(g);
}
END_TEST

/* Settings far beyond the length are as good as none, whatever they multiply to. */
START_TEST(largest_settings_do_not_overflow)
{
    static const struct {
        const char *name, *options;
        int64_t pairs;
    } large[] = {{"block", "size=1073741824,back=1073741824,ahead=1073741824", 36},
                 {"strided", "stride=1073741824", 21},
                 {"fixed", "size=1073741824,summaries=1073741824", 21},
                 {"prefix", "prefix=1073741824", 36},
                 {"sink", "width=1073741824,sinks=1073741824", 21},
                 {"pool", "size=1073741824,stride=1073741824", 6},
                 {"unpool", "size=1073741824", 6},
                 {"axial", "columns=1073741824", 36},
                 {"grid", "columns=1073741824", 16},
                 {"grid_windows", "columns=1073741824,size=1073741824", 36},
                 {"bigbird", "size=1073741824,random=1073741824", 36},
                 {"random", "senders=1073741824", 36}};
    const int64_t n = 6;
    for (size_t k = 0; k < sizeof large / sizeof *large; k++) {
        gnn_graph_t *g;
        ck_ok(gnn_graph_topology(&g, large[k].name, 1, &n, large[k].options));
        ck_ok(gnn__graph_validate(g));
        ck_assert_msg(gnn_graph_n_pairs(g) == large[k].pairs, "%s: %lld pairs, expected %lld",
                      large[k].name, (long long)gnn_graph_n_pairs(g), (long long)large[k].pairs);
        gnn_graph_free(g);
    }
}
END_TEST

/* A setting that would count as another one is refused with the values that are possible. */
START_TEST(settings_out_of_range_are_refused)
{
    static const struct {
        const char *name, *options, *words;
    } wrong[] = {
        {"block", "size=1073741825",
         "\"size=1073741825\" of topology block: expected size=integer, 1 to 1073741824"},
        {"random", "senders=999999999999999999", "expected senders=integer, 0 to 1073741824"},
        {"block", "causal=2", "expected causal=integer, 0 to 1"},
        {"strided", "causal=7", "expected causal=integer, 0 to 1"},
        {"window", "causal=2", "expected causal=integer, 0 to 1"},
        {"window", "width=1000000000000000000", "expected width=integer, 0 to 999999999999999999"},
        {"window", "width=1,width=2", "topology window: option width is given twice"},
        {"bigbird", "seed=1,window=2,seed=1", "option seed is given twice"}};
    const int64_t n = 6;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        gnn_graph_t *g = (gnn_graph_t *)1;
        ck_fails(gnn_graph_topology(&g, wrong[k].name, 1, &n, wrong[k].options), GNN_EINVALID,
                 wrong[k].words);
        ck_assert_ptr_null(g);
    }
}
END_TEST

/* Itself and three others of the segment, other ones with another seed; all of a short one. */
START_TEST(random_senders_are_distinct_and_seeded)
{
    const int64_t lengths[] = {20, 3};
    gnn_graph_t *g, *same, *other;
    ck_ok(gnn_graph_topology(&g, "random", 2, lengths, "senders=3"));
    ck_ok(gnn_graph_topology(&same, "random", 2, lengths, "senders=3,seed=1"));
    ck_ok(gnn_graph_topology(&other, "random", 2, lengths, "senders=3,seed=2"));
    ck_ok(gnn__graph_validate(g));
    int *count = table(g), *counts = table(same), *others = table(other), apart = 0;
    for (int64_t i = 0; i < 23; i++) {
        int degree = 0;
        for (int64_t j = 0; j < 23; j++) {
            ck_assert(count[i * 23 + j] <= 1 && (count[i * 23 + j] == 0 || (i < 20) == (j < 20)));
            degree += count[i * 23 + j];
        }
        ck_assert_int_eq(degree, i < 20 ? 4 : 3);
        ck_assert_int_eq(count[i * 23 + i], 1);
    }
    ck_assert_mem_eq(count, counts, sizeof *count * 23 * 23);
    for (int k = 0; k < 23 * 23; k++)
        apart += count[k] != others[k];
    ck_assert_int_gt(apart, 20);
    free(count), free(counts), free(others);
    gnn_graph_free(g), gnn_graph_free(same), gnn_graph_free(other);
}
END_TEST

/* Blocks of two: the first and the last read all and are read by all; others read their window, and
 * two blocks that they draw, which the rows of a block share. */
START_TEST(bigbird_is_its_definition)
{
    enum { N = 24 };
    const int64_t n = N;
    gnn_graph_t *g;
    ck_ok(gnn_graph_topology(&g, "bigbird", 1, &n, "size=2,random=2"));
    ck_ok(gnn__graph_validate(g));
    int *count = table(g);
    for (int64_t i = 0; i < N; i++) {
        int drawn = 0;
        for (int64_t j = 0; j < N; j++) {
            const int64_t a = i / 2, b = j / 2;
            const bool always =
                a == 0 || a == N / 2 - 1 || b == 0 || b == N / 2 - 1 || llabs(a - b) <= 1;
            ck_assert(always ? count[i * N + j] == 1 : count[i * N + j] <= 1);
            ck_assert_int_eq(count[i * N + j], count[a * 2 * N + b * 2]);
            drawn += !always && count[i * N + j];
        }
        ck_assert_int_eq(drawn, i / 2 == 0 || i / 2 == N / 2 - 1 ? 0 : 4);
    }
    free(count);
    gnn_graph_free(g);
}
END_TEST

START_TEST(unknown_patterns_and_options_are_refused)
{
    const int64_t n = 6;
    gnn_graph_t *g = (gnn_graph_t *)&g;
    ck_fails(gnn_graph_topology(&g, "strides", 1, &n, NULL), GNN_ENOTFOUND, "strided");
    ck_assert_ptr_null(g);
    ck_fails(gnn_graph_topology(&g, "strided", 1, &n, "stride=0"), GNN_EINVALID, "1 to 1073741824");
    ck_fails(gnn_graph_topology(&g, "bigbird", 1, &n, "seeds=0"), GNN_EINVALID,
             "it has size, window, globals, random, seed");
    ck_fails(gnn_graph_topology(&g, "grid", 1, &n, "width=100"), GNN_EUNSUPPORTED, "at most");
    ck_fails(gnn_graph_topology(&g, "tree", 1, NULL, NULL), GNN_EINVALID, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topologies");
    TCase *c = tcase_create("topologies");
    tcase_add_loop_test(c, patterns_are_their_definitions, 0, sizeof patterns / sizeof *patterns);
    tcase_add_test(c, largest_settings_do_not_overflow);
    tcase_add_test(c, settings_out_of_range_are_refused);
    tcase_add_test(c, random_senders_are_distinct_and_seeded);
    tcase_add_test(c, bigbird_is_its_definition);
    tcase_add_test(c, unknown_patterns_and_options_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
