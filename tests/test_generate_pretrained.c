/* Generation by published models, greedy and with beams, against transformers with the same
 * checkpoints (tests/hf/make.py), and llama2.c. */
#include "support.h"

#include <gnn/generate.h>
#include <lib/data/arrays/arrays.h>

static const char *const names[] = {"gpt2", "llama", "t5", "marian"};

enum { NAMES = sizeof names / sizeof *names };

/* Generation settings from an array's name: "greedy_1.4_24", "beams_4_0.5_2_0_16". */
static gnn_generation_t way_of(const char *name)
{
    gnn_generation_t how = {0};
    double first = 1;
    int wide = 0, length = 0, samples = 0, early = 0;
    if (sscanf(name, "greedy_%lf_%d", &first, &length) == 2)
        how.repetition = (gnn_real_t)first;
    else if (sscanf(name, "beams_%d_%lf_%d_%d_%d", &wide, &first, &samples, &early, &length) == 5)
        how = (gnn_generation_t){.beams = wide,
                                 .length_penalty = (gnn_real_t)first,
                                 .samples = samples,
                                 .early_stopping = early ? GNN_ON : GNN_OFF};
    how.length = length;
    return how;
}

static void ck_same(const gnn_written_t *w, const gnn_array_t *expected, const gnn_array_t *scores)
{
    const int64_t cols = expected->shape[1];
    const int32_t *ids = w->ids;
    ck_assert_int_eq(w->count, expected->shape[0]);
    for (int64_t k = 0; k < w->count; ids += w->lengths[k++]) {
        for (int64_t i = 0; i < cols; i++) {
            const int32_t id = (int32_t)gnn_array_get(expected, k * cols + i),
                          got = i < w->lengths[k] ? ids[i] : -1;
            ck_assert_msg(id == got, "%s: text %d, token %d is %d, not %d", expected->name, (int)k,
                          (int)i, got, id);
        }
        if (scores)
            ck_assert_double_eq_tol(w->scores[k], gnn_array_get(scores, k), 2e-4);
    }
}

/* All settings of the file; false if it has none. */
static bool try_way(const gnn_writer_t *writer, gnn_context_t *context,
                    const gnn_sequences_t *prompts, const gnn_arrays_t *cases, const gnn_array_t *a)
{
    char scores[64];
    const int32_t end = (int32_t)gnn_array_get(gnn_arrays_find(cases, "end"), 0);
    gnn_generation_t how = way_of(a->name);
    gnn_written_t *w = NULL;
    if (how.length == 0 || strstr(a->name, "scores"))
        return false;
    how.end = &end;
    how.n_end = 1;
    ck_ok(gnn_generate(writer, context, prompts, &how, &w));
    snprintf(scores, sizeof scores, "%s.scores", a->name);
    ck_same(w, a, gnn_arrays_find(cases, scores));
    gnn_written_free(w);
    return true;
}

static void take(const gnn_arrays_t *cases, const char *name, int32_t *ids, int64_t *lengths)
{
    const gnn_array_t *a = gnn_arrays_find(cases, name);
    ck_assert_int_le(a->count, 64);
    for (int64_t k = 0; k < a->count; k++)
        ids[k] = (int32_t)gnn_array_get(a, k);
    for (int64_t k = 0; k < a->shape[0]; k++)
        lengths[k] = a->shape[1];
}

/* Do the cases belong to this checkpoint? They hold the first elements of its hidden state. */
static bool of_this_checkpoint(const gnn_arrays_t *cases, const char *folder)
{
    char path[1300];
    gnn_arrays_t *arrays;
    const gnn_array_t *known = gnn_arrays_find(cases, "hidden"), *hidden;
    snprintf(path, sizeof path, "%s/expected.npz", folder);
    ck_assert_ptr_nonnull(known);
    if (gnn_npz_read(&arrays, path, NULL) != GNN_OK)
        return false;
    hidden = gnn_arrays_find(arrays, "hidden");
    bool same = hidden && hidden->count >= known->count;
    for (int64_t k = 0; same && k < known->count; k++)
        same = fabs(gnn_array_get(hidden, k) - gnn_array_get(known, k)) < 1e-6;
    gnn_arrays_free(arrays);
    return same;
}

START_TEST(generation_matches_transformers)
{
    char path[1200], own[1200];
    int32_t ids[64], start[64];
    int64_t lengths[64], ones[64], ways = 0;
    gnn_context_t *context;
    gnn_arrays_t *cases;
    gnn_writer_t writer = {0};
    gnn_pretrained_t *p;
    snprintf(path, sizeof path, "checkpoints/%s/config.json", names[_i]);
    const char *config = test_golden(path);
    if (!config) {
        test_skip(names[_i], "the golden checkpoints are not there");
        return;
    }
    snprintf(path, sizeof path, "%.*s", (int)(strrchr(config, '/') - config), config);
    snprintf(own, sizeof own, "%s/tests/hf/generate_%s.npz", GNN_SOURCE_ROOT, names[_i]);
    ck_ok(gnn_npz_read(&cases, own, NULL));
    if (!of_this_checkpoint(cases, path)) {
        test_leave_out(names[_i], "tests/hf has the cases of other checkpoints");
        gnn_arrays_free(cases);
        return;
    }
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_pretrained_open(&p, context, path));
    writer.pretrained = p;
    take(cases, "ids", ids, lengths);
    gnn_sequences_t prompts = {
        .count = gnn_arrays_find(cases, "ids")->shape[0], .lengths = lengths, .ids = ids};
    if (gnn_arrays_find(cases, "start")) {
        take(cases, "start", start, ones);
        prompts.decoder_lengths = ones;
        prompts.decoder_ids = start;
    }
    for (int64_t k = 0; k < cases->count; k++)
        ways += try_way(&writer, context, &prompts, cases, gnn_arrays_at(cases, k));
    ck_assert_int_ge(ways, 6);
    gnn_pretrained_free(p);
    gnn_context_free(context);
    gnn_arrays_free(cases);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generate_pretrained");
    TCase *c = tcase_create("generate_pretrained");
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, generation_matches_transformers, 0, NAMES);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
