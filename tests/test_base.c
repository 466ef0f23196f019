/* The foundation: Philox against the published vectors, checked sizes, arenas, failing allocations,
 * contexts, errors per thread. */
#include "support.h"

#include <lib/base/room.h>

#include <omp.h>
#include <pthread.h>

START_TEST(philox_known_answers)
{
    /* Random123's kat_vectors, philox4x32 with 10 and with 7 rounds */
    static const uint32_t rows[6][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
        {0, 0, 0, 0, 0, 0, 0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x5207ddc2,
         0x45165e59, 0x4d8ee751, 0x8c52f662},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0x4dfccaba,
         0x190a87f0, 0xc47362ba, 0xb6b5242a},
    };
    for (int k = 0; k < 6; k++) {
        uint32_t out[4];
        gnn__philox(rows[k], rows[k] + 4, k < 3 ? GNN__PHILOX_ROUNDS : GNN__DROPOUT_ROUNDS, out);
        ck_assert_mem_eq(out, rows[k] + 6, sizeof out);
    }
}
END_TEST

START_TEST(draws_have_the_right_moments)
{
    double mean = 0, square = 0, uniform = 0;
    enum { N = 20000 };
    for (uint64_t k = 0; k < N; k++) {
        double z = gnn__normal(7, 3, k), u = gnn__uniform(7, 4, k);
        ck_assert(u >= 0 && u < 1);
        mean += z / N;
        square += z * z / N;
        uniform += u / N;
    }
    ck_assert_double_eq_tol(mean, 0, 0.03);
    ck_assert_double_eq_tol(square, 1, 0.05);
    ck_assert_double_eq_tol(uniform, 0.5, 0.01);
}
END_TEST

START_TEST(dropout_keeps_the_rounded_rate)
{
    gnn__dropout_t d = gnn__dropout((gnn_rng_t){1, 2, 3, 0}, (gnn_real_t)0.6);
    int64_t kept = 0, total = 0;
    ck_assert_double_eq_tol((double)d.scale * d.threshold, 65536, 0.01);
    for (uint32_t a = 0; a < 200; a++)
        for (uint32_t b = 0; b < 50; b++) {
            gnn_real_t keep[8];
            gnn__dropout_draw(&d, a, b, 0, keep);
            for (int k = 0; k < 8; k++, total++) {
                ck_assert(keep[k] == 0 || keep[k] == d.scale);
                kept += keep[k] != 0;
            }
        }
    ck_assert_double_eq_tol((double)kept / (double)total, 0.4, 0.01);
    ck_assert_uint_eq(gnn__dropout((gnn_rng_t){1, 2, 3, 0}, 0).threshold, 65536);
}
END_TEST

START_TEST(sizes_that_wrap_are_refused)
{
    int64_t out = -7;
    size_t bytes;
    ck_assert(!gnn__mul(INT64_MAX, 2, &out) && !gnn__mul(-1, 2, &out) &&
              !gnn__add(INT64_MAX, 1, &out) && !gnn__pad(INT64_MAX, 64, &out));
    ck_assert(gnn__mul(1LL << 31, 1LL << 31, &out) && out == 1LL << 62);
    ck_assert(gnn__mul(0, INT64_MAX, &out) && out == 0);
    ck_assert(gnn__pad(65, 64, &out) && out == 128);
    ck_fails(gnn__bytes(1LL << 62, 4, "a table", &bytes), GNN_EOVERFLOW,
             "a table: the size of 4611686018427387904 elements of 4 bytes");
    void *memory = NULL;
    ck_fails(gnn__new(&memory, -1, 8, "minus one"), GNN_EOVERFLOW, "minus one");
    ck_assert_ptr_null(memory);
}
END_TEST

START_TEST(memory_is_aligned_zeroed_and_grows)
{
    int *a = NULL;
    ck_ok(gnn__new(&a, 100, sizeof *a, "a"));
    ck_assert_uint_eq((uintptr_t)a % 64, 0);
    for (int k = 0; k < 100; k++) {
        ck_assert_int_eq(a[k], 0);
        a[k] = k;
    }
    ck_ok(gnn__grow(&a, 100, 1000, sizeof *a, "a"));
    ck_assert(a[99] == 99 && a[100] == 0 && a[999] == 0);
    gnn__fail_allocation(1);
    int *before = a;
    ck_fails(gnn__grow(&a, 1000, 2000, sizeof *a, "a"), GNN_EMEMORY, "a: no memory for 8000 bytes");
    gnn__fail_allocation(0);
    ck_assert_ptr_eq(a, before);
    gnn_free(a);
}
END_TEST

START_TEST(arenas_hand_out_aligned_memory_once)
{
    gnn__arena_t arena = {0};
    ck_ok(gnn__arena_reserve(&arena, 1000, "arena"));
    char *a = gnn__arena_take(&arena, 10), *b = gnn__arena_take(&arena, 100);
    ck_assert(a && b && (uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && b >= a + 64);
    memset(b, 1, 100);
    ck_assert_ptr_null(gnn__arena_take(&arena, 1000));
    size_t capacity = arena.capacity;
    ck_ok(gnn__arena_reserve(&arena, 500, "arena"));
    ck_assert(arena.capacity == capacity && arena.used == 0);
    gnn__arena_free(&arena);
}
END_TEST

static int taken, given;
static void *counting_allocate(void *user, size_t alignment, size_t bytes)
{
    taken += *(int *)user;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void counting_release(void *user, void *memory, size_t bytes)
{
    (void)bytes;
    given += *(int *)user;
    free(memory);
}

START_TEST(a_context_uses_its_allocator)
{
    int one = 1;
    gnn_context_t *context;
    taken = given = 0;
    ck_ok(gnn_context_new(
        &context, &(gnn_context_config_t){
                      .threads = 2, .allocator = {counting_allocate, counting_release, &one}}));
    ck_ok(gnn__arena_reserve(&context->scratch, 100, "scratch"));
    gnn_context_free(context);
    ck_assert(taken == 1 && given == 1);
    ck_fails(gnn_context_new(&context, &(gnn_context_config_t){.threads = -1}), GNN_EINVALID,
             "threads: expected 0 to 1024, got -1");
    ck_fails(gnn_context_new(&context,
                             &(gnn_context_config_t){.allocator = {.allocate = counting_allocate}}),
             GNN_EINVALID, "both allocate and release");
    ck_fails(gnn_context_new(&context, &(gnn_context_config_t){.deterministic = (gnn_flag_t)3}),
             GNN_EINVALID, "deterministic = 3 is not a flag");
}
END_TEST

START_TEST(an_environment_variable_outside_its_range_is_refused)
{
    static const struct {
        const char *name, *value, *words;
    } cases[] = {{"GNN_ISA", "V3", "GNN_ISA: expected "},
                 {"GNN_ISA", "avx2", "amx, got \"avx2\""},
                 {"GNN_GRAIN", "2k", "integer from 1, got \"2k\""},
                 {"GNN_GRAIN", "0", "integer from 1, got \"0\""},
                 {"GNN_PROFILE", "off", "expected 0 or 1, got \"off\""}};
    gnn_context_t *context;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *before = getenv(cases[k].name);
        char *kept = before ? strdup(before) : NULL;
        ck_assert_int_eq(setenv(cases[k].name, cases[k].value, 1), 0);
        ck_fails(gnn_context_new(&context, NULL), GNN_EINVALID, cases[k].words);
        setenv(cases[k].name, "", 1);
        ck_ok(gnn_context_new(&context, NULL));
        gnn_context_free(context);
        if (kept)
            setenv(cases[k].name, kept, 1);
        else
            unsetenv(cases[k].name);
        free(kept);
    }
}
END_TEST

static void *other_thread(void *unused)
{
    (void)unused;
    gnn__set_message("theirs");
    return NULL;
}

START_TEST(messages_are_per_thread)
{
    pthread_t thread;
    gnn__set_message("ours %d", 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(gnn_error_message(), "ours 1");
    ck_assert_int_eq(gnn__error_prefix(GNN_EIO, "file %s", "x"), GNN_EIO);
    ck_assert_str_eq(gnn_error_message(), "file x: ours 1");
    ck_assert_str_eq(gnn_error_string(GNN_EMEMORY), "out of memory");
    ck_assert_str_eq(gnn_error_string(-5), "unknown error");
}
END_TEST

START_TEST(a_message_names_each_place_once)
{
    static const struct {
        const char *message, *prefix, *made;
    } all[] = {
        {"config.json: \"a\" is 3", "config.json: bert", "config.json: bert: \"a\" is 3"},
        {"bert: config.json: \"a\" is 3", "config.json", "config.json: bert: \"a\" is 3"},
        {"set.npz: x: a row", "set.npz", "set.npz: x: a row"},
        {"a.config.json: 3", "config.json", "config.json: a.config.json: 3"},
        {"config.json", "config.json", "config.json: config.json"},
        {"the config.json: 3", "config.json", "config.json: the config.json: 3"},
        {"step 1: step 12: 3", "step 1", "step 1: step 12: 3"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        gnn__set_message("%s", all[k].message);
        ck_assert_int_eq(gnn__error_prefix(GNN_EFORMAT, "%s", all[k].prefix), GNN_EFORMAT);
        ck_assert_str_eq(gnn_error_message(), all[k].made);
        ck_assert(!test_doubled_place(gnn_error_message()));
    }
    ck_assert(test_doubled_place("a.json: b: a.json: 3"));
}
END_TEST

START_TEST(a_region_for_two_threads_runs_on_two)
{
    int ran = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    ran = omp_get_num_threads();
    ck_assert_int_eq(ran, 2);
}
END_TEST

START_TEST(shares_cover_each_index_once)
{
    for (int threads = 1; threads < 9; threads++)
        for (int64_t n = 0; n < 40; n++) {
            ck_assert_int_eq(gnn__share(n, 0, threads), 0);
            ck_assert_int_eq(gnn__share(n, threads, threads), n);
            for (int t = 0; t < threads; t++)
                ck_assert_int_le(gnn__share(n, t, threads), gnn__share(n, t + 1, threads));
        }
}
END_TEST

START_TEST(build_info_names_libraries)
{
    ck_assert_str_eq(gnn_version(), GNN_VERSION);
    ck_assert_ptr_nonnull(strstr(gnn_build_info(), "BLAS"));
    ck_assert_ptr_nonnull(strstr(gnn_build_info(), GNN_DOUBLE ? "double" : "float"));
}
END_TEST

/* Elements that are there stay, new ones are 0, and n of them take log2 n allocations. */
START_TEST(lists_grow_by_doubling)
{
    enum { N = 1000 };
    int64_t *list = NULL, *bare = NULL, room = 0;
    gnn__fail_allocation(0);
    for (int64_t k = 0; k < N; k++) {
        ck_ok(gnn__room(&list, k, &room, sizeof *list, "a list"));
        ck_assert_int_eq(list[k], 0);
        list[k] = k + 1;
    }
    ck_assert_int_eq(gnn__fail_allocation(0), 7); /* 16, 32, ... 1024 */
    for (int64_t k = 0; k < N; k++) {
        ck_ok(gnn__one_more(&bare, k, sizeof *bare, "a list"));
        ck_assert_int_eq(bare[k], 0);
        bare[k] = k + 1;
    }
    ck_assert_int_eq(gnn__fail_allocation(1), 11); /* 1, 2, ... 1024 */
    ck_assert_mem_eq(list, bare, N * sizeof *list);
    ck_fails(gnn__room(&list, room, &room, sizeof *list, "a list"), GNN_EMEMORY, "a list");
    ck_assert_int_eq(room, 1024);
    room = INT64_MAX / 2 + 1;
    ck_fails(gnn__room(&list, room, &room, sizeof *list, "a list"), GNN_EOVERFLOW, "a list");
    gnn_free(list);
    gnn_free(bare);
}
END_TEST

/* A context has its buffers until it is freed; then they are the next one's. */
START_TEST(buffers_of_products_are_counted_for_the_process)
{
    gnn_context_t *a, *b;
    ck_ok(gnn_context_new(&a, NULL));
    ck_ok(gnn_context_new(&b, NULL));
    gnn__buffers_claim(a, 40);
    ck_assert_int_eq(gnn__buffers_claim(a, 40), 0);
    ck_assert_int_eq(gnn__buffers_claim(a, 42), 2);
    ck_assert_int_eq(gnn__buffers_claim(b, 3), 3);
    gnn__buffers_return(b, 3); /* they could not be made */
    ck_assert_int_eq(gnn__buffers_claim(b, 1), 1);
    gnn_context_free(a);
    ck_assert_int_eq(gnn__buffers_claim(b, 43), 0);
    ck_assert_int_eq(gnn__buffers_claim(b, 44), 1);
    gnn_context_free(b);
}
END_TEST

START_TEST(time_limits_are_for_tests_that_hang)
{
    const char *seconds = getenv("CK_DEFAULT_TIMEOUT");
    ck_assert_ptr_nonnull(seconds);
    if (strcmp(seconds, "0") != 0) /* 0: no limit */
        ck_assert_int_ge(atoi(seconds), 60);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *c = tcase_create("base");
    tcase_add_test(c, time_limits_are_for_tests_that_hang);
    tcase_add_test(c, philox_known_answers);
    tcase_add_test(c, draws_have_the_right_moments);
    tcase_add_test(c, dropout_keeps_the_rounded_rate);
    tcase_add_test(c, sizes_that_wrap_are_refused);
    tcase_add_test(c, memory_is_aligned_zeroed_and_grows);
    tcase_add_test(c, arenas_hand_out_aligned_memory_once);
    tcase_add_test(c, a_context_uses_its_allocator);
    tcase_add_test(c, an_environment_variable_outside_its_range_is_refused);
    tcase_add_test(c, messages_are_per_thread);
    tcase_add_test(c, a_message_names_each_place_once);
    tcase_add_test(c, a_region_for_two_threads_runs_on_two);
    tcase_add_test(c, shares_cover_each_index_once);
    tcase_add_test(c, build_info_names_libraries);
    tcase_add_test(c, lists_grow_by_doubling);
    tcase_add_test(c, buffers_of_products_are_counted_for_the_process);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
