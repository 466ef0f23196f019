/* The contract of the library: every message x aggregator x topology gives the same result in every
 * storage that supports its inputs, forward and backward, with dropout, and matches the oracle. */
#include "contract.h"

/* ---- the full product at small sizes ---- */

typedef struct heads {
    int64_t heads, kv_heads, d_k; /* d_k 0: as d_v */
} heads_t;

static const heads_t head_variants[] = {{2, 2, 0}, {1, 1, 5}, {4, 4, 0}, {4, 2, 2}, {2, 1, 0}};

static void set_heads(contract_case_t *c, heads_t h)
{
    c->heads = h.heads;
    c->kv_heads = h.kv_heads;
    c->d_k = h.d_k ? h.d_k : c->d_v;
}

/* The topology as it is and as edges, with what both can hold; then the edges with edge inputs. */
static void check_forms(contract_case_t c)
{
    contract_draw_switches(&c, false);
    gnn_graph_t *edges = contract_edges_of(c.graph);
    contract_case_t e = c;
    e.graph = edges;
    contract_run_t *one = contract_run(&c), *other = contract_run(&e);
    contract_compare_runs(one, other);
    contract_run_free(one);
    contract_run_free(other);
    e.seed ^= 0x65646765u;
    contract_draw_switches(&e, true);
    contract_check(&e);
    gnn_graph_free(edges);
}

static void check_rows(size_t kind, int64_t n, int64_t width, uint64_t seed)
{
    gnn_graph_t *g = contract_graph(kind, n, seed);
    for (size_t m = 0; m < message_count(); m++)
        for (size_t a = 0; a < combination_count(); a++) {
            contract_case_t c =
                contract_case(m, a, g, contract_graph_name(kind), seed + 64 * m + 1024 * a);
            size_t variants = !contract_scored(&c) || test_small()
                                  ? 1
                                  : sizeof head_variants / sizeof *head_variants;
            for (size_t h = 0; h < variants; h++) {
                c.d_v = width;
                if (contract_scored(&c))
                    set_heads(&c, head_variants[(h + (test_small() ? m + a : 0)) % 5]);
                c.seed++;
                check_forms(c);
            }
        }
    gnn_graph_free(g);
}

START_TEST(every_entry_on_every_topology)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17}, widths[] = {1, 3, 8};
    size_t kind = (size_t)_i;
    contract_open(1);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            if (!test_small() || (n + w + kind) % 3 == 0)
                check_rows(kind, test_small() && sizes[n] > 2 ? sizes[n] / 2 : sizes[n], widths[w],
                           test_seed() + 1000000 * kind + 100000 * n + 10000 * w);
    contract_close();
    contract_assert(contract_graph_name(kind));
}
END_TEST

/* ---- larger ones: every pair of levels of any two factors ---- */

enum {
    FACTOR_MESSAGE,
    FACTOR_AGGREGATOR,
    FACTOR_GRAPH,
    FACTOR_SIZE,
    FACTOR_WIDTH,
    FACTOR_HEADS,
    FACTORS
};
enum { LEVELS = 24 };

static const int64_t large_sizes[] = {63, 64, 65, 127, 128, 129, 257};
static const int64_t large_widths[] = {1, 3, 6, 8, 64};

typedef struct plan {
    int64_t levels[FACTORS];
    bool covered[FACTORS][LEVELS][FACTORS][LEVELS];
} plan_t;

static int64_t newly_covered(plan_t *plan, const int64_t at[FACTORS], bool mark)
{
    int64_t fresh = 0;
    for (int f = 0; f < FACTORS; f++)
        for (int g = f + 1; g < FACTORS; g++) {
            bool *covered = &plan->covered[f][at[f]][g][at[g]];
            fresh += !*covered;
            *covered = *covered || mark;
        }
    return fresh;
}

/* The best of a few random settings; 0 if none covers a new pair. */
static int64_t next_setting(plan_t *plan, draw_t *d, int64_t best[FACTORS])
{
    int64_t most = 0;
    for (int candidate = 0; candidate < 200; candidate++) {
        int64_t at[FACTORS];
        for (int f = 0; f < FACTORS; f++)
            at[f] = draw_below(d, plan->levels[f]);
        int64_t fresh = newly_covered(plan, at, false);
        if (fresh > most) {
            most = fresh;
            memcpy(best, at, sizeof at);
        }
    }
    if (most > 0)
        newly_covered(plan, best, true);
    return most;
}

static void check_setting(const int64_t at[FACTORS], uint64_t seed)
{
    size_t kind = (size_t)at[FACTOR_GRAPH];
    gnn_graph_t *g = contract_graph(kind, large_sizes[at[FACTOR_SIZE]], seed);
    contract_case_t c = contract_case((size_t)at[FACTOR_MESSAGE], (size_t)at[FACTOR_AGGREGATOR], g,
                                      contract_graph_name(kind), seed);
    c.d_v = large_widths[at[FACTOR_WIDTH]];
    if (contract_scored(&c))
        set_heads(&c, head_variants[at[FACTOR_HEADS]]);
    check_forms(c);
    gnn_graph_free(g);
}

START_TEST(larger_sizes_drawn_pairwise)
{
    static plan_t plan;
    draw_t d = draw_from(test_seed());
    int64_t best[FACTORS];
    uint64_t seed = test_seed();
    contract_open(2);
    for (int round = 0; round < (test_small() ? 1 : 3); round++) {
        plan = (plan_t){.levels = {(int64_t)message_count(), (int64_t)combination_count(),
                                   (int64_t)contract_graph_count(), 7, 5, 5}};
        for (int f = 0; f < FACTORS; f++)
            ck_assert_int_le(plan.levels[f], LEVELS);
        for (int k = 0; next_setting(&plan, &d, best) > 0 && !(test_small() && k == 6); k++)
            check_setting(best, seed += 7919);
    }
    contract_close();
    contract_assert("larger sizes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contract");
    TCase *product = tcase_create("product");
    tcase_set_timeout(product, 1200);
    tcase_add_loop_test(product, every_entry_on_every_topology, 0, (int)contract_graph_count());
    tcase_add_test(product, larger_sizes_drawn_pairwise);
    suite_add_tcase(suite, contract_numeric_tests());
    suite_add_tcase(suite, contract_named_tests());
    suite_add_tcase(suite, contract_invariance_tests());
    suite_add_tcase(suite, contract_kernel_tests());
    suite_add_tcase(suite, contract_prior_tests());
    suite_add_tcase(suite, contract_map_tests());
    suite_add_tcase(suite, contract_own_tests());
    suite_add_tcase(suite, product);
    return test_main(suite);
}
